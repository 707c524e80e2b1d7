/* Carbon intensity of the electricity over time, from a CSV file, and its mean during a run. */
#include "carbon/carbon.h"

#include "carbon/internal.h"

#include "power/power.h"

#include <math.h>
#include <string.h>

/* ---- columns ---- */

/* Column names in lower case, in order of preference: prefix and part, or the whole name, which may require another
 * column. WattTime gives its marginal operating emissions rate in pounds per MWh. */
static const double G_PER_KWH_PER_LB_PER_MWH = 0.45359237; /* g/kWh */
static const struct {
    const char *begins, *contains, *name, *requires;
    bool marginal; /* and in pounds per MWh */
} intensities[] = {
    { "carbon intensity g", "(life cycle)", NULL, NULL, false },
    { "carbon intensity g", "(lca)", NULL, NULL, false },
    { "carbon intensity g", "(direct)", NULL, NULL, false },
    { NULL, NULL, "carbon_intensity", NULL, false },
    { NULL, NULL, "carbonintensity", NULL, false },
    { NULL, NULL, "g_per_kwh", NULL, false },
    { NULL, NULL, "g/kwh", NULL, false },
    { NULL, NULL, "moer", NULL, true },
    { NULL, NULL, "value", "point_time", true },
};
static int column_like(const struct wl_csv *csv, const char *begins, const char *contains, struct wl_arena *a)
{
    for (size_t i = 0; i < csv->head.n; i++) {
        const char *name = wl_grid_lower(csv->head.v[i], a);
        if (wl_str_starts(name, begins) && strstr(name, contains)) return (int)i;
    }
    return -1;
}

/* *kind: the row of the table. */
static int intensity_column(const struct wl_csv *csv, size_t *kind, struct wl_arena *a)
{
    int found = -1;
    for (size_t k = 0; k < WL_COUNT(intensities) && found < 0; k++) {
        *kind = k;
        if (intensities[k].requires && wl_grid_column_named(csv, intensities[k].requires, a) < 0) continue;
        found = intensities[k].name ? wl_grid_column_named(csv, intensities[k].name, a)
                                    : column_like(csv, intensities[k].begins, intensities[k].contains, a);
    }
    return found;
}

int wl_carbon_intensity_read(const char *path, struct wl_carbon_intensity *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_csv csv;
    size_t kind;
    *out = (struct wl_carbon_intensity) { 0 };
    int rc = wl_csv_open(&csv, path, ',', a, e);
    if (rc < 0) return rc;
    struct wl_grid_column c = { .time = wl_grid_time_column(&csv, a),
                                .value = intensity_column(&csv, &kind, a),
                                .scale = 1,
                                .max = 1e5,
                                .expect = "an intensity from 0 to 1e+05 g/kWh" };
    if (c.time < 0 || c.value < 0)
        return wl_fail(e, WL_EINVAL, "%s: no column of %s (docs/formats.md lists the names)", path,
                       c.time < 0 ? "times: timestamp, datetime" : "intensities: carbon_intensity");
    out->marginal = intensities[kind].marginal;
    if (out->marginal) c.scale = G_PER_KWH_PER_LB_PER_MWH;
    return wl_grid_steps_read(&csv, &c, &out->steps, a, e);
}

/* ---- a run ---- */

/* The channel from which a chosen energy was computed. */
static const struct wl_channel_row *channel_of(const struct wl_channel_rows *channels, const struct wl_energy_row *row)
{
    const char *quantity = wl_quantity_name(wl_str_eq(row->method, "integral") ? WL_POWER : WL_ENERGY);
    for (size_t i = 0; i < channels->n; i++) {
        const struct wl_channel_row *c = &channels->v[i];
        if (c->device == row->device && wl_str_eq(c->scope, row->scope) && wl_str_eq(c->quantity, quantity)) return c;
    }
    return NULL;
}

struct weighted {
    const struct wl_run_row *run;
    struct wl_time_series *series; /* [n] of the chosen devices */
    bool *counter;                 /* [n] */
    size_t n;
    int64_t max_gap_ns;
};

static int read_weights(struct weighted *w, struct wl_store *s, struct wl_arena *a, struct wl_err *e)
{
    struct wl_channel_rows channels;
    struct wl_energy_rows energies;
    int rc = wl_store_channels(s, w->run->id, &channels, a, e);
    if (rc == 0) rc = wl_store_energies(s, w->run->id, &energies, a, e);
    if (rc < 0) return rc;
    w->series = wl_new_array(a, struct wl_time_series, energies.n);
    w->counter = wl_new_array(a, bool, energies.n);
    for (size_t i = 0; i < energies.n && rc == 0; i++) {
        struct wl_readings r;
        const struct wl_channel_row *c = channel_of(&channels, &energies.v[i]);
        if (!isnan(energies.v[i].epoch) || !energies.v[i].chosen || !c) continue;
        rc = wl_store_readings(s, c->id, INT64_MIN, INT64_MAX, &r, a, e);
        if (rc < 0) break;
        w->counter[w->n] = c->counter;
        w->series[w->n++] = (struct wl_time_series) { r.t_ns, r.value, r.n };
    }
    return rc;
}

/* Energy of all chosen devices between two instants of the wall clock, J; where there are no readings, from the run's
 * mean power. */
static double weight_between(const struct weighted *w, int64_t from_ns, int64_t to_ns)
{
    int64_t shift = w->run->start.mono_ns - w->run->start.wall_ns, t0 = from_ns + shift, t1 = to_ns + shift;
    double watts = 0;
    for (size_t i = 0; i < w->n; i++)
        watts += w->counter[i] ? wl_window_rate(&w->series[i], t0, t1, w->max_gap_ns)
                               : wl_window_mean(&w->series[i], t0, t1, w->max_gap_ns);
    if (!(watts > 0)) watts = w->run->mean_power_w > 0 ? w->run->mean_power_w : 1;
    return watts * (double)(to_ns - from_ns) / WL_NS_PER_S;
}

int wl_carbon_intensity_of_run(const struct wl_carbon_intensity *grid, struct wl_store *s, int64_t run,
                               double *g_per_kwh, const char **why, struct wl_arena *a, struct wl_err *e)
{
    struct wl_run_rows runs;
    struct weighted w = { .max_gap_ns = 5 * (int64_t)WL_NS_PER_S };
    double sum = 0, all = 0;
    *g_per_kwh = NAN;
    *why = NULL;
    int rc = wl_store_runs(s, &(struct wl_run_filter) { .run = run }, &runs, a, e);
    if (rc == 0 && runs.n == 0) return wl_fail(e, WL_ENOENT, "%s: no run %lld", wl_store_path(s), (long long)run);
    w.run = runs.v;
    if (rc == 0) rc = read_weights(&w, s, a, e);
    if (rc < 0) return rc;
    if (!wl_anchor_is_plausible(&w.run->start) || !(w.run->time_s * WL_NS_PER_S < 0x1p61)) {
        *why = wl_strf(a, "run %lld has no time of day", (long long)run);
        return 0;
    }
    int64_t end = w.run->start.wall_ns + (int64_t)(w.run->time_s * WL_NS_PER_S), until;
    for (int64_t t = w.run->start.wall_ns; t < end; t = until) {
        double g = wl_grid_steps_at(&grid->steps, t, &until);
        if (until > end) until = end;
        if (isnan(g)) {
            *why = wl_strf(a, "run %lld: %s has no intensity for %s", (long long)run, grid->steps.path,
                           wl_clock_iso(a, t));
            return 0;
        }
        double weight = weight_between(&w, t, until);
        sum += weight * g;
        all += weight;
    }
    *g_per_kwh = all > 0 ? sum / all : NAN;
    return 0;
}
