/* Data loader: forms the mini-batches of one rank, prefetching them with worker threads.
 *
 * Partition. The order of a training epoch is a permutation keyed by (seed, epoch), the same for any number of ranks;
 * evaluation goes in order. With G = ranks * B, step s (from 0) of rank r takes the positions s*G + r*B ... + B-1: so W
 * ranks with one step and one rank with W steps see the same shards. Without drop_last the remaining R < G samples are
 * the last step, where rank r takes the positions R*r/W ... R*(r+1)/W - 1 of the remainder: every rank has the same
 * number of steps, and the last may have n = 0. Over all ranks every sample is then given exactly once. */
#ifndef WL_DATA_LOADER_LOADER_H
#define WL_DATA_LOADER_LOADER_H

#include "data/dataset.h"

struct wl_loader_opts {
    int64_t batch;       /* B, local batch */
    int64_t rank, ranks; /* this rank, and how many there are */
    int64_t threads;     /* that prefetch; 0: wl_loader_next makes the batch itself */
    int64_t ring;        /* batches in flight; 0: 3 */
    uint64_t seed;
    bool training;  /* shuffled, with random choices; false: in order, without them */
    bool drop_last; /* drop the last, incomplete global batch */
    bool skip_bad;  /* with `write_sample`: count and skip samples that cannot be read, instead of failing */
};

/* Starts the threads; they end with the arena, and the data set must live as long. WL_EINVAL: fewer samples than one
 * global batch with drop_last. */
struct wl_loader;
int wl_loader_open(struct wl_loader **f, const struct wl_dataset *set, const struct wl_loader_opts *opts,
                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_loader_batches(const struct wl_loader *f); /* per epoch */

/* Starts an epoch (any number >= 0; it keys the order) at a batch of this rank, 0 for the complete epoch: prefetching
 * begins. The rest of an earlier epoch is dropped. */
int wl_loader_start_epoch(struct wl_loader *f, int64_t epoch, int64_t first_batch, struct wl_err *e) WL_MUST_CHECK;

/* The next batch of this rank: 1 with *n samples followed by padding in the inputs, which n = 0 leaves unchanged; 0 at
 * the end of the epoch; or the negative code of the first bad sample. *n is B except in the last step without
 * drop_last, and where an evaluation skips bad samples. In training the next good sample in index order replaces a bad
 * one, so that batches stay full. */
int wl_loader_next(struct wl_loader *f, void *const *inputs, int64_t *n, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_loader_input_wait_ns(const struct wl_loader *f); /* time that wl_loader_next waited, since opening */
int64_t wl_loader_bad_samples(struct wl_loader *f);         /* samples skipped by skip_bad, each counted once */

#endif
