/* The store of a job's run becomes a shard in the campaign's folder, whose name holds its checksum. docs/adr/158 */
#include "campaign/batch.h"

/* A run whose wattlaw died becomes interrupted when its store is opened, with the readings of its spool. */
int wl_batch_shard_seal(const char *store, const struct wl_placement_row *placed, struct wl_run_row *out,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *s;
    struct wl_run_rows runs;
    int rc = wl_store_open(&s, store, WL_STORE_WRITE, a, e);
    if (rc == 0) rc = wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, a, e);
    if (rc == 0 && (runs.n == 0 || runs.v[runs.n - 1].status < WL_RUN_DONE))
        rc = wl_fail(e, WL_ENOENT, "%s: the run has not begun", store);
    if (rc < 0) return rc;
    *out = runs.v[runs.n - 1];
    if (placed && wl_store_add_placement(s, out->id, placed, e) < 0) wl_log(WL_WARN, "campaign", "%s", e->msg);
    rc = wl_store_seal(s, e);
    wl_store_close(s);
    return rc;
}

static int write_whole(const struct wl_file_mapping *from, const char *path, struct wl_err *e)
{
    struct wl_atomic_file file;
    int rc = wl_atomic_file_open(&file, path, WL_ATOMIC_FILE_INTERNAL_MANY, e);
    if (rc == 0) rc = wl_atomic_file_write(&file, from->p, from->n, e);
    if (rc == 0) rc = wl_atomic_file_commit(&file, e);
    if (rc < 0) wl_atomic_file_discard(&file);
    return rc;
}

int wl_batch_shard_copy_to(const char *store, const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct wl_file_mapping from;
    int rc = wl_file_map(store, "", &from, a, e);
    return rc ? rc : write_whole(&from, path, e);
}

int wl_batch_shard_copy(const char *store, const char *campaign, struct wl_batch_shard_name *name, const char **path,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_file_mapping from;
    int rc = wl_file_map(store, "", &from, a, e);
    if (rc < 0) return rc;
    name->crc = wl_crc32c(0, from.p, from.n);
    *path = wl_strf(a, "%s/%s/%s", campaign, WL_BATCH_SHARDS_FOLDER, wl_batch_shard_name(name, a));
    return write_whole(&from, *path, e);
}

const char *wl_batch_shard_damage(const char *path, const struct wl_batch_shard_name *name, struct wl_arena *a)
{
    struct wl_file_mapping file;
    struct wl_err e;
    if (wl_file_map(path, "", &file, a, &e) < 0) return wl_strdup(a, e.msg);
    const uint32_t crc = wl_crc32c(0, file.p, file.n);
    if (file.n && crc == name->crc) return NULL;
    return wl_strf(a, "its CRC-32C is %08x, its name says %08x: it is truncated or damaged", (unsigned)crc,
                   (unsigned)name->crc);
}
