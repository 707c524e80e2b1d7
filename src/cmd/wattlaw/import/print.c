/* What an import prints. */
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/import/internal.h"
#include "cmd/wattlaw/store.h"

#include <math.h>

/* "2 GPUs" where all are, else "3 devices". */
static const char *devices_text(const struct wl_import_run *run, struct wl_arena *a)
{
    bool gpus = run->n_channels > 0;
    for (size_t i = 0; i < run->n_channels; i++) gpus = gpus && wl_str_eq(run->channels[i].of.scope, "gpu");
    return wl_format_count(run->devices, gpus ? "GPU" : "device", a);
}

static const char *what_text(const struct wl_import_run *run, double time_s, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_addf(&t, "%s of %s over %s", devices_text(run, a), run->hosts, wl_human_time(a, time_s));
    if (run->readings) wl_text_addf(&t, ", %s", wl_format_count(run->readings, "reading", a));
    if (!isnan(run->period_s)) wl_text_addf(&t, " about every %s", wl_human_time(a, run->period_s));
    return t.s;
}

static void print_log(const struct wl_import_run *run, struct wl_arena *a)
{
    if (run->run)
        wl_print("run %lld: %s and %s added, from %s\n", (long long)run->run,
                 wl_format_count(run->readings, "value", a), wl_format_count(run->devices, "epoch", a), run->label);
    else
        wl_print("%s: %s; nothing is stored\n", run->label, wl_format_count(run->readings, "value", a));
}

static void print_run(const struct wl_import_command *im, size_t i)
{
    const struct wl_import_run *run = &im->im.runs[i];
    const struct wl_run_row *row = &im->rows[i];
    struct wl_arena *a = im->a;
    const struct wl_amount energy = wl_cmd_run_energy(row), power = wl_cmd_run_power(row);
    const double time_s = run->n_channels ? row->time_s : wl_import_duration_s(run);
    wl_print("run %lld in %s%s%s: %s, from %s\n", (long long)run->run, wl_store_path(im->store), run->label ? ", " : "",
             run->label ? run->label : "", what_text(run, time_s, a), run->format->name);
    if (isnan(energy.value))
        wl_print("no energy: %s; see wattlaw show --run %lld\n", run->why_no_energy ? run->why_no_energy : "unknown",
                 (long long)run->run);
    else
        wl_print("energy %s, mean %s\n", wl_amount_text(&energy, a), wl_amount_text(&power, a));
}

static const char *time_text(const struct wl_import_run *run, int64_t t_ns, struct wl_arena *a)
{
    return run->undated ? wl_human_time(a, (double)t_ns / WL_NS_PER_S) : wl_clock_iso(a, t_ns);
}

static void print_channels(const struct wl_import_run *run, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "device", false);
    wl_table_column(&t, "quantity", false);
    wl_table_column(&t, "scope", false);
    wl_table_column(&t, "readings", true);
    wl_table_column(&t, "missing", true);
    wl_table_column(&t, "mean", true);
    wl_table_column(&t, "first", false);
    wl_table_column(&t, "last", false);
    for (size_t i = 0; i < run->n_channels; i++) {
        const struct wl_import_channel *c = &run->channels[i];
        wl_table_cell(&t, run->device[c->device].uuid);
        wl_table_cellf(&t, "%s%s%s", c->of.quantity, *c->of.variant ? " " : "", c->of.variant);
        wl_table_cell(&t, c->of.scope);
        wl_table_cellf(&t, "%zu", c->readings);
        wl_table_cellf(&t, "%zu", c->missing);
        wl_table_real(&t, c->of.counter ? NAN : c->mean, 5);
        wl_table_cell(&t, time_text(run, c->first_ns, a));
        wl_table_cell(&t, time_text(run, c->last_ns, a));
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, 0);
}

static void print_dry_run(const struct wl_import_command *im, size_t i)
{
    const struct wl_import_run *run = &im->im.runs[i];
    wl_print("%s%s%s: %s, from %s; nothing is stored\n", "not stored", run->label ? ", " : "",
             run->label ? run->label : "", what_text(run, wl_import_duration_s(run), im->a), run->format->name);
    if (run->n_channels) print_channels(run, im->a);
}

static void print_passed_over(const struct wl_import_counts *list, struct wl_arena *a)
{
    enum { LISTED = 8 };
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < list->n && i < LISTED; i++)
        wl_text_addf(&t, "%s%s (%zu)", i ? ", " : "", list->v[i].what, list->v[i].n);
    if (list->n > LISTED) wl_text_addf(&t, " and %zu more", list->n - LISTED);
    if (list->n) wl_log(WL_INFO, "import", "not imported: %s", t.s);
}

static void print_report(const struct wl_import_command *im)
{
    const struct wl_import_report *r = &im->im.report;
    for (size_t i = 0; i < r->notes.n; i++) wl_log(WL_WARN, "import", "%s", r->notes.v[i]);
    for (size_t i = 0; i < r->missing.n; i++)
        wl_log(WL_WARN, "import", "%s: %s missing", r->missing.v[i].what,
               r->missing.v[i].n == 1 ? "1 reading is" : wl_strf(im->a, "%zu readings are", r->missing.v[i].n));
    print_passed_over(&r->passed_over, im->a);
    if (r->duplicates) wl_log(WL_WARN, "import", "%zu readings repeat an instant: left out", r->duplicates);
    for (size_t i = 0; i < r->rejected.n; i++) wl_log(WL_WARN, "import", "left out: %s", r->rejected.v[i]);
    if (r->n_rejected > r->rejected.n)
        wl_log(WL_WARN, "import", "and %zu more invalid lines", r->n_rejected - r->rejected.n);
}

/* ---- rows of tables of results, as text ---- */

enum { LISTED_RUNS = 10 };

/* What differs between rows, or is what they are for. */
static void add_row_columns(struct wl_table *t, bool stored)
{
    if (stored) wl_table_column(t, "run", true);
    wl_table_column(t, "row", false);
    wl_table_column(t, "workload", false);
    wl_table_column(t, "hardware", false);
    wl_table_column(t, "workers", true);
    wl_table_column(t, "global batch", true);
    wl_table_column(t, "cap W", true);
    wl_table_column(t, "time s", true);
    wl_table_provenance_column(t);
    wl_table_column(t, "energy J", true);
    wl_table_column(t, "no energy", false);
    wl_table_keep(t, "energy J");
    wl_table_keep(t, "time s");
    wl_table_spare(t, (const char *const[]) { "hardware", "global batch", "no energy" }, 3);
}

static void add_row(const struct wl_import_command *im, size_t i, struct wl_table *t)
{
    const struct wl_import_run *run = &im->im.runs[i];
    if (im->store) wl_table_cellf(t, "%lld", (long long)run->run);
    wl_table_cell(t, run->label);
    wl_table_cell(t, run->set.workload);
    wl_table_cell(t, run->set.hardware);
    wl_table_int(t, run->set.workers);
    wl_table_int(t, run->set.global_batch);
    wl_table_real(t, run->set.power_cap_w, 4);
    wl_table_real(t, wl_import_duration_s(run), 5);
    const struct wl_amount energy =
        im->rows ? wl_cmd_run_energy(&im->rows[i])
                 : wl_amount_between(run->energy_j, NAN, NAN, "J",
                                     WL_IMPORTED | (run->estimated ? WL_ESTIMATED : WL_MEASURED));
    wl_table_provenance(t, energy.from);
    wl_table_amount(t, &energy, 5);
    wl_table_cell(t, run->why_no_energy);
    wl_table_row(t);
}

static void hide_if_empty(struct wl_table *t, size_t column)
{
    for (size_t i = column; i < t->cells.n; i += t->columns)
        if (!wl_str_eq(t->cells.v[i], "-")) return;
    t->head[column].hidden = true;
}

static void print_rows(const struct wl_import_command *im)
{
    const size_t n = im->im.n_runs;
    struct wl_table t = wl_table_new(im->a);
    wl_print("%s of %s%s%s\n\n", wl_format_count(n, "run", im->a), im->im.runs[0].format->title,
             im->store ? " in " : "", im->store ? wl_store_path(im->store) : "; nothing is stored");
    add_row_columns(&t, im->store);
    for (size_t i = 0; i < n && i < LISTED_RUNS; i++) add_row(im, i, &t);
    for (size_t i = 0; i < t.columns; i++) hide_if_empty(&t, i);
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

void wl_import_print(const struct wl_import_command *im)
{
    const size_t n = im->im.n_runs;
    print_report(im);
    bool rows = n > 0;
    for (size_t i = 0; i < n; i++) rows = rows && im->im.runs[i].is_row;
    if (rows) print_rows(im);
    for (size_t i = 0; i < n && i < LISTED_RUNS && !rows; i++) {
        if (im->im.runs[i].is_log)
            print_log(&im->im.runs[i], im->a);
        else if (im->store)
            print_run(im, i);
        else
            print_dry_run(im, i);
    }
    if (n > LISTED_RUNS && im->store)
        wl_print("and %zu more runs, up to run %lld: see wattlaw show %s\n", n - LISTED_RUNS,
                 (long long)im->im.runs[n - 1].run, im->o->store);
    else if (n > LISTED_RUNS)
        wl_print("and %zu more runs\n", n - LISTED_RUNS);
}
