/* The content of a store as structs: settings, plans, runs, measurements and derived rows.
 *
 * schema.sql describes every table and column. Numbers that may be missing are doubles, NAN when missing (NULL in the
 * file), counts included; times are int64, WL_NO_NS when missing; texts are NULL when missing.
 */
#ifndef WL_STORE_RECORDS_H
#define WL_STORE_RECORDS_H

#include "settings/settings.h"

#define WL_NO_NS INT64_MIN /* a time that is not known */

/* ---- campaigns and trials ---- */

struct wl_campaign_row {
    int64_t id;
    const char *name;
    const char *experiment; /* newest expanded text */
    const char *version;    /* of the wattlaw that wrote that text */
    int64_t created_wall_ns;
};

struct wl_campaign_rows {
    struct wl_campaign_row *v;
    size_t n;
};
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

/* ---- runs ---- */

enum wl_run_status { WL_RUN_PLANNED, WL_RUN_RUNNING, WL_RUN_DONE, WL_RUN_FAILED, WL_RUN_INTERRUPTED };
extern const char *const wl_run_status_names[]; /* "planned" ..., by enum */

/* How a run waited for its GPUs to cool down before it began. */
struct wl_cooldown {
    double asked_c;  /* NAN: it did not wait, and nothing below is known */
    double begin_c;  /* the hottest GPU when the run began; NAN: unknown */
    double waited_s; /* how long that took */
    const char *why; /* why one was hotter, or may have been; NULL: none was */
};
extern const struct wl_cooldown wl_cooldown_none;

/* What Slurm says that the nodes drew in a run: a check of our joules, never a part of them. */
struct wl_slurm_energy {
    const char *plugin; /* "acct_gather_energy/ipmi"; NULL: no job of a Slurm that measures, or that could be asked */
    const char *steps;  /* whose energy that is: "12.0 12.1"; NULL: none */
    double energy_j;    /* of all nodes of these steps; NAN: missing */
    double period_s;    /* how often Slurm samples jobs, 0: at their begin and end; NAN: it does not say */
    const char *why;    /* why it is missing; NULL: it is not */
};
extern const struct wl_slurm_energy wl_slurm_energy_none;

/* The Slurm job that a run was a part of, by its environment; NULL: unknown, or none. */
struct wl_slurm_job {
    const char *id, *account, *cluster, *partition;
};

/* Where the batch system put the job of a run; NULL and NAN: not known. */
struct wl_placement_row {
    int64_t run;            /* when read */
    const char *nodes;      /* in the batch system's names: "n1,n2" */
    const char *switches;   /* lowest switches that these are on: "s1,s2" */
    double queue_wait_s;    /* from the submission to the start, by the batch system's clock */
    const char *other_jobs; /* that were seen on these nodes at the begin or end of the run: "12,17"; "": none was */
};
struct wl_placement_rows {
    struct wl_placement_row *v;
    size_t n;
};

/* What others did on the machine during a run; NAN: not known. CPU time in s over all CPUs. */
struct wl_load_row {
    double busy_cpu_s, job_cpu_s, other_cpu_s; /* other: without the job and without wattlaw itself */
    double cpus, job_cpus;                     /* online; that the job may use */
    double runnable;                           /* tasks that run or wait for a CPU, mean */
    double idle_other_cpus;                    /* CPUs in use while the idle machine was measured, mean */
    double gpu_processes;                      /* most processes of others on a GPU of the job */
    const char *busy;                          /* why the run's numbers are not of the job alone; NULL: they are */
    const char *why;                           /* why that is not known; NULL: it is */
};
extern const struct wl_load_row wl_load_none;

/* A run with its settings (the trial's, else what the run said) and its totals. */
struct wl_run_row {
    int64_t id, trial, campaign, repeat, attempt;
    double seed, position;
    enum wl_run_status status;
    struct wl_settings set;
    const char *actual_extra; /* those members of set.extra that the run itself said; NULL: none */
    const char *host, *boot_id, *folder, *command, *version;
    double pid;
    struct wl_anchor start, stop; /* WL_NO_NS: not yet */
    double exit_status, signal;
    const char *error, *log_tail, *flag;
    double sampling_asked_s, sampling_period_s, ticks, ticks_skipped, samples_lost, own_cpu_s, idle_s;
    double sampler_cpu; /* that the measuring was bound to; NAN: none */
    double other_run;   /* 1: another wattlaw measured there meanwhile, 0: none did; NAN: not known */
    struct wl_cooldown cooldown;
    struct wl_slurm_energy slurm;
    struct wl_slurm_job slurm_job;
    const char *training; /* that it is a part of; NULL: of none */
    const char *stop_at;  /* the limit that it was given: "2 kWh"; NULL: none */
    struct wl_load_row load;

    /* totals */
    double time_s;                   /* start to stop */
    double epochs_seen;              /* epochs with both marks */
    double epoch_time_s;             /* mean over epochs */
    double energy_j, mean_power_w;   /* over the whole run, of the chosen devices */
    double energy_lo_j, energy_hi_j; /* 95 % interval */
    double idle_j;                   /* what they would have drawn idle; NAN: not measured */
    bool estimated, simulated;       /* of that energy */
    const char *source;              /* format of the file that it was imported from; NULL: wattlaw measured it */
    double util_pct;                 /* busy time of the GPUs, else of the CPUs */
    double input_pct;                /* share of the epochs' time that ranks waited for input; NAN: unknown */
    double power_capped_pct;         /* share of time in which the power limit, */
    double thermal_capped_pct;       /* and the temperature, held the GPU clocks down; mean over GPUs */
    double achieved[WL_CAP_KINDS];   /* of clocks: MHz that the GPUs ran at, mean over time and GPUs */
    double acted_pct[WL_CAP_KINDS];  /* share of its caps of each kind that acted, 0: none ever did; NAN: none was asked
                                      * for, or it was not seen */
    const char *metric;              /* the main metric and its last value */
    double metric_value;
    const char *metric_unit; /* NULL: the workload said none */
};
struct wl_run_rows {
    struct wl_run_row *v;
    size_t n;
};

/* ---- derived from the facts of a run ---- */

struct wl_epoch_row {
    int64_t epoch;            /* from 1 */
    int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC of the run's host; WL_NO_NS: only the duration is known */
    double time_s;
    double samples, updates, tokens; /* of all workers together; updates: optimizer steps */
};
/* A part of a run that steps and checkpoints give: schema.sql. */
struct wl_span_row {
    const char *kind;         /* steps, unsaved */
    int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC of the run's host */
    double time_s;
    double steps, samples, tokens; /* of all workers together; NAN: not known */
    double energy_j, energy_lo_j, energy_hi_j;
    bool estimated, simulated;
    const char *why; /* why energy_j is NAN */
};
#define WL_SPAN_STEPS   "steps"
#define WL_SPAN_UNSAVED "unsaved"
struct wl_energy_row {
    double epoch; /* NAN: the whole run */
    int64_t device;
    const char *scope;  /* as of the channel */
    const char *method; /* counter, integral, combined */
    double energy_j, mean_power_w, coverage;
    double energy_lo_j, energy_hi_j;    /* 95 % interval */
    double idle_before_w, idle_after_w; /* mean idle power before and after the job; NAN: not measured */
    double idle_j;                      /* what the device would have drawn idle */
    bool estimated, simulated;
    bool chosen;     /* one of the rows whose sum is the run's energy_j: see wl_energy_sources in power/power.h. Chosen
                      * rows never overlap; the same devices are chosen in all epochs of a run, each by the method that
                      * suits the epoch. */
    const char *why; /* why energy_j is NAN; NULL: it is not, or nobody said */
};
/* The job's part of the energy of a chosen device over the run (src/energy/attribution.h); NAN: not known. */
struct wl_attribution_row {
    int64_t device;
    const char *scope, *method;
    double use_share, reserved;
    double energy_j, energy_lo_j, energy_hi_j;
    double above_j, above_lo_j, above_hi_j, idle_j;
    bool simulated;
    const char *why; /* why energy_j is NAN */
};
struct wl_attribution_rows {
    struct wl_attribution_row *v;
    size_t n;
};
/* Energy of a device over all spans of a phase. */
struct wl_phase_row {
    const char *phase;
    int64_t device;
    const char *scope, *method;
    int64_t spans;
    double time_s, energy_j, energy_lo_j, energy_hi_j;
    bool estimated, simulated;
    const char *why; /* why energy_j is NAN */
};
struct wl_metric_row {
    double epoch; /* NAN: the whole run */
    const char *name;
    double value;
};
/* What a workload said a metric is; NULL and NAN: it did not say. */
struct wl_metric_def_row {
    int64_t run;          /* when read: who said so */
    const char *workload; /* when read; NULL: it has no name */
    const char *name, *label, *unit;
    double larger;           /* 1 larger is better, 0 smaller is */
    const char *baseline_of; /* the metric that it is the baseline of */
    bool main;               /* runs are judged by it */
    int64_t place;           /* from 1, in the order in which they were said */
};
struct wl_stat_row {
    int64_t channel;
    double epoch; /* NAN: the whole run */
    int64_t readings;
    double mean, sd, min,
        max;         /* in the channel's unit; mean weighted by time. Of a counter: mean is its rate, unit/s */
    double period_s; /* mean time between its good readings; NAN: fewer than two */
};

/* A quantity in % over the training of a run (wl_variation_estimate in stats/stats.h); intervals NAN where too short.
 */
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

/* A run that was measured on a busy machine. */
struct wl_busy_row {
    int64_t run;
    const char *busy; /* why, see wl_load_row */
};
struct wl_busy_rows {
    struct wl_busy_row *v;
    size_t n;
};

struct wl_epoch_rows {
    struct wl_epoch_row *v;
    size_t n;
};
struct wl_span_rows {
    struct wl_span_row *v;
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
struct wl_run_metric_rows {
    struct wl_run_metric_row {
        int64_t run;
        struct wl_metric_row metric;
    } * v;
    size_t n;
};
struct wl_metric_def_rows {
    struct wl_metric_def_row *v;
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

struct wl_variation_rows {
    struct wl_variation_row *v;
    size_t n;
};
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
    double update_s, window_s,
        delay_s;            /* how the sensor shows what it measures (struct wl_sensor_response); NAN: not known */
    double power_limit_w;   /* of power: the device's power limit; NAN: not known */
    const char *calibrated; /* UTC time of the calibration that they are from; NULL: assumed, if known */
};
struct wl_channel_rows {
    struct wl_channel_row *v;
    size_t n;
};

struct wl_sample_row {
    int64_t channel, t_ns;
    double value; /* NAN: the reading failed */
};

struct wl_mark_row {
    int64_t t_ns, rank;
    const char *word, *fields; /* fields: "key=value ..." as written, "" for none */
};
struct wl_mark_rows {
    struct wl_mark_row *v;
    size_t n;
};
/* A node of a run and the stamps that tie its clock to the run's, which is that of the first node. */
struct wl_node_row {
    const char *host, *boot_id;
    bool first;
    struct wl_anchor start, stop; /* on its own clocks */
    int64_t shift_ns;             /* was added to its times to bring them onto the run's clock */
    double drift_s;               /* by how much its clock went apart from that one meanwhile */
};
struct wl_node_rows {
    struct wl_node_row *v;
    size_t n;
};

/* A limit of a device during a run, in W or MHz. */
struct wl_cap_row {
    const char *host, *device; /* device: uuid, "rapl:package-0/long_term", "cpufreq:policy0" */
    const char *kind;          /* name of a setting: power_cap_w, clock_mhz ... */
    const char *name, *setter;
    double requested, found, enforced, at_end; /* NAN: not locked, or cannot be read */
    bool simulated;

    /* when read: what the device did under it; NAN: not measured */
    double achieved, achieved_max; /* power or clock, mean over time and highest */
    double held_pct;               /* share of the time in which its power limit held its clock down */
    double acted;                  /* 1 the cap acted, 0 it never did */
};
struct wl_cap_rows {
    struct wl_cap_row *v;
    size_t n;
};

/* Of a run's energy, with what its import says. */
static inline enum wl_provenance wl_run_provenance(const struct wl_run_row *r)
{
    return wl_provenance_of(r->estimated, r->simulated) | (r->source ? WL_IMPORTED : WL_MEASURED);
}

/* The readings of a channel. */
struct wl_readings {
    size_t n;
    int64_t *t_ns; /* [n] CLOCK_MONOTONIC of the run's host */
    double *value; /* [n] in the channel's unit; NAN: the reading failed */
    bool spilled;  /* both are of wl_spill_alloc */
};

/* Makes room for `n` readings, which are none yet: in memory, or in a file beside the store where they are many. */
int wl_readings_alloc(struct wl_readings *r, size_t n, const char *near, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* They are not needed for a while: takes them out of the memory of the process where they are in a file. */
void wl_readings_rest(const struct wl_readings *r);

#endif
