/* The files of a text, and the units within them. */
#ifndef WL_DATA_TEXT_FILES_H
#define WL_DATA_TEXT_FILES_H

#include "data/text/corpus.h"

/* The files that a list of files and folders names. A folder is all files below it, by name, except hidden ones, links
 * and files that are not text (a NUL byte in their first 4 KiB). */
struct wl_text_files {
    struct wl_strs path;
    struct wl_strs in_folder; /* for each path: "" if the user named the file, "found" if it was found in a folder */
    double bytes;             /* of all files, as far as their sizes are known */
    int64_t skipped;          /* files in folders that are not text; counted as they are read */
};

/* WL_ENOENT names what is missing; WL_EINVAL a folder without files. */
int wl_text_files_list(struct wl_text_files *t, const struct wl_strs *names, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* The texts of both parts: those given, or those of a WikiText folder. No validation text: a fraction of the training
 * text is used. */
int wl_text_files_split(const struct wl_corpus_opts *o, struct wl_strs *train, struct wl_strs *val, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* Bytes of the unit that begins at p: a line with its newline, a paragraph including the blank line, or everything. */
size_t wl_text_unit_length(enum wl_text_unit unit, const char *p, size_t n);

#endif
