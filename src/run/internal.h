/* Functions of single files of this folder. */
#ifndef WL_RUN_INTERNAL_H
#define WL_RUN_INTERNAL_H

#include "run/run.h"

/* ---- cap_results.c ------------------------------------------------------------------------------------------ */

/* The caps of a run on this host as the store has them: [n_caps]. */
struct wl_cap_row *wl_run_cap_rows(const struct wl_run_result *r, struct wl_arena *a);

/* What was measured of the quantity that the cap limits, for people; NULL where it was not measured. */
const char *wl_run_cap_achieved(const struct wl_run_result *r, const struct wl_cap_setting *s, struct wl_arena *a);

/* ---- cooldown.c --------------------------------------------------------------------------------------------- */

/* Waits as opts say, not at all where they ask for nothing, and reports the result: GPUs that stay warm, or have no
 * thermometer, are not errors. Sensors that `power` asks for and that cannot be opened are. A signal ends the wait and
 * stays pending. */
int wl_cooldown_wait(const struct wl_cooldown_opts *opts, const struct wl_power_opts *power,
                     const struct wl_signals *signals, struct wl_cooldown *out, struct wl_arena *a, struct wl_err *e);

/* ---- slurm_energy.c ----------------------------------------------------------------------------------------- */

/* What Slurm reports of the steps that this process started within a run, after their end: waits for that, at most
 * seconds. `config`: as of struct wl_run_opts. Its plugin is NULL outside of a job, where the site has none, and where
 * Slurm cannot be asked; `why` is set if Slurm's programs exist and do not answer. */
struct wl_slurm_energy wl_slurm_energy_query(const struct wl_anchor *start, const struct wl_anchor *end,
                                             const char *config, struct wl_arena *a);

/* The Slurm job that this process is a part of, by its environment, whose texts it points to. */
struct wl_slurm_job wl_slurm_job_here(void);

/* ---- gaps.c ------------------------------------------------------------------------------------------------- */

/* One line per device that could not be read for a while, and why; empty: no gaps. */
struct wl_strs wl_gaps_list(const struct wl_sensors *sensors, const struct wl_sampler *sampler, struct wl_arena *a);

/* A sentence where the wall clock jumped against the monotonic one; NULL: it did not. */
const char *wl_gaps_clock_step(const struct wl_anchor *start, const struct wl_anchor *end, struct wl_arena *a);

/* ---- run_copy.c --------------------------------------------------------------------------------------------- */

/* The facts of a run in one store become those of a run in another: readings, marks and log. */
struct wl_run_copy {
    struct wl_store *from, *to;
    int64_t from_run, to_run;
    const struct wl_device_rows *devices;   /* of the run */
    const struct wl_channel_rows *channels; /* those to copy */
    int64_t shift_ns;                       /* is added to all times on the monotonic clock */
    const char *log_prefix;                 /* of each message in the log */
};

int wl_run_copy_facts(const struct wl_run_copy *c, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The device with this id; NULL: none. */
const struct wl_device_row *wl_run_copy_device(const struct wl_device_rows *devices, int64_t id);

/* ---- shard.c ------------------------------------------------------------------------------------------------ */

/* The shards in the folder; returns how many ranks they cover, and in *size how many there are in all. */
int wl_shard_list(const char *folder, struct wl_strs *paths, int *size, struct wl_arena *a);

#endif
