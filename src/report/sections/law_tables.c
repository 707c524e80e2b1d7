/* The tables of configurations and of laws. */
#include "report/sections/law_tables.h"

#include "report/sections/sections.h"

#include <math.h>

static const struct wl_report_column time_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "workers", .label = "workers" },
    { .id = "runs", .label = "runs" },
    { .id = "time_s", .label = "time", .unit = "s", .metric = "epoch-time", .digits = 4 },
    { .id = "time_sd_pct", .label = "spread", .unit = "%", .metric = "sd", .digits = 2 },
    { .id = "energy_j", .label = "energy", .unit = "J", .metric = "epoch-energy", .digits = 4 },
};
static const struct wl_report_column ratio_columns[] = {
    { .id = "mean_power_w", .label = "mean power", .unit = "W", .metric = "mean-power", .digits = 3 },
    { .id = "speedup", .label = "speedup", .metric = "speedup", .digits = 3 },
    { .id = "speedup_lo", .label = "from", .metric = "ratio95", .digits = 3 },
    { .id = "speedup_hi", .label = "to", .metric = "ratio95", .digits = 3 },
    { .id = "efficiency", .label = "efficiency", .metric = "efficiency", .digits = 3 },
    { .id = "energy_ratio", .label = "energy ratio", .metric = "energy-ratio", .digits = 3 },
};

/* With the energy of a token, a sample or a step where the work is counted in these. */
static struct wl_report_columns config_columns(const struct wl_report_data *g)
{
    struct wl_report_columns v = { 0 };
    wl_report_columns_add(&v, time_columns, WL_COUNT(time_columns), g->arena);
    if (g->work) {
        const struct wl_report_column one = { .id = wl_strf(g->arena, "j_per_%s", g->work->one),
                                              .label = wl_strf(g->arena, "energy of a %s", g->work->one),
                                              .unit = "J",
                                              .metric = "epoch-energy",
                                              .digits = 4 };
        wl_report_columns_add(&v, &one, 1, g->arena);
    }
    wl_report_columns_add(&v, ratio_columns, WL_COUNT(ratio_columns), g->arena);
    return v;
}

/* Standard deviation of ln(time) over the runs at one worker count, as a percentage of the time. */
static double spread_pct(const struct wl_law_group *law, double workers, struct wl_arena *a)
{
    double *y = wl_new_array(a, double, law->n_runs);
    size_t n = 0;
    for (size_t i = 0; i < law->n_runs; i++) {
        if (law->runs[i].workers == workers && isfinite(law->runs[i].ln_time_s)) y[n++] = law->runs[i].ln_time_s;
    }
    return 100 * expm1(wl_sd(y, n));
}

static struct wl_report_table *config_table(const struct wl_report_data *g)
{
    const struct wl_report_columns columns = config_columns(g);
    struct wl_report_table *t = wl_report_table_new(g->arena, "configurations", "Configurations", columns.v, columns.n);
    t->caption = wl_strf(g->arena,
                         "Time and energy are those of %s: geometric means over runs. Ratios are to the "
                         "smallest worker count of the group.",
                         wl_report_data_one_span(g));
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        t->estimated = t->estimated || law->estimated;
        t->simulated = t->simulated || law->simulated;
        for (size_t k = 0; k < law->n_configs; k++) {
            const struct wl_law_config *c = &law->configs[k];
            wl_report_table_text(t, g->groups[i].name);
            wl_report_table_real(t, c->workers);
            wl_report_table_real(t, (double)c->runs);
            wl_report_table_real(t, c->time_s);
            wl_report_table_real(t, spread_pct(law, c->workers, g->arena));
            wl_report_table_real(t, c->energy_j);
            if (g->work) wl_report_table_real(t, c->energy_j / g->work->n);
            wl_report_table_real(t, c->energy_j / c->time_s);
            wl_report_table_real(t, c->speedup.value);
            wl_report_table_real(t, c->speedup.lo);
            wl_report_table_real(t, c->speedup.hi);
            wl_report_table_real(t, c->efficiency);
            wl_report_table_real(t, c->energy_ratio.value);
        }
    }
    return t;
}

void wl_report_law_cells(struct wl_report_table *t, const struct wl_law_estimate *law)
{
    static const struct wl_law_estimate none = {
        .beta = NAN, .beta_se = NAN, .beta_lo = NAN, .beta_hi = NAN, .alpha = NAN, .r2 = NAN
    };
    if (!law) law = &none;
    const double cells[] = { law->beta, law->beta_se, law->beta_lo, law->beta_hi, law->alpha, law->r2 };
    for (size_t i = 0; i < WL_COUNT(cells); i++) wl_report_table_real(t, cells[i]);
}

static const struct wl_report_column law_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "scaling", .label = "scaling", .text = true },
    { .id = "runs", .label = "runs" },
    { .id = "worker_counts", .label = "worker counts" },
    WL_REPORT_LAW_COLUMNS,
    { .id = "basis", .label = "interval over", .text = true },
};

static const char *basis_of(const struct wl_law_estimate *e)
{
    if (wl_str_eq(e->name, "run_means")) return "runs";
    return wl_str_eq(e->name, "config_means") ? "configuration means" : e->name;
}

static struct wl_report_table *law_table(const struct wl_report_data *g)
{
    struct wl_report_table *t = wl_report_table_new(g->arena, "laws", "Fitted laws: time = alpha workers^-exponent",
                                                    law_columns, WL_COUNT(law_columns));
    t->caption = "s.e.: standard error of the exponent; from, to: its 95 % interval.";
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        t->simulated = t->simulated || law->simulated;
        wl_report_table_text(t, g->groups[i].name);
        wl_report_table_text(t, wl_law_scaling_name(law->scaling));
        wl_report_table_real(t, (double)law->n_runs);
        wl_report_table_real(t, (double)law->n_configs);
        wl_report_law_cells(t, law->law);
        wl_report_table_text(t, law->law && !isnan(law->law->beta_se) ? basis_of(law->law) : NULL);
    }
    return t;
}

/* ---- notes on the laws: each once, with the groups that it is about ---- */

static const struct wl_report_column note_columns[] = {
    { .id = "groups", .label = "group", .text = true },
    { .id = "note", .label = "note", .text = true },
};

static bool has_note(const struct wl_law_group *law, const char *note)
{
    if (wl_str_eq(law->no_law_reason, note)) return true;
    for (size_t i = 0; i < law->notes.n; i++) {
        if (wl_str_eq(law->notes.v[i], note)) return true;
    }
    return false;
}

/* Adds a row for the note of group i, unless a group before it had the same. */
static void add_note(const struct wl_report_data *g, size_t i, const char *note, struct wl_report_table *t)
{
    struct wl_text names = WL_TEXT(g->arena);
    size_t n = 0;
    for (size_t k = 0; k < g->n_groups; k++) {
        if (!has_note(g->groups[k].law, note)) continue;
        if (k < i) return;
        wl_text_addf(&names, "%s%s", n++ ? "; " : "", g->groups[k].name);
    }
    wl_report_table_text(t, n > 1 && n == g->n_groups ? "all groups" : names.s);
    wl_report_table_text(t, note);
}

static struct wl_report_table *note_table(const struct wl_report_data *g)
{
    struct wl_report_table *t =
        wl_report_table_new(g->arena, "law-notes", "Notes on the laws", note_columns, WL_COUNT(note_columns));
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        if (law->no_law_reason) add_note(g, i, law->no_law_reason, t);
        for (size_t k = 0; k < law->notes.n; k++) add_note(g, i, law->notes.v[k], t);
    }
    return t;
}

void wl_report_add_law_tables(const struct wl_report_data *g, struct wl_document *d, struct wl_section *s)
{
    struct wl_report_table *notes = note_table(g);
    wl_section_table(d, s, config_table(g));
    wl_section_table(d, s, law_table(g));
    if (notes->n_rows) wl_section_table(d, s, notes);
}
