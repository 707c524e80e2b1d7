/* The training engine: a static graph of tensors and operations, and a plan that runs it.
 *
 * A model builds a graph once, for one local batch size. A plan lowers it to one back-end: it chooses layouts,
 * gives every tensor a place in one arena by its lifetime and compiles one primitive per operation. Then
 *
 *     for each micro-batch m of M:    fill wl_plan_input(...);  wl_plan_train(plan, m == 0, m == M - 1, &counts, e);
 *     wl_plan_update(plan, lr, e);
 *
 * is one optimizer step over a global batch of ranks x local batch x M samples. Nothing is allocated in a step.
 *
 * Layouts in this interface are plain: row-major, images as [N,C,H,W], convolution weights as [K,C,R,S].
 */
#ifndef WL_NN_NN_H
#define WL_NN_NN_H

#include "nn/backends.h"
#include "nn/graph/build.h"
#include "nn/optim/lr_schedule.h"
#include "nn/plan/by_op.h"
#include "nn/plan/plan.h"

#endif
