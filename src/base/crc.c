#include "base/crc.h"

#include <string.h>

/* Four bits at a time; only for processors without the instruction. */
static uint32_t portable(uint32_t c, const unsigned char *p, size_t n)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
        0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    for (; n; n--, p++) {
        c ^= *p;
        c = c >> 4 ^ nibble[c & 15];
        c = c >> 4 ^ nibble[c & 15];
    }
    return c;
}

#if defined __x86_64__
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t c, const unsigned char *p, size_t n)
{
    uint64_t wide = c, eight;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&eight, p, 8);
        wide = __builtin_ia32_crc32di(wide, eight);
    }
    return portable((uint32_t)wide, p, n);
}
#endif

uint32_t wl_crc32c(uint32_t crc, const void *p, size_t n)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("sse4.2")) return ~by_instruction(~crc, p, n);
#endif
    return ~portable(~crc, p, n);
}

uint32_t wl_crc32c_masked(const void *p, size_t n)
{
    uint32_t crc = wl_crc32c(0, p, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
