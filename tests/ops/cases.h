/* Random cases of operations, each a function of (operation, number): what they draw, how back-ends are held against
 * each other, and the program that runs all cases or one. */
#ifndef WL_TESTS_OPS_CASES_H
#define WL_TESTS_OPS_CASES_H

#include "backend_compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The numbers of one case. */
struct draw {
    uint64_t seed, number, i;
};
int64_t below(struct draw *d, int64_t n); /* 0 to n - 1 */
int64_t one_of(struct draw *d, const int64_t *v, int64_t n);

/* One batch forward and backward. These fail the test where something is wrong; `line` says how to repeat it. */
void train(struct wl_plan *p);
struct floats read_tensor(int (*read)(struct wl_plan *, const struct wl_tensor *, float *, struct wl_err *),
                          struct wl_plan *p, const struct wl_tensor *t, struct wl_arena *a);
void compare(const char *what, struct floats got, struct floats want, double nmse_limit, const char *line);
void same_bits(const char *what, struct floats x, struct floats y, const char *line);

/* The line that runs a case alone, "test_ops conv2d 7 bf16", with the shapes of its input (NULL: none) and result. */
char *repeat_line(struct wl_arena *a, const char *program, const char *op, uint64_t number, enum wl_dtype precision,
                  const struct wl_tensor *x, const struct wl_tensor *y);

struct cases {
    const void *ops; /* [n_ops] structs of `op_size` bytes that begin with a name */
    size_t n_ops, op_size;
    uint64_t each; /* cases of an operation, in f32 and in bf16 where the back-end cpu has it */
    void (*run)(const void *op, uint64_t number, enum wl_dtype precision);
    const struct CMUnitTest *others;
    size_t n_others;
};

/* main: all tests, or with OPERATION NUMBER [bf16] that case. */
int cases_main(const struct cases *c, int argc, char **argv);

#endif
