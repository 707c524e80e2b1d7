/* The networks against what torchvision says about them. */
#include "models/models.h"
#include "nn/graph/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct built {
    struct wl_arena *a;
    struct wl_plan *plan;
    struct wl_image_model_io net;
};

static struct built build(const char *model, struct wl_image_model_opts opts)
{
    struct built b = { .a = wl_arena_new(NULL) };
    struct wl_err e = { 0 };
    struct wl_graph *g = wl_graph_new(b.a);
    assert_int_equal(wl_image_model_find(model)->build(g, &opts, &b.net, &e), 0);
    struct wl_plan_opts plan_opts = { .backend = "ref", .threads = 1, .seed = 7, .eval_only = true };
    if (wl_plan_new(&b.plan, g, &plan_opts, NULL, b.a, &e)) fail_msg("%s", e.msg);
    return b;
}

/* The values of a state by name; NULL and count 0 where there is none. */
static float *values(const struct built *b, const char *name, struct wl_state *s)
{
    struct wl_err e = { 0 };
    for (size_t i = 0; i < wl_plan_state_count(b->plan); i++) {
        *s = wl_plan_state(b->plan, i);
        if (!wl_str_eq(s->name, name)) continue;
        float *x = wl_new_array(b->a, float, s->count);
        assert_int_equal(wl_plan_state_read(b->plan, i, x, &e), 0);
        return x;
    }
    return NULL;
}

static void check_shape(const struct built *b, const char *name, struct wl_dims want)
{
    struct wl_state s;
    if (!values(b, name, &s)) fail_msg("no %s", name);
    if (!wl_dims_equal(&s.dims, &want)) fail_msg("%s is %s", name, wl_dims_text(b->a, &s.dims));
}

/* Mean, deviation and largest magnitude. */
static void moments(const float *x, size_t n, double *mean, double *deviation, double *largest)
{
    double sum = 0, squares = 0;
    *largest = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        squares += (double)x[i] * x[i];
        if (fabs(x[i]) > *largest) *largest = fabs(x[i]);
    }
    *mean = sum / (double)n;
    *deviation = sqrt(squares / (double)n - *mean * *mean);
}

/* torchvision: kaiming_normal_(fan_out) = N(0, 2/(K*R*S)) for convolutions. */
static void check_conv_init(const struct built *b, const char *name)
{
    struct wl_state s;
    const float *w = values(b, name, &s);
    double mean, deviation, largest, want = sqrt(2.0 / (double)(s.dims.d[0] * s.dims.d[2] * s.dims.d[3]));
    moments(w, s.count, &mean, &deviation, &largest);
    double spread = want / sqrt((double)s.count); /* of the mean of so many */
    if (fabs(mean) > 5 * spread || fabs(deviation / want - 1) > 5 / sqrt(2.0 * (double)s.count))
        fail_msg("%s: mean %g, deviation %g, want %g", name, mean, deviation, want);
}

static void check_constant(const struct built *b, const char *name, float want)
{
    struct wl_state s;
    const float *x = values(b, name, &s);
    for (size_t i = 0; i < s.count; i++)
        if (x[i] != want) fail_msg("%s[%zu] is %g, want %g", name, i, x[i], want);
}

static void test_resnet50_equals_torchvision(void **state)
{
    (void)state;
    struct built b = build("resnet50", (struct wl_image_model_opts) { "full", 1, 224, 1000 });
    assert_int_equal(wl_plan_info(b.plan).parameters, 25557032);
    assert_true(fabs(wl_plan_info(b.plan).forward_flops / 2 - 4.089e9) < 0.005e9); /* multiply-adds of v1.5 */

    check_shape(&b, "conv1.weight", WL_DIMS(64, 3, 7, 7));
    check_shape(&b, "bn1.running_var", WL_DIMS(64));
    check_shape(&b, "layer1.0.downsample.0.weight", WL_DIMS(256, 64, 1, 1));
    check_shape(&b, "layer1.2.conv3.weight", WL_DIMS(256, 64, 1, 1));
    check_shape(&b, "layer2.0.conv2.weight", WL_DIMS(128, 128, 3, 3));
    check_shape(&b, "layer3.5.bn3.bias", WL_DIMS(1024));
    check_shape(&b, "layer4.0.downsample.1.running_mean", WL_DIMS(2048));
    check_shape(&b, "layer4.2.conv1.weight", WL_DIMS(512, 2048, 1, 1));
    check_shape(&b, "fc.weight", WL_DIMS(1000, 2048));
    check_shape(&b, "fc.bias", WL_DIMS(1000));

    check_conv_init(&b, "conv1.weight");
    check_conv_init(&b, "layer2.0.conv2.weight");
    check_conv_init(&b, "layer4.2.conv3.weight");
    check_constant(&b, "layer3.1.bn2.weight", 1);
    check_constant(&b, "layer3.1.bn2.bias", 0);
    check_constant(&b, "layer3.1.bn2.running_mean", 0);
    check_constant(&b, "layer3.1.bn2.running_var", 1);

    /* nn.Linear: U(+-1/sqrt(2048)) */
    struct wl_state s;
    const float *fc = values(&b, "fc.weight", &s);
    double mean, deviation, largest, bound = 1 / sqrt(2048);
    moments(fc, s.count, &mean, &deviation, &largest);
    assert_true(largest <= bound && largest > 0.999 * bound);
    assert_true(fabs(deviation * sqrt(3) / bound - 1) < 0.01);
    wl_arena_free(b.a);
}

/* Parameters, in state_dict's order: convolution, its norm, block by block, the projection last. */
static void test_resnet50_has_the_order_of_state_dict(void **state)
{
    (void)state;
    static const char *const first[] = { "conv1.weight",          "bn1.weight",          "bn1.bias",
                                         "layer1.0.conv1.weight", "layer1.0.bn1.weight", "layer1.0.bn1.bias" };
    struct built b = build("resnet50", (struct wl_image_model_opts) { "tiny", 2, 32, 10 });
    size_t parameters = 0;
    for (size_t i = 0; i < wl_plan_state_count(b.plan); i++) {
        struct wl_state s = wl_plan_state(b.plan, i);
        if (s.kind != WL_STATE_PARAM) continue;
        if (parameters < WL_COUNT(first)) assert_string_equal(s.name, first[parameters]);
        parameters++;
    }
    assert_int_equal(parameters, 3 * (1 + 4 * 4) + 2); /* tiny: 17 convolutions with their norms, fc */
    wl_arena_free(b.a);
}

/* ---- larger networks: the graph alone, without the memory of a plan ---- */

struct drawn {
    struct wl_arena *a;
    struct wl_graph *g;
    int64_t parameters;
};

static struct drawn draw(const char *model, struct wl_image_model_opts opts)
{
    struct drawn d = { .a = wl_arena_new(NULL) };
    struct wl_err e = { 0 };
    struct wl_image_model_io net;
    d.g = wl_graph_new(d.a);
    if (wl_image_model_find(model)->build(d.g, &opts, &net, &e)) fail_msg("%s", e.msg);
    for (size_t i = 0; i < d.g->n_tensors; i++)
        if (d.g->tensors[i]->role == WL_ROLE_PARAM) d.parameters += wl_dims_count(&d.g->tensors[i]->dims);
    return d;
}

/* A parameter: its shape and how it starts. */
static void check_param(const struct drawn *d, const char *name, struct wl_dims want, enum wl_init_rule rule,
                        double scale)
{
    for (size_t i = 0; i < d->g->n_tensors; i++) {
        const struct wl_tensor *t = d->g->tensors[i];
        if (t->role != WL_ROLE_PARAM || !wl_str_eq(t->name, name)) continue;
        if (!wl_dims_equal(&t->dims, &want)) fail_msg("%s is %s", name, wl_dims_text(d->a, &t->dims));
        if (t->init.rule != rule || fabs(t->init.scale - scale) > 1e-12)
            fail_msg("%s starts by rule %d, %g", name, (int)t->init.rule, t->init.scale);
        return;
    }
    fail_msg("no %s", name);
}

static void test_vgg16_equals_torchvision(void **state)
{
    (void)state;
    struct drawn d = draw("vgg16", (struct wl_image_model_opts) { "full", 1, 224, 1000 });
    assert_int_equal(d.parameters, 138357544);
    const double he = sqrt(2.0 / (512 * 9)); /* kaiming_normal_(fan_out) */
    check_param(&d, "features.0.weight", WL_DIMS(64, 3, 3, 3), WL_INIT_NORMAL, sqrt(2.0 / (64 * 9)));
    check_param(&d, "features.0.bias", WL_DIMS(64), WL_INIT_CONSTANT, 0);
    check_param(&d, "features.17.weight", WL_DIMS(512, 256, 3, 3), WL_INIT_NORMAL, he);
    check_param(&d, "features.28.weight", WL_DIMS(512, 512, 3, 3), WL_INIT_NORMAL, he);
    check_param(&d, "classifier.0.weight", WL_DIMS(4096, 25088), WL_INIT_NORMAL, 0.01);
    check_param(&d, "classifier.3.weight", WL_DIMS(4096, 4096), WL_INIT_NORMAL, 0.01);
    check_param(&d, "classifier.6.weight", WL_DIMS(1000, 4096), WL_INIT_NORMAL, 0.01);
    check_param(&d, "classifier.6.bias", WL_DIMS(1000), WL_INIT_CONSTANT, 0);
    wl_arena_free(d.a);

    /* Twice the pixels: the adaptive mean takes windows of 2 x 2, and the parameters stay. */
    d = draw("vgg16", (struct wl_image_model_opts) { "full", 1, 448, 1000 });
    assert_int_equal(d.parameters, 138357544);
    wl_arena_free(d.a);
}

static void test_inception3_equals_torchvision(void **state)
{
    (void)state;
    struct drawn d = draw("inception3", (struct wl_image_model_opts) { "full", 1, 299, 1000 });
    assert_int_equal(d.parameters, 27161264);
    check_param(&d, "Conv2d_1a_3x3.conv.weight", WL_DIMS(32, 3, 3, 3), WL_INIT_NORMAL, 0.1);
    check_param(&d, "Conv2d_4a_3x3.bn.bias", WL_DIMS(192), WL_INIT_CONSTANT, 0);
    check_param(&d, "Mixed_5b.branch5x5_2.conv.weight", WL_DIMS(64, 48, 5, 5), WL_INIT_NORMAL, 0.1);
    check_param(&d, "Mixed_5d.branch_pool.conv.weight", WL_DIMS(64, 288, 1, 1), WL_INIT_NORMAL, 0.1);
    check_param(&d, "Mixed_6a.branch3x3.conv.weight", WL_DIMS(384, 288, 3, 3), WL_INIT_NORMAL, 0.1);
    check_param(&d, "Mixed_6c.branch7x7dbl_4.conv.weight", WL_DIMS(160, 160, 7, 1), WL_INIT_NORMAL, 0.1);
    check_param(&d, "Mixed_6e.branch7x7_2.conv.weight", WL_DIMS(192, 192, 1, 7), WL_INIT_NORMAL, 0.1);
    check_param(&d, "AuxLogits.conv1.conv.weight", WL_DIMS(768, 128, 5, 5), WL_INIT_NORMAL, 0.1);
    check_param(&d, "AuxLogits.fc.weight", WL_DIMS(1000, 768), WL_INIT_NORMAL, 0.001);
    check_param(&d, "Mixed_7a.branch7x7x3_4.conv.weight", WL_DIMS(192, 192, 3, 3), WL_INIT_NORMAL, 0.1);
    check_param(&d, "Mixed_7c.branch3x3dbl_3b.conv.weight", WL_DIMS(384, 384, 3, 1), WL_INIT_NORMAL, 0.1);
    check_param(&d, "Mixed_7c.branch1x1.bn.weight", WL_DIMS(320), WL_INIT_CONSTANT, 1);
    check_param(&d, "fc.weight", WL_DIMS(1000, 2048), WL_INIT_NORMAL, 0.1);
    check_param(&d, "fc.bias", WL_DIMS(1000), WL_INIT_UNIFORM, 1 / sqrt(2048));
    wl_arena_free(d.a);
}

/* ---- what trainings drop ---- */

/* A line for each operation that drops out: its name and with what probability. */
static const char *drops_of(const struct wl_graph *g, struct wl_arena *a)
{
    struct wl_text text = WL_TEXT(a);
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct wl_node *n = g->nodes[i];
        const double drop = n->op == WL_OP_DROPOUT      ? n->u.drop
                            : n->op == WL_OP_ATTENTION  ? n->u.attention.drop
                            : n->op == WL_OP_LAYER_NORM ? n->u.layer_norm.drop
                                                        : 0;
        if (drop > 0) wl_text_addf(&text, "%s %g\n", n->name, drop);
    }
    return text.n ? text.s : "";
}

/* As torchvision has them; ResNet has none. */
static void test_dropout_of_image_models(void **state)
{
    static const struct {
        const char *model, *drops;
    } want[] = { { "resnet50", "" },
                 { "vgg16", "classifier.2 0.5\nclassifier.5 0.5\n" },
                 { "inception3", "dropout 0.5\n" } };
    (void)state;
    for (size_t i = 0; i < WL_COUNT(want); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_graph *g = wl_graph_new(a);
        struct wl_image_model_io net;
        struct wl_err e = { 0 };
        struct wl_image_model_opts o = { "tiny", 2, 96, 10 };
        assert_int_equal(wl_image_model_find(want[i].model)->build(g, &o, &net, &e), 0);
        assert_string_equal(drops_of(g, a), want[i].drops);
        wl_arena_free(a);
    }
}

/* BertConfig: hidden_dropout_prob and attention_probs_dropout_prob are .1. Every sublayer drops what it adds, so do the
 * probabilities of attention and the embeddings; the head drops nothing. */
static void test_dropout_of_bert(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(a);
    struct wl_bert_io net;
    struct wl_err e = { 0 };
    struct wl_bert_opts o = { .size = "tiny", .batch = 1, .sequence = 8, .vocabulary = 30, .drop = NAN };
    (void)state;
    assert_int_equal(wl_bert_build(g, &o, &net, &e), 0);
    assert_string_equal(drops_of(g, a), "bert.embeddings.dropout 0.1\n"
                                        "bert.encoder.layer.0.attention.self.attention 0.1\n"
                                        "bert.encoder.layer.0.attention.output.LayerNorm 0.1\n"
                                        "bert.encoder.layer.0.output.LayerNorm 0.1\n"
                                        "bert.encoder.layer.1.attention.self.attention 0.1\n"
                                        "bert.encoder.layer.1.attention.output.LayerNorm 0.1\n"
                                        "bert.encoder.layer.1.output.LayerNorm 0.1\n");
    wl_arena_free(a);
}

/* torchvision's epsilons: 1e-3 in Inception, PyTorch's usual 1e-5 in ResNet. */
static void test_epsilons_of_norms(void **state)
{
    static const struct {
        const char *model;
        double eps;
    } want[] = { { "resnet50", 1e-5 }, { "inception3", 1e-3 } };
    (void)state;
    for (size_t i = 0; i < WL_COUNT(want); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_graph *g = wl_graph_new(a);
        struct wl_image_model_io net;
        struct wl_err e = { 0 };
        struct wl_image_model_opts o = { "tiny", 2, 96, 10 };
        size_t norms = 0;
        assert_int_equal(wl_image_model_find(want[i].model)->build(g, &o, &net, &e), 0);
        for (size_t k = 0; k < g->n_nodes; k++) {
            if (g->nodes[k]->op != WL_OP_BATCH_NORM) continue;
            norms++;
            assert_true(g->nodes[k]->u.norm.eps == want[i].eps);
        }
        assert_true(norms > 10);
        wl_arena_free(a);
    }
}

static void test_images_of_wrong_size_are_refused(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_image_model_io net;
    struct wl_image_model_opts opts = { "tiny", 2, 16, 10 };
    assert_int_equal(wl_image_model_find("resnet50")->build(wl_graph_new(a), &opts, &net, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "16 pixels"));
    opts = (struct wl_image_model_opts) { "full", 2, 256, 10 }; /* a map of 8 x 8: windows of 7 x 7 do not tile it */
    assert_int_equal(wl_image_model_find("vgg16")->build(wl_graph_new(a), &opts, &net, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "256 pixels"));
    assert_non_null(strstr(e.msg, "224 pixels"));
    for (int size = 0; size < 2; size++) { /* the smallest image that is said to fit fits, one pixel less does not */
        opts = (struct wl_image_model_opts) { size ? "full" : "tiny", 2, size ? 299 : 91, 10 };
        assert_int_equal(wl_image_model_find("inception3")->build(wl_graph_new(a), &opts, &net, &e), 0);
        opts.image_size--;
        assert_int_equal(wl_image_model_find("inception3")->build(wl_graph_new(a), &opts, &net, &e), WL_EINVAL);
        assert_non_null(strstr(e.msg, "auxiliary head"));
    }
    wl_arena_free(a);
}

static void test_image_models_are_found_by_name(void **state)
{
    (void)state;
    for (const struct wl_image_model *const *m = wl_image_models; *m; m++) {
        assert_true((*m)->name && (*m)->build && (*m)->image_size > 0 && (*m)->tiny_image_size > 0);
        assert_ptr_equal(wl_image_model_find((*m)->name), *m);
    }
    assert_null(wl_image_model_find("resnet51"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnet50_equals_torchvision),
        cmocka_unit_test(test_resnet50_has_the_order_of_state_dict),
        cmocka_unit_test(test_vgg16_equals_torchvision),
        cmocka_unit_test(test_inception3_equals_torchvision),
        cmocka_unit_test(test_dropout_of_image_models),
        cmocka_unit_test(test_dropout_of_bert),
        cmocka_unit_test(test_epsilons_of_norms),
        cmocka_unit_test(test_images_of_wrong_size_are_refused),
        cmocka_unit_test(test_image_models_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
