/* Random cases of the operations. A row of struct op_case gives everything that an operation is tested for: its
 * gradients in nn/ref against finite differences, and its values and gradients in a back-end against nn/ref, forward,
 * backward and in evaluation, with other numbers of threads and once more. Each case is a function of (operation,
 * number). */
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

/* A graph of one operation, called "op", and a plan of it. */
struct twin {
    struct wl_graph *g;
    struct wl_tensor *x, *y;  /* x NULL: there is no gradient by an input */
    struct wl_tensor *target; /* of the loss that is put on y; NULL: y is a loss itself */
    uint64_t number;
    bool front;            /* a convolution before the operation adds its rounding */
    int64_t rows;          /* of y that count, the others are padding; 0: all */
    int64_t s, vocabulary; /* what limits lengths, positions and tokens */
    struct wl_plan *plan;
};

struct op_case {
    const char *name;
    void (*build)(struct twin *t, struct draw *d); /* makes x and y in t->g */
    double tolerance, tolerance_bf16;              /* of values of cpu and ref, NMSE */
};

/* The operations of a family. */
struct op_family {
    const struct op_case *ops;
    size_t n_ops;
    uint64_t cases;                              /* of an operation, in f32 and in bf16 where the back-end cpu has it */
    void (*fill)(struct twin *t, uint64_t seed); /* (optional) indices; other inputs are filled before */
    /* (optional: nothing is promised) What numbers of two threads have in common with those of one. */
    void (*same_on_one_thread)(const char *what, struct floats two, struct floats one, const char *line);
};
extern const struct op_family image_ops, field_ops, sequence_ops, row_ops, loss_ops;

/* Case `number` of an operation of the family, filled. */
struct twin case_twin(const struct op_family *f, const struct op_case *op, uint64_t number, struct wl_plan_opts opts,
                      struct wl_arena *a);
const struct op_case *find_case(const struct op_family *f, const char *op); /* NULL: there is none */

/* One case: nn/ref against finite differences in f32; a back-end against nn/ref: cpu, with one and with two threads, or
 * gpu, with the threads of simulated kernels in three orders. A failure prints the line that repeats it. */
void run_gradient_case(const struct op_family *f, const struct op_case *op, uint64_t number);
void run_backend_case(const struct op_family *f, const struct op_case *op, uint64_t number, const char *backend,
                      enum wl_dtype precision);

/* A new input whose gradient is compared. */
struct wl_tensor *case_input(struct twin *t, const char *name, struct wl_dims dims);

/* Fills what a graph reads in "tokens", "lengths" and "positions". */
void fill_tokens(struct twin *t, uint64_t seed);

/* With AVX-512 no sum of a product is cut between threads; oneDNN's other products cut long ones. */
void products_on_one_thread(const char *what, struct floats two, struct floats one, const char *line);

/* One batch forward and backward. These fail the test where something is wrong; `line` says how to repeat it. */
void train(struct wl_plan *p);
struct floats read_tensor(int (*read)(struct wl_plan *, const struct wl_tensor *, float *, struct wl_err *),
                          struct wl_plan *p, const struct wl_tensor *t, struct wl_arena *a);
void compare(const char *what, struct floats got, struct floats want, double nmse_limit, const char *line);
void same_bits(const char *what, struct floats x, struct floats y, const char *line);

#endif
