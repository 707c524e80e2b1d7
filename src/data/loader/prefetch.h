/* The inside of a loader. The epoch is a list of items, which the threads take in order: a sample with `write_sample`,
 * a batch with `write_batch`. Each is written to its position in a ring of batches; the consumer waits for the oldest
 * one. One mutex guards everything but the buffers: an item is written by the thread that took it, and read after its
 * batch is complete. */
#ifndef WL_DATA_LOADER_PREFETCH_H
#define WL_DATA_LOADER_PREFETCH_H

#include "data/loader/loader.h"
#include "data/loader/partition.h"

#include <pthread.h>

/* A batch in the ring. */
struct wl_loader_slot {
    void *buffer[WL_DATASET_MAX_BUFFERS];
    int64_t *index;      /* [B] requested samples */
    bool *good;          /* [B] false: skipped */
    int64_t pending;     /* items not finished yet */
    int64_t first_bad;   /* position of the first failed item, B: none */
    struct wl_err error; /* of it */
};

struct wl_loader_thread {
    struct wl_loader *feed;
    void *data; /* of the data set */
    pthread_t id;
};

struct wl_loader {
    struct wl_loader_opts o;
    const struct wl_dataset *set;
    struct wl_epoch_key key;
    struct wl_partition partition;
    uint32_t *order; /* [samples] of this epoch */
    int64_t steps;   /* batches of this epoch */

    pthread_mutex_t lock;
    pthread_cond_t not_full, ready; /* there is an item to take; an item was finished */
    struct wl_loader_slot *ring;
    int64_t step, item; /* the next item to take */
    int64_t consumed;   /* batches that the consumer has taken */
    int64_t in_flight;  /* items being made */
    bool stop;
    bool *bad_seen; /* [samples] with skip_bad: logged and counted already */
    int64_t bad, waited_ns;

    struct wl_loader_thread *threads;
    int64_t started;
};

struct wl_loader_slot *wl_loader_slot_at(struct wl_loader *f, int64_t step);

/* The threads run this until f->stop. */
void *wl_loader_prefetch(void *thread);

/* Waits until batch f->consumed is complete, or makes it if there are no threads. The lock is held. */
void wl_loader_wait_batch(struct wl_loader *f);

#endif
