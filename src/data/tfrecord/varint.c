#include "data/tfrecord/varint.h"

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
