/* The API: descriptors with attributes, each of a type and a count. */
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern FAKE_API const char wattlaw_simulated[];
const char wattlaw_simulated[] = "simulated";

static char last_error[512];

cudnnStatus_t fake_fail(cudnnStatus_t status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(last_error, sizeof last_error, fmt, ap);
    va_end(ap);
    return status;
}

/* ---- what attributes there are ---- */

struct rule {
    int kind, name, type;
    int64_t least, most; /* values; least 0: may be absent */
};

enum { DESCRIPTOR = CUDNN_TYPE_BACKEND_DESCRIPTOR, INT64 = CUDNN_TYPE_INT64, TYPE = CUDNN_TYPE_DATA_TYPE };

#define CONVOLUTION(kind, prefix, x, w, y)                                                               \
    { kind, prefix##_ALPHA, CUDNN_TYPE_DOUBLE, 1, 1 }, { kind, prefix##_BETA, CUDNN_TYPE_DOUBLE, 1, 1 }, \
        { kind, prefix##_CONV_DESC, DESCRIPTOR, 1, 1 }, { kind, prefix##_##x, DESCRIPTOR, 1, 1 },        \
        { kind, prefix##_##w, DESCRIPTOR, 1, 1 },                                                        \
    {                                                                                                    \
        kind, prefix##_##y, DESCRIPTOR, 1, 1                                                             \
    }

static const struct rule rules[] = {
    { CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, TYPE, 1, 1 },
    { CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, INT64, 4, 4 },
    { CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, INT64, 4, 4 },
    { CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, INT64, 1, 1 },
    { CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, INT64, 1, 1 },
    { CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 0, 1 },
    { CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, TYPE, 1, 1 },
    { CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1 },
    { CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, INT64, 1, 1 },
    { CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, INT64, 2, 2 },
    { CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, INT64, 2, 2 },
    { CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, INT64, 2, 2 },
    { CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, INT64, 2, 2 },
    CONVOLUTION(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD, X, W,
                Y),
    CONVOLUTION(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA,
                DX, W, DY),
    CONVOLUTION(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER, X, DW, DY),
    { CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1 },
    { CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, TYPE, 1, 1 },
    { CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DESCRIPTOR, 1, 1 },
    { CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, DESCRIPTOR, 1, 1 },
    { CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, DESCRIPTOR, 0, 1 },
    { CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, DESCRIPTOR, 1, 1 },
    { CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1,
      1 },
    { CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, TYPE, 1, 1 },
    { CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, CUDNN_ATTR_OPERATION_GENSTATS_XDESC, DESCRIPTOR, 1, 1 },
    { CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, DESCRIPTOR, 1, 1 },
    { CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, DESCRIPTOR, 1, 1 },
    { CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, DESCRIPTOR, 1, MOST_OPERATIONS },
    { CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1 },
    { CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, DESCRIPTOR, 1, 1 },
    { CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, INT64, 1, 1 },
    { CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, 1 },
    { CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, INT64, 1, 1 },
    { CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE, DESCRIPTOR, 1, 1 },
    { CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, DESCRIPTOR, 0, 1 },
    { CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DESCRIPTOR, 1, 1 },
    { CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1 },
    { CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1 },
    { CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DESCRIPTOR, 0, 1 },
    { CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0,
      1 << 20 },
    { CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, 1 },
    { CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, 1 << 16 },
    { CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, INT64, 1, MOST_TENSORS },
    { CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1,
      MOST_TENSORS },
    { CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1 },
};
enum { RULES = sizeof rules / sizeof *rules };

static const struct rule *rule_of(int kind, int name)
{
    for (size_t i = 0; i < RULES; i++)
        if (rules[i].kind == kind && rules[i].name == name) return &rules[i];
    return NULL;
}

static size_t bytes_of(int type)
{
    switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR: return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE: return 8;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void *);
    default: return sizeof(int);
    }
}

/* ---- attributes ---- */

const struct attribute *fake_attribute(const struct descriptor *d, int name)
{
    for (int i = 0; i < d->n; i++)
        if (d->v[i].name == name) return &d->v[i];
    return NULL;
}

int64_t fake_int(const struct descriptor *d, int name) { return *(const int64_t *)fake_attribute(d, name)->v; }
int fake_enum(const struct descriptor *d, int name) { return *(const int *)fake_attribute(d, name)->v; }

struct descriptor *fake_child(const struct descriptor *d, int name, int64_t i)
{
    const struct attribute *a = fake_attribute(d, name);
    return a && i < a->n ? ((struct descriptor **)a->v)[i] : NULL;
}

static cudnnStatus_t check_children(int name, int64_t n, struct descriptor *const *v)
{
    for (int64_t i = 0; i < n; i++)
        if (!v[i] || !v[i]->finalized)
            return fake_fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "attribute %d: descriptor %d is not finalized", name,
                             (int)i);
    return 0;
}

FAKE_API cudnnStatus_t cudnnBackendSetAttribute(void *, int, int, int64_t, const void *);
cudnnStatus_t cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t n, const void *v)
{
    struct descriptor *d = descriptor;
    const struct rule *r = rule_of(d->kind, name);
    if (d->finalized) return fake_fail(CUDNN_STATUS_BAD_PARAM, "attribute %d is set after finalize", name);
    if (!r) return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "descriptor %d has no attribute %d", d->kind, name);
    if (r->type != type)
        return fake_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d has type %d, not %d", name, r->type,
                         type);
    if (n < 1 || n < r->least || n > r->most || !v)
        return fake_fail(CUDNN_STATUS_BAD_PARAM, "attribute %d: %lld values", name, (long long)n);
    if (fake_attribute(d, name)) return fake_fail(CUDNN_STATUS_BAD_PARAM, "attribute %d is set twice", name);
    if (type == DESCRIPTOR && check_children(name, n, v)) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    struct attribute *a = &d->v[d->n++];
    *a = (struct attribute) { .name = name, .type = type, .n = n, .v = malloc((size_t)n * bytes_of(type)) };
    memcpy(a->v, v, (size_t)n * bytes_of(type));
    return 0;
}

FAKE_API cudnnStatus_t cudnnBackendGetAttribute(void *, int, int, int64_t, int64_t *, void *);
cudnnStatus_t cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t room, int64_t *n, void *v)
{
    struct descriptor *d = descriptor;
    bool known;
    (void)type;
    if (!d->finalized)
        return fake_fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "descriptor %d is read before finalize", d->kind);
    cudnnStatus_t status = fake_get_computed(d, name, room, n, v, &known);
    if (known) return status;
    const struct attribute *a = fake_attribute(d, name);
    if (!a) return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "descriptor %d has no attribute %d to read", d->kind, name);
    *n = a->n;
    memcpy(v, a->v, (size_t)(a->n < room ? a->n : room) * bytes_of(a->type));
    return 0;
}

/* ---- descriptors ---- */

FAKE_API cudnnStatus_t cudnnBackendCreateDescriptor(int, void **);
cudnnStatus_t cudnnBackendCreateDescriptor(int kind, void **out)
{
    bool known = false;
    for (size_t i = 0; i < RULES; i++) known |= rules[i].kind == kind;
    if (!known) return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "no descriptors of type %d", kind);
    struct descriptor *d = calloc(1, sizeof *d);
    d->kind = kind;
    *out = d;
    return 0;
}

FAKE_API cudnnStatus_t cudnnBackendDestroyDescriptor(void *);
cudnnStatus_t cudnnBackendDestroyDescriptor(void *descriptor)
{
    struct descriptor *d = descriptor;
    for (int i = 0; i < d->n; i++) free(d->v[i].v);
    free(d->resolved);
    free(d);
    return 0;
}

static cudnnStatus_t check_complete(const struct descriptor *d)
{
    for (size_t i = 0; i < RULES; i++)
        if (rules[i].kind == d->kind && rules[i].least && !fake_attribute(d, rules[i].name))
            return fake_fail(CUDNN_STATUS_BAD_PARAM, "descriptor %d lacks attribute %d", d->kind, rules[i].name);
    return 0;
}

/* Of the GPU of its handle. */
static cudnnStatus_t describe_device(struct descriptor *d)
{
    static const char json[] = "{\"deviceName\":\"fake\",\"deviceVer\":900}";
    const struct attribute a = { CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, sizeof json - 1,
                                 strdup(json) };
    d->v[d->n++] = a;
    return 0;
}

static cudnnStatus_t finalize_graph(struct descriptor *d)
{
    d->resolved = calloc(1, sizeof(struct graph));
    return fake_graph(d, d->resolved);
}

static cudnnStatus_t resolve(struct descriptor *d)
{
    switch (d->kind) {
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR: return describe_device(d);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return finalize_graph(d);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: return fake_finalize_engine(d);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: return fake_finalize_config(d);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: return fake_finalize_heuristics(d);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: return fake_finalize_plan(d);
    default: return 0;
    }
}

FAKE_API cudnnStatus_t cudnnBackendFinalize(void *);
cudnnStatus_t cudnnBackendFinalize(void *descriptor)
{
    struct descriptor *d = descriptor;
    cudnnStatus_t status = check_complete(d);
    if (!status) status = resolve(d);
    d->finalized = !status;
    return status;
}

/* ---- the library and its handle ---- */

struct cudnnContext {
    CUstream stream;
};

/* $WATTLAW_FAKE_CUDNN_VERSION; 9.28.1. */
FAKE_API size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void)
{
    const char *version = getenv("WATTLAW_FAKE_CUDNN_VERSION");
    return version ? (size_t)atoll(version) : 92801;
}

FAKE_API const char *cudnnGetErrorString(int);
const char *cudnnGetErrorString(int status)
{
#define NAME(name, value) \
    if (!strncmp(#name, "CUDNN_STATUS_", 13) && status == (value)) return #name;
    WL_DNN_CONSTANTS(NAME)
    return "CUDNN_STATUS_UNKNOWN";
}

FAKE_API void cudnnGetLastErrorString(char *, size_t);
void cudnnGetLastErrorString(char *text, size_t room) { snprintf(text, room, "%s", last_error); }

FAKE_API cudnnStatus_t cudnnCreate(struct cudnnContext **);
cudnnStatus_t cudnnCreate(struct cudnnContext **h)
{
    *h = calloc(1, sizeof **h);
    return 0;
}

FAKE_API cudnnStatus_t cudnnDestroy(struct cudnnContext *);
cudnnStatus_t cudnnDestroy(struct cudnnContext *h)
{
    free(h);
    return 0;
}

FAKE_API cudnnStatus_t cudnnSetStream(struct cudnnContext *, CUstream);
cudnnStatus_t cudnnSetStream(struct cudnnContext *h, CUstream s)
{
    h->stream = s;
    return 0;
}

FAKE_API cudnnStatus_t cudnnBackendExecute(struct cudnnContext *, void *, void *);
cudnnStatus_t cudnnBackendExecute(struct cudnnContext *h, void *plan, void *pack)
{
    const struct descriptor *p = plan, *v = pack;
    if (!p->finalized || !v->finalized) return fake_fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "execute");
    if (p->kind != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || v->kind != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        return fake_fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "execute");
    return fake_execute(h->stream, p->resolved, v);
}
