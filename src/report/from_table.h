/* The data of a report from an observation table (a CSV file) instead of a store. */
#ifndef WL_REPORT_FROM_TABLE_H
#define WL_REPORT_FROM_TABLE_H

#include "report/data.h"

/* Fills in observations and runs: the runs are those of the table, numbered from 1 in order of appearance, all of them
 * done. Times and energies of a run are the sums over its epochs, and missing where one of them is. */
void wl_report_data_from_table(struct wl_report_data *g, const struct wl_observations *obs);

#endif
