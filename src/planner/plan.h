/* A plan file: machines, frameworks and workloads to plan for.
 *
 *     [plan]                       [machine supercloud]         [framework lightning]    [workload dimenet]
 *     name = frey2022              card = v100-pcie             epoch_overhead = 2s      framework = lightning
 *     workers = 2,4,8,16           network_bandwidth = 2.2                               samples = 110000
 *
 * Numbers that neither the file nor a card gives are NAN: what is planned from them is missing, and the plan says which
 * number would give it.
 */
#ifndef WL_PLANNER_PLAN_H
#define WL_PLANNER_PLAN_H

#include "planner/card.h"
#include "planner/collective.h"

/* [machine NAME]. Values that are NAN in the file come from the card. */
struct wl_planner_machine {
    const char *name;
    int line;
    const char *card_name, *collective;
    const struct wl_hardware_card *card; /* NULL: none */
    int64_t devices_per_node, max_nodes; /* 0: from the card; unlimited */
    double latency_s, network_gb_s, node_gb_s, storage_gb_s, node_input_gb_s;
    double straggler_cv, input_exponent;
    double idle_w, max_w, min_cap_w, clock_mhz, lowest_clock_mhz, power_exponent, spin_share;
    double host_w, network_w; /* per node; NAN: outside of the boundary of the energy */
    double flops_efficiency, memory_efficiency;
    double worker_hour_price, node_hour_price;
};

/* [framework NAME] */
struct wl_planner_framework {
    const char *name;
    int line;
    double epoch_s;       /* per epoch, whatever the workers */
    double negotiation_s; /* coordinator, per worker and tensor and update */
    double bucket_mb;     /* of gradients that are reduced together */
};

/* [workload NAME] */
struct wl_planner_workload {
    const char *name;
    int line;
    const char *card, *framework_name, *dtype, *sharding, *step_machine;
    const struct wl_planner_framework *framework;
    struct wl_ints workers; /* ascending, each once; those of [plan] where the section has none */
    int64_t accumulation;
    int64_t tensor_parallel, pipeline_stages, pipeline_chunks;
    bool drop_last;
    double samples, local_batch, validation_samples;
    double step_s, step_batch, step_sd; /* measured on one device at this local batch; sd of ln */
    double gflop, traffic_mb;           /* of a sample in training; of memory */
    double step_mb;                     /* of memory in each step, whatever the batch: parameters */
    double kernels, kernel_s;           /* launched in a step */
    double parameters, gradient_bytes, tensors, sample_kb, checkpoint_gb;
    double layers, activation_mb; /* of the network; between two layers, of a sample */
    double memory_share, load, active_w;
    double fixed_memory_gb, sample_memory_mb;
    double reference_exponent;
    const char *reference;
};

/* A section that the commands read by themselves: [site NAME]. */
struct wl_planner_sections {
    const struct wl_ini_section **v;
    size_t n, cap;
};

struct wl_planner_plan {
    const char *path, *name;
    struct wl_ints workers;
    struct wl_reals power_caps, clocks;
    int64_t epochs, seed, draws;
    const char *calibrate; /* store or CSV, from the folder of the plan; NULL: none */
    double noise_sd;       /* prior median of the scatter of configurations about the model, in ln */
    struct wl_planner_machine *machines;
    struct wl_planner_framework *frameworks;
    struct wl_planner_workload *workloads;
    size_t n_machines, n_frameworks, n_workloads;
    double *prior_sd; /* [WL_PLANNER_PARAMETERS]; NAN: that of parameters.def */
    struct wl_planner_sections sites;
};

/* Reads and completes a plan. `cards` is a folder of cards that come before the built-in ones (NULL: none). WL_EINVAL
 * names file:line, value and what was expected; unknown sections, keys, cards and names get "did you mean". */
int wl_planner_read(const char *path, const char *cards, struct wl_planner_plan *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;
int wl_planner_parse(const char *path, const char *text, const char *cards, struct wl_planner_plan *out,
                     struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* All keys of a plan file, by section, for --keys and the tests. */
struct wl_planner_key_table {
    const char *section, *help;
    const struct wl_opt *rows;
};
const struct wl_planner_key_table *wl_planner_keys(size_t *n);
const struct wl_opt *wl_planner_key_rows(const char *section); /* NULL: no such section */

/* Index by name, or -1. */
int wl_planner_machine_index(const struct wl_planner_plan *p, const char *name);
int wl_planner_workload_index(const struct wl_planner_plan *p, const char *name);

#endif
