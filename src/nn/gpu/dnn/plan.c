/* Engines and plans: those that the heuristics recommend, one that is named, one from its JSON. */
#include "nn/gpu/dnn/internal.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CONFIGS = 64, MOST_SETTINGS = 64, MOST_NOTES = 32 };

/* ---- what an engine is ---- */

struct setting {
    int type;
    int64_t value;
};

/* `n` descriptors of a type, which GetAttribute fills. */
static cudnnBackendDescriptor_t *empty(struct wl_gpu_dnn_build *b, int type, int64_t n)
{
    cudnnBackendDescriptor_t *d = wl_new_array(b->arena, cudnnBackendDescriptor_t, (size_t)n);
    for (int64_t i = 0; i < n; i++) d[i] = wl_gpu_dnn_create(b, type);
    return d;
}

static cudnnBackendDescriptor_t engine_of(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t config)
{
    cudnnBackendDescriptor_t engine = wl_gpu_dnn_create(b, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    wl_gpu_dnn_get(b, config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
    return engine;
}

static bool has_note(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t engine, const bool *refused)
{
    int notes[MOST_NOTES] = { 0 };
    int64_t n =
        wl_gpu_dnn_get(b, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, notes);
    bool has = false;
    for (int64_t i = 0; i < n && i < MOST_NOTES; i++)
        has |= notes[i] >= 0 && notes[i] < CUDNN_NUMERICAL_NOTE_TYPE_COUNT && refused[notes[i]];
    return has;
}

/* Engines whose bits change from run to run never serve, nor those that sum in less than f32 or narrow what they read
 * to 16 bits. f32 is computed in f32, unless products of TF32 are allowed. */
static bool serves(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t config, const struct wl_gpu_conv *c,
                   const struct wl_gpu_dnn_limits *limits)
{
    const bool exact = c->type == WL_F32 && !c->tf32, direct = !limits->winograd;
    const bool refused[CUDNN_NUMERICAL_NOTE_TYPE_COUNT] = {
        [CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC] = true,
        [CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION] = true,
        [CUDNN_NUMERICAL_NOTE_TENSOR_CORE] = exact,
        [CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS] = true,
        [CUDNN_NUMERICAL_NOTE_FFT] = direct,
        [CUDNN_NUMERICAL_NOTE_WINOGRAD] = direct,
        [CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4] = direct,
        [CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6] = direct,
        [CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13] = direct,
    };
    return !has_note(b, engine_of(b, config), refused) && !b->rc;
}

static struct setting setting_of(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t choice)
{
    struct setting k = { 0 };
    wl_gpu_dnn_get(b, choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &k.type);
    wl_gpu_dnn_get(b, choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &k.value);
    return k;
}

/* "eng47_k2=4_k13=1" */
static const char *engine_text(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t config)
{
    struct wl_text t = WL_TEXT(b->arena);
    int64_t index = 0;
    wl_gpu_dnn_get(b, engine_of(b, config), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    wl_text_addf(&t, "eng%lld", (long long)index);
    cudnnBackendDescriptor_t *choices = empty(b, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, MOST_SETTINGS);
    int64_t n = wl_gpu_dnn_get(b, config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               MOST_SETTINGS, choices);
    for (int64_t i = 0; i < n && i < MOST_SETTINGS; i++) {
        const struct setting k = setting_of(b, choices[i]);
        wl_text_addf(&t, "_k%d=%lld", k.type, (long long)k.value);
    }
    return t.s;
}

/* ---- plans ---- */

static cudnnBackendDescriptor_t new_plan(struct wl_gpu_dnn_build *b)
{
    cudnnBackendDescriptor_t plan = wl_gpu_dnn_create(b, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    wl_gpu_dnn_set_device(b, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    return plan;
}

static int finish(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t plan, const char *engine,
                  struct wl_gpu_dnn_plan *out)
{
    *out = (struct wl_gpu_dnn_plan) { .dnn = b->dnn, .plan = plan, .engine = engine };
    wl_gpu_dnn_finalize(b, plan, "a plan");
    wl_gpu_dnn_get(b, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &out->workspace_bytes);
    return b->rc;
}

static int plan_of_config(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t config, struct wl_gpu_dnn_plan *out)
{
    cudnnBackendDescriptor_t plan = new_plan(b);
    wl_gpu_dnn_set_descriptor(b, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    return finish(b, plan, NULL, out);
}

/* ---- recommended ---- */

/* What plans are looked for, and those found so far. */
struct search {
    const struct wl_gpu_conv *conv;
    const struct wl_gpu_dnn_limits *limits;
    cudnnBackendDescriptor_t graph;
    struct wl_gpu_dnn_plan *found;
    size_t n;
};

/* Many configurations have no plan for the shape after all: not an error. */
static void consider(struct wl_gpu_dnn_build *b, struct search *s, cudnnBackendDescriptor_t config, bool fallback)
{
    struct wl_gpu_dnn_build attempt = { .dnn = b->dnn, .arena = b->arena };
    struct wl_gpu_dnn_plan *p = &s->found[s->n];
    if (!serves(&attempt, config, s->conv, s->limits) || plan_of_config(&attempt, config, p)) return;
    if (p->workspace_bytes > s->limits->workspace_bytes) return;
    p->engine = engine_text(&attempt, config);
    p->fallback = fallback;
    s->n += !attempt.rc;
}

/* Nothing in a mode that does not know the graph. */
static int64_t recommended(struct wl_gpu_dnn_build *b, const struct search *s, int mode,
                           cudnnBackendDescriptor_t *configs)
{
    struct wl_gpu_dnn_build attempt = { .dnn = b->dnn, .arena = b->arena };
    cudnnBackendDescriptor_t h = wl_gpu_dnn_create(&attempt, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    wl_gpu_dnn_set_descriptor(&attempt, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, s->graph);
    wl_gpu_dnn_set_one(&attempt, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (b->dnn->device) wl_gpu_dnn_set_descriptor(&attempt, h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, b->dnn->device);
    wl_gpu_dnn_finalize(&attempt, h, "heuristics");
    int64_t n = wl_gpu_dnn_get(&attempt, h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST_CONFIGS,
                               configs);
    return n < MOST_CONFIGS ? n : MOST_CONFIGS;
}

static void search_mode(struct wl_gpu_dnn_build *b, struct search *s, int mode, size_t most)
{
    cudnnBackendDescriptor_t *configs = empty(b, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, MOST_CONFIGS);
    if (b->rc) return;
    int64_t n = recommended(b, s, mode, configs);
    for (int64_t i = 0; i < n && s->n < most; i++) consider(b, s, configs[i], mode == CUDNN_HEUR_MODE_FALLBACK);
}

int wl_gpu_dnn_plans(const struct wl_gpu_dnn *d, const struct wl_gpu_conv *c, const struct wl_gpu_dnn_limits *limits,
                     size_t most, struct wl_gpu_dnn_plan *out, size_t *n, struct wl_arena *a, struct wl_err *e)
{
    struct wl_gpu_dnn_build b = { .dnn = d, .arena = a, .e = e };
    struct search s = { .conv = c, .limits = limits, .graph = wl_gpu_dnn_graph(&b, c), .found = out };
    search_mode(&b, &s, CUDNN_HEUR_MODE_A, most);
    if (!s.n && !limits->no_fallback) search_mode(&b, &s, CUDNN_HEUR_MODE_FALLBACK, most);
    *n = s.n;
    return b.rc;
}

/* ---- named ---- */

static bool parse_number(const char **s, const char *prefix, int64_t *out)
{
    if (!wl_str_starts(*s, prefix)) return false;
    char *end;
    const char *digits = *s + strlen(prefix);
    *out = strtoll(digits, &end, 10);
    *s = end;
    return end > digits;
}

/* Number of settings, -1: not an engine's name. */
static int64_t parse_engine(const char *s, int64_t *index, struct setting *settings)
{
    int64_t n = 0, type;
    if (!parse_number(&s, "eng", index)) return -1;
    for (; *s; n++) {
        if (n == MOST_SETTINGS || !parse_number(&s, "_k", &type)) return -1;
        settings[n].type = (int)type;
        if (!parse_number(&s, "=", &settings[n].value)) return -1;
    }
    return n;
}

static cudnnBackendDescriptor_t engine_by_index(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t graph,
                                                int64_t index)
{
    cudnnBackendDescriptor_t engine = wl_gpu_dnn_create(b, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    wl_gpu_dnn_set_descriptor(b, engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    wl_gpu_dnn_set_int64(b, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
    if (b->dnn->device) wl_gpu_dnn_set_descriptor(b, engine, CUDNN_ATTR_ENGINE_DEVICEPROP, b->dnn->device);
    wl_gpu_dnn_finalize(b, engine, "an engine");
    return engine;
}

static cudnnBackendDescriptor_t setting_choice(struct wl_gpu_dnn_build *b, const struct setting *k)
{
    cudnnBackendDescriptor_t d = wl_gpu_dnn_create(b, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    wl_gpu_dnn_set_one(b, d, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, k->type);
    wl_gpu_dnn_set_int64(b, d, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, k->value);
    wl_gpu_dnn_finalize(b, d, "a setting of an engine");
    return d;
}

static cudnnBackendDescriptor_t config_of(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t engine,
                                          const struct setting *settings, int64_t n)
{
    cudnnBackendDescriptor_t config = wl_gpu_dnn_create(b, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), choices[MOST_SETTINGS];
    for (int64_t i = 0; i < n; i++) choices[i] = setting_choice(b, &settings[i]);
    wl_gpu_dnn_set_descriptor(b, config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (n) wl_gpu_dnn_set(b, config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, choices);
    wl_gpu_dnn_finalize(b, config, "an engine's settings");
    return config;
}

int wl_gpu_dnn_plan_of(const struct wl_gpu_dnn *d, const struct wl_gpu_conv *c, const char *engine,
                       struct wl_gpu_dnn_plan *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_gpu_dnn_build b = { .dnn = d, .arena = a, .e = e };
    struct setting settings[MOST_SETTINGS];
    int64_t index, n = parse_engine(engine, &index, settings);
    if (n < 0) return wl_fail(e, WL_EINVAL, "'%s' is not an engine of cuDNN (expected eng47_k2=4)", engine);
    cudnnBackendDescriptor_t graph = wl_gpu_dnn_graph(&b, c);
    int rc = plan_of_config(&b, config_of(&b, engine_by_index(&b, graph, index), settings, n), out);
    out->engine = wl_strdup(a, engine);
    return rc;
}

int wl_gpu_dnn_plan_restore(const struct wl_gpu_dnn *d, const char *json, const char *engine,
                            struct wl_gpu_dnn_plan *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_gpu_dnn_build b = { .dnn = d, .arena = a, .e = e };
    cudnnBackendDescriptor_t plan = new_plan(&b);
    wl_gpu_dnn_set(&b, plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)strlen(json),
                   json);
    return finish(&b, plan, wl_strdup(a, engine), out);
}

int wl_gpu_dnn_plan_json(const struct wl_gpu_dnn_plan *p, char **json, struct wl_arena *a, struct wl_err *e)
{
    struct wl_gpu_dnn_build b = { .dnn = p->dnn, .arena = a, .e = e };
    *json = wl_gpu_dnn_text(&b, p->plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    return b.rc;
}

/* ---- running ---- */

int wl_gpu_dnn_pack(const struct wl_gpu_dnn *d, const struct wl_gpu_dnn_arg *args, size_t n, void *workspace,
                    cudnnBackendDescriptor_t *out, struct wl_arena *a, struct wl_err *e)
{
    enum { MOST_TENSORS = 8 };
    struct wl_gpu_dnn_build b = { .dnn = d, .arena = a, .e = e };
    int64_t ids[MOST_TENSORS];
    void *at[MOST_TENSORS];
    WL_CHECK(n <= MOST_TENSORS);
    for (size_t i = 0; i < n; i++) {
        ids[i] = args[i].tensor;
        at[i] = args[i].at;
    }
    *out = wl_gpu_dnn_create(&b, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    wl_gpu_dnn_set(&b, *out, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, (int64_t)n, ids);
    wl_gpu_dnn_set(&b, *out, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, (int64_t)n, at);
    wl_gpu_dnn_set(&b, *out, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    wl_gpu_dnn_finalize(&b, *out, "the tensors of a plan");
    return b.rc;
}

int wl_gpu_dnn_run(const struct wl_gpu_dnn_plan *p, cudnnBackendDescriptor_t pack, struct wl_err *e)
{
    cudnnStatus_t status = p->dnn->BackendExecute(p->dnn->handle, p->plan, pack);
    return status ? wl_gpu_dnn_fail(p->dnn, p->engine, status, e) : 0;
}
