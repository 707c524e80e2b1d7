/* The operation graph of a pass: one convolution, and the additions, relu, gelu and sums that are fused with it. */
#include "nn/gpu/dnn/internal.h"

enum { ALIGNMENT = 16 }; /* of every tensor in memory; plans place buffers at multiples of 256 bytes */

static int data_type(enum wl_dtype t)
{
    return t == WL_BF16 ? CUDNN_DATA_BFLOAT16 : t == WL_F16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
}

static bool is_virtual(int64_t id) { return id >= WL_GPU_DNN_VIRTUAL; }

/* [n,c,h,w], of which c is the innermost in memory. */
struct shape {
    int64_t n, c, h, w;
};

static cudnnBackendDescriptor_t tensor(struct wl_gpu_dnn_build *b, int64_t id, enum wl_dtype type, struct shape s)
{
    const int64_t dims[] = { s.n, s.c, s.h, s.w }, strides[] = { s.h * s.w * s.c, 1, s.w * s.c, s.c };
    const bool no_memory = is_virtual(id);
    cudnnBackendDescriptor_t d = wl_gpu_dnn_create(b, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    wl_gpu_dnn_set_one(b, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, data_type(type));
    wl_gpu_dnn_set(b, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
    wl_gpu_dnn_set(b, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
    wl_gpu_dnn_set_int64(b, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    wl_gpu_dnn_set_int64(b, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, ALIGNMENT);
    wl_gpu_dnn_set(b, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &no_memory);
    wl_gpu_dnn_finalize(b, d, "a tensor");
    return d;
}

static cudnnBackendDescriptor_t window(struct wl_gpu_dnn_build *b, const struct wl_window *v)
{
    const int64_t one[] = { 1, 1 };
    cudnnBackendDescriptor_t d = wl_gpu_dnn_create(b, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    wl_gpu_dnn_set_one(b, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    wl_gpu_dnn_set_one(b, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    wl_gpu_dnn_set_int64(b, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
    wl_gpu_dnn_set(b, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, one);
    wl_gpu_dnn_set(b, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, v->stride);
    wl_gpu_dnn_set(b, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, v->pad);
    wl_gpu_dnn_set(b, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, v->pad);
    wl_gpu_dnn_finalize(b, d, "a convolution");
    return d;
}

/* What the three passes call their tensors. */
struct names {
    int operation, x, w, y, window, alpha, beta;
};
static const struct names pass_names[] = {
    [WL_GPU_CONV_FORWARD] = { CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA },
    [WL_GPU_CONV_DATA] = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA },
    [WL_GPU_CONV_WEIGHTS] = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA },
};

static cudnnBackendDescriptor_t convolution(struct wl_gpu_dnn_build *b, const struct wl_gpu_conv *c,
                                            cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t w,
                                            cudnnBackendDescriptor_t y)
{
    const struct names *n = &pass_names[c->pass];
    const double one = 1, zero = 0;
    cudnnBackendDescriptor_t d = wl_gpu_dnn_create(b, n->operation);
    wl_gpu_dnn_set_descriptor(b, d, n->x, x);
    wl_gpu_dnn_set_descriptor(b, d, n->w, w);
    wl_gpu_dnn_set_descriptor(b, d, n->y, y);
    wl_gpu_dnn_set_descriptor(b, d, n->window, window(b, &c->window));
    wl_gpu_dnn_set(b, d, n->alpha, CUDNN_TYPE_DOUBLE, 1, &one);
    wl_gpu_dnn_set(b, d, n->beta, CUDNN_TYPE_DOUBLE, 1, &zero);
    wl_gpu_dnn_finalize(b, d, wl_gpu_conv_pass_name(c->pass));
    return d;
}

/* y = x + other, or a function of x alone where other is NULL. */
static cudnnBackendDescriptor_t pointwise(struct wl_gpu_dnn_build *b, int mode, cudnnBackendDescriptor_t x,
                                          cudnnBackendDescriptor_t other, cudnnBackendDescriptor_t y)
{
    cudnnBackendDescriptor_t kind = wl_gpu_dnn_create(b, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    wl_gpu_dnn_set_one(b, kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    wl_gpu_dnn_set_one(b, kind, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    wl_gpu_dnn_finalize(b, kind, "a pointwise operation");
    cudnnBackendDescriptor_t d = wl_gpu_dnn_create(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    wl_gpu_dnn_set_descriptor(b, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
    wl_gpu_dnn_set_descriptor(b, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (other) wl_gpu_dnn_set_descriptor(b, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, other);
    wl_gpu_dnn_set_descriptor(b, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    wl_gpu_dnn_finalize(b, d, "a pointwise operation");
    return d;
}

static cudnnBackendDescriptor_t channel_sums(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t y, int64_t channels)
{
    const struct shape by_channel = { 1, channels, 1, 1 };
    cudnnBackendDescriptor_t d = wl_gpu_dnn_create(b, CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
    wl_gpu_dnn_set_one(b, d, CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, CUDNN_GENSTATS_SUM_SQSUM);
    wl_gpu_dnn_set_one(b, d, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    wl_gpu_dnn_set_descriptor(b, d, CUDNN_ATTR_OPERATION_GENSTATS_XDESC, y);
    wl_gpu_dnn_set_descriptor(b, d, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC,
                              tensor(b, WL_GPU_DNN_SUM, WL_F32, by_channel));
    wl_gpu_dnn_set_descriptor(b, d, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC,
                              tensor(b, WL_GPU_DNN_SQUARES, WL_F32, by_channel));
    wl_gpu_dnn_finalize(b, d, "sums by channel");
    return d;
}

/* A result of the convolution or of what follows it: of the values' type where it is in memory, else f32. */
static cudnnBackendDescriptor_t result(struct wl_gpu_dnn_build *b, const struct wl_gpu_conv *c,
                                       enum wl_gpu_dnn_tensor id)
{
    const struct wl_window *v = &c->window;
    const struct shape y = { v->n, v->k, v->p, v->q };
    return is_virtual(id) ? tensor(b, id + b->virtual ++, WL_F32, y) : tensor(b, id, c->type, y);
}

/* What the bias is added to becomes this: y itself, unless another function follows. */
static enum wl_gpu_dnn_tensor biased(const struct wl_gpu_conv *c)
{
    return c->gelu ? WL_GPU_DNN_U : c->relu ? WL_GPU_DNN_VIRTUAL : WL_GPU_DNN_Y;
}

enum { MOST_OPERATIONS = 4 };

/* Forward: the convolution, then what is fused with it. */
static int64_t forward(struct wl_gpu_dnn_build *b, const struct wl_gpu_conv *c, cudnnBackendDescriptor_t x,
                       cudnnBackendDescriptor_t w, cudnnBackendDescriptor_t *operations)
{
    int64_t n = 0;
    cudnnBackendDescriptor_t y = result(b, c, c->bias ? WL_GPU_DNN_VIRTUAL : biased(c)), before;
    operations[n++] = convolution(b, c, x, w, y);
    if (c->bias) {
        const struct shape by_channel = { 1, c->window.k, 1, 1 };
        before = y;
        y = result(b, c, biased(c));
        operations[n++] = pointwise(b, CUDNN_POINTWISE_ADD, before, tensor(b, WL_GPU_DNN_BIAS, WL_F32, by_channel), y);
    }
    if (c->relu || c->gelu) {
        before = y;
        y = result(b, c, WL_GPU_DNN_Y);
        operations[n++] = pointwise(b, c->gelu ? CUDNN_POINTWISE_GELU_FWD : CUDNN_POINTWISE_RELU_FWD, before, NULL, y);
    }
    if (c->sums) operations[n++] = channel_sums(b, y, c->window.k);
    return n;
}

cudnnBackendDescriptor_t wl_gpu_dnn_graph(struct wl_gpu_dnn_build *b, const struct wl_gpu_conv *c)
{
    const struct wl_window *v = &c->window;
    const enum wl_dtype weights = c->pass == WL_GPU_CONV_WEIGHTS ? c->dw : c->type;
    cudnnBackendDescriptor_t operations[MOST_OPERATIONS], x, w;
    int64_t n = 1;
    x = tensor(b, WL_GPU_DNN_X, c->type, (struct shape) { v->n, v->c, v->h, v->w });
    w = tensor(b, WL_GPU_DNN_W, weights, (struct shape) { v->k, v->c, v->r, v->s });
    if (c->pass == WL_GPU_CONV_FORWARD)
        n = forward(b, c, x, w, operations);
    else
        operations[0] = convolution(b, c, x, w, result(b, c, WL_GPU_DNN_Y));
    cudnnBackendDescriptor_t graph = wl_gpu_dnn_create(b, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    wl_gpu_dnn_set(b, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, operations);
    if (b->dnn->handle)
        wl_gpu_dnn_set(b, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &b->dnn->handle);
    wl_gpu_dnn_finalize(b, graph, "an operation graph");
    return graph;
}

const char *wl_gpu_conv_pass_name(enum wl_gpu_conv_pass pass)
{
    static const char *const names[] = { [WL_GPU_CONV_FORWARD] = "forward",
                                         [WL_GPU_CONV_DATA] = "backward data",
                                         [WL_GPU_CONV_WEIGHTS] = "backward weights" };
    return names[pass];
}
