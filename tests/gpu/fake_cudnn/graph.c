/* Operation graphs: convolutions, additions, relu, gelu, sums by channel, and whether their tensors fit each other. */
#include "fake.h"

#include <string.h>

size_t fake_type_bytes(int type) { return type == CUDNN_DATA_FLOAT ? 4 : 2; }

int64_t fake_tensor_bytes(const struct tensor *t)
{
    return t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3] * (int64_t)fake_type_bytes(t->type);
}

/* Channels innermost, then columns, lines, samples, without gaps. */
static bool is_nhwc(const struct tensor *t)
{
    const int64_t *d = t->dims, *s = t->strides;
    return s[1] == 1 && s[3] == d[1] && s[2] == d[3] * s[3] && s[0] == d[2] * s[2];
}

static cudnnStatus_t read_tensor(const struct descriptor *d, struct tensor *t)
{
    const struct attribute *is_virtual = fake_attribute(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    t->id = fake_int(d, CUDNN_ATTR_TENSOR_UNIQUE_ID);
    t->type = fake_enum(d, CUDNN_ATTR_TENSOR_DATA_TYPE);
    t->alignment = fake_int(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    t->is_virtual = is_virtual && *(const bool *)is_virtual->v;
    memcpy(t->dims, fake_attribute(d, CUDNN_ATTR_TENSOR_DIMENSIONS)->v, sizeof t->dims);
    memcpy(t->strides, fake_attribute(d, CUDNN_ATTR_TENSOR_STRIDES)->v, sizeof t->strides);
    for (int i = 0; i < 4; i++)
        if (t->dims[i] < 1) return fake_fail(CUDNN_STATUS_BAD_PARAM, "tensor %d has no elements", (int)t->id);
    if (!is_nhwc(t)) return fake_fail(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "tensor %d is not NHWC", (int)t->id);
    if (t->type != CUDNN_DATA_FLOAT && t->type != CUDNN_DATA_BFLOAT16 && t->type != CUDNN_DATA_HALF)
        return fake_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "tensor %d has type %d", (int)t->id, t->type);
    return 0;
}

/* The tensor's index; -1: an error. */
static int index_of(struct graph *g, const struct descriptor *d, cudnnStatus_t *status)
{
    struct tensor t = { 0 };
    if (!*status) *status = read_tensor(d, &t);
    if (*status) return -1;
    for (int i = 0; i < g->n_tensors; i++) {
        if (g->tensors[i].id != t.id) continue;
        if (memcmp(&g->tensors[i], &t, sizeof t))
            *status = fake_fail(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "two tensors are called %d", (int)t.id);
        return i;
    }
    g->tensors[g->n_tensors] = t;
    return g->n_tensors++;
}

static bool has_dims(const struct tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return t->dims[0] == a && t->dims[1] == b && t->dims[2] == c && t->dims[3] == d;
}

static cudnnStatus_t check_convolution(const struct graph *g, const struct operation *o)
{
    const struct tensor *x = &g->tensors[o->x], *w = &g->tensors[o->w], *y = &g->tensors[o->y];
    int64_t p = (x->dims[2] + 2 * o->pad[0] - w->dims[2]) / o->stride[0] + 1;
    int64_t q = (x->dims[3] + 2 * o->pad[1] - w->dims[3]) / o->stride[1] + 1;
    if (!has_dims(y, x->dims[0], w->dims[0], p, q) || w->dims[1] != x->dims[1])
        return fake_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a convolution's tensors do not fit");
    if (x->type != CUDNN_DATA_FLOAT && x->dims[1] % 8)
        return fake_fail(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "%d channels of 16 bits are not a multiple of 8",
                         (int)x->dims[1]);
    return 0;
}

static cudnnStatus_t read_window(const struct descriptor *d, struct operation *o)
{
    const int64_t *dilation = fake_attribute(d, CUDNN_ATTR_CONVOLUTION_DILATIONS)->v;
    const void *pre = fake_attribute(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)->v;
    memcpy(o->pad, pre, sizeof o->pad);
    memcpy(o->stride, fake_attribute(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)->v, sizeof o->stride);
    if (memcmp(pre, fake_attribute(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)->v, sizeof o->pad))
        return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "padding differs before and after");
    if (dilation[0] != 1 || dilation[1] != 1) return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "dilation");
    if (fake_enum(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT ||
        fake_enum(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE) != CUDNN_CROSS_CORRELATION)
        return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "not a cross-correlation with sums in f32");
    return 0;
}

static cudnnStatus_t read_convolution(struct graph *g, struct operation *o, const struct descriptor *d, int window,
                                      int x, int w, int y)
{
    cudnnStatus_t status = read_window(fake_child(d, window, 0), o);
    o->x = index_of(g, fake_child(d, x, 0), &status);
    o->w = index_of(g, fake_child(d, w, 0), &status);
    o->y = index_of(g, fake_child(d, y, 0), &status);
    return status ? status : check_convolution(g, o);
}

static cudnnStatus_t read_pointwise(struct graph *g, struct operation *o, const struct descriptor *d)
{
    const struct descriptor *other = fake_child(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 0);
    cudnnStatus_t status = 0;
    o->mode = fake_enum(fake_child(d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 0), CUDNN_ATTR_POINTWISE_MODE);
    o->x = index_of(g, fake_child(d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 0), &status);
    o->extra = other ? index_of(g, other, &status) : -1;
    o->y = index_of(g, fake_child(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 0), &status);
    if (status) return status;
    const struct tensor *x = &g->tensors[o->x], *y = &g->tensors[o->y];
    if (o->mode != CUDNN_POINTWISE_ADD && o->mode != CUDNN_POINTWISE_RELU_FWD && o->mode != CUDNN_POINTWISE_GELU_FWD)
        return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "pointwise operations of mode %d", o->mode);
    if (memcmp(x->dims, y->dims, sizeof x->dims) || (other != NULL) != (o->mode == CUDNN_POINTWISE_ADD) ||
        (other && !has_dims(&g->tensors[o->extra], 1, x->dims[1], 1, 1)))
        return fake_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a pointwise operation's tensors do not fit");
    return 0;
}

static cudnnStatus_t read_sums(struct graph *g, struct operation *o, const struct descriptor *d)
{
    cudnnStatus_t status = 0;
    o->x = index_of(g, fake_child(d, CUDNN_ATTR_OPERATION_GENSTATS_XDESC, 0), &status);
    o->y = index_of(g, fake_child(d, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, 0), &status);
    o->extra = index_of(g, fake_child(d, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, 0), &status);
    if (status) return status;
    const int64_t channels = g->tensors[o->x].dims[1];
    if (!has_dims(&g->tensors[o->y], 1, channels, 1, 1) || !has_dims(&g->tensors[o->extra], 1, channels, 1, 1))
        return fake_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "sums are not by channel");
    return 0;
}

static cudnnStatus_t read_operation(struct graph *g, struct operation *o, const struct descriptor *d)
{
    *o = (struct operation) { .kind = d->kind, .x = -1, .w = -1, .y = -1, .extra = -1 };
    switch (d->kind) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        return read_convolution(g, o, d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        return read_convolution(g, o, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        return read_convolution(g, o, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: return read_pointwise(g, o, d);
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR: return read_sums(g, o, d);
    default: return fake_fail(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "descriptor %d is not an operation", d->kind);
    }
}

cudnnStatus_t fake_graph(const struct descriptor *d, struct graph *g)
{
    cudnnStatus_t status = 0;
    g->n_operations = (int)fake_attribute(d, CUDNN_ATTR_OPERATIONGRAPH_OPS)->n;
    for (int i = 0; i < g->n_operations && !status; i++)
        status = read_operation(g, &g->operations[i], fake_child(d, CUDNN_ATTR_OPERATIONGRAPH_OPS, i));
    return status;
}
