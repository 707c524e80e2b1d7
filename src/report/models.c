#include "report/models.h"

enum { FAN_POINTS = 20 };
static const double no_families = 1; /* least weight of a family that gets its own line: none does */

struct job {
    const struct wl_law_result *law;
    bool thorough;
    struct wl_report_model *out; /* [law->n] */
    int *rc;
    struct wl_err *e;
};

static void model_of_group(void *ctx, size_t i, struct wl_arena *a)
{
    const struct job *j = ctx;
    const struct wl_law_group *group = &j->law->groups[i];
    const bool rejected = group->verdict == WL_LAW_REJECTED;
    struct wl_report_model *m = &j->out[i];
    if (!j->thorough && !rejected) return;
    j->rc[i] = wl_law_posterior(group, WL_LAW_TIME, NULL, false, &m->posterior, a, &j->e[i]);
    if (j->rc[i]) return;
    if (j->thorough) wl_law_curves_of_posterior(group, WL_LAW_TIME, &m->posterior, &m->curves, a);
    if (rejected && !m->posterior.refusal)
        m->fan = wl_law_fan(&m->posterior, group->configs[0].workers, group->configs[group->n_configs - 1].workers,
                            FAN_POINTS, no_families, a);
}

int wl_report_models(const struct wl_law_result *law, bool thorough, struct wl_report_model **out, struct wl_arena *a,
                     struct wl_err *e)
{
    struct job j = { law, thorough, wl_new_array(a, struct wl_report_model, law->n), wl_new_array(a, int, law->n),
                     wl_new_array(a, struct wl_err, law->n) };
    *out = j.out;
    wl_parallel(law->n, model_of_group, &j, a);
    for (size_t i = 0; i < law->n; i++) {
        if (!j.rc[i]) continue;
        *e = j.e[i];
        return j.rc[i];
    }
    return 0;
}
