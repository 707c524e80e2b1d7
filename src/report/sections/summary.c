/* The head of the report: facts about the campaign, and warnings to read before the figures. */
#include "report/sections/runs.h"
#include "report/sections/sections.h"

#include <math.h>
#include <string.h>

enum { LISTED_REASONS = 6 };

/* Adds a text unless it is there already. */
static void add_once(struct wl_arena *a, struct wl_strs *list, const char *text)
{
    if (!text || !*text) return;
    for (size_t i = 0; i < list->n; i++) {
        if (wl_str_eq(list->v[i], text)) return;
    }
    wl_strs_add(a, list, text);
}

/* "a, b, c and 4 more" */
static char *join(const struct wl_strs *list, const char *between, size_t most, struct wl_arena *a)
{
    struct wl_text text = WL_TEXT(a);
    for (size_t i = 0; i < list->n && i < most; i++) wl_text_addf(&text, "%s%s", i ? between : "", list->v[i]);
    if (list->n > most) wl_text_addf(&text, " and %zu more", list->n - most);
    return text.s;
}

/* ---- sums over the finished runs ---- */

struct sampling {
    double *period, *requested, *overhead; /* [n] */
    size_t n;
    double ticks, skipped, lost;
};

static struct sampling sampling_of(const struct wl_report_data *g)
{
    struct sampling s = { .period = wl_new_array(g->arena, double, g->runs.n),
                          .requested = wl_new_array(g->arena, double, g->runs.n),
                          .overhead = wl_new_array(g->arena, double, g->runs.n) };
    for (size_t i = 0; i < g->runs.n; i++) {
        const struct wl_run_row *r = &g->runs.v[i];
        if (r->status != WL_RUN_DONE || !isfinite(r->sampling_period_s)) continue;
        s.period[s.n] = r->sampling_period_s;
        s.requested[s.n] = r->sampling_asked_s;
        s.overhead[s.n++] = 100 * r->own_cpu_s / r->time_s;
        s.ticks += isfinite(r->ticks) ? r->ticks : 0;
        s.skipped += isfinite(r->ticks_skipped) ? r->ticks_skipped : 0;
        s.lost += isfinite(r->samples_lost) ? r->samples_lost : 0;
    }
    return s;
}

static char *seconds_text(double s, struct wl_arena *a)
{
    return s < 1 ? wl_strf(a, "%s ms", wl_significant_digits(a, 1000 * s, 3))
                 : wl_strf(a, "%s s", wl_significant_digits(a, s, 3));
}

static void sampling_facts(const struct wl_report_data *g, struct wl_document *d)
{
    struct sampling s = sampling_of(g);
    if (s.n == 0) return;
    double period = wl_median(s.period, s.n, g->arena), requested = wl_median(s.requested, s.n, g->arena),
           overhead = wl_median(s.overhead, s.n, g->arena);
    char *text = wl_strf(g->arena, "every %s", seconds_text(period, g->arena));
    if (isfinite(requested))
        text = wl_strf(g->arena, "%s (requested: %s), medians over runs", text, seconds_text(requested, g->arena));
    wl_document_fact(d, "sampling period achieved", text);
    if (isfinite(overhead)) {
        wl_document_fact(d, "own overhead",
                         wl_strf(g->arena, "%s %% of one core, median over runs",
                                 wl_significant_digits(g->arena, overhead, 2)));
    }
    if (s.ticks + s.skipped == 0) return;
    wl_document_fact(d, "sampling instants",
                     wl_strf(g->arena, "%.0f, of which %.0f were too late and skipped; %.0f readings lost",
                             s.ticks + s.skipped, s.skipped, s.lost));
}

/* ---- facts ---- */

/* The newest finished run's devices, which are those of most campaigns' runs. */
static char *device_names(const struct wl_report_data *g)
{
    struct wl_strs names = { 0 };
    for (size_t i = g->store ? g->runs.n : 0; i-- > 0;) {
        if (g->runs.v[i].status != WL_RUN_DONE) continue;
        struct wl_device_rows devices;
        if (wl_store_devices(g->store, g->runs.v[i].id, &devices, g->arena, NULL)) return NULL;
        for (size_t k = 0; k < devices.n; k++) {
            const struct wl_device_row *dev = &devices.v[k];
            add_once(g->arena, &names,
                     dev->name && *dev->name ? wl_strf(g->arena, "%s (%s)", dev->name, dev->sensor) : dev->sensor);
        }
        return join(&names, ", ", 8, g->arena);
    }
    return NULL;
}

/* Averaging window and update period of the power sensors of the newest finished run, where known. */
static char *power_sensor_timing(const struct wl_report_data *g)
{
    struct wl_strs habits = { 0 };
    for (size_t i = g->store ? g->runs.n : 0; i-- > 0;) {
        struct wl_channel_rows channels;
        if (g->runs.v[i].status != WL_RUN_DONE) continue;
        if (wl_store_channels(g->store, g->runs.v[i].id, &channels, g->arena, NULL)) return NULL;
        for (size_t k = 0; k < channels.n; k++) {
            const struct wl_channel_row *c = &channels.v[k];
            if (!wl_str_eq(c->quantity, "power_w") || !isfinite(c->window_s) || !isfinite(c->update_s)) continue;
            add_once(g->arena, &habits,
                     wl_strf(g->arena, "%s: averages %s of every %s (%s)", c->scope,
                             wl_human(g->arena, c->window_s, "s"), wl_human(g->arena, c->update_s, "s"),
                             c->calibrated ? wl_strf(g->arena, "calibrated %s", c->calibrated) : "assumed"));
        }
        break;
    }
    return habits.n ? join(&habits, ", ", 4, g->arena) : NULL;
}

static char *run_counts(const struct wl_report_data *g)
{
    struct wl_text text = WL_TEXT(g->arena);
    for (int s = WL_RUN_DONE; s <= WL_RUN_INTERRUPTED; s++) {
        size_t n = wl_report_data_count_runs(g, (enum wl_run_status)s);
        if (n) wl_text_addf(&text, "%s%zu %s", text.n ? ", " : "", n, wl_run_status_names[s]);
    }
    for (int s = WL_RUN_PLANNED; s <= WL_RUN_RUNNING; s++) {
        size_t n = wl_report_data_count_runs(g, (enum wl_run_status)s);
        if (n) wl_text_addf(&text, "%s%zu %s", text.n ? ", " : "", n, wl_run_status_names[s]);
    }
    return text.s;
}

/* "2026-05-04 09:08:07 UTC" */
static char *date(int64_t wall_ns, struct wl_arena *a)
{
    const char *iso = wl_clock_iso(a, wall_ns);
    return wl_strf(a, "%.10s %.8s UTC", iso, iso + 11);
}

/* The day once where both are on the same. */
static char *period(int64_t from_ns, int64_t to_ns, struct wl_arena *a)
{
    const char *from = date(from_ns, a), *to = date(to_ns, a);
    bool same_day = strncmp(from, to, 10) == 0;
    return wl_strf(a, "%.19s to %s", from, same_day ? to + 11 : to);
}

static char *dates(const struct wl_report_data *g)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < g->runs.n; i++) {
        const struct wl_run_row *r = &g->runs.v[i];
        if (r->start.wall_ns != WL_NO_NS && r->start.wall_ns < first) first = r->start.wall_ns;
        const int64_t end = wl_store_run_end_wall_ns(r);
        if (end != WL_NO_NS && end > last) last = end;
    }
    if (first == INT64_MAX) return NULL;
    return last == INT64_MIN ? date(first, g->arena) : period(first, last, g->arena);
}

void wl_report_add_facts(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_strs campaigns = { 0 }, hosts = { 0 }, hardware = { 0 }, workloads = { 0 }, versions = { 0 };
    for (size_t i = 0; i < g->campaigns.n; i++) add_once(g->arena, &campaigns, g->campaigns.v[i].name);
    for (size_t i = 0; i < g->runs.n; i++) {
        const struct wl_run_row *r = &g->runs.v[i];
        add_once(g->arena, &hosts, r->host);
        add_once(g->arena, &hardware, r->set.hardware);
        add_once(g->arena, &workloads, r->set.workload);
        add_once(g->arena, &versions, r->version);
    }
    wl_document_fact(d, "campaign", join(&campaigns, ", ", 6, g->arena));
    wl_document_fact(d, "workload", join(&workloads, ", ", 8, g->arena));
    wl_document_fact(d, "machine", join(&hosts, ", ", 6, g->arena));
    wl_document_fact(d, "hardware", join(&hardware, ", ", 6, g->arena));
    wl_document_fact(d, "measured", dates(g));
    wl_document_fact(d, "runs", run_counts(g));
    wl_document_fact(d, "sensors", device_names(g));
    wl_document_fact(d, "power sensors", power_sensor_timing(g));
    sampling_facts(g, d);
    wl_document_fact(d, "measured with wattlaw", join(&versions, ", ", 4, g->arena));
    if (!g->options.undated)
        wl_document_fact(d, "report written",
                         wl_strf(g->arena, "%s by wattlaw " WL_VERSION, date(wl_wall_ns(), g->arena)));
}

/* ---- warnings ---- */

static void warn_unused_runs(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_strs reasons = { 0 };
    size_t unused = 0, ended = 0;
    for (size_t i = 0; i < g->runs.n; i++) {
        const struct wl_run_row *r = &g->runs.v[i];
        if (r->status == WL_RUN_PLANNED || r->status == WL_RUN_RUNNING) continue;
        ended++;
        char *reason = wl_report_run_reason(r, g->arena);
        if (r->status == WL_RUN_DONE && !r->flag) continue;
        unused++;
        wl_strs_add(g->arena, &reasons,
                    wl_strf(g->arena, "run %lld %s%s%s", (long long)r->id, wl_run_status_names[r->status],
                            reason ? ": " : "", reason ? reason : ""));
    }
    if (unused == 0) return;
    struct wl_text text = WL_TEXT(g->arena);
    for (size_t i = 0; i < reasons.n && i < LISTED_REASONS; i++)
        wl_text_addf(&text, "%s%s", i ? "; " : "", reasons.v[i]);
    if (reasons.n > LISTED_REASONS) wl_text_add(&text, "; the others are in the table of runs");
    wl_strs_add(g->arena, &d->warnings, wl_strf(g->arena, "Not used: %zu of %zu runs (%s).", unused, ended, text.s));
}

static void warn_busy(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_text text = WL_TEXT(g->arena);
    size_t busy = 0, used = 0;
    for (size_t i = 0; i < g->runs.n; i++) {
        const struct wl_run_row *r = &g->runs.v[i];
        used += r->status == WL_RUN_DONE && !r->flag;
        if (r->status != WL_RUN_DONE || r->flag || !r->load.busy || ++busy > LISTED_REASONS) continue;
        wl_text_addf(&text, "%srun %lld: %s", text.n ? "; " : "", (long long)r->id, r->load.busy);
    }
    if (busy > LISTED_REASONS) wl_text_add(&text, "; ...");
    if (busy == 0) return;
    wl_strs_add(g->arena, &d->warnings,
                wl_strf(g->arena, "Measured on a busy machine, with the joules of others: %zu of %zu runs (%s).", busy,
                        used, text.s));
}

static void warn_unlike_repeats(const struct wl_report_data *g, struct wl_document *d)
{
    const struct wl_unlike_rows *rows = &g->unlike;
    struct wl_text text = WL_TEXT(g->arena);
    for (size_t i = 0; i < rows->n && i < LISTED_REASONS; i++)
        wl_text_addf(&text, "%sruns %lld and %lld%s%s", i ? "; " : "", (long long)rows->v[i].run,
                     (long long)rows->v[i].other, rows->v[i].workload ? " of " : "",
                     rows->v[i].workload ? rows->v[i].workload : "");
    if (rows->n)
        wl_strs_add(
            g->arena, &d->warnings,
            wl_strf(g->arena,
                    "Different commands count as repeats, since their settings are the same: %s%s (wattlaw show "
                    "--run N has the command).",
                    text.s, rows->n > LISTED_REASONS ? " ..." : ""));
}

static void warn_unfinished(const struct wl_report_data *g, struct wl_document *d)
{
    size_t left = wl_report_data_count_runs(g, WL_RUN_PLANNED) + wl_report_data_count_runs(g, WL_RUN_RUNNING);
    if (left)
        wl_strs_add(g->arena, &d->warnings,
                    wl_strf(g->arena, "Incomplete: %zu of %zu runs of the campaign are still to be run.", left,
                            g->runs.n));
}

/* The reasons without the advice in parentheses, which is for the author of the experiment file. */
static void warn_skipped(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_strs reasons = { 0 };
    size_t n = 0;
    for (size_t i = 0; i < g->trials.n; i++) {
        if (!g->trials.v[i].skipped) continue;
        n++;
        const char *reason = g->trials.v[i].skipped, *advice = strstr(reason, " (");
        add_once(g->arena, &reasons, advice ? wl_strndup(g->arena, reason, (size_t)(advice - reason)) : reason);
    }
    if (n) {
        wl_strs_add(g->arena, &d->warnings,
                    wl_strf(g->arena, "Skipped: %zu of %zu configurations (%s).", n, g->trials.n,
                            join(&reasons, "; ", LISTED_REASONS, g->arena)));
    }
}

static void warn_estimates(const struct wl_report_data *g, struct wl_document *d)
{
    size_t estimated = 0, simulated = 0, imported = 0, without = 0, done = 0;
    struct wl_strs sources = { 0 };
    for (size_t i = 0; i < g->runs.n; i++) {
        const struct wl_run_row *r = &g->runs.v[i];
        if (r->status != WL_RUN_DONE) continue;
        done++;
        estimated += r->estimated && !isnan(r->energy_j);
        simulated += r->simulated && !isnan(r->energy_j);
        without += isnan(r->energy_j);
        imported += r->source != NULL;
        if (r->source) add_once(g->arena, &sources, r->source);
    }
    if (imported)
        wl_strs_add(g->arena, &d->warnings,
                    wl_strf(g->arena,
                            "Imported: %zu of %zu runs were measured by other tools (%s), and not by wattlaw.",
                            imported, done, join(&sources, ", ", LISTED_REASONS, g->arena)));
    if (simulated)
        wl_strs_add(g->arena, &d->warnings,
                    wl_strf(g->arena,
                            "Simulated: the energies of %zu of %zu runs come from a model, not from a machine.",
                            simulated, done));
    if (estimated)
        wl_strs_add(g->arena, &d->warnings,
                    wl_strf(g->arena,
                            "Estimated, not measured: the energies of %zu of %zu runs. Ratios between configurations "
                            "are more reliable than joules.",
                            estimated, done));
    if (without)
        wl_strs_add(g->arena, &d->warnings,
                    wl_strf(g->arena, "Not measured: the energies of %zu of %zu runs.", without, done));
}

/* Rows of finished runs that are excluded from laws and means. */
static void warn_excluded(const struct wl_report_data *g, struct wl_document *d)
{
    const struct wl_law_counts *c = &g->law.counts;
    if (c->first_epochs)
        wl_strs_add(g->arena, &d->warnings,
                    wl_strf(g->arena, "Excluded from means and laws: first epochs of runs (warm-up, %zu of %zu rows).",
                            c->first_epochs, c->rows));
    if (c->no_workers)
        wl_strs_add(g->arena, &d->warnings,
                    wl_strf(g->arena, "Excluded: %zu of %zu rows without a worker count.", c->no_workers, c->rows));
    if (c->no_response + c->not_positive)
        wl_strs_add(g->arena, &d->warnings,
                    wl_strf(g->arena, "Excluded: %zu of %zu rows without a time.", c->no_response + c->not_positive,
                            c->rows));
}

/* Of what work the numbers are, where that is not an epoch; and runs of unlike length that are compared as they are. */
static void warn_work(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_obs_column tokens;
    struct wl_err none;
    if (g->work)
        wl_strs_add(
            g->arena, &d->warnings,
            wl_strf(g->arena,
                    "Times and energies are those of %s (in formulas: of an epoch); sums over a run are those of the "
                    "whole run.",
                    g->span));
    else if (wl_str_eq(g->span, "run") && wl_obs_find(&g->observations, "tokens", &tokens, &none) == 0)
        wl_strs_addf(g->arena, &d->warnings,
                     "No run has epochs: times and energies are those of whole runs, however long they were. "
                     "With --work tokens they are those of the same work.");
}

void wl_report_add_warnings(const struct wl_report_data *g, struct wl_document *d)
{
    warn_work(g, d);
    warn_estimates(g, d);
    warn_unused_runs(g, d);
    warn_busy(g, d);
    warn_unlike_repeats(g, d);
    warn_skipped(g, d);
    warn_unfinished(g, d);
    warn_excluded(g, d);
}
