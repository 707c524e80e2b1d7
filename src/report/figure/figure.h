/* Figures as values, drawn by several renderers. */
#ifndef WL_REPORT_FIGURE_FIGURE_H
#define WL_REPORT_FIGURE_FIGURE_H

#include "base/base.h"

struct wl_figure_axis {
    const char *label;     /* "epoch time" */
    const char *unit;      /* "s"; NULL: a count or a ratio */
    bool log;              /* values <= 0 count as missing, as do those that no axis holds (beyond 1e100) */
    bool zero;             /* a linear axis that must show 0 (bars, power) */
    double min, max;       /* NAN until wl_figure_finish, unless given */
    struct wl_reals ticks; /* empty until wl_figure_finish, unless given */
    struct wl_strs names;  /* names of the ticks, parallel to `ticks`; empty: the numbers are printed */
};

enum wl_figure_style {
    WL_STYLE_LINE,   /* x, y */
    WL_STYLE_POINTS, /* x, y; lo and hi draw error bars */
    WL_STYLE_BAND,   /* x, lo, hi: a shaded area */
    WL_STYLE_BARS,   /* x, y from 0; lo and hi draw error bars; series of one figure are side by side */
};

enum { WL_COLOUR_NEUTRAL = -1 }; /* grey: references, ideal lines */

/* What a reader of the page may choose (worker counts, the level that is 1): `shown` of its options are drawn at a
 * time, by files those that are chosen at first. */
enum { WL_FIGURE_CHOICES = 2, WL_FIGURE_SHOWN = 2 };
struct wl_figure_choice {
    const char *name; /* "workers"; NULL: no choice */
    struct wl_strs options;
    size_t shown[WL_FIGURE_SHOWN], n_shown;
};

/* Mean of the logarithm of a quantity over `runs`, and the variance of that mean (NAN: one run). */
struct wl_figure_mean {
    double ln, variance, runs;
};

/* A figure of ratios whose base a reader may choose: another worker count, another group. */
struct wl_figure_base {
    const char *name; /* "speedup"; NULL: not a figure of ratios */
    bool below;       /* the base over the value, as in speed-ups; else the value over the base */
    bool groups;      /* the groups are of the same work: one of them may be the base of all */
};

struct wl_figure_series {
    const char *label; /* its legend entry; NULL: belongs to the labelled series before it and is hidden with it */
    enum wl_figure_style style;
    size_t n;
    const double *x, *y, *lo, *hi;      /* [n] each; NULL where the style has none */
    const char *const *notes;           /* [n] texts shown at the points (the run, say), or NULL */
    int colour;                         /* slot of the palette, or WL_COLOUR_NEUTRAL */
    int marker;                         /* slot of the markers */
    bool dashed;                        /* a reference: neither a group nor a fit */
    int dash;                           /* line style of a setting, slot of WL_DASHES; 0: solid */
    size_t option[WL_FIGURE_CHOICES];   /* 1 + the option that it belongs to; 0: drawn with all */
    const struct wl_figure_mean *means; /* [n] what y is a ratio of, in a figure with a base; NULL: none */
    double bar_width;                   /* in units of x; set by wl_figure_finish */
    const bool *hidden;                 /* [n] points that others cover (wl_figure_finish); NULL: none */
};

/* A vertical line with a name: the beginning of an epoch, say. */
struct wl_vline {
    double x;
    const char *label; /* NULL: none */
};

struct wl_figure {
    const char *id; /* [a-z0-9-]+: file name and anchor */
    const char *title;
    const char *caption;  /* what points, lines and bands are; NULL: none */
    const char *source;   /* which runs, by which rule; NULL: none */
    const char *workload; /* the one that it is about, for the page's picker; NULL: all of them */
    const char *factor;   /* what varies in it ("workers", "power cap"), for the picker; NULL: that of its section */
    const char *metrics;  /* ids of wl_metric_docs, separated by blanks; NULL: none */
    struct wl_figure_axis x, y;
    struct wl_figure_series *series;
    size_t n_series, cap_series;
    struct wl_figure_choice choices[WL_FIGURE_CHOICES];
    struct wl_figure_base base;
    struct wl_vline *vlines;
    size_t n_vlines, cap_vlines;
    bool estimated, simulated; /* some of its numbers are not measurements: written on the figure */
    struct wl_arena *arena;
};

/* A figure without series; the texts are kept as pointers. */
struct wl_figure *wl_figure_new(struct wl_arena *a, const char *id, const char *title);

/* Adds a series (copied, the arrays are kept as pointers); it stays valid until the next one is added. */
struct wl_figure_series *wl_figure_add(struct wl_figure *f, const struct wl_figure_series *s);
void wl_figure_vline(struct wl_figure *f, double x, const char *label);

/* Adds an option to choice k. */
void wl_figure_option(struct wl_figure *f, size_t k, const char *name, const char *option, bool shown);

/* The rank of a series among the chosen options of choice 0; -1: it is not drawn until somebody chooses it. Colours and
 * the places of bars go by rank. */
int wl_figure_rank(const struct wl_figure *f, const struct wl_figure_series *s);

/* Sets the axis limits and ticks that were not given, places the bars, and numbers legend entries that are alike. Call
 * it once, after the last series. */
void wl_figure_finish(struct wl_figure *f);

/* Points of all series, and how many of them are drawn: of more than 50 in a series without error bars, those that
 * would cover each other are drawn once. Only the CSV file has all. */
struct wl_figure_thinned {
    size_t drawn, all;
};
struct wl_figure_thinned wl_figure_thinned(const struct wl_figure *f);

/* A name as part of an id: lower-case letters and digits, everything else one dash; the first 64 of them. Different
 * names may give the same: wl_section_figure makes ids unique. */
char *wl_slug(const char *name, struct wl_arena *a);

/* Is there a point to draw? */
bool wl_figure_empty(const struct wl_figure *f);

/* The figure as JSON for ui/charts.js, which hands it to Chart.js (docs/formats.md). */
void wl_figure_json(const struct wl_figure *f, struct wl_json *object);

/* The points of all series as CSV: series, style, x, y, y_lo, y_hi, note. */
void wl_figure_csv(const struct wl_figure *f, struct wl_text *to);

/* A gnuplot script that holds its data. It draws to ID.svg, or to the file and format that the variables `target`
 * and `format` (svg or pdf) name. */
void wl_figure_gnuplot(const struct wl_figure *f, struct wl_text *to);

/* Runs gnuplot on a script and puts the picture at `path` in one step. WL_EUNAVAIL where gnuplot is not
 * installed; WL_ELIB with gnuplot's own words where it fails. */
int wl_gnuplot_run(const char *script_path, const char *format, const char *path, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

#endif
