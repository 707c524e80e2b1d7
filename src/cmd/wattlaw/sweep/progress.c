/* What `wattlaw sweep` shows while it runs: a progress bar, and a line for each run that ended. */
#include "cmd/wattlaw/footprint.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/rules.h"
#include "cmd/wattlaw/sweep/internal.h"
#include "cmd/wattlaw/totals.h"
#include "cmd/wattlaw/work.h"

#include <math.h>

enum { SKIPPED_SHOWN = 10 };

void wl_sweep_view_start(void *ctx, const struct wl_grid *g, size_t to_run)
{
    struct wl_sweep_view *v = ctx;
    v->grid = g;
    v->to_run = to_run;
    wl_sweep_print_count(v->x, g, WL_STDERR);
    wl_sweep_print_skipped(g, SKIPPED_SHOWN, WL_STDERR);
    if (to_run && to_run < g->n_runs) wl_eprint("%zu of %zu runs are still to be made\n", to_run, g->n_runs);
    wl_progress_start(&v->bar, "sweep");
}

void wl_sweep_view_tick(void *ctx, double done, double total, double left_s, const char *note)
{
    struct wl_sweep_view *v = ctx;
    wl_progress_update(&v->bar, done, total, left_s, note);
}

void wl_sweep_view_control(void *ctx, const char *text, size_t to_run)
{
    struct wl_sweep_view *v = ctx;
    v->to_run = to_run;
    if (!text) return;
    wl_progress_clear(&v->bar);
    wl_eprint("%s\n", text);
}

/* Carbon and cost of the run, if the experiment gives an intensity or a price. */
static void print_footprint(const struct wl_sweep_view *v, const struct wl_run_result *r, struct wl_arena *a)
{
    const char *why;
    const struct wl_amount energy = wl_totals_energy(r, NAN);
    if (isnan(energy.value)) return;
    struct wl_footprint f = wl_cmd_footprint_of_run(&v->footprint, r->store, r->run, &why, a);
    const char *brief = wl_cmd_footprint_brief(&f, &energy, a);
    if (brief) wl_eprint(", %s", brief);
}

static void print_steps(const struct wl_run_result *r, struct wl_arena *a)
{
    const struct wl_span_row *steps = wl_work_span(r->derived.spans, r->derived.n_spans, WL_SPAN_STEPS);
    if (!steps || !(steps->steps > 0)) return;
    wl_eprint(", %s steps", wl_number_text(steps->steps, a));
    if (steps->tokens > 0) wl_eprint(", %s tokens", wl_number_text(steps->tokens, a));
}

static void print_rules(const struct wl_sweep_view *v, const struct wl_run_result *r, struct wl_arena *a)
{
    struct wl_rule_checks checks;
    struct wl_store *s;
    struct wl_err e;
    if (!v->x->measure.rules) return;
    int rc = wl_store_open(&s, r->store, WL_STORE_READ, a, &e);
    if (rc == 0) {
        rc = wl_rules_mlperf(s, r->run, &checks, a, &e);
        wl_store_close(s);
    }
    wl_eprint("      %s\n", rc < 0 ? e.msg : wl_rules_brief(&checks, a));
}

void wl_sweep_view_run(void *ctx, const struct wl_grid *g, size_t planned, int64_t run, const struct wl_run_result *r)
{
    struct wl_sweep_view *v = ctx;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_planned_run *p = &g->runs[planned];
    wl_progress_clear(&v->bar);
    v->ended += r->status != WL_RUN_INTERRUPTED; /* in a job: it gets another attempt */
    wl_eprint("%zu/%zu  run %lld  %s, repeat %lld: ", v->ended, v->to_run, (long long)run, g->trials[p->trial].label,
              (long long)p->repeat);
    if (r->status == WL_RUN_DONE) {
        wl_eprint("%s", wl_human_time(a, (double)(r->end_ns - r->start_ns) / WL_NS_PER_S));
        const struct wl_amount energy = wl_totals_energy(r, NAN);
        if (!isnan(energy.value)) wl_eprint(", %s", wl_amount_text(&energy, a));
        print_footprint(v, r, a);
        if (r->derived.n_epochs)
            wl_eprint(", %s", wl_format_count(r->derived.n_epochs, "epoch", a));
        else
            print_steps(r, a);
        wl_eprint("\n");
        print_rules(v, r, a);
    } else {
        const char *said = r->status == WL_RUN_FAILED && r->log_tail ? wl_str_last_line(a, r->log_tail) : NULL;
        wl_fprint_in(WL_STDERR, WL_BAD, "%s", r->error);
        wl_eprint("%s%.*s\n", said ? ": " : "", WL_SWEEP_LINE_MAX, said ? said : "");
    }
    wl_arena_free(a);
}
