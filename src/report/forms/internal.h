/* Shared by the forms. */
#ifndef WL_REPORT_FORMS_INTERNAL_H
#define WL_REPORT_FORMS_INTERNAL_H

#include "report/data.h"

struct wl_form {
    const struct wl_report_data *g;
    const struct wl_strs *fields;
    struct wl_run_rows runs; /* done and not flagged; or the one that was chosen */
    size_t left_out;         /* others that have begun */
    struct wl_arena *arena;
};

/* Sums over the runs of the form. */
struct wl_form_sum {
    double time_s, worker_hours; /* NAN: of one of them unknown */
    struct wl_amount energy;     /* of those that have one; NAN: none has */
    struct wl_strs without;      /* numbers of runs without an energy */
};
struct wl_form_sum wl_form_sum(const struct wl_form *f);

char *wl_form_runs(const struct wl_form *f);      /* "run 3", "runs 1 to 4, 7" */
char *wl_form_left_out(const struct wl_form *f);  /* "2 other runs of the store ..."; NULL: none */
char *wl_form_hardware(const struct wl_form *f);  /* "4 x V100 (nvml)"; "unknown" */
char *wl_form_versions(const struct wl_form *f);  /* of wattlaw: "0.1.0, 0.2.0" */
char *wl_form_workloads(const struct wl_form *f); /* names; "unnamed" */
char *wl_form_period(const struct wl_form *f);    /* "2026-01-31 to 2026-02-02 (UTC)"; "unknown" */
char *wl_form_meters(const struct wl_form *f);    /* what measured: "wattlaw 0.1.0", "zeus (imported by ...)" */
bool wl_form_has_imports(const struct wl_form *f);
const char *wl_form_provenance(enum wl_provenance from); /* "measured", "estimated", "simulated", "imported" */
const char *wl_form_plain(const struct wl_form *f, const char *text); /* without a meaning in Markdown and HTML */
void wl_form_line(struct wl_text *to, const char *fmt, ...) WL_PRINTF(2, 3); /* one line, with its end */
void wl_form_table(struct wl_text *to, const struct wl_report_table *t);

/* The energies of devices at each worker count of a group, as a table for people. */
struct wl_report_table *wl_form_scaling_table(const struct wl_form *f, const struct wl_report_group *group);

typedef int wl_form_writer(const struct wl_form *f, struct wl_text *to, struct wl_err *e);
wl_form_writer wl_form_proposal, wl_form_model_card, wl_form_ai_act, wl_form_artifact;

#endif
