/* What a GPU reaches at most, estimated from its clocks and units: nothing is measured. Tensor cores do so many flop a
 * clock on a multiprocessor, memory moves two words a clock, and programs reach a share of either. */
#include "nn/gpu/internal.h"

#include <math.h>

/* Flop a clock and multiprocessor, dense, summed in f32. Sources: NVIDIA's architecture papers of Turing (T4: 65
 * TFLOP/s in f16), Ampere (A100: 312, 108 multiprocessors at 1.41 GHz), GA102, Ada, Hopper (H100 SXM: 989, 132 at 1.83
 * GHz) and Blackwell (B200: 2,250); half of it in TF32, from 8.0 on. Of consumers' boards tensor cores do half of it
 * where they sum in f32. */
static const struct capability {
    int least; /* 90: 9.0 */
    double flop_16bit, flop_f32;
    double reached; /* by large products, of the tensor cores' peak at the highest clock */
} capabilities[] = {
    { 120, 1024, 256, .8 }, { 100, 8192, 256, .74 }, { 90, 4096, 256, .74 }, /* 790 TFLOP/s: power limits the clock */
    { 89, 1024, 256, .8 },  { 86, 1024, 256, .8 },   { 80, 2048, 128, .8 },  { 0, 1024, 128, .8 },
};
static const double memory_reached = .895; /* 3.0 of an H100's 3.35 TB/s */
static const double f32_reached = .8;

static double attribute(const struct wl_gpu *g, int which)
{
    int value = 0;
    const CUresult rc = g->cuda.DeviceGetAttribute(&value, which, g->device);
    return rc || value <= 0 ? NAN : value;
}

struct wl_device_peaks wl_gpu_peaks(void *device)
{
    const struct wl_gpu *g = device;
    const struct capability *c = capabilities;
    while (g->capability < c->least) c++;
    const double clocks_per_s = 1e3 * attribute(g, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * g->multiprocessors;
    const double words_per_s = 2e3 * attribute(g, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    const double bytes_per_s =
        memory_reached * words_per_s * attribute(g, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
    return (struct wl_device_peaks) {
        .device = g->name,
        .bytes_per_s_read = bytes_per_s,
        .bytes_per_s_copy = bytes_per_s,
        .bytes_per_s_add = bytes_per_s,
        .flop_per_s_16bit = c->reached * clocks_per_s * c->flop_16bit,
        .flop_per_s_int16 = NAN, /* no kernel multiplies these */
        .flop_per_s_tf32 = c->least >= 80 ? c->reached * clocks_per_s * c->flop_16bit / 2 : NAN,
        .flop_per_s_f32 = f32_reached * clocks_per_s * c->flop_f32,
    };
}
