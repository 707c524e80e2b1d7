#include "base/byte_order.h"

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
