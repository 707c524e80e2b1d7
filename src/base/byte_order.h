/* Little-endian integers of 1 to 8 bytes. */
#ifndef WL_BASE_BYTE_ORDER_H
#define WL_BASE_BYTE_ORDER_H

#include <stdint.h>

uint64_t wl_le_read(const uint8_t *p, int bytes);
void wl_le_write(uint8_t *p, int bytes, uint64_t v);

#endif
