#include "cmd/wattlaw/prior.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct constant {
    const char *name;
    size_t offset;
    bool count;      /* a size_t, else a double */
    double min, max; /* both ends included */
};
#define REAL(member, key, min, max)                                  \
    {                                                                \
        key, offsetof(struct wl_hier_prior, member), false, min, max \
    }
#define COUNT(member, key, min, max)                                \
    {                                                               \
        key, offsetof(struct wl_hier_prior, member), true, min, max \
    }
static const struct constant constants[] = {
    REAL(tau, "tau", 1e-4, 10),
    REAL(sigma, "sigma", 1e-4, 10),
    REAL(tau_min, "tau_min", 1e-6, 1),
    REAL(tau_max, "tau_max", 1e-3, 100),
    COUNT(tau_nodes, "tau_nodes", 2, 200),
    COUNT(sigma_nodes, "sigma_nodes", 2, 200),
    REAL(exponent, "exponent", -2, 2),
    REAL(exponent_sd, "exponent_sd", 1e-3, 10),
    REAL(compute_share, "compute_share", 0.1, 100),
    REAL(add_share, "add_share", 0.5, 100),
    REAL(drift, "drift", 0, 100),
    COUNT(two_shape_workers, "two_shape_workers", 2, 1000),
    REAL(weight[WL_HIER_POWER], "power", 0, 1e6),
    REAL(weight[WL_HIER_AMDAHL], "amdahl", 0, 1e6),
    REAL(weight[WL_HIER_POWER_CONST], "power_const", 0, 1e6),
    REAL(weight[WL_HIER_AMDAHL_LOG], "amdahl_log", 0, 1e6),
    REAL(weight[WL_HIER_AMDAHL_LINEAR], "amdahl_linear", 0, 1e6),
};

static const struct constant *find(const char *item)
{
    for (size_t i = 0; i < WL_COUNT(constants); i++) {
        size_t n = strlen(constants[i].name);
        if (strncmp(item, constants[i].name, n) == 0 && item[n] == '=') return &constants[i];
    }
    return NULL;
}

static int set(const struct constant *c, const char *item, struct wl_hier_prior *prior, struct wl_err *e)
{
    double v;
    if (wl_str_to_real(item + strlen(c->name) + 1, &v) || !(v >= c->min && v <= c->max) || (c->count && v != floor(v)))
        return wl_fail(e, WL_EUSAGE, "--prior %s: expected %s from %g to %g", item,
                       c->count ? "a whole number" : "a number", c->min, c->max);
    void *to = (char *)prior + c->offset;
    if (c->count)
        *(size_t *)to = (size_t)v;
    else
        *(double *)to = v;
    return 0;
}

int wl_prior_read(const struct wl_strs *items, struct wl_hier_prior *prior, struct wl_err *e)
{
    for (size_t i = 0; i < items->n; i++) {
        const struct constant *c = find(items->v[i]);
        if (!c)
            return wl_fail(
                e, WL_EUSAGE,
                "--prior %s: expected NAME=VALUE with a name of docs/reference/analysis.md, such as tau=0.02",
                items->v[i]);
        int rc = set(c, items->v[i], prior, e);
        if (rc) return rc;
    }
    if (prior->tau_min >= prior->tau_max)
        return wl_fail(e, WL_EUSAGE, "--prior tau_min=%g: expected less than tau_max = %g", prior->tau_min,
                       prior->tau_max);
    return 0;
}

void wl_prior_json(const struct wl_hier_prior *prior, struct wl_json *object)
{
    for (size_t i = 0; i < WL_COUNT(constants); i++) {
        const void *from = (const char *)prior + constants[i].offset;
        wl_json_add_number(object, constants[i].name,
                         constants[i].count ? (double)*(const size_t *)from : *(const double *)from);
    }
}
