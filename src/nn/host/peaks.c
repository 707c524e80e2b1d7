/* What the processor reaches at most with the plan's threads, measured: the best of a few runs, since other processes
 * only slow them down. Multiplications, and memory on one thread, are timed by the threads' own processor time, which
 * does not count the others' turns. */
#include "nn/host/host.h"

#include "nn/simd/simd.h"
#include "nn/threads.h"

#include <math.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

enum {
    RUNS = 12,
    ROUNDS = 100000,         /* of multiplications in a run: about a millisecond */
    STREAM_BYTES = 96 << 20, /* of each of three streams: caches do not hold them */
    STREAM_FLOATS = STREAM_BYTES / sizeof(float),
    PARTS = 4, /* of a stream, one per run: short runs are more often undisturbed */
    PART_FLOATS = STREAM_FLOATS / PARTS,
    PIECE_FLOATS = PART_FLOATS / 64, /* for a thread at a time */
    MEMORY_RUNS = 10 * PARTS
};

/* ---- multiplications --------------------------------------------------------------------------------------------- */

/* Runs `rounds` of a loop on this thread; returns how many flop that was. */
typedef double multiply_fn(int64_t rounds);

static double multiply_f32(int64_t rounds) { return wl_simd()->multiply_add(rounds, .5f); }

#if defined __x86_64__ && defined __GNUC__

/* 16 registers of sums, two multiply-adds for each of 16 lanes; in assembly, since compilers spill such sums around
 * the intrinsics. Their values do not matter: all are 0. */
#define REPEAT_16(x)          x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15)
#define CLEAR(i)              "vpxord %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n"
#define PAIRS(instruction, i) instruction " %%zmm16, %%zmm17, %%zmm" #i "\n"
#define BF16_PAIRS(i)         PAIRS("vdpbf16ps", i)
#define INT16_PAIRS(i)        PAIRS("vpdpwssd", i)
#define ZMM(i)                , "xmm" #i
#define MULTIPLY(name, pairs)                                                                                      \
    __attribute__((target("avx512f"))) static double name(int64_t rounds)                                          \
    {                                                                                                              \
        int64_t left = rounds;                                                                                     \
        __asm__ volatile(REPEAT_16(CLEAR) CLEAR(16) CLEAR(17) "1:\n" REPEAT_16(pairs) "dec %0\njnz 1b\nvzeroupper" \
                         : "+r"(left)                                                                              \
                         :                                                                                         \
                         : "cc", "xmm16", "xmm17" REPEAT_16(ZMM));                                                 \
        return (double)rounds * 16 * 16 * 4;                                                                       \
    }
MULTIPLY(multiply_bf16, BF16_PAIRS)
MULTIPLY(multiply_int16, INT16_PAIRS)

static bool has_amx(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & (1u << 24 | 1u << 22));
}

static multiply_fn *bf16_here(void) { return __builtin_cpu_supports("avx512bf16") ? multiply_bf16 : NULL; }
static multiply_fn *int16_here(void) { return __builtin_cpu_supports("avx512vnni") ? multiply_int16 : NULL; }

#else

static bool has_amx(void) { return false; }
static multiply_fn *bf16_here(void) { return NULL; }
static multiply_fn *int16_here(void) { return NULL; }

#endif

/* NAN: the processor has no such instruction. */
static double flop_per_s(multiply_fn *multiply)
{
    double best = 0;
    if (!multiply) return NAN;
    for (int run = 0; run < RUNS; run++) {
        double per_s = 0;
#pragma omp parallel reduction(+ : per_s)
        {
            const int64_t start_ns = wl_clock_thread_cpu_ns();
            const double flop = multiply(ROUNDS);
            per_s += flop * (double)WL_NS_PER_S / (double)(wl_clock_thread_cpu_ns() - start_ns);
        }
        best = fmax(best, per_s);
    }
    return best;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

struct streams {
    float *from[2], *to;
    int threads;
    volatile float sink; /* of what was only read */
};

typedef float four __attribute__((vector_size(16)));
enum { FOUR = 4, LINE = 64 / sizeof(float) };

/* Written past the caches, where the compiler can: a plain store reads its line first. */
static inline void put(float *to, four v)
{
#ifdef __x86_64__
    _mm_stream_ps(to, (__m128)v);
#else
    *(four *)to = v;
#endif
}

static inline four load(const float *v) { return *(const four *)v; }

static void read_all(struct streams *s, size_t from, size_t to)
{
    four sum[4] = { 0 };
    for (size_t i = from; i < to; i += LINE)
        for (size_t k = 0; k < LINE / FOUR; k++) sum[k] += load(s->from[0] + i + k * FOUR);
    s->sink = sum[0][0] + sum[1][0] + sum[2][0] + sum[3][0];
}

static void copy_all(struct streams *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i += FOUR) put(s->to + i, load(s->from[0] + i));
}

static void add_all(struct streams *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i += FOUR) put(s->to + i, load(s->from[0] + i) + load(s->from[1] + i));
}

typedef void stream_fn(struct streams *s, size_t from, size_t to);

/* `streams`: how many of them move. */
static double bytes_per_s_on(int threads, stream_fn *move, struct streams *s, int streams)
{
    int64_t (*const now_ns)(void) = threads == 1 ? wl_clock_thread_cpu_ns : wl_now_ns;
    double best = 0;
    for (int run = 0; run < MEMORY_RUNS; run++) {
        const size_t first = (size_t)(run % PARTS) * PART_FLOATS;
        const int64_t start_ns = now_ns();
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t at = first; at < first + PART_FLOATS; at += PIECE_FLOATS) move(s, at, at + PIECE_FLOATS);
        best = fmax(best, (double)streams * sizeof(float) * PART_FLOATS * (double)WL_NS_PER_S /
                              (double)(now_ns() - start_ns));
    }
    return best;
}

/* Several threads reach what one does, also where others leave them no undisturbed moment together. */
static double bytes_per_s(stream_fn *move, struct streams *s, int streams)
{
    const double alone = bytes_per_s_on(1, move, s, streams);
    return s->threads == 1 ? alone : fmax(alone, bytes_per_s_on(s->threads, move, s, streams));
}

static int measure_memory(struct wl_device_peaks *p, struct wl_err *e)
{
    void *at;
    int rc = wl_host_map(3 * (size_t)STREAM_BYTES, "the measurement of memory's bandwidth", &at, e);
    if (rc) return rc;
    struct streams s = { .from = { at, (float *)at + STREAM_FLOATS },
                         .to = (float *)at + 2 * (size_t)STREAM_FLOATS,
                         .threads = p->threads };
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < 3 * (size_t)STREAM_FLOATS; i++) s.from[0][i] = 1; /* pages that are only read are one */
    p->bytes_per_s_read = bytes_per_s(read_all, &s, 1);
    p->bytes_per_s_copy = bytes_per_s(copy_all, &s, 2);
    p->bytes_per_s_add = bytes_per_s(add_all, &s, 3);
    wl_host_unmap(at, 3 * (size_t)STREAM_BYTES);
    return 0;
}

/* bf16 is imitated in f32 where there is no instruction for it. AMX, which oneDNN uses, is not measured. */
int wl_host_measure_peaks(void *device, struct wl_device_peaks *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_host *h = device;
    omp_set_num_threads(h->threads);
    *out = (struct wl_device_peaks) { .device = wl_host_cpu_name(a), .measured = true, .threads = h->threads };
    out->flop_per_s_f32 = flop_per_s(multiply_f32);
    out->flop_per_s_16bit = has_amx() ? NAN : bf16_here() ? flop_per_s(bf16_here()) : out->flop_per_s_f32;
    out->flop_per_s_int16 = flop_per_s(int16_here());
    out->flop_per_s_tf32 = NAN;
    return measure_memory(out, e);
}
