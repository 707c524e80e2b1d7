/* Texts of any size, processed in blocks: read in order, processed by threads, collected in order. */
#ifndef WL_DATA_TEXT_BLOCKS_H
#define WL_DATA_TEXT_BLOCKS_H

#include "data/text/files.h"

/* Blocks hold complete units. */
struct wl_text_blocks {
    struct wl_text_files *texts;
    enum wl_text_unit unit;
    int64_t threads;            /* at least 1 */
    const char *progress_label; /* NULL: no progress bar */
    void *data;

    /* Processes a block with the memory of its slot. Any thread; `thread` is its number, from 0. */
    int (*process)(void *data, size_t slot, int64_t thread, const char *text, size_t n, struct wl_err *e);
    /* (optional) Collects the results, in the order of the text, in the calling thread. */
    int (*collect)(void *data, size_t slot, struct wl_err *e);
};

/* The number of blocks in flight. */
size_t wl_text_blocks_slots(int64_t threads);

/* Reads everything. The first error in the order of the text ends it. */
int wl_text_blocks_run(struct wl_text_blocks *b, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
