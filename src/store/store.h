/* The store: one SQLite file that holds campaigns, their runs, what was measured and what follows from it.
 *
 * schema.sql describes every table and column; docs/formats.md says it for users. Facts are append-only, derived
 * rows are replaced run by run. Numbers that may be missing are doubles here, NAN when missing (NULL in the file),
 * counts included; times are int64, WL_NO_NS when missing; texts are NULL when missing. What a reader returns lives
 * in the arena it was given.
 *
 * Crashes: every call that writes is one transaction, or part of the one that wl_store_begin opened. After a
 * SIGKILL the file holds every transaction that was committed. After a power loss it is consistent too, but on a
 * local disk the last transactions may be gone, up to the last "durable" one: the end of a run is on the disk when
 * wl_store_run_end returns, with everything before it.
 *
 * Threads: a wl_store belongs to one thread at a time; another thread or process opens the file for itself.
 * Waiting for another writer ends after 10 s with WL_EIO.
 *
 * Errors: WL_ENOENT no such file, WL_EPERM not writable, WL_EINVAL not a store (another kind of file, another
 * program's database, a newer version, damaged), WL_EIO disk full and other failures; messages name the file and,
 * where SQLite refused, quote the SQL.
 */
#ifndef WL_STORE_STORE_H
#define WL_STORE_STORE_H

#include "store/records.h"

#define WL_STORE_VERSION 15
#define WL_STORE_FILE    "wattlaw.db" /* the store inside a campaign's folder */

struct wl_store;

/* ---- open ---- */

enum wl_store_mode {
    WL_STORE_READ,   /* must exist; also from read-only media, and of any version */
    WL_STORE_WRITE,  /* must exist; brings an older version up to date */
    WL_STORE_CREATE, /* as WRITE; makes the file and its folder where they are missing */
};

/* Opens a store; it is closed with the arena, or earlier by wl_store_close. Opening for writing stores the last
 * readings of runs whose wattlaw was killed and closes these runs (wl_store_recover); opening for reading shows these
 * readings beside the stored ones.
 *
 * Reading changes nothing: the file stays as it is, byte by byte, in whatever version; where it lacks what the newest
 * one has, the connection adds it in memory. Files that SQLite needs beside it while it is open (-wal, -shm) are
 * removed at the end where the folder is ours, and not made where it is not (docs/adr/056).
 *
 * The file may come from anybody. Nothing that it holds is executed: its own views and triggers, virtual tables,
 * computed columns are refused or not used, and a cell of another type than schema.sql has is an error that names it.
 */
int wl_store_open(struct wl_store **out, const char *path, enum wl_store_mode mode, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* Opens it for writing to go on with a run whose wattlaw on this host is dead, instead of closing it. WL_EINVAL: the
 * run is not running any more; WL_EPERM: its wattlaw lives. */
int wl_store_open_run(struct wl_store **out, const char *path, int64_t run, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

void wl_store_close(struct wl_store *s); /* NULL and twice are fine */
const char *wl_store_path(const struct wl_store *s);

/* The version that the file had when it was opened; WL_STORE_VERSION for a new one. */
int64_t wl_store_version_found(const struct wl_store *s);

/* The store a user means: a file, or the folder of a campaign. WL_ENOENT when there is none. */
int wl_store_find(const char *given, char **path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Several writes as one. A transaction that is not committed is rolled back by wl_store_rollback or at close;
 * rollback after a failed write is needed before the next begin. Not nested. */
int wl_store_begin(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;
int wl_store_commit(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;
void wl_store_rollback(struct wl_store *s);

/* Reads every page: WL_EINVAL with the first finding. */
int wl_store_check(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* ---- campaigns, trials, plan ---- */

/* The campaign of that name, made when missing. A text that differs from the newest one stored is added. */
int wl_store_add_campaign(struct wl_store *s, const char *name, const char *experiment, const char *version,
                          int64_t *id, struct wl_err *e) WL_MUST_CHECK;

int wl_store_campaigns(struct wl_store *s, struct wl_campaign_rows *out, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* At most one process runs a campaign, and one campaign of a store runs at a time: holds locks until close. WL_EPERM if
 * another process does; the message names the conflict. */
int wl_store_lock_campaign(struct wl_store *s, int64_t campaign, struct wl_err *e) WL_MUST_CHECK;

/* Would wl_store_lock_campaign be refused? Takes nothing; 0: a campaign that is not there yet. */
int wl_store_campaign_is_free(struct wl_store *s, int64_t campaign, struct wl_err *e) WL_MUST_CHECK;

/* The trial with these settings, made when missing; `skipped` (NULL: can run) is brought up to date. */
int wl_store_add_trial(struct wl_store *s, int64_t campaign, const struct wl_settings *set, const char *skipped,
                       int64_t *id, struct wl_err *e) WL_MUST_CHECK;

/* campaign 0: all. */
int wl_store_trials(struct wl_store *s, int64_t campaign, struct wl_trial_rows *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* Plans a repeat (from 1) unless it is planned, running or done already; one that was interrupted is planned again as
 * the next attempt, one that failed only with retry_failed. *run is the new or the existing row. repeat 0: the next
 * free number. */
struct wl_run_plan {
    int64_t trial, repeat, seed, position;
    bool retry_failed;
};
int wl_store_plan_run(struct wl_store *s, const struct wl_run_plan *plan, int64_t *run, struct wl_err *e) WL_MUST_CHECK;

/* Drops the planned runs of a campaign, for a new plan. */
int wl_store_drop_planned(struct wl_store *s, int64_t campaign, struct wl_err *e) WL_MUST_CHECK;

/* Drops one planned run, which was refused before it began; a run that has begun stays. */
int wl_store_drop_run(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;

/* ---- a run ---- */

struct wl_run_begin {
    const char *host, *boot_id; /* where it was measured; NULL: here */
    const char *folder;         /* relative to the store's folder, or absolute; NULL: none */
    const char *command;        /* for people */
    const char *version;
    struct wl_anchor at;
};

/* planned -> running. Holds a lock on the run until it is finished or this process dies. */
int wl_store_run_begin(struct wl_store *s, int64_t run, const struct wl_run_begin *begin,
                       struct wl_err *e) WL_MUST_CHECK;

struct wl_run_end {
    enum wl_run_status status; /* DONE, FAILED or INTERRUPTED */
    double exit_status;        /* NAN: unknown, or a signal */
    double signal;             /* NAN: none */
    const char *error, *log_tail, *flag;
    struct wl_anchor at;
    /* sampling */
    double sampling_asked_s, sampling_period_s, ticks, ticks_skipped, samples_lost, own_cpu_s;
    double sampler_cpu; /* that the measuring was bound to; NAN: none, or another one on each node */
    struct wl_cooldown cooldown;
    struct wl_slurm_energy slurm;
    double idle_s; /* duration of the idle measurement before and after the job; NAN: none */
    const struct wl_run_begin
        *began; /* on the first node, whose clock the run's times are of; NULL: as wl_store_run_begin said */
    const struct wl_node_row *nodes; /* none: it ran on its host alone */
    size_t n_nodes;
    const struct wl_cap_row *caps;
    size_t n_caps;
};
extern const struct wl_run_end wl_run_end_none; /* DONE, everything missing */

/* Everything that is derived from the facts of one run. */
struct wl_derived {
    struct wl_settings actual; /* what the run said about itself and its machine */
    const struct wl_epoch_row *epochs;
    size_t n_epochs;
    const struct wl_energy_row *energies;
    size_t n_energies;
    const struct wl_phase_row *phases; /* of the chosen devices and methods */
    size_t n_phases;
    const struct wl_metric_row *metrics;
    size_t n_metrics;
    const struct wl_metric_def_row *metric_defs; /* `run` and `workload` are not read */
    size_t n_metric_defs;
    const struct wl_stat_row *stats;
    size_t n_stats;
    const struct wl_variation_row *variations; /* `run` is not read */
    size_t n_variations;
};

/* running -> done, failed or interrupted, with the derived rows (NULL: none), in one durable transaction (inside
 * wl_store_begin: as durable as that one). */
int wl_store_run_end(struct wl_store *s, int64_t run, const struct wl_run_end *end, const struct wl_derived *derived,
                     struct wl_err *e) WL_MUST_CHECK;

/* Replaces the derived rows of a run. */
int wl_store_derive(struct wl_store *s, int64_t run, const struct wl_derived *derived, struct wl_err *e) WL_MUST_CHECK;

/* Runs marked running whose wattlaw is gone become interrupted (docs/adr/051). On shared file systems runs of other
 * hosts are left alone. */
int wl_store_recover(struct wl_store *s, size_t *found, struct wl_err *e) WL_MUST_CHECK;

/* Is the wattlaw that looks after a running run alive? 1 yes, 0 no, negative: cannot be seen from this host. */
struct wl_run_row;
int wl_store_run_is_alive(struct wl_store *s, const struct wl_run_row *run);

/* ---- facts of a run ---- */

/* The device (host, uuid) or channel (run, device, quantity, scope, variant), made when missing. */
int wl_store_add_device(struct wl_store *s, const struct wl_device_row *device, int64_t *id,
                        struct wl_err *e) WL_MUST_CHECK;
int wl_store_add_channel(struct wl_store *s, const struct wl_channel_row *channel, int64_t *id,
                         struct wl_err *e) WL_MUST_CHECK;

/* Adds readings in one transaction (or the open one). Fastest when sorted by channel, then time. A second reading
 * of the same channel and instant is dropped. */
int wl_store_add_samples(struct wl_store *s, const struct wl_sample_row *v, size_t n, struct wl_err *e) WL_MUST_CHECK;

/* Readings of a running run that wait for their transaction (docs/adr/054). What `add` has taken is in the file
 * PATH-spool-RUN and survives the end of this process, however it ends: the next one that opens the store finds it
 * there, stores it and removes the file. `open` makes it, once the run has begun: 1 it is there, 0 this store has none
 * (on a network file system). `restart`: wl_store_add_samples has committed all that was added. `close`: so it has, and
 * no more will come. */
int wl_store_spool_open(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;
int wl_store_spool_add(struct wl_store *s, const struct wl_sample_row *v, size_t n, struct wl_err *e) WL_MUST_CHECK;
void wl_store_spool_restart(struct wl_store *s);
void wl_store_spool_close(struct wl_store *s);

int wl_store_add_marks(struct wl_store *s, int64_t run, const struct wl_mark_row *v, size_t n,
                       struct wl_err *e) WL_MUST_CHECK;

/* run 0: about the campaign as a whole. */
int wl_store_add_log(struct wl_store *s, int64_t run, const char *level, const char *area, const char *message,
                     struct wl_err *e) WL_MUST_CHECK;

/* ---- reading ---- */

struct wl_run_filter {
    int64_t campaign, trial, run; /* 0: any */
    unsigned statuses;            /* bits 1u << status; 0: any */
};

/* Runs by campaign, then position and id. */
int wl_store_runs(struct wl_store *s, const struct wl_run_filter *filter, struct wl_run_rows *out, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* All of one run, by time or epoch. */
int wl_store_epochs(struct wl_store *s, int64_t run, struct wl_epoch_rows *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;
int wl_store_energies(struct wl_store *s, int64_t run, struct wl_energy_rows *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;
int wl_store_phases(struct wl_store *s, int64_t run, struct wl_phase_rows *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;
int wl_store_metrics(struct wl_store *s, int64_t run, struct wl_metric_rows *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* What the metrics of a run (0: of all runs of a campaign, 0: of the store) are. Of runs of one workload that do not
 * agree, the newest counts. By workload, then in the order in which they were said. */
int wl_store_metric_defs(struct wl_store *s, int64_t campaign, int64_t run, struct wl_metric_def_rows *out,
                         struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The names of all metrics that epochs of runs have which observations are made of, in their order. */
int wl_store_metric_names(struct wl_store *s, struct wl_strs *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_store_stats(struct wl_store *s, int64_t run, struct wl_stat_rows *out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;
int wl_store_devices(struct wl_store *s, int64_t run, struct wl_device_rows *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;
int wl_store_channels(struct wl_store *s, int64_t run, struct wl_channel_rows *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;
int wl_store_nodes(struct wl_store *s, int64_t run, struct wl_node_rows *out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;
int wl_store_caps(struct wl_store *s, int64_t run, struct wl_cap_rows *out, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;
int wl_store_read_marks(struct wl_store *s, int64_t run, struct wl_mark_rows *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;
int wl_store_read_log(struct wl_store *s, int64_t run, struct wl_log_rows *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* Of all runs of a campaign (0: of the store), by run and quantity. */
int wl_store_variations(struct wl_store *s, int64_t campaign, struct wl_variation_rows *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* The readings of a channel from begin_ns to end_ns (INT64_MIN, INT64_MAX: all), by time. */
int wl_store_readings(struct wl_store *s, int64_t channel, int64_t begin_ns, int64_t end_ns, struct wl_readings *out,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The view `observations`: campaign 0 for all. Only runs that are done and not flagged. */
int wl_store_observations(struct wl_store *s, int64_t campaign, struct wl_observations *out, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* The same with `metric` in place of the main metric where it was reported (NULL: nowhere). */
int wl_store_observations_of(struct wl_store *s, int64_t campaign, const char *metric, struct wl_observations *out,
                             struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
