/* The settings of a campaign from its observations: what varied, the runs of each setting, and their joint models. */
#ifndef WL_ADVISE_CHOOSE_CAMPAIGN_H
#define WL_ADVISE_CHOOSE_CAMPAIGN_H

#include "advise/choose/choose.h"
#include "law/law.h"
#include "settings/settings.h"

/* Of a row. What is beyond cannot have been measured: it is left out and counted. Caps: WL_SETTING_CAP_MIN, _MAX. */
#define WL_CHOOSE_TIME_MIN   1e-9 /* s */
#define WL_CHOOSE_TIME_MAX   1e10
#define WL_CHOOSE_ENERGY_MIN 1e-9 /* J */
#define WL_CHOOSE_ENERGY_MAX 1e18

/* A restriction of the choice: a number in [least, most], or a text; a missing value matches `none` alone. Settings
 * that do not match are evidence, except those of another workload. */
struct wl_choose_where {
    const char *text;   /* "workers=4..16", for messages */
    const char *column; /* of the observations */
    const char *value;  /* NULL: a range */
    double least, most; /* -INFINITY, INFINITY: open */
    bool none;          /* the value is missing (no cap) */
};

/* For how much work time, energy and cost are. */
enum wl_choose_work_kind {
    WL_CHOOSE_UNIT,    /* an epoch, a run where there are no epochs, or as many samples as a typical one has */
    WL_CHOOSE_EPOCHS,  /* `amount` epochs */
    WL_CHOOSE_SAMPLES, /* `amount` samples */
    WL_CHOOSE_TARGET   /* until a metric reaches a value */
};
struct wl_choose_work {
    enum wl_choose_work_kind kind;
    double amount;
    const char *noun;   /* what the rows count as samples, in the singular; NULL: sample */
    const char *metric; /* WL_CHOOSE_TARGET: its name and the value to reach */
    double value;
    struct wl_strs others; /* further metrics of the source, for messages */
    /* WL_CHOOSE_TARGET: epochs to the target over the global batch, instead of the campaign's own; linear in logarithms
     * between them. n 0: none. */
    struct wl_choose_epochs_table {
        double *batch, *epochs; /* [n], batches ascending */
        size_t n;
    } table;
};

struct wl_choose_campaign_options {
    int64_t drop_epochs;
    const struct wl_choose_where *where;
    size_t n_where;
    struct wl_choose_work work;
    double node_size;    /* workers must be a multiple; NAN: any */
    double global_batch; /* samples per update that are needed; NAN: any */
    double site_power_w; /* of all devices, against measured peaks, else caps; NAN: any */
    double memory_bytes; /* of a device, against the column peak_memory_bytes; NAN or 0: any */
    bool is_store;       /* it has all settings of a run; a CSV file may have the workers under another name */
};

/* What the campaign varied, besides the workload. */
struct wl_choose_axis {
    const char *column;
    const struct wl_setting *setting; /* NULL: an axis of the user's own */
    bool number;                      /* else names: each value has a model of its own */
    bool derived;                     /* a batch that follows from the other axes: not an axis of the model */
};

struct wl_choose_campaign {
    struct wl_choose_axis *axes; /* workers first, whether it varied or not */
    bool no_workers;             /* no run of a store has a worker count: each counts as one whole (workers 1) */
    size_t n_axes;
    struct wl_choose_setting *settings;
    size_t n;
    const char ***value;         /* [n][axes] texts, "" missing */
    size_t *row;                 /* [n] a row of the observations */
    double *peak_w;              /* [n] of all devices together; NAN: unknown */
    bool *peak_is_cap;           /* [n] the limit of its caps, where no peak was measured */
    struct wl_strs *never_acted; /* [n] labels of its caps and clocks that limited no device in any run */
    enum wl_provenance *from;    /* [n] of its energy */
    /* [n] runs of each setting: ln t per unit of work and ln P of a worker */
    const struct wl_joint_runs *means[WL_JOINT_RESPONSES];
    struct wl_choose_group *groups;
    size_t n_groups;
    double *work_draws;   /* as in struct wl_choose_input; NULL: the work is certain */
    const char *workload; /* NULL: the source names none */
    const char *unit;     /* "per epoch", "per run", "for 1000 samples", "for 90 epochs", "to val_top1 = 0.75" */
    bool to_target;
    size_t runs, repeated; /* of those with a time; settings with two or more */
    double rho;            /* correlation of the noise of t and P */
    enum wl_provenance any_from;
    struct wl_strs notes;
};

/* WL_ENOENT: an unknown column or metric (with "did you mean"). WL_EINVAL: several workloads, no usable row, no number
 * of samples where it is needed, a target that no run reached. */
int wl_choose_campaign(const struct wl_observations *obs, const struct wl_choose_campaign_options *o,
                       struct wl_choose_campaign *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The settings alone, without models: groups, work and unit stay empty. Errors as above. */
int wl_choose_collect(const struct wl_observations *obs, const struct wl_choose_campaign_options *o,
                      struct wl_choose_campaign *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The workloads of a source, each with its rows, in order of appearance. Names are compared to the letter: 4 and 4.0
 * are two. */
struct wl_choose_workloads {
    size_t n;
    const char **name;           /* [n] "": of rows that name none */
    struct wl_observations *obs; /* [n] */
};

/* Those that match what `where` says of the workload. WL_ENOENT: a restriction of an unknown column. */
int wl_choose_workloads(const struct wl_observations *obs, const struct wl_choose_where *where, size_t n_where,
                        struct wl_choose_workloads *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Has obs the columns of these restrictions? WL_ENOENT: the message begins with "--OPTION" and the restriction. */
int wl_choose_check_columns(const struct wl_observations *obs, const struct wl_choose_where *where, size_t n_where,
                            const char *option, struct wl_err *e) WL_MUST_CHECK;

/* Numbers settings 0 .. by their values of all axes but the cap `but`; NULL: but all caps. Returns how many there are.
 */
size_t wl_choose_families(const struct wl_choose_campaign *c, const char *but, size_t *id, struct wl_arena *a);

/* Is each cap of setting i but `but` missing, or the largest of its hardware where none is missing? */
bool wl_choose_is_unrestrained(const struct wl_choose_campaign *c, const char *but, size_t i);

/* "8 workers, local batch 32": a setting without its caps. */
const char *wl_choose_name_without_caps(const struct wl_choose_campaign *c, size_t i, struct wl_arena *a);

/* The input of wl_choose. */
struct wl_choose_input wl_choose_campaign_input(const struct wl_choose_campaign *c);

/* One reference for all settings where none is named: the least expected time among settings without a cap, or with the
 * largest ones of their hardware. `like`: restrictions that it must match as well (n may be 0); WL_EINVAL: none
 * matches.
 */
int wl_choose_reference(const struct wl_choose_campaign *c, const struct wl_observations *obs,
                        const struct wl_choose_where *like, size_t n_like, size_t *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* What slowdowns and savings are relative to: one setting that matches `like`, or the fastest one, or, without both,
 * the same setting without a cap (or with the largest of its hardware): same workers, same batch. Of settings that are
 * capped on different axes, which cannot be compared, it is the fastest. Where no cap varied it is the fastest, too.
 * Fills in o->reference and o->references; notes settings that have no reference. Errors as above. */
struct wl_choose_reference_options {
    const struct wl_choose_where *like;
    size_t n_like;
    bool fastest;
};
int wl_choose_references(struct wl_choose_campaign *c, const struct wl_observations *obs,
                         const struct wl_choose_reference_options *how, struct wl_choose_options *o, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* The largest power cap of the campaign, W; NAN: there is none. */
double wl_choose_largest_cap(const struct wl_choose_campaign *c);

#endif
