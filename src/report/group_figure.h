/* Figures of a value of each group against workers. */
#ifndef WL_REPORT_GROUP_FIGURE_H
#define WL_REPORT_GROUP_FIGURE_H

#include "report/data.h"

/* The worker counts of a facet, thinned to at most `most` (wl_ticks_counts), and a figure over them. */
struct wl_reals wl_report_worker_counts(const struct wl_report_data *g, size_t facet, size_t most);
struct wl_figure *wl_report_group_figure(const struct wl_report_data *g, size_t facet, const char *id,
                                         const char *title);

/* Gives the figure a choice of worker counts, of which two are drawn: those of --at that are there, else the ends. */
void wl_report_choose_counts(const struct wl_report_data *g, const double *counts, size_t n, struct wl_figure *f);

/* Has a group of the facet more than one worker count, so that there is something to compare with the smallest? */
bool wl_report_facet_scales(const struct wl_report_data *g, size_t facet);

/* A group's values at its worker counts with their intervals, as points on a line: estimates [law->n_configs]. */
void wl_report_add_estimates(struct wl_figure *f, const struct wl_report_group *group,
                             const struct wl_estimate *estimates);

/* A figure of ratios `name` to the smallest worker count, whose base can be chosen: of one workload whose groups count
 * the same work, also another group's. */
struct wl_figure *wl_report_ratio_figure(const struct wl_report_data *g, size_t facet, const char *id,
                                         const char *title, const char *name);

/* A group's ratios to its smallest worker count, with their intervals, and what they are ratios of: offsets of a
 * wl_estimate and of a wl_law_mean in struct wl_law_config. */
void wl_report_add_ratios(struct wl_figure *f, const struct wl_report_group *group, size_t ratio, size_t mean);

#endif
