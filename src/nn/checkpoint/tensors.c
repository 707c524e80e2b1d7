/* The list of tensors in the header of a checkpoint. */
#include "nn/checkpoint/internal.h"

static int bad(const struct wl_checkpoint *c, const char *name, const char *key, const struct wl_json *value,
               const char *expected, struct wl_arena *a, struct wl_err *e)
{
    return wl_fail(e, WL_EINVAL, "%s: tensor %s: %s is %s, expected %s", c->path, name, key,
                   value ? wl_json_text(value, 0, a) : "missing", expected);
}

static bool is_kind(const char *kind)
{
    static const enum wl_state_kind kinds[] = { WL_STATE_PARAM, WL_STATE_OPTIM, WL_STATE_STATISTIC };
    for (size_t i = 0; i < WL_COUNT(kinds); i++)
        if (wl_str_eq(kind, wl_checkpoint_kind(kinds[i]))) return true;
    return false;
}

/* The bytes of a tensor of these dimensions; -1: they are not dimensions, or more than a file can have. */
static int64_t bytes_of(const struct wl_json *dims)
{
    int64_t n = sizeof(float);
    if (!dims || wl_json_size(dims) > WL_MAX_DIMS) return -1;
    for (size_t i = 0; i < wl_json_size(dims); i++) {
        const int64_t d = wl_json_int(wl_json_at(dims, i), 0);
        if (d < 1 || __builtin_mul_overflow(n, d, &n) || n > INT64_MAX / 4) return -1;
    }
    return n;
}

/* Tensor t, which begins at *at; *at becomes its end. */
static int check_tensor(const struct wl_checkpoint *c, const struct wl_json *t, int64_t *at, struct wl_arena *a,
                        struct wl_err *e)
{
    const struct wl_json *kind = wl_json_get(t, "kind"), *dims = wl_json_get(t, "dims"),
                         *offset = wl_json_get(t, "offset");
    const char *name = wl_json_str(wl_json_get(t, "name"));
    if (!name) return bad(c, "without a name", "name", wl_json_get(t, "name"), "a text", a, e);
    if (!is_kind(wl_json_str(kind))) return bad(c, name, "kind", kind, "parameter, optimizer or statistic", a, e);
    const int64_t bytes = bytes_of(dims);
    if (bytes < 0) return bad(c, name, "dims", dims, "a list of sizes", a, e);
    if (wl_json_int(offset, -1) != *at)
        return bad(c, name, "offset", offset, wl_strf(a, "%lld, after the tensors before it", (long long)*at), a, e);
    return __builtin_add_overflow(*at, (int64_t)wl_checkpoint_padded((size_t)bytes), at)
               ? bad(c, name, "dims", dims, "a list of sizes", a, e)
               : 0;
}

int wl_checkpoint_check_tensors(const struct wl_checkpoint *c, int64_t data_bytes, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_json *tensors = wl_json_get(c->head, "tensors");
    int64_t at = 0;
    int rc = 0;
    for (size_t i = 0; i < wl_json_size(tensors) && !rc; i++) rc = check_tensor(c, wl_json_at(tensors, i), &at, a, e);
    if (rc || at == data_bytes) return rc;
    return wl_fail(e, WL_EINVAL, "%s has %lld bytes of tensors, expected %lld as its header lists them", c->path,
                   (long long)data_bytes, (long long)at);
}
