#include "workloads.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 3, CLASSES = 5, MOLECULES = 3, SEQUENCE = 24, VOCABULARY = 90 };

static void fill_normal(struct wl_plan *p, const struct wl_tensor *t, uint64_t shard)
{
    float *x = wl_plan_input(p, t);
    const uint64_t stream = wl_hash_fnv1a(wl_tensor_name(t));
    for (uint64_t i = 0; i < wl_plan_input_bytes(p, t) / sizeof *x; i++)
        x[i] = (float)wl_random_normal(shard, stream, i);
}

static void fill_below(struct wl_plan *p, const struct wl_tensor *t, uint64_t shard, uint64_t limit)
{
    int32_t *x = wl_plan_input(p, t);
    const uint64_t stream = wl_hash_fnv1a(wl_tensor_name(t));
    for (uint64_t i = 0; i < wl_plan_input_bytes(p, t) / sizeof *x; i++)
        x[i] = (int32_t)wl_random_below(shard, stream, i, limit);
}

/* Near a normal distribution when normalised. */
static void fill_bytes(struct wl_plan *p, const struct wl_tensor *t, uint64_t shard)
{
    uint8_t *x = wl_plan_input(p, t);
    const uint64_t stream = wl_hash_fnv1a(wl_tensor_name(t));
    for (uint64_t i = 0; i < wl_plan_input_bytes(p, t); i++)
        x[i] = (uint8_t)fmax(0, fmin(255, 116 + 58 * wl_random_normal(shard, stream, i)));
}

static int build_images(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_image_model_opts o = { "tiny", BATCH, b->workload->pixels, CLASSES, b->workload->bytes };
    return wl_image_model_find(b->workload->name)->build(g, &o, &b->net.images, e);
}

static void fill_images(const struct built *b, struct wl_plan *p, uint64_t shard)
{
    if (b->workload->bytes)
        fill_bytes(p, b->net.images.images, shard);
    else
        fill_normal(p, b->net.images.images, shard);
    fill_below(p, b->net.images.labels, shard, CLASSES);
}

static int build_tokens(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_bert_opts o = {
        .size = "tiny", .batch = BATCH, .sequence = SEQUENCE, .vocabulary = VOCABULARY, .drop = NAN
    };
    return wl_bert_build(g, &o, &b->net.tokens, e);
}

static void fill_tokens(const struct built *b, struct wl_plan *p, uint64_t shard)
{
    const struct wl_bert_io *net = &b->net.tokens;
    fill_below(p, net->tokens, shard, VOCABULARY);
    fill_below(p, net->lengths, shard, SEQUENCE + 1);
    fill_below(p, net->positions, shard, SEQUENCE);
    fill_below(p, net->labels, shard, VOCABULARY);
}

/* Every shard fits into the room of all. */
static int build_molecules(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_molecule *m = rule_molecules(b->workload->seed, MOLECULES, b->a);
    const struct wl_molecule_model_opts o = { "tiny", capacity_for(b->workload->molecules, "tiny", m, MOLECULES, 2) };
    return b->workload->molecules->build(g, &o, &b->net.molecules, e);
}

static void fill_molecule_batch(const struct built *b, struct wl_plan *p, uint64_t shard)
{
    const struct wl_molecule *m = rule_molecules(b->workload->seed, MOLECULES, b->a);
    const size_t n = MOLECULES - shard % 2;
    fill_molecule_inputs(p, &b->net.molecules, b->workload->molecules->cutoff("tiny"), m, n, shard);
}

static int build_fields(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_fourcastnet_opts o = {
        .size = "tiny", .batch = 2, .channels = 3, .height = 32, .width = 64, .steps = b->workload->steps
    };
    return wl_fourcastnet_build(g, &o, &b->net.fields, e);
}

static void fill_fields(const struct built *b, struct wl_plan *p, uint64_t shard)
{
    fill_normal(p, b->net.fields.fields, shard);
    for (int i = 0; i < b->workload->steps; i++) fill_normal(p, b->net.fields.target[i], shard);
}

/* The molecules of seed 126 have 10, 8 and 6 atoms: the time of DimeNet grows with the cube of their number. */
const struct workload workloads[WORKLOADS] = {
    { "resnet50", build_images, fill_images, .pixels = 32, .bytes = true },
    { "vgg16", build_images, fill_images, .pixels = 32, .bytes = true },
    { "inception3", build_images, fill_images, .pixels = 96 },
    { "bert", build_tokens, fill_tokens, .pixels = 0 },
    { "schnet", build_molecules, fill_molecule_batch, .molecules = &wl_schnet, .seed = 1 },
    { "dimenet", build_molecules, fill_molecule_batch, .molecules = &wl_dimenet, .seed = 126 },
    { "fourcastnet", build_fields, fill_fields, .steps = 1 },
    { "fourcastnet of two steps", build_fields, fill_fields, .steps = 2 },
};

bool select_cases(const struct CMUnitTest *cases, size_t n, const char *prefix)
{
    static char filter[64];
    for (size_t i = 0; i < n; i++)
        if (!strncmp(cases[i].name, prefix, strlen(prefix))) {
            snprintf(filter, sizeof filter, "%s*", prefix);
            cmocka_set_test_filter(filter);
            return true;
        }
    fprintf(stderr, "no case is called %s...\n", prefix);
    return false;
}

bool make_temp_dir(char dir[TEMP_DIR_SIZE], const char *stem)
{
    const char *parent = getenv("TMPDIR");
    snprintf(dir, TEMP_DIR_SIZE, "%s/wl-%s-XXXXXX", parent ? parent : "/tmp", stem);
    if (mkdtemp(dir)) return true;
    perror(dir);
    return false;
}
