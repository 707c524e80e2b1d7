/* carbontracker's two logs of a training. NAME_carbontracker.log has the mean power of each device in each epoch and
 * the epoch's duration; NAME_carbontracker_output.log has the total, times a PUE. Source:
 * github.com/lfwa/carbontracker, loggerutil.py. */
#include "exchange/import/formats.h"
#include "exchange/import/reader.h"

#include <math.h>
#include <string.h>

#define POWER  "Average power usage (W) for "
#define ACTUAL "Actual consumption for "
enum { DEVICES = 64 };

struct reader {
    struct wl_import *im;
    struct wl_zone zone;
    struct wl_arena *a;
    /* the epoch that is being read */
    struct wl_table_energy now[DEVICES];
    size_t n_now;
    int64_t epoch, stamp_ns;
    /* the row */
    struct wl_table_energy *energies;
    size_t n_energies, energies_cap;
    struct wl_epoch_row *epochs;
    size_t n_epochs, epochs_cap;
    int64_t start_ns;
    double time_s;
    /* of the other log */
    double actual_s, actual_epochs;
    bool predicted;
};

/* "0:02:21.90", "1 day, 0:02:21": s. */
static bool read_duration(struct wl_slice s, double *out)
{
    double v[3], days = 0;
    struct wl_slice rest;
    if (memmem(s.s, s.n, "day", 3)) {
        const char *comma = memchr(s.s, ',', s.n);
        if (!comma || !wl_slice_real_then(s, &days, &rest)) return false;
        s = wl_slice_trim((struct wl_slice) { comma + 1, (size_t)(s.s + s.n - comma - 1) });
    }
    struct wl_slice part[3];
    if (wl_slice_split(s, ':', part, 3) != 3) return false;
    for (int i = 0; i < 3; i++)
        if (!wl_slice_real(part[i], &v[i]) || v[i] < 0) return false;
    *out = days * 86400 + v[0] * 3600 + v[1] * 60 + v[2];
    return *out > 0;
}

/* "gpu: [136.8, 120.1]": a mean for each device. "[]" and None: none. */
static void read_power(struct reader *r, struct wl_slice s)
{
    const char *colon = memchr(s.s, ':', s.n);
    if (!colon) return;
    char *kind = wl_strndup(r->a, s.s, (size_t)(colon - s.s));
    struct wl_slice list = wl_slice_trim((struct wl_slice) { colon + 1, (size_t)(s.s + s.n - colon - 1) }), v[DEVICES];
    if (list.n < 2 || list.s[0] != '[' || list.s[list.n - 1] != ']') {
        wl_import_reject(r->im, "%s: expected a list as [136.86, 120.1], not \"%.*s\"", kind, WL_QUOTE(list));
        return;
    }
    const int n = wl_slice_split((struct wl_slice) { list.s + 1, list.n - 2 }, ',', v, DEVICES);
    for (int i = 0; i < n && i < DEVICES && r->n_now < DEVICES; i++) {
        double watts;
        if (v[i].n == 0) continue;
        if (!wl_slice_real(v[i], &watts) || watts < 0) {
            wl_import_reject(r->im, "%s: \"%.*s\" is not a power in W", kind, WL_QUOTE(v[i]));
            continue;
        }
        r->now[r->n_now++] = (struct wl_table_energy) { .uuid = wl_strf(r->a, "%s%d", kind, i),
                                                        .scope = wl_str_eq(kind, "gpu") ? "gpu" : "package",
                                                        .integral = true,
                                                        .power_w = watts };
    }
}

static void add_energy(struct reader *r, const struct wl_table_energy *x)
{
    WL_GROW(r->a, r->energies, r->n_energies, r->energies_cap);
    r->energies[r->n_energies++] = *x;
}

static void end_epoch(struct reader *r, double time_s)
{
    if (!r->epoch) {
        wl_import_reject(r->im, "Duration without the line of an epoch before it");
        return;
    }
    for (size_t i = 0; i < r->n_now; i++) {
        struct wl_table_energy x = r->now[i];
        x.epoch = r->epoch;
        x.energy_j = x.power_w * time_s;
        add_energy(r, &x);
    }
    WL_GROW(r->a, r->epochs, r->n_epochs, r->epochs_cap);
    r->epochs[r->n_epochs++] = (struct wl_epoch_row) { .epoch = r->epoch,
                                                       .begin_ns = WL_NO_NS,
                                                       .end_ns = WL_NO_NS,
                                                       .time_s = time_s,
                                                       .samples = NAN,
                                                       .updates = NAN,
                                                       .tokens = NAN };
    if (r->n_epochs == 1) r->start_ns = wl_table_start(r->stamp_ns, time_s);
    r->time_s += time_s;
    r->epoch = 0;
    r->n_now = 0;
}

/* The energies of the run are the sums over its epochs. */
static void add_sums(struct reader *r)
{
    const size_t n = r->n_energies;
    for (size_t i = 0; i < n; i++) {
        struct wl_table_energy sum = r->energies[i];
        size_t first = 0, in = 0;
        while (!wl_str_eq(r->energies[first].uuid, sum.uuid)) first++;
        if (first < i) continue;
        sum.epoch = 0;
        sum.energy_j = 0;
        for (size_t k = i; k < n; k++) {
            if (!wl_str_eq(r->energies[k].uuid, sum.uuid)) continue;
            sum.energy_j += r->energies[k].energy_j;
            in++;
        }
        sum.power_w = sum.energy_j / r->time_s;
        if (in < r->n_epochs) {
            sum.energy_j = sum.power_w = NAN;
            sum.why = "not all epochs have a power of it";
        }
        add_energy(r, &sum);
    }
}

static int finish(struct reader *r, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    if (r->epoch || r->n_now) wl_import_reject(r->im, "the log ends inside of an epoch, which is left out");
    if (r->n_epochs == 0) return 0;
    add_sums(r);
    row.part = wl_path_base(r->im->in->path);
    row.start_ns = r->start_ns;
    row.time_s = r->time_s;
    row.energies = r->energies;
    row.n_energies = r->n_energies;
    row.epochs = r->epochs;
    row.n_epochs = r->n_epochs;
    return wl_table_add(r->im, &row, e);
}

/* ---- the log of totals ---- */

static int read_total(struct reader *r, struct wl_slice kwh_text, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    struct wl_table_energy energy = { .uuid = "total", .scope = "node", .integral = true, .estimated = true };
    struct wl_slice unit;
    double kwh;
    if (!wl_slice_real_then(kwh_text, &kwh, &unit) || !wl_slice_eq(unit, "kWh") || !(kwh >= 0) || !(r->actual_s > 0)) {
        wl_import_reject(r->im, "expected Time before, and Energy in kWh, not \"%.*s\"", WL_QUOTE(kwh_text));
        return 0;
    }
    energy.energy_j = kwh * 3.6e6;
    energy.power_w = energy.energy_j / r->actual_s;
    row.part = wl_strf(r->a, "%s, %g epochs", wl_path_base(r->im->in->path), r->actual_epochs);
    row.start_ns = wl_table_start(r->stamp_ns, r->actual_s);
    row.time_s = r->actual_s;
    row.energies = &energy;
    row.n_energies = 1;
    wl_import_note(r->im,
                   "%s: the total of carbontracker is multiplied by a PUE that it assumes, and rounded: estimated; the "
                   "log of epochs "
                   "next to it has the power of each device",
                   r->im->in->path);
    return wl_table_add(r->im, &row, e);
}

/* ---- lines ---- */

static bool after(struct wl_slice line, const char *text, struct wl_slice *rest)
{
    const char *at = memmem(line.s, line.n, text, strlen(text));
    if (!at) return false;
    at += strlen(text);
    *rest = wl_slice_trim((struct wl_slice) { at, (size_t)(line.s + line.n - at) });
    return true;
}

/* "2022-11-14 15:44:48 - " in front of the first line of a message, local time. */
static bool read_stamp(struct reader *r, struct wl_slice line)
{
    int64_t local_s, ns, utc_s;
    struct wl_slice rest;
    if (!wl_time_parse(line, WL_DATE_YMD, &local_s, &ns, &rest) || !wl_slice_starts(wl_slice_trim(rest), "-"))
        return false;
    return wl_import_time(r->im, &r->zone, (struct wl_slice) { line.s, (size_t)(rest.s - line.s) }, WL_DATE_YMD,
                          &utc_s) &&
           (r->stamp_ns = utc_s, true);
}

static int read_line(struct reader *r, struct wl_slice line, struct wl_err *e)
{
    struct wl_slice rest, tail;
    double s;
    if (read_stamp(r, line)) r->predicted = false;
    if (after(line, POWER, &rest)) {
        read_power(r, rest);
    } else if (after(line, "Duration:", &rest)) {
        if (read_duration(rest, &s))
            end_epoch(r, s);
        else
            wl_import_reject(r->im, "Duration: \"%.*s\" is not a time as 0:02:21.90", WL_QUOTE(rest));
    } else if (after(line, "Epoch ", &rest)) {
        if (!wl_slice_real_then(rest, &s, &tail) || s < 0 || s > 1e6)
            wl_import_reject(r->im, "Epoch: \"%.*s\" is not a number", WL_QUOTE(rest));
        else
            r->epoch = (int64_t)s > 0 ? (int64_t)s : 1;
    } else if (after(line, "Predicted consumption", &rest)) {
        r->predicted = true;
    } else if (after(line, ACTUAL, &rest)) {
        r->predicted = false;
        r->actual_s = NAN;
        r->actual_epochs = NAN;
        (void)wl_slice_real_then(rest, &r->actual_epochs, &tail);
    } else if (!r->predicted && after(line, "Time:", &rest)) {
        if (!read_duration(rest, &r->actual_s)) r->actual_s = NAN;
    } else if (!r->predicted && after(line, "Energy:", &rest)) {
        return read_total(r, rest, e);
    }
    return 0;
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader *r = wl_new(a, struct reader);
    struct wl_slice line;
    *r = (struct reader) { .im = im, .a = a, .stamp_ns = WL_NO_NS, .start_ns = WL_NO_NS, .actual_s = NAN };
    int rc = wl_zone_open(&r->zone, im->opts->timezone, a, e);
    wl_import_set_tool(im, "carbontracker");
    if (rc == 0)
        while ((rc = wl_import_line(im, &line, e)) > 0)
            if ((rc = read_line(r, line, e)) < 0) break;
    if (rc == 0) rc = finish(r, e);
    wl_arena_free(a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return wl_import_head_has(h, POWER) || wl_import_head_has(h, " - CarbonTracker: ");
}

const struct wl_import_format wl_import_carbontracker = {
    .name = "carbontracker",
    .title = "carbontracker's logs",
    .looks_for = "lines 'Average power usage (W) for gpu:' or 'CarbonTracker:'",
    .kind = WL_IMPORT_TABLE,
    .recognise = recognise,
    .read = read_file,
};
