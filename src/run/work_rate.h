/* How much of a job's work is done, and what all of it will take at the rate so far. */
#ifndef WL_RUN_WORK_RATE_H
#define WL_RUN_WORK_RATE_H

#include "mark/mark.h"

enum wl_work_cost { WL_WORK_TIME, WL_WORK_ENERGY, WL_WORK_COSTS }; /* in s since the start of the run, and in J */

/* The whole work of a job, in the unit of a cost; 95 % interval, NAN where the rate was seen too briefly. */
struct wl_work_forecast {
    double value, lo, hi; /* value NAN: there is no forecast */
};

struct wl_work_rate {
    double epochs, total; /* that the job will do, NAN: it did not say; of steps `total` */
    double epoch, step;   /* done, NAN: no mark yet */
    int64_t t_ns;         /* of the last mark that changed them */
    struct wl_work_point {
        double share, cost[WL_WORK_COSTS];
    } v[64]; /* when full, every other point goes */
    size_t n;
};

extern const struct wl_work_rate wl_work_rate_none;

/* Takes from a mark of rank 0 what it says about the work: `epochs` of start, steps and their `total`, ends of epochs.
 * true: more is done than before. */
bool wl_work_rate_mark(struct wl_work_rate *w, const struct wl_mark *m);

/* Share of the work that is done, by steps where their total is known, else by epochs; NAN: not known. */
double wl_work_rate_share(const struct wl_work_rate *w);

/* "570 of 1000 steps"; NULL: not known. */
const char *wl_work_rate_text(const struct wl_work_rate *w, struct wl_arena *a);

/* What the share that is done now has cost so far. */
void wl_work_rate_add(struct wl_work_rate *w, const double cost[WL_WORK_COSTS]);

/* The cost of the whole work: so far, and the rest at the rate between the first point and the last one, so that the
 * start of the job is not taken for its rate. The interval is that of a ratio over the pieces between points, with the
 * scatter of pieces to come. */
struct wl_work_forecast wl_work_rate_forecast(const struct wl_work_rate *w, enum wl_work_cost cost);

#endif
