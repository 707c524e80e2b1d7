#include "carbon/steps.h"

#include "carbon/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* ---- the file ---- */

static const char *const times[] = { "datetime (utc)", "datetime", "timestamp", "point_time", "time" };

char *wl_grid_lower(const char *text, struct wl_arena *a)
{
    char *copy = wl_str_strip(a, text);
    for (char *c = copy; *c; c++) *c = (char)tolower((unsigned char)*c);
    return copy;
}

int wl_grid_column_named(const struct wl_csv *csv, const char *name, struct wl_arena *a)
{
    for (size_t i = 0; i < csv->head.n; i++)
        if (wl_str_eq(wl_grid_lower(csv->head.v[i], a), name)) return (int)i;
    return -1;
}

int wl_grid_time_column(const struct wl_csv *csv, struct wl_arena *a)
{
    int found = -1;
    for (size_t k = 0; k < WL_COUNT(times) && found < 0; k++) found = wl_grid_column_named(csv, times[k], a);
    return found;
}

static int add_row(struct wl_grid_steps *s, size_t *caps, const struct wl_csv *csv, const struct wl_grid_column *c,
                   struct wl_arena *a, struct wl_err *e)
{
    int64_t t_ns;
    double v;
    if (!wl_clock_parse(csv->row[c->time], &t_ns))
        return wl_fail(e, WL_EINVAL,
                       "%s:%d: %s = \"%s\": expected a time as 2026-01-31T12:00:00Z or seconds since 1970, before %d",
                       csv->path, csv->line, csv->head.v[c->time], csv->row[c->time], WL_CLOCK_END_YEAR);
    if (s->n && t_ns <= s->t_ns[s->n - 1])
        return wl_fail(e, WL_EINVAL, "%s:%d: %s = %s: expected a time after that of the row before", csv->path,
                       csv->line, csv->head.v[c->time], csv->row[c->time]);
    int rc = wl_csv_real(csv, c->value, &v, e);
    if (rc < 0) return rc;
    v *= c->scale;
    if (v < c->min || v > c->max)
        return wl_fail(e, WL_EINVAL, "%s:%d: %s = %s: expected %s", csv->path, csv->line, csv->head.v[c->value],
                       csv->row[c->value], c->expect);
    WL_GROW(a, s->t_ns, s->n, caps[0]);
    WL_GROW(a, s->v, s->n, caps[1]);
    s->t_ns[s->n] = t_ns;
    s->v[s->n++] = v;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
    return (p > q) - (p < q);
}

static int64_t median_spacing(const struct wl_grid_steps *s, struct wl_arena *a)
{
    int64_t *spacing = wl_new_array(a, int64_t, s->n - 1);
    for (size_t i = 1; i < s->n; i++) spacing[i - 1] = s->t_ns[i] - s->t_ns[i - 1];
    qsort(spacing, s->n - 1, sizeof *spacing, by_value);
    return spacing[(s->n - 1) / 2];
}

int wl_grid_steps_read(struct wl_csv *csv, const struct wl_grid_column *c, struct wl_grid_steps *out,
                       struct wl_arena *a, struct wl_err *e)
{
    size_t caps[2] = { 0 };
    int rc = 0, more = 0;
    *out = (struct wl_grid_steps) { .path = wl_strdup(a, csv->path), .column = wl_str_strip(a, csv->head.v[c->value]) };
    while (rc == 0 && (more = wl_csv_next(csv, e)) > 0) rc = add_row(out, caps, csv, c, a, e);
    if (rc == 0 && more < 0) rc = more;
    if (rc == 0 && out->n < 2) return wl_fail(e, WL_EINVAL, "%s: fewer than two rows", out->path);
    if (rc == 0) out->usual_ns = median_spacing(out, a);
    return rc;
}

/* ---- values ---- */

/* Until when row i holds. Compared without sums, which could overflow. */
static int64_t end_of(const struct wl_grid_steps *s, size_t i)
{
    const bool last = i + 1 == s->n;
    const int64_t next = last ? INT64_MAX : s->t_ns[i + 1], more = last ? 0 : s->usual_ns / 2;
    return next - s->t_ns[i] - more > s->usual_ns ? s->t_ns[i] + s->usual_ns + more : next;
}

double wl_grid_steps_at(const struct wl_grid_steps *s, int64_t wall_ns, int64_t *until)
{
    size_t i = 0, hi = s->n; /* the first row after the instant */
    while (i < hi) {
        size_t mid = (i + hi) / 2;
        if (s->t_ns[mid] <= wall_ns)
            i = mid + 1;
        else
            hi = mid;
    }
    *until = i < s->n ? s->t_ns[i] : INT64_MAX;
    if (i == 0 || wall_ns >= end_of(s, i - 1)) return NAN;
    *until = end_of(s, i - 1);
    return s->v[i - 1];
}

/* The end of a window; false: it is after all rows. */
static bool window_end(const struct wl_grid_steps *s, int64_t begin_ns, double duration_s, int64_t *end_ns)
{
    const int64_t covered_ns = end_of(s, s->n - 1) - begin_ns;
    if (!(duration_s * WL_NS_PER_S <= (double)covered_ns)) return false;
    *end_ns = begin_ns + (int64_t)(duration_s * WL_NS_PER_S);
    return true;
}

double wl_grid_steps_mean(const struct wl_grid_steps *s, int64_t wall_ns, double duration_s)
{
    int64_t end, until;
    double sum = 0;
    if (wall_ns < s->t_ns[0] || !window_end(s, wall_ns, duration_s, &end)) return NAN;
    if (end <= wall_ns) return wl_grid_steps_at(s, wall_ns, &until);
    for (int64_t t = wall_ns; t < end; t = until) {
        const double v = wl_grid_steps_at(s, t, &until);
        if (isnan(v)) return NAN;
        sum += v * (double)((until < end ? until : end) - t);
    }
    return sum / (double)(end - wall_ns);
}

/* From the first row to each one: the integral of the values, and how many rows do not reach the next. */
struct prefix {
    double *integral_ns; /* [n] */
    size_t *gaps;        /* [n] */
};

static struct prefix prefix_of(const struct wl_grid_steps *s, struct wl_arena *a)
{
    struct prefix p = { wl_new_array(a, double, s->n), wl_new_array(a, size_t, s->n) };
    for (size_t i = 0; i + 1 < s->n; i++) {
        const bool gap = isnan(s->v[i]) || end_of(s, i) < s->t_ns[i + 1];
        p.gaps[i + 1] = p.gaps[i] + gap;
        p.integral_ns[i + 1] = p.integral_ns[i] + (gap ? 0 : s->v[i] * (double)(s->t_ns[i + 1] - s->t_ns[i]));
    }
    return p;
}

void wl_grid_steps_means(const struct wl_grid_steps *s, double duration_s, double *mean, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    const struct prefix p = prefix_of(s, scratch);
    int64_t end;
    for (size_t i = 0, last = 0; i < s->n; i++) {
        mean[i] = NAN;
        if (!window_end(s, s->t_ns[i], duration_s, &end)) continue;
        if (last < i) last = i;
        while (last + 1 < s->n && s->t_ns[last + 1] < end) last++; /* the row in which the window ends */
        if (p.gaps[last] != p.gaps[i] || end > end_of(s, last)) continue;
        const int64_t begin = s->t_ns[i];
        mean[i] = end <= begin ? s->v[i]
                               : (p.integral_ns[last] - p.integral_ns[i] + s->v[last] * (double)(end - s->t_ns[last])) /
                                     (double)(end - begin);
    }
    wl_arena_free(scratch);
}
