/* The cap search: published worked examples, and what must hold whatever the data. */
#include "near.h"

#include "advise/advise.h"
#include "advise/cap/memory.h"

static const double caps[] = { 100, 125, 150, 175, 200, 225, 250 };
static const double times[] = { 152, 124, 112, 107.5, 103.5, 101, 100 };
static const double powers[] = { 96, 119, 142, 161, 180, 198, 210 };
enum { CAPS = 7 };

static struct wl_advise_cap *new_search(const struct wl_advise_cap_opts *o, struct wl_arena *a)
{
    struct wl_advise_cap *s = NULL;
    struct wl_err e;
    if (wl_advise_cap_new(&s, o, a, &e)) fail_msg("%s", e.msg);
    return s;
}

static struct wl_advise_cap_opts example(double slowdown)
{
    struct wl_advise_cap_opts o = wl_advise_cap_defaults(caps, CAPS);
    o.level = 0;
    if (slowdown > 0) o.limit = (struct wl_advise_cap_limit) { slowdown, 0.9 };
    return o;
}

static void measure(struct wl_advise_cap *s, size_t i)
{
    const struct wl_advise_cap_window w = { .index = i, .ln_t = log(times[i]), .ln_p = log(powers[i]) };
    struct wl_err e;
    if (wl_advise_cap_add(s, &w, &e)) fail_msg("%s", e.msg);
}

/* docs/adr/115 */
static void worked_example(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_cap_opts plain = example(0), limited = example(0.1);
    struct wl_advise_cap *s = new_search(&plain, a), *l = new_search(&limited, a);
    const struct wl_advise_cap_estimate *v;
    static const double gain[CAPS] = { .02637774, .02119852, .0132422, .00655807, .00082708, .00004818, 0 };
    static const size_t order[] = { 6, 0, 3 };
    static const double within[3][3] = { { .24949838, .53724452, .84002943 },
                                         { .08179307, .48176814, .8968721 },
                                         { .10417082, .90264427, .98208357 } };
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        measure(s, order[k]);
        measure(l, order[k]);
        v = wl_advise_cap_estimates(l);
        for (size_t i = 0; i < 3; i++) near(v[2 + i].p_limit, within[k][i], 1e-8);
        v = wl_advise_cap_estimates(s);
        for (size_t i = 0; i < CAPS && k == 0; i++) near(v[i].gain, gain[i], 1e-8);
    }
    v = wl_advise_cap_estimates(s);
    near(v[1].ln_slowdown, .23760763, 1e-8);
    near(v[0].ln_p - log(250), -.95470455, 1e-8);
    v = wl_advise_cap_estimates(l);
    static const double limited_gain[CAPS] = {
        0, -.01923617, -.01837652, -.01722224, -.01923504, -.01639806, -.01722149
    };
    for (size_t i = 0; i < CAPS; i++) near(v[i].gain, limited_gain[i], 1e-8);
    wl_arena_free(a);
}

static size_t run(const struct wl_advise_cap_opts *o, size_t windows[4], size_t *n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_cap *s = new_search(o, a);
    struct wl_advise_cap_step step;
    *n = 0;
    while (!(step = wl_advise_cap_next(s)).done) {
        assert_true(*n < 4);
        windows[(*n)++] = step.index;
        measure(s, step.index);
    }
    wl_arena_free(a);
    return step.index;
}

static void worked_searches(void **state)
{
    static const struct {
        enum wl_advise_cap_objective objective;
        double slowdown;
        size_t n, window[4], choice;
    } cases[] = { { WL_ADVISE_MIN_ENERGY, 0, 3, { 6, 0, 1 }, 0 },
                  { WL_ADVISE_MIN_ZEUS, 0, 4, { 6, 0, 3, 2 }, 2 },
                  { WL_ADVISE_MIN_EDP, 0, 4, { 6, 0, 2, 1 }, 2 },
                  { WL_ADVISE_MIN_ENERGY, 0.1, 4, { 6, 1, 3, 4 }, 4 } };
    (void)state;
    for (size_t c = 0; c < WL_COUNT(cases); c++) {
        struct wl_advise_cap_opts o = example(cases[c].slowdown);
        size_t window[4], n;
        o.objective = cases[c].objective;
        assert_int_equal(run(&o, window, &n), cases[c].choice);
        assert_int_equal(n, cases[c].n);
        for (size_t i = 0; i < n; i++) assert_int_equal(window[i], cases[c].window[i]);
    }
}

/* ---- properties ---- */

static void add(struct wl_advise_cap *s, const struct wl_advise_cap_window *w)
{
    struct wl_err e;
    if (wl_advise_cap_add(s, w, &e)) fail_msg("%s", e.msg);
}

static struct wl_advise_cap_window window(size_t i)
{
    return (struct wl_advise_cap_window) { .index = i, .ln_t = log(times[i]), .ln_p = log(powers[i]) };
}

static void same_estimates(struct wl_advise_cap *s, struct wl_advise_cap *o, double tolerance)
{
    const struct wl_advise_cap_estimate *a = wl_advise_cap_estimates(s), *b = wl_advise_cap_estimates(o);
    for (size_t i = 0; i < CAPS; i++) {
        near(a[i].ln_slowdown, b[i].ln_slowdown, tolerance);
        near(a[i].sd_slowdown, b[i].sd_slowdown, tolerance);
        near(a[i].ln_p, b[i].ln_p, tolerance);
        near(a[i].p_limit, b[i].p_limit, tolerance);
        near(a[i].gain, b[i].gain, tolerance);
    }
}

/* Two windows of one setting are one with noise / sqrt(2) at their mean, in any order. */
static void repeats(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_cap_opts o = example(0.1);
    struct wl_advise_cap *s = new_search(&o, a), *t = new_search(&o, a);
    struct wl_advise_cap_window w = window(2);
    (void)state;
    w.ln_t += 0.01;
    w.ln_p -= 0.02;
    add(s, &w);
    measure(s, 6);
    w.ln_t -= 0.02;
    w.ln_p += 0.04;
    add(s, &w);
    measure(t, 6);
    w = window(2);
    w.noise = (struct wl_advise_cap_noise) { 0.01 / sqrt(2), 0.01 / sqrt(2), 0 };
    add(t, &w);
    same_estimates(s, t, 1e-9);
    assert_int_equal(wl_advise_cap_estimates(s)[2].windows, 2);
    wl_arena_free(a);
}

/* With the level of the first window, neither the unit of time nor that of power matters. */
static void units(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_cap_opts o = example(0.1);
    double half[CAPS];
    (void)state;
    o.level = NAN;
    for (size_t i = 0; i < CAPS; i++) half[i] = caps[i] / 2;
    struct wl_advise_cap *s = new_search(&o, a);
    o.value = half;
    struct wl_advise_cap *t = new_search(&o, a);
    for (size_t i = CAPS; i-- > 3;) {
        struct wl_advise_cap_window w = window(i);
        add(s, &w);
        w.ln_t -= log(1e6);
        w.ln_p -= log(2);
        add(t, &w);
    }
    const struct wl_advise_cap_estimate *v = wl_advise_cap_estimates(s), *u = wl_advise_cap_estimates(t);
    for (size_t i = 0; i < CAPS; i++) {
        near(v[i].ln_slowdown, u[i].ln_slowdown, 1e-9);
        near(v[i].ln_t - u[i].ln_t, log(1e6), 1e-9);
        near(v[i].ln_p - u[i].ln_p, log(2), 1e-9);
        near(v[i].ln_j - u[i].ln_j, log(2e6), 1e-9);
        near(v[i].gain, u[i].gain, 1e-9);
    }
    wl_arena_free(a);
}

/* Noise of time and power that is shared cancels in energy per time: with rho near 1 the same windows say less about
 * the sum and more about the difference. */
static void correlated_noise(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_cap_opts o = example(0);
    double sd[2];
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        o.noise = (struct wl_advise_cap_noise) { 0.03, 0.03, k ? 0.9 : -0.9 };
        struct wl_advise_cap *s = new_search(&o, a);
        measure(s, 6);
        measure(s, 0);
        sd[k] = wl_advise_cap_estimates(s)[0].sd_j;
    }
    assert_true(sd[1] > 2 * sd[0]);
    wl_arena_free(a);
}

/* A device that clamps at 150 W: the caps below are that setting too, and are not proposed again. */
static void clamped(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_cap_opts o = example(0);
    struct wl_advise_cap *s = new_search(&o, a);
    struct wl_advise_cap_step step;
    size_t low = 0, windows = 0;
    (void)state;
    while (!(step = wl_advise_cap_next(s)).done) {
        struct wl_advise_cap_window w = window(step.index < 2 ? 2 : step.index);
        w.index = step.index;
        w.enforced = caps[step.index < 2 ? 2 : step.index];
        low += step.index <= 2;
        windows++;
        add(s, &w);
    }
    assert_int_equal(step.index, 2);
    assert_true(low >= 1 && windows <= 4);
    const struct wl_advise_cap_estimate *v = wl_advise_cap_estimates(s);
    for (size_t i = 0; i < 3; i++) near(v[i].value, 150, 0);
    near(v[0].ln_t, v[2].ln_t, 0);
    wl_arena_free(a);
}

/* One window is enough to know the end of the range; above it likewise. */
static void range_ends(void **state)
{
    static const double low[CAPS] = { 150, 150, 150, 175, 200, 225, 250 };
    static const double both[CAPS] = { 150, 150, 150, 175, 200, 200, 200 };
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_cap_opts o = example(0);
    struct wl_advise_cap *s = new_search(&o, a);
    struct wl_advise_cap_window w = window(2);
    (void)state;
    w.index = 0;
    w.enforced = 150;
    add(s, &w);
    for (size_t i = 0; i < CAPS; i++) near(wl_advise_cap_estimates(s)[i].value, low[i], 0);
    w = window(4);
    w.index = 6;
    w.enforced = 200;
    add(s, &w);
    for (size_t i = 0; i < CAPS; i++) near(wl_advise_cap_estimates(s)[i].value, both[i], 0);
    near(wl_advise_cap_estimates(s)[4].ln_slowdown, 0, 0); /* the reference's setting */
    wl_arena_free(a);
}

/* A clock that the device rounds is a value of its own; its neighbours keep theirs. */
static void rounded(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_cap_opts o = example(0);
    struct wl_advise_cap *s = new_search(&o, a);
    struct wl_advise_cap_window w = window(3);
    (void)state;
    w.enforced = 168;
    add(s, &w);
    w = window(4);
    w.enforced = 200.3; /* read back with an error: as asked */
    add(s, &w);
    const struct wl_advise_cap_estimate *v = wl_advise_cap_estimates(s);
    for (size_t i = 0; i < CAPS; i++) near(v[i].value, i == 3 ? 168 : caps[i], 0);
    wl_arena_free(a);
}

static void failed_windows(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_cap_opts o = example(0);
    struct wl_err e;
    (void)state;
    o.windows = 6;
    struct wl_advise_cap *s = new_search(&o, a);
    measure(s, 6);
    assert_int_equal(wl_advise_cap_next(s).index, 0);
    for (size_t k = 0; k < 2; k++) assert_int_equal(wl_advise_cap_fail(s, 0, false, &e), 0);
    assert_true(wl_advise_cap_estimates(s)[0].given_up);
    struct wl_advise_cap_step step;
    while (!(step = wl_advise_cap_next(s)).done) {
        assert_int_not_equal(step.index, 0);
        measure(s, step.index);
    }
    assert_int_not_equal(step.index, 0);
    /* The reference cannot be measured. */
    struct wl_advise_cap *t = new_search(&o, a);
    assert_int_equal(wl_advise_cap_next(t).index, 6);
    assert_int_equal(wl_advise_cap_fail(t, 6, true, &e), 0);
    step = wl_advise_cap_next(t);
    assert_true(step.done && step.index == 6 && step.reason == WL_ADVISE_CAP_NO_REFERENCE && !step.measured);
    wl_arena_free(a);
}

static void one_candidate(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_cap_opts one = wl_advise_cap_defaults(caps, 1), seven = example(0);
    struct wl_advise_cap_step step = wl_advise_cap_next(new_search(&one, a));
    struct wl_err e;
    (void)state;
    assert_true(step.done && step.index == 0 && step.reason == WL_ADVISE_CAP_SINGLE);
    struct wl_advise_cap *s = new_search(&seven, a);
    measure(s, 6);
    for (size_t i = 0; i < 6; i++) assert_int_equal(wl_advise_cap_fail(s, i, true, &e), 0);
    step = wl_advise_cap_next(s);
    assert_true(step.done && step.index == 6 && step.reason == WL_ADVISE_CAP_SINGLE && step.measured);
    wl_arena_free(a);
}

/* 1 to 64 candidates, any reference, absurd measurements: an answer in the range, finite estimates. */
static void any_input(void **state)
{
    double value[WL_ADVISE_CAP_MAX];
    (void)state;
    for (size_t i = 0; i < WL_ADVISE_CAP_MAX; i++) value[i] = 60 + 5.5 * (double)i;
    for (size_t trial = 0; trial < 40; trial++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_advise_cap_opts o = wl_advise_cap_defaults(value, 1 + wl_random_below(1, trial, 0, 64));
        o.reference = wl_random_below(1, trial, 1, o.n);
        o.objective = (enum wl_advise_cap_objective)wl_random_below(1, trial, 2, 5);
        o.kind = trial % 3 == 0 ? WL_ADVISE_CLOCK : WL_ADVISE_POWER_CAP;
        o.scale_w = 300;
        o.windows = 1 + wl_random_below(1, trial, 3, 8);
        if (trial % 2) o.limit = (struct wl_advise_cap_limit) { 0.2 * wl_random_uniform(1, trial, 4), 0.9 };
        struct wl_advise_cap *s = new_search(&o, a);
        struct wl_advise_cap_step step;
        for (size_t k = 5; !(step = wl_advise_cap_next(s)).done; k += 2) {
            const double wild = trial % 5 == 0 ? 30 : 0.3;
            add(s, &(struct wl_advise_cap_window) { .index = step.index,
                                                    .ln_t = wild * wl_random_normal(2, trial, k),
                                                    .ln_p = 5 + wild * wl_random_normal(2, trial, k + 1) });
        }
        const struct wl_advise_cap_estimate *v = wl_advise_cap_estimates(s);
        assert_true(step.index < o.n);
        for (size_t i = 0; i < o.n; i++) {
            assert_true(isfinite(v[i].ln_t) && isfinite(v[i].ln_p) && isfinite(v[i].sd_j) && isfinite(v[i].gain));
            assert_true(v[i].p_limit >= 0 && v[i].p_limit <= 1);
        }
        near(v[o.reference].ln_slowdown, 0, 0);
        near(v[o.reference].p_limit, 1, 0);
        wl_arena_free(a);
    }
}

/* A limit is never met by a candidate whose probability is lower than asked. */
static void limit_binds(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    (void)state;
    for (double x = 0.01; x < 0.5; x += 0.03) {
        const struct wl_advise_cap_opts o = example(x);
        struct wl_advise_cap *s = new_search(&o, a);
        struct wl_advise_cap_step step;
        while (!(step = wl_advise_cap_next(s)).done) measure(s, step.index);
        assert_true(wl_advise_cap_estimates(s)[step.index].p_limit >= 0.9);
        near(wl_advise_cap_within(s, step.index, x), wl_advise_cap_estimates(s)[step.index].p_limit, 1e-15);
        assert_true(times[step.index] <= 100 * (1 + x));
    }
    wl_arena_free(a);
}

static void saves(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_cap_opts o = example(0);
    struct wl_advise_cap *s = new_search(&o, a);
    (void)state;
    for (size_t i = 0; i < CAPS; i++) measure(s, i);
    const double truth = 1 - 152 * 96 / (100. * 210);
    assert_true(wl_advise_cap_saves(s, 0, truth - 0.05) > 0.99);
    assert_true(wl_advise_cap_saves(s, 0, truth + 0.05) < 0.01);
    near(wl_advise_cap_saves(s, 6, 0), 1, 0);
    near(wl_advise_cap_saves(s, 6, 0.01), 0, 0);
    wl_arena_free(a);
}

/* ---- clocks ---- */

/* A compute-bound program slows down as 1/f, a memory-bound one does not. */
static void clocks(void **state)
{
    static const double mhz[] = { 900, 1100, 1300, 1500, 1700, 1900 };
    struct wl_arena *a = wl_arena_new(NULL);
    (void)state;
    for (size_t bound = 0; bound < 2; bound++) {
        struct wl_advise_cap_opts o = wl_advise_cap_defaults(mhz, WL_COUNT(mhz));
        o.kind = WL_ADVISE_CLOCK;
        o.scale_w = 400;
        o.limit = (struct wl_advise_cap_limit) { 0.1, 0.9 };
        struct wl_advise_cap *s = new_search(&o, a);
        struct wl_advise_cap_step step;
        while (!(step = wl_advise_cap_next(s)).done) {
            const double f = mhz[step.index] / 1900, t = bound ? 1.02 - 0.02 * f : 1 / f;
            add(s, &(struct wl_advise_cap_window) {
                       .index = step.index, .ln_t = log(t), .ln_p = log(80 + 220 * pow(f, 2.5)) });
        }
        assert_true(bound ? step.index <= 1 : step.index == 5);
    }
    wl_arena_free(a);
}

/* ---- learning ---- */

enum { CURVES = 5, POINTS = 7 };
struct history {
    double value[CURVES][POINTS], ln_t[CURVES][POINTS], ln_p[CURVES][POINTS];
    struct wl_advise_cap_curve curve[CURVES];
};

/* The history of tests/golden/make_cap_golden.py: a wave over the caps (curve 4: clocks) of a device of 200 W, 1500
 * MHz. */
static void make_history(struct history *h)
{
    for (size_t k = 0; k < CURVES; k++) {
        const bool odd = k % 2, clock = k == 4;
        const size_t n = odd ? 6 : 7;
        for (size_t i = 0; i < n; i++) {
            const double c = odd ? 0.35 + 0.13 * (double)i : 0.4 + 0.1 * (double)i, share = 0.2 + 0.15 * (double)k;
            const double f = fmin(1, pow(c, 0.4 + 0.1 * (double)k));
            h->value[k][i] = c * (clock ? 1500 : 200);
            h->ln_t[k][i] = log(share / f + 1 - share) + 0.02 * sin(6 * c) + (double)k;
            h->ln_p[k][i] = log(fmin(0.97 * c, 0.7 + 0.05 * (double)k)) + 0.03 * cos(5 * c) + log(200);
        }
        h->curve[k] = (struct wl_advise_cap_curve) {
            .kind = clock ? WL_ADVISE_CLOCK : WL_ADVISE_POWER_CAP,
            .value = h->value[k],
            .ln_t = h->ln_t[k],
            .ln_p = h->ln_p[k],
            .n = n,
            .scale_w = 200,
            .top = 1500,
            .group = "wave",
            .device = "wave 200",
        };
    }
}

static struct wl_advise_cap_prior *learn(const struct history *h, size_t n, struct wl_arena *a)
{
    struct wl_advise_cap_prior *p = NULL;
    struct wl_err e;
    if (wl_advise_cap_learn(h->curve, n, &p, a, &e)) fail_msg("%s", e.msg);
    return p;
}

static double golden(const char *kind, const char *what, size_t i, struct wl_arena *a)
{
    return golden_value("cap_values.csv", wl_strf(a, "%s%s %zu", kind, what, i), a);
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static void golden_prior(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct history h;
    double sorted[WL_ADVISE_CAP_PARTICLES];
    (void)state;
    make_history(&h);
    const struct wl_advise_cap_prior *p = learn(&h, CURVES, a);
    memcpy(sorted, p->ln_weight, sizeof sorted);
    qsort(sorted, WL_ADVISE_CAP_PARTICLES, sizeof *sorted, descending);
    for (size_t i = 0; i < 5; i++) near(sorted[i], golden("", "ln weight sorted", i, a), 1e-8);
    for (size_t i = 0; i < 14; i++) {
        near(p->residual[WL_ADVISE_POWER_CAP][i / 7][i % 7], golden("cap", " residual", i, a), 1e-9);
        near(p->residual[WL_ADVISE_CLOCK][i / 7][i % 7], golden("clock", " residual", i, a), 1e-9);
    }
    assert_int_equal(p->curves[WL_ADVISE_POWER_CAP], 4);
    assert_int_equal(p->curves[WL_ADVISE_CLOCK], 1);
    wl_arena_free(a);
}

/* Windows of unequal and correlated noise, one setting twice, a reference inside the range. */
static void golden_windows(struct wl_advise_cap *s)
{
    static const struct wl_advise_cap_window windows[] = {
        { 6, .02, -.3, 0, { 0 }, false },
        { 1, .35, -.9, 0, { .02, .03, .5 }, false },
        { 4, .08, -.42, 0, { 0 }, false },
        { 1, .33, -.88, 0, { 0 }, false },
    };
    for (size_t i = 0; i < WL_COUNT(windows); i++) {
        struct wl_advise_cap_window w = windows[i];
        w.ln_p += log(200);
        add(s, &w);
    }
}

static void golden_posterior(void **state)
{
    static const double ratio[] = { .3, .45, .5, .62, .75, .9, 1, 1.1 };
    static const char *const name[] = { "cap", "clock" };
    struct wl_arena *a = wl_arena_new(NULL);
    struct history h;
    double value[8];
    (void)state;
    make_history(&h);
    for (size_t kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < 8; i++) value[i] = ratio[i] * (kind ? 1500 : 200);
        struct wl_advise_cap_opts o = wl_advise_cap_defaults(value, 8);
        o.kind = (enum wl_advise_cap_kind)kind;
        o.reference = 6;
        o.scale_w = 200;
        o.top = 1500;
        o.level = 0;
        o.limit = (struct wl_advise_cap_limit) { 0.15, 0.9 };
        o.prior = learn(&h, CURVES, a);
        o.device = "wave 200";
        struct wl_advise_cap *s = new_search(&o, a);
        golden_windows(s);
        const struct wl_advise_cap_estimate *v = wl_advise_cap_estimates(s);
        for (size_t i = 0; i < 8; i++) {
            near(v[i].ln_t, golden(name[kind], " ln t", i, a), 1e-8);
            near(v[i].ln_p - log(200), golden(name[kind], " ln P", i, a), 1e-8);
            near(v[i].sd_t, golden(name[kind], " sd t", i, a), 1e-7);
            near(v[i].sd_p, golden(name[kind], " sd P", i, a), 1e-8);
            near(v[i].p_limit, golden(name[kind], " within", i, a), 1e-7);
        }
    }
    wl_arena_free(a);
}

/* Remembered curves serve on their own model of device alone: they are not particles on another, or on an unknown one.
 */
static void devices(void **state)
{
    static const char *const device[] = { "wave 200", "other 300", NULL };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_cap_opts o = example(0.1);
    struct wl_advise_cap *s[3];
    struct history h;
    (void)state;
    make_history(&h);
    o.prior = learn(&h, CURVES, a);
    for (size_t k = 0; k < 3; k++) {
        o.device = device[k];
        s[k] = new_search(&o, a);
        measure(s[k], 6);
    }
    same_estimates(s[1], s[2], 0);
    const struct wl_advise_cap_estimate *own = wl_advise_cap_estimates(s[0]), *other = wl_advise_cap_estimates(s[1]);
    double most = 0;
    for (size_t i = 0; i < CAPS; i++) {
        most = fmax(most, fabs(own[i].ln_slowdown - other[i].ln_slowdown));
        most = fmax(most, fabs(own[i].sd_slowdown - other[i].sd_slowdown));
    }
    if (!(most > 0.002)) fail_msg("remembered curves change the estimates by %g at most", most);
    wl_arena_free(a);
}

/* A remembered curve is reproduced at its points, and between and beyond them follows the device. */
static void remembered(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_cap_particle *grid = wl_new_array(a, struct wl_advise_cap_particle, WL_ADVISE_CAP_PARTICLES);
    struct history h;
    (void)state;
    make_history(&h);
    wl_advise_cap_grid(grid);
    const struct wl_advise_cap_prior *p = learn(&h, CURVES, a);
    assert_int_equal(p->memories, CURVES);
    for (size_t k = 0; k < CURVES; k++)
        for (size_t i = 0; i < h.curve[k].n; i++) {
            const enum wl_advise_cap_kind kind = h.curve[k].kind;
            const double ratio = h.value[k][i] / (kind == WL_ADVISE_CLOCK ? 1500 : 200);
            const struct wl_advise_cap_point v = wl_advise_cap_recall(&p->memory[k], grid, kind, ratio);
            near(v.ln_t, h.ln_t[k][i], 1e-9);
            near(v.ln_p, h.ln_p[k][i] - log(200), 1e-9);
        }
    const double low = wl_advise_cap_recall(&p->memory[2], grid, WL_ADVISE_POWER_CAP, 0.3).ln_t;
    assert_true(low > h.ln_t[2][0] + 0.05); /* below its least cap, .4 */
    wl_arena_free(a);
}

/* No history: the equal weights of a search without a prior. */
static void empty_history(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_cap_opts o = example(0.1);
    struct history h;
    (void)state;
    make_history(&h);
    struct wl_advise_cap *s = new_search(&o, a);
    o.prior = learn(&h, 0, a);
    struct wl_advise_cap *t = new_search(&o, a);
    measure(s, 6);
    measure(t, 6);
    same_estimates(s, t, 1e-12);
    wl_arena_free(a);
}

/* Order, unit of time and repeated points of a curve do not matter. */
static void history_forms(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct history h, g;
    double value[POINTS + 1], ln_t[POINTS + 1], ln_p[POINTS + 1];
    (void)state;
    make_history(&h);
    make_history(&g);
    for (size_t i = 0; i < POINTS; i++) {
        value[i] = h.value[0][POINTS - 1 - i];
        ln_t[i] = h.ln_t[0][POINTS - 1 - i] + 5 + (i == 2 ? 0.01 : 0);
        ln_p[i] = h.ln_p[0][POINTS - 1 - i];
    }
    value[POINTS] = value[2];
    ln_t[POINTS] = ln_t[2] - 0.02;
    ln_p[POINTS] = ln_p[2];
    g.curve[0].value = value;
    g.curve[0].ln_t = ln_t;
    g.curve[0].ln_p = ln_p;
    g.curve[0].n = POINTS + 1;
    const struct wl_advise_cap_prior *p = learn(&h, CURVES, a), *q = learn(&g, CURVES, a);
    for (size_t k = 0; k < WL_ADVISE_CAP_PARTICLES; k += 7) near(p->ln_weight[k], q->ln_weight[k], 1e-3);
    for (size_t k = 0; k < WL_ADVISE_CAP_KNOTS; k++) near(p->residual[0][0][k], q->residual[0][0][k], 1e-5);
    wl_arena_free(a);
}

/* ---- bad input ---- */

static void refuses(const struct wl_advise_cap_opts *o, const char *says)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_cap *s;
    struct wl_err e = { 0 };
    assert_int_equal(wl_advise_cap_new(&s, o, a, &e), WL_EINVAL);
    if (!strstr(e.msg, says)) fail_msg("\"%s\" does not say \"%s\"", e.msg, says);
    wl_arena_free(a);
}

static void bad_options(void **state)
{
    static const double descending[] = { 100, 90 }, negative[] = { -1, 90 };
    const struct wl_advise_cap_opts good = example(0.1);
    struct wl_advise_cap_opts o;
    (void)state;
#define WITH(field, bad, says) o = good, o.field = (bad), refuses(&o, says)
    WITH(n, 0, "0 candidates");
    WITH(n, 65, "65 candidates");
    WITH(reference, 7, "reference is candidate 7");
    WITH(scale_w, -5, "-5 W");
    WITH(limit.slowdown, -0.1, "-0.1");
    WITH(limit.probability, 1, "probability of the limit is 1");
    WITH(noise.sd_t, 0, "noise of a window is 0");
    WITH(noise.rho, 1, "correlation");
    WITH(windows, 0, "0 windows");
    WITH(stop, -1, "gain to stop at");
    WITH(kind, WL_ADVISE_CLOCK, "power limit of the device is 0 W");
    WITH(objective, 9, "unknown objective 9");
#undef WITH
    o = wl_advise_cap_defaults(descending, 2);
    refuses(&o, "90 W follows 100 W");
    o = wl_advise_cap_defaults(negative, 2);
    refuses(&o, "-1 W");
}

/* A refused window changes nothing. */
static void bad_windows(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_cap_opts o = example(0);
    struct wl_advise_cap *s = new_search(&o, a), *t = new_search(&o, a);
    struct wl_advise_cap_window bad[5];
    struct wl_err e;
    (void)state;
    measure(s, 6);
    measure(t, 6);
    for (size_t i = 0; i < 5; i++) bad[i] = window(1);
    bad[0].index = 7;
    bad[1].ln_t = NAN;
    bad[2].ln_p = INFINITY;
    bad[3].enforced = -1;
    bad[4].noise.sd_t = 0.01; /* sd_p is missing */
    for (size_t i = 0; i < 5; i++) assert_int_equal(wl_advise_cap_add(s, &bad[i], &e), WL_EINVAL);
    assert_int_equal(wl_advise_cap_fail(s, 7, false, &e), WL_EINVAL);
    same_estimates(s, t, 0);
    assert_int_equal(wl_advise_cap_next(s).index, wl_advise_cap_next(t).index);
    wl_arena_free(a);
}

static void bad_history(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_cap_prior *p;
    struct history h;
    struct wl_err e;
    (void)state;
    make_history(&h);
    h.ln_p[3][2] = NAN;
    assert_int_equal(wl_advise_cap_learn(h.curve, CURVES, &p, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "history curve 4 (wave)"));
    make_history(&h);
    h.curve[1].n = 1;
    assert_int_equal(wl_advise_cap_learn(h.curve, CURVES, &p, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "history curve 2 (wave)"));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(worked_searches),
        cmocka_unit_test(repeats),
        cmocka_unit_test(units),
        cmocka_unit_test(correlated_noise),
        cmocka_unit_test(clamped),
        cmocka_unit_test(range_ends),
        cmocka_unit_test(rounded),
        cmocka_unit_test(failed_windows),
        cmocka_unit_test(one_candidate),
        cmocka_unit_test(any_input),
        cmocka_unit_test(limit_binds),
        cmocka_unit_test(saves),
        cmocka_unit_test(clocks),
        cmocka_unit_test(golden_prior),
        cmocka_unit_test(golden_posterior),
        cmocka_unit_test(empty_history),
        cmocka_unit_test(devices),
        cmocka_unit_test(remembered),
        cmocka_unit_test(history_forms),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(bad_windows),
        cmocka_unit_test(bad_history),
    };
    return cmocka_run_group_tests_name("advise-cap", tests, NULL, NULL);
}
