/* The GPUs that are measured: those that the driver lists, a cgroup does not block and CUDA_VISIBLE_DEVICES names. */
#include "power/nvml/library.h"
#include "power/visible_devices.h"

#include <stdlib.h>
#include <string.h>

static const char *bus_id(const struct wl_nvml *lib, nvmlDevice_t h, struct wl_arena *a)
{
    nvmlPciInfo_t pci = { 0 };
    if (lib->DeviceGetPciInfo_v3 && lib->DeviceGetPciInfo_v3(h, &pci) == NVML_SUCCESS) return wl_strdup(a, pci.busId);
    if (lib->DeviceGetPciInfo_v2 && lib->DeviceGetPciInfo_v2(h, &pci) == NVML_SUCCESS)
        return wl_strndup(a, pci.busIdLegacy, strnlen(pci.busIdLegacy, sizeof pci.busIdLegacy));
    return NULL;
}

/* The UUID of a MIG device's GPU; the word itself if it is not a MIG device or cannot be resolved. */
static const char *whole_gpu(const struct wl_nvml *lib, const char *word, struct wl_arena *a)
{
    nvmlDevice_t mig, gpu;
    char uuid[NVML_UUID_SIZE];
    if (wl_str_starts(word, "MIG-GPU-")) return wl_strndup(a, word + 4, strcspn(word + 4, "/"));
    if (!wl_str_starts(word, "MIG-") || !lib->DeviceGetHandleByUUID || !lib->DeviceGetDeviceHandleFromMigDeviceHandle)
        return word;
    if (lib->DeviceGetHandleByUUID(word, &mig) != NVML_SUCCESS) return word;
    if (lib->DeviceGetDeviceHandleFromMigDeviceHandle(mig, &gpu) != NVML_SUCCESS) return word;
    return lib->DeviceGetUUID(gpu, uuid, sizeof uuid) == NVML_SUCCESS ? wl_strdup(a, uuid) : word;
}

/* `visible`, else CUDA_VISIBLE_DEVICES, with MIG devices replaced by their GPUs; NULL: not set. */
static const char *visible_words(const struct wl_nvml *lib, const char *visible, bool *mig, struct wl_arena *a)
{
    const char *text = visible ? visible : getenv("CUDA_VISIBLE_DEVICES");
    *mig = false;
    if (!text) return NULL;
    struct wl_strs words = wl_str_split(a, text, ',');
    struct wl_text out = WL_TEXT(a);
    for (size_t i = 0; i < words.n; i++) {
        *mig |= wl_str_starts(words.v[i], "MIG-");
        wl_text_addf(&out, "%s%s", i > 0 ? "," : "", whole_gpu(lib, words.v[i], a));
    }
    return out.s;
}

/* The usable GPUs, in NVML's order. codes[count]: the driver's code for each GPU. */
static void list_all(const struct wl_nvml *lib, unsigned count, struct wl_nvml_gpus *out, struct wl_arena *a,
                     nvmlReturn_t *codes)
{
    for (unsigned i = 0; i < count; i++) {
        struct wl_nvml_gpu *g = &out->v[out->n];
        char uuid[NVML_UUID_SIZE], name[NVML_NAME_SIZE] = "GPU";
        nvmlReturn_t rc = lib->DeviceGetHandleByIndex(i, &g->handle);
        if (rc == NVML_SUCCESS) rc = lib->DeviceGetUUID(g->handle, uuid, sizeof uuid);
        codes[i] = rc;
        if (rc != NVML_SUCCESS) continue;
        if (lib->DeviceGetName(g->handle, name, sizeof name) != NVML_SUCCESS) memcpy(name, "GPU", sizeof "GPU");
        g->device = (struct wl_device) {
            .name = wl_strdup(a, name), .uuid = wl_strdup(a, uuid), .bus_id = bus_id(lib, g->handle, a), .index = (int)i
        };
        out->n++;
    }
}

static bool is_repeated_code(const nvmlReturn_t *codes, unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if (codes[k] == codes[i]) return true;
    return false;
}

/* "GPUs 0, 2 are left out: why; GPU 3 is left out: why", by NVML index; NULL: none. */
static const char *excluded_gpus(const nvmlReturn_t *codes, unsigned count, struct wl_arena *a)
{
    struct wl_text all = WL_TEXT(a);
    for (unsigned i = 0; i < count; i++) {
        if (codes[i] == NVML_SUCCESS || is_repeated_code(codes, i)) continue;
        struct wl_text numbers = WL_TEXT(a);
        size_t n = 0;
        for (unsigned k = i; k < count; k++)
            if (codes[k] == codes[i]) wl_text_addf(&numbers, "%s%u", n++ > 0 ? ", " : "", k);
        wl_text_addf(&all, "%sGPU%s %s left out: %s", all.n ? "; " : "", n > 1 ? "s" : "",
                     wl_strf(a, "%s %s", numbers.s, n > 1 ? "are" : "is"), wl_nvml_error_text(codes[i]));
    }
    return all.n ? all.s : NULL;
}

static bool all_alike(const struct wl_nvml_gpus *gpus)
{
    for (size_t i = 1; i < gpus->n; i++) {
        if (!wl_str_eq(gpus->v[i].device.name, gpus->v[0].device.name)) return false;
    }
    return true;
}

/* Drops the GPUs that CUDA_VISIBLE_DEVICES does not name; returns how many are left. */
static size_t keep_visible(struct wl_nvml_gpus *gpus, const char *words, bool *by_index, struct wl_arena *a)
{
    char **uuids = wl_new_array(a, char *, gpus->n);
    bool *keep = wl_new_array(a, bool, gpus->n);
    for (size_t i = 0; i < gpus->n; i++) uuids[i] = (char *)gpus->v[i].device.uuid;
    wl_visible_devices(words, uuids, gpus->n, keep, by_index);
    size_t kept = 0;
    for (size_t i = 0; i < gpus->n; i++) {
        if (keep[i]) gpus->v[kept++] = gpus->v[i];
    }
    return gpus->n = kept;
}

int wl_nvml_devices_all(const struct wl_nvml *lib, struct wl_nvml_gpus *out, struct wl_arena *a, struct wl_err *e)
{
    unsigned count = 0;
    nvmlReturn_t rc = lib->DeviceGetCount(&count);
    if (rc != NVML_SUCCESS) return wl_fail(e, WL_ELIB, "nvmlDeviceGetCount: %s", wl_nvml_error_text(rc));
    *out = (struct wl_nvml_gpus) { .v = wl_new_array(a, struct wl_nvml_gpu, count) };
    nvmlReturn_t *codes = wl_new_array(a, nvmlReturn_t, count);
    list_all(lib, count, out, a, codes);
    out->note = excluded_gpus(codes, count, a);
    if (out->n > 0) return 0;
    return wl_fail(e, WL_EUNAVAIL, "the driver lists %u GPUs, none of them usable: %s", count,
                   count ? wl_nvml_error_text(codes[count - 1]) : "no GPU");
}

/* A note on how the visible GPUs are named; NULL: none. */
static const char *note_of_names(bool mig, bool by_index, bool alike)
{
    if (mig) return "a MIG device is named: energy and power are those of its whole GPU, shared with other instances";
    if (by_index && !alike && !wl_str_eq(getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID"))
        return "CUDA_VISIBLE_DEVICES names GPUs of different models by index, whose order is CUDA's own; set "
               "CUDA_DEVICE_ORDER=PCI_BUS_ID or name them by UUID";
    return NULL;
}

int wl_nvml_devices_visible(const struct wl_nvml *lib, const char *visible, struct wl_nvml_gpus *out,
                            struct wl_arena *a, struct wl_err *e)
{
    int code = wl_nvml_devices_all(lib, out, a, e);
    if (code < 0) return code;
    bool mig, by_index, alike = all_alike(out);
    size_t usable = out->n;
    const char *words = visible_words(lib, visible, &mig, a);
    if (keep_visible(out, words, &by_index, a) == 0)
        return wl_fail(e, WL_EUNAVAIL, "CUDA_VISIBLE_DEVICES=%s names none of the %zu GPUs", words, usable);
    const char *names = note_of_names(mig, by_index, alike);
    if (names) out->note = out->note ? wl_strf(a, "%s; %s", names, out->note) : names;
    return 0;
}
