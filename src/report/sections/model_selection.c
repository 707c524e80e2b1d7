/* Is it a power law, and what else fits: verdicts, candidate models, breakpoints and departures. */
#include "report/sections/sections.h"

#include <math.h>

static struct wl_report_table *table_of(const struct wl_report_data *g, const char *id, const char *title,
                                        const struct wl_report_column *columns, size_t n)
{
    struct wl_report_table *t = wl_report_table_new(g->arena, id, title, columns, n);
    for (size_t i = 0; i < g->n_groups; i++) t->simulated = t->simulated || g->groups[i].law->simulated;
    return t;
}

/* ---- verdicts ---- */

static const struct wl_report_column verdict_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "verdict", .label = "power law", .metric = "verdict", .text = true },
    { .id = "change", .label = "change of exponent per decade", .metric = "verdict", .digits = 2 },
    { .id = "smallest_margin", .label = "power law to within", .metric = "smallest-margin", .digits = 2 },
    { .id = "lack_of_fit_p", .label = "lack of fit, p", .metric = "lack-of-fit", .digits = 2 },
    { .id = "quadratic_p", .label = "curvature, p", .metric = "bend", .digits = 2 },
    { .id = "break_workers", .label = "breakpoint", .unit = "workers", .metric = "break", .digits = 3 },
    { .id = "break_lo", .label = "from", .metric = "break", .digits = 3 },
    { .id = "break_hi", .label = "to", .metric = "break", .digits = 3 },
    { .id = "break_p", .label = "breakpoint, p", .metric = "break", .digits = 2 },
    { .id = "best", .label = "best model by AICc", .metric = "aicc", .text = true },
    { .id = "best_predictor", .label = "best predictor", .metric = "llo", .text = true },
};

static const struct wl_report_column reason_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "verdict", .label = "power law", .metric = "verdict", .text = true },
    { .id = "why", .label = "because", .metric = "verdict", .text = true },
};

static void verdict_row(const struct wl_report_group *group, struct wl_report_table *t)
{
    const struct wl_law_group *law = group->law;
    const struct wl_law_breakpoint *b = &law->breakpoint;
    wl_report_table_text(t, group->name);
    wl_report_table_text(t, wl_law_verdict_name(law->verdict));
    wl_report_table_real(t, law->equivalence.change);
    wl_report_table_real(t, law->equivalence.smallest_margin);
    wl_report_table_real(t, law->lack_of_fit.p);
    wl_report_table_real(t, law->quadratic.p);
    wl_report_table_real(t, b->compared ? b->workers : NAN);
    wl_report_table_real(t, b->compared ? b->lo : NAN);
    wl_report_table_real(t, b->compared ? b->hi : NAN);
    wl_report_table_real(t, b->compared ? b->p : NAN);
    wl_report_table_text(t, law->best_model ? law->best_model->name : NULL);
    wl_report_table_text(t, law->best_predictor ? law->best_predictor->name : NULL);
}

static struct wl_report_table *verdict_table(const struct wl_report_data *g)
{
    struct wl_report_table *t =
        table_of(g, "verdicts", "Is it a power law?", verdict_columns, WL_COUNT(verdict_columns));
    t->caption = "Tests at 5 %. SUPPORTED: the exponent changes by less than 0.05 per factor of 10 in the worker "
                 "count; REJECTED: by "
                 "more; UNDECIDED: the data show neither. A breakpoint needs five worker counts on each side. The best "
                 "model has the smallest AICc; the best predictor has "
                 "the smallest leave-largest-out error.";
    for (size_t i = 0; i < g->n_groups; i++) {
        if (g->groups[i].law->law) verdict_row(&g->groups[i], t);
    }
    return t;
}

static struct wl_report_table *reason_table(const struct wl_report_data *g)
{
    struct wl_report_table *t =
        table_of(g, "verdict-reasons", "What the verdicts rest on", reason_columns, WL_COUNT(reason_columns));
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        if (!law->law) continue;
        wl_report_table_text(t, g->groups[i].name);
        wl_report_table_text(t, wl_law_verdict_name(law->verdict));
        wl_report_table_text(t, law->verdict_reason);
    }
    return t;
}

/* ---- curves of the hierarchical model ---- */

static const struct wl_report_column curve_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "curve", .label = "curve", .text = true },
    { .id = "formula", .label = "t(N)", .text = true },
    { .id = "weight", .label = "posterior weight", .metric = "posterior-weight", .digits = 2 },
    { .id = "why", .label = "left out because", .text = true },
};

static const struct wl_report_column exponent_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "workers", .label = "workers" },
    { .id = "time_s", .label = "time", .unit = "s", .metric = "forecast", .digits = 4 },
    { .id = "run_lo", .label = "95 % of new runs from", .unit = "s", .metric = "forecast", .digits = 4 },
    { .id = "run_hi", .label = "to", .unit = "s", .metric = "forecast", .digits = 4 },
    { .id = "beta", .label = "exponent", .metric = "local-exponent", .digits = 3 },
    { .id = "beta_lo", .label = "from", .metric = "local-exponent", .digits = 3 },
    { .id = "beta_hi", .label = "to", .metric = "local-exponent", .digits = 3 },
};

static void curve_rows(const struct wl_report_group *group, struct wl_report_table *t)
{
    const struct wl_law_curves *c = &group->model->curves;
    for (size_t f = 0; f < c->n_families; f++) {
        wl_report_table_text(t, group->name);
        wl_report_table_text(t, c->families[f].name);
        wl_report_table_text(t, c->families[f].formula);
        wl_report_table_real(t, c->families[f].weight);
        wl_report_table_text(t, c->families[f].reason);
    }
}

static void exponent_rows(const struct wl_report_group *group, struct wl_report_table *t)
{
    const struct wl_law_curves *c = &group->model->curves;
    for (size_t i = 0; i < c->n; i++) {
        wl_report_table_text(t, group->name);
        wl_report_table_real(t, c->at[i].workers);
        wl_report_table_real(t, c->at[i].curve.value);
        wl_report_table_real(t, c->at[i].run.lo);
        wl_report_table_real(t, c->at[i].run.hi);
        wl_report_table_real(t, c->at[i].exponent.value);
        wl_report_table_real(t, c->at[i].exponent.lo);
        wl_report_table_real(t, c->at[i].exponent.hi);
    }
}

static void fill_curves(const struct wl_report_data *g, struct wl_report_table *curves,
                        struct wl_report_table *exponents)
{
    for (size_t i = 0; i < g->n_groups; i++) {
        curve_rows(&g->groups[i], curves);
        exponent_rows(&g->groups[i], exponents);
    }
}

/* ---- candidate models ---- */

static const struct wl_report_column model_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "model", .label = "model", .text = true },
    { .id = "formula", .label = "t(N)", .text = true },
    { .id = "aicc", .label = "AICc", .metric = "aicc", .digits = 5 },
    { .id = "weight", .label = "weight", .metric = "aicc", .digits = 2 },
    { .id = "llo_pct", .label = "leave-largest-out error", .unit = "%", .metric = "llo", .digits = 3 },
    { .id = "why", .label = "not ranked because", .text = true },
};

static struct wl_report_table *model_table(const struct wl_report_data *g)
{
    struct wl_report_table *t = table_of(g, "models", "For comparison: candidate models by least squares over runs",
                                         model_columns, WL_COUNT(model_columns));
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        for (size_t k = 0; k < law->n_models; k++) {
            const struct wl_law_model *m = &law->models[k];
            wl_report_table_text(t, g->groups[i].name);
            wl_report_table_text(t, m->name);
            wl_report_table_text(t, m->formula);
            wl_report_table_real(t, m->ranked ? m->aicc : NAN);
            wl_report_table_real(t, m->ranked ? m->weight : NAN);
            wl_report_table_real(t, m->llo_pct);
            wl_report_table_text(t, m->ranked ? NULL : m->reason);
        }
    }
    return t;
}

/* ---- departures ---- */

static const struct wl_report_column departure_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "beyond", .label = "law up to", .unit = "workers" },
    { .id = "workers", .label = "workers" },
    { .id = "excess_pct", .label = "above the law", .unit = "%", .metric = "departure", .digits = 3 },
    { .id = "p_holm", .label = "p (Holm)", .metric = "departure", .digits = 2 },
};

static struct wl_report_table *departure_table(const struct wl_report_data *g)
{
    struct wl_report_table *t = table_of(g, "departures", "Larger worker counts against the law of the smaller ones",
                                         departure_columns, WL_COUNT(departure_columns));
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        for (size_t k = 0; k < law->n_departures; k++) {
            wl_report_table_text(t, g->groups[i].name);
            wl_report_table_real(t, law->departure_base);
            wl_report_table_real(t, law->departures[k].workers);
            wl_report_table_real(t, law->departures[k].excess_pct);
            wl_report_table_real(t, law->departures[k].p_holm);
        }
    }
    return t;
}

void wl_report_add_model_selection(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_report_table *curves = table_of(g, "curves", "Which curve", curve_columns, WL_COUNT(curve_columns)),
                           *exponents = table_of(g, "exponents", "Time and exponent at each worker count",
                                                 exponent_columns, WL_COUNT(exponent_columns)),
                           *tables[] = { verdict_table(g), reason_table(g), curves,
                                         exponents,        model_table(g),  departure_table(g) };
    struct wl_section *s = NULL;
    curves->caption = "By the hierarchical model (wattlaw predict): weights of a group add up to 1. Under weak scaling "
                      "the curves are of the time over the worker count.";
    exponents->caption = "Medians and 95 % intervals over all curves, by their weights.";
    fill_curves(g, curves, exponents);
    for (size_t i = 0; i < WL_COUNT(tables); i++) {
        if (tables[i]->n_rows == 0) continue;
        if (!s) s = wl_document_section(d, "models", "Which law");
        wl_section_table(d, s, tables[i]);
    }
}
