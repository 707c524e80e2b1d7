/* bench_gpu_limits FILE [SIDE [MIB]]: what a GPU attains at most, for the roofline of tools/gpu-check: products of
 * matrices of SIDE x SIDE (8192) as the back-end makes them, bf16 and f32, and copies within its memory of MIB (1024).
 * The best of several of each, by events. Prints JSON; FILE gets cuDNN's description of the GPU, from which plans can
 * be made on machines without it (tests/fixtures/gpu). */
#include "bench.h"
#include "nn/gpu/dnn/dnn.h"
#include "nn/nn.h"
#include "nn/plan/internal.h"

#include <string.h>

enum { RUNS = 5 };

static void *zeros(struct wl_plan *p, const struct wl_tensor *t)
{
    return memset(wl_plan_input(p, t), 0, (size_t)wl_dims_count(wl_tensor_dims(t)) * sizeof(float));
}

/* y = x w' and its two gradients, all of them SIDE x SIDE. */
static int plan_product(struct wl_plan **plan, int64_t side, enum wl_dtype precision, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(side, side));
    struct wl_tensor *target = wl_input(g, "target", WL_F32, WL_DIMS(side, side));
    const struct wl_project to = { .features = side, .no_bias = true, .deviation = .02 };
    struct wl_tensor *y = wl_project(g, "product", wl_project(g, "first", x, to), to);
    wl_mean_square(g, "loss", y, target, (struct wl_loss) { 0 });
    const struct wl_plan_opts opts = { .backend = "gpu", .threads = 1, .precision = precision };
    int rc = wl_plan_new(plan, g, &opts, NULL, a, e);
    if (rc) return rc;
    zeros(*plan, target);
    float *v = zeros(*plan, x);
    for (int64_t i = 0; i < side * side; i++) v[i] = (float)(i % 7 - 3); /* zeros would draw less power */
    (*plan)->step_time = wl_new_array(a, struct wl_step_time, wl_plan_step_count(*plan));
    return 0;
}

/* Of the plan's products the fastest: flop a second. */
static double fastest(const struct wl_plan *p, struct wl_arena *a)
{
    double best = 0;
    for (size_t i = 0; i < wl_plan_step_count(p); i++) {
        const double flop = wl_plan_step(p, i, a).flops * (double)wl_plan_info(p).batch;
        const double s = p->step_time[i].wall_s;
        if (flop > 0 && s > 0 && flop / s > best) best = flop / s;
    }
    return best;
}

static int measure_product(int64_t side, enum wl_dtype precision, double *best, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_plan *p = NULL;
    int rc = plan_product(&p, side, precision, a, e);
    for (int run = 0; run < RUNS && !rc; run++) {
        memset(p->step_time, 0, wl_plan_step_count(p) * sizeof *p->step_time);
        rc = wl_plan_train(p, true, true, NULL, e);
        if (!rc && run > 0 && fastest(p, a) > *best) *best = fastest(p, a);
        if (!rc) rc = wl_plan_update(p, 0, e);
    }
    wl_arena_free(a);
    return rc;
}

/* ---- memory ---- */

static int time_copy(struct wl_gpu *g, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUevent ends[2], float *ms,
                     struct wl_err *e)
{
    WL_CUDA_CALL(&g->cuda, EventRecord, ends[0], g->compute);
    WL_CUDA_CALL(&g->cuda, MemcpyDtoDAsync, to, from, bytes, g->compute);
    WL_CUDA_CALL(&g->cuda, EventRecord, ends[1], g->compute);
    WL_CUDA_CALL(&g->cuda, EventSynchronize, ends[1]);
    WL_CUDA_CALL(&g->cuda, EventElapsedTime, ms, ends[0], ends[1]);
    return 0;
}

/* Bytes read and written a second. What it makes ends with the program. */
static int measure_copy(struct wl_gpu *g, size_t bytes, double *best, struct wl_err *e)
{
    CUdeviceptr to, from;
    CUevent ends[2];
    WL_CUDA_CALL(&g->cuda, MemAlloc, &to, bytes);
    WL_CUDA_CALL(&g->cuda, MemAlloc, &from, bytes);
    WL_CUDA_CALL(&g->cuda, MemsetD8Async, from, 1, bytes, g->compute);
    for (int i = 0; i < 2; i++) WL_CUDA_CALL(&g->cuda, EventCreate, &ends[i], CU_EVENT_DEFAULT);
    for (int run = 0; run < RUNS; run++) {
        float ms = 0;
        int rc = time_copy(g, to, from, bytes, ends, &ms, e);
        if (rc) return rc;
        if (ms > 0 && 2e3 * (double)bytes / (double)ms > *best) *best = 2e3 * (double)bytes / (double)ms;
    }
    return 0;
}

/* ---- cuDNN's description ---- */

static void describe(struct wl_gpu *g, const char *path, struct wl_json *answer)
{
    struct wl_err e = { 0 };
    char *json = NULL;
    int rc = wl_gpu_dnn_open(g, &e);
    if (!rc) rc = wl_gpu_dnn_description(g->dnn, &json, g->arena, &e);
    if (!rc) rc = wl_file_write(path, json, strlen(json), &e);
    wl_json_add_str(answer, "description_missing", rc ? e.msg : NULL);
}

/* A small plan, for its GPU: facts, copies. */
static void measure_device(size_t bytes, const char *path, struct wl_json *answer, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    struct wl_plan *p = NULL;
    double best = 0;
    must(plan_product(&p, 64, WL_F32, a, &e), &e);
    struct wl_gpu *g = wl_gpu_of(&p->program);
    wl_json_add_str(answer, "gpu", g->name);
    wl_json_add_str(answer, "machine", p->ops->machine(g, wl_plan_info(p).library, a));
    wl_json_add_int(answer, "capability", g->capability);
    wl_json_add_int(answer, "multiprocessors", g->multiprocessors);
    wl_json_add_int(answer, "memory_bytes", (int64_t)g->memory_bytes);
    describe(g, path, answer);
    must(measure_copy(g, bytes, &best, &e), &e);
    wl_json_add_real(answer, "copy_bytes_per_s", best);
}

/* bf16 is refused before compute capability 8.0. */
static void add_product(struct wl_json *answer, const char *key, int64_t side, enum wl_dtype precision)
{
    struct wl_err e = { 0 };
    double best = 0;
    int rc = measure_product(side, precision, &best, &e);
    if (rc == WL_EUNAVAIL) return wl_json_add_null(answer, key);
    must(rc, &e);
    wl_json_add_real(answer, key, best);
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: %s FILE [SIDE [MIB]]\n", argv[0]);
        return 2;
    }
    const int64_t side = argc > 2 ? atoll(argv[2]) : 8192;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_json *answer = wl_json_root_object(a);
    measure_device((size_t)(argc > 3 ? atoll(argv[3]) : 1024) << 20, argv[1], answer, a);
    add_product(answer, "bf16_flop_per_s", side, WL_BF16);
    add_product(answer, "f32_flop_per_s", side, WL_F32);
    puts(wl_json_text(answer, 0, a));
    wl_arena_free(a);
    return 0;
}
