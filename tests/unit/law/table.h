/* Observation tables for the tests of src/law, written row by row. */
#ifndef WL_TEST_LAW_TABLE_H
#define WL_TEST_LAW_TABLE_H

#include "law/law.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What a test sets of a row; 0 and NULL: missing. */
struct row {
    const char *workload, *run;
    double workers, epoch, time_s, energy_j, samples, local_batch, global_batch, power_cap_w;
    bool estimated, simulated;
};

static inline double or_missing(double v) { return v == 0 ? NAN : v; }

static inline struct wl_observations table_of(const struct row *rows, size_t n, struct wl_arena *a)
{
    struct wl_observations obs = { .source = "test" };
    wl_obs_alloc(&obs, n, a);
    for (size_t i = 0; i < n; i++) {
        obs.workload[i] = rows[i].workload;
        obs.run[i] = rows[i].run;
        obs.workers[i] = or_missing(rows[i].workers);
        obs.epoch[i] = or_missing(rows[i].epoch);
        obs.time_s[i] = or_missing(rows[i].time_s);
        obs.energy_j[i] = or_missing(rows[i].energy_j);
        obs.samples[i] = or_missing(rows[i].samples);
        obs.local_batch[i] = or_missing(rows[i].local_batch);
        obs.global_batch[i] = or_missing(rows[i].global_batch);
        obs.power_cap_w[i] = or_missing(rows[i].power_cap_w);
        obs.estimated[i] = rows[i].estimated;
        obs.simulated[i] = rows[i].simulated;
    }
    wl_obs_index_runs(&obs, a);
    return obs;
}

static inline struct wl_law_result fit_rows(const struct row *rows, size_t n, struct wl_law_options options,
                                            struct wl_arena *a)
{
    struct wl_observations obs = table_of(rows, n, a);
    struct wl_law_result result;
    struct wl_err e;
    if (wl_law_fit(&obs, &options, &result, a, &e)) fail_msg("%s", e.msg);
    return result;
}

/* The one group that a table must give. */
static inline struct wl_law_group *only_group(struct wl_law_result *result)
{
    assert_int_equal(result->n, 1);
    return result->groups;
}

static inline void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.15g is not %.15g", got, want);
}

static inline bool has_note(const struct wl_law_group *g, const char *part)
{
    for (size_t i = 0; i < g->notes.n; i++)
        if (strstr(g->notes.v[i], part)) return true;
    return false;
}

static inline void assert_note(const struct wl_law_group *g, const char *part)
{
    if (!has_note(g, part)) fail_msg("no note says \"%s\"", part);
}

#endif
