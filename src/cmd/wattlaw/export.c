/* wattlaw export: observations or samples as files for other programs. */
#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/store.h"
#include "exchange/exchange.h"

#include <string.h>

struct export_options {
    const char *format, *out, *campaign;
    struct wl_strs map;
    int64_t run;
};

static const struct wl_opt export_rows[] = {
    { .name = "format",
      .type = WL_CHOICE,
      .offset = offsetof(struct export_options, format),
      .def = "csv",
      .choices = "csv|jsonl",
      .help = "output format: CSV, or JSON Lines with one object per line" },
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
      .help = "number of the run whose samples to export; 0: all runs that are done" },
    { .name = "map",
      .type = WL_LINES,
      .offset = offsetof(struct export_options, map),
      .unit = "CANONICAL=COLUMN",
      .help = "read a canonical column from a column of another name of a CSV file (default: none)" },
    WL_OPT_END,
};

static int export_observations(const struct export_options *o, const struct wl_opts_args *rest, FILE *to,
                               struct wl_arena *a, struct wl_err *e)
{
    struct wl_observations obs;
    struct wl_store *s;
    int64_t campaign;
    int rc;
    if (o->run) return wl_fail(e, WL_EUSAGE, "--run: only for samples");
    if (o->campaign) {
        rc = wl_cmd_store_open(rest, &s, a, e);
        if (rc == 0) rc = wl_cmd_campaign_find(s, o->campaign, &campaign, a, e);
        if (rc == 0) rc = wl_store_observations(s, campaign, &obs, a, e);
    } else {
        rc = wl_analysis_read(rest->args.v[0], &o->map, &obs, a, e);
    }
    if (rc) return rc;
    if (strcmp(o->format, "jsonl") == 0)
        wl_obs_write_jsonl(&obs, to);
    else
        wl_obs_write_csv(&obs, to);
    return 0;
}

static int export_samples(const struct export_options *o, const struct wl_opts_args *rest, FILE *to, struct wl_arena *a,
                          struct wl_err *e)
{
    struct wl_store *s;
    struct wl_run_rows runs;
    struct wl_run_filter filter = { .run = o->run, .statuses = o->run ? 0 : 1u << WL_RUN_DONE };
    if (o->map.n || strcmp(o->format, "csv") != 0)
        return wl_fail(e, WL_EUSAGE, "samples: only --format csv, and no --map");
    int rc = wl_cmd_store_open(rest, &s, a, e);
    if (rc == 0) rc = wl_cmd_campaign_find(s, o->campaign, &filter.campaign, a, e);
    if (rc == 0) rc = wl_store_runs(s, &filter, &runs, a, e);
    if (rc) return rc;
    if (runs.n == 0)
        return wl_fail(e, WL_ENOENT, o->run ? "%s: no run %lld" : "%s: no run is done yet", wl_store_path(s),
                       (long long)o->run);
    if (o->run && runs.v[0].status == WL_RUN_PLANNED)
        return wl_fail(e, WL_EINVAL, "%s: run %lld has not started and has no samples", wl_store_path(s),
                       (long long)o->run);
    return wl_samples_write_csv(s, &runs, to, e);
}

static const struct {
    const char *name;
    int (*write)(const struct export_options *, const struct wl_opts_args *, FILE *, struct wl_arena *,
                 struct wl_err *);
} tables[] = { { "observations", export_observations }, { "samples", export_samples } };

static int unknown_table(const char *word, struct wl_err *e)
{
    const char *names[WL_COUNT(tables)];
    for (size_t i = 0; i < WL_COUNT(tables); i++) names[i] = tables[i].name;
    const char *near = wl_str_closest(word, names, WL_COUNT(names));
    return wl_fail(e, WL_EUSAGE, "cannot export \"%s\": expected observations or samples%s%s%s", word,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* An existing file is replaced when the new one is complete. */
static int write_file(const char *path, const struct export_options *o, size_t table, const struct wl_opts_args *rest,
                      struct wl_arena *a, struct wl_err *e)
{
    struct wl_atomic_file to;
    int rc = wl_atomic_file_open(&to, path, WL_ATOMIC_FILE_USER, e);
    if (rc == 0 && !wl_atomic_file_stream(&to)) rc = wl_fail_errno(e, "%s: cannot write", path);
    if (rc == 0) rc = tables[table].write(o, rest, to.stream, a, e);
    if (rc == 0) return wl_atomic_file_commit(&to, e);
    wl_atomic_file_discard(&to);
    return rc;
}

/* On a terminal, escape sequences in the data are shown as text. */
static int print(const struct export_options *o, size_t table, const struct wl_opts_args *rest, struct wl_arena *a,
                 struct wl_err *e)
{
    if (!wl_out_is_terminal(WL_STDOUT)) return tables[table].write(o, rest, wl_out_data(), a, e);
    FILE *to = wl_out_escaped();
    if (!to) return wl_fail_errno(e, "cannot write to the terminal");
    int rc = tables[table].write(o, rest, to, a, e);
    fclose(to);
    return rc;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct export_options *o = options;
    if (rest->args.n != 2) return wl_fail(e, WL_EUSAGE, "expected observations or samples, and a store");
    size_t table = 0;
    while (table < WL_COUNT(tables) && strcmp(tables[table].name, rest->args.v[0]) != 0) table++;
    if (table == WL_COUNT(tables)) return unknown_table(rest->args.v[0], e);
    struct wl_opts_args store = { .args = { .v = rest->args.v + 1, .n = 1 } };
    int rc = o->out ? write_file(o->out, o, table, &store, a, e) : print(o, table, &store, a, e);
    return rc ? rc : WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_export = {
    .name = "export",
    .usage = "[options] observations|samples STORE",
    .help = "export the observations or samples of a store as CSV or JSON Lines",
    .more = "observations: one row per epoch, with the columns of docs/formats.md; STORE may also be a CSV file.\n"
            "samples: one row per sensor reading.\n"
            "\n"
            "    wattlaw export observations lab1 -o lab1.csv\n"
            "    wattlaw export samples lab1 --run 12 | gzip > run12.csv.gz",
    .options = export_rows,
    .options_size = sizeof(struct export_options),
    .run = run,
};
