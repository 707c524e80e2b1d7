#include "data/byte_buffer.h"

#include <stdlib.h>

static int resize(struct wl_byte_buffer *b, size_t cap, const char *what, struct wl_err *e)
{
    uint8_t *p = realloc(b->p, cap);
    if (!p) return wl_fail(e, WL_ENOMEM, "%s: no memory for %zu bytes", what, cap);
    b->p = p;
    b->cap = cap;
    return 0;
}

int wl_byte_buffer_reserve(struct wl_byte_buffer *b, size_t n, const char *what, struct wl_err *e)
{
    return n <= b->cap ? 0 : resize(b, n + n / 2, what, e); /* half as much again, so that growth soon ends */
}

int wl_byte_buffer_grow(struct wl_byte_buffer *b, size_t n, const char *what, struct wl_err *e)
{
    if (b->cap - b->n >= n) return 0;
    return resize(b, b->n + n > 2 * b->cap ? b->n + n : 2 * b->cap, what, e);
}
