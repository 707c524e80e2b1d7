#include "tune/evidence.h"

#include <math.h>

static const double PRIOR_SD = 0.01, LEAST_SD = 0.002;
static const double PRIOR_PAIRS = 4;

/* ---- the noise of a window ---- */

static double squared(double x) { return x * x; }

/* Neighbours in time that hold one value differ by the noise of two windows. */
static struct wl_advise_cap_noise noise_of(const struct wl_tune_windows *w, size_t reference)
{
    double t = PRIOR_PAIRS * squared(PRIOR_SD), p = t, n = PRIOR_PAIRS, sensors = 0;
    const struct wl_tune_window *before = NULL;
    for (size_t i = 0; i < w->n; i++) {
        const struct wl_tune_window *now = &w->v[i];
        const struct wl_tune_window *twin = now->candidate == reference ? before : i ? &w->v[i - 1] : NULL;
        if (twin && twin->candidate == now->candidate && twin->job == now->job) {
            t += squared(log(now->t_s / twin->t_s)) / 2;
            p += squared(log(now->p_w / twin->p_w)) / 2;
            n++;
        }
        if (now->candidate == reference) before = now;
        sensors += squared(now->sd_p) / (double)w->n;
    }
    return (struct wl_advise_cap_noise) { .sd_t = fmax(LEAST_SD, sqrt(t / n)),
                                          .sd_p = fmax(LEAST_SD, sqrt(fmax(p / n, sensors))) };
}

/* ---- the reference next to a probe ---- */

struct level {
    double ln_t, ln_p, n;
};

static void add(struct level *l, const struct wl_tune_window *w)
{
    l->ln_t += log(w->t_s);
    l->ln_p += log(w->p_w);
    l->n++;
}

static struct level mean_of(const struct wl_tune_windows *w, size_t from, size_t n)
{
    struct level l = { 0 };
    for (size_t i = from; i < from + n; i++) add(&l, &w->v[i]);
    return (struct level) { l.ln_t / l.n, l.ln_p / l.n, l.n };
}

static struct level mean_of_reference(const struct wl_tune_windows *w, size_t reference)
{
    struct level l = { 0 };
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].candidate == reference) add(&l, &w->v[i]);
    return (struct level) { l.ln_t / l.n, l.ln_p / l.n, l.n };
}

/* The mean of the windows of the reference nearest before and after a probe in its job; n 0: there is none. */
static struct level flanks_of(const struct wl_tune_windows *w, const struct wl_tune_probe *p, size_t reference)
{
    struct level l = { 0 };
    int64_t job = w->v[p->first].job;
    for (size_t i = p->first; i-- > 0 && w->v[i].job == job;)
        if (w->v[i].candidate == reference) {
            add(&l, &w->v[i]);
            break;
        }
    for (size_t i = p->first + p->n; i < w->n && w->v[i].job == job; i++)
        if (w->v[i].candidate == reference) {
            add(&l, &w->v[i]);
            break;
        }
    if (l.n > 0) l = (struct level) { l.ln_t / l.n, l.ln_p / l.n, l.n };
    return l;
}

/* ---- probes ---- */

static struct wl_advise_cap_window seen(const struct wl_tune_probes *all, size_t candidate, struct level l, double n)
{
    return (struct wl_advise_cap_window) { .index = candidate,
                                           .ln_t = l.ln_t,
                                           .ln_p = l.ln_p,
                                           .noise = { fmax(LEAST_SD, all->noise.sd_t / sqrt(n)),
                                                      fmax(LEAST_SD, all->noise.sd_p / sqrt(n)), 0 } };
}

/* Its own scatter and that of the windows it is compared with: 1/n = 1/n(own) + 1/n(flanks). */
static void fill(struct wl_tune_probes *all, struct wl_tune_probe *p, const struct wl_tune_windows *w, size_t reference)
{
    struct level own = mean_of(w, p->first, p->n), whole = mean_of_reference(w, reference);
    struct level near = flanks_of(w, p, reference);
    if (near.n > 0) {
        own.ln_t += whole.ln_t - near.ln_t;
        own.ln_p += whole.ln_p - near.ln_p;
    }
    p->seen = seen(all, p->candidate, own, near.n > 0 ? 1 / (1 / own.n + 1 / near.n) : own.n);
}

struct wl_tune_probes wl_tune_evidence(const struct wl_tune_windows *w, size_t reference, struct wl_arena *a)
{
    struct wl_tune_probes all = { .v = wl_new_array(a, struct wl_tune_probe, w->n + 1),
                                  .noise = noise_of(w, reference) };
    struct level whole = mean_of_reference(w, reference);
    if (!(whole.n > 0)) return all;
    all.v[all.n++] = (struct wl_tune_probe) { .candidate = reference,
                                              .n = (size_t)whole.n,
                                              .seen = seen(&all, reference, whole, whole.n) };
    for (size_t i = 0; i < w->n; i++) {
        struct wl_tune_probe *last = &all.v[all.n - 1];
        const struct wl_tune_window *now = &w->v[i];
        if (now->candidate == reference) continue;
        bool continues =
            all.n > 1 && last->first + last->n == i && last->candidate == now->candidate && w->v[i - 1].job == now->job;
        if (continues)
            last->n++;
        else
            all.v[all.n++] = (struct wl_tune_probe) { .candidate = now->candidate, .first = i, .n = 1 };
    }
    for (size_t i = 1; i < all.n; i++) fill(&all, &all.v[i], w, reference);
    return all;
}
