#include "base/random.h"

#include <math.h>

void wl_philox(uint64_t key, uint64_t stream, uint64_t index, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c0 * 0xD2511F53u, b = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* 53 bits of two words. Two elements share a block. */
static uint64_t bits53(uint64_t key, uint64_t stream, uint64_t i)
{
    uint32_t w[4];
    wl_philox(key, stream, i / 2, w);
    const uint32_t *half = w + 2 * (i % 2);
    return ((uint64_t)half[0] << 32 | half[1]) >> 11;
}

double wl_random_uniform(uint64_t key, uint64_t stream, uint64_t i) { return (double)bits53(key, stream, i) * 0x1p-53; }

/* Box and Muller's transform of one block: elements 2j and 2j+1 are its cosine and sine. */
struct polar {
    double radius, angle;
};

static struct polar polar_of(uint64_t key, uint64_t stream, uint64_t block)
{
    uint32_t w[4];
    wl_philox(key, stream, block, w);
    double u = ((double)w[0] + 1) * 0x1p-32; /* (0, 1] */
    return (struct polar) { sqrt(-2 * log(u)), 2 * M_PI * (((double)w[1] * 0x1p-32) + (double)w[2] * 0x1p-64) };
}

double wl_random_normal(uint64_t key, uint64_t stream, uint64_t i)
{
    struct polar p = polar_of(key, stream, i / 2);
    return p.radius * (i % 2 ? sin(p.angle) : cos(p.angle));
}

void wl_random_normals(uint64_t key, uint64_t stream, uint64_t first, size_t count, double *out)
{
    for (size_t i = 0; i < count; i += 2) {
        struct polar p = polar_of(key, stream, (first + i) / 2);
        out[i] = p.radius * cos(p.angle);
        if (i + 1 < count) out[i + 1] = p.radius * sin(p.angle);
    }
}

void wl_random_indices(uint64_t key, uint64_t stream, uint64_t n, size_t count, size_t *out)
{
    uint32_t w[4];
    for (size_t i = 0; i < count; i++) {
        if (i % 4 == 0) wl_philox(key, stream, i / 4, w);
        out[i] = (size_t)((w[i % 4] * n) >> 32); /* bias below n / 2^32 */
    }
}

uint64_t wl_random_below(uint64_t key, uint64_t stream, uint64_t i, uint64_t n)
{
    uint32_t w[4];
    wl_philox(key, stream, i, w);
    uint64_t x = (uint64_t)w[0] << 32 | w[1];
    return (uint64_t)(((unsigned __int128)x * n) >> 64); /* bias below n/2^64 */
}

uint64_t wl_hash_fnv1a(const char *s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}
