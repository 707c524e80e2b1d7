/* The search and its result as text, on stderr. */
#include "cmd/wattlaw/tune/view.h"

#include <math.h>

static const char *unit_of(const struct wl_tune *t) { return wl_cap_kind_unit(t->candidates->kind); }

/* "+3.1 %", of a ratio. */
static char *percent(double ratio, struct wl_arena *a) { return wl_strf(a, "%+.1f %%", 100 * (ratio - 1)); }

/* A time of 3 digits: seconds below one in ms. */
static char *short_time(double s, struct wl_arena *a)
{
    return s < 1 ? wl_strf(a, "%.3g ms", 1e3 * s) : wl_strf(a, "%.4g s", s);
}

static const char *goal_text(const struct wl_tune_view *v, struct wl_arena *a)
{
    const char *limit = "";
    if (!isnan(v->goal->slowdown))
        limit = wl_strf(a, ", with probability %g at most %g %% slower", v->goal->probability, 100 * v->goal->slowdown);
    return wl_strf(a, "%s%s", v->objective, limit);
}

void wl_tune_view_plan(const struct wl_tune_view *v, const struct wl_tune_candidates *c, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    if (v->quiet) return;
    for (size_t i = 0; i < c->n; i++) wl_text_addf(&t, "%s%.6g", i ? ", " : "", c->value[i]);
    wl_eprint("tune: %s of %s: %s %s (reference %.6g); objective: %s\n", wl_cap_kind_name(c->kind),
              c->devices ? c->devices : "the devices", t.s, wl_cap_kind_unit(c->kind), c->value[c->reference],
              goal_text(v, a));
    if (c->note) wl_eprint("note: %s\n", c->note);
}

void wl_tune_view_job(void *ctx, const struct wl_tune *t, size_t candidate)
{
    struct wl_tune_view *v = ctx;
    if (v->quiet) return;
    if (t->jobs == 1 && t->before) wl_eprint("tune: %zu windows of an earlier call count\n", t->before);
    wl_eprint("tune: job %zu starts at %.6g %s\n", t->jobs, t->candidates->value[candidate], unit_of(t));
    if (t->jobs == 1) wl_progress_start(&v->bar, "tune");
}

void wl_tune_view_window(void *ctx, const struct wl_tune *t, const struct wl_tune_window *w)
{
    struct wl_tune_view *v = ctx;
    if (v->quiet) return;
    struct wl_arena *a = wl_arena_new(NULL);
    double value = t->candidates->value[w->candidate];
    wl_progress_clear(&v->bar);
    wl_eprint("tune: run %lld, %s at %.6g %s: %s per %s, %.4g W per device, %.4g J%s\n", (long long)w->run,
              w->is_whole ? "a run" : "a window", value, unit_of(t), short_time(w->t_s, a), w->per, w->p_w,
              w->p_w * w->t_s * (double)t->candidates->n_devices,
              wl_provenance_mark(wl_provenance_of(w->estimated, w->simulated)));
    wl_arena_free(a);
}

void wl_tune_view_refused(void *ctx, const struct wl_tune *t, size_t candidate)
{
    struct wl_tune_view *v = ctx;
    wl_progress_clear(&v->bar);
    wl_eprint("tune: %.6g %s is given up: %s\n", t->candidates->value[candidate], unit_of(t),
              t->candidates->refused[candidate]);
}

void wl_tune_view_done(void *ctx, const struct wl_tune *t)
{
    struct wl_tune_view *v = ctx;
    double value = t->candidates->value[t->step.index];
    wl_progress_clear(&v->bar);
    if (v->quiet) return;
    if (t->applied)
        wl_eprint("tune: %.6g %s is set for the rest of this job\n", value, unit_of(t));
    else
        wl_eprint("tune: %.6g %s is the choice; the job continues under the limits that were found\n", value,
                  unit_of(t));
}

/* What is known: the value that is held, the steps of its window, and the best so far. */
void wl_tune_view_tick(void *ctx, const struct wl_tune *t)
{
    struct wl_tune_view *v = ctx;
    if (v->quiet) return;
    struct wl_arena *a = wl_arena_new(NULL);
    const char *best = "";
    if (t->probes.n > 1) {
        size_t i = wl_advise_cap_choice(t->search);
        best = wl_strf(a, "; best so far %.6g %s: time %s, energy %s", t->candidates->value[i], unit_of(t),
                       percent(wl_tune_view_time(t, i).value, a), percent(wl_tune_view_energy(t, i), a));
    }
    const char *of = t->steps ? wl_strf(a, " of %lld", (long long)t->steps) : ""; /* not known in the first window */
    const char *note = wl_strf(a, "%.6g %s, step %lld%s%s", t->candidates->value[t->holds], unit_of(t),
                               (long long)t->window_steps, of, best);
    wl_progress_update(&v->bar, (double)t->probes.n, (double)t->opts->goal.most, 0, note);
    wl_arena_free(a);
}

/* ---- the result ---- */

static void print_table(const struct wl_tune *t, struct wl_arena *a)
{
    struct wl_table table = wl_table_new(a);
    const struct wl_advise_cap_estimate *x = wl_advise_cap_estimates(t->search);
    const struct wl_tune_candidates *c = t->candidates;
    wl_table_column(&table, wl_cap_kind_name(c->kind), true);
    wl_table_column(&table, "probes", true);
    wl_table_column(&table, "time", true);
    wl_table_column(&table, "95 %", false);
    wl_table_column(&table, "energy", true);
    wl_table_column(&table, "P(within the limit)", true);
    for (size_t i = 0; i < c->n; i++) {
        struct wl_tune_ratio time = wl_tune_view_time(t, i);
        wl_table_cell(&table, wl_strf(a, "%.6g%s", c->value[i], i == wl_tune_view_choice(t) ? " *" : ""));
        wl_table_cell(&table, c->refused[i] ? "refused" : wl_strf(a, "%zu", x[i].windows));
        wl_table_cell(&table, percent(time.value, a));
        wl_table_cell(&table, wl_strf(a, "%s to %s", percent(time.lo, a), percent(time.hi, a)));
        wl_table_cell(&table, percent(wl_tune_view_energy(t, i), a));
        wl_table_cell(&table, isnan(t->opts->goal.slowdown) ? "-" : wl_strf(a, "%.3f", x[i].p_limit));
        wl_table_row(&table);
    }
    wl_table_print(&table, WL_STDERR, 0);
}

void wl_tune_view_result(const struct wl_tune_view *v, const struct wl_tune *t, struct wl_arena *a)
{
    if (v->quiet || t->probes.n == 0) return;
    const size_t i = wl_tune_view_choice(t);
    const struct wl_tune_ratio time = wl_tune_view_time(t, i), goal = wl_tune_view_objective(t, i);
    const char *use = wl_tune_view_use(v, t, a);
    wl_eprint("\n%s %.6g %s%s: time %s (%s to %s), energy %s%s; objective %s (%s to %s)\n",
              t->step.done ? "choice" : "choice so far", t->candidates->value[i], unit_of(t),
              i == t->candidates->reference ? ", the reference" : "", percent(time.value, a), percent(time.lo, a),
              percent(time.hi, a), percent(wl_tune_view_energy(t, i), a), wl_tune_view_provenance(t),
              percent(goal.value, a), percent(goal.lo, a), percent(goal.hi, a));
    wl_eprint("why    %s\n", wl_advise_cap_reason_text(t->step.reason));
    print_table(t, a);
    if (use) wl_eprint("use    %s\n", use);
    wl_eprint("store  %s: campaign %s\n", wl_store_path(t->store), t->opts->name);
}
