/* The plan of one training step, with the convolution kernels that autotuning chose. */
#ifndef WL_TRAIN_PLAN_H
#define WL_TRAIN_PLAN_H

#include "nn/nn.h"
#include "train/options.h"

/* The back-end that the options name; NULL: the best that was built. */
const char *wl_train_backend(const struct wl_train_opts *o);

/* Can this machine compute as the options say? All ranks get the same answer, so they ask before they plan together. */
int wl_train_check_backend(const struct wl_train_opts *o, struct wl_err *e) WL_MUST_CHECK;

struct wl_train_plan_opts {
    const struct wl_train_opts *train;
    struct wl_comm *comm;       /* the ranks that train together; NULL: one process */
    bool dry;                   /* plan without memory */
    size_t *room;               /* (optional) as in struct wl_plan_opts */
    const char *autotune_cache; /* file of earlier measurements; NULL: neither read nor written */
    /* (optional) Called on rank 0 after each convolution that was measured. */
    void (*tuning)(void *data, size_t done, size_t total);
    void *data;
};

/* Plans the graph for this rank with the kernel choices of earlier runs; new choices go to the cache. Collective. */
int wl_train_plan(struct wl_plan **plan, const struct wl_graph *g, const struct wl_train_plan_opts *o,
                  struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Writes the plan's choices to the head of a checkpoint; warns where a resumed plan's choices differ from them. */
void wl_train_autotune_describe(const struct wl_plan *plan, struct wl_json *head, struct wl_arena *a);
void wl_train_autotune_compare(const struct wl_plan *plan, const struct wl_json *head, struct wl_arena *a);

#endif
