/* Integers as files and protocol buffers hold them: little-endian, or seven bits a byte with the lowest first. */
#include "data/internal.h"

uint64_t wl_le_read(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i--;) v = v << 8 | p[i];
    return v;
}

void wl_le_write(uint8_t *p, int bytes, uint64_t v)
{
    for (int i = 0; i < bytes; i++) p[i] = (uint8_t)(v >> 8 * i);
}

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
