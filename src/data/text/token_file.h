/* Token files: ids of tokens, cut into sequences. */
#ifndef WL_DATA_TEXT_TOKEN_FILE_H
#define WL_DATA_TEXT_TOKEN_FILE_H

#include "data/text/vocab.h"

/* A mapped file. */
struct wl_token_file {
    const char *path;
    const uint8_t *data; /* tokens, `width` bytes each, little-endian */
    int width;           /* 2 or 4 */
    uint64_t n;          /* tokens, in complete sequences */
    int64_t sequence;    /* length to which they were cut */
    int64_t vocabulary;  /* size of the vocabulary */
    uint64_t vocab_hash;
    uint32_t special[WL_SPECIAL_TOKENS];
};

/* Maps a file and verifies its checksums; it is unmapped with the arena. WL_EINVAL and WL_EIO name what is wrong. */
int wl_token_file_open(struct wl_token_file *t, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
