/* The formats that are imported. */
#ifndef WL_EXCHANGE_IMPORT_FORMAT_H
#define WL_EXCHANGE_IMPORT_FORMAT_H

#include "base/base.h"

struct wl_import;

/* The beginning of a file, by which it is recognised: at most WL_IMPORT_HEAD bytes, without a byte-order mark,
 * terminated. */
enum { WL_IMPORT_HEAD = 1 << 16 };
struct wl_import_head {
    const char *path;
    const char *text; /* [n], then a NUL; may hold others */
    size_t n;
    bool whole; /* the file is not longer */
};

/* The first line that is neither empty nor begins with '#'; NULL: there is none. In `a`, without its end. */
const char *wl_import_head_line(const struct wl_import_head *h, struct wl_arena *a);
/* Of comma, semicolon, tab and | the one that a line has most often, outside of quotes. */
char wl_import_separator(const char *line);

bool wl_import_head_has(const struct wl_import_head *h, const char *text);

/* Readings over time, rows of results, or the log of a training, which adds to a run. */
enum wl_import_kind { WL_IMPORT_SERIES, WL_IMPORT_TABLE, WL_IMPORT_LOG };

struct wl_import_format {
    const char *name;      /* "nvidia-smi", of --as */
    const char *title;     /* "nvidia-smi --query-gpu, CSV", for people */
    const char *looks_for; /* the content it is recognised by, for messages: "a header with power.draw" */
    enum wl_import_kind kind;
    const char *const *columns; /* of the header of a table, ends with NULL: who misses a few of them, may have meant
                                   this format; NULL: it is not known by columns */
    bool generic;               /* of no tool: a file that another format claims is not of this one */
    bool binary;                /* bytes of any value; else a NUL is an error of its line */
    bool (*recognise)(const struct wl_import_head *h, struct wl_arena *a);
    /* Reads im->in to its end. Returns an error only where nothing of the file is of use; a line that is not gets
     * wl_import_reject. */
    int (*read)(struct wl_import *im, struct wl_err *e);
};

/* All, by priority; ends with NULL. */
extern const struct wl_import_format *const wl_import_formats[];

/* The format of that name. WL_EUSAGE, with "did you mean". */
int wl_import_format_named(const char *name, const struct wl_import_format **out, struct wl_err *e) WL_MUST_CHECK;

/* What people may take for measurements and is none: descriptions, headers without rows. `why` completes "FILE: ". */
struct wl_import_refusal {
    bool (*recognise)(const struct wl_import_head *h, struct wl_arena *a);
    const char *why;
};
extern const struct wl_import_refusal wl_import_refusals[]; /* ends with recognise NULL */

/* The one format of a file. WL_EINVAL: none, several, or a refusal; where it is none, the message says what was seen,
 * and the format that is nearest to it. */
int wl_import_recognise(const struct wl_import_head *h, const struct wl_import_format **out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* unknown.c. WL_EINVAL: the file is of no known format. */
int wl_import_fail_unknown(const struct wl_import_head *h, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
