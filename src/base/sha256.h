/* SHA-256 (FIPS 180-4), as sha256sum prints it. */
#ifndef WL_BASE_SHA256_H
#define WL_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { WL_SHA256_TEXT = 65 }; /* 64 hexadecimal digits and a NUL */

struct wl_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
};

void wl_sha256_init(struct wl_sha256 *h);
void wl_sha256_add(struct wl_sha256 *h, const void *data, size_t n);
void wl_sha256_text(struct wl_sha256 *h, char text[WL_SHA256_TEXT]); /* ends the hash */

#endif
