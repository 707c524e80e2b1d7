/* Figures and tables as values, each described once and drawn by several renderers, and the report of a store.
 *
 *   store, law  ->  wl_report_build  ->  struct wl_document  ->  HTML (Chart.js), SVG and PDF (gnuplot),
 *                                                                CSV, Markdown, LaTeX, text
 *
 * Missing is NAN (numbers) or NULL (text): an empty cell in a table, a gap in a line. Every renderer escapes what
 * it is given, so names may hold any bytes. Values live in the arena that they were built in. See docs/adr/080.
 */
#ifndef WL_REPORT_REPORT_H
#define WL_REPORT_REPORT_H

#include "base/base.h"

struct wl_store;

/* ---- figures ---- */

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
    WL_STYLE_BARS,   /* x, y from 0; lo and hi draw error bars; series of one figure stand side by side */
};

enum { WL_COLOUR_NEUTRAL = -1 }; /* grey: references, ideal lines */

struct wl_figure_series {
    const char *label; /* its legend entry; NULL: belongs to the labelled series before it and is hidden with it */
    enum wl_figure_style style;
    size_t n;
    const double *x, *y, *lo, *hi; /* [n] each; NULL where the style has none */
    const char *const *notes;      /* [n] texts shown at the points (the run, say), or NULL */
    int colour;                    /* slot of the palette, or WL_COLOUR_NEUTRAL */
    int marker;                    /* slot of the markers */
    bool dashed;
    double bar_width; /* in units of x; set by wl_figure_finish */
};

/* A vertical line with a name: the beginning of an epoch, say. */
struct wl_vline {
    double x;
    const char *label; /* NULL: none */
};

struct wl_figure {
    const char *id; /* [a-z0-9-]+: file name and anchor */
    const char *title;
    const char *caption; /* what points, lines and bands are; NULL: none */
    const char *source;  /* which runs, by which rule; NULL: none */
    const char *metrics; /* ids of wl_metric_docs, separated by blanks; NULL: none */
    struct wl_figure_axis x, y;
    struct wl_figure_series *series;
    size_t n_series, cap_series;
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

/* Sets the axis limits and ticks that were not given, places the bars, and numbers legend entries that are alike. Call
 * it once, after the last series. */
void wl_figure_finish(struct wl_figure *f);

/* A name as part of an id: lower-case letters and digits, everything else one dash; the first 64 of them. Different
 * names may give the same: wl_section_figure makes ids unique. */
char *wl_slug(const char *name, struct wl_arena *a);

/* Is there a point to draw? */
bool wl_figure_empty(const struct wl_figure *f);

/* The figure as JSON for ui/report.js, which hands it to Chart.js (docs/formats.md). */
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

/* Ticks for an axis of counts (workers): the values themselves, thinned to at most `max` that stand apart on the
 * scale, with first and last kept. */
struct wl_reals wl_ticks_counts(const double *values, size_t n, bool log, size_t max, struct wl_arena *a);

/* Round ticks that cover lo..hi (0 < lo on a log scale). */
struct wl_reals wl_ticks_round(double lo, double hi, bool log, struct wl_arena *a);

/* ---- colours: after Okabe and Ito 2008, safe for colour-blind readers ---- */

struct wl_colour {
    const char *name, *light, *dark; /* "#rrggbb" on a light and on a dark ground */
};
const struct wl_colour *wl_colour(int slot); /* slots beyond the palette begin again; negative: neutral */
enum { WL_COLOURS = 7, WL_MARKERS = 7 };

/* The slot of each of n names: a reference workload has the same one in every report, others take the free slots
 * in the order of the list. */
void wl_colour_slots(const char *const *names, size_t n, int *slots);

/* ---- tables ---- */

struct wl_report_column {
    const char *id;     /* name in CSV and JSON: speedup */
    const char *label;  /* heading: speed-up */
    const char *unit;   /* NULL: none */
    const char *metric; /* id of its row in wl_metric_docs, or NULL */
    int digits;         /* significant digits of its numbers; 0: a count */
    bool text;          /* left-aligned words */
};

struct wl_report_cell {
    const char *text; /* NULL: the number stands */
    double value;     /* NAN with text NULL: an empty cell */
};

struct wl_report_table {
    const char *id, *title, *caption; /* as in a figure */
    const struct wl_report_column *columns;
    size_t n_columns;
    struct wl_report_cell *cells; /* [n_rows][n_columns] */
    size_t n_rows, n_cells, cap_cells;
    bool estimated, simulated;
    struct wl_arena *arena;
};

struct wl_report_table *wl_report_table_new(struct wl_arena *a, const char *id, const char *title,
                                            const struct wl_report_column *columns, size_t n_columns);

/* Cells are added from left to right, row by row; a row is there when its last cell is. */
void wl_report_table_real(struct wl_report_table *t, double value);
void wl_report_table_text(struct wl_report_table *t, const char *text); /* copied; NULL: an empty cell */

/* "text", "csv", "md", "tex" or "html"; NULL for another name. CSV has all digits, the others those of the column. */
typedef void wl_report_table_writer(const struct wl_report_table *t, struct wl_text *to);
wl_report_table_writer *wl_report_table_format(const char *name);

void wl_report_table_json(const struct wl_report_table *t, struct wl_json *object);

/* ---- numbers for people ---- */

/* `digits` significant digits without an exponent where a person would write none; "" for NAN. */
char *wl_significant_digits(struct wl_arena *a, double value, int digits);

/* How each reported number is computed; docs/metrics.md holds the same rows, and a test compares them. */
struct wl_metric_doc {
    const char *id, *name, *unit, *formula, *source; /* unit "" for a ratio */
};
extern const struct wl_metric_doc wl_metric_docs[]; /* ends with id NULL */
const struct wl_metric_doc *wl_metric_doc(const char *id);

/* ---- escapes: each adds `s` so that it reads as plain text there; NULL adds nothing; U+FFFD stands for bad
 * UTF-8, C1 and bidirectional controls, and what takes no room (base/printable.h) ---- */

void wl_escape_html(struct wl_text *to, const char *s); /* text and quoted attributes */
void wl_escape_latex(struct wl_text *to, const char *s);
void wl_escape_markdown(struct wl_text *to, const char *s);       /* inside a table cell: no line breaks */
void wl_escape_gnuplot(struct wl_text *to, const char *s);        /* with its quotes */
void wl_escape_script_json(struct wl_text *to, const char *json); /* JSON text inside <script> */

/* ---- documents ---- */

struct wl_report_fact {
    const char *label, *value;
};

struct wl_section {
    const char *id, *title;
    struct wl_figure **figures;
    size_t n_figures, cap_figures;
    struct wl_report_table **tables; /* behind the figures */
    size_t n_tables, cap_tables;
};

struct wl_document {
    const char *title, *subtitle;
    struct wl_report_fact *facts; /* campaign, machine, date, sensors ... */
    size_t n_facts, cap_facts;
    struct wl_strs findings; /* a sentence each */
    struct wl_strs warnings; /* what was dropped, what failed, what is estimated or simulated */
    struct wl_section **sections;
    size_t n_sections, cap_sections;
    struct wl_strs section_ids, figure_ids, table_ids; /* in use */
    struct wl_arena *arena;
};

struct wl_document *wl_document_new(struct wl_arena *a, const char *title);
void wl_document_fact(struct wl_document *d, const char *label, const char *value); /* NULL value: left out */
struct wl_section *wl_document_section(struct wl_document *d, const char *id, const char *title);

/* The id of a figure, a table or a section that the document has already gets a number: "speedup-2". So each has its
 * own files, data and anchor. */
void wl_section_figure(struct wl_document *d, struct wl_section *s, struct wl_figure *f);
void wl_section_table(struct wl_document *d, struct wl_section *s, struct wl_report_table *t);

/* Title, facts, findings, warnings and tables, for programs (docs/formats.md). */
void wl_document_json(const struct wl_document *d, struct wl_json *object);

/* The whole page: one file without references to others. */
void wl_document_html(const struct wl_document *d, struct wl_text *to);

/* Writes DIR/report.html (format html), DIR/figures/ID.svg, .pdf and .gp (svg, pdf), DIR/figures/ID.csv and
 * DIR/tables/ID.csv (csv), DIR/tables/ID.md and ID.tex (md, tex): each file whole or not at all. `paths` gets what was
 * written, `notes` a sentence for what could not be (gnuplot is not installed: the data of the figures are written
 * as CSV instead). `progress` (NULL: none) was started by the caller. An unknown format is WL_EUSAGE with "did you
 * mean". */
struct wl_document_files {
    struct wl_strs paths, notes;
};
int wl_document_write(const struct wl_document *d, const char *dir, const struct wl_strs *formats,
                      struct wl_progress *progress, struct wl_document_files *out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* ---- the report of a store ---- */

/* What the energy is to be told in besides kWh. */
struct wl_report_footprint {
    double pue;                                   /* energy at the meter over energy of the devices */
    const char *carbon;                           /* the intensity in words, with its source; NULL: no carbon */
    double (*g_per_kwh)(void *data, int64_t run); /* g CO2e a kWh while the run went on; NAN: not known */
    void *data;
    double carbon_lo, carbon_hi; /* interval of a constant intensity; NAN: none */
    double price;                /* a kWh; NAN: no cost */
    const char *currency;
};

struct wl_report_options {
    const struct wl_report_footprint *footprint; /* NULL: neither carbon nor cost */
    int64_t campaign;                            /* 0: all of the store */
    int64_t run;                  /* the run whose power is drawn over time; 0: chosen by the rule of docs/metrics.md */
    int64_t drop_epochs;          /* first epochs of a run that the law leaves out */
    struct wl_progress *progress; /* started by the caller; NULL: none */
};

/* Reads the store and describes the report. WL_EJOB with a sentence where no run is done; WL_ENOENT for a run that is
 * not there. */
int wl_report_build(struct wl_document **out, struct wl_store *store, const struct wl_report_options *options,
                    struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
