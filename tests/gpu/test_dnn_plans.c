/* The real cuDNN, where it is installed, makes plans for described GPUs: argv[1] is a libcuda for it, argv[2] the
 * folder of descriptions. Every pass of the networks' convolutions has a deterministic one. argv[3] "all": of every
 * shape, in each precision; else a sample. Exit status 77: there is no cuDNN. */
#include "models/models.h"
#include "nn/gpu/dnn/dnn.h"
#include "nn/graph/graph.h"
#include "real_cudnn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 256, SAMPLE = 12 };
static const int64_t MiB = 1 << 20;

static const char *fixtures;
static bool all_shapes;
static struct wl_arena *arena;

static struct wl_gpu_dnn *described(const char *gpu)
{
    struct wl_gpu_dnn *d = NULL;
    struct wl_err e = { 0 };
    if (describe_gpu(&d, fixtures, gpu, arena, &e)) fail_msg("%s", e.msg);
    return d;
}

/* ---- the passes of the networks ---- */

struct passes {
    struct wl_gpu_conv v[512];
    size_t n;
};

static bool same(const struct wl_gpu_conv *a, const struct wl_gpu_conv *b)
{
    return a->pass == b->pass && a->bias == b->bias && a->relu == b->relu && a->sums == b->sums &&
           !memcmp(&a->window, &b->window, sizeof a->window);
}

static void add(struct passes *to, const struct wl_gpu_conv *c)
{
    for (size_t i = 0; i < to->n; i++)
        if (same(&to->v[i], c)) return;
    assert_true(to->n < sizeof to->v / sizeof *to->v);
    to->v[to->n++] = *c;
}

static void add_node(struct passes *to, const struct wl_graph *g, const struct wl_node *n, enum wl_dtype type)
{
    const struct wl_node *reader = wl_only_reader(g, n->out);
    struct wl_gpu_conv c = { .window = wl_conv_window(n), .type = type, .dw = type };
    if (type != WL_F32) c.window.c = (c.window.c + 7) / 8 * 8;
    add(to, &c);
    c.pass = WL_GPU_CONV_WEIGHTS;
    add(to, &c);
    c.pass = WL_GPU_CONV_DATA;
    if (n->in[0]->gradient) add(to, &c);
    c.pass = WL_GPU_CONV_FORWARD;
    c.bias = n->par[1] != NULL;
    c.relu = reader && reader->op == WL_OP_RELU;
    if (c.bias || c.relu) add(to, &c);
}

/* The passes that also sum for a batch norm. */
static void add_sums(struct passes *to, const struct wl_graph *g, const struct wl_node *n, enum wl_dtype type)
{
    const struct wl_node *reader = wl_only_reader(g, n->out);
    struct wl_gpu_conv c = { .window = wl_conv_window(n), .type = type, .dw = type, .sums = true };
    c.window.c = (c.window.c + 7) / 8 * 8;
    if (reader && reader->op == WL_OP_BATCH_NORM) add(to, &c);
}

typedef void add_node_fn(struct passes *to, const struct wl_graph *g, const struct wl_node *n, enum wl_dtype type);

static void add_network(struct passes *to, const struct wl_image_model *m, enum wl_dtype type, add_node_fn *add_passes)
{
    const struct wl_image_model_opts opts = {
        .size = "full", .batch = BATCH, .image_size = m->image_size, .classes = 1000
    };
    struct wl_graph *g = wl_graph_new(arena);
    struct wl_image_model_io io;
    struct wl_err e = { 0 };
    if (m->build(g, &opts, &io, &e)) fail_msg("%s: %s", m->name, e.msg);
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op == WL_OP_CONV) add_passes(to, g, g->nodes[i], type);
}

static void networks(struct passes *to, enum wl_dtype type)
{
    to->n = 0;
    add_network(to, &wl_resnet50, type, add_node);
    add_network(to, &wl_vgg16, type, add_node);
    add_network(to, &wl_inception3, type, add_node);
}

/* The projections with gelu of BERT, base and large, of 8 samples of 512 tokens. */
static void add_gelu(struct passes *to, int64_t features)
{
    enum { TOKENS = 8 * 512, TIMES = 4 };
    to->v[to->n++] = (struct wl_gpu_conv) { .type = WL_BF16,
                                            .dw = WL_BF16,
                                            .bias = true,
                                            .gelu = true,
                                            .window = { .n = 1,
                                                        .c = features,
                                                        .h = TOKENS,
                                                        .w = 1,
                                                        .k = TIMES * features,
                                                        .p = TOKENS,
                                                        .q = 1,
                                                        .r = 1,
                                                        .s = 1,
                                                        .stride = { 1, 1 } } };
}

static void fusions(struct passes *to)
{
    to->n = 0;
    add_network(to, &wl_resnet50, WL_BF16, add_sums);
    add_network(to, &wl_inception3, WL_BF16, add_sums);
    add_gelu(to, 768);
    add_gelu(to, 1024);
}

/* ---- planning ---- */

static const char *text_of(const struct wl_gpu_conv *c)
{
    const struct wl_window *v = &c->window;
    return wl_strf(arena, "%s%s%s%s%s x [%d,%d,%d,%d] w [%d,%d,%d,%d]", wl_gpu_conv_pass_name(c->pass),
                   c->bias ? ", bias" : "", c->relu ? ", relu" : "", c->gelu ? ", gelu" : "", c->sums ? ", sums" : "",
                   (int)v->n, (int)v->c, (int)v->h, (int)v->w, (int)v->k, (int)v->c, (int)v->r, (int)v->s);
}

static size_t plans_of(const struct wl_gpu_dnn *d, const struct wl_gpu_conv *c, int64_t workspace,
                       struct wl_gpu_dnn_plan *p, struct wl_arena *a)
{
    const struct wl_gpu_dnn_limits limits = { .workspace_bytes = workspace };
    struct wl_err e = { 0 };
    size_t n;
    if (wl_gpu_dnn_plans(d, c, &limits, 1, p, &n, a, &e)) fail_msg("%s: %s", text_of(c), e.msg);
    return n;
}

struct tally {
    size_t planned, fallback, f32_weights;
    int64_t workspace;
};

static void plan_pass(const struct wl_gpu_dnn *d, const struct wl_gpu_conv *c, int64_t limit, struct tally *t)
{
    struct wl_arena *once = wl_arena_new(NULL);
    struct wl_gpu_dnn_plan p;
    if (!plans_of(d, c, limit, &p, once)) fail_msg("%s: no deterministic plan", text_of(c));
    t->planned++;
    t->fallback += p.fallback;
    if (p.workspace_bytes > t->workspace) t->workspace = p.workspace_bytes;
    struct wl_gpu_conv wide = *c;
    wide.dw = WL_F32;
    if (c->pass == WL_GPU_CONV_WEIGHTS && c->type != WL_F32 && all_shapes)
        t->f32_weights += plans_of(d, &wide, limit, &p, once);
    wl_arena_free(once);
}

static void plan_networks(const char *gpu, enum wl_dtype type, int64_t limit)
{
    static struct passes passes;
    const struct wl_gpu_dnn *d = described(gpu);
    struct tally t = { 0 };
    networks(&passes, type);
    assert_true(passes.n > 200);
    const size_t step = all_shapes ? 1 : passes.n / SAMPLE;
    for (size_t i = 0; i < passes.n; i += step) plan_pass(d, &passes.v[i], limit, &t);
    print_message(
        "%s %s: %zu passes of %zu shapes, %zu by fallback, at most %.1f MiB of workspace; f32 gradients of %zu "
        "weights\n",
        gpu, wl_dtype_name(type), t.planned, passes.n, t.fallback, (double)t.workspace / (double)MiB, t.f32_weights);
}

/* Engines for these are compiled, for a second or more each. */
static void plan_fusions(const char *gpu)
{
    static struct passes passes;
    const struct wl_gpu_dnn *d = described(gpu);
    struct tally t = { 0 };
    fusions(&passes);
    assert_true(passes.n > 60);
    for (size_t i = all_shapes ? 0 : passes.n - 1; i < passes.n; i++) plan_pass(d, &passes.v[i], 64 * MiB, &t);
    print_message("%s: %zu fused steps of %zu shapes, %zu by fallback, at most %.1f MiB of workspace\n", gpu, t.planned,
                  passes.n, t.fallback, (double)t.workspace / (double)MiB);
}

static void test_fusions_h100(void **state)
{
    (void)state;
    plan_fusions("h100");
}

static void test_fusions_a100(void **state)
{
    (void)state;
    plan_fusions("a100");
}

static void test_bf16_h100(void **state)
{
    (void)state;
    plan_networks("h100", WL_BF16, 64 * MiB);
}

static void test_bf16_a100(void **state)
{
    (void)state;
    plan_networks("a100", WL_BF16, 64 * MiB);
}

static void test_f32_h100(void **state)
{
    (void)state;
    plan_networks("h100", WL_F32, 512 * MiB);
}

/* ---- what a plan can be made of ---- */

static const struct wl_gpu_conv three = { .type = WL_BF16,
                                          .dw = WL_BF16,
                                          .window = { .n = BATCH,
                                                      .c = 64,
                                                      .h = 56,
                                                      .w = 56,
                                                      .k = 64,
                                                      .p = 56,
                                                      .q = 56,
                                                      .r = 3,
                                                      .s = 3,
                                                      .stride = { 1, 1 },
                                                      .pad = { 1, 1 } } };

/* A plan is made again from its engine's name. */
static void test_named(void **state)
{
    (void)state;
    const struct wl_gpu_dnn *d = described("h100");
    struct wl_gpu_dnn_plan p, again;
    struct wl_err e = { 0 };
    assert_int_equal(plans_of(d, &three, 64 * MiB, &p, arena), 1);
    if (wl_gpu_dnn_plan_of(d, &three, p.engine, &again, arena, &e)) fail_msg("%s: %s", p.engine, e.msg);
    assert_int_equal(again.workspace_bytes, p.workspace_bytes);
    assert_int_equal(wl_gpu_dnn_plan_of(d, &three, "eng", &again, arena, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "'eng'"));
    assert_int_equal(wl_gpu_dnn_plan_of(d, &three, "eng99999", &again, arena, &e), WL_ELIB);
}

/* The sums that a batch norm needs, by an engine that is compiled; the plan is kept as JSON. */
static void test_sums_kept(void **state)
{
    (void)state;
    const struct wl_gpu_dnn *d = described("h100");
    struct wl_gpu_conv c = three;
    struct wl_gpu_dnn_plan p, again;
    struct wl_err e = { 0 };
    char *json;
    c.sums = true;
    assert_int_equal(plans_of(d, &c, 64 * MiB, &p, arena), 1);
    if (wl_gpu_dnn_plan_json(&p, &json, arena, &e)) fail_msg("%s", e.msg);
    assert_true(strlen(json) > 1000);
    if (wl_gpu_dnn_plan_restore(d, json, p.engine, &again, arena, &e)) fail_msg("%s", e.msg);
    assert_int_equal(again.workspace_bytes, p.workspace_bytes);
    assert_int_equal(wl_gpu_dnn_plan_restore(d, "{}", p.engine, &again, arena, &e), WL_ELIB);
}

/* In TF32 another engine serves than in f32, whose products are exact. */
static void test_tf32(void **state)
{
    (void)state;
    struct wl_gpu_conv c = three;
    struct wl_gpu_dnn_plan f32, tf32;
    c.type = c.dw = WL_F32;
    assert_int_equal(plans_of(described("h100"), &c, 512 * MiB, &f32, arena), 1);
    c.tf32 = true;
    assert_int_equal(plans_of(described("h100"), &c, 512 * MiB, &tf32, arena), 1);
    assert_string_not_equal(f32.engine, tf32.engine);
}

/* What a GPU does not have is not planned for: a V100 has no bf16. */
static void test_v100(void **state)
{
    (void)state;
    const struct wl_gpu_dnn_limits limits = { .workspace_bytes = 64 * MiB };
    struct wl_gpu_dnn_plan p;
    struct wl_err e = { 0 };
    size_t n = 0;
    int rc = wl_gpu_dnn_plans(described("v100"), &three, &limits, 1, &p, &n, arena, &e);
    assert_int_equal(rc, 0);
    assert_int_equal(n, 0);
}

static int set_up(void **state)
{
    (void)state;
    arena = wl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wl_arena_free(arena);
    return 0;
}

int main(int argc, char **argv)
{
    struct wl_err e = { 0 };
    WL_CHECK(argc > 2);
    fixtures = argv[2];
    all_shapes = argc > 3 && wl_str_eq(argv[3], "all");
    if (!cudnn_is_installed(argv[1], &e)) {
        printf("SKIP: %s\n", e.msg);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sums_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tf32, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_v100, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fusions_h100, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fusions_a100, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bf16_h100, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bf16_a100, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_f32_h100, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
