/* Files of tokens, inside: the head, and writing. */
#ifndef WL_DATA_TEXT_TOKEN_FILE_H
#define WL_DATA_TEXT_TOKEN_FILE_H

#include "data/text/text.h"

#include <stdio.h>

enum { WL_TOKEN_FILE_HEADER = 128 /* bytes before the first token */ };

/* Does the file begin as one of ours? */
bool wl_token_file_detect(const char *path);

/* Tokens on their way to a file: beside its name until all are there. */
struct wl_token_writer {
    struct wl_token_file head; /* path, width, sequence, vocabulary ... are the caller's; n counts */
    struct wl_atomic_file out;
    uint32_t crc;
};

int wl_token_writer_open(struct wl_token_writer *w, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_token_writer_put(struct wl_token_writer *w, const uint8_t *tokens, size_t n, struct wl_err *e) WL_MUST_CHECK;

/* Writes the head, syncs, and gives the file its name. */
int wl_token_writer_finish(struct wl_token_writer *w, struct wl_err *e) WL_MUST_CHECK;

#endif
