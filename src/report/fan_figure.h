/* The fan of curves of a forecast. */
#ifndef WL_REPORT_FAN_FIGURE_H
#define WL_REPORT_FAN_FIGURE_H

#include "law/law.h"
#include "report/figure/figure.h"

struct wl_report_fan {
    const struct wl_law_group *law;
    const struct wl_law_posterior *posterior; /* of the law's response; not refused */
    enum wl_law_response response;
    const char *name; /* of the group, in the title */
    const char *span; /* what a response belongs to: "epoch", "run", or an amount of work: "10^9 tokens" */
    bool of_amount;
    double to;           /* largest worker count drawn; 0: four times the largest measured one */
    const double *asked; /* [n_asked] worker counts that get a point with the interval of a new run */
    size_t n_asked;
};

/* Measured worker counts (those far below the largest are left out), the median with the 95 % intervals of one run and
 * of a new configuration, and the families of curves with at least 2 % of the posterior weight. */
struct wl_figure *wl_report_fan_figure(const struct wl_report_fan *fan, struct wl_arena *a);

/* Draws a figure to FILE.svg or FILE.pdf with gnuplot, or writes it as FILE.gp (gnuplot's script) or FILE.csv.
 * WL_EUSAGE: another ending; WL_EUNAVAIL: gnuplot is not installed. */
int wl_report_draw(const struct wl_figure *f, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
