/* bench_tune_trace: the searches of src/advise as a program that answers line by line, for bench/tune_trace.py.
 *
 *     curve KIND DEVICE SCALE_W N VALUE T P ...   a measured curve of another workload (KIND: cap or clock)  -> ok
 *     learn NAME                           a prior from the curves since the last learn              -> ok
 *     cap OBJECTIVE SLOWDOWN SIGMA WINDOWS DEVICE SCALE_W PRIOR N VALUE ...                          -> step
 *         OBJECTIVE: energy zeus edp ed2p time; SLOWDOWN 0: no limit, else with probability .9; PRIOR: a NAME or -
 *     window T P                           the window that the last step asked for                   -> step
 *     measured I T P                       a window at candidate I, whatever was asked for           -> ok
 *     job SLOWDOWN CAPS                    of the search: for each candidate P(within), relative energy
 *     policy SHARE FURTHER JOBS CAPS P ENERGY ...   job by job   -> choice, then for each cap: mean, lo, hi (90 %)
 *     batch START N BATCH ...                                                                        -> step
 *     workers START N COUNT ...            the same over worker counts, by gain per worker-hour     -> step
 *     trial OUTCOME COST                   OUTCOME: reached stopped diverged memory                  -> step
 * step: "next I LIMIT" or "choice I REASON" (I counts from 0; LIMIT: cost at which to stop a trial).
 * An error: "error MESSAGE", and status 1. */
#include "advise/advise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 65536, CURVES = 4096, PRIORS = 64 };

struct bench {
    struct wl_arena *all, *now; /* priors and curves; the search at hand */
    char *word[WORDS];
    size_t words;
    struct wl_advise_cap_curve curve[CURVES];
    size_t curves;
    struct {
        char *name;
        struct wl_advise_cap_prior *prior;
    } prior[PRIORS];
    size_t priors;
    struct wl_advise_cap *cap;
    struct wl_advise_batch *batch;
    size_t index; /* of the last step */
};

static double real(const struct bench *b, size_t i) { return i < b->words ? strtod(b->word[i], NULL) : NAN; }
static size_t count(const struct bench *b, size_t i) { return i < b->words ? strtoul(b->word[i], NULL, 10) : 0; }

/* n numbers from word `at` on, every `stride`th. */
static double *reals(const struct bench *b, size_t at, size_t n, size_t stride, struct wl_arena *a)
{
    double *v = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) v[i] = real(b, at + i * stride);
    return v;
}

static double *ln_reals(const struct bench *b, size_t at, size_t n, size_t stride, struct wl_arena *a)
{
    double *v = reals(b, at, n, stride, a);
    for (size_t i = 0; i < n; i++) v[i] = log(v[i]);
    return v;
}

static int answer_curve(struct bench *b, struct wl_err *e)
{
    const size_t n = count(b, 4);
    if (b->curves == CURVES) return wl_fail(e, WL_EINVAL, "more than %d curves", CURVES);
    b->curve[b->curves++] = (struct wl_advise_cap_curve) {
        .kind = wl_str_eq(b->word[1], "clock") ? WL_ADVISE_CLOCK : WL_ADVISE_POWER_CAP,
        .device = wl_strdup(b->all, b->word[2]),
        .scale_w = real(b, 3),
        .n = n,
        .value = reals(b, 5, n, 3, b->all),
        .ln_t = ln_reals(b, 6, n, 3, b->all),
        .ln_p = ln_reals(b, 7, n, 3, b->all),
    };
    puts("ok");
    return 0;
}

static int answer_learn(struct bench *b, struct wl_err *e)
{
    if (b->priors == PRIORS) return wl_fail(e, WL_EINVAL, "more than %d priors", PRIORS);
    b->prior[b->priors].name = wl_strdup(b->all, b->word[1]);
    const int rc = wl_advise_cap_learn(b->curve, b->curves, &b->prior[b->priors].prior, b->all, e);
    if (rc) return rc;
    b->priors++;
    b->curves = 0;
    puts("ok");
    return 0;
}

static const struct wl_advise_cap_prior *prior_named(const struct bench *b, const char *name)
{
    for (size_t i = 0; i < b->priors; i++)
        if (wl_str_eq(b->prior[i].name, name)) return b->prior[i].prior;
    return NULL;
}

static int objective_named(const char *name, enum wl_advise_cap_objective *out, struct wl_err *e)
{
    static const char *const names[] = { "energy", "zeus", "edp", "ed2p", "time" };
    for (size_t i = 0; i < WL_COUNT(names); i++)
        if (wl_str_eq(names[i], name)) {
            *out = (enum wl_advise_cap_objective)i;
            return 0;
        }
    return wl_fail(e, WL_EINVAL, "no objective \"%s\"", name);
}

static void say(struct bench *b, bool done, size_t index, double limit, const char *reason)
{
    b->index = index;
    if (done)
        printf("choice %zu %s\n", index, reason);
    else
        printf("next %zu %.17g\n", index, limit);
}

static int say_cap(struct bench *b)
{
    const struct wl_advise_cap_step s = wl_advise_cap_next(b->cap);
    say(b, s.done, s.index, INFINITY, wl_advise_cap_reason_text(s.reason));
    return 0;
}

static void renew(struct bench *b)
{
    wl_arena_free(b->now);
    b->now = wl_arena_new(b->all);
    b->cap = NULL;
    b->batch = NULL;
}

static int answer_cap(struct bench *b, struct wl_err *e)
{
    const size_t n = count(b, 8);
    const double sigma = real(b, 3);
    renew(b);
    struct wl_advise_cap_opts o = wl_advise_cap_defaults(reals(b, 9, n, 1, b->now), n);
    if (objective_named(b->word[1], &o.objective, e)) return WL_EINVAL;
    if (real(b, 2) > 0) o.limit = (struct wl_advise_cap_limit) { real(b, 2), 0.9 };
    o.noise = (struct wl_advise_cap_noise) { sigma, sigma, 0 };
    o.windows = count(b, 4);
    o.device = wl_strdup(b->now, b->word[5]);
    o.scale_w = real(b, 6);
    o.prior = prior_named(b, b->word[7]);
    if (!o.prior && !wl_str_eq(b->word[7], "-")) return wl_fail(e, WL_EINVAL, "no prior \"%s\"", b->word[7]);
    const int rc = wl_advise_cap_new(&b->cap, &o, b->now, e);
    return rc ? rc : say_cap(b);
}

static int add_window(struct bench *b, size_t index, size_t at, struct wl_err *e)
{
    const struct wl_advise_cap_window w = { .index = index, .ln_t = log(real(b, at)), .ln_p = log(real(b, at + 1)) };
    return b->cap ? wl_advise_cap_add(b->cap, &w, e) : wl_fail(e, WL_EINVAL, "no cap search");
}

static int answer_window(struct bench *b, struct wl_err *e)
{
    const int rc = add_window(b, b->index, 1, e);
    return rc ? rc : say_cap(b);
}

static int answer_measured(struct bench *b, struct wl_err *e)
{
    const int rc = add_window(b, count(b, 1), 2, e);
    if (!rc) puts("ok");
    return rc;
}

static int answer_job(struct bench *b, struct wl_err *e)
{
    double within[WL_ADVISE_CAP_MAX], energy[WL_ADVISE_CAP_MAX];
    if (!b->cap || b->words != 3) return wl_fail(e, WL_EINVAL, "job SLOWDOWN CAPS, of a cap search");
    const size_t n = count(b, 2);
    wl_advise_policy_job(b->cap, n, n - 1, real(b, 1), within, energy);
    for (size_t i = 0; i < n; i++) printf("%s%.17g %.17g", i ? " " : "", within[i], energy[i]);
    puts("");
    return 0;
}

static int answer_policy(struct bench *b, struct wl_err *e)
{
    const size_t jobs = count(b, 3), caps = count(b, 4);
    struct wl_advise_policy out;
    renew(b);
    const struct wl_advise_policy_opts o = {
        .jobs = jobs,
        .caps = caps,
        .reference = caps - 1,
        .further = count(b, 2),
        .share = real(b, 1),
        .level = 0.9,
        .within = reals(b, 5, jobs * caps, 2, b->now),
        .energy = reals(b, 6, jobs * caps, 2, b->now),
    };
    const int rc = wl_advise_policy(&o, &out, b->now, e);
    if (rc) return rc;
    printf("%zu", out.choice);
    for (size_t c = 0; c < caps; c++)
        printf(" %.17g %.17g %.17g %.17g", out.cap[c].share.mean, out.cap[c].share.lo, out.cap[c].share.hi,
               out.cap[c].energy);
    puts("");
    return 0;
}

static int say_batch(struct bench *b)
{
    const struct wl_advise_batch_step s = wl_advise_batch_next(b->batch);
    say(b, s.done, s.index, s.limit, wl_advise_batch_reason_text(s.reason));
    return 0;
}

static int answer_batch(struct bench *b, struct wl_err *e)
{
    const size_t n = count(b, 2);
    renew(b);
    struct wl_advise_batch_opts o = wl_advise_batch_defaults(reals(b, 3, n, 1, b->now), n, count(b, 1));
    if (wl_str_eq(b->word[0], "workers")) o.price = o.batch;
    const int rc = wl_advise_batch_new(&b->batch, &o, b->now, e);
    return rc ? rc : say_batch(b);
}

static int answer_trial(struct bench *b, struct wl_err *e)
{
    static const char *const outcomes[] = { "reached", "stopped", "diverged", "memory" };
    size_t k = 0;
    while (k < WL_COUNT(outcomes) && !wl_str_eq(outcomes[k], b->word[1])) k++;
    if (k == WL_COUNT(outcomes) || !b->batch) return wl_fail(e, WL_EINVAL, "trial OUTCOME COST, of a batch search");
    const struct wl_advise_batch_trial t = { b->index, (enum wl_advise_batch_outcome)k, real(b, 2) };
    const int rc = wl_advise_batch_add(b->batch, &t, e);
    return rc ? rc : say_batch(b);
}

static const struct {
    const char *name;
    size_t words; /* at least */
    int (*answer)(struct bench *, struct wl_err *);
} commands[] = { { "curve", 8, answer_curve },   { "learn", 2, answer_learn },       { "cap", 10, answer_cap },
                 { "window", 3, answer_window }, { "measured", 4, answer_measured }, { "job", 3, answer_job },
                 { "policy", 7, answer_policy }, { "batch", 4, answer_batch },       { "trial", 3, answer_trial },
                 { "workers", 4, answer_batch } };

static int answer(struct bench *b, char *line, struct wl_err *e)
{
    char *rest = NULL;
    b->words = 0;
    for (char *w = strtok_r(line, " \n", &rest); w && b->words < WORDS; w = strtok_r(NULL, " \n", &rest))
        b->word[b->words++] = w;
    for (size_t i = 0; i < WL_COUNT(commands) && b->words; i++)
        if (wl_str_eq(commands[i].name, b->word[0]) && b->words >= commands[i].words) return commands[i].answer(b, e);
    return wl_fail(e, WL_EINVAL, "unknown or short command \"%s\"", b->words ? b->word[0] : "");
}

int main(void)
{
    struct bench *b = calloc(1, sizeof *b);
    char *line = NULL;
    size_t size = 0;
    struct wl_err e;
    int rc = 0;
    if (!b) return 1;
    b->all = wl_arena_new(NULL);
    b->now = wl_arena_new(b->all);
    while (!rc && getline(&line, &size, stdin) > 0) {
        rc = answer(b, line, &e);
        if (rc) printf("error %s\n", e.msg);
        fflush(stdout);
    }
    free(line);
    wl_arena_free(b->all);
    free(b);
    return rc ? 1 : 0;
}
