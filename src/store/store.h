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

#include "base/base.h"

#define WL_STORE_VERSION 5
#define WL_STORE_FILE    "wattlaw.db" /* the store inside a campaign's folder */

#define WL_NO_NS INT64_MIN /* a time that is not known */

struct wl_store;

/* ---- open ---- */

enum wl_store_mode {
    WL_STORE_READ,   /* must exist; also from read-only media */
    WL_STORE_WRITE,  /* must exist; brings an older version up to date */
    WL_STORE_CREATE, /* as WRITE; makes the file and its folder where they are missing */
};

/* Opens a store; it is closed with the arena, or earlier by wl_store_close. Opening for writing also closes the runs
 * that a killed wattlaw left open (wl_store_recover). */
int wl_store_open(struct wl_store **out, const char *path, enum wl_store_mode mode, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* Opens it for writing to go on with a run whose wattlaw on this host is dead, instead of closing it. WL_EINVAL: the run
 * is not running any more; WL_EPERM: its wattlaw lives. */
int wl_store_open_run(struct wl_store **out, const char *path, int64_t run, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

void wl_store_close(struct wl_store *s); /* NULL and twice are fine */
const char *wl_store_path(const struct wl_store *s);

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

struct wl_campaign_row {
    int64_t id;
    const char *name;
    const char *experiment; /* newest expanded text */
    const char *version;    /* of the wattlaw that wrote that text */
    int64_t created_wall_ns;
};

/* The campaign of that name, made when missing. A text that differs from the newest one stored is added. */
int wl_store_campaign(struct wl_store *s, const char *name, const char *experiment, const char *version, int64_t *id,
                      struct wl_err *e) WL_MUST_CHECK;

struct wl_campaign_rows {
    struct wl_campaign_row *v;
    size_t n;
};
int wl_store_campaigns(struct wl_store *s, struct wl_campaign_rows *out, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* At most one process runs a campaign, and one campaign of a store runs at a time: holds locks until close. WL_EPERM when
 * another process does; the message tells which of the two. */
int wl_store_own_campaign(struct wl_store *s, int64_t campaign, struct wl_err *e) WL_MUST_CHECK;

/* What a trial is made of. */
struct wl_settings {
    const char *workload, *hardware;
    double nodes, workers, local_batch, global_batch, accumulation, epochs, threads;
    double power_cap_w, clock_mhz;
    const char *extra; /* JSON object with sorted names, for settings without a column here */
};
extern const struct wl_settings wl_settings_none; /* everything missing */

/* "workload=resnet50 workers=2 ...", what is set in the order above: the identity of a trial in its campaign. */
char *wl_settings_key(const struct wl_settings *set, struct wl_arena *a);

struct wl_trial_row {
    int64_t id, campaign;
    struct wl_settings set;
    const char *key;
    const char *skipped; /* why it cannot run here; NULL: it can */
};
struct wl_trial_rows {
    struct wl_trial_row *v;
    size_t n;
};

/* The trial with these settings, made when missing; `skipped` (NULL: can run) is brought up to date. */
int wl_store_trial(struct wl_store *s, int64_t campaign, const struct wl_settings *set, const char *skipped,
                   int64_t *id, struct wl_err *e) WL_MUST_CHECK;

/* campaign 0: all. */
int wl_store_trials(struct wl_store *s, int64_t campaign, struct wl_trial_rows *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

enum wl_run_status { WL_RUN_PLANNED, WL_RUN_RUNNING, WL_RUN_DONE, WL_RUN_FAILED, WL_RUN_INTERRUPTED };
extern const char *const wl_run_status_names[]; /* "planned" ..., by enum */

/* Plans a repeat (from 1) unless it is planned, running or done already; one that was interrupted is planned again as
 * the next attempt, one that failed only with retry_failed. *run is the new or the existing row. repeat 0: the next
 * free number. */
struct wl_plan {
    int64_t trial, repeat, seed, position;
    bool retry_failed;
};
int wl_store_plan(struct wl_store *s, const struct wl_plan *plan, int64_t *run, struct wl_err *e) WL_MUST_CHECK;

/* Drops the planned runs of a campaign, for a new plan. */
int wl_store_unplan(struct wl_store *s, int64_t campaign, struct wl_err *e) WL_MUST_CHECK;

/* ---- a run ---- */

struct wl_run_begin {
    const char *host, *boot_id; /* where it was measured; NULL: here */
    const char *folder;  /* relative to the store's folder, or absolute; NULL: none */
    const char *command; /* for people */
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
    double idle_s; /* rest before and behind the job that was measured; NAN: none */
};
extern const struct wl_run_end wl_run_end_none; /* DONE, everything missing */

struct wl_epoch_row {
    int64_t epoch;            /* from 1 */
    int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC of the run's host; WL_NO_NS: only the duration is known */
    double time_s;
    double samples, updates;
};
struct wl_energy_row {
    double epoch; /* NAN: the whole run */
    int64_t device;
    const char *scope;  /* as of the channel */
    const char *method; /* counter, integral */
    double energy_j, mean_power_w, coverage;
    double energy_lo_j, energy_hi_j;    /* 95 % interval */
    double idle_before_w, idle_after_w; /* mean power at rest before and behind the job; NAN: not measured */
    double idle_j;                      /* what the device would have drawn at rest */
    bool estimated, simulated;
    bool chosen; /* one of the rows whose sum is the run's energy_j: see wl_energy_sources in power/power.h. Chosen
                  * rows never overlap; the same devices and methods are chosen in all epochs of a run. */
};
/* Energy of a device over all spans of a phase. */
struct wl_phase_row {
    const char *phase;
    int64_t device;
    const char *scope, *method;
    int64_t spans;
    double time_s, energy_j, energy_lo_j, energy_hi_j;
    bool estimated, simulated;
};
struct wl_metric_row {
    double epoch; /* NAN: the whole run */
    const char *name;
    double value;
};
struct wl_stat_row {
    int64_t channel;
    double epoch; /* NAN: the whole run */
    int64_t readings;
    double mean, sd, min,
        max; /* in the channel's unit; mean weighted by time. Of a counter: mean is its rate, unit/s */
};

/* A quantity in % over the training of a run (wl_variation_of in stats/stats.h); intervals NAN where too short. */
struct wl_variation_row {
    int64_t run;
    const char *quantity; /* sm_util_pct */
    int64_t devices, instants;
    double mean, mean_lo, mean_hi; /* in % */
    double cv_time, cv_time_lo, cv_time_hi;
    double cv_devices, cv_devices_lo, cv_devices_hi;
    double cv_pooled, cv_pooled_lo, cv_pooled_hi;
    bool simulated;
};

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
int wl_store_alive(struct wl_store *s, const struct wl_run_row *run);

/* ---- facts of a run ---- */

struct wl_device_row {
    int64_t id;
    const char *host, *uuid; /* uuid: "GPU-5f0a...", "rapl:package-0" ... stable on that host */
    const char *sensor;      /* nvml, rapl, proc ... */
    double number;           /* index in the sensor's own order */
    const char *name;        /* product name; NULL: none */
    const char *info;        /* JSON object: bus id, driver, limits ...; NULL: none */
};
struct wl_device_rows {
    struct wl_device_row *v;
    size_t n;
};

struct wl_channel_row {
    int64_t id, run, device;
    const char *quantity, *unit; /* "power_w", "W" */
    const char *scope;           /* gpu, module, package ... as enum wl_scope of src/power */
    const char *variant;         /* of a power reading: instant, average ...; "" otherwise */
    bool counter, estimated, simulated;
    double update_s, window_s, delay_s; /* how the sensor shows what it measures (struct wl_gauge); NAN: not known */
};
struct wl_channel_rows {
    struct wl_channel_row *v;
    size_t n;
};

/* The device (host, uuid) or channel (run, device, quantity, scope, variant), made when missing. */
int wl_store_device(struct wl_store *s, const struct wl_device_row *device, int64_t *id,
                    struct wl_err *e) WL_MUST_CHECK;
int wl_store_channel(struct wl_store *s, const struct wl_channel_row *channel, int64_t *id,
                     struct wl_err *e) WL_MUST_CHECK;

struct wl_sample_row {
    int64_t channel, t_ns;
    double value; /* NAN: the reading failed */
};

/* Adds readings in one transaction (or the open one). Fastest when sorted by channel, then time. A second reading
 * of the same channel and instant is dropped. */
int wl_store_samples(struct wl_store *s, const struct wl_sample_row *v, size_t n, struct wl_err *e) WL_MUST_CHECK;

struct wl_mark_row {
    int64_t t_ns, rank;
    const char *word, *fields; /* fields: "key=value ..." as written, "" for none */
};
struct wl_mark_rows {
    struct wl_mark_row *v;
    size_t n;
};
int wl_store_marks(struct wl_store *s, int64_t run, const struct wl_mark_row *v, size_t n,
                   struct wl_err *e) WL_MUST_CHECK;

/* run 0: about the campaign as a whole. */
int wl_store_log(struct wl_store *s, int64_t run, const char *level, const char *area, const char *message,
                 struct wl_err *e) WL_MUST_CHECK;

/* ---- reading ---- */

/* A run with its settings (the trial's, else what the run said) and its totals. */
struct wl_run_row {
    int64_t id, trial, campaign, repeat, attempt;
    double seed, position;
    enum wl_run_status status;
    struct wl_settings set;
    const char *host, *boot_id, *folder, *command, *version;
    double pid;
    struct wl_anchor start, stop; /* WL_NO_NS: not yet */
    double exit_status, signal;
    const char *error, *log_tail, *flag;
    double sampling_asked_s, sampling_period_s, ticks, ticks_skipped, samples_lost, own_cpu_s, idle_s;

    /* totals */
    double time_s;                   /* start to stop */
    double epochs_seen;              /* epochs with both marks */
    double epoch_time_s;             /* mean over epochs */
    double energy_j, mean_power_w;   /* over the whole run, of the chosen devices */
    double energy_lo_j, energy_hi_j; /* 95 % interval */
    double idle_j;                   /* what they would have drawn at rest; NAN: not measured */
    bool estimated, simulated;       /* of that energy */
    double util_pct;                 /* busy time of the GPUs, else of the CPUs */
    double input_pct;                /* share of the epochs' time that ranks waited for input; NAN: not told */
    double power_capped_pct;         /* share of time in which the power limit, */
    double thermal_capped_pct;       /* and the temperature, held the GPU clocks down; mean over GPUs */
    const char *metric;              /* the main metric and its last value */
    double metric_value;
};
struct wl_run_rows {
    struct wl_run_row *v;
    size_t n;
};

struct wl_run_filter {
    int64_t campaign, trial, run; /* 0: any */
    unsigned statuses;            /* bits 1u << status; 0: any */
};

/* Runs by campaign, then position and id. */
int wl_store_runs(struct wl_store *s, const struct wl_run_filter *filter, struct wl_run_rows *out, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

struct wl_epoch_rows {
    struct wl_epoch_row *v;
    size_t n;
};
struct wl_energy_rows {
    struct wl_energy_row *v;
    size_t n;
};
struct wl_phase_rows {
    struct wl_phase_row *v;
    size_t n;
};
struct wl_metric_rows {
    struct wl_metric_row *v;
    size_t n;
};
struct wl_stat_rows {
    struct wl_stat_row *v;
    size_t n;
};
struct wl_log_row {
    int64_t wall_ns;
    const char *level, *area, *message;
};
struct wl_log_rows {
    struct wl_log_row *v;
    size_t n;
};

/* All of one run, by time or epoch. */
int wl_store_epochs(struct wl_store *s, int64_t run, struct wl_epoch_rows *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;
int wl_store_energies(struct wl_store *s, int64_t run, struct wl_energy_rows *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;
int wl_store_phases(struct wl_store *s, int64_t run, struct wl_phase_rows *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;
int wl_store_metrics(struct wl_store *s, int64_t run, struct wl_metric_rows *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;
int wl_store_stats(struct wl_store *s, int64_t run, struct wl_stat_rows *out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;
int wl_store_devices(struct wl_store *s, int64_t run, struct wl_device_rows *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;
int wl_store_channels(struct wl_store *s, int64_t run, struct wl_channel_rows *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;
int wl_store_read_marks(struct wl_store *s, int64_t run, struct wl_mark_rows *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;
int wl_store_read_log(struct wl_store *s, int64_t run, struct wl_log_rows *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* Of all runs of a campaign (0: of the store), by run and quantity. */
struct wl_variation_rows {
    struct wl_variation_row *v;
    size_t n;
};
int wl_store_variations(struct wl_store *s, int64_t campaign, struct wl_variation_rows *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* The readings of a channel from begin_ns to end_ns (INT64_MIN, INT64_MAX: all), by time. */
struct wl_readings {
    size_t n;
    int64_t *t_ns; /* [n] CLOCK_MONOTONIC of the run's host */
    double *value; /* [n] in the channel's unit; NAN: the reading failed */
};
int wl_store_series(struct wl_store *s, int64_t channel, int64_t begin_ns, int64_t end_ns, struct wl_readings *out,
                    struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The view `observations`: campaign 0 for all. Only runs that are done and not flagged. */
int wl_store_observations(struct wl_store *s, int64_t campaign, struct wl_observations *out, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

#endif
