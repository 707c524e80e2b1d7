#include "cmd/wattlaw/prior.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Of the models of the response and the time, of that of the power of a worker (energy by parts), or of all. */
enum model { RESPONSE = 1, POWER = 2, BOTH = RESPONSE | POWER };

struct constant {
    const char *name;
    enum model model;
    size_t offset;
    bool count;      /* a size_t, else a double */
    double min, max; /* both ends included */
};
#define REAL(model, member, key, min, max)                                  \
    {                                                                       \
        key, model, offsetof(struct wl_hier_prior, member), false, min, max \
    }
#define COUNT(model, member, key, min, max)                                \
    {                                                                      \
        key, model, offsetof(struct wl_hier_prior, member), true, min, max \
    }
static const struct constant constants[] = {
    REAL(RESPONSE, tau, "tau", 1e-4, 10),
    REAL(BOTH, sigma, "sigma", 1e-4, 10),
    REAL(BOTH, tau_min, "tau_min", 1e-6, 1),
    REAL(BOTH, tau_max, "tau_max", 1e-3, 100),
    COUNT(BOTH, tau_nodes, "tau_nodes", 2, 200),
    COUNT(BOTH, sigma_nodes, "sigma_nodes", 2, 200),
    REAL(RESPONSE, exponent, "exponent", -2, 2),
    REAL(RESPONSE, exponent_sd, "exponent_sd", 1e-3, 10),
    REAL(BOTH, compute_share, "compute_share", 0.1, 100),
    REAL(RESPONSE, add_share, "add_share", 0.5, 100),
    REAL(BOTH, drift, "drift", 0, 100),
    COUNT(BOTH, two_shape_workers, "two_shape_workers", 2, 1000),
    REAL(RESPONSE, weight[WL_HIER_POWER], "power", 0, 1e6),
    REAL(RESPONSE, weight[WL_HIER_AMDAHL], "amdahl", 0, 1e6),
    REAL(RESPONSE, weight[WL_HIER_POWER_CONST], "power_const", 0, 1e6),
    REAL(RESPONSE, weight[WL_HIER_AMDAHL_LOG], "amdahl_log", 0, 1e6),
    REAL(RESPONSE, weight[WL_HIER_AMDAHL_LINEAR], "amdahl_linear", 0, 1e6),
    REAL(POWER, tau, "power_tau", 1e-4, 10),
    REAL(POWER, weight[WL_HIER_FLAT], "flat", 0, 1e6),
    REAL(POWER, weight[WL_HIER_SLOPE], "slope", 0, 1e6),
    REAL(POWER, weight[WL_HIER_IDLE], "idle", 0, 1e6),
};

static const struct constant *find(const char *item)
{
    for (size_t i = 0; i < WL_COUNT(constants); i++) {
        size_t n = strlen(constants[i].name);
        if (strncmp(item, constants[i].name, n) == 0 && item[n] == '=') return &constants[i];
    }
    return NULL;
}

static void store(const struct constant *c, double v, struct wl_hier_prior *prior)
{
    void *to = (char *)prior + c->offset;
    if (c->count)
        *(size_t *)to = (size_t)v;
    else
        *(double *)to = v;
}

static int set(const struct constant *c, const char *item, enum wl_law_response response, struct wl_prior *prior,
               struct wl_err *e)
{
    double v;
    if (wl_str_to_real(item + strlen(c->name) + 1, &v) || !(v >= c->min && v <= c->max) || (c->count && v != floor(v)))
        return wl_fail(e, WL_EUSAGE, "--prior %s: expected %s from %g to %g", item,
                       c->count ? "a whole number" : "a number", c->min, c->max);
    if (c->model == POWER && response != WL_LAW_ENERGY)
        return wl_fail(e, WL_EUSAGE, "--prior %s: %s is of the model of a worker's power, which energies alone need",
                       item, c->name);
    if (c->model & RESPONSE) store(c, v, &prior->response);
    if (c->model & RESPONSE) store(c, v, &prior->time);
    if (c->model & POWER) store(c, v, &prior->power);
    return 0;
}

int wl_prior_read(const struct wl_strs *items, enum wl_law_response response, struct wl_prior *prior, struct wl_err *e)
{
    *prior = (struct wl_prior) { response == WL_LAW_ENERGY ? wl_hier_energy_prior : wl_hier_time_prior,
                                 wl_hier_time_prior, wl_hier_power_prior };
    for (size_t i = 0; i < items->n; i++) {
        const struct constant *c = find(items->v[i]);
        if (!c)
            return wl_fail(
                e, WL_EUSAGE,
                "--prior %s: expected NAME=VALUE with a name of docs/reference/analysis.md, such as tau=0.02",
                items->v[i]);
        int rc = set(c, items->v[i], response, prior, e);
        if (rc) return rc;
    }
    const struct wl_hier_prior *p = &prior->response;
    if (p->tau_min >= p->tau_max)
        return wl_fail(e, WL_EUSAGE, "--prior tau_min=%g: expected less than tau_max = %g", p->tau_min, p->tau_max);
    return 0;
}

void wl_prior_json(const struct wl_prior *prior, struct wl_json *object)
{
    for (size_t i = 0; i < WL_COUNT(constants); i++) {
        const struct wl_hier_prior *of = constants[i].model & RESPONSE ? &prior->response : &prior->power;
        const void *from = (const char *)of + constants[i].offset;
        wl_json_add_number(object, constants[i].name,
                           constants[i].count ? (double)*(const size_t *)from : *(const double *)from);
    }
}
