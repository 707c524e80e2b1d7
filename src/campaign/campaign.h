/* Campaigns: an experiment file becomes trials, trials become runs, runs become rows of a store.
 *
 * An experiment file is INI with the sections [campaign], [sweep], [data], [measure] and [launch]; its keys are the
 * option rows of wl_experiment_sections(). The grid of [sweep] gives trials (one configuration each); a trial is run
 * [campaign] repeats times. Units: seconds, W, MHz, Hz; batches and samples are counts.
 */
#ifndef WL_CAMPAIGN_CAMPAIGN_H
#define WL_CAMPAIGN_CAMPAIGN_H

#include "base/base.h"
#include "mark/mark.h"
#include "power/power.h"

/* ---- the experiment file ------------------------------------------------------------------------------------ */

struct wl_campaign_keys {
    const char *name; /* letters, digits, . _ - */
    int64_t repeats;
    const char *order; /* random | sequential */
    int64_t seed;
    const char *store;   /* folder, or file whose name ends in .db; never NULL after reading */
    const char *scaling; /* strong | weak */
};

/* A list for each known axis; an empty one is an axis that the experiment does not name. */
struct wl_sweep_keys {
    struct wl_strs workload;
    struct wl_ints workers, local_batch, global_batch, accumulation, epochs, threads;
    struct wl_reals power_cap_w, clock_mhz;
};

/* An axis of the user's own: any other key of [sweep] whose {key} stands in the command. */
struct wl_user_axis {
    const char *key;
    struct wl_strs values;
};

struct wl_data_keys {
    const char *path;    /* NULL: the workload needs no data */
    const char *prepare; /* command that makes the data in {data}; NULL: none */
    int64_t samples;     /* an epoch's samples (weak scaling: for each worker); 0: the workload decides */
};

struct wl_measure_keys {
    struct wl_power_opts power;      /* sensors, rate_hz and what they need */
    struct wl_mark_regex_opts regex; /* none: the workload writes marks */
};

struct wl_launch_keys {
    const char *launcher;
    const char *command; /* template; NULL only before reading ends */
    const char *args;    /* template of words put behind the command */
    const char *env;     /* template of NAME=value words */
    const char *cwd;     /* template; NULL: the folder in which wattlaw runs */
    double timeout_s;    /* 0: none */
    double grace_s;      /* between SIGTERM and SIGKILL */
    bool oversubscribe;
};

struct wl_experiment {
    const char *path; /* as given by the user */
    struct wl_campaign_keys campaign;
    struct wl_sweep_keys sweep;
    struct wl_user_axis *user; /* n_user of them, in the order of the file */
    size_t n_user;
    struct wl_data_keys data;
    struct wl_measure_keys measure;
    struct wl_launch_keys launch;
    const char *expanded; /* the whole experiment as INI text, defaults and --set included */
    const char *fixed;    /* the part of it that makes a run what it is: it must not change while a store fills */
};

struct wl_section {
    const char *name;
    const struct wl_opt *rows; /* over the section's struct */
    size_t offset;             /* of that struct in struct wl_experiment */
    const char *help;          /* one line */
};

/* The five sections; ends with a NULL name. */
const struct wl_section *wl_experiment_sections(void);

/* Prints every section and key with type, default, range and unit. */
void wl_experiment_print_keys(FILE *to);

/* Reads an experiment; `sets` are "section.key=value" texts that win over the file. WL_EINVAL with file:line (or
 * --set), the value and what was expected; unknown sections, keys and placeholders get "did you mean". */
int wl_experiment_read(const char *path, const struct wl_strs *sets, struct wl_experiment *out, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* The same from text. */
int wl_experiment_parse(const char *path, const char *text, const struct wl_strs *sets, struct wl_experiment *out,
                        struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- the grid ----------------------------------------------------------------------------------------------- */

/* What decides whether a trial can be run here. */
struct wl_machine {
    int cores;                /* that this process may use (affinity) */
    const char *no_power_cap; /* why a power cap cannot be set; NULL: it can */
    const char *no_clock_cap; /* the same for a clock cap */
};
struct wl_machine wl_machine_here(void);

struct wl_trial {
    const char *workload;                                                      /* NULL: not given */
    int64_t workers, local_batch, global_batch, accumulation, epochs, threads; /* 0: not given */
    int64_t samples;                                                           /* an epoch, all workers; 0: not given */
    double power_cap_w, clock_mhz;                                             /* NAN: none asked for */
    const char **user;                                                         /* value of each user axis */
    const char *label; /* the values of the axes that vary, for people: "workers=2 local_batch=16" */
    const char *skip;  /* why it cannot be run; NULL: it can */
};

struct wl_planned_run {
    size_t trial;   /* index */
    int64_t repeat; /* from 1 */
};

struct wl_grid {
    struct wl_trial *trials;
    size_t n_trials, n_skipped;
    struct wl_planned_run *runs; /* of the trials that can be run, in the order in which they are to run */
    size_t n_runs;
};

/* The product of all axes in the order of the keys, with what is missing derived (global batch = workers x local
 * batch x accumulation), and the order of runs: repeat after repeat, within each the order of the file or one drawn
 * from the seed. The same experiment gives the same plan everywhere. WL_EINVAL: more than 100000 trials. */
int wl_grid_make(const struct wl_experiment *x, const struct wl_machine *here, struct wl_grid *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* The command of a run as argv, NULL-terminated; run_dir may be NULL (shown as RUN_DIR in a plan). */
int wl_trial_command(const struct wl_experiment *x, const struct wl_trial *t, int64_t repeat, const char *run_dir,
                     struct wl_strs *argv, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
