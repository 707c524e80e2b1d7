/* The wire format of protocol buffers: fields of a message, varints of seven bits per byte, the lowest first. */
#ifndef WL_BASE_PROTOBUF_H
#define WL_BASE_PROTOBUF_H

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

enum wl_wire { WL_WIRE_VARINT = 0, WL_WIRE_FIXED64 = 1, WL_WIRE_BYTES = 2, WL_WIRE_FIXED32 = 5 };

struct wl_proto_field {
    uint64_t number;
    enum wl_wire wire;
    uint64_t value;            /* of a varint */
    struct wl_byte_span bytes; /* of the others */
};

/* The next field; false: malformed. */
bool wl_proto_next(struct wl_byte_span *s, struct wl_proto_field *f);

#endif
