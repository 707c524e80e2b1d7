/* The setting to use, as wattlaw recommend has it: the card at the head of the page, and the trade-off of time and
 * energy. */
#include "advise/advise.h"
#include "report/sections/sections.h"

#include <math.h>

static const double slowdown = 0.10, probability = 0.9;

/* The choice of one workload. */
struct chosen {
    struct wl_choose_campaign campaign;
    struct wl_choose_limit limit;
    struct wl_choose_options options;
    struct wl_choose_input input;
    struct wl_choose_result result;
};

/* Least energy, at most 10 % slower than the reference with probability .9; out->result.rows NULL: no choice to show
 * (one setting, no energy). */
static int choose(const struct wl_report_data *g, const struct wl_observations *obs, struct chosen *out,
                  struct wl_err *e)
{
    const struct wl_choose_campaign_options how = {
        .drop_epochs = g->options.drop_epochs, .node_size = NAN, .global_batch = NAN, .site_power_w = NAN
    };
    struct wl_err none;
    out->result.rows = NULL;
    if (wl_choose_campaign(obs, &how, &out->campaign, g->arena, &none) || out->campaign.n < 2) return 0;
    out->limit = (struct wl_choose_limit) { "slowdown of 10 %", WL_CHOOSE_TIME, true, 1 + slowdown };
    out->options = (struct wl_choose_options) { .limits = &out->limit,
                                                .n_limits = 1,
                                                .probability = probability,
                                                .max_power_w = NAN,
                                                .prices = { 1, NAN, NAN, NAN, NAN } };
    out->input = wl_choose_campaign_input(&out->campaign);
    if (wl_choose_unknown(&out->input, &out->options, WL_CHOOSE_ENERGY)) return 0;
    const struct wl_choose_reference_options same = { 0 };
    int rc = wl_choose_references(&out->campaign, obs, &same, &out->options, g->arena, e);
    return rc ? rc : wl_choose(&out->input, &out->options, &out->result, g->arena, e);
}

/* ---- the card ---- */

static const char *kind(const struct chosen *c) { return wl_provenance_mark(c->campaign.any_from); }

static char *percent(double v, struct wl_arena *a) { return wl_significant_digits(a, 100 * v, 2); }

static void put_saving(const struct chosen *c, struct wl_text *to, struct wl_arena *a)
{
    const struct wl_estimate *e = &c->result.saving[WL_CHOOSE_ENERGY], *t = &c->result.saving[WL_CHOOSE_TIME];
    const size_t reference = wl_choose_reference_of(&c->options, (size_t)c->result.choice);
    if (reference == WL_CHOOSE_NO_REFERENCE) {
        wl_text_add(to, ", whose saving is not known: it was not measured without a cap");
        return;
    }
    if (reference == (size_t)c->result.choice) {
        wl_text_add(to, c->options.references
                            ? ": a lower cap saves no energy within 10 % of its time"
                            : ", which is also the fastest: nothing else saves energy within 10 % of its time");
        return;
    }
    wl_text_addf(to, ": %s %% less energy%s (95 %% interval %s to %s %%) in %s %% %s time than %s",
                 percent(1 - e->value, a), kind(c), percent(1 - e->hi, a), percent(1 - e->lo, a),
                 percent(fabs(t->value - 1), a), t->value > 1 ? "more" : "less", c->campaign.settings[reference].name);
}

static void put_card(const struct chosen *c, struct wl_document *d, struct wl_arena *a)
{
    struct wl_text text = WL_TEXT(a);
    if (c->campaign.workload) wl_text_addf(&text, "%s: ", c->campaign.workload);
    wl_text_addf(&text, "use %s", c->campaign.settings[c->result.choice].name);
    put_saving(c, &text, a);
    wl_text_add(&text, ".");
    wl_strs_add(a, &d->choice, text.s);
    for (size_t i = 0; i < c->campaign.notes.n; i++) wl_strs_add(a, &d->choice, c->campaign.notes.v[i]);
}

/* ---- the trade-off ---- */

enum member { OTHER, POSSIBLE, CERTAIN, CHOSEN, MEMBERS };
static const char *const labels[MEMBERS] = { "other settings", "possible best trade-offs", "best trade-offs",
                                             "choice" };

static enum member member_of(const struct chosen *c, size_t i)
{
    const double p = c->result.rows[i].pareto;
    if ((int)i == c->result.choice) return CHOSEN;
    return p >= 0.9 ? CERTAIN : p >= 0.1 ? POSSIBLE : OTHER;
}

static void add_members(struct wl_figure *f, const struct chosen *c, enum member m, struct wl_arena *a)
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

static struct wl_figure *figure_of(const struct chosen *c, struct wl_arena *a)
{
    const char *name = c->campaign.workload ? c->campaign.workload : "all runs";
    struct wl_figure *f = wl_figure_new(a, wl_strf(a, "trade-off-%s", wl_slug(name, a)),
                                        wl_strf(a, "Trade-off of time and energy: %s", name));
    f->caption = "Expected values of the joint model with the 95 % interval of the energy. Best trade-offs: nothing is "
                 "lower in both, with probability .9; possible: with .1.";
    f->metrics = "choice";
    f->x = (struct wl_figure_axis) {
        .label = wl_strf(a, "time %s", c->campaign.unit), .unit = "s", .log = true, .min = NAN, .max = NAN
    };
    f->y = (struct wl_figure_axis) {
        .label = wl_strf(a, "energy %s", c->campaign.unit), .unit = "J", .log = true, .min = NAN, .max = NAN
    };
    for (enum member m = OTHER; m < MEMBERS; m++) add_members(f, c, m, a);
    f->estimated = c->campaign.any_from & WL_ESTIMATED;
    f->simulated = c->campaign.any_from & WL_SIMULATED;
    wl_figure_finish(f);
    return f;
}

int wl_report_add_choice(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    struct wl_choose_workloads workloads;
    struct wl_section *s = NULL;
    int rc = wl_choose_workloads(&g->observations, NULL, 0, &workloads, g->arena, e);
    for (size_t k = 0; k < workloads.n && rc == 0; k++) {
        struct chosen *c = wl_new(g->arena, struct chosen);
        if (!*workloads.name[k]) continue;
        rc = choose(g, &workloads.obs[k], c, e);
        if (rc) return rc;
        if (!c->result.rows || c->result.choice == WL_CHOOSE_NONE) continue;
        if (!s) s = wl_document_section(d, "choice", "Which setting to use");
        put_card(c, d, g->arena);
        wl_section_figure(d, s, figure_of(c, g->arena));
    }
    return rc;
}
