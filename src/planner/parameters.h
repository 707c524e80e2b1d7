/* Uncertain constants as a vector of standard normal deviates: z = (T(x) - T(median)) / sd, 0 at the plan's values. */
#ifndef WL_PLANNER_PARAMETERS_H
#define WL_PLANNER_PARAMETERS_H

#include "planner/plan.h"

enum wl_planner_parameter_id {
#define PARAMETER(kind, key, ...) WL_PLANNER_##kind##_##key,
#include "planner/parameters.def"
#undef PARAMETER
    WL_PLANNER_PARAMETERS
};

/* A row of parameters.def. */
struct wl_planner_parameter_row {
    const char *key, *unit, *help;
    double sd;
};
extern const struct wl_planner_parameter_row wl_planner_parameter_rows[];

/* One constant of one section. */
struct wl_planner_parameter {
    enum wl_planner_parameter_id id;
    const char *section; /* "machine supercloud" */
    size_t index;        /* of that section among those of its kind */
    double median, sd;   /* of the prior: the plan's value, in its unit; sd of the transformed value */
};
struct wl_planner_parameters {
    struct wl_planner_parameter *v;
    size_t n, cap;
};

/* The constants of the given machine (the others have their own) and of all frameworks and workloads that can vary.
 * `power`: those of the energy too. */
struct wl_planner_parameters wl_planner_parameters_of(const struct wl_planner_plan *p, size_t machine, bool power,
                                                      struct wl_arena *a);

/* A copy of the plan for values of the parameters: all machines, frameworks and workloads are new, the rest is shared.
 */
struct wl_planner_plan *wl_planner_plan_copy(const struct wl_planner_plan *p, struct wl_arena *a);

/* Sets the parameters of a copy from deviates z [n]. */
void wl_planner_parameters_set(const struct wl_planner_parameters *ps, const double *z, struct wl_planner_plan *copy);

/* The value at a deviate, in the parameter's unit, and its inverse. */
double wl_planner_parameter_value(const struct wl_planner_parameter *p, double z);
double wl_planner_parameter_deviate(const struct wl_planner_parameter *p, double value);

#endif
