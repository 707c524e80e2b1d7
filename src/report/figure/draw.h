/* What the renderers of figures share. */
#ifndef WL_REPORT_FIGURE_DRAW_H
#define WL_REPORT_FIGURE_DRAW_H

#include "report/figure/figure.h"

/* "epoch time [s]", or the label alone. */
char *wl_figure_axis_title(const struct wl_figure_axis *axis, struct wl_arena *a);

/* Can the axis hold the value? It must be finite, positive on a log scale, and from 1e-100 to 1e100 in size. */
bool wl_figure_on_axis(const struct wl_figure_axis *axis, double v);

/* Does the series have no point that can be drawn? */
bool wl_figure_series_empty(const struct wl_figure *f, const struct wl_figure_series *s);

#endif
