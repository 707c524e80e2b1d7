/* Options of the sensors and the sampler. */
#ifndef WL_POWER_OPTIONS_H
#define WL_POWER_OPTIONS_H

#include "base/base.h"

struct wl_power_opts {
    struct wl_strs sensors;         /* "auto", or names; a named sensor that cannot be read is an error */
    double rate_hz;                 /* samples a second */
    int64_t sampler_cpu;            /* that the sampler's threads are bound to; below 0: none */
    double wait_s;                  /* how long opening a sensor may take; 0: 30 s */
    double cpu_tdp_w;               /* cpu_model: full power of one package; NAN: from the table in cpu_model.c */
    double cpu_idle_w;              /* cpu_model: idle power of one package; NAN: a share of the full power */
    bool gpm;                       /* nvml: the profiling counters of Hopper GPUs and newer too */
    const char *replay_file;        /* replay: CSV t_s,device,quantity,value */
    const char *nvml_library;       /* NULL: $NVML_LIBRARY, then libnvidia-ml.so.1 */
    const char *amd_library;        /* NULL: libamd_smi.so, then librocm_smi64.so */
    const char *level_zero_library; /* NULL: libze_loader.so.1 */
    const char *calibration;        /* file of calibrations; NULL: where wl_calibration_path says */
    const char *root;               /* in front of /sys, /proc and /dev; "" is the machine itself */
    const char *visible;            /* the job's GPUs in the words of CUDA_VISIBLE_DEVICES; NULL: that variable's */
};

/* With texts of its own, for threads that may be given up. */
struct wl_power_opts wl_power_opts_copy(const struct wl_power_opts *o, struct wl_arena *a);
double wl_power_wait_s(const struct wl_power_opts *o); /* wait_s, or its default */

/* WL_EINVAL: the sampler is to be bound to a CPU that this process may not use. */
int wl_sampler_cpu_check(const struct wl_power_opts *o, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Rows for a struct that holds a struct wl_power_opts as member `at`. */
/* clang-format off */
#define WL_POWER_OPT_ROWS(holder, at)                                                                           \
    { .name = "sensors", .type = WL_STRS, .offset = offsetof(holder, at.sensors), .def = "auto",                  \
      .help = "sensors to read: auto, or names as doctor lists them" },                                         \
    { .name = "rate-hz", .type = WL_REAL, .offset = offsetof(holder, at.rate_hz), .def = "10",                    \
      .min = 0.01, .max = 1000, .unit = "Hz", .help = "samples a second of each sensor" },                      \
    { .name = "sampler-cpu", .type = WL_INT, .offset = offsetof(holder, at.sampler_cpu), .def = "-1",             \
      .min = -1, .max = CPU_SETSIZE - 1,                                                                        \
      .help = "CPU that everything wattlaw does beside the job is bound to; -1: none" },                        \
    { .name = "sensor-wait", .type = WL_DURATION, .offset = offsetof(holder, at.wait_s), .def = "30s",           \
      .min = 0.1, .max = 600, .unit = "s",                                                                      \
      .help = "leave out a sensor whose driver takes longer than this to answer at the start" },                \
    { .name = "cpu-tdp-w", .type = WL_REAL, .offset = offsetof(holder, at.cpu_tdp_w), .min = 1, .max = 10000,     \
      .unit = "W", .help = "full power of one CPU package, for the estimate of cpu_model" },                    \
    { .name = "cpu-idle-w", .type = WL_REAL, .offset = offsetof(holder, at.cpu_idle_w), .min = 0, .max = 10000,   \
      .unit = "W", .help = "idle power of one CPU package, for the estimate of cpu_model" },                    \
    { .name = "gpm", .type = WL_FLAG, .offset = offsetof(holder, at.gpm),                                         \
      .help = "read the profiling counters of Hopper GPUs and newer too" },                                       \
    { .name = "replay-file", .type = WL_STR, .offset = offsetof(holder, at.replay_file),                          \
      .help = "CSV t_s,device,quantity,value that the replay sensor plays" },                                   \
    { .name = "nvml-library", .type = WL_STR, .offset = offsetof(holder, at.nvml_library),                        \
      .help = "path of libnvidia-ml.so.1, when it is not where the loader looks" },                             \
    { .name = "amd-library", .type = WL_STR, .offset = offsetof(holder, at.amd_library),                          \
      .help = "path of libamd_smi.so or librocm_smi64.so" },                                                      \
    { .name = "level-zero-library", .type = WL_STR, .offset = offsetof(holder, at.level_zero_library),            \
      .help = "path of libze_loader.so.1" },                                                                      \
    { .name = "calibration", .type = WL_STR, .offset = offsetof(holder, at.calibration),                          \
      .help = "file of what doctor --calibrate found, when not calibration.ini where wattlaw keeps its state" },  \
    { .name = "sensor-root", .type = WL_STR, .offset = offsetof(holder, at.root), .def = "",                      \
      .help = "folder in front of /sys and /proc, for recorded trees" }
/* clang-format on */

#endif
