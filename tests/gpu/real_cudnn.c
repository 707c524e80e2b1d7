#include "real_cudnn.h"

#include <dlfcn.h>

/* AddressSanitizer opens libraries in the caller's place, so cuDNN does not find its own, which are beside it. */
#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

/* The loader may find the fake one, whose folder is the test's. */
static bool is_fake(void)
{
    void *found = dlopen("libcudnn.so.9", RTLD_LAZY | RTLD_NOLOAD);
    const bool fake = found && dlsym(found, "wattlaw_simulated");
    if (found) dlclose(found);
    return fake;
}

bool cudnn_is_installed(const char *libcuda, struct wl_err *e)
{
    if (SANITIZED) return wl_fail(e, WL_EUNAVAIL, "cuDNN does not load under AddressSanitizer"), false;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_gpu_dnn *d;
    if (!dlopen(libcuda, RTLD_NOW | RTLD_GLOBAL)) wl_log(WL_WARN, "test", "%s", dlerror());
    int rc = wl_gpu_dnn_describe(&d, "{}", a, e);
    if (rc != WL_EUNAVAIL && is_fake()) rc = wl_fail(e, WL_EUNAVAIL, "no cuDNN but that of the tests");
    wl_arena_free(a);
    return rc != WL_EUNAVAIL;
}

int describe_gpu(struct wl_gpu_dnn **out, const char *fixtures, const char *gpu, struct wl_arena *a, struct wl_err *e)
{
    char *json;
    size_t n;
    int rc = wl_file_read(wl_strf(a, "%s/%s.json", fixtures, gpu), 1 << 20, &json, &n, a, e);
    return rc ? rc : wl_gpu_dnn_describe(out, json, a, e);
}
