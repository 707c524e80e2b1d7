#include "law/per_work.h"

#include <math.h>

static const struct wl_law_work works[] = {
    { "steps", "updates", "1000 steps", "step", 1e3 },
    { "samples", "samples", "10^6 samples", "sample", 1e6 },
    { "tokens", "tokens", "10^9 tokens", "token", 1e9 },
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

const struct wl_law_work *wl_law_work_of(const char *name)
{
    for (size_t i = 0; name && i < WL_COUNT(works); i++)
        if (wl_str_eq(works[i].name, name)) return &works[i];
    return NULL;
}

int wl_law_per_work(struct wl_observations *obs, const char *name, struct wl_arena *a, struct wl_err *e)
{
    static const char *const scaled[] = { "time_s", "energy_j",    "samples",     "updates",
                                          "tokens", "energy_lo_j", "energy_hi_j", "idle_j" };
    const struct wl_law_work *w = wl_law_work_of(name);
    if (!w) return 0;
    const double *count = real_column(obs, w->column);
    const size_t known = rows_with(obs, count);
    if (!known) return missing(obs, w->column, e);
    double *factor = wl_new_array(a, double, obs->n);
    for (size_t i = 0; i < obs->n; i++) factor[i] = count[i] > 0 ? w->n / count[i] : NAN;
    for (size_t k = 0; k < WL_COUNT(scaled); k++) {
        double *v = real_column(obs, scaled[k]);
        for (size_t i = 0; v && i < obs->n; i++) v[i] *= factor[i];
    }
    const char *without =
        known < obs->n ? wl_strf(a, "; %zu of %zu rows do not have them", obs->n - known, obs->n) : "";
    obs->note = wl_strf(a, "the work of an epoch is %s: times and energies are those of %s%s%s%s", w->amount, w->amount,
                        without, obs->note ? "; " : "", obs->note ? obs->note : "");
    return 0;
}

int wl_law_tokens_as_samples(struct wl_observations *obs, struct wl_err *e)
{
    double *tokens = real_column(obs, "tokens");
    if (!rows_with(obs, tokens)) return missing(obs, "tokens", e);
    obs->samples = tokens;
    return 0;
}
