/* bench_fourier HEIGHT WIDTH CHANNELS MODES THREADS: the Fourier transforms of the engine, for bench/fourier.py to time
 * in turns with others. For each line on stdin it runs each once and prints one line: milliseconds of fft2 and of
 * inverse_fft2. The end of stdin ends it. */
#include "nn/plan/internal.h"

#include <stdio.h>
#include <stdlib.h>

struct transforms {
    const struct wl_step *forward, *inverse;
};

static int build(struct transforms *t, int64_t h, int64_t w, int64_t channels, int64_t modes, int threads,
                 struct wl_arena *a, struct wl_err *e)
{
    const struct wl_fourier how = { .height = h, .width = w, .modes = modes, .blocks = 1 };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(h * w, channels));
    struct wl_plan *p;
    wl_inverse_fft2(g, "inverse", wl_fft2(g, "forward", x, how), how);
    int rc = wl_plan_new(&p, g, &(struct wl_plan_opts) { .threads = threads, .eval_only = true }, NULL, a, e);
    if (rc) return rc;
    float *to = wl_plan_input(p, x);
    for (int64_t i = 0; i < h * w * channels; i++) to[i] = (float)wl_random_normal(1, 2, (uint64_t)i);
    for (size_t i = 0; i < p->program.n_steps; i++) {
        const struct wl_step *s = p->program.steps[i];
        if (s->node->op == WL_OP_FFT2) t->forward = s;
        if (s->node->op == WL_OP_INVERSE_FFT2) t->inverse = s;
    }
    return wl_plan_eval(p, &(struct wl_counts) { 0 }, e); /* touches the memory */
}

static double run_ms(const struct wl_step *s, int *rc, struct wl_err *e)
{
    const int64_t start_ns = wl_now_ns();
    if (!*rc) *rc = s->run(s, &(struct wl_run) { .first = true }, e);
    return (double)(wl_now_ns() - start_ns) / 1e6;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: bench_fourier HEIGHT WIDTH CHANNELS MODES THREADS\n");
        return 2;
    }
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct transforms t = { 0 };
    int rc = build(&t, atoll(argv[1]), atoll(argv[2]), atoll(argv[3]), atoll(argv[4]), atoi(argv[5]), a, &e);
    char line[16];
    while (!rc && fgets(line, sizeof line, stdin)) {
        const double forward_ms = run_ms(t.forward, &rc, &e), inverse_ms = run_ms(t.inverse, &rc, &e);
        printf("%.4f %.4f\n", forward_ms, inverse_ms);
        fflush(stdout);
    }
    if (rc) fprintf(stderr, "bench_fourier: %s\n", e.msg);
    wl_arena_free(a);
    return rc ? 1 : 0;
}
