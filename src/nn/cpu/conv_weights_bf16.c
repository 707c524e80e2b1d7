/* The pass: all threads gather the pairs of a group of pieces, then share the products by tap, panel and rows. */
#include "nn/cpu/conv_weights_bf16.h"

#include "nn/cpu/conv_custom.h"
#include "nn/threads.h"

#include <string.h>

enum { LANES = WL_CONV_WEIGHTS_LANES, LINE = 64 /* bytes */ };

/* Pairs of a group of pieces take at most about so many bytes: they pass through the caches, and dw through memory once
 * for each group. */
static const size_t group_bytes = 4 << 20;

/* How a pass is cut. */
struct cut {
    int64_t taps, x_blocks, dy_blocks; /* blocks: of 16 channels */
    int64_t panels, parts;             /* of the filters, of the channels */
    int64_t pixels, pieces, group;
    size_t pairs_bytes, sums_bytes; /* of a piece */
};

static int64_t parts_of(int64_t n, int64_t most) { return (n + most - 1) / most; }

static bool cut(struct cut *o, const struct wl_window *v)
{
    if (v->c % LANES || v->k % LANES) return false;
    *o = (struct cut) { .taps = v->r * v->s, .x_blocks = v->c / LANES, .dy_blocks = v->k / LANES };
    o->panels = parts_of(o->dy_blocks, WL_CONV_WEIGHTS_PANEL);
    o->parts = parts_of(v->c, WL_CONV_WEIGHTS_ROWS);
    o->pixels = v->n * v->p * v->q;
    o->pieces = parts_of(o->pixels, WL_CONV_WEIGHTS_PIECE);
    o->pairs_bytes =
        (size_t)((o->taps * o->x_blocks + o->dy_blocks) * WL_CONV_WEIGHTS_BLOCK) * sizeof(wl_conv_weights_pair);
    o->sums_bytes = (size_t)v->k * sizeof(float);
    o->group = (int64_t)(group_bytes / o->pairs_bytes);
    if (o->group < 1) o->group = 1;
    if (o->group > o->pieces) o->group = o->pieces;
    return true;
}

static size_t scratch_bytes(const struct wl_window *v, enum wl_pass pass)
{
    (void)pass;
    struct cut o;
    WL_CHECK(cut(&o, v));
    const size_t bytes = (size_t)o.group * o.pairs_bytes + (size_t)o.pieces * o.sums_bytes;
    return (bytes + LINE - 1) / LINE * LINE;
}

/* A pass that runs. */
struct pass {
    struct cut o;
    const struct wl_conv_call *call;
    char *pairs; /* [group][taps of x blocks, then dy blocks] */
    float *sums; /* [pieces][K], of dy */
};

/* Pairs of block i of a piece: those of x tap by tap, then those of dy. */
static wl_conv_weights_pair *pairs_at(const struct pass *s, int64_t slot, int64_t i)
{
    wl_conv_weights_pair *piece = (void *)(s->pairs + (size_t)slot * s->o.pairs_bytes);
    return piece + i * WL_CONV_WEIGHTS_BLOCK;
}

static int64_t piece_end(const struct pass *s, int64_t piece)
{
    const int64_t to = (piece + 1) * WL_CONV_WEIGHTS_PIECE;
    return to < s->o.pixels ? to : s->o.pixels;
}

/* x as a tap reads it, or after the last tap dy, in a piece that lies in that slot of the group. */
static void gather(const struct pass *s, int64_t piece, int64_t slot, int64_t tap)
{
    const struct wl_window *v = &s->call->v;
    const bool is_dy = tap == s->o.taps;
    struct wl_conv_weights_gather g = { .value = is_dy ? s->call->dy : s->call->x,
                                        .blocks = is_dy ? s->o.dy_blocks : s->o.x_blocks,
                                        .h = is_dy ? v->p : v->h,
                                        .w = is_dy ? v->q : v->w,
                                        .p = v->p,
                                        .q = v->q,
                                        .stride = { 1, 1 },
                                        .from = piece * WL_CONV_WEIGHTS_PIECE,
                                        .to = piece_end(s, piece),
                                        .pairs = pairs_at(s, slot, tap * s->o.x_blocks) };
    if (is_dy) {
        if (s->call->db) g.sums = s->sums + piece * v->k;
    } else {
        const int64_t at[2] = { tap / v->s, tap % v->s };
        for (int d = 0; d < 2; d++) {
            g.stride[d] = v->stride[d];
            g.before[d] = v->pad[d] - at[d];
        }
    }
    wl_conv_weights_gather(&g);
}

/* All pieces [first, end) at a tap, for the filters of a panel and a part of the channels. */
static void add_up(const struct pass *s, int64_t first, int64_t end, int64_t tap, int64_t panel, int64_t part)
{
    const struct cut *o = &s->o;
    const int64_t from = o->dy_blocks * panel / o->panels, to = o->dy_blocks * (panel + 1) / o->panels;
    const int64_t c = part * WL_CONV_WEIGHTS_ROWS, rest = s->call->v.c - c, square = LANES * LANES;
    for (int64_t piece = first; piece < end; piece++)
        wl_conv_weights_sums(&(struct wl_conv_weights_sums) {
            .c = c,
            .rows = rest < WL_CONV_WEIGHTS_ROWS ? rest : WL_CONV_WEIGHTS_ROWS,
            .vectors = to - from,
            .pairs = (piece_end(s, piece) - piece * WL_CONV_WEIGHTS_PIECE + 1) / 2,
            .x = pairs_at(s, piece - first, tap * o->x_blocks),
            .dy = pairs_at(s, piece - first, o->taps * o->x_blocks + from),
            .dw = s->call->dw + (from * o->x_blocks * o->taps + tap) * square,
            .c_step = o->taps * square,
            .k_step = o->x_blocks * o->taps * square,
            .add = piece > 0,
        });
}

static void run(const struct wl_conv_call *c)
{
    struct pass s = { .call = c, .pairs = c->scratch };
    WL_CHECK(cut(&s.o, &c->v));
    s.sums = (float *)(void *)(s.pairs + (size_t)s.o.group * s.o.pairs_bytes);
    const struct cut *o = &s.o;
    const int64_t gathered = o->taps + 1, items = o->taps * o->panels * o->parts;
#pragma omp parallel
    for (int64_t first = 0; first < o->pieces; first += o->group) {
        const int64_t end = first + o->group < o->pieces ? first + o->group : o->pieces;
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < (end - first) * gathered; i++)
            gather(&s, first + i / gathered, i / gathered, i % gathered);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < items; i++)
            add_up(&s, first, end, i / o->parts / o->panels, i / o->parts % o->panels, i % o->parts);
    }
    if (c->db) wl_conv_custom_sum_bias(s.sums, o->pieces, c->v.k, c->db);
}

static bool applies(const struct wl_window *v, enum wl_pass pass)
{
    struct cut o;
#ifdef __x86_64__
    const bool bf16 = dnnl_get_effective_cpu_isa() == dnnl_cpu_isa_avx512_core_bf16; /* with AMX, oneDNN's are faster */
#else
    const bool bf16 = false;
#endif
    return pass == WL_PASS_WEIGHTS && bf16 && v->p * v->q <= WL_CONV_WEIGHTS_MAP && cut(&o, v);
}

const struct wl_conv_custom wl_conv_weights_bf16 = {
    .answer = "custom direct",
    .implementation = "conv_weights_bf16",
    .numerics = "direct, products of pairs of bf16 numbers summed in f32",
    .applies = applies,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
