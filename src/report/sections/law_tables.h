/* Columns and cells of tables of laws. */
#ifndef WL_REPORT_SECTIONS_LAW_TABLES_H
#define WL_REPORT_SECTIONS_LAW_TABLES_H

#include "report/data.h"

/* Columns of tables of laws, and a law's cells in them; empty ones where it is NULL. */
#define WL_REPORT_LAW_COLUMNS                                                                 \
    { .id = "beta", .label = "exponent", .metric = "beta", .digits = 3 },                     \
        { .id = "beta_se", .label = "s.e.", .metric = "beta", .digits = 2 },                  \
        { .id = "beta_lo", .label = "from", .metric = "ci95", .digits = 3 },                  \
        { .id = "beta_hi", .label = "to", .metric = "ci95", .digits = 3 },                    \
        { .id = "alpha", .label = "time at 1", .unit = "s", .metric = "alpha", .digits = 4 }, \
    {                                                                                         \
        .id = "r2", .label = "R2", .metric = "r2", .digits = 3                                \
    }
void wl_report_law_cells(struct wl_report_table *t, const struct wl_law_estimate *law);

#endif
