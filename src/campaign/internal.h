/* Functions of single files of this folder. */
#ifndef WL_CAMPAIGN_INTERNAL_H
#define WL_CAMPAIGN_INTERNAL_H

#include "campaign/campaign.h"
#include "campaign/template.h"

/* ---- axis.c: the built-in axes -------------------------------------------------------- */

struct wl_sweep_axis {
    const char *key;
    enum wl_opt_type type; /* WL_STRS, WL_INTS or WL_REALS */
    size_t list_offset;    /* of the list in struct wl_sweep_keys */
    size_t field_offset;   /* of the value in struct wl_trial */
    int cap;               /* enum wl_cap_kind: wattlaw itself sets it; -1: the command has to */
};

const struct wl_sweep_axis *wl_sweep_axes(void); /* ends with a NULL key */
const struct wl_sweep_axis *wl_sweep_axis_find(const char *key);
size_t wl_sweep_axis_count(const struct wl_sweep_axis *axis, const struct wl_sweep_keys *sweep);
void wl_sweep_axis_take(const struct wl_sweep_axis *axis, const struct wl_sweep_keys *sweep, size_t i,
                        struct wl_trial *t);

/* The trial's value as text; NULL: it has none. */
const char *wl_sweep_axis_text(const struct wl_sweep_axis *axis, const struct wl_trial *t, struct wl_arena *a);

/* ---- experiment_keys.c --------------------------------------------------------------------------------------- */

/* The key of an option of `wattlaw measure`: rate_hz for "rate-hz". */
char *wl_experiment_key(const char *option, struct wl_arena *a);

/* Help or a message with the options that are keys of the section as those keys: "requires --carbon-source" is
 * "requires carbon_source" in [measure], "--cap-command" is "command" in [cap]. Other options stay. */
char *wl_experiment_options_as_keys(const char *section, const char *text, struct wl_arena *a);

/* ---- experiment.c -------------------------------------------------------------------------------------------- */

/* The lines of an expanded experiment that must not change once its store has runs. */
const char *wl_experiment_immutable(const char *expanded, struct wl_arena *a);

/* ---- grid.c -------------------------------------------------------------------------------------------------- */

/* A trial without any value. */
struct wl_trial wl_trial_empty(const struct wl_experiment *x, struct wl_arena *a);

/* ---- launcher.c: ways to start a run ------------------------------------------------------------------------ */

struct wl_batch; /* batch.h */

struct wl_launcher {
    const char *name, *help;
    const char *unavailable; /* why it cannot be used; NULL: it can */
    bool runs;               /* it starts commands: each run needs a folder */
    int (*run)(struct wl_store *s, int64_t run, const struct wl_run_opts *opts, struct wl_run_result *out,
               struct wl_arena *a, struct wl_err *e); /* as wl_run_measure; NULL with `batch` */
    const struct wl_batch *batch; /* a run is a job of a batch system; NULL: it is run where the sweep is */
};
extern const struct wl_launcher wl_launcher_local, wl_launcher_null, wl_launcher_slurm, wl_launcher_allocation,
    wl_launcher_command;
extern const struct wl_launcher *const wl_launchers[]; /* NULL-terminated */

/* WL_EINVAL with "did you mean", WL_EUNAVAIL with the reason. */
int wl_launcher_find(const char *name, const struct wl_launcher **out, struct wl_err *e) WL_MUST_CHECK;

/* ---- mpi_env.c ---------------------------------------------------------------------------------------------- */

/* The given variables and those that let Open MPI start as many ranks here as we do. */
struct wl_strs wl_launcher_mpi_env(const struct wl_strs *given, struct wl_arena *a);

/* ---- prepare.c ---------------------------------------------------------------------------------------------- */

/* Do the data of an experiment exist, and if not, can the command that makes them be started? The path is absolute,
 * NULL if the experiment names none; codes of wl_prepare_data, which begins with this. */
int wl_prepare_find_data(const struct wl_experiment *x, const char **path, bool *missing, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Makes the data of an experiment, if they are missing, with its [data] prepare; WL_ENOENT: it has none. The path is
 * absolute. The command's output goes to prepare.log in the folder. */
int wl_prepare_data(const struct wl_experiment *x, const char *log_folder, const struct wl_signals *signals,
                    const char **path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
