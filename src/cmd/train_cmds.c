/* A row for each model, and the data generators. */
#include "cmd/train_cmds.h"

#include "cmd/train.h"

#define MORE                                                                                                      \
    "Alone this is one worker; --workers N starts N on this machine, mpirun -np N or srun start them anywhere.\n" \
    "Each update takes workers x local batch x accumulation samples; what does not fill one at the end of an\n"   \
    "epoch is left out. The order of samples depends on the seed and the epoch alone, not on the workers.\n\n"    \
    "SIGINT and SIGTERM end the training after the update in progress, with a checkpoint where a folder for\n"    \
    "them was named.\n\n"                                                                                         \
    "example\n"                                                                                                   \
    "  wattlaw-train data imagenet --synthetic images --classes 8 --images 640\n"                                 \
    "  wattlaw-train resnet50 --size tiny --data images --epochs 4\n"                                             \
    "  mpirun -np 2 wattlaw-train resnet50 --size tiny --data images --epochs 4 --local-batch 16"

/* Help and errors are the first rank's to print. */
static bool other_speaks(void) { return wl_comm_launch_rank() > 0; }

/* The command of a model: wl_cmd.run does not say which command it is, so each has a function of its own. */
#define MODEL(id, text)                                                                                  \
    static int run_##id(void *options, const struct wl_rest *rest, struct wl_arena *a, struct wl_err *e) \
    {                                                                                                    \
        return wl_train_model(wl_model_find(#id), options, rest, a, e);                                  \
    }                                                                                                    \
    static const struct wl_cmd cmd_##id = {                                                              \
        .name = #id,                                                                                     \
        .usage = "--data DIR [options]",                                                                 \
        .help = text,                                                                                    \
        .more = MORE,                                                                                    \
        .options = wl_train_rows,                                                                        \
        .options_size = sizeof(struct wl_train_opts),                                                    \
        .run = run_##id,                                                                                 \
        .silent = other_speaks,                                                                          \
    }

MODEL(resnet50, "trains ResNet50 v1.5 on images in the layout of ImageNet");

MODEL(vgg16, "trains VGG16 on images in the layout of ImageNet");
MODEL(inception3, "trains Inception v3 on images in the layout of ImageNet");

const struct wl_cmd *const wl_train_commands[] = { &cmd_resnet50, &cmd_vgg16, &cmd_inception3, &wl_cmd_train_data,
                                                   NULL };
