/* Options of the sensors and the sampler. */
#ifndef WL_POWER_OPTIONS_H
#define WL_POWER_OPTIONS_H

#include "base/base.h"

struct wl_power_opts {
    struct wl_strs sensors;         /* "auto", or names; a named sensor that cannot be read is an error */
    double rate_hz;                 /* samples per second */
    int64_t sampler_cpu;            /* CPU that the sampler's threads are bound to; below 0: none */
    double wait_s;                  /* timeout for opening a sensor; 0: 30 s */
    double cpu_tdp_w;               /* cpu_model: full power of one package; NAN: from the table in cpu_model.c */
    double cpu_idle_w;              /* cpu_model: idle power of one package; NAN: a quarter of the full power */
    bool gpm;                       /* nvml: read the profiling counters of Hopper GPUs and newer */
    const char *replay_file;        /* replay: CSV t_s,device,quantity,value */
    const char *nvml_library;       /* NULL: $NVML_LIBRARY, then libnvidia-ml.so.1 */
    const char *amd_library;        /* NULL: libamd_smi.so, then librocm_smi64.so */
    const char *level_zero_library; /* NULL: libze_loader.so.1 */
    const char *calibration;        /* calibration file; NULL: see wl_calibration_path */
    const char *root;               /* prefix of /sys, /proc and /dev; "": the machine itself */
    const char *visible;            /* the job's GPUs, as in CUDA_VISIBLE_DEVICES; NULL: that variable */
};

/* A deep copy, for threads that may be abandoned. */
struct wl_power_opts wl_power_opts_copy(const struct wl_power_opts *o, struct wl_arena *a);
double wl_power_wait_s(const struct wl_power_opts *o); /* wait_s, or its default */

/* WL_EINVAL: this process may not use o->sampler_cpu. */
int wl_sampler_cpu_check(const struct wl_power_opts *o, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Rows for a struct that holds a struct wl_power_opts as member `at`. */
/* clang-format off */
#define WL_POWER_OPT_ROWS(holder, at)                                                                           \
    { .name = "sensors", .type = WL_STRS, .offset = offsetof(holder, at.sensors), .def = "auto",                  \
      .help = "sensors to read: auto, or names that wattlaw doctor lists" },                                         \
    { .name = "rate-hz", .type = WL_REAL, .offset = offsetof(holder, at.rate_hz), .def = "10",                    \
      .min = 0.01, .max = 1000, .unit = "Hz", .help = "samples per second of each sensor" },                      \
    { .name = "sampler-cpu", .type = WL_INT, .offset = offsetof(holder, at.sampler_cpu), .def = "-1",             \
      .min = -1, .max = CPU_SETSIZE - 1,                                                                        \
      .help = "CPU to which wattlaw binds its own threads; -1: none" },                        \
    { .name = "sensor-wait", .type = WL_DURATION, .offset = offsetof(holder, at.wait_s), .def = "30s",           \
      .min = 0.1, .max = 600, .unit = "s",                                                                      \
      .help = "timeout for opening a sensor; one whose driver hangs is skipped" },                \
    { .name = "cpu-tdp-w", .type = WL_REAL, .offset = offsetof(holder, at.cpu_tdp_w), .min = 1, .max = 10000,     \
      .unit = "W", .help = "full power of one CPU package, for the cpu_model estimate (default: from the CPU model)" },                    \
    { .name = "cpu-idle-w", .type = WL_REAL, .offset = offsetof(holder, at.cpu_idle_w), .min = 0, .max = 10000,   \
      .unit = "W", .help = "idle power of one CPU package, for the cpu_model estimate (default: a quarter of full power)" },                    \
    { .name = "gpm", .type = WL_FLAG, .offset = offsetof(holder, at.gpm),                                         \
      .help = "read the profiling counters (GPM) of Hopper GPUs and newer, too (default no)" },                                       \
    { .name = "replay-file", .type = WL_STR, .offset = offsetof(holder, at.replay_file),                          \
      .unit = "FILE", .help = "recording for the replay sensor: CSV with t_s,device,quantity,value (default: none)" },                                   \
    { .name = "nvml-library", .type = WL_STR, .offset = offsetof(holder, at.nvml_library),                        \
      .unit = "FILE", .help = "path of libnvidia-ml.so.1 (default: found by the loader)" },                             \
    { .name = "amd-library", .type = WL_STR, .offset = offsetof(holder, at.amd_library),                          \
      .unit = "FILE", .help = "path of libamd_smi.so or librocm_smi64.so (default: found by the loader)" },                                                      \
    { .name = "level-zero-library", .type = WL_STR, .offset = offsetof(holder, at.level_zero_library),            \
      .unit = "FILE", .help = "path of libze_loader.so.1 (default: found by the loader)" },                                                                      \
    { .name = "calibration", .type = WL_STR, .offset = offsetof(holder, at.calibration),                          \
      .unit = "FILE", .help = "calibration file of doctor --calibrate (default: calibration.ini in wattlaw's state folder)" },  \
    { .name = "sensor-root", .type = WL_STR, .offset = offsetof(holder, at.root), .def = "",                      \
      .unit = "FOLDER", .help = "prefix of /sys, /proc and /dev, for reading a recorded tree (default: none)" }
/* clang-format on */

#endif
