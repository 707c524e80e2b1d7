/* wattlaw import: what other tools have measured becomes runs of a store. */
#include "cmd/wattlaw/import/internal.h"
#include "cmd/wattlaw/store.h"

#include <math.h>
#include <sys/stat.h>

/* What wl_clock_parse takes. */
#define TIMES "as 2026-01-31T12:00:00Z (UTC without an offset) or seconds since 1970"
#define TEXT(name_, unit_, help_)                                                                           \
    {                                                                                                       \
        .name = #name_, .type = WL_STR, .offset = offsetof(struct wl_import_options, name_), .unit = unit_, \
        .help = help_                                                                                       \
    }
#define LIST(name_, help_)                                                                                  \
    {                                                                                                       \
        .name = #name_, .type = WL_STRS, .offset = offsetof(struct wl_import_options, name_), .help = help_ \
    }
#define COUNT(option_, field_, unit_, help_)                                                                         \
    {                                                                                                                \
        .name = option_, .type = WL_INT, .offset = offsetof(struct wl_import_options, field_), .def = "0", .min = 0, \
        .max = WL_NO_MAX, .unit = unit_, .help = help_                                                               \
    }

static const struct wl_opt import_rows[] = {
    { .name = "store",
      .type = WL_STR,
      .offset = offsetof(struct wl_import_options, store),
      .def = WL_STORE_FILE,
      .unit = "PATH",
      .help = "store to add the runs to" },
    TEXT(as, "FORMAT", "format of the files (default: found by their content)"),
    { .name = "dry-run",
      .type = WL_FLAG,
      .offset = offsetof(struct wl_import_options, dry_run),
      .help = "print what would be imported, and store nothing" },
    { .name = "each",
      .type = WL_FLAG,
      .offset = offsetof(struct wl_import_options, each),
      .help = "store a run for each file of readings (default: one run for all files)" },
    TEXT(name, "NAME", "name of the workload (default: the name of the first file)"),
    TEXT(host, "NAME", "host of the devices, for a file without names of hosts (default: unknown)"),
    TEXT(timezone, "ZONE", "time zone of times without one, as Europe/Berlin or +02:00 (default: UTC)"),
    { .name = "dates",
      .type = WL_CHOICE,
      .offset = offsetof(struct wl_import_options, dates),
      .choices = "dmy|mdy",
      .help = "order of day, month and year in a file where both orders are possible (default: found from its dates)" },
    TEXT(from, "TIME", "time at which the run starts, " TIMES " (default: the first reading)"),
    TEXT(to, "TIME", "time at which the run ends, " TIMES " (default: the last reading)"),
    LIST(gpus, "GPUs to import: UUID or start of a UUID, HOST, HOST:NUMBER (default: all)"),
    LIST(uuids, "UUIDs of GPU 0, 1, ..., for a file that only numbers GPUs (default: none)"),
    LIST(columns, "names of the columns, for a file without a header (default: none)"),
    { .name = "map",
      .type = WL_LINES,
      .offset = offsetof(struct wl_import_options, map),
      .unit = "NAME=COLUMN[:UNIT]",
      .help = "column of a table of results of your own that is time_s, energy_j, workers ..., and its unit, as "
              "energy_j=used:kWh (default: found by the names of columns)" },
    TEXT(start, "TIME", "time of the first reading, " TIMES ", for a file without times (default: none)"),
    { .name = "period",
      .type = WL_DURATION,
      .offset = offsetof(struct wl_import_options, period_s),
      .min = 1e-3,
      .max = 86400,
      .unit = "s",
      .help = "interval between readings, for a file without times (default: none)" },
    { .name = "run",
      .type = WL_INT,
      .offset = offsetof(struct wl_import_options, run),
      .def = "0",
      .min = 0,
      .max = 1e15,
      .help = "number of the run to which the log of a training adds epochs and metrics; 0: none" },
#define SETTING_COUNT(member, option, unit_, max_, grid, help_, ...) COUNT(option, member, unit_, help_ "; 0: unknown"),
#include "settings/settings.def"
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct wl_import_options, json),
      .help = "print the imported runs as JSON" },
    { .name = "json-file",
      .type = WL_STR,
      .offset = offsetof(struct wl_import_options, json_file),
      .unit = "FILE",
      .help = "file to write the imported runs to, as JSON (default: none)" },
    WL_OPT_END,
};

/* ---- options ---- */

static int read_option_time(const char *option, const char *text, int64_t *t_ns, struct wl_err *e)
{
    *t_ns = WL_NO_NS;
    if (!text || wl_clock_parse(text, t_ns)) return 0;
    return wl_fail(e, WL_EUSAGE, "--%s %s: expected a time as 2026-01-31T12:00:00Z or seconds since 1970, before %d",
                   option, text, WL_CLOCK_END_YEAR);
}

static double known(int64_t n) { return n ? (double)n : NAN; }

/* "wattlaw import dcgm FILE": the name of a format in front of the files is --as. */
static void read_files_and_format(struct wl_import_command *im, const struct wl_opts_args *rest)
{
    const struct wl_import_format *format;
    im->options.as = im->o->as;
    im->files = (struct wl_strs) { .v = rest->args.v, .n = rest->args.n };
    if (im->o->as || im->files.n == 0 || wl_import_format_named(im->files.v[0], &format, NULL) < 0) return;
    if (wl_is_file(im->files.v[0]) || wl_is_dir(im->files.v[0])) return;
    im->options.as = format->name;
    im->files.v++;
    im->files.n--;
}

static int read_options(struct wl_import_command *im, const struct wl_opts_args *rest, struct wl_err *e)
{
    const struct wl_import_options *o = im->o;
    struct wl_import_opts *d = &im->options;
    read_files_and_format(im, rest);
    if (rest->args.n == 0) return wl_fail(e, WL_EUSAGE, "expected files: wattlaw import FILE...");
    if (im->files.n == 0) return wl_fail(e, WL_EUSAGE, "files are missing: wattlaw import %s FILE...", d->as);
    im->set = wl_settings_none;
    im->set.workload = o->name ? o->name : wl_path_base(im->files.v[0]);
#define SETTING_COUNT(member, ...) im->set.member = known(o->member);
#include "settings/settings.def"
    d->columns = &o->columns;
    d->map = &o->map;
    d->timezone = o->timezone;
    d->dates = o->dates;
    d->host = o->host;
    d->gpus = &o->gpus;
    d->uuids = &o->uuids;
    d->each = o->each;
    d->run = o->run;
    d->set = &im->set;
    d->named = o->name != NULL;
    d->period_ns = isnan(o->period_s) || o->period_s == 0 ? WL_NO_NS : (int64_t)(o->period_s * WL_NS_PER_S);
    int rc = read_option_time("from", o->from, &d->from_ns, e);
    if (rc == 0) rc = read_option_time("to", o->to, &d->to_ns, e);
    if (rc == 0) rc = read_option_time("start", o->start, &d->start_ns, e);
    if (rc < 0) return rc;
    if (d->from_ns != WL_NO_NS && d->to_ns != WL_NO_NS && d->from_ns >= d->to_ns)
        return wl_fail(e, WL_EUSAGE, "--from %s is not before --to %s", o->from, o->to);
    return 0;
}

/* ---- progress ---- */

static void on_block(void *ctx, size_t bytes)
{
    struct wl_import_command *im = ctx;
    im->done += (double)bytes;
    if (im->bytes > 0) wl_progress_update(&im->bar, im->done, im->bytes, -1, NULL);
}

/* Of folders and pipes the length is not known. */
static void start_progress(struct wl_import_command *im)
{
    struct stat st;
    for (size_t i = 0; i < im->files.n; i++) {
        if (stat(im->files.v[i], &st) < 0 || !S_ISREG(st.st_mode)) {
            im->bytes = 0;
            break;
        }
        im->bytes += (double)st.st_size;
    }
    im->options.on_block = on_block;
    im->options.ctx = im;
    wl_progress_start(&im->bar, "import");
}

/* ---- runs of the store ---- */

static int read_rows(struct wl_import_command *im, struct wl_err *e)
{
    int rc = 0;
    if (!im->store) return 0;
    im->rows = wl_new_array(im->a, struct wl_run_row, im->im.n_runs);
    for (size_t i = 0; i < im->im.n_runs && rc == 0; i++) {
        struct wl_run_rows runs;
        struct wl_run_filter filter = { .run = im->im.runs[i].run };
        rc = wl_store_runs(im->store, &filter, &runs, im->a, e);
        if (rc == 0 && runs.n == 0)
            rc = wl_fail(e, WL_ENOENT, "%s: run %lld is gone", im->o->store, (long long)filter.run);
        if (rc == 0) im->rows[i] = runs.v[0];
    }
    return rc;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_import_options *o = options;
    struct wl_import_command im = { .o = o, .a = a };
    int rc = read_options(&im, rest, e);
    if (rc == 0) start_progress(&im);
    if (rc == 0) rc = wl_import_files(&im.files, &im.options, o->dry_run ? NULL : o->store, &im.im, a, e);
    im.store = im.im.store;
    wl_progress_clear(&im.bar);
    if (rc == 0) rc = read_rows(&im, e);
    if (rc < 0) return rc;
    if (!o->json) wl_import_print(&im);
    rc = o->json || o->json_file ? wl_import_json(&im, e) : 0;
    return rc < 0 ? rc : WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_import = {
    .name = "import",
    .usage = "[options] FILE...",
    .help = "import the measurements of other tools into a store, as runs",
    .more =
        "A FILE is recognised by its content; a folder stands for the files in it. Readings over time (nvidia-smi, "
        "dcgmi,\n"
        "dcgm-exporter, Prometheus, perun, jpwr, PTDaemon, WattAMeter, Alumet, nvtop) become one run with the energy "
        "of each\n"
        "device; of a table of results (Zeus, MLPerf, CARAML, CodeCarbon, Slurm, EAR, carbontracker) each row becomes "
        "a "
        "run, and\n"
        "so it does of a table of your own (time_s, energy_j, workers ...; --map for other names). What\n"
        "is left out is said with its line and reason. The same file is imported once. Imported runs are marked as "
        "such.\n"
        "A log of a training (TensorBoard's event files, Lightning's metrics.csv) adds epochs and metrics to a run.\n"
        "\n"
        "    wattlaw import smi.csv --timezone Europe/Berlin --name train --workers 4\n"
        "    wattlaw import --dry-run results/\n"
        "    wattlaw import n1.json --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z\n"
        "    wattlaw import --run 7 lightning_logs/version_0/metrics.csv\n"
        "    wattlaw import mine.csv --map workers=cards --map energy_j=used:kWh\n"
        "    wattlaw import bare.csv --columns index,timestamp,power.draw",
    .options = import_rows,
    .options_size = sizeof(struct wl_import_options),
    .run = run,
};
