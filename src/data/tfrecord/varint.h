/* Varints of protocol buffers: seven bits per byte, the lowest first. */
#ifndef WL_DATA_TFRECORD_VARINT_H
#define WL_DATA_TFRECORD_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that remain to be read. */
struct wl_byte_span {
    const uint8_t *p, *end;
};

enum { WL_VARINT_MAX_BYTES = 10 };
bool wl_varint_read(struct wl_byte_span *s, uint64_t *v); /* false: truncated, or too long */
size_t wl_varint_size(uint64_t v);
uint8_t *wl_varint_put(uint8_t *p, uint64_t v); /* returns the address after it */

#endif
