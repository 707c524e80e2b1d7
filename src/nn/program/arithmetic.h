/* How many multiplications a step makes, and of which numbers: the one count that its bound, --explain and
 * bench/train_step --by-op take. A kernel that is not direct states its own (wl_step.arithmetic). */
#ifndef WL_NN_PROGRAM_ARITHMETIC_H
#define WL_NN_PROGRAM_ARITHMETIC_H

#include "nn/program/peaks.h"

struct wl_graph;
struct wl_step;

enum wl_numbers {
    WL_NUMBERS_READ, /* as narrow as the narrowest that the step reads: 16 bits (bf16, f16) or f32 */
    WL_NUMBERS_F32,
    WL_NUMBERS_TF32,
    WL_NUMBERS_16BIT,
    WL_NUMBERS_INT16
};

/* All zero: direct, of the numbers as they are read. */
struct wl_arithmetic {
    const char *algorithm; /* "F(4x4,3x3)"; NULL: direct */
    double work;           /* multiplications relative to direct ones: .25 for F(4x4,3x3); 0: 1 */
    enum wl_numbers numbers;
};

/* Flop of a step over the whole batch by the direct algorithm: 2 x multiply-adds. 0: it has no products; NAN: they
 * depend on a mean number of rows that is not known. */
double wl_step_flops(const struct wl_graph *g, const struct wl_step *s);

/* The step's arithmetic with nothing left to be assumed: an algorithm ("direct"), work above 0, and which numbers. */
struct wl_arithmetic wl_step_arithmetic(const struct wl_step *s);

/* "f32", "tf32", "16 bits", "int16" */
const char *wl_numbers_name(enum wl_numbers numbers);

/* What the device reaches at most; NAN: not known. */
double wl_peaks_flop_per_s(const struct wl_device_peaks *p, enum wl_numbers numbers);
double wl_peaks_bytes_per_s(const struct wl_device_peaks *p, double read_bytes, double written_bytes);

#endif
