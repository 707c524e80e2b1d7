/* Where imported runs come from: the files of other tools. docs/adr/164 */
#ifndef WL_STORE_SOURCE_H
#define WL_STORE_SOURCE_H

#include "store/open.h"
#include "store/records.h"

struct wl_source_row {
    int64_t id, run;
    const char *format;
    const char *tool; /* "perun 0.9.1"; NULL: the file does not say */
    const char *path, *part;
    int64_t bytes, crc; /* of the content, and of what was selected of it: its identity, whatever its path */
    const char *version;
};
struct wl_source_rows {
    struct wl_source_row *v;
    size_t n;
};

/* Of one run, or of all (0), in the order in which they were added. */
int wl_store_sources(struct wl_store *s, int64_t run, struct wl_source_rows *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* The row's `id` is not read. */
int wl_store_add_source(struct wl_store *s, const struct wl_source_row *row, struct wl_err *e) WL_MUST_CHECK;

/* Is there a file of this size? Only then its content has to be compared. 1 yes, 0 no. */
int wl_store_has_source_of_size(struct wl_store *s, int64_t bytes, struct wl_err *e) WL_MUST_CHECK;

/* The first run that was imported from this content: 1 with *run, or 0. */
int wl_store_find_source(struct wl_store *s, int64_t bytes, int64_t crc, int64_t *run, struct wl_err *e) WL_MUST_CHECK;

#endif
