/* The keys of a plan file; those of machines and workloads are in machine_keys.c and workload_keys.c. */
#include "planner/plan.h"

#include "planner/internal.h"
#include "planner/parameters.h"

#include <stddef.h>

#define KEY(type_, field_) .type = type_, .offset = offsetof(struct SECTION, field_)

#define SECTION wl_planner_plan
static const struct wl_opt plan_rows[] = {
    { .name = "name", KEY(WL_STR, name), .help = "name of the plan (default: name of the file)" },
    { .name = "workers",
      KEY(WL_INTS, workers),
      .min = 1,
      .max = 10000000,
      .help = "worker counts to plan for (default: --at, or workers of each workload)" },
    { .name = "power-caps",
      KEY(WL_REALS, power_caps),
      .min = 1,
      .max = 100000,
      .unit = "W",
      .help = "power caps of a device to plan for, besides none (default: none)" },
    { .name = "clocks",
      KEY(WL_REALS, clocks),
      .min = 1,
      .max = 100000,
      .unit = "MHz",
      .help = "clock locks of a device to plan for, besides none (default: none)" },
    { .name = "epochs", KEY(WL_INT, epochs), .def = "1", .min = 1, .max = 1e9, .help = "epochs of a training" },
    { .name = "calibrate",
      KEY(WL_STR, calibrate),
      .help = "store, campaign folder or CSV file with measurements to fit the constants to (default: none)" },
    { .name = "noise",
      KEY(WL_REAL, noise_sd),
      .def = "0.05",
      .min = 1e-4,
      .max = 1,
      .help = "median of the prior for the scatter of configurations about the model (sd of ln)" },
    { .name = "draws",
      KEY(WL_INT, draws),
      .def = "1000",
      .min = 100,
      .max = 1000000,
      .help = "samples of the posterior from which intervals are computed" },
    { .name = "seed", KEY(WL_INT, seed), .def = "1", .min = 0, .max = 1e9, .help = "seed of the samples" },
    WL_OPT_END,
};
#undef SECTION

#define SECTION wl_planner_framework
static const struct wl_opt framework_rows[] = {
    { .name = "epoch-overhead",
      KEY(WL_DURATION, epoch_s),
      .def = "0s",
      .min = 0,
      .max = 1e6,
      .unit = "s",
      .help = "time per epoch that does not depend on the workers: start of loaders, logging" },
    { .name = "negotiation",
      KEY(WL_DURATION, negotiation_s),
      .def = "0s",
      .min = 0,
      .max = 1,
      .unit = "s",
      .help = "time of the coordinator per tensor and worker in each update (Horovod); 0: none" },
    { .name = "bucket",
      KEY(WL_REAL, bucket_mb),
      .def = "25",
      .min = 1e-3,
      .max = 1e6,
      .unit = "MB",
      .help = "size of the buckets in which gradients are reduced" },
    WL_OPT_END,
};
#undef SECTION

static const struct wl_opt prior_rows[] = {
#define PARAMETER(kind, key, member, unit_, transform, sd, help_) \
    { .name = #key,                                               \
      .type = WL_REAL,                                            \
      .offset = WL_PLANNER_##kind##_##key * sizeof(double),       \
      .min = 0,                                                   \
      .max = 5,                                                   \
      .help = "sd of the prior in " #transform " for: " help_ " (default " #sd "; 0: the constant is exact)" },
#include "planner/parameters.def"
#undef PARAMETER
    WL_OPT_END,
};

static const struct wl_planner_key_table tables[] = {
    { "plan", "what to plan for, and from which measurements", plan_rows },
    { "machine NAME", "devices, nodes, network, storage and power; one section each", wl_planner_machine_keys },
    { "framework NAME", "what the training framework adds", framework_rows },
    { "workload NAME", "a network with its data", wl_planner_workload_keys },
    { "priors", "how uncertain the constants are before any measurement", prior_rows },
};

const struct wl_planner_key_table *wl_planner_keys(size_t *n)
{
    *n = WL_COUNT(tables);
    return tables;
}

const struct wl_opt *wl_planner_key_rows(const char *section)
{
    for (size_t i = 0; i < WL_COUNT(tables); i++)
        if (wl_str_eq(tables[i].section, section)) return tables[i].rows;
    return NULL;
}
