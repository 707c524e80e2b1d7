#include "planner/parameters.h"

#include <math.h>
#include <string.h>

enum kind { MACHINE, FRAMEWORK, WORKLOAD };
enum transform { LOG, LOGIT, ABOVE_1 };

static const struct fact {
    enum kind kind;
    enum transform transform;
    size_t offset;
} facts[] = {
#define HOLDER_MACHINE   wl_planner_machine
#define HOLDER_FRAMEWORK wl_planner_framework
#define HOLDER_WORKLOAD  wl_planner_workload
#define PARAMETER(kind_, key, member, unit, transform_, sd, help) \
    { kind_, transform_, offsetof(struct HOLDER_##kind_, member) },
#include "planner/parameters.def"
#undef PARAMETER
};

const struct wl_planner_parameter_row wl_planner_parameter_rows[] = {
#define PARAMETER(kind, key_, member, unit_, transform, sd_, help_) \
    { .key = #key_, .unit = unit_, .sd = sd_, .help = help_ },
#include "planner/parameters.def"
#undef PARAMETER
};

static double forward(enum transform t, double x)
{
    switch (t) {
    case LOG: return log(x);
    case LOGIT: return log(x / (1 - x));
    case ABOVE_1: return log(x - 1);
    }
    return NAN;
}

static double inverse(enum transform t, double y)
{
    switch (t) {
    case LOG: return exp(y);
    case LOGIT: return 1 / (1 + exp(-y));
    case ABOVE_1: return 1 + exp(y);
    }
    return NAN;
}

double wl_planner_parameter_value(const struct wl_planner_parameter *p, double z)
{
    const enum transform t = facts[p->id].transform;
    return z == 0 ? p->median : inverse(t, forward(t, p->median) + p->sd * z);
}

double wl_planner_parameter_deviate(const struct wl_planner_parameter *p, double value)
{
    const enum transform t = facts[p->id].transform;
    return (forward(t, value) - forward(t, p->median)) / p->sd;
}

/* The section of a kind, as the start of its struct. */
static void *section_of(const struct wl_planner_plan *p, enum kind kind, size_t index)
{
    switch (kind) {
    case MACHINE: return &p->machines[index];
    case FRAMEWORK: return &p->frameworks[index];
    case WORKLOAD: return &p->workloads[index];
    }
    return NULL;
}

static double *member_of(const struct wl_planner_plan *p, enum wl_planner_parameter_id id, size_t index)
{
    return (double *)((char *)section_of(p, facts[id].kind, index) + facts[id].offset);
}

static bool is_of_power(enum wl_planner_parameter_id id)
{
    return id == WL_PLANNER_MACHINE_power_exponent || id == WL_PLANNER_MACHINE_spin_share ||
           id == WL_PLANNER_WORKLOAD_load;
}

static void add(struct wl_planner_parameters *ps, const struct wl_planner_plan *p, enum wl_planner_parameter_id id,
                size_t index, struct wl_arena *a)
{
    static const char *const kinds[] = { "machine", "framework", "workload" };
    const double value = *member_of(p, id, index);
    const char *name = *(const char *const *)section_of(p, facts[id].kind, index); /* the first member of each */
    if (!isfinite(forward(facts[id].transform, value))) return;
    double sd = isnan(p->prior_sd[id]) ? wl_planner_parameter_rows[id].sd : p->prior_sd[id];
    if (id == WL_PLANNER_WORKLOAD_step_time && !isnan(p->workloads[index].step_sd)) sd = p->workloads[index].step_sd;
    if (!(sd > 0)) return;
    WL_GROW(a, ps->v, ps->n, ps->cap);
    const char *section = wl_strf(a, "%s %s", kinds[facts[id].kind], name);
    ps->v[ps->n++] = (struct wl_planner_parameter) { id, section, index, value, sd };
}

struct wl_planner_parameters wl_planner_parameters_of(const struct wl_planner_plan *p, size_t machine, bool power,
                                                      struct wl_arena *a)
{
    struct wl_planner_parameters ps = { 0 };
    for (int id = 0; id < WL_PLANNER_PARAMETERS; id++) {
        const enum kind kind = facts[id].kind;
        if (!power && is_of_power((enum wl_planner_parameter_id)id)) continue;
        const size_t first = kind == MACHINE ? machine : 0, end = kind == MACHINE     ? machine + 1
                                                                  : kind == FRAMEWORK ? p->n_frameworks
                                                                                      : p->n_workloads;
        for (size_t i = first; i < end; i++) add(&ps, p, (enum wl_planner_parameter_id)id, i, a);
    }
    return ps;
}

struct wl_planner_plan *wl_planner_plan_copy(const struct wl_planner_plan *p, struct wl_arena *a)
{
    struct wl_planner_plan *copy = wl_new(a, struct wl_planner_plan);
    *copy = *p;
    copy->machines = wl_new_array(a, struct wl_planner_machine, p->n_machines);
    copy->frameworks = wl_new_array(a, struct wl_planner_framework, p->n_frameworks);
    copy->workloads = wl_new_array(a, struct wl_planner_workload, p->n_workloads);
    memcpy(copy->machines, p->machines, p->n_machines * sizeof *p->machines);
    memcpy(copy->frameworks, p->frameworks, p->n_frameworks * sizeof *p->frameworks);
    memcpy(copy->workloads, p->workloads, p->n_workloads * sizeof *p->workloads);
    for (size_t i = 0; i < p->n_workloads; i++)
        copy->workloads[i].framework = &copy->frameworks[p->workloads[i].framework - p->frameworks];
    return copy;
}

void wl_planner_parameters_set(const struct wl_planner_parameters *ps, const double *z, struct wl_planner_plan *copy)
{
    for (size_t i = 0; i < ps->n; i++)
        *member_of(copy, ps->v[i].id, ps->v[i].index) = wl_planner_parameter_value(&ps->v[i], z[i]);
}
