/* Engines. The heuristics recommend, in this order, one whose bits vary, one that has no plan after all, one that
 * narrows f32 to f16, one of tensor cores that wants too large a workspace, the same with a small one, and a plain one;
 * the fallback knows a slow one. Operations that are fused are served by the tensor cores alone; the weights' gradient
 * in f32 of 16-bit values by the plain one where kernels are 1x1, by the fallback elsewhere. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIES, BROKEN, TENSOR_CORES, PLAIN, SLOW, NARROWS, ENGINES };
enum { TILE = 2 /* the setting of TENSOR_CORES */, LARGE = 0, SMALL = 1 };

struct config {
    int64_t engine, tile;
};
static const struct config recommended[] = { { VARIES, -1 },          { BROKEN, -1 },          { NARROWS, -1 },
                                             { TENSOR_CORES, LARGE }, { TENSOR_CORES, SMALL }, { PLAIN, -1 } };
static const struct config fallback[] = { { VARIES, -1 }, { SLOW, -1 } };

/* The weights' gradient is wider than the values. */
static bool is_wide(const struct graph *g)
{
    const struct operation *o = g->operations;
    return o->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR &&
           g->tensors[o->w].type != g->tensors[o->x].type;
}

static bool is_point(const struct graph *g)
{
    const struct tensor *w = &g->tensors[g->operations->w];
    return w->dims[2] == 1 && w->dims[3] == 1;
}

static bool serves(int64_t engine, const struct graph *g)
{
    if (g->n_operations > 1) return engine == TENSOR_CORES || engine == VARIES;
    if (is_wide(g)) return engine == SLOW || engine == VARIES || (engine == PLAIN && is_point(g));
    if (engine == NARROWS) return g->tensors[g->operations->x].type == CUDNN_DATA_FLOAT;
    return engine >= 0 && engine < ENGINES;
}

static int64_t workspace_of(const struct config *c, const struct graph *g)
{
    if (c->engine == VARIES) return 16;
    if (c->engine != TENSOR_CORES) return 0;
    return c->tile == LARGE ? (int64_t)1 << 40 : fake_tensor_bytes(&g->tensors[g->operations->w]) + 131;
}

static struct plan *plan_of(const struct graph *g, const struct config *c)
{
    struct plan *p = calloc(1, sizeof *p);
    *p = (struct plan) { .graph = *g, .engine = c->engine, .tile = c->tile, .workspace = workspace_of(c, g) };
    p->tf32 = c->engine == TENSOR_CORES;
    return p;
}

/* ---- finalize ---- */

cudnnStatus_t fake_finalize_engine(struct descriptor *d)
{
    const struct graph *g = fake_child(d, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, 0)->resolved;
    const struct config c = { fake_int(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX), -1 };
    if (!serves(c.engine, g))
        return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "engine %d does not serve the graph", (int)c.engine);
    d->resolved = plan_of(g, &c);
    return 0;
}

cudnnStatus_t fake_finalize_config(struct descriptor *d)
{
    const struct plan *p = fake_child(d, CUDNN_ATTR_ENGINECFG_ENGINE, 0)->resolved;
    const struct descriptor *choice = fake_child(d, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, 0);
    struct config c = { p->engine, p->engine == TENSOR_CORES ? LARGE : -1 };
    if (choice) {
        c.tile = fake_int(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
        if (fake_enum(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE) != TILE || c.engine != TENSOR_CORES ||
            (c.tile != LARGE && c.tile != SMALL))
            return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "engine %d has no such setting", (int)c.engine);
    }
    d->resolved = plan_of(&p->graph, &c);
    return 0;
}

cudnnStatus_t fake_finalize_heuristics(struct descriptor *d)
{
    const int mode = fake_enum(d, CUDNN_ATTR_ENGINEHEUR_MODE);
    if (mode == CUDNN_HEUR_MODE_A || mode == CUDNN_HEUR_MODE_FALLBACK) return 0;
    return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "heuristics of mode %d", mode);
}

/* ---- a plan as JSON: its bytes ---- */

static const char before_bytes[] = "{\"library\":\"fake cuDNN\",\"plan\":\"", after_bytes[] = "\"}";

static size_t json_length(void) { return strlen(before_bytes) + 2 * sizeof(struct plan) + strlen(after_bytes); }

static void write_json(const struct plan *p, char *to)
{
    const unsigned char *bytes = (const unsigned char *)p;
    to += sprintf(to, "%s", before_bytes);
    for (size_t i = 0; i < sizeof *p; i++) to += sprintf(to, "%02x", bytes[i]);
    memcpy(to, after_bytes, strlen(after_bytes));
}

static cudnnStatus_t read_json(const struct attribute *json, struct plan **out)
{
    const char *text = json->v;
    const size_t head = strlen(before_bytes);
    if (json->n != (int64_t)json_length() || memcmp(text, before_bytes, head))
        return fake_fail(CUDNN_STATUS_BAD_PARAM, "not the JSON of a plan");
    unsigned char *bytes = calloc(1, sizeof **out);
    *out = (struct plan *)bytes;
    for (size_t i = 0; i < sizeof **out; i++) {
        unsigned byte = 0;
        sscanf(text + head + 2 * i, "%2x", &byte);
        bytes[i] = (unsigned char)byte;
    }
    return 0;
}

cudnnStatus_t fake_finalize_plan(struct descriptor *d)
{
    const struct descriptor *config = fake_child(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0);
    const struct attribute *json = fake_attribute(d, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    struct plan *p = NULL;
    if ((config != NULL) == (json != NULL))
        return fake_fail(CUDNN_STATUS_BAD_PARAM, "a plan is made from a configuration or from JSON");
    if (json) {
        cudnnStatus_t status = read_json(json, &p);
        d->resolved = p;
        return status;
    }
    const struct plan *c = config->resolved;
    const struct config same = { c->engine, c->tile };
    if (c->engine == BROKEN) return fake_fail(CUDNN_STATUS_NOT_SUPPORTED, "engine %d has no plan", BROKEN);
    d->resolved = plan_of(&c->graph, &same);
    return 0;
}

/* ---- what is computed ---- */

/* Fills a descriptor that the caller has made. */
static cudnnStatus_t fill(struct descriptor *d, int kind, const struct plan *p)
{
    if (d->kind != kind || d->finalized || d->n)
        return fake_fail(CUDNN_STATUS_BAD_PARAM, "a result needs a new descriptor of type %d", kind);
    const struct config c = { p->engine, p->tile };
    d->resolved = plan_of(&p->graph, &c);
    d->finalized = true;
    return 0;
}

static cudnnStatus_t results(const struct descriptor *d, int64_t room, int64_t *n, struct descriptor **v)
{
    const bool is_fallback = fake_enum(d, CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
    const struct config *list = is_fallback ? fallback : recommended;
    const size_t most = is_fallback ? sizeof fallback / sizeof *fallback : sizeof recommended / sizeof *recommended;
    const struct graph *g = fake_child(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 0)->resolved;
    cudnnStatus_t status = 0;
    *n = 0;
    for (size_t i = 0; i < most && !status; i++) {
        if (!serves(list[i].engine, g)) continue;
        struct plan *p = plan_of(g, &list[i]);
        if (*n < room) status = fill(v[*n], CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, p);
        (*n)++;
        free(p);
    }
    return status;
}

static cudnnStatus_t notes(const struct plan *p, int64_t room, int64_t *n, int *v)
{
    static const int of[ENGINES] = { [VARIES] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
                                     [TENSOR_CORES] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
                                     [NARROWS] = CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS };
    *n = p->engine == VARIES || p->engine == TENSOR_CORES || p->engine == NARROWS;
    if (*n && room) *v = of[p->engine];
    return 0;
}

static void *copy_of(const void *v, size_t bytes)
{
    void *copy = malloc(bytes);
    return memcpy(copy, v, bytes);
}

/* A finalized setting, with attributes as if they had been set. */
static cudnnStatus_t setting(const struct plan *p, int64_t room, int64_t *n, struct descriptor **v)
{
    const int type = TILE;
    *n = p->tile >= 0;
    if (!*n || !room) return 0;
    struct descriptor *d = v[0];
    if (d->kind != CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR || d->finalized)
        return fake_fail(CUDNN_STATUS_BAD_PARAM, "a result needs a new descriptor");
    d->v[0] =
        (struct attribute) { CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, copy_of(&type, sizeof type) };
    d->v[1] = (struct attribute) { CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1,
                                   copy_of(&p->tile, sizeof p->tile) };
    d->n = 2;
    d->finalized = true;
    return 0;
}

static cudnnStatus_t one(int64_t value, int64_t *n, int64_t *v)
{
    *n = 1;
    *v = value;
    return 0;
}

static cudnnStatus_t json(const struct plan *p, int64_t room, int64_t *n, char *v)
{
    *n = (int64_t)json_length();
    if (room >= *n) write_json(p, v);
    return 0;
}

cudnnStatus_t fake_get_computed(struct descriptor *d, int name, int64_t room, int64_t *n, void *v, bool *known)
{
    const struct plan *p = d->resolved;
    *known = true;
    switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: return results(d, room, n, v);
    case CUDNN_ATTR_ENGINECFG_ENGINE: *n = 1; return fill(*(struct descriptor **)v, CUDNN_BACKEND_ENGINE_DESCRIPTOR, p);
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES: return setting(p, room, n, v);
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX: return one(p->engine, n, v);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: return notes(p, room, n, v);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: return one(p->workspace, n, v);
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION: return json(p, room, n, v);
    default: *known = false; return 0;
    }
}
