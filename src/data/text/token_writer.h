/* Writing token files. */
#ifndef WL_DATA_TEXT_TOKEN_WRITER_H
#define WL_DATA_TEXT_TOKEN_WRITER_H

#include "data/text/token_file.h"

enum { WL_TOKEN_FILE_HEADER = 128 /* bytes before the first token */ };

/* Does the file start like a token file? */
bool wl_token_file_detect(const char *path);

/* Writes to a temporary file, which gets its name when it is complete. */
struct wl_token_writer {
    struct wl_token_file head; /* path, width, sequence, vocabulary ... are set by the caller; n counts */
    struct wl_atomic_file out;
    uint32_t crc;
};

int wl_token_writer_open(struct wl_token_writer *w, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_token_writer_put(struct wl_token_writer *w, const uint8_t *tokens, size_t n, struct wl_err *e) WL_MUST_CHECK;

/* Writes the header, syncs, and renames the file. */
int wl_token_writer_finish(struct wl_token_writer *w, struct wl_err *e) WL_MUST_CHECK;

#endif
