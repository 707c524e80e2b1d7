/* Data sets: sources of training samples that can be read by index.
 *
 * A data set is a const table of functions and the number of its samples. It writes samples into buffers, which are the
 * inputs of the model's graph in the order in which the model declares them. Order, distribution over ranks, threads
 * and bad samples are the loader's business. */
#ifndef WL_DATA_DATASET_H
#define WL_DATA_DATASET_H

#include "base/base.h"

/* Keys all random choices of a sample, together with its index: they do not depend on ranks, batches or threads. */
struct wl_epoch_key {
    uint64_t seed;
    int64_t epoch;
    bool training; /* false: evaluation, without random choices */
};

struct wl_dataset;

/* A data set has `write_sample` and `pad`, or `write_batch`. Calls come from several threads at once, each with its own
 * `thread`; they allocate nothing once their buffers have grown to the largest sample. Errors name the file and what is
 * wrong with it. */
struct wl_dataset_ops {
    const char *noun;            /* of a sample: "image" */
    const char *bad_sample_hint; /* (optional) follows the message of a bad sample without skip_bad */

    /* (optional) The state of one thread: decoders, scratch memory. It dies with the arena. */
    int (*open_thread)(const struct wl_dataset *s, void **thread, struct wl_arena *a, struct wl_err *e);

    /* For samples of equal size. `write_sample` writes sample `index`, to buffers[k] of each buffer k. `pad`
     * marks an entry of the inputs as padding, which counts nowhere. */
    int (*write_sample)(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *key, int64_t index,
                        void *const *buffers, struct wl_err *e);
    void (*pad)(const struct wl_dataset *s, void *const *buffers);

    /* For batches that are more than samples side by side: writes the samples index[0..n) of a batch, 1 <= n <= B, and
     * marks the rest as padding. */
    int (*write_batch)(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *key, const int64_t *index,
                       int64_t n, void *const *buffers, struct wl_err *e);
};

enum { WL_DATASET_MAX_BUFFERS = 12 };

struct wl_dataset {
    const struct wl_dataset_ops *ops;
    const char *name; /* for messages: "images/train" */
    int64_t samples;
    int buffers; /* number of inputs */
    /* Bytes of each buffer: for a sample with `write_sample`, for a whole batch with `write_batch`. */
    size_t bytes[WL_DATASET_MAX_BUFFERS];
    void *data; /* of the ops */
};

/* Bytes of buffer k of a batch, the size of the graph's input. */
size_t wl_dataset_batch_bytes(const struct wl_dataset *s, int k, int64_t batch);

#endif
