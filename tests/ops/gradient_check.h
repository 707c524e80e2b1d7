/* The gradients that a plan computes, against finite differences of its values: in f32, through the back-end's rules,
 * for every input whose gradient is wanted and every parameter. finite_diff.h has kernels alone, in double. */
#ifndef WL_TESTS_OPS_GRADIENT_CHECK_H
#define WL_TESTS_OPS_GRADIENT_CHECK_H

#include "cases.h"

/* Fails the test where the derivative of y along a random direction of one of these tensors is another one than its
 * gradient says; `line` says how to repeat it. Returns how many tensors were checked. */
int check_gradients(const struct twin *t, const char *line);

#endif
