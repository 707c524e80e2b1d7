/* The networks of bench/train_step.c at full size, with random images, tokens or fields as inputs. */
#ifndef WL_BENCH_TRAIN_NETWORKS_H
#define WL_BENCH_TRAIN_NETWORKS_H

#include "models/models.h"

struct train_network;

/* The training data of a kind of network, by the prefix of its name; a number after it is its size. */
struct train_network_kind {
    const char *prefix;
    int (*build)(struct train_network *net, struct wl_graph *g, struct wl_err *e);
    void (*fill)(const struct train_network *net, struct wl_plan *plan, uint64_t stream);
    struct wl_optim optim;
    double lr;
};

struct train_network {
    const struct train_network_kind *kind;
    const struct wl_image_model *model; /* of images */
    int64_t size;                       /* of BERT: its sequences; of FourCastNet: the grid's height; 0: images */
    int64_t batch;
    struct wl_image_model_io images;
    struct wl_bert_io tokens;
    struct wl_fourcastnet_io fields;
};

/* "resnet50", "bert128" (sequences of 128 tokens), "fourcastnet360" (20 channels of 360 x 720 points). */
int train_network_find(struct train_network *net, const char *name, struct wl_err *e) WL_MUST_CHECK;

#endif
