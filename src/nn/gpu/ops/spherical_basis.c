#include "nn/gpu/kernels/bases.h"
#include "nn/gpu/ops/rows.h"

static const char *const kernels[] = { "spherical_basis", NULL };

/* The table of the step: its kernel, and the zeros with the rest of the kernel's arguments. */
struct prepared {
    struct wl_gpu_kernel kernel;
    struct wl_gpu_spherical args;
};

static int prepare(struct wl_program *p, const struct wl_node *n, const void **table, struct wl_err *e)
{
    const struct wl_basis *b = &n->u.basis;
    const int64_t functions = b->spherical * b->radial;
    struct prepared *to = wl_new(p->arena, struct prepared);
    if (functions > WL_GPU_SPHERICAL_FUNCTIONS)
        return wl_fail(e, WL_EINVAL, "%lld functions, back-end gpu has at most %d", (long long)functions,
                       WL_GPU_SPHERICAL_FUNCTIONS);
    const struct wl_bessel_zeros z = wl_bessel_zeros(b, p->arena);
    to->args = (struct wl_gpu_spherical) {
        .cutoff = b->cutoff, .radial = (int32_t)b->radial, .functions = (int32_t)functions, .power = b->power
    };
    for (int64_t i = 0; i < functions; i++) {
        to->args.zero[i] = z.zero[i];
        to->args.norm[i] = z.norm[i];
    }
    *table = to;
    return wl_gpu_kernel(wl_gpu_of(p), kernels[0], &to->kernel, e);
}

static int forward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct prepared *of = wl_rows_own(s)->table;
    struct wl_gpu_spherical a = of->args;
    a.rows = wl_rows_counts(s, r) + s->node->rows;
    a.distance = wl_rows_at(s, r, WL_ROWS_IN);
    a.y = wl_rows_at(s, r, WL_ROWS_OUT);
    const struct wl_gpu_grid grid = wl_gpu_rows_grid(s, wl_dims_count(&s->node->out->dims));
    return WL_GPU_LAUNCH(&of->kernel, &grid, &a, e);
}

static const struct wl_rows_op rows = { &wl_rows_uses_parameters, forward, .prepare = prepare };

const struct wl_op_rules wl_gpu_op_spherical_basis = { wl_lower_rows, .lowering = &rows, .kernels = kernels };
