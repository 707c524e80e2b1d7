#include "cmd/wattlaw/tune/trials_view.h"

#include <math.h>

void wl_tune_trials_view_trial(void *ctx, const struct wl_tune_axis *axis, const struct wl_tune_trial *t)
{
    struct wl_tune_trials_view *v = ctx;
    struct wl_arena *a = wl_arena_new(NULL);
    wl_progress_clear(&v->bar);
    if (v->quiet) {
        /* the result has it */
    } else if (t->state != WL_TUNE_MEASURED) {
        wl_eprint("tune: %s %s: %s: %s\n", axis->key, axis->text[t->value], wl_tune_trial_states[t->state], t->why);
    } else {
        const char *energy = isnan(t->energy_j)
                                 ? ""
                                 : wl_strf(a, ", %.4g J%s", t->energy_j,
                                           wl_provenance_mark(wl_provenance_of(t->estimated, t->simulated)));
        wl_eprint("tune: %s %s: run %lld, %.4g s%s\n", axis->key, axis->text[t->value], (long long)t->run, t->t_s,
                  energy);
    }
    wl_arena_free(a);
}

void wl_tune_trials_view_tick(void *ctx, double done, double total, double left_s, const char *note)
{
    struct wl_tune_trials_view *v = ctx;
    if (!v->quiet) wl_progress_update(&v->bar, done, total, left_s, note);
}

/* The campaign with the choices: one trial. */
static const char *use_of(const struct wl_tune_trials_view *v, const struct wl_tune_experiment *x, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_addf(&t, "wattlaw sweep %s", v->path);
    for (size_t i = 0; i < x->n_axes; i++)
        wl_text_addf(&t, " --set sweep.%s=%s", x->axes[i].key, x->axes[i].text[x->axes[i].choice]);
    return t.s;
}

static void print_axis(const struct wl_tune_experiment *x, const struct wl_tune_axis *axis, struct wl_arena *a)
{
    struct wl_table table = wl_table_new(a);
    const char *per = x->per ? x->per : "epoch";
    wl_print("%s = %s: %s", axis->key, axis->text[axis->choice], axis->reason);
    if (!isnan(axis->probability)) wl_print("; within the limit with probability %.3f", axis->probability);
    wl_print("\n");
    wl_table_column(&table, axis->key, true);
    wl_table_column(&table, "run", true);
    wl_table_column(&table, wl_strf(a, "s per %s", per), true);
    wl_table_provenance_column(&table);
    wl_table_column(&table, wl_strf(a, "J per %s", per), true);
    wl_table_column(&table, "note", false);
    for (size_t i = 0; i < axis->n_trials; i++) {
        const struct wl_tune_trial *t = &axis->trials[i];
        wl_table_cellf(&table, "%s%s", axis->text[t->value], t->value == axis->choice ? " *" : "");
        wl_table_int(&table, t->run ? (double)t->run : NAN);
        wl_table_real(&table, t->t_s, 4);
        wl_table_provenance(&table, isnan(t->energy_j) ? WL_MEASURED : wl_provenance_of(t->estimated, t->simulated));
        wl_table_real(&table, t->energy_j, 4);
        wl_table_cell(&table, t->why ? wl_strf(a, "%s: %s", wl_tune_trial_states[t->state], t->why) : NULL);
        wl_table_row(&table);
    }
    wl_table_print(&table, WL_STDOUT, wl_out_width(WL_STDOUT));
    wl_print("\n");
}

static const char *goal_of(const struct wl_tune_trials_view *v, struct wl_arena *a)
{
    if (v->largest) return "largest batch that fits";
    return wl_strf(a, "objective %s%s%s", v->objective, v->target ? " until " : "", v->target ? v->target : "");
}

void wl_tune_trials_view_result(const struct wl_tune_trials_view *v, const struct wl_tune_experiment *x,
                                struct wl_arena *a)
{
    wl_print("%s; campaign %s in %s, %zu run%s made now\n\n", goal_of(v, a), x->campaign, x->store, x->runs,
             x->runs == 1 ? "" : "s");
    for (size_t i = 0; i < x->n_axes; i++) print_axis(x, &x->axes[i], a);
    wl_print("use    %s\n", use_of(v, x, a));
}

static void add_axis(const struct wl_tune_axis *axis, struct wl_json *o)
{
    wl_json_add_str(o, "key", axis->key);
    wl_json_add_number(o, "choice", axis->value[axis->choice]);
    wl_json_add_str(o, "reason", axis->reason);
    wl_json_add_real(o, "limit_probability", axis->probability);
    struct wl_json *list = wl_json_add_array(o, "trials");
    for (size_t i = 0; i < axis->n_trials; i++) {
        const struct wl_tune_trial *t = &axis->trials[i];
        struct wl_json *trial = wl_json_add_object(list, NULL);
        wl_json_add_number(trial, "value", axis->value[t->value]);
        wl_json_add_int(trial, "repeat", t->repeat);
        wl_json_add_str(trial, "state", wl_tune_trial_states[t->state]);
        wl_json_add_str(trial, "why", t->why);
        wl_json_add_int(trial, "run", t->run);
        wl_json_add_real(trial, "time_s", t->t_s);
        wl_json_add_real(trial, "energy_j", t->energy_j);
        wl_json_add_bool(trial, "estimated", t->estimated);
        wl_json_add_bool(trial, "simulated", t->simulated);
    }
}

struct wl_json *wl_tune_trials_view_json(const struct wl_tune_trials_view *v, const struct wl_tune_experiment *x,
                                         struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "wattlaw", WL_VERSION);
    wl_json_add_str(root, "experiment", v->path);
    wl_json_add_str(root, "store", x->store);
    wl_json_add_str(root, "campaign", x->campaign);
    wl_json_add_str(root, "objective", v->largest ? "largest_batch" : v->objective);
    wl_json_add_str(root, "target", v->target);
    wl_json_add_str(root, "per", x->per ? x->per : "epoch");
    wl_json_add_int(root, "runs", (int64_t)x->runs);
    wl_json_add_str(root, "use", use_of(v, x, a));
    struct wl_json *axes = wl_json_add_array(root, "axes");
    for (size_t i = 0; i < x->n_axes; i++) add_axis(&x->axes[i], wl_json_add_object(axes, NULL));
    return root;
}
