/* wattlaw export: measurements as files for other programs. */
#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/export/export.h"
#include "cmd/wattlaw/store.h"
#include "exchange/exchange.h"

#include <string.h>

struct export_options {
    const char *format, *out, *campaign;
    struct wl_strs map, fields;
    int64_t run;
};

static const struct wl_opt export_rows[] = {
    { .name = "format",
      .type = WL_CHOICE,
      .offset = offsetof(struct export_options, format),
      .def = "csv",
      .choices = "csv|csv-long|csv-wide|jsonl|md|tex|openmetrics|zeus|github-action-benchmark|boamps|trace|bundle",
      .help = "output format (docs/reference/exporting.md)" },
    { .name = "out",
      .letter = 'o',
      .type = WL_STR,
      .offset = offsetof(struct export_options, out),
      .unit = "FILE",
      .help = "file to write to (default: stdout)" },
    { .name = "campaign",
      .type = WL_STR,
      .offset = offsetof(struct export_options, campaign),
      .unit = "NAME",
      .help = "name of the campaign of the store (default: all campaigns)" },
    { .name = "run",
      .type = WL_INT,
      .offset = offsetof(struct export_options, run),
      .def = "0",
      .min = 0,
      .max = 1e15,
      .help = "number of the run to export, with its samples; 0: all runs that are done" },
    { .name = "field",
      .type = WL_LINES,
      .offset = offsetof(struct export_options, fields),
      .unit = "NAME=VALUE",
      .help = "fact that the format boamps or bundle asks for and no measurement holds (default: none)" },
    { .name = "map",
      .type = WL_LINES,
      .offset = offsetof(struct export_options, map),
      .unit = "CANONICAL=COLUMN",
      .help = "read a canonical column from a column of another name of a CSV file (default: none)" },
    WL_OPT_END,
};

/* ---- formats ---- */

static void write_md(const struct wl_observations *obs, FILE *to) { wl_cmd_export_table(obs, "md", to); }
static void write_tex(const struct wl_observations *obs, FILE *to) { wl_cmd_export_table(obs, "tex", to); }

/* What each format can hold: observations, samples, or whole runs. */
static const struct format {
    const char *name;
    void (*observations)(const struct wl_observations *obs, FILE *to);
    int (*samples)(struct wl_store *s, const struct wl_run_rows *runs, FILE *to, struct wl_err *e);
    wl_export_writer *runs;
    int (*store)(struct wl_store *s, const struct wl_strs *fields, FILE *to, struct wl_arena *a, struct wl_err *e);
} formats[] = {
    { .name = "csv", .observations = wl_obs_write_csv, .samples = wl_samples_write_csv },
    { .name = "csv-long", .observations = wl_obs_write_long, .samples = wl_samples_write_csv },
    { .name = "csv-wide", .observations = wl_obs_write_csv, .samples = wl_samples_write_wide },
    { .name = "jsonl", .observations = wl_obs_write_jsonl },
    { .name = "md", .observations = write_md },
    { .name = "tex", .observations = write_tex },
    { .name = "openmetrics", .runs = wl_export_openmetrics },
    { .name = "zeus", .runs = wl_export_zeus },
    { .name = "github-action-benchmark", .runs = wl_export_benchmark },
    { .name = "boamps", .runs = wl_export_boamps },
    { .name = "trace", .runs = wl_export_trace },
    { .name = "bundle", .store = wl_cmd_export_bundle },
};

static const struct format *format_of(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(formats); i++)
        if (strcmp(formats[i].name, name) == 0) return &formats[i];
    WL_CHECK(false);
    return NULL;
}

/* ---- what is exported ---- */

/* An export: the format, the options and the one store or CSV file. */
struct job {
    const struct format *format;
    const struct export_options *o;
    const struct wl_opts_args *store;
    struct wl_arena *arena;
};

static int export_observations(const struct job *j, FILE *to, struct wl_err *e)
{
    const struct export_options *o = j->o;
    struct wl_observations obs;
    struct wl_store *s;
    int64_t campaign;
    int rc;
    if (o->run) return wl_fail(e, WL_EUSAGE, "--run: only for samples and whole runs");
    if (o->campaign) {
        rc = wl_cmd_store_open(j->store, &s, j->arena, e);
        if (rc == 0) rc = wl_cmd_campaign_find(s, o->campaign, &campaign, j->arena, e);
        if (rc == 0) rc = wl_store_observations(s, campaign, &obs, j->arena, e);
    } else {
        rc = wl_analysis_read(j->store->args.v[0], &o->map, &obs, j->arena, e);
    }
    if (rc == 0) j->format->observations(&obs, to);
    return rc;
}

/* The runs that were asked for; flagged ones only by their number. */
static int find_runs(const struct job *j, struct wl_store **s, struct wl_run_rows *runs, struct wl_err *e)
{
    const struct export_options *o = j->o;
    struct wl_run_filter filter = { .run = o->run, .statuses = o->run ? 0 : 1u << WL_RUN_DONE };
    int rc = wl_cmd_store_open(j->store, s, j->arena, e);
    if (rc == 0) rc = wl_cmd_campaign_find(*s, o->campaign, &filter.campaign, j->arena, e);
    if (rc == 0) rc = wl_store_runs(*s, &filter, runs, j->arena, e);
    if (rc) return rc;
    if (runs->n == 0)
        return wl_fail(e, WL_ENOENT, o->run ? "%s: no run %lld" : "%s: no run is done yet", wl_store_path(*s),
                       (long long)o->run);
    if (o->run && runs->v[0].status == WL_RUN_PLANNED)
        return wl_fail(e, WL_EINVAL, "%s: run %lld has not started and has no samples", wl_store_path(*s),
                       (long long)o->run);
    return 0;
}

static int export_samples(const struct job *j, FILE *to, struct wl_err *e)
{
    struct wl_store *s;
    struct wl_run_rows runs;
    int rc = find_runs(j, &s, &runs, e);
    return rc ? rc : j->format->samples(s, &runs, to, e);
}

static int export_runs(const struct job *j, FILE *to, struct wl_err *e)
{
    struct wl_store *s;
    struct wl_run_rows runs;
    int rc = find_runs(j, &s, &runs, e);
    if (rc) return rc;
    size_t n = 0;
    for (size_t i = 0; i < runs.n; i++)
        if (j->o->run || !runs.v[i].flag) runs.v[n++] = runs.v[i];
    runs.n = n;
    if (n == 0)
        return wl_fail(e, WL_EINVAL, "%s: every run that is done is flagged; --run exports one", wl_store_path(s));
    return j->format->runs(&(struct wl_export) { s, &runs, &j->o->fields }, to, e);
}

static int export_store(const struct job *j, FILE *to, struct wl_err *e)
{
    struct wl_store *s;
    if (j->o->run || j->o->campaign)
        return wl_fail(e, WL_EUSAGE, "--format %s takes the whole store: leave out --run and --campaign",
                       j->format->name);
    if (!j->o->out)
        return wl_fail(e, WL_EUSAGE, "--format %s needs the name of a file: --out NAME.zip", j->format->name);
    int rc = wl_cmd_store_open(j->store, &s, j->arena, e);
    if (rc == 0) rc = j->format->store(s, &j->o->fields, to, j->arena, e);
    return rc == WL_EIO ? wl_err_prefix(e, "%s", j->o->out) : rc;
}

/* ---- where to ---- */

typedef int exporter(const struct job *j, FILE *to, struct wl_err *e);

/* An existing file is replaced when the new one is complete. */
static int write_file(const struct job *j, exporter *export, struct wl_err *e)
{
    struct wl_atomic_file to;
    int rc = wl_atomic_file_open(&to, j->o->out, WL_ATOMIC_FILE_USER, e);
    if (rc == 0 && !wl_atomic_file_stream(&to)) rc = wl_fail_errno(e, "%s: cannot write", j->o->out);
    if (rc == 0) rc = export(j, to.stream, e);
    if (rc == 0) return wl_atomic_file_commit(&to, e);
    wl_atomic_file_discard(&to);
    return rc;
}

/* On a terminal, escape sequences in the data are shown as text. */
static int print(const struct job *j, exporter *export, struct wl_err *e)
{
    if (!wl_out_is_terminal(WL_STDOUT)) return export(j, wl_out_data(), e);
    FILE *to = wl_out_escaped();
    if (!to) return wl_fail_errno(e, "cannot write to the terminal");
    int rc = export(j, to, e);
    fclose(to);
    return rc;
}

/* ---- the command ---- */

static int unknown_table(const char *word, struct wl_err *e)
{
    static const char *const names[] = { "observations", "samples" };
    const char *near = wl_str_closest(word, names, WL_COUNT(names));
    return wl_fail(e, WL_EUSAGE, "cannot export \"%s\": expected observations or samples%s%s%s", word,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* The exporter of the table that is named; of none (NULL) the one that the format has. */
static int choose(const struct job *j, const char *table, exporter **out, struct wl_err *e)
{
    const bool observations = table && strcmp(table, "observations") == 0,
               samples = table && strcmp(table, "samples") == 0;
    if (table && !observations && !samples) return unknown_table(table, e);
    *out = j->format->observations && !samples ? export_observations
           : j->format->samples && samples     ? export_samples
           : j->format->runs && !table         ? export_runs
           : j->format->store && !table        ? export_store
                                               : NULL;
    if (*out && *out != export_observations && j->o->map.n)
        return wl_fail(e, WL_EUSAGE, "--map: only for observations of a CSV file");
    if (*out && j->o->fields.n && !j->format->runs && !j->format->store)
        return wl_fail(e, WL_EUSAGE, "--field: the format %s has no fields to give", j->format->name);
    if (*out) return 0;
    if (samples && j->format->observations)
        return wl_fail(e, WL_EUSAGE, "samples: only --format csv, csv-long and csv-wide");
    return wl_fail(e, WL_EUSAGE, "--format %s is of whole runs: leave out \"%s\"", j->format->name, table);
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct export_options *o = options;
    const size_t n = rest->args.n;
    if (n != 1 && n != 2) return wl_fail(e, WL_EUSAGE, "expected a store, and before it observations or samples");
    struct wl_opts_args store = { .args = { .v = rest->args.v + n - 1, .n = 1 } };
    const struct job j = { format_of(o->format), o, &store, a };
    exporter *export = NULL;
    int rc = choose(&j, n == 2 ? rest->args.v[0] : NULL, &export, e);
    if (rc == 0) rc = o->out ? write_file(&j, export, e) : print(&j, export, e);
    return rc ? rc : WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_export = {
    .name = "export",
    .usage = "[options] [observations|samples] STORE",
    .help = "export measurements for other programs: tables, Prometheus, Perfetto, a bundle for a paper",
    .more =
        "observations: one row per epoch, with the columns of docs/formats.md; STORE may also be a CSV file.\n"
        "samples: one row per sensor reading.\n"
        "Without either word: observations as csv, csv-long, csv-wide, jsonl, md or tex; the runs that are done as\n"
        "openmetrics, zeus, github-action-benchmark, boamps or trace; the whole store as bundle.\n"
        "Parquet and MLflow: from Python (docs/reference/exporting.md).\n"
        "\n"
        "    wattlaw export observations lab1 -o lab1.csv\n"
        "    wattlaw export samples lab1 --run 12 | gzip > run12.csv.gz\n"
        "    wattlaw export --format openmetrics lab1\n"
        "    wattlaw export --format trace lab1 --run 12 -o run12.json\n"
        "    wattlaw export --format bundle lab1 -o lab1.zip --field author=\"Ada Lovelace\"",
    .options = export_rows,
    .options_size = sizeof(struct export_options),
    .run = run,
};
