/* CRC-32C (Castagnoli polynomial, reflected; RFC 3720 appendix B.4), as checkpoints and TFRecord files carry it. */
#ifndef WL_BASE_CRC_H
#define WL_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` covers (0: nothing) followed by n bytes. */
uint32_t wl_crc32c(uint32_t crc, const void *p, size_t n);

/* As TFRecord files have it, since the CRC of data that contain CRCs is weak: of n bytes.
 * Source: tensorflow/core/lib/hash/crc32c.h. */
uint32_t wl_crc32c_masked(const void *p, size_t n);

#endif
