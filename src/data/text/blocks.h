/* Texts of any size, a block at a time: read in order, worked on by threads, taken in order. */
#ifndef WL_DATA_TEXT_BLOCKS_H
#define WL_DATA_TEXT_BLOCKS_H

#include "data/text/text.h"

/* The files that a list of files and folders names: folders stand for the files below them, by name, without hidden
 * ones, links and files that are no text (a NUL byte in their first 4 KiB). */
struct wl_text_files {
    struct wl_strs path;
    struct wl_strs found; /* beside each path: "" where the user named the file, otherwise "found" in a folder */
    double bytes;         /* of all files, as far as their sizes are known */
    int64_t left_out;     /* files found that turned out to be no text; counted as they are read */
};

/* WL_ENOENT names what is not there; WL_EINVAL a folder without files. */
int wl_text_files_list(struct wl_text_files *t, const struct wl_strs *names, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* The texts of both parts: those that were named, or of a WikiText folder its own. No text for validation: a share of
 * the other is meant. */
int wl_text_files_split(const struct wl_corpus_opts *o, struct wl_strs *train, struct wl_strs *val, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* Bytes of the unit that begins at p: a line with its newline, a paragraph up to and with a blank line, or everything.
 */
size_t wl_text_unit_length(enum wl_text_unit unit, const char *p, size_t n);

/* What is done with the texts. Blocks hold whole units. */
struct wl_text_blocks {
    struct wl_text_files *texts;
    enum wl_text_unit unit;
    int64_t threads;  /* at least 1 */
    const char *what; /* of the progress bar; NULL: none */
    void *own;

    /* Works on a block with the memory of its slot. Any thread; `thread` counts them from 0. */
    int (*work)(void *own, size_t slot, int64_t thread, const char *text, size_t n, struct wl_err *e);
    /* (optional) Takes what became of it, in the order of the text, in the calling thread. */
    int (*take)(void *own, size_t slot, struct wl_err *e);
};

/* How many blocks are in work at a time. */
size_t wl_text_blocks_slots(int64_t threads);

/* Reads everything. The first error in the order of the text ends it. */
int wl_text_blocks_run(struct wl_text_blocks *b, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
