/* What an import took, what it left, and why. */
#ifndef WL_EXCHANGE_IMPORT_REPORT_H
#define WL_EXCHANGE_IMPORT_REPORT_H

#include "base/base.h"

enum { WL_IMPORT_MESSAGES = 10 }; /* lines that are quoted; the others are counted */

/* Things of one kind and their number. */
struct wl_import_count {
    const char *what;
    size_t n;
};
struct wl_import_counts {
    struct wl_import_count *v;
    size_t n, cap;
};

struct wl_import_report {
    size_t taken;                        /* readings and rows, of all files */
    struct wl_strs rejected;             /* the first lines that were left out: "FILE:12: ..." */
    size_t n_rejected;                   /* of all */
    struct wl_import_counts missing;     /* readings without a value: "power_w: [N/A]" */
    struct wl_import_counts passed_over; /* readable and not imported: "column pstate", "MIG instance" */
    size_t duplicates;                   /* readings of an instant that had one */
    struct wl_strs notes;                /* what else a reader of the numbers should know; each once */
    const char *tool;                    /* and its version, as the file says: "perun 0.9.1"; NULL: it does not */
};

/* Counts n more of a kind; the text is copied. */
void wl_import_count(struct wl_import_counts *list, const char *what, size_t n, struct wl_arena *a);

struct wl_import;

/* The line that was read last is left out: the message follows "FILE:LINE: ". */
void wl_import_reject(struct wl_import *im, const char *fmt, ...) WL_PRINTF(2, 3);
void wl_import_note(struct wl_import *im, const char *fmt, ...) WL_PRINTF(2, 3);
void wl_import_pass_over(struct wl_import *im, const char *what, size_t n);
void wl_import_set_tool(struct wl_import *im, const char *tool);

#endif
