/* Carbon intensity of the electricity over time, from a CSV file, and its mean during a run. */
#include "carbon/carbon.h"

#include "power/power.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
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
static const char *const times[] = { "datetime (utc)", "datetime", "timestamp", "point_time", "time" };

static char *lower(const char *text, struct wl_arena *a)
{
    char *copy = wl_str_strip(a, text);
    for (char *c = copy; *c; c++) *c = (char)tolower((unsigned char)*c);
    return copy;
}

static int column_named(const struct wl_csv *csv, const char *name, struct wl_arena *a)
{
    for (size_t i = 0; i < csv->head.n; i++)
        if (wl_str_eq(lower(csv->head.v[i], a), name)) return (int)i;
    return -1;
}

static int column_like(const struct wl_csv *csv, const char *begins, const char *contains, struct wl_arena *a)
{
    for (size_t i = 0; i < csv->head.n; i++) {
        const char *name = lower(csv->head.v[i], a);
        if (wl_str_starts(name, begins) && strstr(name, contains)) return (int)i;
    }
    return -1;
}

static int time_column(const struct wl_csv *csv, struct wl_arena *a)
{
    int found = -1;
    for (size_t k = 0; k < WL_COUNT(times) && found < 0; k++) found = column_named(csv, times[k], a);
    return found;
}

/* *kind: the row of the table. */
static int intensity_column(const struct wl_csv *csv, size_t *kind, struct wl_arena *a)
{
    int found = -1;
    for (size_t k = 0; k < WL_COUNT(intensities) && found < 0; k++) {
        *kind = k;
        if (intensities[k].requires && column_named(csv, intensities[k].requires, a) < 0) continue;
        found = intensities[k].name ? column_named(csv, intensities[k].name, a)
                                    : column_like(csv, intensities[k].begins, intensities[k].contains, a);
    }
    return found;
}

/* ---- the file ---- */

struct columns {
    int time, value;
    double scale; /* to g/kWh */
};

static int add_row(struct wl_carbon_intensity *g, size_t *caps, const struct wl_csv *csv, const struct columns *c,
                   struct wl_arena *a, struct wl_err *e)
{
    const double INTENSITY_MAX = 1e5; /* g/kWh */
    int64_t t_ns;
    double v;
    if (!wl_clock_parse(csv->row[c->time], &t_ns))
        return wl_fail(e, WL_EINVAL,
                       "%s:%d: %s = \"%s\": expected a time as 2026-01-31T12:00:00Z or seconds since 1970, before %d",
                       csv->path, csv->line, csv->head.v[c->time], csv->row[c->time], WL_CLOCK_END_YEAR);
    if (g->n && t_ns <= g->t_ns[g->n - 1])
        return wl_fail(e, WL_EINVAL, "%s:%d: %s = %s: expected a time after that of the row before", csv->path,
                       csv->line, csv->head.v[c->time], csv->row[c->time]);
    int rc = wl_csv_real(csv, c->value, &v, e);
    if (rc < 0) return rc;
    if (v < 0 || v * c->scale > INTENSITY_MAX)
        return wl_fail(e, WL_EINVAL, "%s:%d: %s = %s: expected an intensity from 0 to %g g/kWh", csv->path, csv->line,
                       csv->head.v[c->value], csv->row[c->value], INTENSITY_MAX);
    WL_GROW(a, g->t_ns, g->n, caps[0]);
    WL_GROW(a, g->g_per_kwh, g->n, caps[1]);
    g->t_ns[g->n] = t_ns;
    g->g_per_kwh[g->n++] = v * c->scale;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
    return (p > q) - (p < q);
}

static int64_t median_spacing(const struct wl_carbon_intensity *g, struct wl_arena *a)
{
    int64_t *spacing = wl_new_array(a, int64_t, g->n - 1);
    for (size_t i = 1; i < g->n; i++) spacing[i - 1] = g->t_ns[i] - g->t_ns[i - 1];
    qsort(spacing, g->n - 1, sizeof *spacing, by_value);
    return spacing[(g->n - 1) / 2];
}

int wl_carbon_intensity_read(const char *path, struct wl_carbon_intensity *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_csv csv;
    size_t caps[2] = { 0 }, kind;
    *out = (struct wl_carbon_intensity) { .path = path };
    int rc = wl_csv_open(&csv, path, ',', a, e), more = 0;
    if (rc < 0) return rc;
    struct columns c = { .time = time_column(&csv, a), .value = intensity_column(&csv, &kind, a), .scale = 1 };
    if (c.time < 0 || c.value < 0)
        return wl_fail(e, WL_EINVAL, "%s: no column of %s (docs/formats.md lists the names)", path,
                       c.time < 0 ? "times: timestamp, datetime" : "intensities: carbon_intensity");
    out->column = wl_str_strip(a, csv.head.v[c.value]);
    out->marginal = intensities[kind].marginal;
    if (out->marginal) c.scale = G_PER_KWH_PER_LB_PER_MWH;
    while (rc == 0 && (more = wl_csv_next(&csv, e)) > 0) rc = add_row(out, caps, &csv, &c, a, e);
    if (rc == 0 && more < 0) rc = more;
    if (rc == 0 && out->n < 2) return wl_fail(e, WL_EINVAL, "%s: fewer than two rows", path);
    if (rc == 0) out->usual_ns = median_spacing(out, a);
    return rc;
}

/* ---- a run ---- */

/* The intensity at t, and until when it holds; NAN: there is none, and *until is the start of the next step. */
static double step_at(const struct wl_carbon_intensity *g, int64_t t, int64_t *until)
{
    size_t i = 0, hi = g->n; /* the first row after t */
    while (i < hi) {
        size_t mid = (i + hi) / 2;
        if (g->t_ns[mid] <= t)
            i = mid + 1;
        else
            hi = mid;
    }
    int64_t next = i < g->n ? g->t_ns[i] : INT64_MAX;
    *until = next;
    if (i == 0) return NAN;
    int64_t begin = g->t_ns[i - 1],
            more = next == INT64_MAX ? 0 : g->usual_ns / 2; /* compared without sums, which could overflow */
    if (t - begin - more >= g->usual_ns) return NAN;
    if (next - begin - more > g->usual_ns) *until = begin + g->usual_ns + more;
    return g->g_per_kwh[i - 1];
}

double wl_carbon_intensity_at(const struct wl_carbon_intensity *grid, int64_t wall_ns)
{
    int64_t until;
    return step_at(grid, wall_ns, &until);
}

double wl_carbon_intensity_mean(const struct wl_carbon_intensity *grid, int64_t wall_ns, double duration_s)
{
    const int64_t end = wall_ns + (int64_t)(duration_s * WL_NS_PER_S);
    double sum = 0;
    if (!(duration_s > 0)) return wl_carbon_intensity_at(grid, wall_ns);
    for (int64_t t = wall_ns, until; t < end; t = until) {
        const double g = step_at(grid, t, &until);
        if (isnan(g)) return NAN;
        sum += g * (double)((until < end ? until : end) - t);
    }
    return sum / (double)(end - wall_ns);
}

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
    int64_t end = w.run->start.wall_ns + (int64_t)(w.run->time_s * WL_NS_PER_S), until;
    for (int64_t t = w.run->start.wall_ns; t < end; t = until) {
        double g = step_at(grid, t, &until);
        if (until > end) until = end;
        if (isnan(g)) {
            *why = wl_strf(a, "run %lld: %s has no intensity for %s", (long long)run, grid->path, wl_clock_iso(a, t));
            return 0;
        }
        double weight = weight_between(&w, t, until);
        sum += weight * g;
        all += weight;
    }
    *g_per_kwh = all > 0 ? sum / all : NAN;
    return 0;
}
