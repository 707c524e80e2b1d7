/* wattlaw import: what other tools have measured becomes a run of a store. */
#include "campaign/campaign.h"
#include "cmd/cmd.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/store.h"
#include "exchange/exchange.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct import_options {
    const char *store, *name, *from, *to, *start, *json_file;
    bool json;
    double period_s;
    struct wl_strs gpus, uuids;
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
      .help = "store to add the run to" },
    TEXT(name, "NAME", "name of the workload (default: the name of the first file)"),
    TEXT(from, "TIME", "time at which the run starts, " TIMES " (default: the first reading)"),
    TEXT(to, "TIME", "time at which the run ends, " TIMES " (default: the last reading)"),
    { .name = "gpus",
      .type = WL_STRS,
      .offset = offsetof(struct import_options, gpus),
      .help = "GPUs to import: UUID or start of a UUID, HOST, HOST:NUMBER (default: all)" },
    { .name = "uuids",
      .type = WL_STRS,
      .offset = offsetof(struct import_options, uuids),
      .help = "UUIDs of GPU 0, 1, ..., for a file that only numbers GPUs (default: none)" },
    TEXT(start, "TIME", "time of the first reading, " TIMES ", for a file without times (default: none)"),
    { .name = "period",
      .type = WL_DURATION,
      .offset = offsetof(struct import_options, period_s),
      .min = 1e-3,
      .max = 86400,
      .unit = "s",
      .help = "interval between readings, for a file without times (default: none)" },
#define SETTING_COUNT(member, option, unit_, max_, grid, help_, ...) COUNT(option, member, unit_, help_ "; 0: unknown"),
#include "settings/settings.def"
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct import_options, json),
      .help = "print the imported run as JSON" },
    { .name = "json-file",
      .type = WL_STR,
      .offset = offsetof(struct import_options, json_file),
      .unit = "FILE",
      .help = "file to write the imported run to, as JSON (default: none)" },
    WL_OPT_END,
};

/* State of an import. */
struct import {
    const struct import_options *o;
    struct wl_strs files;
    struct wl_dcgm_opts options;
    struct wl_dcgm d;
    const char *command;
    int64_t from_ns, to_ns; /* of the run */
    double period_s;
    struct wl_store *store;
    int64_t run;
    struct wl_derived derived;
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

static int read_options(struct import *im, struct wl_err *e)
{
    const struct import_options *o = im->o;
    struct wl_dcgm_opts *d = &im->options;
    d->gpus = &o->gpus;
    d->uuids = &o->uuids;
    d->period_ns = isnan(o->period_s) || o->period_s == 0 ? WL_NO_NS : (int64_t)(o->period_s * WL_NS_PER_S);
    int rc = read_option_time("from", o->from, &d->from_ns, e);
    if (rc == 0) rc = read_option_time("to", o->to, &d->to_ns, e);
    if (rc == 0) rc = read_option_time("start", o->start, &d->start_ns, e);
    if (rc < 0) return rc;
    if (d->from_ns != WL_NO_NS && d->to_ns != WL_NO_NS && d->from_ns >= d->to_ns)
        return wl_fail(e, WL_EUSAGE, "--from %s is not before --to %s", o->from, o->to);
    return 0;
}

/* ---- reading ---- */

static int read_files(struct import *im, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < im->files.n && rc == 0; i++)
        rc = wl_dcgm_read(im->files.v[i], &im->options, &im->d, im->a, e);
    if (rc == 0) rc = wl_dcgm_finish(&im->d, &im->options, im->a, e);
    return rc;
}

/* From the first to the last reading of power or energy (or else of any quantity), unless --from and --to say. */
static void find_span(struct import *im)
{
    int64_t span[2][2] = { { INT64_MAX, INT64_MIN }, { INT64_MAX, INT64_MIN } }; /* energetic or not; first, last */
    for (size_t i = 0; i < im->d.n_series; i++) {
        const struct wl_dcgm_series *s = &im->d.series[i];
        int64_t *at = span[!(wl_str_eq(s->unit, "W") || wl_str_eq(s->unit, "J"))];
        if (s->v[0].t_ns < at[0]) at[0] = s->v[0].t_ns;
        if (s->v[s->n - 1].t_ns > at[1]) at[1] = s->v[s->n - 1].t_ns;
    }
    const int64_t *at = span[span[0][1] == INT64_MIN];
    im->from_ns = im->options.from_ns != WL_NO_NS ? im->options.from_ns : at[0];
    im->to_ns = im->options.to_ns != WL_NO_NS ? im->options.to_ns : at[1];
}

static int check_span(struct import *im, struct wl_err *e)
{
    find_span(im);
    im->period_s = wl_dcgm_period_s(&im->d, im->a);
    if (im->from_ns < im->to_ns && im->period_s > 0) return 0;
    return wl_fail(e, WL_EINVAL, "%s: all readings have the same time; a run needs at least two times", im->files.v[0]);
}

static struct wl_strs host_names(const struct import *im)
{
    const struct wl_dcgm *d = &im->d;
    struct wl_strs names = { 0 };
    for (size_t i = 0; i < d->n_devices; i++) {
        bool known = !*d->devices[i].host;
        for (size_t k = 0; k < names.n; k++) known = known || wl_str_eq(names.v[k], d->devices[i].host);
        if (!known) wl_strs_add(im->a, &names, d->devices[i].host);
    }
    return names;
}

static const char *hosts(const struct import *im)
{
    struct wl_strs names = host_names(im);
    if (names.n == 0) return "unknown";
    return names.n == 1 ? names.v[0] : wl_strf(im->a, "%s and %zu more", names.v[0], names.n - 1);
}

/* ---- the run ---- */

static double known(int64_t n) { return n ? (double)n : NAN; }

static struct wl_settings settings(const struct import *im)
{
    struct wl_settings set = wl_settings_none;
    set.workload = im->o->name ? im->o->name : wl_path_base(im->files.v[0]);
#define SETTING_COUNT(member, ...) set.member = known(im->o->member);
#include "settings/settings.def"
    return set;
}

/* Importing the same files over the same time twice would count their energy twice. */
static int refuse_again(struct import *im, int64_t campaign, struct wl_err *e)
{
    struct wl_run_rows runs;
    struct wl_run_filter filter = { .campaign = campaign };
    int rc = wl_store_runs(im->store, &filter, &runs, im->a, e);
    for (size_t i = 0; rc == 0 && i < runs.n; i++) {
        const struct wl_run_row *r = &runs.v[i];
        bool same =
            r->start.wall_ns == im->from_ns && r->stop.wall_ns == im->to_ns && wl_str_eq(r->command, im->command);
        if (same)
            return wl_fail(e, WL_EINVAL, "%s: already imported, as run %lld", wl_store_path(im->store),
                           (long long)r->id);
    }
    return rc;
}

static int note(struct import *im, const char *level, const char *text, struct wl_err *e)
{
    return wl_store_add_log(im->store, im->run, level, "dcgm", text, e);
}

static int store_notes(struct import *im, struct wl_err *e)
{
    const struct wl_dcgm *d = &im->d;
    int rc = note(im, "info", wl_strf(im->a, "measured by NVIDIA DCGM, imported by wattlaw %s", WL_VERSION), e);
    for (size_t i = 0; i < d->notes.n && rc == 0; i++) rc = note(im, "warn", d->notes.v[i], e);
    for (size_t i = 0; i < d->malformed.n && rc == 0; i++) rc = note(im, "warn", d->malformed.v[i], e);
    if (rc == 0 && im->options.start_ns != WL_NO_NS)
        rc = note(im, "warn", "times are from --start and --period, not from the readings", e);
    return rc;
}

static int begin_run(struct import *im, struct wl_err *e)
{
    struct wl_settings set = settings(im);
    struct wl_run_plan plan = { 0 };
    struct wl_run_begin begin = { .host = hosts(im),
                                  .boot_id = "import",
                                  .command = im->command,
                                  .version = WL_VERSION,
                                  .at = { .mono_ns = im->from_ns, .wall_ns = im->from_ns } };
    int64_t campaign;
    int rc = wl_store_add_campaign(im->store, "import", "", WL_VERSION, &campaign, e);
    if (rc == 0) rc = refuse_again(im, campaign, e);
    if (rc == 0) rc = wl_store_add_trial(im->store, campaign, &set, NULL, &plan.trial, e);
    if (rc == 0) rc = wl_store_plan_run(im->store, &plan, &im->run, e);
    return rc < 0 ? rc : wl_store_run_begin(im->store, im->run, &begin, e);
}

static int end_run(struct import *im, struct wl_err *e)
{
    struct wl_run_end end = wl_run_end_none;
    end.at = (struct wl_anchor) { .mono_ns = im->to_ns, .wall_ns = im->to_ns };
    end.sampling_asked_s = end.sampling_period_s = im->period_s;
    struct wl_derive_opts opts = { im->from_ns, im->to_ns, im->period_s, NAN, NAN, NAN };
    int rc = wl_derive(im->store, im->run, &opts, &im->derived, NULL, im->a, e);
    if (rc < 0) return rc;
    size_t nodes = host_names(im).n;
    im->derived.actual.nodes = nodes ? (double)nodes : NAN;
    im->derived.actual.hardware = im->d.devices[im->d.series[0].device].model;
    return wl_store_run_end(im->store, im->run, &end, &im->derived, e);
}

static int store_run(struct import *im, struct wl_err *e)
{
    int rc = wl_store_begin(im->store, e);
    if (rc < 0) return rc;
    rc = begin_run(im, e);
    if (rc == 0) rc = wl_dcgm_store(im->store, im->run, &im->d, im->a, e);
    if (rc == 0) rc = end_run(im, e);
    if (rc == 0) rc = store_notes(im, e);
    if (rc == 0) rc = wl_store_commit(im->store, e);
    if (rc < 0) wl_store_rollback(im->store);
    return rc;
}

/* ---- output ---- */

static size_t readings(const struct import *im)
{
    size_t n = 0;
    for (size_t i = 0; i < im->d.n_series; i++) n += im->d.series[i].n;
    return n;
}

static int find_row(const struct import *im, struct wl_run_row *row, struct wl_err *e)
{
    struct wl_run_rows runs;
    struct wl_run_filter filter = { .run = im->run };
    int rc = wl_store_runs(im->store, &filter, &runs, im->a, e);
    if (rc == 0 && runs.n == 0)
        rc = wl_fail(e, WL_ENOENT, "%s: run %lld is gone", wl_store_path(im->store), (long long)im->run);
    if (rc == 0) *row = runs.v[0];
    return rc;
}

static const char *why_no_energy(const struct import *im)
{
    for (size_t i = 0; i < im->derived.n_energies; i++) {
        const struct wl_energy_row *row = &im->derived.energies[i];
        if (row->chosen && isnan(row->epoch) && row->why) return row->why;
    }
    return "no imported quantity measures energy";
}

static void tell(const struct import *im, const struct wl_run_row *row)
{
    const struct wl_dcgm *d = &im->d;
    for (size_t i = 0; i < d->notes.n; i++) wl_log(WL_WARN, "import", "%s", d->notes.v[i]);
    for (size_t i = 0; i < d->malformed.n; i++) wl_log(WL_WARN, "import", "left out: %s", d->malformed.v[i]);
    if (d->n_malformed > d->malformed.n)
        wl_log(WL_WARN, "import", "and %zu more invalid lines", d->n_malformed - d->malformed.n);
    wl_print("run %lld in %s: %s of %s over %s, %s about every %s\n", (long long)im->run, wl_store_path(im->store),
             wl_format_count(d->n_devices, "GPU", im->a), hosts(im), wl_human_time(im->a, row->time_s),
             wl_format_count(readings(im), "reading", im->a), wl_human_time(im->a, im->period_s));
    const struct wl_amount energy = wl_cmd_run_energy(row), power = wl_cmd_run_power(row);
    if (isnan(energy.value))
        wl_print("no energy: %s; see wattlaw show --run %lld\n", why_no_energy(im), (long long)im->run);
    else
        wl_print("energy %s, mean %s\n", wl_amount_text(&energy, im->a), wl_amount_text(&power, im->a));
}

static int write_json(const struct import *im, const struct wl_run_row *row, struct wl_err *e)
{
    const struct wl_dcgm *d = &im->d;
    struct wl_json *root = wl_json_root_object(im->a), *devices, *notes;
    wl_json_add_str(root, "store", wl_store_path(im->store));
    wl_json_add_int(root, "run", im->run);
    wl_json_add_str(root, "source", "dcgm");
    wl_json_add_str(root, "started", wl_clock_iso(im->a, im->from_ns));
    wl_json_add_real(root, "time_s", row->time_s);
    wl_json_add_real(root, "energy_j", row->energy_j);
    wl_json_add_real(root, "energy_lo_j", row->energy_lo_j);
    wl_json_add_real(root, "energy_hi_j", row->energy_hi_j);
    wl_json_add_real(root, "period_s", im->period_s);
    wl_json_add_int(root, "readings", (int64_t)readings(im));
    wl_json_add_int(root, "broken", (int64_t)d->n_malformed);
    wl_json_add_int(root, "repeated", (int64_t)d->duplicates);
    wl_json_add_int(root, "passed_over", (int64_t)d->ignored);
    devices = wl_json_add_array(root, "devices");
    for (size_t i = 0; i < d->n_devices; i++) {
        struct wl_json *o = wl_json_add_object(devices, NULL);
        wl_json_add_str(o, "uuid", d->devices[i].uuid);
        wl_json_add_str(o, "host", *d->devices[i].host ? d->devices[i].host : NULL);
        wl_json_add_str(o, "name", d->devices[i].model);
    }
    notes = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < d->notes.n; i++) wl_json_add_str(notes, NULL, d->notes.v[i]);
    for (size_t i = 0; i < d->malformed.n; i++) wl_json_add_str(notes, NULL, d->malformed.v[i]);
    if (im->o->json) wl_json_print(root);
    return im->o->json_file ? wl_json_write(root, im->o->json_file, im->a, e) : 0;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct import_options *o = options;
    if (rest->args.n == 0) return wl_fail(e, WL_EUSAGE, "expected a tool and files: wattlaw import dcgm FILE...");
    if (!wl_str_eq(rest->args.v[0], "dcgm"))
        return wl_fail(e, WL_EUSAGE, "cannot import from \"%s\": expected dcgm", rest->args.v[0]);
    if (rest->args.n == 1) return wl_fail(e, WL_EUSAGE, "files are missing: wattlaw import dcgm FILE...");
    struct import im = { .o = o, .files = { .v = rest->args.v + 1, .n = rest->args.n - 1 }, .a = a };
    struct wl_text command = WL_TEXT(a);
    struct wl_run_row row = { 0 };
    wl_text_add(&command, "wattlaw import dcgm");
    for (size_t i = 0; i < im.files.n; i++) wl_text_addf(&command, " %s", wl_path_absolute(a, im.files.v[i]));
    im.command = command.s;
    int rc = read_options(&im, e);
    if (rc == 0) rc = read_files(&im, e);
    if (rc == 0) rc = check_span(&im, e);
    if (rc == 0) rc = wl_store_open(&im.store, o->store, WL_STORE_CREATE, a, e);
    if (rc == 0) rc = store_run(&im, e);
    if (rc == 0) rc = find_row(&im, &row, e);
    if (rc < 0) return rc;
    if (!o->json) tell(&im, &row);
    rc = o->json || o->json_file ? write_json(&im, &row, e) : 0;
    return rc < 0 ? rc : WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_import = {
    .name = "import",
    .usage = "[options] dcgm FILE...",
    .help = "import the measurements of another tool into a store, as a run",
    .more = "dcgm: power, energy, utilisation, clocks and temperatures of NVIDIA GPUs. A FILE is the output of "
            "dcgm-exporter\n"
            "(one answer or many, concatenated), the output of `dcgmi dmon`, or the JSON of Prometheus' query_range. "
            "All FILEs\n"
            "together form one run.\n"
            "\n"
            "    curl -s "
            "'http://prometheus:9090/api/v1/"
            "query_range?query={__name__=~\"DCGM_FI_.*\",Hostname=\"n1\"}&step=15s&start=...' > n1.json\n"
            "    wattlaw import dcgm n1.json --name train --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z "
            "--workers 4\n"
            "    dcgmi dmon -e 54,155,156,203 -d 1000 | ts '%Y-%m-%dT%H:%M:%.S%z' > dmon.txt\n"
            "    wattlaw import dcgm dmon.txt",
    .options = import_rows,
    .options_size = sizeof(struct import_options),
    .run = run,
};
