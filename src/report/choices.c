#include "report/choices.h"

#include <math.h>
#include <string.h>

static void set_options(struct wl_report_choice *c)
{
    c->options = (struct wl_choose_options) { .limits = &c->limit,
                                              .probability = WL_CHOOSE_PROBABILITY,
                                              .max_power_w = NAN,
                                              .prices = { 1, NAN, NAN, NAN, NAN } };
    c->options.minimize = wl_choose_default_quantity(&c->input, &c->options);
    wl_choose_add_default_limit(&c->options);
}

static int choose(struct wl_report_choice *c, const struct wl_observations *obs, bool is_store, int64_t drop_epochs,
                  struct wl_arena *a, struct wl_err *e)
{
    const struct wl_choose_campaign_options how = {
        .drop_epochs = drop_epochs, .node_size = NAN, .global_batch = NAN, .site_power_w = NAN, .is_store = is_store
    };
    struct wl_err why = { 0 };
    if (wl_choose_campaign(obs, &how, &c->campaign, a, &why)) {
        const size_t source = strlen(obs->source); /* the page names it already */
        const bool named = strncmp(why.msg, obs->source, source) == 0 && wl_str_starts(why.msg + source, ": ");
        c->refusal = wl_strf(a, "%s (wattlaw sweep measures settings side by side)",
                             named ? why.msg + source + strlen(": ") : why.msg);
        return 0;
    }
    if (c->campaign.n < 2) {
        c->refusal = wl_strf(a,
                             "one setting was measured (%s): there is nothing to compare it with; measure other "
                             "worker counts, batches, power caps or clocks (wattlaw sweep)",
                             c->campaign.settings[0].name);
        return 0;
    }
    c->input = wl_choose_campaign_input(&c->campaign);
    set_options(c);
    const struct wl_choose_reference_options same = { 0 };
    int rc = wl_choose_references(&c->campaign, obs, &same, &c->options, a, e);
    if (rc == 0) rc = wl_choose(&c->input, &c->options, &c->result, a, e);
    if (rc == 0) c->effects = wl_choose_effects(&c->campaign, &c->options, a);
    return rc;
}

struct job {
    const struct wl_choose_workloads *workloads;
    bool is_store;
    int64_t drop_epochs;
    struct wl_report_choice **out;
    int *rc;
    struct wl_err *e;
};

static void choice_of_workload(void *ctx, size_t k, struct wl_arena *a)
{
    const struct job *j = ctx;
    struct wl_report_choice *c = j->out[k] = wl_new(a, struct wl_report_choice);
    c->workload = j->workloads->name[k];
    j->rc[k] = choose(c, &j->workloads->obs[k], j->is_store, j->drop_epochs, a, &j->e[k]);
}

int wl_report_choices(const struct wl_observations *obs, bool is_store, int64_t drop_epochs,
                      struct wl_report_choices *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_choose_workloads workloads;
    *out = (struct wl_report_choices) { 0 };
    int rc = wl_choose_workloads(obs, NULL, 0, &workloads, a, e);
    if (rc) return rc;
    const size_t n = out->n = workloads.n;
    out->v = wl_new_array(a, struct wl_report_choice *, n);
    struct job j = {
        &workloads, is_store, drop_epochs, out->v, wl_new_array(a, int, n), wl_new_array(a, struct wl_err, n)
    };
    wl_parallel(n, choice_of_workload, &j, a);
    for (size_t k = 0; k < n; k++) {
        if (!j.rc[k]) continue;
        *e = j.e[k];
        return j.rc[k];
    }
    return 0;
}

size_t wl_report_choice_reference(const struct wl_report_choice *c)
{
    return wl_choose_reference_of(&c->options, (size_t)c->result.choice);
}

bool wl_report_choice_is_shown(const struct wl_report_choice *c)
{
    if (c->refusal || c->result.choice == WL_CHOOSE_NONE) return false;
    const size_t reference = wl_report_choice_reference(c);
    return reference != WL_CHOOSE_NO_REFERENCE && reference != (size_t)c->result.choice &&
           c->result.saving[c->options.minimize].hi < 1;
}
