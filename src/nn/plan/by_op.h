/* Where an optimizer step's time goes: each operation's beside its bound, from a few steps that were timed.
 *
 *     wl_plan_measure_peaks(plan, e);
 *     struct wl_by_op *t = wl_by_op_new(plan, rounds, a);
 *     for each round:  wl_by_op_begin(t);  one optimizer step of one micro-batch;  wl_by_op_end(t);
 *     wl_by_op_rows(t, false, &rows, a);
 */
#ifndef WL_NN_PLAN_BY_OP_H
#define WL_NN_PLAN_BY_OP_H

#include "base/base.h"
#include "nn/program/step_time.h"

struct wl_plan;
struct wl_by_op;

/* Of `rounds` optimizer steps at most; the first is dropped where there are others. The plan times its steps from now
 * on. */
struct wl_by_op *wl_by_op_new(struct wl_plan *p, size_t rounds, struct wl_arena *a);
void wl_by_op_begin(struct wl_by_op *t);
void wl_by_op_end(struct wl_by_op *t);

/* Steps of one class (operation, window of a convolution, pass, algorithm), or one step. Times are medians over the
 * rounds; of a class the sum of its steps' medians. */
struct wl_by_op_row {
    const char *class, *name, *kernel; /* name, kernel: NULL for a class of several steps */
    int steps;
    struct wl_step_time time;
    double flops;          /* direct: 2 x multiply-adds; NAN: they depend on the data's size */
    double computed_flops; /* those of the steps' algorithms */
    double bytes;          /* moved to and from memory */
    double bound_s;        /* no run is shorter; NAN: not known */
    bool bound_by_flops;   /* most of it */
};

struct wl_by_op_rows {
    struct wl_by_op_row *v; /* classes by time, single steps by the time above their bound, longest first */
    size_t n;
    struct wl_by_op_row total; /* of the rows */
    struct wl_step_time step;  /* median of whole steps: the rows and what is between them */
    bool by_processor_time;    /* shares and ratios: on one thread, where other processes only add to the wall clock */
};

void wl_by_op_rows(const struct wl_by_op *t, bool single, struct wl_by_op_rows *out, struct wl_arena *a);

/* The clock that shares, rates and ratios are of. */
double wl_by_op_seconds(const struct wl_by_op_rows *r, const struct wl_step_time *time);

/* As a table, `limit` rows at most (0: all) and the sum of all rows; and what is to be read above it: the ceilings that
 * bounds follow from ("" where none are known), the step's time and which clock counts. */
struct wl_table wl_by_op_table(const struct wl_by_op_rows *r, size_t limit, struct wl_arena *a);
const char *wl_by_op_ceilings(const struct wl_plan *p, struct wl_arena *a);
const char *wl_by_op_step(const struct wl_by_op_rows *r, struct wl_arena *a);
void wl_by_op_json(const struct wl_plan *p, const struct wl_by_op_rows *r, struct wl_json *o);

#endif
