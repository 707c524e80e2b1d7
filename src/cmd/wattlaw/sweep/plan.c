/* wattlaw sweep --dry-run and --cap-dry-run: trials, runs, commands and caps. */
#include "cmd/wattlaw/cap_plan.h"
#include "cmd/wattlaw/footprint.h"
#include "cmd/wattlaw/screen.h"
#include "cmd/wattlaw/store.h"
#include "cmd/wattlaw/sweep/internal.h"

#include <math.h>
#include <string.h>

enum { SKIPPED_ON_SCREEN = 5 };

void wl_sweep_trials_json(const struct wl_grid *g, struct wl_json *to)
{
    struct wl_json *trials = wl_json_add_array(to, "trials");
    for (size_t i = 0; i < g->n_trials; i++) {
        const struct wl_trial *t = &g->trials[i];
        const struct wl_settings set = wl_trial_settings(t);
        struct wl_json *o = wl_json_add_object(trials, NULL);
        wl_json_add_str(o, "trial", t->label);
        wl_cmd_settings_json(&set, o);
        wl_json_add_str(o, "skipped", t->skip);
    }
}

/* The command of planned run i, quoted for sh. */
static int command_text(const struct wl_experiment *x, const struct wl_grid *g, size_t i, const char **text,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs words;
    const struct wl_planned_run *r = &g->runs[i];
    int rc = wl_trial_command(x, &g->trials[r->trial], r->repeat, NULL, &words, a, e);
    if (rc < 0) return rc;
    char **argv = wl_new_array(a, char *, words.n + 1);
    memcpy(argv, words.v, words.n * sizeof *argv);
    *text = wl_shell_quote(a, argv);
    return 0;
}

static int plan_json(const struct wl_experiment *x, const struct wl_grid *g, struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "campaign", x->campaign.name);
    wl_json_add_str(root, "store", x->campaign.store);
    wl_sweep_trials_json(g, root);
    struct wl_json *runs = wl_json_add_array(root, "runs");
    for (size_t i = 0; i < g->n_runs; i++) {
        const char *command;
        int rc = command_text(x, g, i, &command, a, e);
        if (rc < 0) return rc;
        struct wl_json *o = wl_json_add_object(runs, NULL);
        wl_json_add_str(o, "trial", g->trials[g->runs[i].trial].label);
        wl_json_add_int(o, "repeat", g->runs[i].repeat);
        wl_json_add_str(o, "command", command);
    }
    wl_json_print(root);
    return WL_EXIT_OK;
}

void wl_sweep_print_count(const struct wl_experiment *x, const struct wl_grid *g, enum wl_out to)
{
    size_t can = g->n_trials - g->n_skipped;
    wl_fprint(to, "campaign %s: %zu trial%s x %lld repeat%s = %zu run%s", x->campaign.name, can, can == 1 ? "" : "s",
              (long long)x->campaign.repeats, x->campaign.repeats == 1 ? "" : "s", g->n_runs,
              g->n_runs == 1 ? "" : "s");
    if (g->n_skipped) wl_fprint(to, "; %zu trial%s cannot be run here", g->n_skipped, g->n_skipped == 1 ? "" : "s");
    wl_fprint(to, "\n");
}

void wl_sweep_print_skipped(const struct wl_grid *g, size_t max_shown, enum wl_out to)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_trials; i++)
        if (g->trials[i].skip && n++ < max_shown)
            wl_fprint(to, "skipped  %s: %s\n", g->trials[i].label, g->trials[i].skip);
    if (n > max_shown) wl_fprint(to, "skipped  %zu more (--dry-run --all lists them)\n", n - max_shown);
}

static int plan_text(const struct wl_experiment *x, const struct wl_grid *g, bool all, struct wl_arena *a,
                     struct wl_err *e)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "run", true);
    wl_table_column(&t, "repeat", true);
    wl_table_column(&t, "trial", false);
    wl_table_column(&t, "command", false);
    for (size_t i = 0; i < g->n_runs; i++) {
        const char *command;
        int rc = command_text(x, g, i, &command, a, e);
        if (rc < 0) return rc;
        wl_table_cellf(&t, "%zu", i + 1);
        wl_table_cellf(&t, "%lld", (long long)g->runs[i].repeat);
        wl_table_cell(&t, g->trials[g->runs[i].trial].label);
        wl_table_cell(&t, command);
        wl_table_row(&t);
    }
    wl_sweep_print_count(x, g, WL_STDOUT);
    wl_sweep_print_skipped(g, wl_screen_is_short(all) ? SKIPPED_ON_SCREEN : g->n_trials, WL_STDOUT);
    const size_t cut = wl_screen_table_begin(&t, all, 2);
    if (cut) wl_screen_print_rest(wl_strf(a, "the last %zu of %zu runs", cut, g->n_runs));
    return WL_EXIT_OK;
}

int wl_sweep_dry_run(const struct wl_experiment *x, bool json, bool all, struct wl_arena *a, struct wl_err *e)
{
    struct wl_grid g = { 0 };
    struct wl_footprint footprint = x->measure.footprint;
    struct wl_arena *held = wl_arena_new(a); /* sensors, and reservations of devices */
    const char *scripts;
    int rc = wl_sweep_check(x, &g, &scripts, held, e);
    if (rc == 0) rc = wl_cmd_footprint_complete(&footprint, a, e);
    if (g.n_trials) {
        struct wl_err why;
        int plan_rc = json ? plan_json(x, &g, a, &why) : plan_text(x, &g, all, a, &why);
        if (rc == 0 && plan_rc < 0) rc = wl_fail(e, plan_rc, "%s", why.msg);
    }
    if (rc == 0 && scripts && !json) wl_print("scripts in %s: each can be submitted, any number of times\n", scripts);
    wl_arena_free(held);
    return rc < 0 ? rc : WL_EXIT_OK;
}

/* Trials with the same caps on the same number of nodes print the same. */
static bool already_printed(const struct wl_grid *g, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        const struct wl_trial *a = &g->trials[k], *b = &g->trials[i];
        bool same = a->nodes == b->nodes && !a->skip;
        for (int kind = 0; kind < WL_CAP_KINDS; kind++)
            same &=
                a->cap.value[kind] == b->cap.value[kind] || (isnan(a->cap.value[kind]) && isnan(b->cap.value[kind]));
        if (same) return true;
    }
    return false;
}

int wl_sweep_cap_dry_run(const struct wl_experiment *x, struct wl_arena *a, struct wl_err *e)
{
    struct wl_grid g;
    struct wl_machine here = wl_machine_detect(x, a);
    int rc = wl_grid_make(x, &here, &g, a, e);
    for (size_t i = 0; i < g.n_trials && rc == 0; i++) {
        const struct wl_trial *t = &g.trials[i];
        if (t->skip || !wl_cap_is_requested(&t->cap) || already_printed(&g, i)) continue;
        wl_print("%s\n", t->label);
        if (wl_out_flush()) break; /* stdout is closed */
        rc = wl_experiment_is_multinode(x) ? wl_trial_cap_dry_run(x, t, a, e)
                                           : wl_cmd_cap_plan_print(&t->cap, &x->cap.opts, &x->measure.power, "", a, e);
    }
    if (rc == 0) wl_sweep_print_skipped(&g, g.n_trials, WL_STDOUT);
    return rc;
}
