/* The parameters of a plan from and to safetensors. */
#include "nn/checkpoint/safetensors.h"

#include <stdio.h>

/* ---- from a file ------------------------------------------------------------------------------------------------- */

static struct wl_safetensor *find(struct wl_safetensors *s, const char *parameter, const struct wl_param_naming *naming,
                                  struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    naming->names(parameter, &names, a);
    for (size_t k = 0; k < names.n; k++)
        for (size_t i = 0; i < s->n; i++)
            if (wl_str_eq(s->v[i].name, names.v[k])) return &s->v[i];
    return NULL;
}

static bool same_shape(const struct wl_safetensor *t, const struct wl_dims *d)
{
    bool same = t->dims == d->n;
    for (int i = 0; same && i < d->n; i++) same = t->dim[i] == d->d[i];
    return same;
}

static const char *shape_text(const struct wl_safetensor *t, struct wl_arena *a)
{
    struct wl_text text = WL_TEXT(a);
    for (int i = 0; i < t->dims; i++) wl_text_addf(&text, "%s%lld", i ? "," : "", (long long)t->dim[i]);
    return wl_strf(a, "[%s]", text.s);
}

static int take(const struct wl_safetensors *s, struct wl_safetensor *t, struct wl_plan *plan, size_t i,
                struct wl_arena *a, struct wl_err *e)
{
    const struct wl_state state = wl_plan_state(plan, i);
    if (!same_shape(t, &state.dims))
        return wl_fail(e, WL_EINVAL, "%s: %s is %s there and %s in this network", s->path, t->name, shape_text(t, a),
                       wl_dims_text(a, &state.dims));
    float *x = wl_try_alloc(a, t->count * sizeof *x, 64, t->name, e);
    if (!x) return WL_ENOMEM;
    int rc = wl_safetensors_read(s, t, x, e);
    t->used = true;
    return rc ? rc : wl_plan_state_write(plan, i, x, e);
}

/* "a, b, c and 7 more" */
static const char *some(const struct wl_strs *names, struct wl_arena *a)
{
    enum { SHOWN = 6 };
    struct wl_text text = WL_TEXT(a);
    for (size_t i = 0; i < names->n && i < SHOWN; i++) wl_text_addf(&text, "%s%s", i ? ", " : "", names->v[i]);
    if (names->n > SHOWN) wl_text_addf(&text, " and %zu more", names->n - SHOWN);
    return text.s;
}

static void report(const struct wl_safetensors *s, const struct wl_strs *missing, const struct wl_param_naming *naming,
                   struct wl_arena *a)
{
    struct wl_strs unexpected = { 0 };
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].used && !naming->ignored(s->v[i].name)) wl_strs_add(a, &unexpected, s->v[i].name);
    if (missing->n)
        wl_log(WL_WARN, "train", "%s lacks %zu parameters, which keep their first values: %s", s->path, missing->n,
               some(missing, a));
    if (unexpected.n)
        wl_log(WL_INFO, "train", "%s has %zu tensors that this network has no use for: %s", s->path, unexpected.n,
               some(&unexpected, a));
}

int wl_safetensors_load(struct wl_safetensors *s, struct wl_plan *plan, const struct wl_param_naming *naming,
                        bool verbose, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs missing = { 0 };
    size_t parameters = 0;
    for (size_t i = 0; i < wl_plan_state_count(plan); i++) {
        const struct wl_state state = wl_plan_state(plan, i);
        if (state.kind != WL_STATE_PARAM) continue;
        struct wl_arena *once = wl_arena_new(a);
        struct wl_safetensor *t = find(s, state.name, naming, once);
        int rc = t ? take(s, t, plan, i, once, e) : 0;
        wl_arena_free(once);
        if (rc) return rc;
        if (!t) wl_strs_add(a, &missing, state.name);
        parameters++;
    }
    if (missing.n == parameters)
        return wl_fail(e, WL_EINVAL, "%s: none of its %zu tensors is of this network; expected %s and the like",
                       s->path, s->n, some(&missing, a));
    if (verbose) report(s, &missing, naming, a);
    return 0;
}

/* ---- to a file --------------------------------------------------------------------------------------------------- */

/* The header: tensors in the plan's order. Trailing blanks align the data. */
static const char *header(const struct wl_plan *plan, uint64_t *length, struct wl_arena *a)
{
    struct wl_json *head = wl_json_root_object(a);
    struct wl_text text = WL_TEXT(a);
    int64_t at = 0;
    wl_json_add_str(wl_json_add_object(head, "__metadata__"), "format", "pt"); /* what transformers asks for */
    for (size_t i = 0; i < wl_plan_state_count(plan); i++) {
        const struct wl_state s = wl_plan_state(plan, i);
        if (s.kind != WL_STATE_PARAM) continue;
        struct wl_json *t = wl_json_add_object(head, s.name);
        wl_json_add_str(t, "dtype", "F32");
        struct wl_json *shape = wl_json_add_array(t, "shape");
        for (int d = 0; d < s.dims.n; d++) wl_json_add_int(shape, NULL, s.dims.d[d]);
        struct wl_json *offsets = wl_json_add_array(t, "data_offsets");
        wl_json_add_int(offsets, NULL, at);
        wl_json_add_int(offsets, NULL, at += (int64_t)(s.count * sizeof(float)));
    }
    wl_text_add(&text, wl_json_text(head, 0, a));
    while (text.n % sizeof *length) wl_text_add(&text, " ");
    *length = text.n;
    return text.s;
}

static int write_bytes(FILE *f, const char *path, const void *p, size_t n, struct wl_err *e)
{
    return fwrite(p, 1, n, f) == n ? 0 : wl_fail_errno(e, "writing %s", path);
}

static int put_all(FILE *f, const char *path, struct wl_plan *plan, struct wl_arena *a, struct wl_err *e)
{
    uint64_t length;
    const char *head = header(plan, &length, a);
    int rc = write_bytes(f, path, &length, sizeof length, e);
    if (!rc) rc = write_bytes(f, path, head, length, e);
    for (size_t i = 0; !rc && i < wl_plan_state_count(plan); i++) {
        const struct wl_state s = wl_plan_state(plan, i);
        if (s.kind != WL_STATE_PARAM) continue;
        struct wl_arena *once = wl_arena_new(a);
        float *x = wl_try_alloc(once, s.count * sizeof *x, 64, s.name, e);
        rc = x ? wl_plan_state_read(plan, i, x, e) : WL_ENOMEM;
        if (!rc) rc = write_bytes(f, path, x, s.count * sizeof *x, e);
        wl_arena_free(once);
    }
    return rc;
}

int wl_safetensors_save(const char *path, struct wl_plan *plan, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_atomic_file to;
    int rc = wl_atomic_file_open(&to, path, WL_ATOMIC_FILE_USER, e);
    if (!rc && !wl_atomic_file_stream(&to)) rc = wl_fail_errno(e, "%s: cannot write", path);
    if (!rc) rc = put_all(to.stream, path, plan, scratch, e);
    wl_arena_free(scratch);
    if (!rc) return wl_atomic_file_commit(&to, e);
    wl_atomic_file_discard(&to);
    return rc;
}
