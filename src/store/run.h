/* The life of a run, and the rows that are derived from its facts. */
#ifndef WL_STORE_RUN_H
#define WL_STORE_RUN_H

#include "store/open.h"
#include "store/records.h"

struct wl_run_begin {
    const char *host, *boot_id; /* where it was measured; NULL: here */
    const char *folder;         /* relative to the store's folder, or absolute; NULL: none */
    const char *command;        /* for people */
    const char *version;
    const char *training, *stop_at; /* as in wl_run_row; NULL: none */
    struct wl_slurm_job slurm;
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
    double other_run;   /* 1: another wattlaw measured there meanwhile, 0: none did; NAN: not known */
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
    struct wl_span_row *spans;
    size_t n_spans;
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
    const struct wl_load_row *load; /* NULL: nothing is known of it */
    const struct wl_attribution_row *attributions;
    size_t n_attributions;
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

#endif
