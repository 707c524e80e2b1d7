/* Step time, epoch time and energy of one workload on one machine in one setting.
 *
 *   t_epoch = S t_step + c_epoch + validation + checkpoint,  S = ceil(D / (b k R)), floor with drop_last
 *   t_step  = [x^p + t_in^p]^(1/p) + t_exposed + t_coord,  x = k t_gpu Emax(N) + k t_tensor + t_pipeline
 *   t_gpu   = t1 [mu + (1 - mu) f0/f],  t1 measured on one device, else a roofline; / (tensor stages)
 *   t_in    = max(b k R px / R_shared, b k g px / R_node)
 *   t_coord = kappa R tensors / stages
 *   R       = N / (tensor stages) replicas (layout.h); N of them in data-parallel training
 *   E       = N [Ps t_epoch + Pd u phi^g (busy + s_spin spin)] + nodes (P_host + P_network) t_epoch
 *
 * Whatever takes time linear in N per step takes a constant per epoch, since S falls as 1/N: Amdahl's serial share of
 * data-parallel training. A device that waits for others spins: it draws a share s_spin of the dynamic power.
 */
#ifndef WL_PLANNER_MODEL_H
#define WL_PLANNER_MODEL_H

#include "planner/device.h"
#include "planner/layout.h"
#include "planner/plan.h"

/* What is evaluated. */
struct wl_planner_case {
    const struct wl_planner_machine *machine;
    const struct wl_planner_framework *framework;
    const struct wl_planner_workload *workload;
    const struct wl_planner_machine *step_machine; /* where step_s was measured; NULL: on `machine` */
};

/* A workload of the plan on one of its machines. */
struct wl_planner_case wl_planner_case_of(const struct wl_planner_plan *p, size_t machine, size_t workload);

struct wl_planner_setting {
    double workers;
    double local_batch, accumulation, samples; /* NAN: the workload's */
    double cap_w, clock_mhz;                   /* NAN: none */
};

/* The workload's own batch, accumulation and samples, without cap and lock. */
struct wl_planner_setting wl_planner_setting_of(double workers);

/* Times in s. What needs a number that is missing is NAN. */
struct wl_planner_point {
    double nodes, replicas, global_batch, steps;
    /* of one step (update) */
    double device_s;                                     /* t_gpu of all micro-steps, mean of a device */
    double straggle_s, input_s, exposed_s, coordinate_s; /* added by stragglers, input, all-reduce, coordinator */
    double tensor_s, pipeline_s;                         /* added by all-reduces in layers; bubble and transfers */
    double step_s;
    /* of an epoch */
    double overhead_s; /* c_epoch, validation and checkpoint */
    double epoch_s;
    double busy; /* share of the epoch that a device computes */
    struct wl_planner_operation at;
    double power_w;  /* mean per worker, hosts and network included where given; NAN: unknown */
    double energy_j; /* of all workers, per epoch */
    double memory_b; /* of a device; NAN: unknown */
    bool fits;       /* memory and nodes suffice, as far as they are known */
};

struct wl_planner_point wl_planner_evaluate(const struct wl_planner_case *c, const struct wl_planner_setting *s);

/* The first number that is missing for the time (energy: for the energy) at this point, as "network_bandwidth of
 * [machine NAME]"; NULL: none is. */
const char *wl_planner_missing(const struct wl_planner_case *c, const struct wl_planner_setting *s, bool energy,
                               struct wl_arena *a);

/* Are the workers a multiple of tensor_parallel x pipeline_stages? Else all times are NAN. */
bool wl_planner_divides(const struct wl_planner_case *c, const struct wl_planner_setting *s);

/* Does an update take more samples than an epoch has? The step is padded (drop_last: there would be none at all), so
 * that further workers save nothing. */
bool wl_planner_exceeds_data(const struct wl_planner_case *c, const struct wl_planner_setting *s);

/* Seconds of one micro-step of `batch` samples at full clock on the case's machine. */
double wl_planner_device_step(const struct wl_planner_case *c, double batch);

/* The identity E2/E1 = (N2/N1) / S x (P2/P1) with S = t1/t2, whose sides come from different sums: the relative
 * difference, 0 but for rounding. */
double wl_planner_identity(const struct wl_planner_setting *s1, const struct wl_planner_point *p1,
                           const struct wl_planner_setting *s2, const struct wl_planner_point *p2);

/* Slope -beta and R2 of ln t on ln N over the points, as of published power laws; NAN below three. */
struct wl_planner_exponent {
    double beta, r2;
};
struct wl_planner_exponent wl_planner_exponent_of(const double *workers, const double *epoch_s, size_t n);

#endif
