/* A search that runs a command: windows within the job where it marks its steps, else one run for each value.
 *
 * Every job and every window is a run of a store. A search that is stopped or killed goes on where its windows end when
 * it is started again with the same store and name. docs/adr/118 */
#ifndef WL_TUNE_SESSION_H
#define WL_TUNE_SESSION_H

#include "run/run.h"
#include "tune/schedule.h"
#include "tune/search.h"

struct wl_tune;

struct wl_tune_opts {
    struct wl_tune_candidates *candidates; /* values that could not be set are marked */
    struct wl_tune_goal goal;
    struct wl_tune_pace pace;
    const char *store;             /* path; made when missing */
    const char *name;              /* of its campaign */
    const struct wl_run_opts *run; /* the command and how it is measured; folder, cap and watch are set here */
    bool apply;                    /* the rest of the job keeps the choice; else what was found is restored */
    bool relaunch;                 /* the command is started again as often as the search needs */

    /* (optional) A job starts, with a value; a window has been measured; a value cannot be set (its reason is in
     * candidates); the search within a job is done: from now on its value is the choice, or what was found. */
    void (*on_job)(void *ctx, const struct wl_tune *t, size_t candidate);
    void (*on_window)(void *ctx, const struct wl_tune *t, const struct wl_tune_window *w);
    void (*on_refused)(void *ctx, const struct wl_tune *t, size_t candidate);
    void (*on_done)(void *ctx, const struct wl_tune *t);
    void (*on_tick)(void *ctx, const struct wl_tune *t); /* ten times a second while a job runs */
    void *ctx;
};

/* The search so far. */
struct wl_tune {
    const struct wl_tune_opts *opts;
    struct wl_store *store;
    struct wl_tune_candidates *candidates;
    struct wl_tune_windows windows;
    struct wl_tune_probes probes;
    struct wl_advise_cap *search;
    struct wl_advise_cap_step step; /* the next value, or the choice */
    size_t repeated;                /* windows of the reference that the search asked for */
    const char *unusable;           /* why the last window that is not used is not; NULL: there is none */
    size_t before;                  /* windows that the store had already */
    size_t jobs;                    /* started by this call */
    int64_t steps;                  /* of a window; 0: none was measured */
    double reference_s;             /* time of a window of the reference */
    bool applied;                   /* the rest of the last job ran with the choice */
    size_t holds;                   /* value that is held now */
    int64_t window_steps;           /* steps in the window that is being measured */
    struct wl_run_result job;       /* the last one; its texts live as long as the search */
    struct wl_arena *a;
};

/* The caller has reserved the devices (wl_caps_reserve). Runs the search to its end, or to that of the command.
 * WL_EJOB: the command failed, or could not be started (t->job.not_started). WL_EINTR: the user stopped it. WL_EINVAL:
 * the store has a search of this name for another command; nothing can be measured, or no window can be used. Codes of
 * wl_run_measure. *out is filled in as far as it got. */
int wl_tune_command(const struct wl_tune_opts *opts, struct wl_tune *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* Searches again over all windows, after one has been added or a value refused. */
int wl_tune_decide(struct wl_tune *t, struct wl_err *e) WL_MUST_CHECK;

void wl_tune_add_window(struct wl_tune *t, const struct wl_tune_window *w);
void wl_tune_refuse(struct wl_tune *t, size_t candidate, const char *why);

#endif
