/* The appendix on artifacts of a paper, by the headings of SC24
 * (sc24.supercomputing.org/program/papers/ad-ae-appendices): overview of contributions and artifacts; of each artifact
 * relation, expected results, time, setup, execution, analysis. */
#include "report/forms/internal.h"

#include <math.h>

static void add_author(struct wl_text *to, const char *what)
{
    wl_form_line(to, "Missing, for the author: %s.\n", what);
}

static void add_overview(const struct wl_form *f, struct wl_text *to)
{
    const char *contribution = wl_field(f->fields, "contribution"), *url = wl_field(f->fields, "artifact_url"),
               *license = wl_field(f->fields, "license");
    wl_form_line(to, "# Artifact description\n\n## Overview of contributions and artifacts\n");
    if (contribution)
        wl_form_line(to, "C1: %s\n", contribution);
    else
        add_author(to, "the contribution that these measurements support (--field contribution=...)");
    wl_form_line(to, "A1: store, experiment files, observations and report of %s (`wattlaw export --format bundle`).",
                 wl_form_runs(f));
    wl_form_line(to, "Where: %s. License: %s.\n", url ? url : "missing (--field artifact_url=...)",
                 license ? license : "missing (--field license=...)");
}

static void add_results(const struct wl_form *f, struct wl_text *to)
{
    wl_form_line(to, "### Expected results\n");
    for (size_t i = 0; i < f->g->n_groups; i++)
        if (f->g->groups[i].law->n_configs) wl_form_table(to, wl_form_scaling_table(f, &f->g->groups[i]));
}

static void add_time(const struct wl_form *f, struct wl_text *to)
{
    const struct wl_form_sum sum = wl_form_sum(f);
    wl_form_line(to, "### Expected reproduction time\n");
    wl_form_line(to, "- Artifact setup: missing, for the author");
    if (isfinite(sum.time_s))
        wl_form_line(to, "- Artifact execution: %.3g minutes, the sum of the times of %s", sum.time_s / 60,
                     wl_form_runs(f));
    else
        wl_form_line(to, "- Artifact execution: missing: a run has no end");
    wl_form_line(to, "- Artifact analysis: missing, for the author; `wattlaw report` takes seconds to minutes\n");
}

/* The command lines of the runs, each once. */
static void add_commands(const struct wl_form *f, struct wl_text *to)
{
    enum { LISTED = 10 };
    struct wl_strs seen = { 0 };
    for (size_t i = 0; i < f->runs.n; i++) {
        const char *command = f->runs.v[i].command;
        bool known = !command;
        for (size_t k = 0; !known && k < seen.n; k++) known = wl_str_eq(seen.v[k], command);
        if (!known) wl_strs_add(f->arena, &seen, command);
    }
    for (size_t i = 0; i < seen.n && i < LISTED; i++)
        wl_form_line(to, "    %s", wl_printable(f->arena, seen.v[i], WL_PRINTABLE_LINE));
    if (seen.n > LISTED) wl_form_line(to, "\nand %zu more (wattlaw show --json)", seen.n - LISTED);
    if (seen.n == 0) wl_form_line(to, "    unknown");
    wl_text_add(to, "\n");
}

static void add_setup(const struct wl_form *f, struct wl_text *to)
{
    wl_form_line(to, "### Artifact setup\n");
    wl_form_line(to, "- Hardware: %s", wl_form_plain(f, wl_form_hardware(f)));
    wl_form_line(to,
                 "- Software: wattlaw %s; missing, for the author: the training program, its framework and drivers, "
                 "with versions and URLs",
                 wl_form_versions(f));
    wl_form_line(to, "- Datasets and inputs: workload %s; missing, for the author: where its data are from",
                 wl_form_plain(f, wl_form_workloads(f)));
    wl_form_line(to, "- Installation and deployment: `./quickstart` of wattlaw; missing, for the author: that of the "
                     "training program\n");
}

int wl_form_artifact(const struct wl_form *f, struct wl_text *to, struct wl_err *e)
{
    (void)e;
    add_overview(f, to);
    wl_form_line(to, "## Artifact A1\n\n### Relation to contributions\n");
    add_author(to, "how A1 supports C1");
    add_results(f, to);
    add_time(f, to);
    add_setup(f, to);
    wl_form_line(to, "### Artifact execution\n");
    wl_form_line(to, "`wattlaw sweep EXPERIMENT.ini` runs the campaign; wattlaw started these commands (%s, %s):\n",
                 wl_form_runs(f), wl_form_period(f));
    add_commands(f, to);
    wl_form_line(to, "### Artifact analysis\n");
    wl_form_line(to, "`wattlaw verify BUNDLE.zip` checks the files; `wattlaw report wattlaw.db` writes figures and "
                     "tables, `wattlaw fit wattlaw.db` the laws.");
    return 0;
}
