/* What is shown during a run of a campaign. */
#include "campaign/sweep.h"

#include <math.h>

/* The mean time of all finished runs; NAN before the first. */
static double mean_run_s(const struct wl_sweep *s)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < s->grid.n_trials; i++) {
        sum += s->took_s[i];
        n += s->took_n[i];
    }
    return n > 0 ? sum / n : NAN;
}

/* The mean time of a trial's finished runs; `otherwise` before the first. */
static double expected_s(const struct wl_sweep *s, size_t trial, double otherwise)
{
    return s->took_n[trial] > 0 ? s->took_s[trial] / s->took_n[trial] : otherwise;
}

struct wl_sweep_progress wl_sweep_progress_new(const struct wl_sweep *s, size_t at, const char *note,
                                               struct wl_arena *a)
{
    double mean_s = mean_run_s(s);
    struct wl_sweep_progress t = { .s = s, .note = note };
    t.one_s = expected_s(s, s->grid.runs[at].trial, mean_s);
    for (size_t i = 0; i < s->grid.n_runs; i++)
        if (s->to_do[i] && i != at) t.rest_s += expected_s(s, s->grid.runs[i].trial, mean_s);
    if (!isnan(t.one_s)) t.late = wl_strf(a, "%s, beyond its estimate of %s", note, wl_human_time(a, t.one_s));
    return t;
}

/* Repeats differ by a few percent and the time to start a process. */
static bool is_late(const struct wl_sweep_progress *t, double elapsed_s) { return elapsed_s > 1.1 * t->one_s + 1; }

void wl_sweep_progress_update(void *ctx, double elapsed_s)
{
    const struct wl_sweep_progress *t = ctx;
    double left_s = t->rest_s + fmax(t->one_s - elapsed_s, 0);
    double part = isnan(t->one_s) || t->one_s <= 0 ? 0 : fmin(elapsed_s / t->one_s, 0.99);
    const struct wl_sweep_opts *opts = t->s->opts;
    opts->on_tick(opts->ctx, (double)t->s->passed + part, (double)t->s->n_to_do,
                  isnan(t->rest_s + t->one_s) ? -1 : left_s, is_late(t, elapsed_s) ? t->late : t->note);
}
