/* The policy as text: the cap in a sentence, what it does to jobs and to the partition, lines for Slurm. */
#include "cmd/wattlaw/recommend/recommend.h"

#include "cmd/wattlaw/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_JOBS = 10 }; /* of the list of jobs that suffer, without --all */

/* ---- words ---- */

static const char *unit_of(const struct wl_policy_jobs *jobs) { return jobs->cap->domain ? "MHz" : "W"; }

const char *wl_recommend_cap_name(const struct wl_policy_jobs *jobs, size_t value, struct wl_arena *a)
{
    const bool none = jobs->uncapped && value + 1 == jobs->values;
    return none ? jobs->cap->missing : wl_strf(a, "%.4g %s", jobs->value[value], unit_of(jobs));
}

/* Beyond 1, %; 0 where "%.1f" would be -0.0. */
static double percent_over(double ratio)
{
    static const double shown = 0.05;
    const double percent = 100 * (ratio - 1);
    return fabs(percent) < shown ? 0 : percent;
}

/* "12.3 % less", "4.0 % more" */
static const char *change(double ratio, struct wl_arena *a)
{
    const double percent = percent_over(ratio);
    if (percent == 0) return "unchanged";
    return wl_strf(a, "%.1f %% %s", fabs(percent), percent < 0 ? "less" : "more");
}

static const char *interval_text(const struct wl_advise_policy_share *s, struct wl_arena *a)
{
    return wl_strf(a, "%.0f to %.0f %%", 100 * s->lo, 100 * s->hi);
}

static const char *power_text(const struct wl_recommend_policy *p, double watts, struct wl_arena *a)
{
    const struct wl_amount q = wl_amount_of(watts * p->devices, "W", p->jobs.from);
    return wl_amount_text(&q, a);
}

/* ---- the sentence ---- */

static void print_choice(const struct wl_recommend_policy *p, struct wl_arena *a)
{
    const struct wl_policy_result *r = &p->result;
    const char *name = wl_recommend_cap_name(&p->jobs, r->choice, a);
    if (r->choice == r->reference)
        wl_print("Leave %s: no lower %s saves energy and keeps %.4g %% of %s within %.4g %% of their time.\n", name,
                 p->jobs.cap->label, 100 * p->options.share, wl_format_count(p->jobs.n, "measured job", a),
                 100 * p->options.slowdown);
    else
        wl_print("Set a %s of %s on each device%s: %.1f %% of jobs take at most %.4g %% longer than with %s.\n",
                 p->jobs.cap->label, name, wl_provenance_mark(p->jobs.from), 100 * r->cap[r->choice].share.mean,
                 100 * p->options.slowdown, wl_recommend_cap_name(&p->jobs, r->reference, a));
}

static void print_power(const struct wl_recommend_policy *p, const struct wl_policy_cap *c, struct wl_arena *a)
{
    wl_print("  mean power     %s saved of %s, with %g devices at work\n",
             power_text(p, c->power_ref_w - c->power_w, a), power_text(p, c->power_ref_w, a), p->devices);
    if (isnan(c->peak_w))
        wl_print("  peak power     unknown: no peak was measured%s\n",
                 p->jobs.cap->domain ? "" : "; --max-power gives the power limit of a device without a cap");
    else
        wl_print("  peak power     %s saved of %s, %s\n", power_text(p, c->peak_ref_w - c->peak_w, a),
                 power_text(p, c->peak_ref_w, a),
                 c->peak_is_cap ? "by the power limits: no peak was measured" : "by the highest peak of any job");
}

static void print_effects(const struct wl_recommend_policy *p, struct wl_arena *a)
{
    const struct wl_policy_cap *c = &p->result.cap[p->result.choice];
    wl_print("  share          90 %% interval %s of the next %zu jobs, of the same mix as %s\n",
             interval_text(&c->share, a), p->options.further, wl_format_count(p->jobs.n, "measured job", a));
    wl_print("                 %s if they are of other workloads than the %zu measured\n",
             interval_text(&c->of_others, a), p->result.workloads);
    wl_print(
        "                 a mean over many jobs, each of which counts the same: a week's jobs can fall below it\n");
    wl_print("  energy         %s per job%s\n", change(c->energy, a), wl_provenance_mark(p->jobs.from));
    wl_print("  time           %s per job on average\n", change(c->slowdown, a));
    print_power(p, c, a);
    if (percent_over(c->energy) < 0)
        wl_print("  rebound        cheaper hours invite more jobs: with %s %% more of them nothing is saved\n",
                 wl_format_percent(1 / c->energy - 1, a));
}

/* ---- who suffers ---- */

struct ranked {
    double slowdown;
    size_t job;
};

static int slowest_first(const void *x, const void *y)
{
    const struct ranked *p = x, *q = y;
    if (p->slowdown != q->slowdown) return p->slowdown > q->slowdown ? -1 : 1;
    return (p->job > q->job) - (p->job < q->job);
}

static const struct wl_policy_cell *cell_of(const struct wl_recommend_policy *p, size_t job)
{
    return &p->result.cell[job * p->jobs.values + p->result.choice];
}

/* Jobs that are expected to exceed the slowdown, the slowest first. */
static struct ranked *find_sufferers(const struct wl_recommend_policy *p, size_t *n, struct wl_arena *a)
{
    struct ranked *v = wl_new_array(a, struct ranked, p->jobs.n);
    *n = 0;
    for (size_t j = 0; j < p->jobs.n; j++)
        if (cell_of(p, j)->slowdown > 1 + p->options.slowdown)
            v[(*n)++] = (struct ranked) { cell_of(p, j)->slowdown, j };
    if (*n) qsort(v, *n, sizeof *v, slowest_first);
    return v;
}

static void print_sufferers(const struct wl_recommend_policy *p, struct wl_arena *a)
{
    size_t n;
    const struct ranked *v = find_sufferers(p, &n, a);
    const size_t shown = p->asked->all || n <= MAX_JOBS ? n : MAX_JOBS;
    if (!n) {
        wl_print("  suffer         none of the measured jobs is expected to exceed the slowdown\n");
        return;
    }
    wl_print("  suffer         %zu of %zu measured jobs %s expected to exceed the slowdown%s\n", n, p->jobs.n,
             n == 1 ? "is" : "are", shown < n ? "; the slowest (--all shows every one):" : ":");
    for (size_t k = 0; k < shown; k++) {
        const struct wl_policy_cell *c = cell_of(p, v[k].job);
        wl_print("    %s: %.1f %% longer (90 %% interval %.1f to %.1f %%)%s%s%s\n", p->jobs.v[v[k].job].name,
                 100 * (c->slowdown - 1), 100 * (c->lo - 1), 100 * (c->hi - 1),
                 c->measured ? "" : ", not measured there", p->sources->n > 1 ? ", " : "",
                 p->sources->n > 1 ? p->jobs.v[v[k].job].source : "");
    }
}

/* ---- all caps ---- */

static void print_table(const struct wl_recommend_policy *p, struct wl_arena *a)
{
    const struct wl_policy_result *r = &p->result;
    static const char *const columns[] = { "share, %", "90 %, same mix", "90 %, other workloads", "energy, %",
                                           "time, %" };
    const char *below = wl_strf(a, "below %.4g %%", 100 * p->options.share);
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, p->jobs.cap->label, true);
    for (size_t k = 0; k < WL_COUNT(columns); k++) wl_table_column(&t, columns[k], true);
    wl_table_provenance_column(&t);
    wl_table_column(&t, "mean W", true);
    wl_table_column(&t, "peak W", true);
    wl_table_column(&t, "note", false);
    for (size_t c = 0; c < p->jobs.values; c++) {
        const struct wl_policy_cap *v = &r->cap[c];
        const struct wl_amount mean = wl_amount_of(v->power_w, "W", p->jobs.from),
                               peak = wl_amount_of(v->peak_w, "W", p->jobs.from);
        wl_table_cell(&t, wl_recommend_cap_name(&p->jobs, c, a));
        wl_table_cellf(&t, "%.1f", 100 * v->share.mean);
        wl_table_cell(&t, interval_text(&v->share, a));
        wl_table_cell(&t, interval_text(&v->of_others, a));
        wl_table_cellf(&t, "%+.1f", percent_over(v->energy));
        wl_table_cellf(&t, "%+.1f", percent_over(v->slowdown));
        wl_table_provenance(&t, p->jobs.from);
        wl_table_amount(&t, &mean, 4);
        wl_table_amount(&t, &peak, 4);
        wl_table_cell(&t, c == r->choice && c == r->reference ? "choice, reference"
                          : c == r->choice                    ? "choice"
                          : c == r->reference                 ? "reference"
                          : v->allowed                        ? ""
                                                              : below);
        wl_table_row(&t);
    }
    wl_print("\n");
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

/* ---- all ---- */

/* wl_print shows a line break within a text as an escape. */
static void print_lines(const char *head, const char *text, struct wl_arena *a)
{
    wl_print("\n%s\n\n", head);
    for (const char *end; *text; text = end + (*end != '\0')) {
        end = text + strcspn(text, "\n");
        wl_print("%s\n", wl_strndup(a, text, (size_t)(end - text)));
    }
}

static void print_scripts(const struct wl_recommend_policy *p, struct wl_arena *a)
{
    const size_t choice = p->result.choice;
    if (choice == p->result.reference) return;
    print_lines("Slurm prolog, for NVIDIA GPUs:", wl_recommend_slurm_script(&p->jobs, choice, true, a), a);
    print_lines("Slurm epilog:", wl_recommend_slurm_script(&p->jobs, choice, false, a), a);
}

void wl_recommend_policy_print(const struct wl_recommend_policy *p, struct wl_arena *a)
{
    print_choice(p, a);
    if (p->result.choice != p->result.reference) {
        print_effects(p, a);
        print_sufferers(p, a);
    }
    for (size_t i = 0; i < p->notes.n; i++) wl_print("  note           %s\n", p->notes.v[i]);
    print_table(p, a);
    print_scripts(p, a);
}
