/* `wattlaw-train data imagenet`: synthetic images in the layout of ImageNet. */
#include "cmd/train/commands.h"
#include "data/data.h"

#include <stddef.h>

struct options {
    const char *synthetic;
    const char *format;
    int64_t classes, images, val_images, image_size, shards, seed, threads;
    bool json, quiet;
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct wl_opt rows[] = {
    { "synthetic", WL_STR, AT(synthetic), .unit = "FOLDER", .required = true,
      .help = "folder to write; created if missing" },
    { "classes", WL_INT, AT(classes), "10", 2, 1000, .help = "number of classes" },
    { "images", WL_INT, AT(images), "1000", 2, 1e8, .help = "number of training images, all classes together" },
    { "val-images", WL_INT, AT(val_images), NULL, 1, 1e8,
      .help = "number of validation images; default: one fifth of the training images" },
    { "image-size", WL_INT, AT(image_size), "64", 8, 4096, "pixels", .help = "width and height of the images" },
    { "format", WL_CHOICE, AT(format), "folder", .choices = "folder|tfrecord",
      .help = "layout: class folders of JPEGs, or the same images in TFRecord shards" },
    { "shards", WL_INT, AT(shards), NULL, 1, 99999,
      .help = "number of TFRecord shards of the training set, default 8; the validation set gets one eighth as many" },
    { "seed", WL_INT, AT(seed), "1", 0, 9e15, .help = "random seed of the images" },
    { "threads", WL_INT, AT(threads), NULL, 1, 1024, .help = "number of threads; default: one per core" },
    { "json", WL_FLAG, AT(json), .help = "print a summary as JSON" },
    { "quiet", WL_FLAG, AT(quiet), .help = "print no progress on stderr" },
    WL_OPT_END,
};

static int write_images(const struct options *o, int64_t *written, struct wl_arena *a, struct wl_err *e)
{
    struct wl_imagenet_synth_opts s = {
        .dir = o->synthetic,
        .classes = o->classes,
        .images = o->images,
        .val_images = o->val_images,
        .size = o->image_size,
        .seed = o->seed,
        .threads = o->threads,
        .tfrecord = wl_str_eq(o->format, "tfrecord"),
        .shards = o->shards,
    };
    return wl_imagenet_synth(&s, !o->quiet, written, a, e);
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    int64_t written;
    if (rest->args.n) return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'", rest->args.v[0]);
    int rc = write_images(o, &written, a, e);
    if (rc) return rc;
    if (o->json) {
        struct wl_json *j = wl_json_root_object(a);
        wl_json_add_str(j, "data", "imagenet");
        wl_json_add_str(j, "dir", o->synthetic);
        wl_json_add_str(j, "format", o->format);
        wl_json_add_int(j, "written", written);
        wl_json_print(j);
    } else if (written) {
        wl_print("%lld images written to %s\n", (long long)written, o->synthetic);
    } else {
        wl_print("%s is already complete\n", o->synthetic);
    }
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_data_imagenet = {
    .name = "imagenet",
    .usage = "--synthetic FOLDER [options]",
    .help = "writes synthetic images of shapes, as class folders of JPEGs or as TFRecord shards",
    .more = "FOLDER gets train/CLASS/NAME.JPEG and val/CLASS/NAME.JPEG, or train-00000-of-00008 ... and "
            "validation-..., as\n"
            "TensorFlow's script for ImageNet writes them. A folder that is complete with the same settings stays\n"
            "unchanged.\n\n"
            "example\n"
            "  wattlaw-train data imagenet --synthetic images --classes 8 --images 640\n"
            "  wattlaw-train resnet50 --size tiny --data images --epochs 4",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};
