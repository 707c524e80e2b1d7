/* Values to tiles and back, and filters to points. A line is copied between zeros, so that no tile crosses its end. */
#include "nn/cpu/winograd_1d.h"

#include <string.h>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WL_TARGET_CLONES \
    __attribute__((target_clones("avx512f", "avx2", "default"))) /* the widest of the machine that runs */
#else
#define WL_TARGET_CLONES
#endif

enum { LANES = WL_WINOGRAD_1D_LANES, N = WL_WINOGRAD_1D_POINTS };

/* The lanes of 16 channels: one vector of AVX-512, some of narrower ones. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* Vectors of `n` products: those of one lie `apart` floats from each other, those of the next ones `next` further on.
 */
struct vectors {
    int64_t apart, next;
};

/* Constant sizes keep all of `in` in registers. */
#define PRODUCTS(OUTS, INS)                                                                                   \
    for (; n-- > 0; in += from.next, out += to.next) {                                                        \
        lanes d[INS];                                                                                         \
        _Pragma("GCC unroll 9") for (int j = 0; j < (INS); j++) d[j] = *(const lanes *)(in + j * from.apart); \
        for (int i = 0; i < (OUTS); i++) {                                                                    \
            lanes *y = (lanes *)(out + i * to.apart), s = d[0] * t[i * (INS)];                                \
            _Pragma("GCC unroll 9") for (int j = 1; j < (INS); j++) s += d[j] * t[i * (INS) + j];             \
            if (add) s += *y;                                                                                 \
            *y = s;                                                                                           \
        }                                                                                                     \
    }                                                                                                         \
    break;

/* out[i] (+)= sum of t[i][j] in[j], n times. */
WL_TARGET_CLONES static void products(const struct wl_winograd_1d_matrix *m, int64_t n, const float *in,
                                      struct vectors from, float *out, struct vectors to, bool add)
{
    const float *t = m->t;
    switch (m->outs * 16 + m->ins) {
    case 0x99: PRODUCTS(9, 9)
    case 0x66: PRODUCTS(6, 6)
    case 0x97: PRODUCTS(9, 7)
    case 0x79: PRODUCTS(7, 9)
    case 0x93: PRODUCTS(9, 3)
    case 0x39: PRODUCTS(3, 9)
    case 0x63: PRODUCTS(6, 3)
    case 0x36: PRODUCTS(3, 6)
    case 0x64: PRODUCTS(6, 4)
    case 0x46: PRODUCTS(4, 6)
    default: WL_CHECK(!"a family of other sizes");
    }
}

/* Strides in floats, along a line and across lines, of a value and of its tiles; blocks and points of them. */
struct geometry {
    int64_t lines, length, along, across, tile_along, tile_across, point;
};

static struct geometry geometry_of(const struct wl_winograd_1d *l, int64_t c)
{
    const int64_t row = l->w * LANES, tile_row = (l->down ? l->w : l->tiles) * LANES;
    struct geometry g = { .lines = l->down ? l->w : l->h, .length = l->down ? l->h : l->w };
    g.along = l->down ? row : LANES;
    g.across = l->down ? LANES : row;
    g.tile_along = l->down ? tile_row : LANES;
    g.tile_across = l->down ? LANES : tile_row;
    g.point = c * g.lines * l->tiles;
    return g;
}

static void get_line(const struct geometry *g, const float *from, float *line)
{
    for (int64_t i = 0; i < g->length; i++) memcpy(line + i * LANES, from + i * g->along, LANES * sizeof(float));
}

static void put_line(const struct geometry *g, const float *line, float *to)
{
    for (int64_t i = 0; i < g->length; i++) memcpy(to + i * g->along, line + i * LANES, LANES * sizeof(float));
}

/* The size of a line between zeros. */
static size_t line_bytes(const struct wl_winograd_1d *l)
{
    return (size_t)((l->tiles - 1) * l->m + l->points + l->taps) * LANES * sizeof(float);
}

/* A block of channels of an image. The first of a tile's elements lies `before` the tile's results. */
static void block_to_tiles(const struct wl_winograd_1d *l, const struct geometry *g,
                           const struct wl_winograd_1d_matrix *m, int64_t before, const float *value, float *tiles)
{
    const struct vectors line_tiles = { LANES, l->m * LANES }, tile = { g->point, g->tile_along };
    float line[WL_WINOGRAD_1D_LINE * LANES];
    memset(line, 0, line_bytes(l));
    for (int64_t i = 0; i < g->lines; i++) {
        get_line(g, value + i * g->across, line + before * LANES);
        products(m, l->tiles, line, line_tiles, tiles + i * g->tile_across, tile, false);
    }
}

static void block_from_tiles(const struct wl_winograd_1d *l, const struct geometry *g,
                             const struct wl_winograd_1d_matrix *m, int64_t before, const float *tiles, float *value)
{
    const struct vectors line_tiles = { LANES, l->m * LANES }, tile = { g->point, g->tile_along };
    float line[WL_WINOGRAD_1D_LINE * LANES];
    for (int64_t i = 0; i < g->lines; i++) {
        memset(line, 0, line_bytes(l));
        products(m, l->tiles, tiles + i * g->tile_across, tile, line, line_tiles, true);
        put_line(g, line + before * LANES, value + i * g->across);
    }
}

/* Block i of all images' blocks, in a value and in its tiles. */
static int64_t value_at(const struct wl_winograd_1d *l, int64_t i) { return i * l->h * l->w * LANES; }

static int64_t tiles_at(const struct wl_winograd_1d *l, const struct geometry *g, int64_t blocks, int64_t i)
{
    return i / blocks * l->points * g->point + i % blocks * g->lines * l->tiles * LANES;
}

static void to_tiles(const struct wl_winograd_1d *l, int64_t c, const struct wl_winograd_1d_matrix *m, int64_t before,
                     const float *value, float *tiles)
{
    const struct geometry g = geometry_of(l, c);
    const int64_t blocks = c / LANES;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < l->n * blocks; i++)
        block_to_tiles(l, &g, m, before, value + value_at(l, i), tiles + tiles_at(l, &g, blocks, i));
}

static void from_tiles(const struct wl_winograd_1d *l, int64_t c, const struct wl_winograd_1d_matrix *m, int64_t before,
                       const float *tiles, float *value)
{
    const struct geometry g = geometry_of(l, c);
    const int64_t blocks = c / LANES;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < l->n * blocks; i++)
        block_from_tiles(l, &g, m, before, tiles + tiles_at(l, &g, blocks, i), value + value_at(l, i));
}

void wl_winograd_1d_input(const struct wl_winograd_1d *l, int64_t c, const float *x, float *tiles)
{
    to_tiles(l, c, &l->into, l->taps / 2, x, tiles);
}

void wl_winograd_1d_input_backward(const struct wl_winograd_1d *l, int64_t c, const float *tiles, float *dx)
{
    from_tiles(l, c, &l->into_back, l->taps / 2, tiles, dx);
}

void wl_winograd_1d_output(const struct wl_winograd_1d *l, int64_t c, const float *tiles, float *y)
{
    from_tiles(l, c, &l->from, 0, tiles, y);
}

void wl_winograd_1d_output_backward(const struct wl_winograd_1d *l, int64_t c, const float *dy, float *tiles)
{
    to_tiles(l, c, &l->from_back, 0, dy, tiles);
}

enum { BLOCK = LANES * LANES };

/* Floats from a block of filters to the next one, and between the vectors of a product. */
struct filter_strides {
    int64_t block, apart;
};

static void filters(const struct wl_winograd_1d_matrix *m, int64_t blocks, const float *in, struct filter_strides from,
                    float *out, struct filter_strides to)
{
    const struct vectors source = { from.apart, LANES }, target = { to.apart, LANES };
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; b++)
        products(m, LANES, in + b * from.block, source, out + b * to.block, target, false);
}

static struct filter_strides by_tap(const struct wl_winograd_1d *l)
{
    return (struct filter_strides) { l->taps * BLOCK, BLOCK };
}

static struct filter_strides by_point(int64_t blocks) { return (struct filter_strides) { BLOCK, blocks * BLOCK }; }

void wl_winograd_1d_filter(const struct wl_winograd_1d *l, int64_t blocks, const float *w, float *points)
{
    filters(&l->filter, blocks, w, by_tap(l), points, by_point(blocks));
}

void wl_winograd_1d_filter_backward(const struct wl_winograd_1d *l, int64_t blocks, const float *points, float *dw)
{
    filters(&l->filter_back, blocks, points, by_point(blocks), dw, by_tap(l));
}
