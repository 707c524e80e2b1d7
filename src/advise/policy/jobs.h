/* Measured jobs of a partition: settings of one source that differ in one cap (or clock) alone, and the candidates of a
 * policy, which are all values of that cap. */
#ifndef WL_ADVISE_POLICY_JOBS_H
#define WL_ADVISE_POLICY_JOBS_H

#include "advise/cap/cap.h"
#include "advise/choose/campaign.h"

/* A campaign that was collected (wl_choose_collect) and its observations. */
struct wl_policy_source {
    const struct wl_observations *obs;
    const struct wl_choose_campaign *campaign;
};

/* A job at one value of the cap: means over runs. */
struct wl_policy_point {
    size_t value;      /* of wl_policy_jobs.value */
    double ln_t, ln_p; /* time per unit of work, s; power of a worker, W */
    size_t runs;
    double peak_w; /* highest measured power of a worker; NAN: unknown */
};

struct wl_policy_job {
    const char *name;     /* "resnet50: 8 workers, local batch 32" */
    const char *workload; /* NULL: the source names none */
    const char *source;   /* path */
    struct wl_policy_point *point;
    size_t n; /* >= 2, with different values */
    enum wl_provenance from;
};

struct wl_policy_jobs {
    const struct wl_setting *cap;
    struct wl_policy_job *v;
    size_t n, cap_of_v;
    double *value;  /* [values] ascending, W or MHz; the last one is the reference */
    size_t values;  /* 2 .. WL_ADVISE_CAP_MAX */
    bool uncapped;  /* the reference is a device without the cap: its value is only where the model puts it */
    double limit_w; /* power limit of the device without the cap; NAN: unknown */
    double scale_w; /* the same, or a guess: what powers of the model are relative to */
    struct wl_advise_cap_noise noise; /* of one run */
    double noise_df;                  /* degrees of freedom of repeats; 0: the noise is assumed */
    size_t single, unmeasured;        /* groups left out: one value of the cap, no energy or no time */
    const char *hardware;             /* NULL: unknown */
    enum wl_provenance from;
};

/* `cap`: a cap of the settings table; NULL: the first of them that varied. `max_power_w`: power limit of the device;
 * NAN: unknown. WL_EINVAL: no cap varied, no job has two values of it with time and energy, more than WL_ADVISE_CAP_MAX
 * values, several kinds of hardware. */
int wl_policy_find_jobs(const struct wl_policy_source *sources, size_t n, const struct wl_setting *cap,
                        double max_power_w, struct wl_policy_jobs *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

#endif
