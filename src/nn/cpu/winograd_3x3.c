#include "nn/cpu/winograd_3x3.h"

#define A  WL_WINOGRAD_A
#define B  WL_WINOGRAD_B
#define A2 WL_WINOGRAD_A2
#define B2 WL_WINOGRAD_B2

/* L_i(p_i) at a and -a, and at b and -b. */
#define AT_A (2 * A2 * (A2 - B2))
#define AT_B (2 * B2 * (B2 - A2))

const float wl_winograd_into[WL_WINOGRAD_SIDE][WL_WINOGRAD_SIDE] = {
    { A2 * B2, 0, -(A2 + B2), 0, 1, 0 }, { 0, -A *B2, -B2, A, 1, 0 }, { 0, A *B2, -B2, -A, 1, 0 },
    { 0, -A2 *B, -A2, B, 1, 0 },         { 0, A2 *B, -A2, -B, 1, 0 }, { 0, A2 *B2, 0, -(A2 + B2), 0, 1 },
};

const float wl_winograd_filter[WL_WINOGRAD_SIDE][3] = {
    { 1 / (A2 * B2), 0, 0 },           { 1 / AT_A, A / AT_A, A2 / AT_A },  { 1 / AT_A, -A / AT_A, A2 / AT_A },
    { 1 / AT_B, B / AT_B, B2 / AT_B }, { 1 / AT_B, -B / AT_B, B2 / AT_B }, { 0, 0, 1 },
};

const float wl_winograd_from[WL_WINOGRAD_RESULTS][WL_WINOGRAD_SIDE] = {
    { 1, 1, 1, 1, 1, 0 },
    { 0, A, -A, B, -B, 0 },
    { 0, A2, A2, B2, B2, 0 },
    { 0, A2 *A, -A2 *A, B2 *B, -B2 *B, 1 },
};

static int64_t tiles_of(int64_t n) { return (n + WL_WINOGRAD_RESULTS - 1) / WL_WINOGRAD_RESULTS; }

bool wl_winograd_3x3_init(struct wl_winograd_3x3 *g, const struct wl_window *v, enum wl_pass pass)
{
    if (v->r != 3 || v->s != 3 || v->stride[0] != 1 || v->stride[1] != 1 || v->pad[0] > 2 || v->pad[1] > 2 ||
        v->c % WL_WINOGRAD_LANES || v->k % WL_WINOGRAD_LANES)
        return false;
    *g = pass == WL_PASS_DATA ? (struct wl_winograd_3x3) { .n = v->n,
                                                           .c = v->k,
                                                           .h = v->p,
                                                           .w = v->q,
                                                           .k = v->c,
                                                           .p = v->h,
                                                           .q = v->w,
                                                           .pad = { 2 - v->pad[0], 2 - v->pad[1] } }
                              : (struct wl_winograd_3x3) { .n = v->n,
                                                           .c = v->c,
                                                           .h = v->h,
                                                           .w = v->w,
                                                           .k = v->k,
                                                           .p = v->p,
                                                           .q = v->q,
                                                           .pad = { v->pad[0], v->pad[1] } };
    g->rows = tiles_of(g->p);
    g->columns = tiles_of(g->q);
    g->tiles = g->n * g->rows * g->columns;
    return true;
}

/* Bits: each set contains those before it. */
static bool has(unsigned isa)
{
#ifdef __x86_64__
    return (dnnl_get_effective_cpu_isa() & isa) == isa;
#else
    (void)isa;
    return false;
#endif
}

bool wl_winograd_3x3_vnni(void) { return has(dnnl_cpu_isa_avx512_core_vnni); }

bool wl_winograd_3x3_bf16(void) { return has(dnnl_cpu_isa_avx512_core_bf16); }
