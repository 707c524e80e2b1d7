/* wattlaw import: what other tools have measured becomes runs of a store. */
#include "cmd/cmd.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/store.h"
#include "exchange/exchange.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

struct import_options {
    const char *store, *as, *name, *timezone, *dates, *host, *from, *to, *start, *json_file;
    bool json, dry_run, each;
    double period_s;
    int64_t run;
    struct wl_strs columns, gpus, uuids;
    /* 0: unknown */
#define SETTING_COUNT(member, ...) int64_t member;
#include "settings/settings.def"
};

/* What wl_clock_parse takes. */
#define TIMES "as 2026-01-31T12:00:00Z (UTC without an offset) or seconds since 1970"
#define TEXT(name_, unit_, help_)                                                                                      \
    {                                                                                                                  \
        .name = #name_, .type = WL_STR, .offset = offsetof(struct import_options, name_), .unit = unit_, .help = help_ \
    }
#define LIST(name_, help_)                                                                               \
    {                                                                                                    \
        .name = #name_, .type = WL_STRS, .offset = offsetof(struct import_options, name_), .help = help_ \
    }
#define COUNT(option_, field_, unit_, help_)                                                                      \
    {                                                                                                             \
        .name = option_, .type = WL_INT, .offset = offsetof(struct import_options, field_), .def = "0", .min = 0, \
        .max = WL_NO_MAX, .unit = unit_, .help = help_                                                            \
    }

static const struct wl_opt import_rows[] = {
    { .name = "store",
      .type = WL_STR,
      .offset = offsetof(struct import_options, store),
      .def = WL_STORE_FILE,
      .unit = "PATH",
      .help = "store to add the runs to" },
    TEXT(as, "FORMAT", "format of the files (default: found by their content)"),
    { .name = "dry-run",
      .type = WL_FLAG,
      .offset = offsetof(struct import_options, dry_run),
      .help = "print what would be imported, and store nothing" },
    { .name = "each",
      .type = WL_FLAG,
      .offset = offsetof(struct import_options, each),
      .help = "store a run for each file of readings (default: one run for all files)" },
    TEXT(name, "NAME", "name of the workload (default: the name of the first file)"),
    TEXT(host, "NAME", "host of the devices, for a file without names of hosts (default: unknown)"),
    TEXT(timezone, "ZONE", "time zone of times without one, as Europe/Berlin or +02:00 (default: UTC)"),
    { .name = "dates",
      .type = WL_CHOICE,
      .offset = offsetof(struct import_options, dates),
      .choices = "dmy|mdy",
      .help = "order of day, month and year in a file where both orders are possible (default: found from its dates)" },
    TEXT(from, "TIME", "time at which the run starts, " TIMES " (default: the first reading)"),
    TEXT(to, "TIME", "time at which the run ends, " TIMES " (default: the last reading)"),
    LIST(gpus, "GPUs to import: UUID or start of a UUID, HOST, HOST:NUMBER (default: all)"),
    LIST(uuids, "UUIDs of GPU 0, 1, ..., for a file that only numbers GPUs (default: none)"),
    LIST(columns, "names of the columns, for a file without a header (default: none)"),
    TEXT(start, "TIME", "time of the first reading, " TIMES ", for a file without times (default: none)"),
    { .name = "period",
      .type = WL_DURATION,
      .offset = offsetof(struct import_options, period_s),
      .min = 1e-3,
      .max = 86400,
      .unit = "s",
      .help = "interval between readings, for a file without times (default: none)" },
    { .name = "run",
      .type = WL_INT,
      .offset = offsetof(struct import_options, run),
      .def = "0",
      .min = 0,
      .max = 1e15,
      .help = "number of the run to which the log of a training adds epochs and metrics; 0: none" },
#define SETTING_COUNT(member, option, unit_, max_, grid, help_, ...) COUNT(option, member, unit_, help_ "; 0: unknown"),
#include "settings/settings.def"
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct import_options, json),
      .help = "print the imported runs as JSON" },
    { .name = "json-file",
      .type = WL_STR,
      .offset = offsetof(struct import_options, json_file),
      .unit = "FILE",
      .help = "file to write the imported runs to, as JSON (default: none)" },
    WL_OPT_END,
};

/* State of the command. */
struct import {
    const struct import_options *o;
    struct wl_strs files;
    struct wl_settings set;
    struct wl_import_opts options;
    struct wl_import im;
    struct wl_store *store;
    struct wl_run_row *rows; /* [im.n_runs]; NULL: dry run */
    struct wl_progress bar;
    double bytes, done; /* of the files that were named, where they are files */
    struct wl_arena *a;
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
static void read_files_and_format(struct import *im, const struct wl_opts_args *rest)
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

static int read_options(struct import *im, const struct wl_opts_args *rest, struct wl_err *e)
{
    const struct import_options *o = im->o;
    struct wl_import_opts *d = &im->options;
    read_files_and_format(im, rest);
    if (rest->args.n == 0) return wl_fail(e, WL_EUSAGE, "expected files: wattlaw import FILE...");
    if (im->files.n == 0) return wl_fail(e, WL_EUSAGE, "files are missing: wattlaw import %s FILE...", d->as);
    im->set = wl_settings_none;
    im->set.workload = o->name ? o->name : wl_path_base(im->files.v[0]);
#define SETTING_COUNT(member, ...) im->set.member = known(o->member);
#include "settings/settings.def"
    d->columns = &o->columns;
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
    struct import *im = ctx;
    im->done += (double)bytes;
    if (im->bytes > 0) wl_progress_update(&im->bar, im->done, im->bytes, -1, NULL);
}

/* Of folders and pipes the length is not known. */
static void start_progress(struct import *im)
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

static int read_rows(struct import *im, struct wl_err *e)
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

static double duration_s(const struct wl_import_run *run) { return (double)(run->to_ns - run->from_ns) / WL_NS_PER_S; }

/* ---- text ---- */

/* "2 GPUs" where all are, else "3 devices". */
static const char *devices_text(const struct wl_import_run *run, struct wl_arena *a)
{
    bool gpus = run->n_channels > 0;
    for (size_t i = 0; i < run->n_channels; i++) gpus = gpus && wl_str_eq(run->channels[i].of.scope, "gpu");
    return wl_format_count(run->devices, gpus ? "GPU" : "device", a);
}

static const char *what_text(const struct wl_import_run *run, double time_s, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_addf(&t, "%s of %s over %s", devices_text(run, a), run->hosts, wl_human_time(a, time_s));
    if (run->readings) wl_text_addf(&t, ", %s", wl_format_count(run->readings, "reading", a));
    if (!isnan(run->period_s)) wl_text_addf(&t, " about every %s", wl_human_time(a, run->period_s));
    return t.s;
}

static void print_log(const struct wl_import_run *run, struct wl_arena *a)
{
    if (run->run)
        wl_print("run %lld: %s and %s added, from %s\n", (long long)run->run,
                 wl_format_count(run->readings, "value", a), wl_format_count(run->devices, "epoch", a), run->label);
    else
        wl_print("%s: %s; nothing is stored\n", run->label, wl_format_count(run->readings, "value", a));
}

static void print_run(const struct import *im, size_t i)
{
    const struct wl_import_run *run = &im->im.runs[i];
    const struct wl_run_row *row = &im->rows[i];
    struct wl_arena *a = im->a;
    const struct wl_amount energy = wl_cmd_run_energy(row), power = wl_cmd_run_power(row);
    const double time_s = run->n_channels ? row->time_s : duration_s(run);
    wl_print("run %lld in %s%s%s: %s, from %s\n", (long long)run->run, wl_store_path(im->store), run->label ? ", " : "",
             run->label ? run->label : "", what_text(run, time_s, a), run->format->name);
    if (isnan(energy.value))
        wl_print("no energy: %s; see wattlaw show --run %lld\n", run->why_no_energy ? run->why_no_energy : "unknown",
                 (long long)run->run);
    else
        wl_print("energy %s, mean %s\n", wl_amount_text(&energy, a), wl_amount_text(&power, a));
}

static const char *time_text(const struct wl_import_run *run, int64_t t_ns, struct wl_arena *a)
{
    return run->undated ? wl_human_time(a, (double)t_ns / WL_NS_PER_S) : wl_clock_iso(a, t_ns);
}

static void print_channels(const struct wl_import_run *run, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "device", false);
    wl_table_column(&t, "quantity", false);
    wl_table_column(&t, "scope", false);
    wl_table_column(&t, "readings", true);
    wl_table_column(&t, "missing", true);
    wl_table_column(&t, "mean", true);
    wl_table_column(&t, "first", false);
    wl_table_column(&t, "last", false);
    for (size_t i = 0; i < run->n_channels; i++) {
        const struct wl_import_channel *c = &run->channels[i];
        wl_table_cell(&t, run->device[c->device].uuid);
        wl_table_cellf(&t, "%s%s%s", c->of.quantity, *c->of.variant ? " " : "", c->of.variant);
        wl_table_cell(&t, c->of.scope);
        wl_table_cellf(&t, "%zu", c->readings);
        wl_table_cellf(&t, "%zu", c->missing);
        wl_table_real(&t, c->of.counter ? NAN : c->mean, 5);
        wl_table_cell(&t, time_text(run, c->first_ns, a));
        wl_table_cell(&t, time_text(run, c->last_ns, a));
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, 0);
}

static void print_dry_run(const struct import *im, size_t i)
{
    const struct wl_import_run *run = &im->im.runs[i];
    wl_print("%s%s%s: %s, from %s; nothing is stored\n", "not stored", run->label ? ", " : "",
             run->label ? run->label : "", what_text(run, duration_s(run), im->a), run->format->name);
    if (run->n_channels) print_channels(run, im->a);
}

static void print_passed_over(const struct wl_import_counts *list, struct wl_arena *a)
{
    enum { LISTED = 8 };
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < list->n && i < LISTED; i++)
        wl_text_addf(&t, "%s%s (%zu)", i ? ", " : "", list->v[i].what, list->v[i].n);
    if (list->n > LISTED) wl_text_addf(&t, " and %zu more", list->n - LISTED);
    if (list->n) wl_log(WL_INFO, "import", "not imported: %s", t.s);
}

static void print_report(const struct import *im)
{
    const struct wl_import_report *r = &im->im.report;
    for (size_t i = 0; i < r->notes.n; i++) wl_log(WL_WARN, "import", "%s", r->notes.v[i]);
    for (size_t i = 0; i < r->missing.n; i++)
        wl_log(WL_WARN, "import", "%s: %s missing", r->missing.v[i].what,
               r->missing.v[i].n == 1 ? "1 reading is" : wl_strf(im->a, "%zu readings are", r->missing.v[i].n));
    print_passed_over(&r->passed_over, im->a);
    if (r->duplicates) wl_log(WL_WARN, "import", "%zu readings repeat an instant: left out", r->duplicates);
    for (size_t i = 0; i < r->rejected.n; i++) wl_log(WL_WARN, "import", "left out: %s", r->rejected.v[i]);
    if (r->n_rejected > r->rejected.n)
        wl_log(WL_WARN, "import", "and %zu more invalid lines", r->n_rejected - r->rejected.n);
}

/* ---- rows of tables of results, as text ---- */

enum { LISTED_RUNS = 10 };

/* What differs between rows, or is what they are for. */
static void add_row_columns(struct wl_table *t, bool stored)
{
    if (stored) wl_table_column(t, "run", true);
    wl_table_column(t, "row", false);
    wl_table_column(t, "workload", false);
    wl_table_column(t, "hardware", false);
    wl_table_column(t, "workers", true);
    wl_table_column(t, "global batch", true);
    wl_table_column(t, "cap W", true);
    wl_table_column(t, "time s", true);
    wl_table_provenance_column(t);
    wl_table_column(t, "energy J", true);
    wl_table_column(t, "no energy", false);
    wl_table_keep(t, "energy J");
    wl_table_keep(t, "time s");
    wl_table_spare(t, (const char *const[]) { "hardware", "global batch", "no energy" }, 3);
}

static void add_row(const struct import *im, size_t i, struct wl_table *t)
{
    const struct wl_import_run *run = &im->im.runs[i];
    if (im->store) wl_table_cellf(t, "%lld", (long long)run->run);
    wl_table_cell(t, run->label);
    wl_table_cell(t, run->set.workload);
    wl_table_cell(t, run->set.hardware);
    wl_table_int(t, run->set.workers);
    wl_table_int(t, run->set.global_batch);
    wl_table_real(t, run->set.power_cap_w, 4);
    wl_table_real(t, duration_s(run), 5);
    const struct wl_amount energy =
        im->rows ? wl_cmd_run_energy(&im->rows[i])
                 : wl_amount_between(run->energy_j, NAN, NAN, "J",
                                     WL_IMPORTED | (run->estimated ? WL_ESTIMATED : WL_MEASURED));
    wl_table_provenance(t, energy.from);
    wl_table_amount(t, &energy, 5);
    wl_table_cell(t, run->why_no_energy);
    wl_table_row(t);
}

static void hide_if_empty(struct wl_table *t, size_t column)
{
    for (size_t i = column; i < t->cells.n; i += t->columns)
        if (!wl_str_eq(t->cells.v[i], "-")) return;
    t->head[column].hidden = true;
}

static void print_rows(const struct import *im)
{
    const size_t n = im->im.n_runs;
    struct wl_table t = wl_table_new(im->a);
    wl_print("%s of %s%s%s\n\n", wl_format_count(n, "run", im->a), im->im.runs[0].format->title,
             im->store ? " in " : "", im->store ? wl_store_path(im->store) : "; nothing is stored");
    add_row_columns(&t, im->store);
    for (size_t i = 0; i < n && i < LISTED_RUNS; i++) add_row(im, i, &t);
    for (size_t i = 0; i < t.columns; i++) hide_if_empty(&t, i);
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void print_runs(const struct import *im)
{
    const size_t n = im->im.n_runs;
    print_report(im);
    bool rows = n > 0;
    for (size_t i = 0; i < n; i++) rows = rows && im->im.runs[i].is_row;
    if (rows) print_rows(im);
    for (size_t i = 0; i < n && i < LISTED_RUNS && !rows; i++) {
        if (im->im.runs[i].is_log)
            print_log(&im->im.runs[i], im->a);
        else if (im->store)
            print_run(im, i);
        else
            print_dry_run(im, i);
    }
    if (n > LISTED_RUNS && im->store)
        wl_print("and %zu more runs, up to run %lld: see wattlaw show %s\n", n - LISTED_RUNS,
                 (long long)im->im.runs[n - 1].run, im->o->store);
    else if (n > LISTED_RUNS)
        wl_print("and %zu more runs\n", n - LISTED_RUNS);
}

/* ---- JSON ---- */

static void add_counts(struct wl_json *o, const char *key, const struct wl_import_counts *list)
{
    struct wl_json *counts = wl_json_add_object(o, key);
    for (size_t i = 0; i < list->n; i++) wl_json_add_int(counts, list->v[i].what, (int64_t)list->v[i].n);
}

static void add_time(struct wl_json *o, const char *key, const struct wl_import_run *run, int64_t t_ns)
{
    wl_json_add_real(o, key, (double)(t_ns / 1000) / 1e6);
    if (run->undated) wl_json_add_bool(o, "undated", true);
}

static void add_channels(const struct wl_import_run *run, struct wl_json *o)
{
    struct wl_json *list = wl_json_add_array(o, "channels");
    for (size_t i = 0; i < run->n_channels; i++) {
        const struct wl_import_channel *c = &run->channels[i];
        struct wl_json *v = wl_json_add_object(list, NULL);
        wl_json_add_str(v, "device", run->device[c->device].uuid);
        wl_json_add_str(v, "host", run->device[c->device].host);
        wl_json_add_str(v, "quantity", c->of.quantity);
        wl_json_add_str(v, "unit", c->of.unit);
        wl_json_add_str(v, "scope", c->of.scope);
        wl_json_add_str(v, "variant", c->of.variant);
        wl_json_add_int(v, "readings", (int64_t)c->readings);
        wl_json_add_int(v, "missing", (int64_t)c->missing);
        wl_json_add_real(v, c->of.counter ? "difference" : "mean", c->mean);
        add_time(v, "first_s", run, c->first_ns);
        add_time(v, "last_s", run, c->last_ns);
    }
}

static void add_run(const struct import *im, size_t i, struct wl_json *o)
{
    const struct wl_import_run *run = &im->im.runs[i];
    struct wl_json *devices;
    if (run->run) wl_json_add_int(o, "run", run->run);
    wl_json_add_str(o, "source", run->format->name);
    wl_json_add_str(o, "label", run->label);
    wl_json_add_str(o, "started", run->undated || run->from_ns == WL_NO_NS ? NULL : wl_clock_iso(im->a, run->from_ns));
    if (run->is_log) { /* the run's own energy is not of the log */
        wl_json_add_int(o, "values", (int64_t)run->readings);
        wl_json_add_int(o, "epochs", (int64_t)run->devices);
        return;
    }
    wl_json_add_real(o, "time_s", im->rows ? im->rows[i].time_s : duration_s(run));
    if (im->rows) {
        wl_json_add_real(o, "energy_j", im->rows[i].energy_j);
        wl_json_add_real(o, "energy_lo_j", im->rows[i].energy_lo_j);
        wl_json_add_real(o, "energy_hi_j", im->rows[i].energy_hi_j);
        wl_json_add_str(o, "why_no_energy", run->why_no_energy);
    } else if (run->is_row) {
        wl_json_add_real(o, "energy_j", run->energy_j);
        wl_json_add_str(o, "why_no_energy", run->why_no_energy);
    }
    if (run->is_row) {
        wl_json_add_bool(o, "estimated", run->estimated);
        wl_cmd_settings_json(&run->set, wl_json_add_object(o, "settings"));
    }
    wl_json_add_real(o, "period_s", run->period_s);
    wl_json_add_int(o, "readings", (int64_t)run->readings);
    devices = wl_json_add_array(o, "devices");
    for (size_t k = 0; k < run->devices && run->device; k++) {
        struct wl_json *d = wl_json_add_object(devices, NULL);
        wl_json_add_str(d, "uuid", run->device[k].uuid);
        wl_json_add_str(d, "host", wl_str_eq(run->device[k].host, "unknown") ? NULL : run->device[k].host);
        wl_json_add_str(d, "name", run->device[k].model);
    }
    add_channels(run, o);
}

static int write_json(const struct import *im, struct wl_err *e)
{
    const struct wl_import_report *r = &im->im.report;
    struct wl_json *root = wl_json_root_object(im->a), *notes, *runs;
    wl_json_add_str(root, "store", im->store ? wl_store_path(im->store) : NULL);
    if (im->im.n_runs == 1) add_run(im, 0, root); /* what most calls import, and programs read */
    wl_json_add_str(root, "tool", r->tool);
    wl_json_add_int(root, "broken", (int64_t)r->n_rejected);
    wl_json_add_int(root, "repeated", (int64_t)r->duplicates);
    add_counts(root, "missing", &r->missing);
    add_counts(root, "passed_over", &r->passed_over);
    notes = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < r->notes.n; i++) wl_json_add_str(notes, NULL, r->notes.v[i]);
    for (size_t i = 0; i < r->rejected.n; i++) wl_json_add_str(notes, NULL, r->rejected.v[i]);
    runs = wl_json_add_array(root, "runs");
    for (size_t i = 0; i < im->im.n_runs; i++) add_run(im, i, wl_json_add_object(runs, NULL));
    if (im->o->json) wl_json_print(root);
    return im->o->json_file ? wl_json_write(root, im->o->json_file, im->a, e) : 0;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct import_options *o = options;
    struct import im = { .o = o, .a = a };
    int rc = read_options(&im, rest, e);
    if (rc == 0) start_progress(&im);
    if (rc == 0) rc = wl_import_files(&im.files, &im.options, o->dry_run ? NULL : o->store, &im.im, a, e);
    im.store = im.im.store;
    wl_progress_clear(&im.bar);
    if (rc == 0) rc = read_rows(&im, e);
    if (rc < 0) return rc;
    if (!o->json) print_runs(&im);
    rc = o->json || o->json_file ? write_json(&im, e) : 0;
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
        "run. What\n"
        "is left out is said with its line and reason. The same file is imported once. Imported runs are marked in all "
        "commands.\n"
        "A log of a training (TensorBoard's event files, Lightning's metrics.csv) adds epochs and metrics to a run.\n"
        "\n"
        "    wattlaw import smi.csv --timezone Europe/Berlin --name train --workers 4\n"
        "    wattlaw import --dry-run results/\n"
        "    wattlaw import n1.json --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z\n"
        "    wattlaw import --run 7 lightning_logs/version_0/metrics.csv\n"
        "    wattlaw import bare.csv --columns index,timestamp,power.draw",
    .options = import_rows,
    .options_size = sizeof(struct import_options),
    .run = run,
};
