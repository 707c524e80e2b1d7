#include "campaign/queue_rate.h"

#include <math.h>
#include <stdlib.h>

/* Between the end of a job and the submission of the next lies a round of the sweep, of up to a minute. */
static const int64_t EMPTY_NS = 120 * WL_NS_PER_S;

static int by_begin(const void *x, const void *y)
{
    const struct wl_queue_stay *a = x, *b = y;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int by_end(const void *x, const void *y)
{
    const struct wl_queue_stay *a = x, *b = y;
    return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

/* When the queue began to be filled for the last time; `now` if nothing is in it. */
static int64_t begin_of_queue(struct wl_queue_stay *v, size_t n, int64_t now_ns)
{
    int64_t begin_ns = now_ns, until_ns = INT64_MIN;
    if (n) qsort(v, n, sizeof *v, by_begin);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || v[i].from_ns > until_ns + EMPTY_NS) begin_ns = v[i].from_ns;
        if (v[i].to_ns > until_ns) until_ns = v[i].to_ns;
    }
    return n && until_ns + EMPTY_NS >= now_ns ? begin_ns : now_ns;
}

struct wl_queue_rate wl_queue_rate_of(struct wl_queue_stay *v, size_t n, size_t left, int64_t now_ns)
{
    struct wl_queue_rate rate = { .left_s = NAN, .lo_s = NAN, .hi_s = NAN };
    int64_t begin_ns = begin_of_queue(v, n, now_ns);
    if (n) qsort(v, n, sizeof *v, by_end);
    for (size_t i = n; i-- > 0 && v[i].to_ns >= begin_ns;) {
        if (!v[i].closed_run) continue;
        if (rate.ended == WL_QUEUE_RATE_MOST) { /* the time of the counted ends begins with the one before them */
            begin_ns = v[i].to_ns;
            break;
        }
        rate.ended++;
    }
    rate.since_s = (double)(now_ns - begin_ns) / WL_NS_PER_S;
    if (rate.ended < WL_QUEUE_RATE_LEAST || !(rate.since_s > 0)) return rate;
    const double factor = exp(1.96 / sqrt((double)rate.ended));
    rate.left_s = (double)left * rate.since_s / (double)rate.ended;
    rate.lo_s = rate.left_s / factor;
    rate.hi_s = rate.left_s * factor;
    return rate;
}
