/* wattlaw show: the runs of a store, their epochs, or one run in full (show_run.c). */
#include "cmd/wattlaw/show/show.h"
#include "campaign/campaign.h"
#include "cmd/wattlaw/attribution.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/rules.h"
#include "cmd/wattlaw/screen.h"
#include "cmd/wattlaw/work.h"

#include <math.h>
#include <string.h>

struct show_options {
    const char *campaign, *rules, *attribute, *training;
    int64_t run;
    bool epochs, json, all;
};

static const struct wl_opt show_rows[] = {
    { .name = "run",
      .type = WL_INT,
      .offset = offsetof(struct show_options, run),
      .def = "0",
      .min = 0,
      .max = WL_NO_MAX,
      .help = "number of a run to show in full; 0: a table of all runs" },
    { .name = "epochs",
      .type = WL_FLAG,
      .offset = offsetof(struct show_options, epochs),
      .help = "show the observation table, one row per epoch" },
    { .name = "campaign",
      .type = WL_STR,
      .offset = offsetof(struct show_options, campaign),
      .unit = "NAME",
      .help = "name of the campaign of the store (default: all campaigns)" },
    WL_ALL_OPT_ROW(struct show_options),
    { .name = "training",
      .type = WL_STR,
      .offset = offsetof(struct show_options, training),
      .unit = "NAME",
      .help = "name of a training (measure --training) whose jobs and restarts are added up (default: none)" },
    WL_ATTRIBUTE_OPT_ROW(struct show_options, attribute),
    WL_RULES_OPT_ROW(struct show_options, "check the run of --run against the power rules of a benchmark; exit status "
                                          "1 where a rule is broken (default: none)"),
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct show_options, json),
      .help = "print the results as JSON" },
    WL_OPT_END,
};

/* ---- the table of runs ---- */

/* The settings of all runs, in order of first appearance. */
struct setting_names {
    const char **v;
    bool *number;
    size_t n, cap, number_cap;
};

static void add_names(struct setting_names *names, const struct wl_settings_values *set, struct wl_arena *a)
{
    for (size_t i = 0; i < set->n; i++) {
        size_t k = 0;
        while (k < names->n && strcmp(names->v[k], set->v[i].name) != 0) k++;
        if (k == names->n) {
            WL_GROW(a, names->v, names->n, names->cap);
            WL_GROW(a, names->number, names->n, names->number_cap);
            names->v[names->n] = set->v[i].name;
            names->number[names->n++] = true;
        }
        names->number[k] = names->number[k] && set->v[i].number;
    }
}

static const char *value_of(const struct wl_settings_values *set, const char *name)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->v[i].name, name) == 0) return set->v[i].value;
    return NULL;
}

/* "beside 3 runs for 82 % of its time", in the allocation of a sweep that packs runs; "": beside none. */
static const char *beside_text(const struct wl_run_rows *all, const struct wl_run_row *r, struct wl_arena *a)
{
    const struct wl_neighbours n = wl_neighbours_of(all, r);
    if (n.runs == 0) return "";
    return wl_strf(a, "beside %zu run%s for %.0f %% of its time", n.runs, n.runs == 1 ? "" : "s", 100 * n.share);
}

/* How the run ended if it is not done, its flag, whether caps acted, and what ran beside it. */
static const char *note_of(const struct wl_run_rows *all, const struct wl_run_row *r, struct wl_arena *a)
{
    const char *end = r->status == WL_RUN_DONE ? "" : wl_cmd_run_end(r, a);
    const char *flag = r->flag ? wl_strf(a, "flagged: %s", r->flag) : "";
    struct wl_text note = WL_TEXT(a);
    const char *caps = wl_format_caps_acted(r, a);
    const char *const parts[] = { end, flag, caps, beside_text(all, r, a) };
    for (size_t i = 0; i < WL_COUNT(parts); i++)
        if (*parts[i]) wl_text_addf(&note, "%s%s", note.n ? "; " : "", parts[i]);
    return note.s;
}

/* What runs without epochs did by their step marks: NAN, NULL for others. */
static struct wl_span_row steps_of(struct wl_store *s, const struct wl_run_row *r, struct wl_arena *a)
{
    struct wl_span_row none = { .time_s = NAN, .steps = NAN, .tokens = NAN, .energy_j = NAN };
    struct wl_span_rows spans;
    struct wl_err e;
    if (r->epochs_seen > 0 || wl_store_spans(s, r->id, &spans, a, &e)) return none;
    const struct wl_span_row *steps = wl_work_span(spans.v, spans.n, WL_SPAN_STEPS);
    return steps ? *steps : none;
}

static void add_head(struct wl_table *t, const struct setting_names *names)
{
    static const struct {
        const char *name;
        int digits;
    } measured[] = { { "util %", 3 }, { "input %", 3 }, { "clock MHz", 4 }, { "throttled %", 3 } };
    wl_table_column(t, "run", true);
    wl_table_column(t, "status", false);
    for (size_t i = 0; i < names->n; i++) wl_table_column(t, names->v[i], names->number[i]);
    wl_table_column(t, "repeat", true);
    wl_table_column(t, "epochs done", true);
    wl_table_column(t, "steps", true);
    wl_table_column(t, "tokens", true);
    wl_table_real_column(t, "tokens/s", 4);
    wl_table_unit_column(t, "epoch s", "epoch", "s", 4);
    wl_table_unit_column(t, "run s", "run", "s", 4);
    wl_table_provenance_column(t);
    wl_table_unit_column(t, "energy J", "energy", "J", 4);
    wl_table_unit_column(t, "power W", "power", "W", 4);
    wl_table_unit_column(t, "J/token", "per token", "J", 4);
    for (size_t i = 0; i < WL_COUNT(measured); i++) wl_table_real_column(t, measured[i].name, measured[i].digits);
    wl_table_column(t, "metric", false);
    wl_table_real_column(t, "value", 4);
    wl_table_column(t, "note", false);
}

static enum wl_style style_of(const struct wl_run_row *r)
{
    if (r->status == WL_RUN_FAILED || r->status == WL_RUN_INTERRUPTED) return WL_BAD;
    return r->load.busy || r->flag ? WL_CAUTION : WL_PLAIN;
}

static void add_run(struct wl_table *t, const struct wl_run_rows *all, const struct wl_run_row *r,
                    const struct wl_settings_values *set, const struct wl_span_row *steps,
                    const struct setting_names *names, struct wl_arena *a)
{
    const double measured[] = { r->util_pct, r->input_pct, r->achieved[WL_CAP_CLOCK], r->power_capped_pct };
    const struct wl_amount energy = wl_cmd_run_energy(r), power = wl_cmd_run_power(r), of_steps = wl_work_energy(steps),
                           each = wl_amount_times(&of_steps, steps->tokens > 0 ? 1 / steps->tokens : NAN, "J");
    wl_table_cellf(t, "%lld", (long long)r->id);
    wl_table_cellf(t, "%s%s", wl_run_status_names[r->status], r->load.busy ? " (busy)" : "");
    wl_table_style(t, style_of(r));
    for (size_t i = 0; i < names->n; i++) wl_table_cell(t, value_of(set, names->v[i]));
    wl_table_cellf(t, "%lld", (long long)r->repeat);
    wl_table_int(t, r->epochs_seen > 0 ? r->epochs_seen : NAN);
    wl_table_int(t, steps->steps > 0 ? steps->steps : NAN);
    wl_table_real(t, steps->tokens > 0 ? steps->tokens : NAN, 6);
    wl_table_aligned(t, steps->tokens / steps->time_s);
    wl_table_aligned(t, r->epoch_time_s);
    wl_table_aligned(t, r->time_s);
    wl_table_provenance(t, isnan(energy.value) && isnan(power.value) ? WL_MEASURED : energy.from);
    wl_table_amount(t, &energy, 0);
    wl_table_amount(t, &power, 0);
    wl_table_amount(t, &each, 0);
    for (size_t i = 0; i < WL_COUNT(measured); i++) wl_table_aligned(t, measured[i]);
    wl_table_cell(t, r->metric_unit ? wl_strf(a, "%s %s", r->metric, r->metric_unit) : r->metric);
    wl_table_aligned(t, r->metric_value);
    wl_table_cell(t, note_of(all, r, a));
    wl_table_row(t);
}

/* Values common to all runs are printed once, above the table. */
static void print_common(struct wl_table *t)
{
    static const char *const kept[] = { "run",         "repeat",  "epoch s",  "run s",   "provenance",
                                        "energy J",    "power W", "util %",   "input %", "clock MHz",
                                        "throttled %", "value",   "tokens/s", "J/token" };
    bool any = false;
    for (size_t c = 0; c < t->columns; c++) {
        const char *name = t->head[c].name;
        bool keep = false;
        for (size_t k = 0; k < WL_COUNT(kept); k++) keep = keep || wl_str_eq(name, kept[k]);
        const char *value = keep ? NULL : wl_table_take_constant(t, c);
        if (!value || wl_str_eq(value, "-")) continue;
        const bool note = wl_str_eq(name, "note");
        wl_print("%s%s%s%s", any ? ", " : "all runs  ", note ? "" : name, note ? "" : "=", value);
        any = true;
    }
    if (any) wl_print("\n\n");
}

static size_t count_busy(const struct wl_run_rows *runs, size_t n)
{
    size_t busy = 0;
    for (size_t i = 0; i < n; i++) busy += runs->v[i].load.busy != NULL;
    return busy;
}

static void explain_busy(const struct wl_run_rows *runs)
{
    const size_t n = count_busy(runs, runs->n);
    if (n > 0)
        wl_print("\nbusy: others used the machine during %zu of %zu runs, and their joules are included. show --run N "
                 "says what was seen.\n",
                 n, runs->n);
}

/* What the rows say that the screen has no room for. */
static void explain_skipped(const struct wl_run_rows *runs, size_t skipped)
{
    size_t failed = 0, flagged = 0;
    for (size_t i = 0; i < skipped; i++) {
        failed += runs->v[i].status == WL_RUN_FAILED || runs->v[i].status == WL_RUN_INTERRUPTED;
        flagged += runs->v[i].flag != NULL;
    }
    if (!skipped) return;
    wl_print("\n(--all adds the first %zu of %zu runs", skipped, runs->n);
    if (failed) wl_print(", %zu of them failed", failed);
    if (flagged) wl_print(", %zu flagged", flagged);
    wl_print(")\n");
}

static void print_runs(struct wl_store *s, const struct wl_run_rows *runs, bool all, struct wl_arena *a)
{
    enum { LINES_OF_BUSY = 3, LINES_OF_SKIPPED = 2 };
    /* last of all what was varied, the settings that print_common leaves in the table: no number says much without */
    static const char *const spare[] = { "input %",  "clock MHz", "throttled %", "epochs done", "repeat",
                                         "util %",   "power W",   "J/token",     "tokens",      "steps",
                                         "tokens/s", "metric",    "value",       "run s",       "epoch s" };
    struct setting_names names = { 0 };
    struct wl_settings_values *sets = wl_new_array(a, struct wl_settings_values, runs->n);
    for (size_t i = 0; i < runs->n; i++) {
        sets[i] = wl_settings_values(&runs->v[i].set, a);
        add_names(&names, &sets[i], a);
    }
    struct wl_table t = wl_table_new(a);
    add_head(&t, &names);
    for (size_t i = 0; i < runs->n; i++) {
        const struct wl_span_row steps = steps_of(s, &runs->v[i], a);
        add_run(&t, runs, &runs->v[i], &sets[i], &steps, &names, a);
    }
    wl_table_keep(&t, "status");
    wl_table_keep(&t, "energy J");
    wl_table_spare(&t, spare, WL_COUNT(spare));
    print_common(&t);
    const size_t below = (count_busy(runs, runs->n) ? LINES_OF_BUSY : 0) + LINES_OF_SKIPPED;
    const size_t skipped = wl_screen_table_end(&t, all, below);
    explain_busy(runs);
    explain_skipped(runs, skipped);
}

/* ---- the table of epochs ---- */

static void energy_cells(struct wl_table *t, const struct wl_observations *obs, size_t row)
{
    const double energy_j = obs->energy_j[row];
    const enum wl_provenance from = wl_provenance_of(obs->estimated[row] != 0, obs->simulated[row] != 0);
    const struct wl_amount energy = wl_amount_of(energy_j, "J", from);
    wl_table_provenance(t, isnan(energy_j) ? WL_MEASURED : from);
    wl_table_amount(t, &energy, 6);
}

static void print_epochs(const struct wl_observations *obs, bool all, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    struct wl_obs_column c;
    for (size_t i = 0; wl_obs_names[i]; i++) {
        WL_CHECK(wl_obs_find(obs, wl_obs_names[i], &c, NULL) == 0);
        if (wl_str_eq(c.name, "energy_j")) wl_table_provenance_column(&t);
        wl_table_column(&t, c.name, c.real != NULL);
    }
    for (size_t row = 0; row < obs->n; row++) {
        for (size_t i = 0; wl_obs_names[i]; i++) {
            WL_CHECK(wl_obs_find(obs, wl_obs_names[i], &c, NULL) == 0);
            if (wl_str_eq(c.name, "energy_j"))
                energy_cells(&t, obs, row);
            else if (c.text || isnan(c.real[row]))
                wl_table_cell(&t, wl_obs_text(&c, row, a));
            else
                wl_table_cellf(&t, "%.6g", c.real[row]);
        }
        wl_table_row(&t);
    }
    const size_t skipped = wl_screen_table_end(&t, all, 2);
    if (skipped) wl_screen_print_rest(wl_strf(a, "the first %zu of %zu epochs", skipped, obs->n));
}

static void print_epochs_json(const struct wl_observations *obs, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a), *list = wl_json_add_array(root, "observations");
    for (size_t row = 0; row < obs->n; row++) {
        struct wl_json *o = wl_json_add_object(list, NULL);
        struct wl_obs_column c;
        for (size_t i = 0; wl_obs_names[i]; i++) {
            WL_CHECK(wl_obs_find(obs, wl_obs_names[i], &c, NULL) == 0);
            if (c.text)
                wl_json_add_str(o, c.name, c.text[row]);
            else
                wl_json_add_number(o, c.name, c.real[row]);
        }
    }
    wl_json_print(root);
}

/* ---- the command ---- */

static int show_epochs(struct wl_store *s, int64_t campaign, const struct show_options *o, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_observations obs;
    int rc = wl_store_observations(s, campaign, &obs, a, e);
    if (rc) return rc;
    if (o->json)
        print_epochs_json(&obs, a);
    else
        print_epochs(&obs, o->all, a);
    return WL_EXIT_OK;
}

static int show_runs(struct wl_store *s, int64_t campaign, const struct show_options *o, struct wl_arena *a,
                     struct wl_err *e)
{
    struct wl_run_rows runs;
    int rc = wl_store_runs(s, &(struct wl_run_filter) { .campaign = campaign }, &runs, a, e);
    if (rc) return rc;
    if (!o->json) {
        print_runs(s, &runs, o->all, a);
        return WL_EXIT_OK;
    }
    struct wl_json *root = wl_json_root_object(a), *list = wl_json_add_array(root, "runs");
    for (size_t i = 0; i < runs.n; i++) {
        struct wl_json *row = wl_json_add_object(list, NULL);
        const struct wl_neighbours beside = wl_neighbours_of(&runs, &runs.v[i]);
        wl_show_run_json(row, &runs.v[i], a);
        if (beside.runs) wl_json_add_int(row, "neighbours", (int64_t)beside.runs);
        if (beside.runs) wl_json_add_real(row, "neighbours_share", beside.share);
    }
    wl_json_print(root);
    return WL_EXIT_OK;
}

static int show_run(struct wl_store *s, const struct show_options *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_show_details d;
    int rc = wl_show_read(s, o->run, &d, a, e);
    if (rc) return rc;
    d.attribute = o->attribute;
    d.all = o->all;
    if (!o->json) {
        wl_show_text(&d, a);
        return WL_EXIT_OK;
    }
    struct wl_json *root = wl_json_root_object(a);
    wl_show_details_json(root, &d, a);
    wl_json_print(root);
    return WL_EXIT_OK;
}

static int show_rules(struct wl_store *s, int64_t run, bool json, struct wl_arena *a, struct wl_err *e)
{
    struct wl_rule_checks checks;
    int rc = wl_rules_mlperf(s, run, &checks, a, e);
    if (rc) return rc;
    if (json) {
        struct wl_json *root = wl_json_root_object(a);
        wl_rules_json(&checks, root);
        wl_json_print(root);
    } else {
        wl_rules_print(&checks, WL_STDOUT, a);
    }
    return checks.kept ? WL_EXIT_OK : WL_EXIT_FAILED;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct show_options *o = options;
    struct wl_store *s;
    int64_t campaign;
    int rc = wl_cmd_store_open(rest, &s, a, e);
    if (rc == 0) rc = wl_cmd_campaign_find(s, o->campaign, &campaign, a, e);
    if (rc) return rc;
    if (o->rules && !o->run) return wl_fail(e, WL_EUSAGE, "--rules requires --run");
    if (o->training && (o->run || o->epochs)) return wl_fail(e, WL_EUSAGE, "--training excludes --run and --epochs");
    if (o->training) return wl_show_training(s, o->training, o->json, a, e);
    if (o->rules) return show_rules(s, o->run, o->json, a, e);
    if (o->run) return show_run(s, o, a, e);
    return o->epochs ? show_epochs(s, campaign, o, a, e) : show_runs(s, campaign, o, a, e);
}

const struct wl_cmd wl_cmd_show = {
    .name = "show",
    .usage = "[options] [STORE]",
    .help = "show the runs of a store: settings, time, energy, mean power, utilisation, metric",
    .more = "STORE is a .db file or the folder of a campaign (default: wattlaw.db, where measure writes).\n"
            "epoch s is the mean time of an epoch, run s the time of the whole job. \"-\" marks a value that was not "
            "measured;\n"
            "a column without any value is left out.\n"
            "\n"
            "    wattlaw show lab1\n"
            "    wattlaw show lab1 --run 12        one run with its epochs, devices and sampling quality\n"
            "    wattlaw show lab1 --epochs --json the observation table\n"
            "    wattlaw show --training gpt       one training over all of its jobs",
    .options = show_rows,
    .options_size = sizeof(struct show_options),
    .run = run,
};
