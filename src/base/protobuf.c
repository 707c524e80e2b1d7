#include "base/protobuf.h"

bool wl_varint_read(struct wl_byte_span *s, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; shift < 64 && s->p < s->end; shift += 7) {
        uint8_t byte = *s->p++;
        *v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

size_t wl_varint_size(uint64_t v)
{
    size_t n = 1;
    while (v >>= 7) n++;
    return n;
}

uint8_t *wl_varint_put(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

static bool take_bytes(struct wl_byte_span *s, uint64_t n, struct wl_byte_span *out)
{
    if (n > (uint64_t)(s->end - s->p)) return false;
    *out = (struct wl_byte_span) { s->p, s->p + n };
    s->p += n;
    return true;
}

bool wl_proto_next(struct wl_byte_span *s, struct wl_proto_field *f)
{
    uint64_t tag, n;
    if (!wl_varint_read(s, &tag)) return false;
    f->number = tag >> 3;
    f->wire = (enum wl_wire)(tag & 7);
    f->bytes = (struct wl_byte_span) { NULL, NULL };
    switch (f->wire) {
    case WL_WIRE_VARINT: return wl_varint_read(s, &f->value);
    case WL_WIRE_FIXED64: return take_bytes(s, 8, &f->bytes);
    case WL_WIRE_BYTES: return wl_varint_read(s, &n) && take_bytes(s, n, &f->bytes);
    case WL_WIRE_FIXED32: return take_bytes(s, 4, &f->bytes);
    }
    return false;
}
