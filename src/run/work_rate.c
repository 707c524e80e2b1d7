#include "run/work_rate.h"

#include "stats/stats.h"

#include <math.h>

const struct wl_work_rate wl_work_rate_none = { .epochs = NAN, .total = NAN, .epoch = NAN, .step = NAN };

/* A count of a mark that says more than before: as text, since most marks have none. */
static double count_of(const struct wl_mark *m, const char *key)
{
    const int64_t v = wl_mark_int(m, key, -1);
    return v > 0 ? (double)v : NAN;
}

static bool advance(struct wl_work_rate *w, double *done, double now, int64_t t_ns)
{
    if (isnan(now) || now <= *done) return false;
    *done = now;
    w->t_ns = t_ns;
    return true;
}

bool wl_work_rate_mark(struct wl_work_rate *w, const struct wl_mark *m)
{
    if (m->rank != 0) return false;
    switch (m->word) {
    case WL_MARK_START: w->epochs = count_of(m, "epochs"); return false;
    case WL_MARK_STEP: {
        const double total = count_of(m, "total");
        if (!isnan(total)) w->total = total;
        return advance(w, &w->step, count_of(m, "step"), m->t_ns) && !isnan(w->total);
    }
    case WL_MARK_EPOCH_END: return advance(w, &w->epoch, count_of(m, "epoch"), m->t_ns) && isnan(w->total);
    default: return false;
    }
}

static bool by_steps(const struct wl_work_rate *w) { return !isnan(w->total) && !isnan(w->step); }

double wl_work_rate_share(const struct wl_work_rate *w)
{
    const double share = by_steps(w) ? w->step / w->total : w->epoch / w->epochs;
    return share <= 1 ? share : NAN; /* more than was announced: the total is not its total */
}

const char *wl_work_rate_text(const struct wl_work_rate *w, struct wl_arena *a)
{
    if (isnan(wl_work_rate_share(w))) return NULL;
    return by_steps(w) ? wl_strf(a, "%.0f of %.0f steps", w->step, w->total)
                       : wl_strf(a, "%.0f of %.0f epochs", w->epoch, w->epochs);
}

void wl_work_rate_add(struct wl_work_rate *w, const double cost[WL_WORK_COSTS])
{
    const double share = wl_work_rate_share(w);
    if (isnan(share) || (w->n && share <= w->v[w->n - 1].share)) return;
    if (w->n == WL_COUNT(w->v)) {
        for (size_t i = 1; 2 * i < w->n; i++) w->v[i] = w->v[2 * i];
        w->n /= 2;
    }
    w->v[w->n] = (struct wl_work_point) { .share = share };
    for (size_t c = 0; c < WL_WORK_COSTS; c++) w->v[w->n].cost[c] = cost[c];
    w->n++;
}

struct wl_work_forecast wl_work_rate_forecast(const struct wl_work_rate *w, enum wl_work_cost cost)
{
    struct wl_work_forecast f = { NAN, NAN, NAN };
    if (w->n < 2) return f;
    const struct wl_work_point *first = w->v, *last = &w->v[w->n - 1];
    const double work = last->share - first->share, left = 1 - last->share, pieces = (double)w->n - 1;
    const double rate = (last->cost[cost] - first->cost[cost]) / work;
    double squares = 0;
    f.value = last->cost[cost] + left * rate;
    if (pieces < 3) return f;
    for (size_t i = 1; i < w->n; i++) {
        const double error = w->v[i].cost[cost] - w->v[i - 1].cost[cost] - rate * (w->v[i].share - w->v[i - 1].share);
        squares += error * error;
    }
    /* of the rate (Cochran 1977, section 6.4), and of the pieces to come, whose errors add up as those so far did */
    const double variance = squares / (pieces - 1);
    const double of_rate = variance * pieces / (work * work), of_rest = variance * pieces / work * left;
    const double half = wl_t_quantile(.975, pieces - 1) * sqrt(of_rate * left * left + of_rest);
    f.lo = fmax(last->cost[cost], f.value - half);
    f.hi = f.value + half;
    return f;
}
