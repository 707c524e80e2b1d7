/* bench_dropout [MILLIONS]: dropout against its lower bound, a pass that scales every element.
 *
 * One thread, arrays of MILLIONS (16) of f32 numbers and arrays that stay in the cache. Prints nanoseconds per element,
 * medians of interleaved rounds, and the ratio. */
#include "nn/plan/internal.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 15, CACHED = 1 << 15 };

static const char *const names[] = { "large", "in the cache" };

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / (double)WL_NS_PER_S; }

static void scale(const float *restrict x, float *restrict y, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
}

/* The dropout step of a network of one dropout with n features. */
static const struct wl_step *dropout_of(struct wl_arena *a, int64_t n, struct wl_err *e)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(1, n)), *t = wl_input(g, "target", WL_F32, WL_DIMS(1, n));
    struct wl_plan *p;
    wl_want_gradient(g, x);
    wl_mean_square(g, "loss", wl_dropout(g, "dropout", x, 0.5), t, (struct wl_loss) { 0 });
    if (wl_plan_new(&p, g, &(struct wl_plan_opts) { .threads = 1 }, NULL, a, e)) return NULL;
    size_t i = 0;
    while (p->program.steps[i]->node->op != WL_OP_DROPOUT) i++;
    return p->program.steps[i];
}

static int measure(const char *name, int64_t n, int64_t repeats, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_step *s = dropout_of(a, n, e);
    if (!s) return e->code;
    const struct wl_run run = { .training = true, .first = true };
    double drop_s[ROUNDS], scale_s[ROUNDS];
    int rc = 0;
    for (int i = -1; i < ROUNDS && !rc; i++) {
        int64_t start_ns = wl_now_ns();
        for (int64_t k = 0; k < repeats && !rc; k++) rc = s->run(s, &run, e);
        double took_s = seconds_since(start_ns);
        start_ns = wl_now_ns();
        for (int64_t k = 0; k < repeats; k++) scale(s->uses[0].buf->at, s->uses[s->n_uses - 1].buf->at, (size_t)n);
        if (i < 0) continue; /* touches the memory */
        drop_s[i] = took_s;
        scale_s[i] = seconds_since(start_ns);
    }
    if (rc) return rc;
    double all = (double)n * (double)repeats, drop = median(drop_s, ROUNDS), plain = median(scale_s, ROUNDS);
    printf("%-14s dropout %.3f ns an element, scaling %.3f ns, ratio %.2f\n", name, 1e9 * drop / all, 1e9 * plain / all,
           drop / plain);
    return 0;
}

int main(int argc, char **argv)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    const int64_t large = (argc > 1 ? atoll(argv[1]) : 16) * 1000000;
    int rc = measure(names[0], large, 1, a, &e);
    if (!rc) rc = measure(names[1], CACHED, large / CACHED, a, &e);
    if (rc) fprintf(stderr, "bench_dropout: %s\n", e.msg);
    wl_arena_free(a);
    return rc ? 1 : 0;
}
