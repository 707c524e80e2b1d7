/* Documents: facts, findings, warnings and sections of figures and tables. */
#ifndef WL_REPORT_DOCUMENT_DOCUMENT_H
#define WL_REPORT_DOCUMENT_DOCUMENT_H

#include "report/figure/figure.h"
#include "report/table/table.h"

struct wl_report_fact {
    const char *label, *value;
};

/* What the card at the head of a page says of one workload. */
struct wl_answer {
    const char *workload;                  /* NULL: the runs name none */
    bool shown;                            /* the evidence suffices: `use` is a setting; else a sentence that says so */
    const char *use, *saves, *sure, *next; /* NULL: nothing to say */
    double within; /* probability that it is within 3 % of the best; NAN: nothing else was allowed */
    const struct wl_strs *notes; /* what limits the choice */
};

struct wl_section {
    const char *id, *title;
    struct wl_figure **figures;
    size_t n_figures, cap_figures;
    struct wl_report_table **tables; /* after the figures */
    size_t n_tables, cap_tables;
};

/* What the page's pickers call a view of several workloads: "language". */
struct wl_view {
    const char *name;
    struct wl_strs workloads;
};

struct wl_document {
    const char *title, *subtitle;
    struct wl_report_fact *facts; /* campaign, machine, date, sensors ... */
    size_t n_facts, cap_facts;
    struct wl_answer *answers; /* the first thing on the page */
    size_t n_answers;
    struct wl_strs choice;   /* the same in sentences, and what limits the choice */
    struct wl_strs findings; /* sentences, the most important ones first */
    size_t n_head_findings;  /* so many of them are on the first screen, the others folded; 0: all */
    struct wl_strs warnings; /* what was dropped, what failed, what is estimated or simulated */
    struct wl_section **sections;
    size_t n_sections, cap_sections;
    struct wl_strs workloads; /* of the runs, "" where one names none */
    struct wl_view *views;
    size_t n_views, cap_views;
    struct wl_strs section_ids, figure_ids, table_ids; /* in use */
    struct wl_arena *arena;
};

struct wl_document *wl_document_new(struct wl_arena *a, const char *title);
void wl_document_fact(struct wl_document *d, const char *label, const char *value);   /* NULL value: not added */
void wl_document_workload(struct wl_document *d, const char *name);                   /* NULL: "" */
void wl_document_view(struct wl_document *d, const char *name, const char *workload); /* is one of its workloads */
struct wl_section *wl_document_section(struct wl_document *d, const char *id, const char *title);

/* The id of a figure, a table or a section that the document has already gets a number: "speedup-2". So each has its
 * own files, data and anchor. A table without rows is left out, and on the page a section that stays empty. */
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

#endif
