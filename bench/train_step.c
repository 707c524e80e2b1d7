/* bench_train_step [THREADS [BATCH [STEPS [MODEL [f32|bf16]]]]]: full training steps of a network (resnet50) on random
 * images.
 *
 * One line of JSON: the median step (forward, backward, SGD) in wall-clock and processor time, the time that
 * convolutions and matrix products take of it, and where the rest goes. bench/train_step.py runs it in turns with
 * PyTorch; the ratios are what counts.
 */
#include "models/models.h"
#include "nn/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2 };

struct bench {
    struct wl_arena *arena;
    struct wl_plan *plan;
    int64_t batch;
    int steps;
    double *step_s, *cpu_s, *matrix_s; /* of each step */
    double kind_s[WL_OP_COUNT], sgd_s; /* of all steps */
};

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / (double)WL_NS_PER_S; }

static int make_plan(struct bench *b, const struct wl_model *m, int threads, enum wl_dtype precision, struct wl_err *e)
{
    const int64_t pixels = m->full.image_size;
    struct wl_graph *g = wl_graph_new(b->arena);
    struct wl_model_net net;
    struct wl_model_opts size = { .size = "full", .batch = b->batch, .image_size = pixels, .classes = 1000 };
    struct wl_plan_opts opts = { .threads = threads,
                                 .precision = precision,
                                 .optim = { .momentum = 0.9, .weight_decay = 1e-4 } };
    int rc = m->build(g, &size, &net, e);
    if (!rc) rc = wl_plan_new(&b->plan, g, &opts, NULL, b->arena, e);
    if (rc) return rc;
    float *images = wl_plan_input(b->plan, net.images);
    int32_t *labels = wl_plan_input(b->plan, net.labels);
    for (uint64_t i = 0; i < (uint64_t)(b->batch * 3 * pixels * pixels); i++)
        images[i] = (float)wl_random_normal(1, 1, i);
    for (int64_t i = 0; i < b->batch; i++) labels[i] = (int32_t)wl_random_below(1, 2, (uint64_t)i, 1000);
    return 0;
}

static bool is_matrix(const struct wl_step *s)
{
    return (s->node->op == WL_OP_CONV || s->node->op == WL_OP_LINEAR) && strcmp(s->what, "reorder") != 0;
}

/* One step as wl_plan_train runs it, with a clock around each primitive (a few microseconds of 1 s in all). */
static int timed_step(struct bench *b, int at, struct wl_err *e)
{
    struct wl_counts counts = { 0 };
    const struct wl_run run = { .first = true, .counts = &counts };
    int64_t start_ns = wl_now_ns(), start_cpu_ns = wl_process_cpu_ns();
    for (size_t i = 0; i < b->plan->program.n_steps; i++) {
        const struct wl_step *s = b->plan->program.steps[i];
        if (!(s->when & WL_TRAIN)) continue;
        int64_t t_ns = wl_now_ns();
        int rc = s->run(s, &run, e);
        if (rc) return rc;
        double took = seconds_since(t_ns);
        if (at < 0) continue;
        b->kind_s[s->node->op] += took;
        if (is_matrix(s)) b->matrix_s[at] += took;
    }
    b->plan->micros = 1;
    int64_t t_ns = wl_now_ns();
    int rc = wl_plan_update(b->plan, 1e-3, e);
    if (at < 0) return rc;
    b->sgd_s += seconds_since(t_ns);
    b->step_s[at] = seconds_since(start_ns);
    b->cpu_s[at] = (double)(wl_process_cpu_ns() - start_cpu_ns) / (double)WL_NS_PER_S;
    return rc;
}

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void report(struct bench *b)
{
    struct wl_plan_info f = wl_plan_info(b->plan);
    double step_s = median(b->step_s, b->steps), matrix_s = median(b->matrix_s, b->steps);
    struct wl_json *j = wl_json_root_object(b->arena), *kinds;
    wl_json_add_str(j, "library", f.library);
    wl_json_add_str(j, "precision", wl_dtype_name(f.precision));
    wl_json_add_int(j, "threads", f.threads);
    wl_json_add_int(j, "batch", b->batch);
    wl_json_add_real(j, "step_ms", step_s * 1e3);
    wl_json_add_real(j, "cpu_ms", median(b->cpu_s, b->steps) * 1e3);
    wl_json_add_real(j, "matrix_ms", matrix_s * 1e3);
    wl_json_add_real(j, "samples_per_s", (double)b->batch / step_s);
    wl_json_add_real(j, "gflop_per_s", f.train_flops * (double)b->batch / step_s * 1e-9);
    wl_json_add_real(j, "memory_gb", (double)f.total_bytes * 1e-9);
    kinds = wl_json_add_object(j, "ms_by_kind");
    for (int op = 0; op < WL_OP_COUNT; op++)
        if (b->kind_s[op] > 0) wl_json_add_real(kinds, wl_op_name(op), b->kind_s[op] / b->steps * 1e3);
    wl_json_add_real(kinds, "sgd", b->sgd_s / b->steps * 1e3);
    puts(wl_json_text(j, 0, b->arena));
}

int main(int argc, char **argv)
{
    struct bench b = { .arena = wl_arena_new(NULL), .batch = argc > 2 ? atoll(argv[2]) : 16 };
    b.steps = argc > 3 ? atoi(argv[3]) : 10;
    b.step_s = wl_new_array(b.arena, double, b.steps);
    b.cpu_s = wl_new_array(b.arena, double, b.steps);
    b.matrix_s = wl_new_array(b.arena, double, b.steps);
    struct wl_err e = { 0 };
    const char *name = argc > 4 ? argv[4] : "resnet50";
    const struct wl_model *m = wl_model_find(name);
    enum wl_dtype precision = argc > 5 && wl_streq(argv[5], "bf16") ? WL_BF16 : WL_F32;
    int rc =
        m ? make_plan(&b, m, argc > 1 ? atoi(argv[1]) : 0, precision, &e) : wl_fail(&e, WL_EINVAL, "no model %s", name);
    for (int i = -WARM_UP; i < b.steps && !rc; i++) rc = timed_step(&b, i, &e);
    if (rc)
        fprintf(stderr, "bench_train_step: %s\n", e.msg);
    else
        report(&b);
    wl_arena_free(b.arena);
    return rc ? 1 : 0;
}
