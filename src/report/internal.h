/* What the files of report/ share. */
#ifndef WL_REPORT_INTERNAL_H
#define WL_REPORT_INTERNAL_H

#include "report/report.h"

/* Files that the build puts into the binary (tools/embed): ui/ and Chart.js. */
extern const unsigned char wl_asset_chart_js[], wl_asset_report_js[], wl_asset_report_css[];
extern const unsigned long wl_asset_chart_js_size, wl_asset_report_js_size, wl_asset_report_css_size;
extern const char wl_asset_chart_js_hash[], wl_asset_report_js_hash[], wl_asset_report_css_hash[];

/* "epoch time [s]", or the label alone. */
char *wl_figure_axis_title(const struct wl_figure_axis *axis, struct wl_arena *a);

/* "Some values are estimated." and the like; NULL where all are measured. */
const char *wl_provenance_note(bool estimated, bool simulated);

/* A value that can stand on the axis: finite, positive on a log scale, and from 1e-100 to 1e100 in size. */
bool wl_figure_on_axis(const struct wl_figure_axis *axis, double v);

/* `text`; where `taken` has it already, with a number from 2 on between `before` and `after`. Adds it to `taken`. */
const char *wl_unique_name(struct wl_strs *taken, const char *text, const char *before, const char *after,
                           struct wl_arena *a);

/* Has the series no point that can be drawn? */
bool wl_figure_series_empty(const struct wl_figure *f, const struct wl_figure_series *s);

/* A cell as people read it: its text, or its number with the digits of its column. */
const char *wl_report_table_cell_text(const struct wl_report_table *t, size_t row, size_t column);

/* Does something stand in the column? */
bool wl_report_table_column_used(const struct wl_report_table *t, size_t column);

/* The heading of a column with its unit: "mean power [W]". */
char *wl_report_table_column_title(const struct wl_report_column *c, struct wl_arena *a);

#endif
