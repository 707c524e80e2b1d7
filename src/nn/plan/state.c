#include "nn/plan/internal.h"

#include <math.h>

/* ---- first values ---- */

enum { INIT_RUN = 256 }; /* elements drawn at once, even */

/* Elements [first, first + n) of a tensor, n <= INIT_RUN. */
static void init_run(const struct wl_tensor *t, uint64_t seed, uint64_t stream, size_t first, size_t n, float *to)
{
    double normal[INIT_RUN];
    if (t->init.rule == WL_INIT_NORMAL) wl_random_normals(seed, stream, first, n, normal);
    for (size_t i = 0; i < n; i++) {
        switch (t->init.rule) {
        case WL_INIT_CONSTANT: to[i] = (float)t->init.scale; break;
        case WL_INIT_MULTIPLES: to[i] = (float)((double)(first + i + 1) * t->init.scale); break;
        case WL_INIT_NORMAL: to[i] = (float)(t->init.scale * normal[i]); break;
        case WL_INIT_UNIFORM:
            to[i] = (float)(t->init.scale * (2 * wl_random_uniform(seed, stream, first + i) - 1));
            break;
        }
    }
}

/* The states of a parameter or statistic: itself, or its parts, as their names, sizes and places in it. */
static int parts_of(const struct wl_tensor *t) { return t->n_parts ? t->n_parts : 1; }

static const char *part_name(const struct wl_tensor *t, int i) { return t->n_parts ? t->parts[i] : t->name; }

static size_t part_count(const struct wl_tensor *t) { return (size_t)(wl_dims_count(&t->dims) / parts_of(t)); }

static void init_part(const struct wl_tensor *t, uint64_t seed, int part, float *to)
{
    uint64_t stream = wl_hash_fnv1a(part_name(t, part));
    size_t n = part_count(t);
#pragma omp parallel for schedule(static)
    for (size_t at = 0; at < n; at += INIT_RUN)
        init_run(t, seed, stream, at, n - at < INIT_RUN ? n - at : INIT_RUN, to + at);
}

static void init_values(const struct wl_tensor *t, uint64_t seed, float *to)
{
    for (int i = 0; i < parts_of(t); i++) init_part(t, seed, i, to + (size_t)i * part_count(t));
}

static int read_buf(const struct wl_plan *p, const struct wl_buf *b, float *to, struct wl_err *e)
{
    if (b->layout || b->dtype != WL_F32) return p->program.backend->read(p->program.device, b, to, e);
    return p->ops->get(p->program.device, to, b->at, b->bytes, e);
}

static int write_buf(const struct wl_plan *p, const struct wl_buf *b, const float *from, struct wl_err *e)
{
    if (b->layout) return p->program.backend->write(p->program.device, b, from, e);
    return p->ops->put(p->program.device, b->at, from, b->bytes, e);
}

/* ---- the list ---- */

/* Part i of a parameter, or of an optimizer's memory of it, which begins at `whole`; suffix "": the parameter itself.
 */
static void add_state(struct wl_plan *p, const struct wl_tensor *t, int part, const char *suffix,
                      enum wl_state_kind kind, void *whole)
{
    const struct wl_buf *b = p->program.value[t->id];
    const size_t at = (size_t)part * part_count(t) * sizeof(float);
    WL_CHECK(!t->n_parts || !b->layout); /* else a part is not contiguous */
    struct wl_state *s = &p->states[p->n_states];
    struct wl_buf *buf = &p->state_bufs[p->n_states++];
    *s = (struct wl_state) { .kind = kind, .dims = t->dims, .count = part_count(t) };
    s->name = *suffix ? wl_strf(p->arena, "%s.%s", part_name(t, part), suffix) : part_name(t, part);
    s->dims.d[0] /= parts_of(t);
    *buf = *b;
    buf->bytes /= (size_t)parts_of(t);
    buf->offset += at;
    buf->at = (char *)whole + at;
}

static void list_states(struct wl_plan *p)
{
    const struct wl_graph *g = p->program.graph;
    int slots = p->program.train ? p->optim_ops->slots : 0;
    size_t most = 0;
    for (size_t i = 0; i < g->n_tensors; i++) most += (size_t)(parts_of(g->tensors[i]) * (1 + slots));
    p->states = wl_new_array(p->arena, struct wl_state, most);
    p->state_bufs = wl_new_array(p->arena, struct wl_buf, most);
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct wl_tensor *t = g->tensors[i];
        const struct wl_buf *b = p->program.value[i];
        if (t->role == WL_ROLE_STATISTIC) add_state(p, t, 0, "", WL_STATE_STATISTIC, b->at);
        for (int part = 0; t->role == WL_ROLE_PARAM && part < parts_of(t); part++) {
            add_state(p, t, part, "", WL_STATE_PARAM, b->at);
            for (int k = 0; k < slots; k++)
                add_state(p, t, part, p->optim_ops->slot_name[k], WL_STATE_OPTIM, (char *)p->slot[k] + b->offset);
        }
    }
}

int wl_plan_init_states(struct wl_plan *p, struct wl_err *e)
{
    list_states(p);
    struct wl_arena *scratch = wl_arena_new(NULL);
    const struct wl_graph *g = p->program.graph;
    int rc = 0;
    for (size_t i = 0; i < g->n_tensors && !rc; i++) {
        const struct wl_tensor *t = g->tensors[i];
        if (t->role != WL_ROLE_PARAM && t->role != WL_ROLE_STATISTIC) continue;
        size_t bytes = (size_t)wl_dims_count(&t->dims) * sizeof(float);
        float *values = wl_try_alloc(scratch, bytes, WL_ALIGN, t->name, e);
        if (!values) rc = WL_ENOMEM;
        if (rc) break;
        init_values(t, p->seed, values);
        rc = write_buf(p, p->program.value[i], values, e);
    }
    wl_arena_free(scratch);
    return rc;
}

size_t wl_plan_state_count(const struct wl_plan *p) { return p->n_states; }

struct wl_state wl_plan_state(const struct wl_plan *p, size_t i)
{
    WL_CHECK(i < p->n_states);
    return p->states[i];
}

int wl_plan_state_read(struct wl_plan *p, size_t i, float *to, struct wl_err *e)
{
    WL_CHECK(i < p->n_states);
    return read_buf(p, &p->state_bufs[i], to, e);
}

int wl_plan_state_write(struct wl_plan *p, size_t i, const float *from, struct wl_err *e)
{
    WL_CHECK(i < p->n_states);
    return write_buf(p, &p->state_bufs[i], from, e);
}

static void undo_scale(const struct wl_plan *p, float *gradient, size_t n)
{
    for (size_t i = 0; i < n; i++) gradient[i] /= p->gradient_scale;
}

int wl_plan_gradient_read(struct wl_plan *p, size_t i, float *to, struct wl_err *e)
{
    WL_CHECK(i < p->n_states);
    if (p->states[i].kind != WL_STATE_PARAM || !p->gradient)
        return wl_fail(e, WL_ENOENT, "%s has no gradient in this plan", p->states[i].name);
    struct wl_buf b = p->state_bufs[i];
    b.at = (char *)p->gradient + b.offset;
    int rc = read_buf(p, &b, to, e);
    if (!rc) undo_scale(p, to, p->states[i].count);
    return rc;
}

static int read_kept(struct wl_plan *p, const struct wl_tensor *t, const struct wl_buf *b, const char *what, float *to,
                     struct wl_err *e)
{
    if (!p->program.keep_values || !b || t->dtype != WL_F32)
        return wl_fail(e, WL_ENOENT, "%s: this plan keeps no %s of it", t->name, what);
    return read_buf(p, b, to, e);
}

int wl_plan_value(struct wl_plan *p, const struct wl_tensor *t, float *to, struct wl_err *e)
{
    return read_kept(p, t, p->program.value[t->id], "value", to, e);
}

int wl_plan_value_gradient(struct wl_plan *p, const struct wl_tensor *t, float *to, struct wl_err *e)
{
    int rc = read_kept(p, t, p->program.gradient[t->id], "gradient", to, e);
    if (!rc) undo_scale(p, to, (size_t)wl_dims_count(&t->dims));
    return rc;
}
