/* Feeds: the batches of a data set for one rank, made ahead of time by threads.
 *
 * A data set (struct wl_dataset) is a const table of functions and the number of its samples. It writes samples into
 * buffers, which are the inputs of the model's graph in the order in which the model declares them; order, shares,
 * threads, waiting and bad samples are the feed's.
 *
 * Order and shares. The order of a training epoch is a permutation keyed by (seed, epoch), the same for any number of
 * ranks; evaluation goes in order. With G = ranks * B, call s (from 0) of rank r takes the places s*G + r*B ... + B-1:
 * so W ranks with one call and one rank with W calls see the same shards. Without drop_last the rest of R < G samples
 * is the last call, where rank r takes the places R*r/W ... R*(r+1)/W - 1 of the rest: every rank makes the same number
 * of calls, and the last may give n = 0. Every sample is then given exactly once over all ranks.
 */
#ifndef WL_DATA_LOADER_LOADER_H
#define WL_DATA_LOADER_LOADER_H

#include "base/base.h"

/* ---- data sets ---- */

/* What random choices of a sample are keyed by, with its index: so they do not depend on ranks, batches or threads. */
struct wl_epoch_key {
    uint64_t seed;
    int64_t epoch;
    bool training; /* false: evaluation, without random choices */
};

struct wl_dataset;

/* A set has `put` and `pad`, or `fill`. Calls come from several threads at once, each with a `thread` of its own; they
 * allocate nothing once their buffers have met the largest sample. Errors name the file and what is wrong with it. */
struct wl_dataset_ops {
    const char *noun; /* what a sample is: "image" */
    const char
        *bad_sample_hint; /* (optional) behind the message of a bad sample without skip_bad: "--skip-bad goes on ..." */

    /* (optional) The state of one thread: decoders, scratch memory. It dies with the arena. */
    int (*open_thread)(const struct wl_dataset *s, void **thread, struct wl_arena *a, struct wl_err *e);

    /* Sample by sample, for samples of one size: `put` writes sample `index`, where at[k] is its place in buffer k.
     * `take` brings a sample from the ring to its place in the inputs, in the consumer's call (optional: without it the
     * bytes are copied); `pad` marks a place of the inputs that has no sample, so that it counts nowhere. */
    int (*put)(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *pass, int64_t index,
               void *const *at, struct wl_err *e);
    void (*take)(const struct wl_dataset *s, void *const *from, void *const *to);
    void (*pad)(const struct wl_dataset *s, void *const *at);

    /* Batch by batch, for batches that are more than samples side by side: writes the samples index[0..n) of a batch,
     * 1 <= n <= B, and marks what is beyond them as padding. */
    int (*fill)(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *pass, const int64_t *index,
                int64_t n, void *const *buffer, struct wl_err *e);
};

enum { WL_DATASET_MAX_BUFFERS = 12 };

struct wl_dataset {
    const struct wl_dataset_ops *ops;
    const char *name; /* for messages: "images/train" */
    int64_t samples;
    int buffers; /* inputs that it fills */
    /* Bytes of each: of a sample with `put`, of a whole batch with `fill`; in the ring as many, unless slot_bytes says
     * otherwise (for `take`). */
    size_t bytes[WL_DATASET_MAX_BUFFERS], slot_bytes[WL_DATASET_MAX_BUFFERS];
    void *own; /* of the ops */
};

/* Bytes of buffer k of a batch: what an input of the graph has to have. */
size_t wl_dataset_batch_bytes(const struct wl_dataset *s, int k, int64_t batch);

/* ---- feeds ---- */

struct wl_loader_opts {
    int64_t batch;       /* B, local batch */
    int64_t rank, ranks; /* this worker of how many */
    int64_t threads;     /* that work ahead; 0: wl_loader_next makes the batch itself */
    int64_t ring;        /* batches in flight; 0: 3 */
    uint64_t seed;
    bool training;  /* shuffled, with random choices; false: in order, without them */
    bool drop_last; /* leave out what does not fill a batch on every rank */
    bool skip_bad;  /* sets with `put`: a sample that cannot be read is counted and left out instead of an error */
};

/* Starts the threads; they end with the arena, and the set must live as long. WL_EINVAL: fewer samples than one global
 * batch with drop_last. */
struct wl_loader;
int wl_loader_open(struct wl_loader **f, const struct wl_dataset *set, const struct wl_loader_opts *opts,
                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_loader_batches(const struct wl_loader *f); /* calls of wl_loader_next that give a batch, per epoch */

/* Starts an epoch (any number >= 0; it keys the order) at a batch of this rank, 0 for the whole: prefetching begins.
 * What is left of an epoch before is dropped. */
int wl_loader_start_epoch(struct wl_loader *f, int64_t epoch, int64_t first_batch, struct wl_err *e) WL_MUST_CHECK;

/* The next batch of this rank: 1 with *n samples and padding behind them in the inputs, which n = 0 leaves alone, 0 at
 * the end of the epoch, or the negative code of the first bad sample. *n is B but for the last call without drop_last,
 * and where an evaluation leaves bad samples out. In training the next good sample in index order takes the place of a
 * bad one, so that batches stay full. */
int wl_loader_next(struct wl_loader *f, void *const *inputs, int64_t *n, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_loader_input_wait_ns(const struct wl_loader *f); /* time that wl_loader_next was not fed, since opening */
int64_t wl_loader_bad_samples(struct wl_loader *f);         /* samples found bad with skip_bad, each counted once */

#endif
