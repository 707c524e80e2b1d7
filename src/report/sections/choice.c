/* The setting to use, as wattlaw recommend has it: the card at the head of the page, and the trade-off of time and
 * energy. */
#include "report/groups.h"
#include "report/sections/sections.h"
#include "settings/settings.h"

#include <math.h>
#include <stdlib.h>

/* ---- the card ---- */

static const char *kind(const struct wl_report_choice *c)
{
    return c->options.minimize == WL_CHOOSE_TIME ? "" : wl_provenance_mark(c->campaign.any_from);
}

static const char *setting_name(const struct wl_report_choice *c, size_t i) { return c->campaign.settings[i].name; }

static const char *goal(const struct wl_report_choice *c)
{
    return c->options.minimize == WL_CHOOSE_TIME ? "time" : "energy";
}

/* "9.4 to 13.7 %": of 1 - ratio, which lies on both sides of 0 where nothing is shown. */
static char *less_between(const struct wl_estimate *ratio, struct wl_arena *a)
{
    return wl_strf(a, "%s to %s %%", wl_significant_digits(a, 100 * (1 - ratio->hi), 2),
                   wl_significant_digits(a, 100 * (1 - ratio->lo), 2));
}

static char *percent(double v, struct wl_arena *a) { return wl_significant_digits(a, 100 * fabs(v), 2); }

/* "2 workers, cap 250 W": the settings of j in which it differs from i. */
static char *difference(const struct wl_report_choice *c, size_t i, size_t j, struct wl_arena *a)
{
    struct wl_text out = WL_TEXT(a);
    for (size_t k = 0; k < c->campaign.n_axes; k++) {
        const struct wl_choose_axis *axis = &c->campaign.axes[k];
        const char *value = c->campaign.value[j][k];
        if (axis->derived || wl_str_eq(value, c->campaign.value[i][k])) continue;
        wl_text_addf(&out, "%s%s", out.n ? ", " : "", wl_setting_words(axis->column, value, a));
    }
    return out.s;
}

/* "11 % less energy than without a cap, for 1.2 % more time" */
static char *saving_text(const struct wl_report_choice *c, size_t reference, struct wl_arena *a)
{
    const struct wl_estimate *e = &c->result.saving[c->options.minimize], *t = &c->result.saving[WL_CHOOSE_TIME];
    struct wl_text out = WL_TEXT(a);
    wl_text_addf(&out, "%s %% less %s%s than with %s", percent(1 - e->value, a), goal(c), kind(c),
                 difference(c, (size_t)c->result.choice, reference, a));
    static const double same = 5e-4;
    if (c->options.minimize != WL_CHOOSE_TIME && fabs(t->value - 1) < same)
        wl_text_add(&out, ", in the same time");
    else if (c->options.minimize != WL_CHOOSE_TIME)
        wl_text_addf(&out, ", in %s %% %s time", percent(t->value - 1, a), t->value > 1 ? "more" : "less");
    return out.s;
}

/* Where the choice is its own reference: why nothing is saved over it, and what is saved over the setting that takes
 * most, if that is shown. */
static const char *own_reference_text(const struct wl_report_choice *c, struct wl_arena *a)
{
    const struct wl_choose_result *x = &c->result;
    const char *nothing = c->options.references ? "nothing: a lower cap saves no energy within 10 % of its time"
                          : c->options.minimize == WL_CHOOSE_TIME
                              ? "nothing: it is the fastest; energy was not measured"
                              : "nothing: it is the fastest, and no other setting saves energy within 10 % of its time";
    if (!(x->over_worst.hi < 1)) return nothing;
    return wl_strf(a, "%s %% less %s%s than with %s, which uses the most; beyond that, %s",
                   percent(1 - x->over_worst.value, a), goal(c), kind(c), setting_name(c, (size_t)x->worst), nothing);
}

/* The interval of the saving, the limit, the runner-up, and whether runs were repeated. */
static char *sure_text(const struct wl_report_choice *c, struct wl_arena *a)
{
    const struct wl_choose_result *x = &c->result;
    struct wl_text out = WL_TEXT(a);
    if (wl_report_choice_is_shown(c))
        wl_text_addf(&out, "95 %% interval of the saving: %s. ", less_between(&x->saving[c->options.minimize], a));
    if (x->runner_up != WL_CHOOSE_NONE)
        wl_text_addf(&out, "Better than the next best, %s, with probability %s; within 3 %% of the best with %s.",
                     setting_name(c, (size_t)x->runner_up), wl_probability_text(x->ahead, a),
                     wl_probability_text(x->within[1], a));
    else
        wl_text_add(&out, "No other measured setting is within 10 % of its time with a probability of at least 0.9.");
    if (!c->campaign.repeated) wl_text_add(&out, " Rough: no setting was measured twice.");
    return out.s;
}

/* What to measure next; NULL: no run is expected to gain. */
static char *next_text(const struct wl_report_choice *c, struct wl_arena *a)
{
    const int next = wl_choose_next_run(&c->result);
    if (next == WL_CHOOSE_NONE) return NULL;
    return wl_strf(a, "measure %s again: expected to lower the %s of the choice by %s %%",
                   setting_name(c, (size_t)next), goal(c), percent(c->result.rows[next].gain, a));
}

/* Where nothing is better for sure, more runs of the two that come closest decide. */
static char *undecided_next(const struct wl_report_choice *c, size_t reference, struct wl_arena *a)
{
    const struct wl_choose_result *x = &c->result;
    const bool same = reference == (size_t)x->choice || reference == WL_CHOOSE_NO_REFERENCE;
    const int other = same ? x->runner_up : x->choice;
    if (other == WL_CHOOSE_NONE) return wl_strdup(a, "measure other settings");
    return wl_strf(a, "measure %s and %s again, alternately", setting_name(c, same ? (size_t)x->choice : reference),
                   setting_name(c, (size_t)other));
}

static void answer_without_choice(const struct wl_report_choice *c, struct wl_answer *to, struct wl_arena *a)
{
    const int nearest = c->result.nearest;
    to->use = "No setting keeps the slowdown below 10 % with probability .9";
    if (nearest == WL_CHOOSE_NONE) return;
    to->sure = wl_strf(a, "Nearest: %s.", setting_name(c, (size_t)nearest));
    to->next = wl_strf(a, "measure %s and its setting without a cap again", setting_name(c, (size_t)nearest));
}

static void answer_unknown_saving(const struct wl_report_choice *c, struct wl_answer *to, struct wl_arena *a)
{
    to->shown = false;
    to->use = wl_strf(a, "No setting is shown to be better: least %s with %s, but it was not measured without a cap",
                      goal(c), setting_name(c, (size_t)c->result.choice));
    to->next = "measure it without a cap";
}

/* Is no other setting allowed, or the next best one worse with probability .9? */
static bool is_ahead(const struct wl_report_choice *c)
{
    return c->result.runner_up == WL_CHOOSE_NONE || c->result.ahead >= WL_CHOOSE_PROBABILITY;
}

static void answer_of(const struct wl_report_choice *c, struct wl_answer *to, struct wl_arena *a)
{
    *to = (struct wl_answer) { .workload = *c->workload ? c->workload : NULL,
                               .within = NAN,
                               .notes = &c->campaign.notes };
    if (c->refusal) {
        to->use = wl_strf(a, "No setting can be recommended: %s", c->refusal);
        return;
    }
    if (c->result.choice == WL_CHOOSE_NONE) {
        answer_without_choice(c, to, a);
        return;
    }
    const size_t choice = (size_t)c->result.choice, reference = wl_report_choice_reference(c);
    to->sure = sure_text(c, a);
    if (c->result.runner_up != WL_CHOOSE_NONE) to->within = c->result.within[1];
    if (wl_report_choice_is_shown(c)) {
        to->shown = true;
        to->use = setting_name(c, choice);
        to->saves = saving_text(c, reference, a);
        to->next = next_text(c, a);
        return;
    }
    if (reference == WL_CHOOSE_NO_REFERENCE) {
        answer_unknown_saving(c, to, a);
        return;
    }
    if (reference == choice && is_ahead(c)) {
        to->shown = true;
        to->use = setting_name(c, choice);
        to->saves = own_reference_text(c, a);
        to->next = next_text(c, a);
        return;
    }
    to->use = wl_strf(a, "No setting is shown to be better than %s", setting_name(c, reference));
    if (reference == choice)
        to->saves = c->options.minimize == WL_CHOOSE_TIME ? "it has the least time; energy was not measured"
                                                          : "nothing saves energy within 10 % of its time";
    else
        to->saves = wl_strf(a, "%s may need less %s%s: 95 %% interval of the saving %s", setting_name(c, choice),
                            goal(c), kind(c), less_between(&c->result.saving[c->options.minimize], a));
    to->next = undecided_next(c, reference, a);
}

/* The answer as one sentence, for programs. */
static void put_sentence(const struct wl_answer *answer, struct wl_document *d, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    if (answer->workload) wl_text_addf(&t, "%s: ", answer->workload);
    wl_text_addf(&t, "%s%s", answer->shown ? "use " : "", answer->use);
    if (answer->saves) wl_text_addf(&t, ": %s", answer->saves);
    wl_text_add(&t, ".");
    if (answer->sure && *answer->sure) wl_text_addf(&t, " %s", answer->sure);
    if (answer->next) wl_text_addf(&t, " Next: %s.", answer->next);
    wl_strs_add(a, &d->choice, t.s);
}

/* Runs that name no workload beside others that do are left to the tables. */
static struct wl_answer *answers_of(const struct wl_report_choices *choices, size_t *n, struct wl_arena *a)
{
    struct wl_answer *v = wl_new_array(a, struct wl_answer, choices->n);
    *n = 0;
    for (size_t k = 0; k < choices->n; k++)
        if (*choices->v[k]->workload || choices->n == 1) answer_of(choices->v[k], &v[(*n)++], a);
    return v;
}

int wl_report_answers(const struct wl_observations *obs, int64_t drop_epochs, struct wl_answer **out, size_t *n,
                      struct wl_arena *a, struct wl_err *e)
{
    struct wl_report_choices choices;
    if (obs->n == 0) return wl_fail(e, WL_EJOB, "no run has finished");
    const int rc = wl_report_choices(obs, true, drop_epochs, &choices, a, e);
    if (rc == 0) *out = answers_of(&choices, n, a);
    return rc;
}

static void add_notes(const struct wl_answer *answer, struct wl_document *d, struct wl_arena *a)
{
    for (size_t i = 0; i < answer->notes->n; i++) {
        wl_strs_add(a, &d->choice, answer->notes->v[i]);
        wl_strs_add(a, &d->warnings,
                    wl_strf(a, "Choice%s%s: %s.", answer->workload ? " for " : "",
                            answer->workload ? answer->workload : "", answer->notes->v[i]));
    }
}

void wl_report_add_answers(const struct wl_report_data *g, struct wl_document *d)
{
    d->answers = answers_of(&g->choices, &d->n_answers, g->arena);
    for (size_t k = 0; k < d->n_answers; k++) {
        put_sentence(&d->answers[k], d, g->arena);
        add_notes(&d->answers[k], d, g->arena);
    }
}

/* ---- the trade-off ---- */

enum member { OTHER, POSSIBLE, CERTAIN, CHOSEN, MEMBERS };
static const char *const labels[MEMBERS] = { "other settings", "possible best trade-offs", "best trade-offs",
                                             "choice" };

static enum member member_of(const struct wl_report_choice *c, size_t i)
{
    const double p = c->result.rows[i].pareto;
    if ((int)i == c->result.choice) return CHOSEN;
    return p >= 0.9 ? CERTAIN : p >= 0.1 ? POSSIBLE : OTHER;
}

static void add_members(struct wl_figure *f, const struct wl_report_choice *c, enum member m, struct wl_arena *a)
{
    const size_t n = c->campaign.n;
    double *x = wl_new_array(a, double, n), *y = wl_new_array(a, double, n), *lo = wl_new_array(a, double, n),
           *hi = wl_new_array(a, double, n);
    const char **notes = wl_new_array(a, const char *, n);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        const struct wl_estimate *e = &c->result.rows[i].amount[WL_CHOOSE_ENERGY];
        if (member_of(c, i) != m) continue;
        x[k] = c->result.rows[i].amount[WL_CHOOSE_TIME].value;
        y[k] = e->value, lo[k] = e->lo, hi[k] = e->hi;
        notes[k++] = c->campaign.settings[i].name;
    }
    if (!k) return;
    wl_figure_add(f, &(struct wl_figure_series) { .label = labels[m],
                                                  .style = WL_STYLE_POINTS,
                                                  .n = k,
                                                  .x = x,
                                                  .y = y,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .notes = notes,
                                                  .colour = m == OTHER ? WL_COLOUR_NEUTRAL : (int)m - 1,
                                                  .marker = (int)m });
}

static int by_time(const void *p, const void *q)
{
    const double x = *(const double *)p, y = *(const double *)q;
    return (x > y) - (x < y);
}

/* The line through the settings than which none is lower in both, by their expected values. */
static void add_front(struct wl_figure *f, const struct wl_report_choice *c, struct wl_arena *a)
{
    double(*v)[2] = (double(*)[2])wl_new_array(a, double, 2 * c->campaign.n);
    size_t n = 0;
    for (size_t i = 0; i < c->campaign.n; i++) {
        if (!c->result.rows[i].front) continue;
        v[n][0] = c->result.rows[i].amount[WL_CHOOSE_TIME].value;
        v[n++][1] = c->result.rows[i].amount[WL_CHOOSE_ENERGY].value;
    }
    if (n < 2) return;
    qsort(v, n, sizeof *v, by_time);
    double *x = wl_new_array(a, double, n), *y = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) x[i] = v[i][0], y[i] = v[i][1];
    wl_figure_add(f, &(struct wl_figure_series) { .label = "Pareto front",
                                                  .style = WL_STYLE_LINE,
                                                  .n = n,
                                                  .x = x,
                                                  .y = y,
                                                  .colour = WL_COLOUR_NEUTRAL,
                                                  .dashed = true });
}

static struct wl_figure *figure_of(const struct wl_report_choice *c, struct wl_arena *a)
{
    const char *name = *c->workload ? c->workload : "all runs";
    struct wl_figure *f = wl_figure_new(a, wl_strf(a, "trade-off-%s", wl_slug(name, a)),
                                        wl_strf(a, "Trade-off of time and energy: %s", name));
    f->workload = *c->workload ? c->workload : NULL;
    f->caption =
        "Expected values of the joint model with the 95 % interval of the energy. Best trade-offs: nothing is "
        "lower in both, with probability .9; possible: with .1. Dashed: the Pareto front of the expected values.";
    f->metrics = "choice";
    f->x = (struct wl_figure_axis) {
        .label = wl_strf(a, "time %s", c->campaign.unit), .unit = "s", .log = true, .min = NAN, .max = NAN
    };
    f->y = (struct wl_figure_axis) {
        .label = wl_strf(a, "energy %s", c->campaign.unit), .unit = "J", .log = true, .min = NAN, .max = NAN
    };
    for (enum member m = OTHER; m < MEMBERS; m++) add_members(f, c, m, a);
    add_front(f, c, a);
    f->estimated = c->campaign.any_from & WL_ESTIMATED;
    f->simulated = c->campaign.any_from & WL_SIMULATED;
    wl_figure_finish(f);
    return f;
}

void wl_report_add_choice(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_section *s = NULL;
    for (size_t k = 0; k < g->choices.n; k++) {
        const struct wl_report_choice *c = g->choices.v[k];
        if (c->refusal || c->options.minimize != WL_CHOOSE_ENERGY) continue;
        if (!s) s = wl_document_section(d, "choice", "Time against energy");
        wl_section_figure(d, s, figure_of(c, g->arena));
    }
}
