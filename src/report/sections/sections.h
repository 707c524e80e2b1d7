/* The sections of a report. */
#ifndef WL_REPORT_SECTIONS_SECTIONS_H
#define WL_REPORT_SECTIONS_SECTIONS_H

#include "report/data.h"

/* Each adds its section, figures, tables or sentences to the document, and nothing where it has nothing to show. */
void wl_report_add_facts(const struct wl_report_data *g, struct wl_document *d);
void wl_report_add_answers(const struct wl_report_data *g, struct wl_document *d); /* the card at the head */
void wl_report_add_choice(const struct wl_report_data *g, struct wl_document *d);
void wl_report_add_effects(const struct wl_report_data *g, struct wl_document *d); /* findings and a section */
void wl_report_add_findings(const struct wl_report_data *g, struct wl_document *d);
void wl_report_add_warnings(const struct wl_report_data *g, struct wl_document *d);
void wl_report_add_scaling(const struct wl_report_data *g, struct wl_document *d);
void wl_report_add_law_tables(const struct wl_report_data *g, struct wl_document *d, struct wl_section *s);
void wl_report_add_scaling_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section *s);
void wl_report_add_quality_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section **s);
void wl_report_add_energy_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section **s);
int wl_report_add_constant_batch(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
void wl_report_add_forecast(const struct wl_report_data *g, struct wl_document *d);
int wl_report_add_plan(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
void wl_report_add_model_selection(const struct wl_report_data *g, struct wl_document *d);
int wl_report_add_factors(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
void wl_report_add_energy(const struct wl_report_data *g, struct wl_document *d);
int wl_report_add_footprint(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_worker_hours(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_utilisation(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_power_trace(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_learning_curves(const struct wl_report_data *g, struct wl_document *d,
                                  struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_large_batch(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_units(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
void wl_report_add_variation_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section *s);
void wl_report_add_views(const struct wl_report_data *g, struct wl_document *d);
void wl_report_add_runs(const struct wl_report_data *g, struct wl_document *d);

#endif
