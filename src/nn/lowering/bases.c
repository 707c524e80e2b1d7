/* The bases of distances and angles in DimeNet. */
#include "nn/lowering/rows.h"

static const struct wl_bessel_kernels *bessel_kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

static const struct wl_spherical_kernels *spherical_kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

static const struct wl_angular_kernels *angular_kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

static int bessel_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t rows = wl_rows_count(s, r, s->node->rows);
    bessel_kernels(s)->forward(&s->node->u.basis, rows, wl_rows_at(s, r, WL_ROWS_IN), wl_rows_at(s, r, WL_ROWS_PARAM),
                               wl_rows_at(s, r, WL_ROWS_OUT));
    return 0;
}

static int bessel_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t rows = wl_rows_count(s, r, s->node->rows);
    bessel_kernels(s)->backward(&s->node->u.basis, rows, wl_rows_at(s, r, WL_ROWS_IN), wl_rows_at(s, r, WL_ROWS_PARAM),
                                wl_rows_at(s, r, WL_ROWS_DOUT), wl_rows_at(s, r, WL_ROWS_DPARAM));
    return 0;
}

const struct wl_rows_op wl_rows_bessel_basis = { &wl_rows_uses_parameters, bessel_run, bessel_backward_run };

static int spherical_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t rows = wl_rows_count(s, r, s->node->rows);
    spherical_kernels(s)->forward(&s->node->u.basis, wl_rows_own(s)->table, rows, wl_rows_at(s, r, WL_ROWS_IN),
                                  wl_rows_at(s, r, WL_ROWS_OUT));
    return 0;
}

static int spherical_prepare(struct wl_program *p, const struct wl_node *n, const void **table, struct wl_err *e)
{
    (void)e;
    const struct wl_spherical_kernels *k = wl_rules_of(p, n)->kernels;
    *table = k->table(&n->u.basis, p->arena);
    return 0;
}

const struct wl_rows_op wl_rows_spherical_basis = { &wl_rows_uses_parameters, spherical_run,
                                                    .prepare = spherical_prepare };

static int angular_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t rows = wl_rows_count(s, r, s->node->rows);
    angular_kernels(s)->forward(s->node->u.basis.spherical, rows, wl_rows_at(s, r, WL_ROWS_IN),
                                wl_rows_at(s, r, WL_ROWS_OUT));
    return 0;
}

const struct wl_rows_op wl_rows_angular_basis = { &wl_rows_uses_parameters, angular_run };
