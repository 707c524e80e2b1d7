/* Checkpoints: a training's whole state in one file, from which it goes on as if it had not stopped.
 *
 * Files are called checkpoint-UPDATE.wlc. One is written beside its name, synced and renamed, and carries a checksum
 * of all its bytes: it is there whole or not at all. Layout: docs/formats.md.
 */
#ifndef WL_NN_CHECKPOINT_CHECKPOINT_H
#define WL_NN_CHECKPOINT_CHECKPOINT_H

#include "nn/plan/plan.h"

/* Writes DIR/checkpoint-UPDATE.wlc (the folder is made) with every state of the plan, then removes all but the `keep`
 * newest of the folder and what an interrupted writer left. `head` is an object with what the caller wants to find
 * again; the members "format", "wattlaw" and "tensors" are added to it. One rank writes for all. */
int wl_checkpoint_save(const char *dir, int64_t update, int64_t keep, struct wl_json *head, struct wl_plan *plan,
                       struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A file that was read and checked. */
struct wl_checkpoint {
    const char *path;
    struct wl_json *head;
    int64_t data; /* where the tensors begin, bytes */
};

/* Finds the newest valid checkpoint of a folder: *found false where there is none (the folder need not exist). Files
 * that are damaged are skipped with a warning. */
int wl_checkpoint_newest(const char *dir, struct wl_checkpoint *c, bool *found, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Are there files of that name in the folder, whole or damaged? It need not exist. */
int wl_checkpoint_any(const char *dir, bool *any, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Opens one file: WL_EIO or WL_EINVAL name it and what is wrong with it. */
int wl_checkpoint_open(const char *path, struct wl_checkpoint *c, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Gives the plan of every rank the state of the file, which rank 0 reads (c is looked at there only). Collective.
 * WL_EINVAL names the first tensor that differs, with both shapes, or that only one side has. */
int wl_checkpoint_restore(const struct wl_checkpoint *c, struct wl_plan *plan, struct wl_comm *comm, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* WL_EINVAL where the head says another text or whole number than this: "FILE was made with size full, this is tiny".
 * A head without the number means `default_value`, where that is not negative. */
int wl_checkpoint_check_text(const struct wl_checkpoint *c, const char *key, const char *now,
                             struct wl_err *e) WL_MUST_CHECK;
int wl_checkpoint_check_int(const struct wl_checkpoint *c, const char *key, int64_t now, int64_t default_value,
                            struct wl_err *e) WL_MUST_CHECK;

/* For a training that starts anew from what another has learnt: gives the plan the file's parameters and running
 * statistics, and leaves its optimizer as it is. Each rank reads for itself. WL_EINVAL names the first tensor that
 * differs, with both shapes, or that only one side has. */
int wl_checkpoint_load_weights(const struct wl_checkpoint *c, struct wl_plan *plan, struct wl_arena *a,
                               struct wl_err *e) WL_MUST_CHECK;

#endif
