#include "nn/backends.h"

#include "nn/program/backend.h"

const struct wl_backend *const wl_backends[] = { &wl_backend_cpu, &wl_backend_ref, &wl_backend_boxed, &wl_backend_gpu,
                                                 NULL };

const struct wl_backend_row *wl_backend_row(size_t i)
{
    return i + 1 < WL_COUNT(wl_backends) ? &wl_backends[i]->row : NULL;
}

int wl_backend_find(const char *name, const struct wl_backend **out, struct wl_err *e)
{
    const char *names[8];
    size_t n = 0;
    for (const struct wl_backend *const *b = wl_backends; *b; b++) {
        if (n < WL_COUNT(names)) names[n++] = (*b)->row.name;
        if (name ? !wl_str_eq(name, (*b)->row.name) : (*b)->row.unavailable || (*b)->row.by_name) continue;
        if ((*b)->row.unavailable)
            return wl_fail(e, WL_EUNAVAIL, "back-end %s: %s", (*b)->row.name, (*b)->row.unavailable);
        *out = *b;
        return 0;
    }
    const char *near = wl_str_closest(name ? name : "", names, n);
    return wl_fail(e, WL_EINVAL, "back-end '%s' is not known%s%s%s", name ? name : "", near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

int wl_backend_precision(const char *name, enum wl_dtype precision, bool slow_bf16, struct wl_err *e)
{
    const struct wl_backend *backend = NULL;
    int rc = wl_backend_find(name, &backend, e);
    if (rc) return rc;
    if (precision == WL_I32) return wl_fail(e, WL_EINVAL, "precision is i32, expected f32, bf16 or f16");
    if (precision == WL_F16 && !backend->f16)
        return wl_fail(e, WL_EUNAVAIL, "back-end %s does not have f16; ref and gpu do", backend->row.name);
    return backend->precision ? backend->precision(precision, slow_bf16, e) : 0;
}

int wl_backend_tf32(const char *name, struct wl_err *e)
{
    const struct wl_backend *backend = NULL;
    int rc = wl_backend_find(name, &backend, e);
    if (rc || backend->tf32) return rc;
    return wl_fail(e, WL_EUNAVAIL, "back-end %s does not have tf32; gpu does", backend->row.name);
}

bool wl_backend_on_gpus(const char *name)
{
    const struct wl_backend *backend = NULL;
    return !wl_backend_find(name, &backend, NULL) && backend->row.gpus;
}

int wl_backend_locate(const char *name, int node_rank, struct wl_backend_device *out, struct wl_err *e)
{
    const struct wl_backend *backend = NULL;
    *out = (struct wl_backend_device) { .name = "" };
    int rc = wl_backend_find(name, &backend, e);
    return rc || !backend->locate ? rc : backend->locate(node_rank, out, e);
}
