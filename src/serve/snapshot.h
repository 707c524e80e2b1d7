/* The stores that are served, and the rows of each as they were at one moment: read when a request finds that the store
 * has changed, shared by all requests, sorted once per order. */
#ifndef WL_SERVE_SNAPSHOT_H
#define WL_SERVE_SNAPSHOT_H

#include "store/read.h"

#include <pthread.h>

struct wl_served; /* one store */

/* What a store contains. It does not change, and lives until the last user has released it. */
struct wl_snapshot {
    uint64_t state;    /* of the store's files when it was read */
    const char *error; /* why the store cannot be read: everything else is empty; NULL: it can */
    struct wl_campaign_rows campaigns;
    struct wl_run_rows runs;
    const char **settings;  /* [runs.n] as text */
    const char **haystacks; /* [runs.n] what a search looks through, in lower case */
    struct wl_strs workloads;
    struct wl_arena *a;
    int users;
    pthread_mutex_t lock; /* of `orders` */
    struct wl_snapshot_order {
        size_t key;    /* of runs.c */
        size_t *order; /* [runs.n] indices into runs, ascending; those without a value last */
        size_t known;  /* so many have a value */
        struct wl_snapshot_order *next;
    } * orders;
};

/* `number` from 1. The path need not exist yet, or any more. */
struct wl_served *wl_served_new(const char *path, size_t number, struct wl_arena *a);
const char *wl_served_path(const struct wl_served *s);
const char *wl_served_name(const struct wl_served *s); /* of its folder, for people */
size_t wl_served_number(const struct wl_served *s);

/* The rows now; release them. Where reading takes long, those of a moment ago: at most a twentieth of the time is spent
 * on it. */
struct wl_snapshot *wl_served_get(struct wl_served *s);
void wl_snapshot_release(struct wl_snapshot *snapshot);

/* A number that changes with the files: of the store, and of the readings of its running runs. Without opening
 * anything. */
uint64_t wl_served_state(struct wl_served *s);

const struct wl_run_row *wl_snapshot_run(const struct wl_snapshot *snapshot, int64_t run); /* NULL: none */
size_t wl_snapshot_index(const struct wl_snapshot *snapshot, const struct wl_run_row *run);
const char *wl_snapshot_campaign(const struct wl_snapshot *snapshot, int64_t campaign); /* its name; NULL */

#endif
