/* Bytes that grow to the largest content and stay allocated. Released with free(p). */
#ifndef WL_DATA_BYTE_BUFFER_H
#define WL_DATA_BYTE_BUFFER_H

#include "base/base.h"

struct wl_byte_buffer {
    uint8_t *p;
    size_t n, cap;
};

/* Makes room for n bytes in total; the contents may be lost. WL_ENOMEM names `what` they are for. */
int wl_byte_buffer_reserve(struct wl_byte_buffer *b, size_t n, const char *what, struct wl_err *e) WL_MUST_CHECK;

/* Makes room for n bytes after the contents, which stay. WL_ENOMEM names `what` they are for. */
int wl_byte_buffer_grow(struct wl_byte_buffer *b, size_t n, const char *what, struct wl_err *e) WL_MUST_CHECK;

#endif
