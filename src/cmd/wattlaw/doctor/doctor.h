/* What `wattlaw doctor` finds on a machine, and how it is printed. */
#ifndef WL_CMD_WATTLAW_DOCTOR_DOCTOR_H
#define WL_CMD_WATTLAW_DOCTOR_DOCTOR_H

#include "base/base.h"
#include "cap/cap.h"
#include "power/power.h"

struct wl_doctor_machine {
    const char *host, *kernel, *cpu; /* "Linux 6.1.0-18-amd64 x86_64"; the CPU's model name */
    int cpus, usable_cpus;           /* online; of these, those that this process may run on */
    double memory_bytes;
    const char *job_cgroups, *no_cgroups; /* where jobs get their own cgroup; NULL: nowhere, and no_cgroups says why */
};

/* A program that wattlaw can start. */
struct wl_doctor_program {
    const char *name, *purpose, *fix;
    const char *path;    /* NULL: not found in PATH */
    const char *version; /* first line of --version; NULL: empty */
};

struct wl_doctor_caps {
    struct wl_cap_ability can[WL_CAP_KINDS];
    size_t left;          /* caps that crashed runs left set */
    const char *left_why; /* why `left` is unknown; NULL: it is known */
    const char *state_dir;
    struct wl_cap_service_state service;
};

/* Changes nothing. */
void wl_doctor_caps_find(struct wl_doctor_caps *c, const struct wl_cap_opts *opts, const struct wl_power_opts *power,
                         struct wl_arena *a);
void wl_doctor_caps_print(const struct wl_doctor_caps *c, struct wl_arena *a);
extern const char *const wl_doctor_cap_names[WL_CAP_KINDS];
void wl_doctor_caps_json(const struct wl_doctor_caps *c, struct wl_json *root);

/* What wattlaw-train needs on GPUs, part by part. */
struct wl_doctor_part {
    const char *name, *path;
    char version[24]; /* "13.1.0"; empty: not known */
    const char *why;  /* it does not serve, and what to install; NULL: it serves */
};
struct wl_doctor_gpu {
    char name[96];
    int capability;                  /* 90: 9.0; 0: not known */
    double memory_bytes, free_bytes; /* NAN: not known */
    bool has_kernels;                /* machine code or PTX that serve it, if the kernels are there */
};
enum { WL_DOCTOR_PARTS = 6 }; /* the driver, four libraries, the kernels */
struct wl_doctor_training {
    struct wl_doctor_part part[WL_DOCTOR_PARTS];
    struct wl_strs targets; /* of the kernels: "sm_90", "compute_90" */
    const struct wl_doctor_gpu *gpus;
    int n_gpus;
    const char *no_gpus; /* why there are none, though the driver is there; NULL: there are, or no driver */
};

/* Opens the driver (`library` as in wl_cuda_open), a context of each GPU for its free memory, and the libraries. */
void wl_doctor_training_find(struct wl_doctor_training *t, const char *library, struct wl_arena *a);
void wl_doctor_training_print(const struct wl_doctor_training *t, struct wl_arena *a);
void wl_doctor_training_json(const struct wl_doctor_training *t, struct wl_json *root);

/* All findings, complete before anything is printed. */
struct wl_doctor_findings {
    struct wl_doctor_machine machine;
    struct wl_doctor_caps caps;
    struct wl_doctor_training training;
    const struct wl_doctor_program *programs;
    size_t n_programs;
    const struct wl_sensors *sensors;
    double *latest; /* [channel], NAN: no good reading */
    struct wl_channel_stats *channels;
    struct wl_sampler_stats sampler;
    struct wl_strs notes; /* what the sensors noticed while they were sampled */
    double sampled_s;
    const char *basis; /* where the energy of a run comes from, NULL: nowhere */
};

/* Print all findings to stdout; or on one screen what can be measured and capped, and how to enable the rest. */
void wl_doctor_print(const struct wl_doctor_findings *f, bool all, struct wl_arena *a);
void wl_doctor_print_short(const struct wl_doctor_findings *f, struct wl_arena *a);
void wl_doctor_print_json(const struct wl_doctor_findings *f, struct wl_arena *a);

/* The highest allowed rate at which reading takes at most half of the time. */
double wl_doctor_highest_rate_hz(const struct wl_sensor_info *info);
double wl_doctor_cpu_share_pct(const struct wl_doctor_findings *f); /* of the sampler, of one core; NAN: not sampled */

struct wl_doctor_calibration {
    const char *cuda_library;
    bool asked, force;
};

/* Calibrates the GPU `device` (index, UUID or UUID prefix, PCI address), or each visible one (NULL); saves and prints
 * the results. WL_EUSAGE: no such GPU; codes of wl_gpus_open and wl_calibrate. */
int wl_doctor_calibrate(const struct wl_doctor_calibration *o, const struct wl_power_opts *power, const char *device,
                        bool json, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

void wl_doctor_machine_read(struct wl_doctor_machine *m, struct wl_arena *a);

/* The programs in a fixed order; returns how many. */
size_t wl_doctor_programs_find(const struct wl_doctor_program **list, struct wl_arena *a);

#endif
