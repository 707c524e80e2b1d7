#include "tune/target.h"

#include <math.h>

const struct wl_tune_progress wl_tune_progress_none = { .larger = NAN, .first = NAN };

void wl_tune_progress_add(struct wl_tune_progress *p, const struct wl_tune_target *target, int64_t epoch, double value)
{
    if (isnan(value) || p->epoch) return;
    if (isnan(p->first)) p->first = value;
    bool rising = isnan(p->larger) ? p->first < target->value : p->larger == 1;
    if (rising ? value >= target->value : value <= target->value) p->epoch = epoch;
}

/* The row of the metric with the least epoch after `after`; NULL: none. */
static const struct wl_metric_row *next_row(const struct wl_metric_rows *rows, const char *metric, double after)
{
    const struct wl_metric_row *next = NULL;
    for (size_t i = 0; i < rows->n; i++) {
        const struct wl_metric_row *r = &rows->v[i];
        if (!wl_str_eq(r->name, metric) || !(r->epoch > after)) continue;
        if (!next || r->epoch < next->epoch) next = r;
    }
    return next;
}

struct wl_tune_progress wl_tune_progress_of(const struct wl_tune_target *target, const struct wl_metric_rows *metrics,
                                            const struct wl_metric_def_rows *defs)
{
    struct wl_tune_progress p = wl_tune_progress_none;
    for (size_t i = 0; i < defs->n; i++)
        if (wl_str_eq(defs->v[i].name, target->metric)) p.larger = defs->v[i].larger;
    const struct wl_metric_row *r = next_row(metrics, target->metric, 0);
    for (; r; r = next_row(metrics, target->metric, r->epoch))
        wl_tune_progress_add(&p, target, (int64_t)r->epoch, r->value);
    return p;
}
