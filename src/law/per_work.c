#include "law/per_work.h"

#include <math.h>

enum { STEPS, SAMPLES, TOKENS };
static const struct work {
    struct wl_obs_work work;
    const char *column;
} works[] = {
    [STEPS] = { { "steps", "step", "1000 steps", 1e3 }, "updates" },
    [SAMPLES] = { { "samples", "sample", "10^6 samples", 1e6 }, "samples" },
    [TOKENS] = { { "tokens", "token", "10^9 tokens", 1e9 }, "tokens" },
};

static double *real_column(const struct wl_observations *obs, const char *name)
{
    struct wl_obs_column c;
    struct wl_err none;
    return wl_obs_find(obs, name, &c, &none) == 0 ? c.real : NULL;
}

static size_t rows_with(const struct wl_observations *obs, const double *count)
{
    size_t n = 0;
    for (size_t i = 0; count && i < obs->n; i++) n += count[i] > 0;
    return n;
}

static int missing(const struct wl_observations *obs, const char *column, struct wl_err *e)
{
    return wl_fail(e, WL_EINVAL,
                   "%s: no row has %s: steps come from step marks or --log, tokens from marks or --tokens-per-sample "
                   "(docs/reference/marks.md)",
                   obs->source, column);
}

/* Tokens and samples are the amount of work themselves; a step's are its samples, else its tokens. */
static void count_amount(struct wl_observations *obs, const struct work *w)
{
    const bool steps = w == &works[STEPS];
    if (steps && rows_with(obs, obs->samples)) return;
    if (steps && rows_with(obs, real_column(obs, "tokens"))) w = &works[TOKENS];
    obs->samples = real_column(obs, w->column);
    obs->counted = w->work.name;
}

static const struct work *find(const char *name)
{
    for (size_t i = 0; name && i < WL_COUNT(works); i++)
        if (wl_str_eq(works[i].work.name, name)) return &works[i];
    return NULL;
}

const struct wl_obs_work *wl_law_work_of(const char *name)
{
    const struct work *w = find(name);
    return w ? &w->work : NULL;
}

int wl_law_per_work(struct wl_observations *obs, const char *name, struct wl_arena *a, struct wl_err *e)
{
    static const char *const scaled[] = { "time_s", "energy_j",    "samples",     "updates",
                                          "tokens", "energy_lo_j", "energy_hi_j", "idle_j" };
    const struct work *w = find(name);
    if (!w) return 0;
    const double *count = real_column(obs, w->column);
    const size_t known = rows_with(obs, count);
    if (!known) return missing(obs, w->column, e);
    double *factor = wl_new_array(a, double, obs->n);
    for (size_t i = 0; i < obs->n; i++) factor[i] = count[i] > 0 ? w->work.n / count[i] : NAN;
    for (size_t k = 0; k < WL_COUNT(scaled); k++) {
        double *v = real_column(obs, scaled[k]);
        for (size_t i = 0; v && i < obs->n; i++) v[i] *= factor[i];
    }
    const char *without =
        known < obs->n ? wl_strf(a, "; %zu of %zu rows do not have them", obs->n - known, obs->n) : "";
    obs->note = wl_strf(a, "times and energies are those of %s%s%s%s", w->work.amount, without, obs->note ? "; " : "",
                        obs->note ? obs->note : "");
    obs->work = &w->work;
    count_amount(obs, w);
    return 0;
}

int wl_law_tokens_as_samples(struct wl_observations *obs, struct wl_err *e)
{
    double *tokens = real_column(obs, "tokens");
    if (!rows_with(obs, tokens)) return missing(obs, "tokens", e);
    obs->samples = tokens;
    obs->counted = "tokens";
    return 0;
}

bool wl_law_has_tokens_alone(const struct wl_observations *obs)
{
    return rows_with(obs, real_column(obs, "samples")) == 0 && obs->n > 0 &&
           rows_with(obs, real_column(obs, "tokens")) == obs->n;
}

const char *wl_law_per_work_text(const struct wl_obs_work *work, struct wl_arena *a)
{
    return work ? wl_strf(a, ", per %s", work->amount) : "";
}
