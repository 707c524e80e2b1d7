/* Scaling evidence of a proposal for computing time. What centres ask for: a table of the speed-up over the smallest
 * feasible size, at the sizes of the jobs that are requested, on the machine or a similar one (ARCHER2, "Technical
 * Assessment Forms", Scaling Evidence); parallel efficiency, strong or weak scaling (NHR@ZIB, "Projektbeschreibung").
 */
#include "report/forms/internal.h"

#include <math.h>

static const char *scaling_words(enum wl_law_scaling scaling)
{
    switch (scaling) {
    case WL_SCALING_STRONG: return "Strong scaling: every worker count did the same work.";
    case WL_SCALING_WEAK: return "Weak scaling: the work grew in proportion to the workers.";
    case WL_SCALING_MIXED: return "Neither strong nor weak scaling: the work differs, so speed-up is per sample.";
    default: return "Whether this is strong or weak scaling is unknown: the program did not report its samples.";
    }
}

static void add_group(const struct wl_form *f, const struct wl_report_group *group, struct wl_text *to)
{
    const struct wl_law_group *law = group->law;
    const struct wl_law_config *first = law->n_configs ? &law->configs[0] : NULL;
    wl_form_line(to, "## %s\n", wl_form_plain(f, group->name));
    if (!first) {
        wl_form_line(to, "Missing: no run of this group has a number of workers and a time.\n");
        return;
    }
    wl_form_table(to, wl_form_scaling_table(f, group));
    wl_form_line(to, "%s", scaling_words(law->scaling));
    if (law->n_configs < 2) {
        wl_form_line(to, "Missing: speed-up needs two worker counts; %g was measured.\n", first->workers);
        return;
    }
    wl_form_line(to, "Speed-up is relative to %g worker%s; parallel efficiency is speed-up over the factor in workers.",
                 first->workers, first->workers == 1 ? "" : "s");
    if (law->law && isfinite(law->law->beta))
        wl_form_line(to, "Fitted law: time = %.4g s x workers^-%.3g; %s", law->law->alpha, law->law->beta,
                     law->verdict_reason ? law->verdict_reason : "");
    else if (law->no_law_reason)
        wl_form_line(to, "No scaling law: %s", law->no_law_reason);
    for (size_t i = 0; i < law->notes.n; i++) wl_form_line(to, "Note: %s", law->notes.v[i]);
    wl_text_add(to, "\n");
}

int wl_form_proposal(const struct wl_form *f, struct wl_text *to, struct wl_err *e)
{
    const struct wl_form_sum sum = wl_form_sum(f);
    (void)e;
    wl_form_line(to, "# Scaling evidence\n");
    wl_form_line(to, "- Application: %s", wl_form_plain(f, wl_form_workloads(f)));
    wl_form_line(to, "- Machine: %s", wl_form_plain(f, wl_form_hardware(f)));
    wl_form_line(to, "- Measured: %s, with %s; %s", wl_form_period(f), wl_form_meters(f), wl_form_runs(f));
    wl_form_line(
        to, "- Method: times are geometric means over repeated runs; intervals are 95 %% confidence intervals, missing "
            "where a worker count has fewer than two runs.");
    if (f->left_out) wl_form_line(to, "- Not used: %s", wl_form_left_out(f));
    if (isfinite(sum.worker_hours))
        wl_form_line(to, "- Cost of these measurements: %.4g worker-hours (%s)", sum.worker_hours, wl_form_runs(f));
    wl_text_add(to, "\n");
    for (size_t i = 0; i < f->g->n_groups; i++) add_group(f, &f->g->groups[i], to);
    wl_form_line(to, "## Resources that are requested\n");
    wl_form_line(to, "Missing, for the author: number of runs, their sizes, and from the tables above the worker-hours "
                     "that they take.");
    return 0;
}
