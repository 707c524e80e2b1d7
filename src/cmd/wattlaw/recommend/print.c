/* The recommendation as text: the choice in a sentence and what it rests on. */
#include "cmd/wattlaw/recommend/recommend.h"

#include "cmd/wattlaw/format.h"

#include <math.h>

static const char *name_of(const struct wl_recommendation *r, int i) { return r->campaign.settings[i].name; }

const char *wl_recommend_words(enum wl_choose_quantity q)
{
    return q == WL_CHOOSE_EDP    ? "energy x time"
           : q == WL_CHOOSE_ED2P ? "energy x time^2"
           : q == WL_CHOOSE_ZEUS ? "Zeus cost"
                                 : wl_choose_quantity_name(q);
}

static bool is_of_energy(enum wl_choose_quantity q) { return q != WL_CHOOSE_TIME; }

const char *wl_recommend_unit(const struct wl_recommendation *r, enum wl_choose_quantity q)
{
    static const char *const units[] = { "J", "s", "g CO2e", NULL, "J s", "J s2", "J" };
    const char *currency = r->asked->footprint.currency;
    return q == WL_CHOOSE_COST ? currency ? currency : "EUR" : units[q];
}

/* Cost of worker-hours alone derives from no energy. */
static enum wl_provenance from_of(const struct wl_recommendation *r, enum wl_choose_quantity q, size_t i)
{
    const bool unpriced = q == WL_CHOOSE_COST && !(r->options.prices.per_kwh > 0);
    return is_of_energy(q) && !unpriced ? r->campaign.from[i] : WL_MEASURED;
}

struct wl_amount wl_recommend_amount(const struct wl_recommendation *r, enum wl_choose_quantity q, size_t i)
{
    const struct wl_estimate *v = &r->result.rows[i].amount[q];
    return wl_amount_between(v->value, v->lo, v->hi, wl_recommend_unit(r, q), from_of(r, q, i));
}

int wl_recommend_reference(const struct wl_recommendation *r)
{
    const struct wl_choose_result *x = &r->result;
    const int of = x->choice != WL_CHOOSE_NONE ? x->choice : x->nearest;
    const size_t reference =
        of == WL_CHOOSE_NONE ? r->options.reference : wl_choose_reference_of(&r->options, (size_t)of);
    return reference == WL_CHOOSE_NO_REFERENCE ? WL_CHOOSE_NONE : (int)reference;
}

/* Of a ratio of the choice to its reference, which has a provenance of its own. */
static const char *mark_of(const struct wl_recommendation *r, enum wl_choose_quantity q)
{
    return wl_provenance_mark(from_of(r, q, (size_t)r->result.choice) |
                              from_of(r, q, (size_t)wl_recommend_reference(r)));
}

/* ---- the sentence ---- */

static const char *time_text(const struct wl_estimate *t, struct wl_arena *a)
{
    return wl_strf(a, "%s (%s to %s)", wl_human_time(a, t->value), wl_human_time(a, t->lo), wl_human_time(a, t->hi));
}

/* "11.6 % less energy (9.4 to 13.7 %)", "27.8 times the time (27.3 to 28.4)" */
static const char *change_text(const char *what, const struct wl_estimate *ratio, struct wl_arena *a)
{
    if (ratio->value >= 2)
        return wl_strf(a, "%.3g times the %s (%.3g to %.3g)", ratio->value, what, ratio->lo, ratio->hi);
    const bool less = ratio->value <= 1;
    const double sign = less ? -100 : 100, x = sign * (ratio->lo - 1), y = sign * (ratio->hi - 1);
    return wl_strf(a, "%.1f %% %s %s (%.1f to %.1f %%)", sign * (ratio->value - 1), less ? "less" : "more", what,
                   fmin(x, y), fmax(x, y));
}

static const char *amounts_text(const struct wl_recommendation *r, size_t i, struct wl_arena *a)
{
    static const enum wl_choose_quantity shown[] = { WL_CHOOSE_ENERGY, WL_CHOOSE_CARBON, WL_CHOOSE_COST };
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, time_text(&r->result.rows[i].amount[WL_CHOOSE_TIME], a));
    for (size_t k = 0; k < WL_COUNT(shown); k++) {
        const struct wl_amount q = wl_recommend_amount(r, shown[k], i);
        if (!isnan(q.value)) wl_text_addf(&t, ", %s", wl_amount_text(&q, a));
    }
    return t.s;
}

/* Without another setting as reference: over the one that takes most. */
static void print_over_worst(const struct wl_recommendation *r, struct wl_arena *a)
{
    const struct wl_choose_result *x = &r->result;
    if (x->worst == WL_CHOOSE_NONE) return;
    const char *what = wl_recommend_words(r->options.minimize);
    wl_print("  against        %s, the most %s: %s%s\n", name_of(r, x->worst), what,
             change_text(what, &x->over_worst, a),
             wl_provenance_mark(from_of(r, r->options.minimize, (size_t)x->choice) |
                                from_of(r, r->options.minimize, (size_t)x->worst)));
}

/* What times are compared with, where nothing else is: "the fastest" of the settings. */
static const char *reference_words(const struct wl_recommendation *r)
{
    return r->asked->reference.n ? "the reference" : r->options.references ? "without a cap" : "the fastest";
}

static void print_saving(const struct wl_recommendation *r, struct wl_arena *a)
{
    const struct wl_choose_result *x = &r->result;
    const enum wl_choose_quantity q = r->options.minimize;
    const int reference = wl_recommend_reference(r);
    if (reference == WL_CHOOSE_NONE) {
        wl_print("  reference      unknown: the same setting was not measured without a cap\n");
        print_over_worst(r, a);
        return;
    }
    if (x->choice == reference) {
        wl_print("  reference      the choice itself%s%s\n", r->asked->reference.n ? "" : ", ",
                 r->asked->reference.n ? "" : reference_words(r));
        print_over_worst(r, a);
        return;
    }
    wl_print("  against        %s: %s", name_of(r, reference), change_text("time", &x->saving[WL_CHOOSE_TIME], a));
    if (!isnan(x->saving[WL_CHOOSE_ENERGY].value))
        wl_print(", %s%s", change_text("energy", &x->saving[WL_CHOOSE_ENERGY], a), mark_of(r, WL_CHOOSE_ENERGY));
    if (q != WL_CHOOSE_ENERGY && q != WL_CHOOSE_TIME)
        wl_print(", %s%s", change_text(wl_recommend_words(q), &x->saving[q], a), mark_of(r, q));
    wl_print("\n");
}

/* ", 8.2 % less than 1 worker, local batch 16", of the only setting ", with 8.2 % less energy than": where its interval
 * shows that there is a saving, over the reference or, if the choice is that or there is none, over the setting that
 * takes most. A saving over the reference that is not shown is said to be so: the choice may cost time, and for
 * nothing. */
static const char *shown_saving(const struct wl_recommendation *r, struct wl_arena *a)
{
    const struct wl_choose_result *x = &r->result;
    const int reference = wl_recommend_reference(r);
    const bool by_reference = reference != WL_CHOOSE_NONE && reference != x->choice;
    const struct wl_estimate *ratio = by_reference ? &x->saving[r->options.minimize] : &x->over_worst;
    const size_t over = (size_t)(by_reference ? reference : x->worst);
    const char *what = x->allowed == 1 ? wl_strf(a, " %s", wl_recommend_words(r->options.minimize)) : "";
    if (!(ratio->hi < 1))
        return !by_reference ? ""
               : *what       ? wl_strf(a, ", but not shown to have less%s than %s", what, name_of(r, (int)over))
                             : wl_strf(a, ", but not shown to be less than that of %s", name_of(r, (int)over));
    return wl_strf(a, ", %s%.1f %% less%s than %s%s", *what ? "with " : "", 100 * (1 - ratio->value), what,
                   name_of(r, (int)over),
                   wl_provenance_mark(from_of(r, r->options.minimize, (size_t)x->choice) |
                                      from_of(r, r->options.minimize, over)));
}

/* Of which settings the choice is the best; the limit that was not asked for is said in words. */
static const char *limits_text(const struct wl_recommendation *r, struct wl_arena *a)
{
    if (!r->options.n_limits) return "";
    if (!r->options.limits[0].by_default) return " within the limits";
    return wl_strf(a, " at most 10 %% slower than %s", reference_words(r));
}

/* "the least expected energy of 3 settings at most 10 % slower than the fastest". One alone may be within the limits
 * because it is, or because the runs of the others do not show it. */
static const char *rank_text(const struct wl_recommendation *r, struct wl_arena *a)
{
    const struct wl_choose_result *x = &r->result;
    if (x->allowed == 1)
        return r->options.n_limits ? wl_strf(a, "the only setting shown to be%s", limits_text(r, a))
                                   : "the only setting that may be chosen";
    return wl_strf(a, "the least expected %s of %s%s", wl_recommend_words(r->options.minimize),
                   wl_format_count(x->allowed, "setting", a), limits_text(r, a));
}

static void print_choice(const struct wl_recommendation *r, struct wl_arena *a)
{
    const struct wl_choose_result *x = &r->result;
    if (r->campaign.n == 1)
        wl_print("One setting was measured, %s: wattlaw sweep measures others to choose from.\n",
                 name_of(r, x->choice));
    else
        wl_print("Use %s: %s%s.\n", name_of(r, x->choice), rank_text(r, a), shown_saving(r, a));
    wl_print("  %-14s %s\n", r->campaign.unit, amounts_text(r, (size_t)x->choice, a));
    print_saving(r, a);
}

/* ---- what it rests on ---- */

static void print_limits(const struct wl_recommendation *r, int i, struct wl_arena *a)
{
    const int reference = wl_recommend_reference(r);
    for (size_t k = 0; k < r->options.n_limits; k++) {
        const struct wl_choose_limit *l = &r->options.limits[k];
        const bool named = l->relative && reference != WL_CHOOSE_NONE;
        wl_print("  limit          %s%s%s%s: met with probability %s\n", l->name, l->by_default ? " (default)" : "",
                 named ? " over " : "", named ? name_of(r, reference) : "",
                 wl_probability_text(r->result.rows[i].meets[k], a));
    }
}

static int fewest_workers(const struct wl_recommendation *r)
{
    int best = r->result.choice;
    for (size_t i = 0; i < r->campaign.n; i++)
        if (r->result.rows[i].tied && r->campaign.settings[i].workers < r->campaign.settings[best].workers)
            best = (int)i;
    return best;
}

static void print_ties(const struct wl_recommendation *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->campaign.n; i++) n += r->result.rows[i].tied && (int)i != r->result.choice;
    if (!n) return;
    wl_print("  no worse than 1 %%, as far as these runs show:\n");
    for (size_t i = 0; i < r->campaign.n; i++)
        if (r->result.rows[i].tied && (int)i != r->result.choice)
            wl_print("                 %s%s\n", name_of(r, (int)i),
                     (int)i == fewest_workers(r) ? " (fewest workers)" : "");
}

static void print_runner_up(const struct wl_recommendation *r, struct wl_arena *a)
{
    const struct wl_choose_result *x = &r->result;
    const enum wl_choose_quantity q = r->options.minimize;
    if (x->runner_up != WL_CHOOSE_NONE)
        wl_print("  runner-up      %s: %.1f %% more %s; the choice is the better one with probability %s\n",
                 name_of(r, x->runner_up), 100 * expm1(x->rows[x->runner_up].ln[q] - x->rows[x->choice].ln[q]),
                 wl_recommend_words(q), wl_probability_text(x->ahead, a));
    if (x->allowed > 1)
        wl_print("  confidence     within 1 %% of the best of these with probability %s, within 3 %% with %s\n",
                 wl_probability_text(x->within[0], a), wl_probability_text(x->within[1], a));
    const int next = wl_choose_next_run(x);
    if (next != WL_CHOOSE_NONE)
        wl_print("  next run       of %s: expected to lower the %s of the choice by %.1f %%\n", name_of(r, next),
                 wl_recommend_words(q), 100 * x->rows[next].gain);
}

/* At most a few; the table has the others. */
static void print_members(const struct wl_recommendation *r, const char *head, double from, double below)
{
    enum { MOST = 5 };
    size_t n = 0;
    for (size_t i = 0; i < r->campaign.n; i++) {
        const double p = r->result.rows[i].pareto;
        if (p < from || p >= below || ++n > MOST) continue;
        wl_print("%s%s", n > 1 ? "; " : head, name_of(r, (int)i));
    }
    if (n > MOST) wl_print("; and %zu more", n - MOST);
    if (n) wl_print("\n");
}

static void print_trade_off(const struct wl_recommendation *r)
{
    const struct wl_choose_result *x = &r->result;
    if (x->other == WL_CHOOSE_TIME || r->campaign.n < 2) return;
    wl_print("  trade-off of time and %s\n", wl_choose_quantity_name(x->other));
    print_members(r, "    certain      ", 0.9, 2);
    print_members(r, "    possible     ", 0.1, 0.9);
    if (x->knee != WL_CHOOSE_NONE)
        wl_print("    knee         %s\n", name_of(r, x->knee));
    else
        wl_print("    knee         none: %s\n",
                 isnan(x->depth) ? "fewer than three settings are best trade-offs" : "the front is hardly bent");
}

/* ---- no choice ---- */

static const char *limit_text(const struct wl_recommendation *r, const struct wl_choose_limit *l, double most,
                              struct wl_arena *a)
{
    if (l->relative) return wl_strf(a, "%.1f %%", 100 * (most - 1));
    if (l->quantity == WL_CHOOSE_TIME) return wl_human_time(a, most);
    const struct wl_amount q = wl_amount_of(most, wl_recommend_unit(r, l->quantity), r->campaign.any_from);
    return wl_amount_text(&q, a);
}

static void print_exclusions(const struct wl_recommendation *r)
{
    size_t shown = 0;
    for (size_t i = 0; i < r->campaign.n; i++) {
        const char *why = wl_recommend_why_not(r, i);
        bool seen = !why;
        for (size_t j = 0; j < i && !seen; j++) seen = wl_str_eq(wl_recommend_why_not(r, j), why);
        if (!seen && shown++ < 8) wl_print("  excluded       %s: %s\n", name_of(r, (int)i), why);
    }
}

/* Of a limit that was not asked for. */
static void print_way_out(const struct wl_recommendation *r)
{
    for (size_t k = 0; k < r->options.n_limits; k++)
        if (r->options.limits[k].by_default)
            wl_print("  default        %s: --max-slowdown none does without it\n", r->options.limits[k].name);
}

static void print_infeasible(const struct wl_recommendation *r, struct wl_arena *a)
{
    const struct wl_choose_result *x = &r->result;
    if (x->nearest == WL_CHOOSE_NONE) {
        wl_print("None of %zu settings may be chosen.\n", r->campaign.n);
        print_exclusions(r);
        print_way_out(r);
        return;
    }
    wl_print("No setting of %zu meets the limits with probability %g.\n", r->campaign.n, r->options.probability);
    wl_print("  binding        %s: met with probability %s by the nearest setting\n",
             r->options.limits[x->binding].name, wl_probability_text(x->rows[x->nearest].meets[x->binding], a));
    wl_print("  nearest        %s: %s\n", name_of(r, x->nearest), amounts_text(r, (size_t)x->nearest, a));
    print_limits(r, x->nearest, a);
    for (size_t k = 0; k < r->options.n_limits; k++) {
        const struct wl_choose_relaxation *v = &x->relaxed[k];
        if (v->setting == WL_CHOOSE_NONE) continue;
        wl_print("  would do       %s instead of %s: %s\n", limit_text(r, &r->options.limits[k], v->most, a),
                 r->options.limits[k].name, name_of(r, v->setting));
    }
    print_way_out(r);
}

void wl_recommend_print(const struct wl_recommendation *r, struct wl_arena *a)
{
    const struct wl_choose_result *x = &r->result;
    if (r->campaign.workload || r->one_of_several)
        wl_print("%s%s: ", r->campaign.workload ? r->campaign.workload : "runs without a workload",
                 r->campaign.any_from & WL_SIMULATED ? " (simulated)" : "");
    if (x->choice == WL_CHOOSE_NONE) {
        print_infeasible(r, a);
    } else {
        print_choice(r, a);
        print_limits(r, x->choice, a);
        print_runner_up(r, a);
        print_ties(r);
    }
    print_trade_off(r);
    if (x->choice != WL_CHOOSE_NONE) wl_print("  run it         %s\n", wl_recommend_command(r, (size_t)x->choice, a));
    for (size_t i = 0; i < r->campaign.notes.n; i++) wl_print("  note           %s\n", r->campaign.notes.v[i]);
    wl_recommend_print_table(r, a);
}
