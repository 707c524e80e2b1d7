#include "advise/choose/campaign.h"

#include "advise/choose/axes.h"
#include "advise/choose/collected.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- order: settings of a model next to each other ---- */

static const char *names_of(const struct wl_choose_campaign *c, size_t i, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t k = 0; k < c->n_axes; k++)
        if (!c->axes[k].number) wl_text_addf(&t, "%s\n", c->value[i][k]);
    return t.s;
}

#define REORDER(array, order, n, a)                                          \
    do {                                                                     \
        __typeof__(array) old_ = wl_alloc_array((a), (n), sizeof *(array));  \
        memcpy(old_, (array), (n) * sizeof *(array));                        \
        for (size_t i_ = 0; i_ < (n); i_++) (array)[i_] = old_[(order)[i_]]; \
    } while (0)

static void sort_into_groups(struct wl_choose_collected *s)
{
    struct wl_choose_campaign *c = s->c;
    const char **names = wl_new_array(s->a, const char *, c->n);
    size_t *id = wl_new_array(s->a, size_t, c->n), *order = wl_new_array(s->a, size_t, c->n), at = 0;
    for (size_t i = 0; i < c->n; i++) names[i] = names_of(c, i, s->a);
    c->n_groups = wl_law_labels(names, c->n, id, s->a);
    c->groups = wl_new_array(s->a, struct wl_choose_group, c->n_groups);
    for (size_t g = 0; g < c->n_groups; g++) {
        c->groups[g].first = at;
        for (size_t i = 0; i < c->n; i++)
            if (id[i] == g) order[at++] = i;
        c->groups[g].n = at - c->groups[g].first;
    }
    size_t *place = wl_new_array(s->a, size_t, c->n);
    for (size_t k = 0; k < c->n; k++) place[order[k]] = k;
    for (size_t k = 0; k < s->obs->runs; k++)
        if (s->of_run[k] < c->n) s->of_run[k] = place[s->of_run[k]];
    REORDER(c->settings, order, c->n, s->a);
    REORDER(c->value, order, c->n, s->a);
    REORDER(c->row, order, c->n, s->a);
    REORDER(c->from, order, c->n, s->a);
    REORDER(s->samples, order, c->n, s->a);
    for (int r = 0; r < WL_JOINT_RESPONSES; r++) REORDER(s->runs[r], order, c->n, s->a);
}

static double correlation(const struct wl_choose_collected *s)
{
    static const double shrunk = 4, most = 0.95;
    const double product = sqrt(s->squares[0] * s->squares[1]);
    if (!(product > 0)) return 0;
    return fmax(-most, fmin(most, s->cross / product * s->df / (s->df + shrunk)));
}

static int fit_models(struct wl_choose_collected *s, struct wl_err *e)
{
    struct wl_choose_campaign *c = s->c;
    for (size_t g = 0; g < c->n_groups; g++) {
        struct wl_choose_group *to = &c->groups[g];
        struct wl_joint_axis *axes = wl_new_array(s->a, struct wl_joint_axis, c->n_axes);
        struct wl_joint *joint;
        const struct wl_joint_data d = { .n = to->n,
                                         .axes = axes,
                                         .n_axes = wl_choose_coordinates(c, to->first, to->n, axes, s->a),
                                         .runs = { s->runs[0] + to->first, s->runs[1] + to->first },
                                         .rho = c->rho,
                                         .seed = g };
        const int rc = wl_joint_fit(&d, &joint, s->a, e);
        if (rc) return rc < 0 ? wl_err_prefix(e, "%s", s->obs->source) : rc;
        to->joint = joint;
    }
    return 0;
}

/* ---- all ---- */

static void note_evidence(struct wl_choose_collected *s)
{
    struct wl_choose_campaign *c = s->c;
    size_t workers = 0, powers = 0;
    for (size_t i = 1; i < c->n; i++) workers += c->settings[i].workers != c->settings[0].workers;
    for (size_t i = 0; i < c->n; i++) powers += s->runs[WL_JOINT_POWER][i].n > 0;
    if (c->n == 1)
        wl_strs_add(s->a, &c->notes, "one setting was measured: there is nothing to choose from");
    else if (c->no_workers)
        wl_strs_add(s->a, &c->notes,
                    "the runs have no worker count, neither from an axis nor from marks: each counts as one whole");
    else if (!workers)
        wl_strs_addf(s->a, &c->notes, "one worker count was measured (%g): nothing is said about others",
                     c->settings[0].workers);
    if (!c->repeated)
        wl_strs_add(s->a, &c->notes,
                    "one run of each setting: what settings and what runs differ by cannot be separated, and "
                    "probabilities and intervals are rough; repeat at least one setting");
    if (powers && powers < c->n)
        wl_strs_addf(s->a, &c->notes, "%zu of %zu settings have no energy: their power is the model's", c->n - powers,
                     c->n);
}

static void note_exclusions(struct wl_choose_collected *s)
{
    struct wl_choose_campaign *c = s->c;
    if (s->bad_rows)
        wl_strs_addf(s->a, &c->notes,
                     "excluded: %zu row%s without a positive time and worker count (times: %g to %g s)", s->bad_rows,
                     s->bad_rows == 1 ? "" : "s", WL_CHOOSE_TIME_MIN, WL_CHOOSE_TIME_MAX);
    if (s->bad_energies)
        wl_strs_addf(s->a, &c->notes, "excluded: %zu energ%s not from %g to %g J", s->bad_energies,
                     s->bad_energies == 1 ? "y that is" : "ies that are", WL_CHOOSE_ENERGY_MIN, WL_CHOOSE_ENERGY_MAX);
    if (s->bad_caps)
        wl_strs_addf(s->a, &c->notes,
                     "excluded: %zu run%s with a power cap or clock that is not from %d to %g W or MHz", s->bad_caps,
                     s->bad_caps == 1 ? "" : "s", WL_SETTING_CAP_MIN, WL_SETTING_CAP_MAX);
    if (s->copies)
        wl_strs_addf(s->a, &c->notes, "excluded: %zu run%s the same time and energy as another run of the setting",
                     s->copies, s->copies == 1 ? " that has" : "s that have");
    if (s->unlike)
        wl_strs_addf(s->a, &c->notes,
                     "%zu setting%s runs whose epochs differ in their %ss: they count as repeats, per %s", s->unlike,
                     s->unlike == 1 ? " has" : "s have", wl_choose_noun(&s->o->work), wl_choose_noun(&s->o->work));
}

static int collect(struct wl_choose_collected *s, struct wl_err *e)
{
    struct wl_choose_campaign *c = s->c;
    *c = (struct wl_choose_campaign) { 0 };
    wl_choose_find_axes(s->obs, c, s->a);
    const int rc = wl_choose_collect_runs(s, e);
    if (rc) return rc;
    wl_choose_drop_constant_axes(c);
    wl_choose_classify_axes(c, s->a);
    sort_into_groups(s);
    for (size_t i = 0; i < c->n; i++) c->settings[i].name = wl_choose_name_setting(c, i, s->a);
    for (int r = 0; r < WL_JOINT_RESPONSES; r++) c->means[r] = s->runs[r];
    c->rho = correlation(s);
    return wl_choose_exclude(s, e);
}

int wl_choose_collect(const struct wl_observations *obs, const struct wl_choose_campaign_options *o,
                      struct wl_choose_campaign *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_choose_collected s = { .obs = obs, .o = o, .c = out, .a = a };
    const int rc = collect(&s, e);
    if (rc == 0) note_exclusions(&s);
    return rc;
}

int wl_choose_campaign(const struct wl_observations *obs, const struct wl_choose_campaign_options *o,
                       struct wl_choose_campaign *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_choose_collected s = { .obs = obs, .o = o, .c = out, .a = a };
    int rc = collect(&s, e);
    if (rc == 0) rc = fit_models(&s, e);
    if (rc == 0) rc = wl_choose_set_work(&s, e);
    if (rc) return rc;
    note_evidence(&s);
    note_exclusions(&s);
    return 0;
}

struct wl_choose_input wl_choose_campaign_input(const struct wl_choose_campaign *c)
{
    return (struct wl_choose_input) { c->settings, c->n, c->groups, c->n_groups, c->work_draws };
}
