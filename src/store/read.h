/* Reading a store: the rows of its tables, and observations made of them. */
#ifndef WL_STORE_READ_H
#define WL_STORE_READ_H

#include "store/open.h"
#include "store/records.h"

int wl_store_campaigns(struct wl_store *s, struct wl_campaign_rows *out, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* campaign 0: all. */
int wl_store_trials(struct wl_store *s, int64_t campaign, struct wl_trial_rows *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

struct wl_run_filter {
    int64_t campaign, trial, run; /* 0: any */
    unsigned statuses;            /* bits 1u << status; 0: any */
};

/* Runs by campaign, then position and id. */
int wl_store_runs(struct wl_store *s, const struct wl_run_filter *filter, struct wl_run_rows *out, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* The command of a run that has begun, and its folder, relative to the store's; NULL: none, or no such run. */
int wl_store_run_command(struct wl_store *s, int64_t run, const char **command, const char **folder, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* When it ended, ns since 1970: its start and its duration, since the wall clock may have been set between the two;
 * WL_NO_NS: not yet, or not known. */
int64_t wl_store_run_end_wall_ns(const struct wl_run_row *run);

/* Is the wattlaw that measures a running run alive? 1 yes, 0 no, negative: cannot be seen from this host. */
int wl_store_run_is_alive(struct wl_store *s, const struct wl_run_row *run);

/* The status of every run, by number: what a reader looks at that follows a store. */
struct wl_run_state_rows {
    struct wl_run_state_row {
        int64_t run;
        enum wl_run_status status;
    } * v;
    size_t n;
};
int wl_store_run_states(struct wl_store *s, struct wl_run_state_rows *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* For a reader: the readings of a running run that its wattlaw has not stored yet, as they are in its spool now, are
 * shown with the stored ones from here on. */
int wl_store_show_spool(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;

/* The path of that file, whose size and time change with each of its readings. */
char *wl_store_spool_path(const struct wl_store *s, int64_t run, struct wl_arena *a);

/* All of one run, by time or epoch. */
int wl_store_epochs(struct wl_store *s, int64_t run, struct wl_epoch_rows *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;
int wl_store_spans(struct wl_store *s, int64_t run, struct wl_span_rows *out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;
int wl_store_energies(struct wl_store *s, int64_t run, struct wl_energy_rows *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;
/* The runs of the store that were measured on a busy machine, by number. */
int wl_store_busy(struct wl_store *s, struct wl_busy_rows *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Runs that count as repeats, done and of the same settings, but have different commands: of each such setting the
 * first run and the first with another command. Seeds, words with the run's own folder, and placeholders of one sweep
 * do not count. By the number of the first run. campaign 0: all. */
struct wl_unlike_rows {
    struct wl_unlike_row {
        const char *workload; /* NULL: none */
        int64_t run, other;
        const char *command, *other_command;
    } * v;
    size_t n;
};
int wl_store_unlike_repeats(struct wl_store *s, int64_t campaign, struct wl_unlike_rows *out, struct wl_arena *a,
                            struct wl_err *e) WL_MUST_CHECK;

int wl_store_attributions(struct wl_store *s, int64_t run, struct wl_attribution_rows *out, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;
int wl_store_phases(struct wl_store *s, int64_t run, struct wl_phase_rows *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;
int wl_store_metrics(struct wl_store *s, int64_t run, struct wl_metric_rows *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* Of all runs of a campaign (0: of the store) by run, each as wl_store_metrics has them: one query in place of one for
 * each run. */
int wl_store_metrics_by_run(struct wl_store *s, int64_t campaign, struct wl_run_metric_rows *out, struct wl_arena *a,
                            struct wl_err *e) WL_MUST_CHECK;

/* What the metrics of a run (0: of all runs of a campaign, 0: of the store) are. Of runs of one workload that do not
 * agree, the newest counts. By workload, then in the order in which they were said. */
int wl_store_metric_defs(struct wl_store *s, int64_t campaign, int64_t run, struct wl_metric_def_rows *out,
                         struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The names of all metrics that epochs of runs have which observations are made of, in their order. */
int wl_store_metric_names(struct wl_store *s, struct wl_strs *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
/* Peaks of each run, in the order of runs; NAN: not measured. Power is the sum of the highest readings of the devices,
 * which need not be of one instant: GPUs, without them modules, without these packages and DRAM; nodes, estimates and
 * energy counters are left out. Memory is that of the device that used most. */
struct wl_peak_rows {
    struct wl_peak_row {
        int64_t run;
        double power_w, memory_bytes;
    } * v;
    size_t n;
};
int wl_store_peaks(struct wl_store *s, struct wl_peak_rows *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A GPU that is busy for less of a run has no part in its work. */
#define WL_GPU_USED_PCT 5

/* What each GPU did in a run (epoch NAN) and, if asked for, in its epochs: by run, epoch (the run first) and device.
 * NAN: not measured. */
struct wl_gpu_rows {
    struct wl_gpu_row {
        int64_t run;
        double epoch;
        const char *host, *uuid, *info; /* info: as of struct wl_device_row */
        double number;
        double energy_j, clock_mhz;
        double busy_pct,
            busy_readings; /* mean of the run's or epoch's readings of how busy it was; how many these are */
        double power_capped_pct, thermal_capped_pct; /* share of the time that its power limit, its temperature held its
                                                      * clock down */
        bool estimated, simulated;                   /* estimated: energy_j */
    } * v;
    size_t n;
};
int wl_store_gpus(struct wl_store *s, bool epochs, struct wl_gpu_rows *out, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* What ranks said when they started, and how long they computed (phase name=compute), in runs that are done in which
 * one said so; in the order in which they were written. By run. */
struct wl_rank_mark_rows {
    struct wl_rank_mark_row {
        int64_t run, rank;
        bool is_start;
        const char *host, *gpu;  /* of a start; NULL: not said. gpu: the UUID */
        double epoch, compute_s; /* of the others; epoch NAN: of no epoch */
    } * v;
    size_t n;
};
int wl_store_rank_marks(struct wl_store *s, struct wl_rank_mark_rows *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* The GPUs, or modules with one, that the energy of a run counts; runs without any are not listed. By run. */
struct wl_gpu_count_rows {
    struct wl_gpu_count_row {
        int64_t run, gpus;
    } * v;
    size_t n;
};
int wl_store_gpu_counts(struct wl_store *s, int64_t campaign, struct wl_gpu_count_rows *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

int wl_store_stats(struct wl_store *s, int64_t run, struct wl_stat_rows *out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;
int wl_store_devices(struct wl_store *s, int64_t run, struct wl_device_rows *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;
int wl_store_channels(struct wl_store *s, int64_t run, struct wl_channel_rows *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;
int wl_store_nodes(struct wl_store *s, int64_t run, struct wl_node_rows *out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;
/* Of a run (0: of all), by run; runs outside of a batch system have none. */
int wl_store_placements(struct wl_store *s, int64_t run, struct wl_placement_rows *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;
int wl_store_caps(struct wl_store *s, int64_t run, struct wl_cap_rows *out, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;
int wl_store_read_marks(struct wl_store *s, int64_t run, struct wl_mark_rows *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;
/* Those from an instant on. */
int wl_store_read_marks_since(struct wl_store *s, int64_t run, int64_t begin_ns, struct wl_mark_rows *out,
                              struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_store_read_log(struct wl_store *s, int64_t run, struct wl_log_rows *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* Of all runs of a campaign (0: of the store), by run and quantity. */
int wl_store_variations(struct wl_store *s, int64_t campaign, struct wl_variation_rows *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* The readings of a channel from begin_ns to end_ns (INT64_MIN, INT64_MAX: all), by time. */
int wl_store_readings(struct wl_store *s, int64_t channel, int64_t begin_ns, int64_t end_ns, struct wl_readings *out,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Does the table of observations, or a law that reads one, give this name a meaning? An axis of the user's would hide
 * it, or be taken for it. Settings that the store keeps without a column, such as precision, are not among them. */
bool wl_store_is_observation_column(const char *name);

/* The view `observations`: campaign 0 for all. Only runs that are done and not flagged. */
int wl_store_observations(struct wl_store *s, int64_t campaign, struct wl_observations *out, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* The same with `metric` in place of the main metric where it was reported (NULL: nowhere). */
int wl_store_observations_of(struct wl_store *s, int64_t campaign, const char *metric, struct wl_observations *out,
                             struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A consistent copy of the file, without what is not stored yet, as a single file at `path`, which does not exist or is
 * empty. The same store gives the same bytes. */
int wl_store_copy(struct wl_store *s, const char *path, struct wl_err *e) WL_MUST_CHECK;

#endif
