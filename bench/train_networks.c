#include "train_networks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 1000 };

static int build_images(struct train_network *net, struct wl_graph *g, struct wl_err *e)
{
    struct wl_image_model_opts size = {
        .size = "full", .batch = net->batch, .image_size = net->model->image_size, .classes = CLASSES
    };
    return net->model->build(g, &size, &net->images, e);
}

static void fill_images(const struct train_network *net, struct wl_plan *plan, uint64_t stream)
{
    const struct wl_image_model_io *io = &net->images;
    float *images = wl_plan_input(plan, io->images);
    int32_t *labels = wl_plan_input(plan, io->labels);
    const uint64_t pixels = (uint64_t)wl_dims_count(wl_tensor_dims(io->images));
    for (uint64_t i = 0; i < pixels; i++) images[i] = (float)wl_random_normal(1, stream, i);
    for (uint64_t i = 0; i < (uint64_t)net->batch; i++) labels[i] = (int32_t)wl_random_below(2, stream, i, CLASSES);
}

static int build_tokens(struct train_network *net, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_bert_opts how = { .size = "full", .batch = net->batch, .sequence = net->size, .drop = NAN };
    return wl_bert_build(g, &how, &net->tokens, e);
}

/* Full sequences, with evenly spaced positions to predict. */
static void fill_tokens(const struct train_network *net, struct wl_plan *plan, uint64_t stream)
{
    const struct wl_bert_io *io = &net->tokens;
    const int64_t vocabulary = wl_tensor_dims(io->logits)->d[1], places = wl_tensor_dims(io->positions)->d[1];
    int32_t *tokens = wl_plan_input(plan, io->tokens), *lengths = wl_plan_input(plan, io->lengths);
    int32_t *positions = wl_plan_input(plan, io->positions), *labels = wl_plan_input(plan, io->labels);
    for (int64_t i = 0; i < net->batch; i++) lengths[i] = (int32_t)net->size;
    for (int64_t i = 0; i < net->batch * net->size; i++)
        tokens[i] = (int32_t)wl_random_below(1, stream, (uint64_t)i, (uint64_t)vocabulary);
    for (int64_t i = 0; i < net->batch * places; i++) {
        positions[i] = (int32_t)(i % places * net->size / places);
        labels[i] = (int32_t)wl_random_below(2, stream, (uint64_t)i, (uint64_t)vocabulary);
    }
}

static int build_fields(struct train_network *net, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_fourcastnet_opts how = {
        .size = "full", .batch = net->batch, .channels = 20, .height = net->size, .width = 2 * net->size
    };
    return wl_fourcastnet_build(g, &how, &net->fields, e);
}

static void fill_fields(const struct train_network *net, struct wl_plan *plan, uint64_t stream)
{
    float *fields = wl_plan_input(plan, net->fields.fields), *target = wl_plan_input(plan, net->fields.target[0]);
    const uint64_t n = (uint64_t)wl_dims_count(wl_tensor_dims(net->fields.fields));
    for (uint64_t i = 0; i < n; i++) {
        fields[i] = (float)wl_random_normal(1, stream, i);
        target[i] = (float)wl_random_normal(2, stream, i);
    }
}

static const struct train_network_kind kinds[] = {
    { "bert", build_tokens, fill_tokens, { .kind = "adamw" }, 5e-5 },
    { "fourcastnet", build_fields, fill_fields, { .kind = "adamw" }, 5e-4 },
    { "", build_images, fill_images, { .momentum = 0.9, .weight_decay = 1e-4 }, 1e-3 },
};

int train_network_find(struct train_network *net, const char *name, struct wl_err *e)
{
    net->kind = kinds;
    while (!wl_str_starts(name, net->kind->prefix)) net->kind++;
    net->size = atoll(name + strlen(net->kind->prefix));
    net->model = wl_image_model_find(name);
    return net->model || net->size > 0 ? 0 : wl_fail(e, WL_EUSAGE, "no model %s", name);
}
