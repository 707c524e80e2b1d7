/* What each factor that was swept changes: a finding for each, over all workloads, and a table of all levels. */
#include "report/sections/sections.h"

#include <math.h>
#include <string.h>

/* One comparison of two values of a factor, over the workloads that have it. */
struct comparison {
    const struct wl_choose_axis *axis;
    const char *value, *base;
    size_t n;                        /* workloads */
    size_t n_energy;                 /* of which with energy */
    double ln_time, ln_energy;       /* means */
    struct wl_estimate time, energy; /* of one workload its own; of several the range of their values */
    double raw_time, raw_energy;     /* of the raw means, of one workload; else not used */
    enum wl_provenance from;
};

struct comparisons {
    struct comparison *v;
    size_t n, cap;
};

static const char *label_of(const struct wl_choose_axis *axis)
{
    return axis->setting ? axis->setting->label : axis->column;
}

static bool is_cap(const struct wl_choose_axis *axis) { return axis->setting && axis->setting->is_cap; }

static struct wl_estimate range(const struct wl_estimate *all, const struct wl_estimate *one)
{
    return (struct wl_estimate) { NAN, fmin(all->lo, one->value), fmax(all->hi, one->value) };
}

static void add_to(struct comparison *c, const struct wl_choose_effect *e, enum wl_provenance from)
{
    if (c->n == 0) {
        c->time = e->time, c->energy = e->energy;
        c->raw_time = e->raw_time, c->raw_energy = e->raw_energy;
    } else {
        if (c->n == 1) c->time = (struct wl_estimate) { NAN, c->time.value, c->time.value };
        if (c->n == 1) c->energy = (struct wl_estimate) { NAN, c->energy.value, c->energy.value };
        c->time = range(&c->time, &e->time);
        c->energy = range(&c->energy, &e->energy);
    }
    c->n++;
    c->ln_time += log(e->time.value);
    c->n_energy += !isnan(e->energy.value);
    c->ln_energy += isnan(e->energy.value) ? 0 : log(e->energy.value);
    c->from |= from;
}

static struct comparisons compare(const struct wl_report_data *g)
{
    struct comparisons out = { 0 };
    for (size_t k = 0; k < g->choices.n; k++) {
        const struct wl_report_choice *c = g->choices.v[k];
        for (size_t i = 0; i < c->effects.n; i++) {
            const struct wl_choose_effect *e = &c->effects.v[i];
            const struct wl_choose_axis *axis = &c->campaign.axes[e->axis];
            size_t at = 0;
            while (at < out.n && !(wl_str_eq(out.v[at].axis->column, axis->column) &&
                                   wl_str_eq(out.v[at].value, e->value) && wl_str_eq(out.v[at].base, e->base)))
                at++;
            if (at == out.n) {
                WL_GROW(g->arena, out.v, out.n, out.cap);
                out.v[out.n++] = (struct comparison) { .axis = axis, .value = e->value, .base = e->base };
            }
            add_to(&out.v[at], e, c->campaign.any_from);
        }
    }
    return out;
}

/* ---- the finding of a factor ---- */

static double mean_time(const struct comparison *c) { return exp(c->ln_time / (double)c->n); }

static double mean_energy(const struct comparison *c)
{
    return c->n_energy ? exp(c->ln_energy / (double)c->n_energy) : NAN;
}

/* Is p the one to tell of? Of workers the largest number; of a cap what needs least energy within 10 % of the time, and
 * above all what most workloads have; else what needs least energy, or time where no energy is known. */
static bool is_better(const struct comparison *p, const struct comparison *q)
{
    if (p->n != q->n) return p->n > q->n;
    if (wl_str_eq(p->axis->column, "workers")) {
        double x = 0, y = 0;
        return wl_str_to_real(p->value, &x) == 0 && wl_str_to_real(q->value, &y) == 0 && x > y;
    }
    const double slowest = 1 + WL_CHOOSE_SLOWDOWN;
    const bool p_fits = mean_time(p) <= slowest, q_fits = mean_time(q) <= slowest;
    if (is_cap(p->axis) && p_fits != q_fits) return p_fits;
    if (is_cap(p->axis) && !p_fits) return mean_time(p) < mean_time(q);
    return p->n_energy && q->n_energy ? mean_energy(p) < mean_energy(q) : mean_time(p) < mean_time(q);
}

static char *value_text(const struct wl_choose_axis *axis, const char *value, struct wl_arena *a)
{
    const struct wl_setting *s = axis->setting;
    if (!*value) return wl_strdup(a, s && s->missing ? s->missing : "none");
    return s && s->is_cap && s->unit ? wl_strf(a, "%s %s", value, s->unit) : wl_strdup(a, value);
}

static char *percent(double v, struct wl_arena *a) { return wl_significant_digits(a, 100 * fabs(v), 2); }

/* A change of a quantity by a ratio: "11 % less energy", "3.2 times the energy". */
static char *one_change(double ratio, const char *what, struct wl_arena *a)
{
    if (ratio >= 2) return wl_strf(a, "%s times the %s", wl_significant_digits(a, ratio, 2), what);
    if (ratio <= 0.5) return wl_strf(a, "1/%s of the %s", wl_significant_digits(a, 1 / ratio, 2), what);
    return wl_strf(a, "%s %% %s %s", percent(ratio - 1, a), ratio > 1 ? "more" : "less", what);
}

static char *range_of_changes(double lo, double hi, const char *what, struct wl_arena *a)
{
    if (lo >= 2)
        return wl_strf(a, "%s to %s times the %s", wl_significant_digits(a, lo, 2), wl_significant_digits(a, hi, 2),
                       what);
    if (hi <= 0.5)
        return wl_strf(a, "1/%s to 1/%s of the %s", wl_significant_digits(a, 1 / hi, 2),
                       wl_significant_digits(a, 1 / lo, 2), what);
    if (hi < 1) return wl_strf(a, "%s to %s %% less %s", percent(1 - hi, a), percent(1 - lo, a), what);
    if (lo > 1 && hi < 2) return wl_strf(a, "%s to %s %% more %s", percent(lo - 1, a), percent(hi - 1, a), what);
    return wl_strf(a, "%s to %s times the %s", wl_significant_digits(a, lo, 3), wl_significant_digits(a, hi, 3), what);
}

/* "9.4 to 12.7 %", "2.7 to 3.8": the ends of an interval in the unit that one_change has for its middle. */
static char *ends(const struct wl_estimate *e, struct wl_arena *a)
{
    if (e->value >= 2)
        return wl_strf(a, "%s to %s", wl_significant_digits(a, e->lo, 2), wl_significant_digits(a, e->hi, 2));
    if (e->value <= 0.5)
        return wl_strf(a, "1/%s to 1/%s", wl_significant_digits(a, 1 / e->hi, 2),
                       wl_significant_digits(a, 1 / e->lo, 2));
    const double sign = e->value > 1 ? 100 : -100, x = sign * (e->lo - 1), y = sign * (e->hi - 1);
    return wl_strf(a, "%s to %s %%", wl_significant_digits(a, fmin(x, y), 2), wl_significant_digits(a, fmax(x, y), 2));
}

/* Does the ratio of raw means lie outside of the model's interval? */
static bool is_beyond(const struct wl_estimate *e, double raw) { return raw < e->lo || raw > e->hi; }

/* "11 % less energy (95 % interval 9.4 to 12.7 %)"; "no change of the energy is shown"; of several workloads the
 * range of their values. */
static char *change(const struct comparison *c, const struct wl_estimate *e, double raw, const char *what,
                    struct wl_arena *a)
{
    if (c->n > 1) return range_of_changes(e->lo, e->hi, what, a);
    const char *of_means =
        is_beyond(e, raw) ? wl_strf(a, "; of raw means %s times", wl_significant_digits(a, raw, 3)) : "";
    if (e->lo <= 1 && e->hi >= 1)
        return wl_strf(a, "no change of the %s is shown (%s to %s times%s)", what, wl_significant_digits(a, e->lo, 3),
                       wl_significant_digits(a, e->hi, 3), of_means);
    return wl_strf(a, "%s (95 %% interval %s%s)", one_change(e->value, what, a), ends(e, a), of_means);
}

static char *sentence(const struct comparison *c, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    const bool missing = !*c->value && c->axis->setting && c->axis->setting->missing; /* "no power cap" says all */
    const char *value = value_text(c->axis, c->value, a);
    char *label = wl_strdup(a, missing ? value : label_of(c->axis));
    if (c->axis->setting && label[0] >= 'a' && label[0] <= 'z') label[0] = (char)(label[0] - 'a' + 'A');
    if (wl_str_eq(c->axis->column, "workers"))
        wl_text_addf(&t, "%s workers instead of %s: %s", c->value, c->base,
                     change(c, &c->time, c->raw_time, "time", a));
    else
        wl_text_addf(&t, "%s%s%s instead of %s: %s", label, missing ? "" : " ", missing ? "" : value,
                     value_text(c->axis, c->base, a), change(c, &c->time, c->raw_time, "time", a));
    if (c->n_energy)
        wl_text_addf(&t, ", %s",
                     change(c, &c->energy, c->raw_energy,
                            c->from == WL_MEASURED ? "energy" : wl_strf(a, "%s energy", wl_provenance_word(c->from)),
                            a));
    if (c->n > 1) wl_text_addf(&t, ", over %zu workloads", c->n);
    wl_text_add(&t, ".");
    return t.s;
}

static size_t add_findings(const struct comparisons *all, struct wl_document *d, struct wl_arena *a)
{
    size_t reported = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct comparison *best = &all->v[i];
        bool first = true;
        for (size_t k = 0; k < all->n; k++) {
            if (!wl_str_eq(all->v[k].axis->column, best->axis->column)) continue;
            if (k < i) first = false;
            if (is_better(&all->v[k], best)) best = &all->v[k];
        }
        if (!first) continue;
        wl_strs_add(a, &d->findings, sentence(best, a));
        reported++;
    }
    return reported;
}

/* ---- the table ---- */

static const struct wl_report_column columns[] = {
    { .id = "workload", .label = "workload", .text = true },
    { .id = "factor", .label = "factor", .text = true },
    { .id = "value", .label = "value", .text = true },
    { .id = "base", .label = "instead of", .text = true },
    { .id = "pairs", .label = "settings compared" },
    { .id = "time", .label = "time, ratio", .metric = "effect", .digits = 4 },
    { .id = "time_lo", .label = "from", .metric = "effect", .digits = 4 },
    { .id = "time_hi", .label = "to", .metric = "effect", .digits = 4 },
    { .id = "time_raw", .label = "of raw means", .metric = "effect", .digits = 4 },
    { .id = "energy", .label = "energy, ratio", .metric = "effect", .digits = 4 },
    { .id = "energy_lo", .label = "from", .metric = "effect", .digits = 4 },
    { .id = "energy_hi", .label = "to", .metric = "effect", .digits = 4 },
    { .id = "energy_raw", .label = "of raw means", .metric = "effect", .digits = 4 },
};

static void put_estimate(struct wl_report_table *t, const struct wl_estimate *e, double raw)
{
    wl_report_table_real(t, e->value);
    wl_report_table_real(t, e->lo);
    wl_report_table_real(t, e->hi);
    wl_report_table_real(t, raw);
}

static void add_rows(const struct wl_report_choice *c, struct wl_report_table *t)
{
    for (size_t i = 0; i < c->effects.n; i++) {
        const struct wl_choose_effect *e = &c->effects.v[i];
        const struct wl_choose_axis *axis = &c->campaign.axes[e->axis];
        wl_report_table_text(t, *c->workload ? c->workload : NULL);
        wl_report_table_text(t, label_of(axis));
        wl_report_table_text(t, value_text(axis, e->value, t->arena));
        wl_report_table_text(t, value_text(axis, e->base, t->arena));
        wl_report_table_real(t, (double)e->pairs);
        put_estimate(t, &e->time, e->raw_time);
        put_estimate(t, &e->energy, e->raw_energy);
    }
    t->estimated |= (c->campaign.any_from & WL_ESTIMATED) != 0;
    t->simulated |= (c->campaign.any_from & WL_SIMULATED) != 0;
}

/* So many effects are not what the raw means say. */
static void warn_beyond(const struct wl_report_data *g, struct wl_document *d)
{
    size_t beyond = 0, all = 0;
    for (size_t k = 0; k < g->choices.n; k++) {
        const struct wl_choose_effects *effects = &g->choices.v[k]->effects;
        for (size_t i = 0; i < effects->n; i++, all++)
            beyond += is_beyond(&effects->v[i].time, effects->v[i].raw_time) ||
                      is_beyond(&effects->v[i].energy, effects->v[i].raw_energy);
    }
    if (beyond)
        wl_strs_addf(
            g->arena, &d->warnings,
            "Runs scatter: of %zu of the %zu effects in \"What each factor changes\" the ratio of raw means is "
            "outside of the interval; the model's value is nearer to the truth on average. More repeats bring "
            "the two together.",
            beyond, all);
}

void wl_report_add_effects(const struct wl_report_data *g, struct wl_document *d)
{
    const struct comparisons all = compare(g);
    if (!all.n) return;
    d->n_head_findings = add_findings(&all, d, g->arena);
    struct wl_report_table *t =
        wl_report_table_new(g->arena, "effects", "What each factor changes", columns, WL_COUNT(columns));
    t->caption =
        "Ratios of time and energy of the same work, by the joint model: geometric means over the pairs of "
        "settings that differ in this factor alone, with 95 % intervals. Where runs are few and scattered, the "
        "ratio of raw means may lie outside of its interval: the model draws it towards what all settings have "
        "in common.";
    for (size_t k = 0; k < g->choices.n; k++) add_rows(g->choices.v[k], t);
    warn_beyond(g, d);
    wl_section_table(d, wl_document_section(d, "effects", "What each factor changes"), t);
}
