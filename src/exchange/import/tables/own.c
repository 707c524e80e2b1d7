#include "exchange/import/tables/own.h"

#include <math.h>
#include <string.h>

struct wl_own_run *wl_own_run_new(const char *name, struct wl_arena *parent)
{
    struct wl_arena *a = wl_arena_new(parent);
    struct wl_own_run *run = wl_new(a, struct wl_own_run);
    *run = (struct wl_own_run) {
        .a = a, .name = wl_strdup(a, name), .set = wl_settings_none, .start_ns = WL_NO_NS, .time_s = NAN
    };
    return run;
}

static struct wl_own_epoch empty_epoch(int64_t epoch)
{
    return (struct wl_own_epoch) { epoch, NAN, NAN, NAN, NAN, NAN, { NAN, NAN, NAN }, false };
}

struct wl_own_epoch *wl_own_run_epoch(struct wl_own_run *run, int64_t epoch)
{
    for (size_t i = 0; i < run->n_epochs; i++)
        if (run->epochs[i].epoch == epoch) return &run->epochs[i];
    WL_GROW(run->a, run->epochs, run->n_epochs, run->epochs_cap);
    run->epochs[run->n_epochs] = empty_epoch(epoch);
    return &run->epochs[run->n_epochs++];
}

struct wl_own_epoch *wl_own_run_steps(struct wl_own_run *run)
{
    if (run->steps) return run->steps;
    run->steps = wl_new(run->a, struct wl_own_epoch);
    *run->steps = empty_epoch(0);
    return run->steps;
}

void wl_own_run_metric(struct wl_own_run *run, int64_t epoch, const char *name, double value)
{
    WL_GROW(run->a, run->metrics, run->n_metrics, run->metrics_cap);
    run->metrics[run->n_metrics++] =
        (struct wl_metric_row) { epoch ? (double)epoch : NAN, wl_strdup(run->a, name), value };
}

static const char *copy(struct wl_arena *a, const char *s) { return s ? wl_strdup(a, s) : NULL; }

void wl_own_run_define(struct wl_own_run *run, const struct wl_metric_def_row *def)
{
    for (size_t i = 0; i < run->n_defs; i++)
        if (wl_str_eq(run->defs[i].name, def->name)) return;
    WL_GROW(run->a, run->defs, run->n_defs, run->defs_cap);
    struct wl_metric_def_row *x = &run->defs[run->n_defs++];
    *x = *def;
    x->name = wl_strdup(run->a, def->name);
    x->label = copy(run->a, def->label);
    x->unit = copy(run->a, def->unit);
    x->baseline_of = copy(run->a, def->baseline_of);
    x->place = (int64_t)run->n_defs;
}

double wl_own_larger(struct wl_slice better)
{
    return wl_slice_eq(better, "larger") ? 1 : wl_slice_eq(better, "smaller") ? 0 : NAN;
}

/* A choice, or an axis of the user's own. */
static void set_extra(struct wl_own_run *run, const char *name, const char *text)
{
    for (size_t i = 0; i < run->n_extra; i++)
        if (wl_str_eq(run->extra[i].name, name)) return;
    if (run->n_extra < WL_COUNT(run->extra))
        run->extra[run->n_extra++] = (struct wl_setting_pair) { wl_strdup(run->a, name), wl_strdup(run->a, text) };
}

int wl_own_run_setting(struct wl_own_run *run, const char *name, const char *text, struct wl_err *e)
{
    const struct wl_setting *s = wl_setting_find(name);
    double v;
    if (wl_str_eq(name, "node") || wl_str_eq(name, "host")) {
        run->host = wl_strdup(run->a, text);
    } else if (!s) {
        set_extra(run, name, text);
    } else if (s->type == WL_SETTING_TEXT) {
        wl_setting_set_string(s, &run->set, wl_strdup(run->a, text));
    } else if (!wl_slice_real(wl_slice_of(text), &v)) {
        return wl_fail(e, WL_EINVAL, "%s: \"%.60s\" is not a number", name, text);
    } else {
        wl_setting_set_real(s, &run->set, v);
    }
    return 0;
}

/* ---- a run of the store ---- */

static const struct wl_own_epoch *whole_of(const struct wl_own_run *run)
{
    for (size_t i = 0; i < run->n_epochs; i++)
        if (run->epochs[i].epoch == 0) return &run->epochs[i];
    return NULL;
}

/* The energy of an epoch (0: of the run), of which the table does not say what devices drew it. */
static struct wl_table_energy sum_of(const struct wl_own_epoch *x, double time_s)
{
    return (struct wl_table_energy) { .epoch = x->epoch,
                                      .uuid = "counted",
                                      .scope = "node",
                                      .integral = true,
                                      .estimated = x->estimated,
                                      .energy_j = x->energy_j,
                                      .power_w = x->energy_j / time_s,
                                      .bounds = &x->bounds,
                                      .why = isnan(x->energy_j) ? "the table has none" : NULL };
}

static void set_epochs(const struct wl_own_run *run, struct wl_table_row *row)
{
    struct wl_epoch_row *v = wl_new_array(run->a, struct wl_epoch_row, run->n_epochs + 1);
    double sum = 0;
    for (size_t i = 0; i < run->n_epochs; i++) {
        const struct wl_own_epoch *x = &run->epochs[i];
        if (x->epoch == 0) continue;
        v[row->n_epochs++] =
            (struct wl_epoch_row) { x->epoch, WL_NO_NS, WL_NO_NS, x->time_s, x->samples, x->updates, x->tokens };
        sum += x->time_s;
    }
    row->epochs = v;
    if (isnan(row->time_s)) row->time_s = sum;
}

/* Of the whole run what the file has of devices, or else their sum; and the sums of epochs. */
static void set_energies(const struct wl_own_run *run, struct wl_table_row *row)
{
    const struct wl_own_epoch *whole = whole_of(run);
    struct wl_table_energy *v = wl_new_array(run->a, struct wl_table_energy, run->n_devices + run->n_epochs + 1);
    for (size_t i = 0; i < run->n_devices; i++) {
        v[row->n_energies] = run->devices[i].energy;
        v[row->n_energies++].bounds = &run->devices[i].bounds;
    }
    for (size_t i = 0; i < run->n_epochs; i++) {
        const struct wl_own_epoch *x = &run->epochs[i];
        if (isnan(x->energy_j) || (x->epoch == 0 && run->n_devices)) continue;
        v[row->n_energies++] = sum_of(x, x->epoch ? x->time_s : row->time_s);
    }
    if (row->n_energies && !run->n_devices && (!whole || isnan(whole->energy_j))) {
        static const struct wl_own_epoch none = { .energy_j = NAN, .bounds = { NAN, NAN, NAN } };
        v[row->n_energies] = sum_of(&none, 1);
        v[row->n_energies++].why = "the table has energies of epochs and not of what is between them";
    }
    row->energies = v;
}

/* Of a run without epochs: what laws read of it, which may be a part that has an energy of its own. */
static void set_steps(const struct wl_own_run *run, struct wl_table_row *row)
{
    const struct wl_own_epoch *x = run->steps ? run->steps : whole_of(run);
    if (!x || row->n_epochs) return;
    row->steps = x->updates;
    row->samples = x->samples;
    row->tokens = x->tokens;
    if (x != run->steps) return;
    struct wl_table_energy *energy = wl_new(run->a, struct wl_table_energy);
    *energy = sum_of(x, x->time_s);
    row->steps_s = x->time_s;
    row->steps_energy = energy;
}

int wl_own_run_add(struct wl_import *im, struct wl_own_run *run, struct wl_err *e)
{
    const struct wl_own_epoch *whole = whole_of(run);
    struct wl_table_row row = wl_table_row_none;
    if (run->simulated) {
        wl_import_pass_over(im, "simulated runs, in which nothing was measured", 1);
        im->n_known_rows++; /* not an empty file */
        return 0;
    }
    row.part = wl_strf(run->a, "run %s", run->name);
    row.set = run->set;
    if (run->n_extra) row.set.extra = wl_settings_extra(run->extra, run->n_extra, run->a);
    row.host = run->host;
    row.start_ns = run->start_ns;
    row.time_s = !isnan(run->time_s) ? run->time_s : whole ? whole->time_s : NAN;
    set_epochs(run, &row);
    set_energies(run, &row);
    row.metrics = run->metrics;
    row.n_metrics = run->n_metrics;
    row.metric_defs = run->defs;
    row.n_metric_defs = run->n_defs;
    set_steps(run, &row);
    return wl_table_add(im, &row, e);
}
