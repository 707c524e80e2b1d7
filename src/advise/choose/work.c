/* How much work times and energies are for. */
#include "advise/choose/collected.h"
#include "advise/choose/epochs.h"

#include <math.h>

static const char *noun_of_row(const struct wl_choose_collected *s)
{
    return isnan(s->obs->epoch[s->c->row[0]]) ? "run" : "epoch";
}

/* "10^9", "3e+11", "2500" */
static const char *amount_text(double n, struct wl_arena *a)
{
    const double exponent = log10(n);
    return n >= 1e6 && exponent == rint(exponent) ? wl_strf(a, "10^%.0f", exponent) : wl_strf(a, "%g", n);
}

static const char *unit_text(const struct wl_choose_collected *s, double samples, bool alike)
{
    const struct wl_choose_work *w = &s->o->work;
    const char *one = noun_of_row(s);
    switch (w->kind) {
    case WL_CHOOSE_EPOCHS: return wl_strf(s->a, "for %g %s%s", w->amount, one, w->amount == 1 ? "" : "s");
    case WL_CHOOSE_SAMPLES: return wl_strf(s->a, "for %s %ss", amount_text(w->amount, s->a), wl_choose_noun(w));
    case WL_CHOOSE_TARGET: return wl_strf(s->a, "to %s = %g", w->metric, w->value);
    default: return alike ? wl_strf(s->a, "per %s", one) : wl_strf(s->a, "for %g samples", samples);
    }
}

/* Time is per sample where samples are known: work is samples then, else epochs. */
static int set_units(struct wl_choose_collected *s, struct wl_err *e)
{
    struct wl_choose_campaign *c = s->c;
    const struct wl_choose_work *w = &s->o->work;
    double lo = INFINITY, hi = 0;
    if (w->kind == WL_CHOOSE_SAMPLES && !s->per_sample)
        return wl_fail(e, WL_EINVAL, "--%ss: %s does not have the %ss of every epoch", wl_choose_noun(w),
                       s->obs->source, wl_choose_noun(w));
    for (size_t i = 0; i < c->n; i++) lo = fmin(lo, s->samples[i]), hi = fmax(hi, s->samples[i]);
    const bool alike = !s->per_sample || hi <= 1.05 * lo;
    for (size_t i = 0; i < c->n; i++) {
        const bool own = w->kind == WL_CHOOSE_EPOCHS || w->kind == WL_CHOOSE_TARGET;
        double work = s->per_sample ? log(alike || !own ? hi : s->samples[i]) : 0;
        if (w->kind == WL_CHOOSE_EPOCHS) work += log(w->amount);
        if (w->kind == WL_CHOOSE_SAMPLES) work = log(w->amount);
        c->settings[i].ln_work = work;
    }
    const char *one = noun_of_row(s);
    c->unit = unit_text(s, hi, alike);
    if (!s->per_sample)
        wl_strs_addf(s->a, &c->notes, "the samples of %ss are not known: %ss of all settings count as the same work",
                     one, one);
    else if (!alike)
        wl_strs_addf(s->a, &c->notes, "%ss differ in their %ss (%g to %g): times and energies are per %s", one,
                     wl_choose_noun(w), lo, hi, wl_choose_noun(w));
    return 0;
}

/* The runs of these settings that reached the target, by their global batch. */
static int runs_to_target(struct wl_choose_collected *s, struct wl_choose_reached **out, size_t *n, size_t *missed,
                          struct wl_err *e)
{
    const struct wl_choose_work *w = &s->o->work;
    struct wl_target_options o = { .metric = w->metric, .value = w->value, .others = w->others };
    struct wl_target_result r;
    wl_strs_add(s->a, &o.by, "workload");
    wl_strs_add(s->a, &o.by, "global_batch");
    const int rc = wl_target_reach(s->obs, &o, &r, s->a, e);
    if (rc) return rc;
    size_t most = 0;
    for (size_t g = 0; g < r.n; g++) most += r.groups[g].n_runs;
    *out = wl_new_array(s->a, struct wl_choose_reached, most);
    for (size_t g = 0; g < r.n; g++) {
        const struct wl_law_key *key = r.groups[g].key;
        double batch = NAN;
        for (size_t k = 0; k < r.groups[g].n_key; k++)
            if (wl_str_eq(key[k].column, "global_batch") && wl_str_to_real(key[k].value, &batch)) batch = NAN;
        if (!wl_str_eq(key[0].value, s->c->workload ? s->c->workload : "")) continue;
        for (size_t k = 0; k < r.groups[g].n_runs; k++) {
            const struct wl_target_run *run = &r.groups[g].runs[k];
            if (run->reached) (*out)[(*n)++] = (struct wl_choose_reached) { batch > 0 ? batch : 1, run->epochs };
            *missed += !run->reached;
        }
    }
    return *n ? 0
              : wl_fail(e, WL_EINVAL,
                        "%s: no run reaches %s = %g; give the epochs that are needed with --epochs or "
                        "--epochs-table",
                        s->obs->source, w->metric, w->value);
}

static int add_epochs_of_runs(struct wl_choose_collected *s, struct wl_err *e)
{
    struct wl_choose_campaign *c = s->c;
    struct wl_choose_reached *runs;
    size_t n = 0, missed = 0;
    const int rc = runs_to_target(s, &runs, &n, &missed, e);
    if (rc) return rc;
    double *batch = wl_new_array(s->a, double, c->n), *mean = wl_new_array(s->a, double, c->n);
    c->work_draws = wl_new_array(s->a, double, c->n *WL_JOINT_DRAWS);
    for (size_t i = 0; i < c->n; i++) {
        const double v = s->obs->global_batch[c->row[i]];
        batch[i] = v > 0 ? v : 1;
    }
    wl_choose_epochs(runs, n, batch, c->n, mean, c->work_draws, s->a);
    for (size_t i = 0; i < c->n; i++) c->settings[i].ln_work += mean[i];
    wl_strs_addf(s->a, &c->notes, "epochs to %s = %g: e0 (1 + B/Bcrit) over the global batch B, from %zu run%s",
                 s->o->work.metric, s->o->work.value, n, n == 1 ? "" : "s");
    if (missed)
        wl_strs_addf(s->a, &c->notes, "%zu run%s not reach it: epochs to the target may be more than estimated here",
                     missed, missed == 1 ? " does" : "s do");
    return 0;
}

static void add_epochs_of_table(struct wl_choose_collected *s)
{
    struct wl_choose_campaign *c = s->c;
    for (size_t i = 0; i < c->n; i++) {
        const double batch = s->obs->global_batch[c->row[i]],
                     epochs = wl_choose_epochs_of_table(&s->o->work.table, batch);
        if (!isnan(epochs)) {
            c->settings[i].ln_work += epochs;
        } else if (!c->settings[i].excluded) {
            c->settings[i].excluded = isnan(batch)
                                          ? "its global batch is not known, for --epochs-table"
                                          : wl_strf(s->a, "global batch %g is not within --epochs-table", batch);
        }
    }
}

static int add_epochs_to_target(struct wl_choose_collected *s, struct wl_err *e)
{
    if (s->o->work.kind != WL_CHOOSE_TARGET) return 0;
    s->c->to_target = true;
    if (!s->o->work.table.n) return add_epochs_of_runs(s, e);
    add_epochs_of_table(s);
    return 0;
}

int wl_choose_set_work(struct wl_choose_collected *s, struct wl_err *e)
{
    const int rc = set_units(s, e);
    return rc ? rc : add_epochs_to_target(s, e);
}
