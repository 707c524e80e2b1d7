#include "nn/gpu/ops/matrix.h"

#include "nn/gpu/blas/blas.h"

static struct wl_gpu_matrix matrix(struct wl_buf *b, int64_t rows, int64_t columns)
{
    return (struct wl_gpu_matrix) { .buf = b, .rows = rows, .columns = columns };
}

static struct wl_gpu_matrix transposed(struct wl_buf *b, int64_t rows, int64_t columns)
{
    return (struct wl_gpu_matrix) { .buf = b, .rows = rows, .columns = columns, .transposed = true };
}

/* A bias of 16 bits is what cublasLt adds to a result of 16 bits. */
int wl_gpu_matrix_forward(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_matrix_op *op,
                          struct wl_buf *x, struct wl_buf *y, struct wl_buf **w, struct wl_err *e)
{
    const struct wl_project_shape *v = &op->size;
    struct wl_buf *bias = NULL;
    int rc = wl_gpu_weights(p, n, op->weight, y->dtype, NULL, w, e);
    if (!rc && op->bias) rc = wl_gpu_weights(p, n, op->bias, y->dtype, NULL, &bias, e);
    if (rc) return rc;
    const struct wl_gpu_product product = {
        .a = matrix(x, v->m, v->f), .b = transposed(*w, v->k, v->f), .c = matrix(y, v->m, v->k), .bias = bias
    };
    return wl_gpu_product(p, n, "forward", WL_TRAIN | WL_EVAL, &product, e);
}

int wl_gpu_matrix_backward_weights(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_matrix_op *op,
                                   struct wl_buf *x, struct wl_buf *dy, struct wl_err *e)
{
    const struct wl_project_shape *v = &op->size;
    const struct wl_gpu_product product = { .a = transposed(dy, v->m, v->k),
                                            .b = matrix(x, v->m, v->f),
                                            .c = matrix(p->gradient[op->weight->id], v->k, v->f) };
    return wl_gpu_product(p, n, "backward weights", WL_TRAIN, &product, e);
}

int wl_gpu_matrix_backward_data(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_matrix_op *op,
                                const struct wl_gpu_matrix_data *d, struct wl_err *e)
{
    const struct wl_project_shape *v = &op->size;
    const struct wl_gpu_product product = {
        .a = matrix(d->dy, v->m, v->k), .b = matrix(d->w, v->k, v->f), .c = matrix(d->dx, v->m, v->f), .add = d->add
    };
    return wl_gpu_product(p, n, "backward data", WL_TRAIN, &product, e);
}
