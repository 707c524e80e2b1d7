#include "exchange/import/series.h"

#include "exchange/import/series_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices and channels ---- */

static const char *or_empty(const char *s) { return s ? s : ""; }

static bool is_selected(const struct wl_strs *gpus, const struct wl_import_device *d)
{
    if (!gpus || gpus->n == 0) return true;
    const size_t host = strlen(d->host);
    for (size_t i = 0; i < gpus->n; i++) {
        const char *want = gpus->v[i];
        if (wl_str_eq(want, d->host) || wl_str_starts(d->uuid, want)) return true;
        if (wl_str_starts(want, d->host) && want[host] == ':' && wl_str_eq(want + host + 1, or_empty(d->number)))
            return true;
    }
    return false;
}

/* With --uuids "gpu3" is the fourth of them. */
static const char *uuid_of(const struct wl_import *im, const char *uuid)
{
    int64_t number;
    const struct wl_strs *uuids = im->opts->uuids;
    if (!uuids || !wl_str_starts(uuid, "gpu") || wl_str_to_int(uuid + 3, &number) < 0) return uuid;
    return number >= 0 && (size_t)number < uuids->n ? uuids->v[number] : uuid;
}

int wl_series_device(struct wl_import *im, const struct wl_import_device *device)
{
    struct wl_series *s = im->series;
    struct wl_import_device d = *device;
    d.uuid = uuid_of(im, d.uuid);
    if (!d.host || !*d.host) d.host = im->opts->host ? im->opts->host : "unknown";
    if (!is_selected(im->opts->gpus, &d)) return WL_SERIES_UNWANTED;
    for (size_t i = 0; i < s->n_devices; i++)
        if (wl_str_eq(s->devices[i].uuid, d.uuid) && wl_str_eq(s->devices[i].host, d.host)) return (int)i;
    if (s->n_devices == WL_SERIES_DEVICES) {
        wl_import_note(im, "more than %d devices: the others are left out", WL_SERIES_DEVICES);
        return WL_SERIES_UNWANTED;
    }
    WL_GROW(s->a, s->devices, s->n_devices, s->devices_cap);
    s->devices[s->n_devices] = (struct wl_import_device) {
        .uuid = wl_strdup(s->a, d.uuid),
        .host = wl_strdup(s->a, d.host),
        .number = d.number ? wl_strdup(s->a, d.number) : NULL,
        .model = d.model ? wl_strdup(s->a, d.model) : NULL,
        .driver = d.driver ? wl_strdup(s->a, d.driver) : NULL,
        .split = d.split,
    };
    return (int)s->n_devices++;
}

/* Values outside of these are what tools write for "none". */
static void set_limits(struct wl_series_channel *c)
{
    const char *unit = c->pub.of.unit;
    c->least = wl_str_eq(unit, "°C") ? -300 : 0;
    c->most = wl_str_eq(unit, "%") ? 100 : 1e18;
}

static bool same_quantity(const struct wl_import_quantity *x, const struct wl_import_quantity *y)
{
    return wl_str_eq(x->quantity, y->quantity) && wl_str_eq(x->scope, y->scope) && wl_str_eq(x->variant, y->variant);
}

int wl_series_channel(struct wl_import *im, int device, const struct wl_import_quantity *of)
{
    struct wl_series *s = im->series;
    if (device < 0) return WL_SERIES_UNWANTED;
    for (size_t i = 0; i < s->n_channels; i++)
        if (s->channels[i].pub.device == (size_t)device && same_quantity(&s->channels[i].pub.of, of)) return (int)i;
    WL_GROW(s->a, s->channels, s->n_channels, s->channels_cap);
    struct wl_series_channel *c = &s->channels[s->n_channels];
    *c = (struct wl_series_channel) { .pub = { .device = (size_t)device, .of = *of, .mean = NAN },
                                      .last_ns = INT64_MIN,
                                      .last = NAN };
    struct wl_import_quantity *q = &c->pub.of;
    q->quantity = wl_strdup(s->a, of->quantity);
    q->unit = wl_strdup(s->a, of->unit);
    q->scope = wl_strdup(s->a, of->scope);
    q->variant = wl_strdup(s->a, or_empty(of->variant));
    set_limits(c);
    return (int)s->n_channels++;
}

/* ---- readings ---- */

static void count_missing(struct wl_series_channel *c, const char *why)
{
    size_t i = 0;
    while (i < c->n_why && c->why[i].what != why && !wl_str_eq(c->why[i].what, why)) i++;
    if (i == WL_SERIES_REASONS) i--; /* the last one stands for the rest */
    if (i == c->n_why) c->why[c->n_why++] = (struct wl_import_count) { .what = why };
    c->why[i].n++;
    c->pub.missing++;
}

/* A RAPL counter has 32 bits of an energy unit of 2^-14 J or, on older and on server processors, of 2^-16 J (Intel SDM
 * volume 3B, 15.10). The lap whose rate is nearest to the usual one counts; a decrease that no lap explains is a reset.
 */
static double lap_of(const struct wl_series_channel *c, int64_t t_ns, double value)
{
    static const double laps[] = { 0x1p32 * 0x1p-14, 0x1p32 * 0x1p-16 };
    const double step_s = (double)(t_ns - c->last_ns) / WL_NS_PER_S;
    double best = 0;
    for (size_t i = 0; i < WL_COUNT(laps); i++) {
        double rate = (value + laps[i] - c->last) / step_s;
        if (c->last <= laps[i] && rate <= 5 * c->rate + 50 && (best == 0 || laps[i] < best)) best = laps[i];
    }
    return best;
}

static double unwrapped(struct wl_import *im, struct wl_series_channel *c, int64_t t_ns, double value)
{
    if (value < c->last && t_ns > c->last_ns) {
        double lap = c->pub.of.wraps ? lap_of(c, t_ns, value) : 0;
        c->laps += lap;
        c->n_laps += lap > 0;
        if (lap == 0 && c->n_resets++ == 0)
            wl_import_note(im,
                           "%s: %s decreases at %s:%lld: the counter was reset, and gives no energy of the whole run",
                           im->series->devices[c->pub.device].uuid, c->pub.of.quantity, im->in->path,
                           (long long)im->in->line);
    } else if (t_ns > c->last_ns && !isnan(c->last)) {
        c->rate = (value - c->last) / ((double)(t_ns - c->last_ns) / WL_NS_PER_S);
    }
    c->last = value;
    return value + c->laps;
}

static void keep_step(struct wl_series *s, struct wl_series_channel *c, int64_t t_ns)
{
    if (c->n_steps < WL_SERIES_STEPS && s->n_steps_kept < WL_SERIES_CHANNELS_WITH_STEPS + (c->steps != NULL)) {
        if (!c->steps) {
            c->steps = wl_new_array(s->a, int64_t, WL_SERIES_STEPS);
            s->n_steps_kept++;
        }
        c->steps[c->n_steps++] = t_ns - c->last_ns;
    }
}

/* Readings next to the ends of the requested time stay, for the values at its edges. */
static bool is_outside(const struct wl_import_opts *o, int64_t t_ns)
{
    const int64_t MARGIN_NS = 120 * WL_NS_PER_S;
    return (o->from_ns != WL_NO_NS && t_ns < o->from_ns - MARGIN_NS) ||
           (o->to_ns != WL_NO_NS && t_ns > o->to_ns + MARGIN_NS);
}

static int hold(struct wl_import *im, struct wl_series_channel *c, int64_t t_ns, double value, struct wl_err *e)
{
    if (!im->store_path) return 0;
    return wl_held_add(&im->series->held, &c->held, t_ns, value, im->store_path, im->series->a, e);
}

/* Places a reading: 1 it counts, 0 it is a duplicate, or outside of the requested time. */
static int place(struct wl_import *im, struct wl_series_channel *c, int64_t t_ns)
{
    struct wl_series *s = im->series;
    if (is_outside(im->opts, t_ns)) {
        s->n_outside++;
        return 0;
    }
    if (t_ns == c->last_ns) {
        im->report.duplicates++;
        return 0;
    }
    if (c->last_ns != INT64_MIN && t_ns < c->last_ns) {
        if (s->n_back == 0) s->first_back = wl_strf(s->a, "%s:%lld", im->in->path, (long long)im->in->line);
        s->n_back += s->back_line != im->in->line; /* once for all channels of a line */
        s->back_line = im->in->line;
        c->unordered = true;
    } else if (c->last_ns != INT64_MIN) {
        keep_step(s, c, t_ns);
    }
    if (c->pub.readings == 0 || t_ns < c->pub.first_ns) c->pub.first_ns = t_ns;
    if (c->pub.readings == 0 || t_ns > c->pub.last_ns) c->pub.last_ns = t_ns;
    c->pub.readings++;
    im->report.taken++;
    return 1;
}

static int add_missing(struct wl_import *im, struct wl_series_channel *c, int64_t t_ns, const char *why,
                       struct wl_err *e)
{
    if (!place(im, c, t_ns)) return 0;
    c->last_ns = t_ns;
    if (why) count_missing(c, why);
    return hold(im, c, t_ns, NAN, e);
}

int wl_series_missing(struct wl_import *im, int channel, int64_t t_ns, const char *why, struct wl_err *e)
{
    if (channel >= 0) return add_missing(im, &im->series->channels[channel], t_ns, why, e);
    im->series->n_unwanted++;
    return 0;
}

int wl_series_add(struct wl_import *im, int channel, int64_t t_ns, double value, struct wl_err *e)
{
    if (channel < 0) {
        im->series->n_unwanted++;
        return 0;
    }
    struct wl_series_channel *c = &im->series->channels[channel];
    if (isnan(value)) return add_missing(im, c, t_ns, "not a number", e);
    if (value < c->least) return add_missing(im, c, t_ns, "below 0", e);
    if (value > c->most) return add_missing(im, c, t_ns, c->most == 100 ? "more than 100 %" : "too large to be one", e);
    if (!place(im, c, t_ns)) return 0;
    if (c->pub.of.counter) value = unwrapped(im, c, t_ns, value);
    if (c->n == 0) c->first = value;
    c->n++;
    c->sum += value;
    c->latest = value;
    c->last_ns = t_ns;
    return hold(im, c, t_ns, value, e);
}

/* ---- runs ---- */

/* The arena of a finished run stays: im->runs has texts of it. */
void wl_series_new(struct wl_import *im, size_t first_source)
{
    struct wl_arena *a = wl_arena_new(im->a);
    im->series = wl_new(a, struct wl_series);
    im->series->a = a;
    im->series->first_source = first_source;
}

int wl_series_next_run(struct wl_import *im, const char *label, struct wl_err *e)
{
    int rc = wl_series_finish(im, e);
    if (rc < 0) return rc;
    im->series->first_source = im->n_sources - 1; /* the rest of this file */
    im->series->label = wl_strdup(im->series->a, label);
    return 0;
}

int64_t wl_series_undated(struct wl_import *im)
{
    bool given = im->opts->start_ns != WL_NO_NS;
    if (!given) im->series->undated = true;
    return given ? im->opts->start_ns : 0;
}
