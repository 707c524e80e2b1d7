/* Fits a sensor's response to square waves. docs/adr/048 has the reasons, docs/metrics.md the formulas. */
#include "power/calibration/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 5, MIN_UPDATES = 30 };

/* The updates of a sensor: their times and values. */
struct updates {
    double *t_s, *value; /* [n]; seconds from origin_ns */
    size_t n;
    int64_t origin_ns;
};

/* The response of the power to the load at each edge: its level (0 idle, 1 under load) and the integral up to there. */
struct response {
    double *t_s, *level, *area; /* [n] */
    size_t n;
    double rise_s;
};

/* The parameters that are searched for; idle and load power follow by least squares. Mean age of a reading, window and
 * rise are nearly independent of each other; lag, window and rise are not. */
struct shape {
    double age_s, window_s, rise_s; /* age = lag + window / 2 + rise */
};

struct fit {
    const struct updates *u;
    struct response r;
    double rise_s; /* if known; NAN: searched for */
    double off_w, gain_w, sse;
    double *model; /* [u->n] 0..1 */
};

/* ---- Updates ---- */

static int by_value(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static double median(const double *v, size_t n, struct wl_arena *a)
{
    double *sorted = wl_new_array(a, double, n);
    memcpy(sorted, v, n * sizeof *v);
    qsort(sorted, n, sizeof *sorted, by_value);
    return sorted[n / 2];
}

static double median_step_s(const struct updates *u, struct wl_arena *a)
{
    if (u->n < 3) return NAN;
    double *step = wl_new_array(a, double, u->n - 1);
    for (size_t i = 1; i < u->n; i++) step[i - 1] = u->t_s[i] - u->t_s[i - 1];
    return median(step, u->n - 1, a);
}

/* Drops updates that were seen late because the polling thread was preempted: their instants are uncertain. */
static void drop_late(struct updates *u, const double *late_s, struct wl_arena *a)
{
    double usual_s = u->n ? median(late_s, u->n, a) : 0;
    size_t kept = 0;
    for (size_t i = 0; i < u->n; i++) {
        if (late_s[i] > 3 * usual_s) continue;
        u->t_s[kept] = u->t_s[i];
        u->value[kept++] = u->value[i];
    }
    u->n = kept;
}

/* A value that is corrected right after an update is not a second update. */
static void join_close(struct updates *u, struct wl_arena *a)
{
    double step_s = median_step_s(u, a);
    size_t kept = 0;
    for (size_t i = 0; i < u->n; i++) {
        bool close = kept > 0 && u->t_s[i] - u->t_s[kept - 1] < step_s / 2;
        if (!close) u->t_s[kept++] = u->t_s[i];
        u->value[kept - 1] = u->value[i];
    }
    u->n = kept;
}

/* A changed reading means an update between it and the previous reading: its instant is their middle. Readings before
 * from_ns do not count. */
static struct updates find_updates(const struct wl_time_series *s, int64_t from_ns, struct wl_arena *a)
{
    struct updates u = { .t_s = wl_new_array(a, double, s->n), .value = wl_new_array(a, double, s->n) };
    double *late_s = wl_new_array(a, double, s->n);
    u.origin_ns = s->n ? s->t_ns[0] : 0;
    for (ptrdiff_t i = wl_time_series_next(s, 0), next; i >= 0; i = next) {
        next = wl_time_series_next(s, i + 1);
        if (next < 0 || s->value[next] == s->value[i] || s->t_ns[i] < from_ns) continue;
        late_s[u.n] = (double)(s->t_ns[next] - s->t_ns[i]) / WL_NS_PER_S;
        u.t_s[u.n] = (double)(s->t_ns[i] - u.origin_ns) / WL_NS_PER_S + late_s[u.n] / 2;
        u.value[u.n++] = s->value[next];
    }
    drop_late(&u, late_s, a);
    join_close(&u, a);
    return u;
}

double wl_calibration_update_s(const struct wl_time_series *readings, struct wl_arena *a)
{
    struct updates u = find_updates(readings, INT64_MIN, a);
    return median_step_s(&u, a);
}

/* Sums for fitting a straight line t = first + step k. */
struct line {
    double n, k, t, kk, kt, tt;
};

static void add_point(struct line *l, double k, double t)
{
    l->n++;
    l->k += k, l->t += t, l->kk += k * k, l->kt += k * t, l->tt += t * t;
}

static struct wl_fitted step_of(const struct line *l)
{
    double vk = l->kk - l->k * l->k / l->n, vkt = l->kt - l->k * l->t / l->n, vt = l->tt - l->t * l->t / l->n;
    return (struct wl_fitted) { vkt / vk, sqrt(fmax(0, vt - vkt * vkt / vk) / (l->n - 2) / vk) };
}

/* The slope of the instants over their numbers. An update's number is that of the nearest point on the line through the
 * earlier ones, so that a late one does not shift those after it; the first few are numbered by the median step. */
static struct wl_fitted fit_update(const struct updates *u, struct wl_arena *a)
{
    enum { FIRST = 8 };
    double usual = median_step_s(u, a), k = 0;
    struct line l = { 0 };
    for (size_t i = 0; i < u->n; i++) {
        double t = u->t_s[i], step = i < FIRST ? usual : step_of(&l).value;
        if (i > 0)
            k = fmax(k + 1, round(i < FIRST ? k + (t - u->t_s[i - 1]) / step : (t - l.t / l.n) / step + l.k / l.n));
        add_point(&l, k, t);
    }
    return step_of(&l);
}

/* ---- The model ---- */

static void respond(struct response *r, double rise_s)
{
    r->rise_s = rise_s;
    for (size_t i = 1; i < r->n; i++) {
        double dt = r->t_s[i] - r->t_s[i - 1], target = i % 2 == 1 ? 1 : 0, away = r->level[i - 1] - target;
        double left = rise_s > 0 ? exp(-dt / rise_s) : 0;
        r->area[i] = r->area[i - 1] + target * dt + away * rise_s * (1 - left);
        r->level[i] = target + away * left;
    }
}

/* Integral of the level up to t. */
static double area_at(const struct response *r, double t)
{
    if (t <= r->t_s[0]) return 0;
    size_t lo = 0, hi = r->n;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        *(r->t_s[mid] <= t ? &lo : &hi) = mid;
    }
    double dt = t - r->t_s[lo], target = lo % 2 == 0 ? 1 : 0, away = r->level[lo] - target;
    double left = r->rise_s > 0 ? exp(-dt / r->rise_s) : 0;
    return r->area[lo] + target * dt + away * r->rise_s * (1 - left);
}

static double lag_of(const struct shape *s) { return s->age_s - s->window_s / 2 - s->rise_s; }

/* The level that each update shows, and the best-fitting powers. */
static void evaluate(struct fit *f, const struct shape *s)
{
    const struct updates *u = f->u;
    double lag = lag_of(s), n = (double)u->n, sm = 0, sv = 0, smm = 0, smv = 0;
    if (s->rise_s != f->r.rise_s) respond(&f->r, s->rise_s);
    for (size_t i = 0; i < u->n; i++) {
        double end = u->t_s[i] - lag;
        double m = f->model[i] = (area_at(&f->r, end) - area_at(&f->r, end - s->window_s)) / s->window_s;
        sm += m, sv += u->value[i], smm += m * m, smv += m * u->value[i];
    }
    double vm = smm - sm * sm / n;
    f->gain_w = vm > 0 ? (smv - sm * sv / n) / vm : 0;
    f->off_w = (sv - f->gain_w * sm) / n;
    f->sse = 0;
    for (size_t i = 0; i < u->n; i++) f->sse += pow(u->value[i] - f->off_w - f->gain_w * f->model[i], 2);
}

/* ---- The search ---- */

static const double MIN_WINDOW_S = 1e-3;

static bool allowed(const struct shape *s)
{
    const double ROUNDING_S = 1e-9;
    return s->window_s >= MIN_WINDOW_S && s->rise_s >= 0 && lag_of(s) >= -ROUNDING_S;
}

static bool better(struct fit *f, const struct shape *s, double *best)
{
    if (!allowed(s)) return false;
    evaluate(f, s);
    if (!(f->sse < *best)) return false;
    *best = f->sse;
    return true;
}

/* A grid of lags, windows and rises: the sum of squares has several minima. */
static struct shape search_grid(struct fit *f, double update_s, double *best)
{
    static const double lags_s[] = { 0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5 },
                        rises_s[] = { 0, 0.003, 0.01, 0.03, 0.1 };
    const double FIRST_S = 0.002, LAST_S = 4, RATIO = 1.3;
    struct shape found = { update_s, update_s, 0 };
    *best = HUGE_VAL;
    for (size_t r = 0; r < WL_COUNT(rises_s); r++)
        for (double window_s = FIRST_S; window_s < LAST_S; window_s *= RATIO)
            for (size_t l = 0; l < WL_COUNT(lags_s); l++) {
                struct shape s = { .window_s = window_s, .rise_s = isnan(f->rise_s) ? rises_s[r] : f->rise_s };
                s.age_s = lags_s[l] + s.window_s / 2 + s.rise_s;
                if (better(f, &s, best)) found = s;
            }
    return found;
}

/* Steps along each parameter, doubled when they improve the fit and halved when they do not (Hooke and Jeeves without
 * the pattern move), from the best point of the grid. */
static struct shape search_near(struct fit *f, struct shape from, double best)
{
    enum { MAX_ROUNDS = 400 };
    static const double SMALLEST = 1e-6;
    double step[3] = { from.age_s / 4 + 1e-3, from.window_s / 4, isnan(f->rise_s) ? from.rise_s / 2 + 1e-3 : 0 };
    for (int round = 0; round < MAX_ROUNDS && fmax(step[0], fmax(step[1], step[2])) > SMALLEST; round++) {
        for (int p = 0; p < 3; p++) {
            bool moved = false;
            for (int sign = -1; sign <= 1 && !moved; sign += 2) {
                struct shape s = from;
                *(p == 0 ? &s.age_s : p == 1 ? &s.window_s : &s.rise_s) += sign * step[p];
                moved = better(f, &s, &best);
                if (moved) from = s;
            }
            step[p] *= moved ? 2 : 0.5;
        }
    }
    return from;
}

/* ---- The errors ---- */

/* Inverts a symmetric positive matrix in place (Gauss-Jordan); false: it is singular. */
static bool invert(double m[PARAMETERS][PARAMETERS])
{
    for (int p = 0; p < PARAMETERS; p++) {
        if (!(fabs(m[p][p]) > 1e-300)) return false;
        double pivot = 1 / m[p][p];
        m[p][p] = 1;
        for (int c = 0; c < PARAMETERS; c++) m[p][c] *= pivot;
        for (int r = 0; r < PARAMETERS; r++) {
            if (r == p) continue;
            double factor = m[r][p];
            m[r][p] = 0;
            for (int c = 0; c < PARAMETERS; c++) m[r][c] -= factor * m[p][c];
        }
    }
    return true;
}

/* d(reading) / d(lag, window, rise, off, gain) at each update, by differences. */
static void differentiate(struct fit *f, const struct shape *s, double (*d)[PARAMETERS])
{
    const double h = 1e-5;
    size_t n = f->u->n;
    evaluate(f, s);
    double gain_w = f->gain_w;
    for (size_t i = 0; i < n; i++) d[i][3] = 1, d[i][4] = f->model[i];
    const struct shape moved[] = { { s->age_s + h, s->window_s, s->rise_s },
                                   { s->age_s + h / 2, s->window_s + h, s->rise_s },
                                   { s->age_s + h, s->window_s, s->rise_s + h } };
    for (int p = 0; p < 3; p++) {
        if (p == 2 && !isnan(f->rise_s)) continue; /* known: 0 */
        evaluate(f, &moved[p]);
        for (size_t i = 0; i < n; i++) d[i][p] = gain_w * (f->model[i] - d[i][4]) / h;
    }
    evaluate(f, s);
}

/* Removes a known parameter from the normal equations. */
static void hold(double m[PARAMETERS][PARAMETERS], int p)
{
    for (int q = 0; q < PARAMETERS; q++) m[p][q] = m[q][p] = 0;
    m[p][p] = 1;
}

/* Standard errors that are robust to heteroscedastic residuals (White 1980): those near an edge are larger. */
static void find_errors(struct fit *f, const struct shape *s, double se[PARAMETERS], struct wl_arena *a)
{
    size_t n = f->u->n;
    double(*d)[PARAMETERS] = wl_alloc(a, n * sizeof *d), bread[PARAMETERS][PARAMETERS] = { { 0 } };
    double meat[PARAMETERS][PARAMETERS] = { { 0 } };
    differentiate(f, s, d);
    for (size_t i = 0; i < n; i++) {
        double residual = f->u->value[i] - f->off_w - f->gain_w * f->model[i];
        for (int p = 0; p < PARAMETERS; p++)
            for (int q = 0; q < PARAMETERS; q++) {
                bread[p][q] += d[i][p] * d[i][q];
                meat[p][q] += d[i][p] * d[i][q] * residual * residual;
            }
    }
    if (!isnan(f->rise_s)) hold(bread, 2);
    bool known = invert(bread);
    for (int p = 0; p < PARAMETERS; p++) {
        double variance = 0;
        for (int q = 0; q < PARAMETERS; q++)
            for (int r = 0; r < PARAMETERS; r++) variance += bread[p][q] * meat[q][r] * bread[r][p];
        se[p] = known ? sqrt(variance * (double)n / (double)(n - PARAMETERS)) : NAN;
    }
}

/* ---- All ---- */

static struct response begin_response(const struct wl_load_edges *load, int64_t origin_ns, struct wl_arena *a)
{
    struct response r = { .t_s = wl_new_array(a, double, load->n),
                          .level = wl_new_array(a, double, load->n),
                          .area = wl_new_array(a, double, load->n),
                          .n = load->n,
                          .rise_s = NAN };
    for (size_t i = 0; i < load->n; i++) r.t_s[i] = (double)(load->t_ns[i] - origin_ns) / WL_NS_PER_S;
    return r;
}

/* The share of the readings' variance that the load explains. */
static double explained(const struct updates *u, double sse)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < u->n; i++) mean += u->value[i] / (double)u->n;
    for (size_t i = 0; i < u->n; i++) squares += (u->value[i] - mean) * (u->value[i] - mean);
    return squares > 0 ? 1 - sse / squares : 0;
}

static int refuse_unclear(const struct wl_calibration *c, double share, struct wl_err *e)
{
    const double MIN_SHARE = 0.8;
    if (share >= MIN_SHARE && c->on_w > c->off_w) return 0;
    return wl_fail(e, WL_EINVAL,
                   "the readings do not follow the load, which explains %.0f %% of their variance (residual %.1f W)",
                   100 * share, c->residual_w);
}

int wl_calibration_fit(const struct wl_time_series *readings, const struct wl_load_edges *load,
                       const struct wl_fitted *rise_s, struct wl_calibration *out, struct wl_arena *a, struct wl_err *e)
{
    struct updates u = find_updates(readings, load->n ? load->t_ns[0] : INT64_MAX, a);
    if (u.n < MIN_UPDATES || load->n < 4)
        return wl_fail(e, WL_EINVAL, "the reading changed %zu times under %zu edges of the load: too few for a fit",
                       u.n, load->n);
    out->update_s = fit_update(&u, a);
    struct fit f = { .u = &u,
                     .rise_s = rise_s ? rise_s->value : NAN,
                     .r = begin_response(load, u.origin_ns, a),
                     .model = wl_new_array(a, double, u.n) };
    double best, se[PARAMETERS];
    struct shape s = search_grid(&f, out->update_s.value, &best);
    s = search_near(&f, s, best);
    find_errors(&f, &s, se, a);
    out->lag_s = (struct wl_fitted) { fmax(0, lag_of(&s)), se[0] }; /* the search ends at 0, except for rounding */
    out->window_s = (struct wl_fitted) { s.window_s, se[1] };
    out->rise_s = rise_s ? *rise_s : (struct wl_fitted) { s.rise_s, se[2] };
    out->off_w = f.off_w;
    out->on_w = f.off_w + f.gain_w;
    out->residual_w = sqrt(f.sse / (double)(u.n - PARAMETERS));
    out->updates = u.n;
    return refuse_unclear(out, explained(&u, f.sse), e);
}
