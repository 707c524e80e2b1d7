/* Names, colours and facets of the groups of a report. */
#ifndef WL_REPORT_GROUPS_H
#define WL_REPORT_GROUPS_H

#include "report/data.h"

/* From g->law: groups, facets, and n_drawn; names and the labels of a facet are all different. */
void wl_report_groups_name(struct wl_report_data *g);

/* Is the column part of the key of some group? */
bool wl_report_groups_have_column(const struct wl_report_data *g, const char *column);

/* Title and id of a figure of a facet, with the suffixes of its workload, settings and series. */
char *wl_report_facet_title(const struct wl_report_data *g, size_t facet, const char *title);
char *wl_report_facet_id(const struct wl_report_data *g, size_t facet, const char *id);

#endif
