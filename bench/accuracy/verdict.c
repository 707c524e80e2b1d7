/* Error rates and power of the verdict "is it a power law?", N = 1 to 128, three runs. */
#include "accuracy.h"

#include "law/fit/verdict.h"

enum { COUNTS = 8, RUNS = 3, MARGINS = 2, SCATTERS = 4 };
static const double margins[MARGINS] = { 0.05, 0.10 };
static const struct {
    double run_sd, config_sd;
} scatters[SCATTERS] = { { 0.01, 0 }, { 0.03, 0 }, { 0.02, 0.02 }, { 0.02, 0.03 } };
static const struct {
    double beta, c, noise; /* (1/N + c)^beta; noise: more sd of runs */
} truths[] = { { 0.9, 0, 0 },   { 0.5, 0, 0 },  { 1, 0.0003, 0 }, { 1, 0.001, 0 },
               { 1, 0.003, 0 }, { 1, 0.01, 0 }, { 1, 0.03, 0 },   { 0, 0, 1 } };

struct shares {
    double supported[MARGINS], rejected[MARGINS]; /* % */
};

static struct campaign simulate(size_t truth, size_t scatter, uint64_t key, uint64_t replicate)
{
    struct campaign c = campaign_new(COUNTS * RUNS);
    for (size_t i = 0; i < COUNTS * RUNS; i++) {
        const double n = ldexp(1, (int)(i / RUNS)), run_sd = scatters[scatter].run_sd + truths[truth].noise,
                     noise = scatters[scatter].config_sd * wl_random_normal(key, 2 * replicate, i / RUNS) +
                             run_sd * wl_random_normal(key, 2 * replicate + 1, i);
        campaign_add(&c, n, i % RUNS, 1000 * pow(1 / n + truths[truth].c, truths[truth].beta) * exp(noise));
    }
    campaign_end(&c);
    return c;
}

/* Change of the exponent per factor of 10 that the quadratic finds without noise. */
static double true_change(size_t truth)
{
    double x[COUNTS], y[COUNTS], mean = 0, numerator = 0, denominator = 0;
    for (size_t i = 0; i < COUNTS; i++) {
        x[i] = (double)i - (COUNTS - 1) / 2.0;
        mean += x[i] * x[i] / COUNTS;
        y[i] = truths[truth].beta * log(ldexp(1, -(int)i) + truths[truth].c);
    }
    for (size_t i = 0; i < COUNTS; i++) { /* evenly spaced: x^2 less its mean is orthogonal to x */
        numerator += (x[i] * x[i] - mean) * y[i];
        denominator += (x[i] * x[i] - mean) * (x[i] * x[i] - mean);
    }
    return -2 * log(10) * numerator / denominator / (log(2) * log(2));
}

static struct shares shares_of(size_t truth, size_t scatter, size_t replicates)
{
    struct shares s = { 0 };
    for (size_t k = 0; k < replicates; k++) {
        struct campaign c = simulate(truth, scatter, 2312000 + truth * SCATTERS + scatter, k);
        struct wl_law_result laws;
        struct wl_err e;
        must(wl_law_fit(&c.obs, &(struct wl_law_options) { 0 }, &laws, c.arena, &e), &e);
        for (size_t m = 0; m < MARGINS; m++) {
            wl_law_judge(&laws.groups[0], margins[m], c.arena);
            s.supported[m] += laws.groups[0].verdict == WL_LAW_SUPPORTED ? 100.0 / (double)replicates : 0;
            s.rejected[m] += laws.groups[0].verdict == WL_LAW_REJECTED ? 100.0 / (double)replicates : 0;
        }
        wl_arena_free(c.arena);
    }
    return s;
}

static const char *truth_text(size_t t, struct wl_arena *a)
{
    if (truths[t].noise > 0) return "noise of sd 1";
    return truths[t].c > 0 ? wl_strf(a, "c/W %g", truths[t].c) : wl_strf(a, "power law, %g", truths[t].beta);
}

enum { FALSE_SUPPORTED, POWER_SUPPORTED, BENT_REJECTED, PROMISES };

/* A law that is not one to within the margin, or noise, is SUPPORTED in 5 % at most; a power law is found. */
static void check(struct promise *p, size_t truth, size_t scatter, const struct shares *s)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *name = wl_strf(a, "%s, runs %g %%, configurations %g %%", truth_text(truth, a),
                               100 * scatters[scatter].run_sd, 100 * scatters[scatter].config_sd);
    for (size_t m = 0; m < MARGINS; m++)
        if (truths[truth].noise > 0 || fabs(true_change(truth)) >= margins[m])
            promise_add(&p[FALSE_SUPPORTED], s->supported[m], wl_strf(a, "%s, margin %g", name, margins[m]));
    if (truths[truth].c == 0 && truths[truth].noise == 0 && scatters[scatter].config_sd == 0)
        promise_add(&p[POWER_SUPPORTED], s->supported[0], name);
    if (truths[truth].c >= 0.01) promise_add(&p[BENT_REJECTED], s->rejected[0], name);
    wl_arena_free(a);
}

static void print_head(void)
{
    printf("SUPPORTED/REJECTED in %% at margin %g (%g)\n\n| truth | change |", margins[0], margins[1]);
    for (size_t s = 0; s < SCATTERS; s++)
        printf(" runs %g %%, configurations %g %% |", 100 * scatters[s].run_sd, 100 * scatters[s].config_sd);
    puts("\n|---|---|---|---|---|---|");
}

int bench_verdict(const struct extent *x)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct promise p[PROMISES] = {
        [FALSE_SUPPORTED] = { "SUPPORTED where the exponent changes by the margin or more, and of noise", true, 5,
                              x->replicates },
        [POWER_SUPPORTED] = { "SUPPORTED of a power law, runs 1 to 3 %, no configuration effects", false, 90,
                              x->replicates },
        [BENT_REJECTED] = { "REJECTED of Amdahl's law, c/W 0.01 and more", false, 95, x->replicates },
    };
    const size_t cells = WL_COUNT(truths) * SCATTERS;
    print_head();
    progress(0, cells);
    for (size_t cell = 0; cell < cells; cell++) {
        const size_t t = cell / SCATTERS, s = cell % SCATTERS;
        if (s == 0) printf("| %s | %.3f |", truth_text(t, a), true_change(t));
        if (cell % x->every == 0) {
            const struct shares v = shares_of(t, s, x->replicates);
            printf(" %.0f/%.0f (%.0f/%.0f)", v.supported[0], v.rejected[0], v.supported[1], v.rejected[1]);
            check(p, t, s, &v);
            progress(cell + 1, cells);
        }
        printf(" |%s", s + 1 == SCATTERS ? "\n" : "");
        fflush(stdout);
    }
    wl_arena_free(a);
    return promises_report(p, PROMISES);
}
