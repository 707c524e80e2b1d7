/* Full-size plans of the image networks, their convolutions planned by the real cuDNN for a described GPU: argv[1] is a
 * libcuda for cuDNN, argv[2] the folder of descriptions, argv[3] that of the fakes of NVIDIA's other libraries. Each
 * convolution has a deterministic engine, and the plan fits into 80 GB. Exit status 77: there is no cuDNN. */
#include "models/models.h"
#include "nn/plan/internal.h"
#include "real_cudnn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 256 };

struct gpu {
    const char *name, *simulated;
};
static const struct gpu h100 = { "h100", "capability=90;multiprocessors=132;memory_mb=81920" },
                        a100 = { "a100", "capability=80;multiprocessors=108;memory_mb=81920" };

static const char *fixtures, *fakes, *real; /* folders; real: NULL: where the loader finds cuDNN */

static void check(int rc, const char *what, const struct wl_err *e)
{
    if (rc) fail_msg("%s: %s", what, e->msg);
}

static struct wl_gpu_dnn *described(const struct gpu *gpu, struct wl_arena *a)
{
    struct wl_gpu_dnn *d = NULL;
    struct wl_err e = { 0 };
    if (real)
        setenv("WATTLAW_CUDA_PATH", real, 1);
    else
        unsetenv("WATTLAW_CUDA_PATH");
    check(describe_gpu(&d, fixtures, gpu->name, a, &e), gpu->name, &e);
    setenv("WATTLAW_CUDA_PATH", fakes, 1);
    setenv("WATTLAW_FAKE_GPU", gpu->simulated, 1);
    return d;
}

static struct wl_graph *network(const struct wl_image_model *m, struct wl_arena *a)
{
    const struct wl_image_model_opts opts = {
        .size = "full", .batch = BATCH, .image_size = m->image_size, .classes = 1000
    };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_image_model_io io;
    struct wl_err e = { 0 };
    check(m->build(g, &opts, &io, &e), m->name, &e);
    return g;
}

/* As wl_plan_new makes a dry plan, but with that cuDNN. */
static struct wl_plan *dry_plan(const struct wl_image_model *m, struct wl_gpu_dnn *dnn, struct wl_arena *a)
{
    struct wl_plan *p = wl_new(a, struct wl_plan);
    struct wl_err e = { 0 };
    *p = (struct wl_plan) { .arena = a, .optim = { .kind = "sgd", .momentum = 0.9 }, .ops = wl_backend_gpu.device };
    p->program = (struct wl_program) { .arena = a,
                                       .graph = network(m, a),
                                       .backend = &wl_backend_gpu,
                                       .align = p->ops->align,
                                       .precision = WL_BF16,
                                       .conv = WL_CONV_DIRECT,
                                       .train = true };
    check(wl_optim_init(&p->optim, &p->optim_ops, &e), m->name, &e);
    check(wl_backend_gpu.open(&p->program, 1, &e), m->name, &e);
    wl_gpu_of(&p->program)->dnn = dnn;
    check(wl_lower(&p->program, &e), m->name, &e); /* fails where a convolution has no engine */
    wl_plan_assign_memory(p, p->ops->bucket_bytes);
    return p;
}

static size_t convolutions(const struct wl_program *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_steps; i++)
        n += p->steps[i]->implementation && wl_str_starts(p->steps[i]->implementation, "cuDNN ");
    return n;
}

/* The largest workspace of a convolution. */
static int64_t workspace(const struct wl_gpu_dnn *d)
{
    int64_t most = 0;
    for (const struct wl_gpu_conv_plan *c = d->planned; c; c = c->next)
        if (c->plan.workspace_bytes > most) most = c->plan.workspace_bytes;
    return most;
}

static void plan_network(const struct wl_image_model *m, const struct gpu *gpu)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_gpu_dnn *d = described(gpu, a);
    const struct wl_plan *p = dry_plan(m, d, a);
    const struct wl_plan_info *f = &p->info;
    print_message("%s on %s, batch %d, bf16: %.2f GB: parameters %.2f, gradients %.2f, optimizer %.2f, input %.2f, "
                  "values %.2f; %zu passes by cuDNN %s, workspace at most %.1f MB\n",
                  m->name, gpu->name, BATCH, (double)f->total_bytes / 1e9, (double)f->param_bytes / 1e9,
                  (double)f->gradient_bytes / 1e9, (double)f->optim_bytes / 1e9, (double)f->input_bytes / 1e9,
                  (double)f->value_bytes / 1e9, convolutions(&p->program), wl_gpu_dnn_version_text(d, a),
                  (double)workspace(d) / 1e6);
    assert_true(convolutions(&p->program) > 35);
    assert_true(f->total_bytes > 8000000000 && f->total_bytes < 20000000000);
    assert_true(workspace(d) <= 64 << 20);
    wl_arena_free(a);
}

static void plan_networks(void **state)
{
    plan_network(&wl_resnet50, *state);
    plan_network(&wl_vgg16, *state);
    plan_network(&wl_inception3, *state);
}

int main(int argc, char **argv)
{
    struct wl_err e = { 0 };
    WL_CHECK(argc == 4);
    fixtures = argv[2];
    fakes = argv[3];
    real = getenv("WATTLAW_CUDA_PATH");
    if (real) real = strdup(real);
    if (!cudnn_is_installed(argv[1], &e)) {
        printf("SKIP: %s\n", e.msg);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        { "h100", plan_networks, NULL, NULL, (void *)&h100 },
        { "a100", plan_networks, NULL, NULL, (void *)&a100 },
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
