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
    { .id = "best", .label = "best model", .metric = "aicc", .text = true },
    { .id = "best_predictor", .label = "best predictor", .metric = "llo", .text = true },
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
    wl_report_table_real(t, b->workers);
    wl_report_table_real(t, b->lo);
    wl_report_table_real(t, b->hi);
    wl_report_table_real(t, b->p);
    wl_report_table_text(t, law->best_model ? law->best_model->name : NULL);
    wl_report_table_text(t, law->best_predictor ? law->best_predictor->name : NULL);
}

static struct wl_report_table *verdict_table(const struct wl_report_data *g)
{
    struct wl_report_table *t =
        table_of(g, "verdicts", "Is it a power law?", verdict_columns, WL_COUNT(verdict_columns));
    t->caption = "Tests at 5 %. SUPPORTED: the exponent changes by less than 0.05 per factor of 10 in the worker "
                 "count; REJECTED: by "
                 "more; UNDECIDED: the data show neither. The best model has the smallest AICc; the best predictor has "
                 "the smallest leave-largest-out error.";
    for (size_t i = 0; i < g->n_groups; i++) {
        if (g->groups[i].law->law) verdict_row(&g->groups[i], t);
    }
    return t;
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
    struct wl_report_table *t = table_of(g, "models", "Candidate models", model_columns, WL_COUNT(model_columns));
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
    struct wl_report_table *tables[] = { verdict_table(g), model_table(g), departure_table(g) };
    struct wl_section *s = NULL;
    for (size_t i = 0; i < WL_COUNT(tables); i++) {
        if (tables[i]->n_rows == 0) continue;
        if (!s) s = wl_document_section(d, "models", "Which law");
        wl_section_table(d, s, tables[i]);
    }
}
