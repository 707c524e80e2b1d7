#include "cuda/kernels_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *beside_binary(struct wl_arena *a)
{
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n < 0 ? 0 : n] = 0;
    return wl_path_join(a, wl_path_dir(a, path), "kernels.fatbin");
}

int wl_gpu_kernels_find(const char **out, struct wl_arena *a, struct wl_err *e)
{
    const char *named = getenv("WATTLAW_KERNELS");
    if (named && *named) {
        *out = named;
        return wl_is_file(named) ? 0 : wl_fail(e, WL_EUNAVAIL, "$WATTLAW_KERNELS: %s is not a file", named);
    }
    const char *const paths[] = { beside_binary(a), WL_GPU_KERNELS_DIR "/kernels.fatbin" };
    for (size_t i = 0; i < WL_COUNT(paths); i++)
        if (wl_is_file(paths[i])) return *out = paths[i], 0;
    return wl_fail(e, WL_EUNAVAIL,
                   "the kernels of back-end gpu are neither %s nor %s: build them where nvcc is (ninja kernels), "
                   "and name the file in WATTLAW_KERNELS",
                   paths[0], paths[1]);
}

/* ---- its images ---- */

#define FATBIN 0xba55ed50u

/* The head of a fatbin, as nvcc of CUDA 7 to 13 writes it: magic 0xba55ed50, version, bytes of the head, bytes after
 * it. What begins otherwise is one image: PTX, or a cubin. */
struct fatbin_head {
    uint32_t magic;
    uint16_t version, head_bytes;
    uint64_t bytes;
};

int wl_gpu_image_bytes(const uint8_t *at, size_t n, size_t *out, struct wl_err *e)
{
    struct fatbin_head h = { 0 };
    if (n >= sizeof h) memcpy(&h, at, sizeof h);
    *out = n;
    if (h.magic != FATBIN) return 0;
    if (h.bytes > n - sizeof h || h.head_bytes + h.bytes > n)
        return wl_fail(e, WL_EUNAVAIL, "cut off: %zu of %llu bytes of an image", n,
                       (unsigned long long)h.head_bytes + (unsigned long long)h.bytes);
    *out = h.head_bytes + (size_t)h.bytes;
    return 0;
}

/* The head of an entry of a fatbin: PTX or a cubin for one architecture. As nvcc of CUDA 11 to 13 writes it. */
struct entry_head {
    uint16_t kind, version;
    uint32_t head_bytes;
    uint64_t bytes;
    uint32_t compressed_bytes, unused;
    uint16_t minor, major;
    uint32_t architecture; /* 90 */
};
enum { PTX = 1, CUBIN = 2 };

static void add_target(struct wl_strs *list, const struct entry_head *h, struct wl_arena *a)
{
    if (h->kind != PTX && h->kind != CUBIN) return;
    const char *target = wl_strf(a, "%s_%u", h->kind == PTX ? "compute" : "sm", h->architecture);
    for (size_t i = 0; i < list->n; i++)
        if (wl_str_eq(list->v[i], target)) return;
    wl_strs_add(a, list, target);
}

static void add_targets(struct wl_strs *list, const uint8_t *at, size_t n, struct wl_arena *a)
{
    struct fatbin_head f;
    struct entry_head h;
    if (n < sizeof f) return;
    memcpy(&f, at, sizeof f);
    if (f.magic != FATBIN) return;
    for (size_t i = f.head_bytes; i <= n && n - i >= sizeof h;) {
        memcpy(&h, at + i, sizeof h);
        const size_t left = n - i;
        if (h.head_bytes < sizeof h || h.head_bytes > left || h.bytes > left - h.head_bytes) return;
        add_target(list, &h, a);
        i += h.head_bytes + (size_t)h.bytes;
    }
}

int wl_gpu_kernels_targets(const char *path, struct wl_strs *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *once = wl_arena_new(NULL);
    struct wl_file_mapping file;
    *out = (struct wl_strs) { 0 };
    int rc = wl_file_map(path, "the kernels", &file, once, e);
    for (size_t at = 0; !rc && at < file.n;) {
        size_t n;
        rc = wl_gpu_image_bytes(file.p + at, file.n - at, &n, e);
        if (rc) wl_err_prefix(e, "%s", path);
        if (!rc) add_targets(out, file.p + at, n, a);
        at += n;
    }
    wl_arena_free(once);
    return rc;
}
