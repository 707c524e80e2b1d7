#include "law/hier/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_config_and_epochs(const void *x, const void *y)
{
    const struct wl_hier_run *p = *(const struct wl_hier_run *const *)x, *q = *(const struct wl_hier_run *const *)y;
    if (p->workers != q->workers) return p->workers < q->workers ? -1 : 1;
    if (p->config != q->config) return p->config < q->config ? -1 : 1;
    if (p->epochs != q->epochs) return p->epochs < q->epochs ? -1 : 1;
    return p < q ? -1 : p > q;
}

static int check(const struct wl_hier_run *r, size_t i, struct wl_err *e)
{
    if (!(r->workers > 0) || !isfinite(r->workers))
        return wl_fail(e, WL_EINVAL, "run %zu has %g workers: expected a positive number", i, r->workers);
    if (!isfinite(r->mean) || !(r->sum_squares >= 0) || r->epochs == 0)
        return wl_fail(e, WL_EINVAL, "run %zu has no mean of at least one epoch", i);
    return 0;
}

/* Welford's update. */
static void add_run(struct wl_hier_class *c, double mean)
{
    double delta = mean - c->mean;
    c->runs++;
    c->mean += delta / (double)c->runs;
    c->sum_squares += delta * (mean - c->mean);
}

/* Runs, sorted by worker count, configuration and epochs, to configurations and classes. */
static void collect(const struct wl_hier_run *const *sorted, size_t n, struct wl_hier_data *out)
{
    const struct wl_hier_run *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct wl_hier_run *r = sorted[i];
        bool other_workers = !last || r->workers != last->workers;
        bool other_config = other_workers || r->config != last->config;
        out->n_workers += other_workers;
        if (other_config) out->workers[out->n_configs++] = r->workers;
        if (other_config || r->epochs != last->epochs)
            out->classes[out->n_classes++] =
                (struct wl_hier_class) { .config = out->n_configs - 1, .epochs = r->epochs };
        add_run(&out->classes[out->n_classes - 1], r->mean);
        out->runs[out->n_configs - 1]++;
        last = r;
    }
}

static int by_epochs(const void *x, const void *y)
{
    const struct wl_hier_class *p = x, *q = y;
    return p->epochs < q->epochs ? -1 : p->epochs > q->epochs;
}

static double median_epochs(const struct wl_hier_data *d, struct wl_arena *a)
{
    struct wl_hier_class *c = wl_new_array(a, struct wl_hier_class, d->n_classes);
    memcpy(c, d->classes, d->n_classes * sizeof *c);
    qsort(c, d->n_classes, sizeof *c, by_epochs);
    size_t seen = 0, i = 0;
    while ((seen += c[i].runs) < (d->n_runs + 1) / 2) i++;
    return (double)c[i].epochs;
}

/* Where all runs have as many epochs, sigma is the sd of their means, whatever it comes from. */
static double epoch_variance(const struct wl_hier_run *runs, size_t n)
{
    double sum = 0, df = 0;
    bool unequal = false;
    for (size_t i = 0; i < n; i++) {
        unequal = unequal || runs[i].epochs != runs[0].epochs;
        sum += runs[i].sum_squares;
        df += (double)(runs[i].epochs - 1);
    }
    return unequal && df > 0 ? sum / df : 0;
}

int wl_hier_reduce(const struct wl_hier_run *runs, size_t n, struct wl_hier_data *out, struct wl_arena *a,
                   struct wl_err *e)
{
    *out = (struct wl_hier_data) { .n_runs = n };
    for (size_t i = 0; i < n; i++) {
        int rc = check(&runs[i], i, e);
        if (rc) return rc;
    }
    const struct wl_hier_run **sorted = wl_new_array(a, const struct wl_hier_run *, n);
    for (size_t i = 0; i < n; i++) sorted[i] = &runs[i];
    qsort(sorted, n, sizeof *sorted, by_config_and_epochs);
    out->classes = wl_new_array(a, struct wl_hier_class, n);
    out->workers = wl_new_array(a, double, n);
    out->runs = wl_new_array(a, size_t, n);
    collect(sorted, n, out);
    if (out->n_workers < 2)
        return wl_fail(e, WL_EINVAL, "%zu worker count%s: a curve needs two", out->n_workers,
                       out->n_workers == 1 ? "" : "s");
    out->epoch_variance = epoch_variance(runs, n);
    out->typical_epochs = median_epochs(out, a);
    return 0;
}

double wl_hier_within(const struct wl_hier_data *d, double sigma, double *y, double *variance)
{
    double ln_likelihood = 0;
    for (size_t c = 0; c < d->n_classes;) {
        size_t config = d->classes[c].config, first = c;
        double sum_w = 0, sum_wm = 0, ln_w = 0, squares = 0;
        for (; c < d->n_classes && d->classes[c].config == config; c++) {
            const struct wl_hier_class *k = &d->classes[c];
            double w = 1 / (sigma * sigma + d->epoch_variance / (double)k->epochs), n = (double)k->runs;
            sum_w += n * w;
            sum_wm += n * w * k->mean;
            ln_w += n * log(w);
            squares += w * k->sum_squares;
        }
        y[config] = sum_wm / sum_w;
        variance[config] = 1 / sum_w;
        for (size_t i = first; i < c; i++) {
            const struct wl_hier_class *k = &d->classes[i];
            double w = 1 / (sigma * sigma + d->epoch_variance / (double)k->epochs), off = k->mean - y[config];
            squares += (double)k->runs * w * off * off;
        }
        ln_likelihood += 0.5 * (ln_w - log(sum_w) - squares);
    }
    return ln_likelihood;
}
