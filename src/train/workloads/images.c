/* Image classification on data in ImageNet's layout: ResNet50, VGG16, Inception v3. */
#include "models/models.h"
#include "train/workload.h"

#include <stddef.h>

enum { CLASSES = 1000 }; /* of ImageNet, for --explain without --classes */

struct options {
    struct wl_train_opts train;
    const char *data;
    int64_t image_size, classes, train_samples, val_samples;
    bool augment, skip_bad, check_crc;
};

/* The state of this training. */
struct images {
    const struct wl_image_model *model;
    int64_t classes;
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Frey et al. 2022, arXiv:2201.12423, section 2: ten epochs of SGD in mixed precision with a rate of 1e-5 and 256
 * samples per GPU for any number of GPUs. Momentum and weight decay are not given there: the network's own apply.
 *
 * Huber et al. 2025, arXiv:2508.07706: ResNet50 with a rate of 0.1 x global batch/256 reached by a linear warm-up of
 * five epochs (Goyal et al. 2017, arXiv:1706.02677), halved when the validation loss has not improved for five epochs,
 * 100 epochs, and accuracy on both sets after each of them. As in every training here, the last incomplete global batch
 * is dropped. */
static const struct wl_opt_preset recipes[] = {
    { "frey2022", "epochs=10 local-batch=256 lr=1e-5 lr-scale=no lr-schedule=constant warmup-epochs=0 "
                  "precision=bf16" },
    { "huber2025", "epochs=100 lr=0.1 lr-scale=yes warmup-epochs=5 lr-schedule=plateau lr-factor=0.5 lr-patience=5 "
                   "precision=f32 momentum=0.9 weight-decay=1e-4 nesterov=no validate=yes eval-train=yes" },
    { NULL, NULL },
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct wl_opt rows[] = {
    { "data", WL_STR, AT(data), .unit = "FOLDER",
      .help = "folder with train/CLASS/*.JPEG and val/CLASS/*.JPEG, or with TFRecord shards; required for training" },
    { "recipe", WL_CHOICE, AT(train.recipe), .choices = "frey2022|huber2025", .presets = recipes,
      .help = "published recipe, which sets the defaults of other options; default: none" },
    { "image-size", WL_INT, AT(image_size), NULL, 1, 4096, "pixels",
      .help = "width and height of the images; default: the model's" },
    { "classes", WL_INT, AT(classes), NULL, 2, 1e6,
      .help = "number of output classes, at least that of the data; default: that of the data (for shards, of "
              "labels.txt)" },
    { "train-samples", WL_INT, AT(train_samples), NULL, 1, 1e12,
      .help = "number of training images to use, evenly spaced; default: all" },
    { "val-samples", WL_INT, AT(val_samples), NULL, 1, 1e12,
      .help = "number of validation images to use, evenly spaced; default: all" },
    { "augment", WL_FLAG, AT(augment), "yes", .help = "augment training images by random crops and flips" },
    { "skip-bad", WL_FLAG, AT(skip_bad),
      .help = "skip and count images that cannot be read, instead of failing (default no)" },
    { "check-crc", WL_FLAG, AT(check_crc), "yes", .help = "verify the checksums of TFRecord data" },
    WL_OPT_END,
};

static const struct options *options_of(const struct wl_train_task *j) { return (const struct options *)j->opts; }

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

static const struct wl_train_metric metrics[] = {
    { "loss", "nat", false, "loss", NULL, 0, wl_train_metric_mean, WL_SUM_LOSS, .label = "loss" },
    { "top1", "1", true, "top-1", "%", 100, wl_train_metric_mean, WL_SUM_TOP1, .label = "top-1 accuracy",
      .primary = true },
    { "top5", "1", true, "top-5", "%", 100, wl_train_metric_mean, WL_SUM_TOP5, .label = "top-5 accuracy" },
};

static int configure(struct wl_train_task *j, struct wl_err *e)
{
    struct options *o = (struct options *)j->opts;
    struct images *state = wl_new(j->arena, struct images);
    (void)e;
    state->model = wl_image_model_find(j->workload->name);
    if (!o->image_size)
        o->image_size = wl_str_eq(o->train.size, "tiny") ? state->model->tiny_image_size : state->model->image_size;
    j->state = state;
    j->sample_text = wl_strf(j->arena, "images of %lld pixels", (long long)o->image_size);
    j->data = o->data;
    j->metrics = metrics;
    j->n_metrics = WL_COUNT(metrics);
    wl_train_task_attr(j, "image_size", o->image_size);
    return 0;
}

/* ---- data and graph ---------------------------------------------------------------------------------------------- */

static int open_part(struct wl_train_task *j, bool train, struct wl_images **l, struct wl_err *e)
{
    const struct options *o = options_of(j);
    const struct images *state = j->state;
    struct wl_images_opts how = {
        .dir = o->data,
        .train = train,
        .image_size = o->image_size,
        .classes = train ? o->classes : state->classes,
        .samples = train ? o->train_samples : o->val_samples,
        .skip_crc = !o->check_crc,
        .augment = o->augment,
        .silent = j->quiet_rank,
    };
    return wl_images_open(l, &how, j->arena, e);
}

static int open_data(struct wl_train_task *j, struct wl_err *e)
{
    struct images *state = j->state;
    struct wl_images *train = NULL, *val = NULL;
    j->skip_bad = options_of(j)->skip_bad;
    int rc = open_part(j, true, &train, e);
    if (rc) return rc;
    state->classes = wl_images_classes(train);
    if (j->opts->validate) rc = open_part(j, false, &val, e);
    if (rc) return rc;
    j->train = wl_images_dataset(train);
    j->val = val ? wl_images_dataset(val) : NULL;
    j->data_text = wl_strf(j->arena, "%lld classes, %lld training images in %s", (long long)state->classes,
                           (long long)j->train->samples, wl_images_format(train));
    wl_train_task_attr(j, "classes", state->classes);
    wl_train_task_attr_text(j, "data_format", wl_images_format(train));
    return 0;
}

static void assume_data(struct wl_train_task *j)
{
    struct images *state = j->state;
    state->classes = options_of(j)->classes ? options_of(j)->classes : CLASSES;
}

static int build(struct wl_train_task *j, struct wl_graph *g, struct wl_err *e)
{
    const struct images *state = j->state;
    struct wl_image_model_io net;
    struct wl_image_model_opts m = { .size = j->opts->size,
                                     .batch = j->opts->local_batch,
                                     .image_size = options_of(j)->image_size,
                                     .classes = state->classes,
                                     .bytes = true };
    int rc = state->model->build(g, &m, &net, e);
    if (rc) return rc;
    j->inputs[0] = net.images;
    j->inputs[1] = net.labels;
    return 0;
}

/* ---- the networks ------------------------------------------------------------------------------------------------ */

/* lr_256: of a global batch of 256. */
#define SGD(batch, lr_256, decay)                                                                                \
    {                                                                                                            \
        .local_batch = (batch), .lr = (lr_256), .lr_scale = true, .optimizer = "sgd", .lr_schedule = "constant", \
        .momentum = 0.9, .weight_decay = (decay)                                                                 \
    }

#define NETWORK(id, words, full_lr, tiny_lr, decay)                                            \
    const struct wl_workload wl_workload_##id = {                                              \
        .name = #id,                                                                           \
        .help = "trains " words " on images in ImageNet's layout",                             \
        .noun = "image",                                                                       \
        .rows = rows,                                                                          \
        .options_size = sizeof(struct options),                                                \
        .example = "wattlaw-train data imagenet --synthetic images --classes 8 --images 640\n" \
                   "wattlaw-train " #id " --size tiny --data images --epochs 4",               \
        .full = SGD(256, full_lr, decay),                                                      \
        .tiny = SGD(32, tiny_lr, decay),                                                       \
        .configure = configure,                                                                \
        .open = open_data,                                                                     \
        .assume_data = assume_data,                                                            \
        .build = build,                                                                        \
    }

NETWORK(resnet50, "ResNet50 v1.5", 0.1, 0.16, 1e-4);
NETWORK(vgg16, "VGG16", 0.01, 0.24, 5e-4);
NETWORK(inception3, "Inception v3", 0.1, 0.16, 1e-4);
