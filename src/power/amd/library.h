/* AMD GPUs through libamd_smi or, if that is missing or too old, librocm_smi64: the common subset of both. */
#ifndef WL_POWER_AMD_LIBRARY_H
#define WL_POWER_AMD_LIBRARY_H

#include "base/base.h"

struct wl_amd;

/* A value, or NAN and why (static text). NAN and NULL: the GPU does not have this metric. */
struct wl_amd_value {
    double value;
    const char *why;
};

enum wl_amd_metric {
    WL_AMD_POWER,       /* W, the instant value */
    WL_AMD_POWER_MEAN,  /* W, the driver's running mean, if there is no instant value */
    WL_AMD_ENERGY,      /* J: count x resolution */
    WL_AMD_UTIL,        /* % */
    WL_AMD_MEM_UTIL,    /* % */
    WL_AMD_CLOCK,       /* MHz; libamd_smi alone: librocm_smi64 changed that structure and kept its name */
    WL_AMD_MEM_CLOCK,   /* MHz; likewise */
    WL_AMD_MEM_USED,    /* B */
    WL_AMD_TEMPERATURE, /* degrees Celsius, the hottest spot */
    WL_AMD_MEM_TEMPERATURE
};

/* One GPU as the library lists it; each die of an MI250 is one. */
struct wl_amd_gpu {
    const char *name, *uuid, *bus_id;                  /* "AMD Instinct MI250X", "GPU-6a1b...", "00000000:c1:00.0" */
    uint64_t device_id;                                /* PCI: 0x7408 is the MI250X */
    double cap_w, cap_min_w, cap_max_w, cap_default_w; /* NAN: not known */
};

struct wl_amd {
    const char *path, *version;
    bool simulated;
    struct wl_amd_gpu *gpus;
    size_t n;
    struct wl_amd_value (*read)(const struct wl_amd *lib, size_t gpu, enum wl_amd_metric what);
    void *own; /* private to the library in use */
};

/* Each opens its library (path NULL: found by the loader) and lists the GPUs. WL_EUNAVAIL: no library or no GPU;
 * WL_ELIB, WL_EPERM with the library's reason. */
int wl_amd_smi_open(struct wl_amd *out, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_rocm_smi_open(struct wl_amd *out, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* "00000000:c1:00.0" from a BDF id as both libraries pack it: domain from bit 32, bus from 8, device from 3, function.
 */
const char *wl_amd_bus_id(uint64_t bdf, struct wl_arena *a);

#endif
