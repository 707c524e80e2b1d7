/* wattlaw energy: energy against worker-hours, the drivers of the rate, carbon and cost. */
#include "cmd/cmd.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/busy.h"
#include "cmd/wattlaw/curves.h"
#include "cmd/wattlaw/footprint.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/points.h"
#include "cmd/wattlaw/prior.h"
#include "cmd/wattlaw/repeats.h"
#include "cmd/wattlaw/scaling.h"
#include "cmd/wattlaw/screen.h"
#include "law/law.h"

#include <math.h>
#include <stddef.h>

struct energy_options {
    struct wl_strs map, by, at, prior;
    int64_t drop_epochs;
    struct wl_footprint footprint;
    const char *target, *work;
    bool all, json, exclude_busy;
};

static const struct wl_opt options[] = {
    { .name = "at",
      .type = WL_LINES,
      .offset = offsetof(struct energy_options, at),
      .unit = "workers=N[,N...]",
      .help = "worker counts for which to extrapolate energy, kWh per worker-hour and energy to the target (default: "
              "none)" },
    WL_PRIOR_OPT_ROW(struct energy_options),
    WL_WORK_OPT_ROW(struct energy_options),
    { .name = "by",
      .type = WL_STRS,
      .offset = offsetof(struct energy_options, by),
      .help = "columns that separate groups (default: workload and hardware)" },
    { .name = "drop-epochs",
      .type = WL_INT,
      .offset = offsetof(struct energy_options, drop_epochs),
      .def = "0",
      .min = 0,
      .max = 1e9,
      .help = "number of first epochs of each run to exclude (warm-up costs energy too)" },
    WL_FOOTPRINT_OPT_ROWS(struct energy_options, footprint),
    { .name = "target",
      .type = WL_STR,
      .offset = offsetof(struct energy_options, target),
      .unit = "METRIC=VALUE",
      .help = "report epochs, time and energy until a metric reaches a value (default: off)" },
    { .name = "all",
      .type = WL_FLAG,
      .offset = offsetof(struct energy_options, all),
      .help = "print every group in full, however many there are" },
    WL_EXCLUDE_BUSY_OPT_ROW(struct energy_options),
    WL_ANALYSIS_OPT_ROWS(struct energy_options),
    WL_OPT_END
};

static const char *between(const struct wl_energy_law_term *t, struct wl_arena *a)
{
    const char *range = wl_format_range(t->lo, t->hi, a);
    return range ? wl_strf(a, ", 95 %% interval %s", range) : ", no error estimate";
}

/* ---- text ---- */

static enum wl_provenance provenance_of(const struct wl_energy_law_group *g)
{
    return wl_provenance_of(g->estimated, g->simulated);
}

static const char *kwh_text(const struct wl_energy_law_group *g, double kwh, struct wl_arena *a)
{
    const struct wl_amount q = wl_amount_of(kwh, "kWh", provenance_of(g));
    return wl_amount_text(&q, a);
}

static void print_lines(const struct wl_energy_law_group *g, struct wl_arena *a)
{
    if (!isnan(g->origin.value))
        wl_print("  through 0  E = %s x worker-hours%s\n", kwh_text(g, g->origin.value, a), between(&g->origin, a));
    if (g->reason) {
        wl_print("  with base  %s\n", g->reason);
        return;
    }
    wl_print("  with base  E = %s %c %s x worker-hours%s", kwh_text(g, g->base.value, a),
             g->slope.value < 0 ? '-' : '+', kwh_text(g, fabs(g->slope.value), a), between(&g->slope, a));
    if (!isnan(g->r2)) wl_print(", R2 %.4f", g->r2);
    wl_print("\n");
    if (!isnan(g->base.p))
        wl_print("  base       %s%s: %s\n", wl_format_p(g->base.p, a), between(&g->base, a),
                 g->base.p < 0.05 ? "energy is not proportional to worker-hours" : "not distinguishable from 0");
    if (!isnan(g->exponent.p))
        wl_print("  exponent   E grows as worker-hours^%.3f%s; against 1: %s\n", g->exponent.value,
                 between(&g->exponent, a), wl_format_p(g->exponent.p, a));
}

/* Above, coefficients are rounding errors of the inversion. */
static const double COLLINEAR_VIF = 1e6;

static void print_drivers(const struct wl_energy_law_result *r, const struct wl_energy_law_group *g, struct wl_arena *a)
{
    if (g->drivers_reason) {
        wl_print("  drivers    not tested: %s\n", g->drivers_reason);
        return;
    }
    if (g->vif > COLLINEAR_VIF) {
        wl_print("  drivers    %s and updates cannot be separated: they are collinear (VIF %.3g)\n",
                 r->work ? r->work->name : "samples", g->vif);
        return;
    }
    wl_print("  drivers    rate on %s %+.2f (%s) and updates %+.2f (%s) per worker-hour, standardised; R2 %.2f, VIF "
             "%.1f\n",
             r->work ? r->work->name : "samples", g->by_samples.value, wl_format_p(g->by_samples.p, a),
             g->by_updates.value, wl_format_p(g->by_updates.p, a), g->drivers_r2, g->vif);
}

/* With the interval of the measurement, where the source has it. */
static struct wl_amount energy_of(const struct wl_energy_law_group *g)
{
    return wl_amount_between(g->kwh, g->kwh_lo, g->kwh_hi, "kWh", provenance_of(g));
}

static void print_group(const struct energy_options *o, const struct wl_energy_law_result *r,
                        const struct wl_energy_law_group *g, struct wl_arena *a)
{
    const struct wl_amount energy = energy_of(g), energy_j = wl_amount_times(&energy, WL_J_PER_KWH, "J");
    wl_print("%s%s%s%s\n", g->title, g->simulated ? " (simulated)" : "", g->estimated ? " (estimated energy)" : "",
             wl_law_per_work_text(r->work, a));
    if (g->n) {
        wl_print("  energy     %s in %s worker-hours, %s\n", wl_amount_text(&energy, a), wl_number_text(g->worker_h, a),
                 wl_format_count(g->n, "run", a));
        wl_print("  rate       %s per worker-hour (mean over runs; ratio of the sums %s)", kwh_text(g, g->rate, a),
                 wl_number_text(g->rate_of_sums, a));
        if (!isnan(g->rate_cv))
            wl_print(", %s to %s, coefficient of variation %.1f %%", wl_number_text(g->rate_min, a),
                     wl_number_text(g->rate_max, a), 100 * g->rate_cv);
        if (!isnan(g->rate_cv_lo))
            wl_print(" (95 %% interval %.1f to %.1f %%)", 100 * g->rate_cv_lo, 100 * g->rate_cv_hi);
        wl_print("\n");
    }
    print_lines(g, a);
    if (g->n > 1) print_drivers(r, g, a);
    if (!isnan(g->identity_worst))
        wl_print("  identity   energy / (power_w x time) is %.3f where furthest from 1\n", g->identity_worst);
    struct wl_footprint footprint = wl_footprint_with_intensity(&o->footprint, g->carbon_g_per_kwh);
    if (g->n) wl_cmd_footprint_print(&footprint, &energy_j, 10, WL_STDOUT, a);
    for (size_t i = 0; i < g->notes.n; i++) wl_print("  note       %s\n", g->notes.v[i]);
}

/* More groups than this, on a terminal than one, are shown as a table with one row each, unless --all is given. */
enum { MAX_GROUPS_IN_FULL = 6 };

static bool in_full(const struct energy_options *o, size_t groups)
{
    return o->all || groups <= (wl_screen_is_short(false) ? 1 : MAX_GROUPS_IN_FULL);
}

static void overview_row(struct wl_table *t, const struct energy_options *o, const struct wl_energy_law_group *g)
{
    struct wl_footprint f = wl_footprint_with_intensity(&o->footprint, g->carbon_g_per_kwh);
    const enum wl_provenance from = provenance_of(g);
    const struct wl_amount none = wl_amount_of(NAN, "kWh", from), energy = g->n ? energy_of(g) : none,
                           rate = wl_amount_of(g->rate, "kWh", from), slope = wl_amount_of(g->slope.value, "kWh", from),
                           carbon = wl_amount_times(&energy, 1e-3 * f.pue * f.carbon, "kg CO2e"),
                           cost = wl_amount_times(&energy, f.pue * f.price, f.currency);
    wl_table_cell(t, g->title);
    wl_table_int(t, (double)g->n);
    wl_table_provenance(t, from);
    wl_table_amount(t, &energy, 4);
    wl_table_range(t, &energy);
    wl_table_real(t, g->n ? g->worker_h : NAN, 4);
    wl_table_amount(t, &rate, 4);
    wl_table_real(t, 100 * g->rate_cv, 3);
    wl_table_amount(t, &slope, 4);
    wl_table_real(t, g->exponent.value, 3);
    wl_table_amount(t, &carbon, 4);
    wl_table_amount(t, &cost, 4);
    wl_table_int(t, g->notes.n ? (double)g->notes.n : NAN);
    wl_table_row(t);
}

static void print_overview(const struct energy_options *o, const struct wl_energy_law_result *r, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    const char *const heads[] = { "group",
                                  "runs",
                                  "kWh",
                                  "95 %",
                                  "worker-hours",
                                  "kWh per h",
                                  "variation %",
                                  "slope, kWh/h",
                                  "exponent",
                                  "kg CO2e",
                                  wl_strf(a, "cost, %s", o->footprint.currency),
                                  "notes" };
    for (size_t i = 0; i < WL_COUNT(heads); i++) {
        if (i == 2) wl_table_provenance_column(&t);
        if (i == 3)
            wl_table_range_column(&t, heads[i]);
        else
            wl_table_column(&t, heads[i], i > 0);
    }
    for (size_t i = 0; i < r->n; i++) overview_row(&t, o, &r->groups[i]);
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    wl_print("\n%zu groups: --all shows each in full, --by COLUMNS groups differently\n", r->n);
}

static void print_result(const struct energy_options *o, const struct wl_energy_law_result *r, struct wl_arena *a)
{
    if (!in_full(o, r->n)) print_overview(o, r, a);
    for (size_t i = 0; i < r->n && in_full(o, r->n); i++) {
        if (i) wl_print("\n");
        print_group(o, r, &r->groups[i], a);
    }
    if (r->n < 2) return;
    wl_print("\nall groups\n");
    if (r->reason)
        wl_print("  one rate?  not tested: %s\n", r->reason);
    else
        wl_print("  one rate?  one slope for all groups against one each: F(%g, %g) = %.3g, %s\n", r->df1, r->df2, r->f,
                 wl_format_p(r->p, a));
}

/* ---- JSON ---- */

static void add_footprint(struct wl_json *root, const struct energy_options *o, const struct wl_energy_law_result *r,
                          const struct wl_strs *uncovered)
{
    struct wl_json *f = wl_json_add_object(root, "footprint");
    wl_cmd_footprint_json(&o->footprint, f);
    struct wl_json *notes = wl_json_add_array(f, "notes");
    for (size_t i = 0; i < uncovered->n; i++) wl_json_add_str(notes, NULL, uncovered->v[i]);
    struct wl_json *groups = wl_json_add_array(f, "groups");
    for (size_t i = 0; i < r->n; i++) {
        struct wl_json *g = wl_json_add_object(groups, NULL);
        wl_json_add_str(g, "title", r->groups[i].title);
        wl_json_add_bool(g, "estimated", r->groups[i].estimated);
        wl_json_add_bool(g, "simulated", r->groups[i].simulated);
        struct wl_footprint at = wl_footprint_with_intensity(&o->footprint, r->groups[i].carbon_g_per_kwh);
        wl_cmd_footprint_energy_json(&at, r->groups[i].kwh, g);
    }
}

static bool any_run(const struct wl_energy_law_result *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->groups[i].n) return true;
    return false;
}

struct findings {
    struct wl_energy_law_result energy;
    struct wl_law_result scaling; /* normalised time and energy per epoch */
    struct wl_law_curves *curves; /* of the energy, one per group of `scaling`; NULL: not shown */
    struct wl_target_result target;
    struct wl_energy_extrapolation *extrapolations; /* one per group of `scaling`; NULL without --at */
    struct wl_strs uncovered;                       /* runs not covered by the file of carbon intensities */
};

struct input {
    const char *source; /* store, campaign folder or CSV file */
    struct wl_observations obs;
    struct wl_busy_runs busy;
    struct wl_unlike_repeats unlike;
    const char *metric; /* of the target; NULL: there is none */
    double target;      /* the value that the metric must reach */
    struct wl_points points;
    struct wl_prior prior;
};

static int read_input(struct energy_options *o, struct input *in, struct wl_strs *uncovered, struct wl_arena *a,
                      struct wl_err *e)
{
    int rc = wl_analysis_footprint(in->source, &o->footprint, uncovered, a, e);
    if (rc == 0) rc = wl_cmd_footprint_complete(&o->footprint, a, e);
    if (rc == 0) rc = wl_points_read(&o->at, &in->points, a, e);
    if (rc == 0) rc = wl_prior_read(&o->prior, WL_LAW_ENERGY, &in->prior, e);
    if (rc == 0 && o->target) rc = wl_scaling_target_parse(o->target, &in->metric, &in->target, a, e);
    if (rc == 0 && o->target && !wl_str_eq(o->work, "epochs"))
        rc = wl_fail(e, WL_EUSAGE, "--target counts epochs: it excludes --work %s", o->work);
    if (rc == 0) rc = wl_analysis_read_metric(in->source, &o->map, in->metric, &in->obs, a, e);
    if (rc == 0) rc = wl_law_per_work(&in->obs, o->work, a, e);
    if (rc == 0) rc = wl_busy_runs_find(in->source, o->exclude_busy, &in->obs, &in->busy, a, e);
    if (rc == 0) rc = wl_unlike_repeats_find(in->source, &in->obs, &in->unlike, a, e);
    if (rc || !o->footprint.intensity) return rc;
    return wl_analysis_add_carbon(in->source, o->footprint.intensity, &in->obs, uncovered, a, e);
}

static const struct wl_target_group *target_of(const struct wl_target_result *r, const struct wl_law_group *g)
{
    for (size_t i = 0; i < r->n; i++)
        if (wl_str_eq(r->groups[i].title, g->title)) return &r->groups[i];
    return NULL;
}

static int extrapolate(const struct input *in, struct findings *f, struct wl_arena *a, struct wl_err *e)
{
    if (!in->points.n) return 0;
    f->extrapolations = wl_new_array(a, struct wl_energy_extrapolation, f->scaling.n);
    for (size_t i = 0; i < f->scaling.n; i++) {
        const struct wl_law_group *g = &f->scaling.groups[i];
        int rc = wl_energy_extrapolate(g, target_of(&f->target, g), in->points.workers, in->points.n,
                                       &in->prior.response, &in->prior.power, &f->extrapolations[i], a, e);
        if (rc) return rc;
    }
    return 0;
}

static int analyse(const struct energy_options *o, const struct input *in, struct findings *out, struct wl_arena *a,
                   struct wl_err *e)
{
    struct wl_energy_law_options energy = { .by = o->by, .drop_epochs = o->drop_epochs };
    struct wl_law_options scaling = {
        .by = o->by, .drop_epochs = o->drop_epochs, .response = WL_LAW_ENERGY, .runs_only = true
    };
    int rc = wl_energy_law_fit(&in->obs, &energy, &out->energy, a, e);
    if (rc == 0) rc = wl_law_fit(&in->obs, &scaling, &out->scaling, a, e);
    if (rc == 0 && (o->json || in_full(o, out->scaling.n)))
        rc = wl_law_curves_of_result(&out->scaling, &in->prior.response, &out->curves, a, e);
    struct wl_target_options target = { .by = o->by, .metric = in->metric, .value = in->target };
    if (rc == 0 && in->metric) rc = wl_analysis_metrics(in->source, &target.others, a, e);
    if (rc == 0 && in->metric) rc = wl_target_reach(&in->obs, &target, &out->target, a, e);
    return rc ? rc : extrapolate(in, out, a, e);
}

static void print_json(const struct energy_options *o, const struct input *in, const struct findings *found,
                       struct wl_arena *a)
{
    struct wl_json *root = wl_analysis_json(in->source, a);
    struct wl_json_streams *streams = wl_json_streams_new(a);
    wl_json_add_int(root, "drop_epochs", o->drop_epochs);
    wl_energy_law_json(&found->energy, root, streams);
    wl_law_normalised_json(&found->scaling, root);
    wl_law_curves_json(found->curves, found->scaling.n, root);
    if (o->target)
        wl_target_json(&found->target, wl_json_add_object(root, "target"));
    else
        wl_json_add_null(root, "target");
    if (found->extrapolations) wl_scaling_extrapolated_json(found->extrapolations, found->scaling.n, root);
    add_footprint(root, o, &found->energy, &found->uncovered);
    wl_busy_runs_json(&in->busy, root);
    wl_unlike_repeats_json(&in->unlike, root);
    wl_json_print_streams(root, streams);
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct energy_options *o = opts;
    if (rest->args.n != 1 || rest->command)
        return wl_fail(e, WL_EUSAGE, "expected one store, campaign folder or CSV file");
    struct input in = { .source = rest->args.v[0], .target = NAN };
    struct findings found = { 0 };
    int rc = read_input(o, &in, &found.uncovered, a, e);
    if (rc == 0) rc = analyse(o, &in, &found, a, e);
    if (rc) return rc;
    if (o->json) {
        print_json(o, &in, &found, a);
    } else {
        print_result(o, &found.energy, a);
        if (in_full(o, found.scaling.n))
            wl_scaling_print_normalised(&found.scaling, found.curves, a);
        else
            wl_print("\n--all shows times and energies by worker count of %zu groups\n", found.scaling.n);
        if (o->target) wl_scaling_print_target(&found.target, a);
        for (size_t i = 0; found.extrapolations && i < found.scaling.n; i++)
            wl_scaling_print_extrapolated(&found.extrapolations[i], a);
        for (size_t i = 0; i < found.uncovered.n; i++) wl_print("note: %s\n", found.uncovered.v[i]);
        wl_busy_runs_print(&in.busy, wl_screen_is_short(o->all), a);
        wl_unlike_repeats_print(&in.unlike, wl_screen_is_short(o->all), a);
    }
    return any_run(&found.energy) ? WL_EXIT_OK : WL_EXIT_FAILED;
}

const struct wl_cmd wl_cmd_energy = {
    .name = "energy",
    .usage = "STORE|CSV [options]",
    .help = "relate energy to worker-hours, with speed-up, energy to a target metric, carbon and cost",
    .more = "Exit status 1 if no run has a worker count, a time and an energy.\n"
            "\n"
            "  wattlaw energy quickstart-results\n"
            "  wattlaw energy lab1 --pue 1.3 --carbon 380 --carbon-source 'DE 2024, yearly mean' --price 0.25\n"
            "  wattlaw energy lab1 --target val_top1=0.75 --at workers=64,128",
    .options = options,
    .options_size = sizeof(struct energy_options),
    .run = run,
};
