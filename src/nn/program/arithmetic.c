#include "nn/program/arithmetic.h"

#include "nn/program/program.h"

#include <math.h>

/* A backward pass is one step, or one by data and one by weights, which take as many each as forward; copies and sums
 * of gradients take none. */
static double pass_flops(const struct wl_graph *g, const struct wl_step *s)
{
    if (wl_str_starts(s->pass, "backward data") || wl_str_starts(s->pass, "backward weights"))
        return wl_node_flops(g, s->node);
    if (wl_str_starts(s->pass, "backward")) return wl_node_backward_flops(g, s->node);
    return wl_str_starts(s->pass, "forward") ? wl_node_flops(g, s->node) : 0;
}

double wl_step_flops(const struct wl_graph *g, const struct wl_step *s) { return s->flops_share * pass_flops(g, s); }

/* Products are as fast as the narrowest numbers that they read. */
static enum wl_numbers narrowest(const struct wl_step *s)
{
    for (int i = 0; i < s->n_uses; i++)
        if (!s->uses[i].write && wl_dtype_bytes(s->uses[i].buf->dtype) == 2) return WL_NUMBERS_16BIT;
    return WL_NUMBERS_F32;
}

struct wl_arithmetic wl_step_arithmetic(const struct wl_step *s)
{
    struct wl_arithmetic a = s->arithmetic;
    if (!a.algorithm) a.algorithm = "direct";
    if (a.work == 0) a.work = 1;
    if (a.numbers == WL_NUMBERS_READ) a.numbers = narrowest(s);
    return a;
}

const char *wl_numbers_name(enum wl_numbers numbers)
{
    static const char *const names[] = { [WL_NUMBERS_READ] = "as read",
                                         [WL_NUMBERS_F32] = "f32",
                                         [WL_NUMBERS_TF32] = "tf32",
                                         [WL_NUMBERS_16BIT] = "16 bits",
                                         [WL_NUMBERS_INT16] = "int16" };
    return names[numbers];
}

double wl_peaks_flop_per_s(const struct wl_device_peaks *p, enum wl_numbers numbers)
{
    switch (numbers) {
    case WL_NUMBERS_TF32: return p->flop_per_s_tf32;
    case WL_NUMBERS_16BIT: return p->flop_per_s_16bit;
    case WL_NUMBERS_INT16: return p->flop_per_s_int16;
    case WL_NUMBERS_F32: return p->flop_per_s_f32;
    case WL_NUMBERS_READ: break;
    }
    WL_CHECK(false); /* wl_step_arithmetic has settled it */
    return NAN;
}

/* Of the patterns that were measured the one whose share of writes is nearest: 0, 1/3 and 1/2. */
double wl_peaks_bytes_per_s(const struct wl_device_peaks *p, double read_bytes, double written_bytes)
{
    const double written = written_bytes / (read_bytes + written_bytes);
    if (!p->measured || !(written > 1. / 6)) return p->bytes_per_s_read;
    return written < 5. / 12 ? p->bytes_per_s_add : p->bytes_per_s_copy;
}
