/* Readings between the file that they are read from and the store. They arrive by time and are stored by channel: in
 * the order of the table's key a row costs half. The store is not held meanwhile, and the energies are derived from
 * them without reading them back. docs/adr/180 */
#include "exchange/import/series_state.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What is written at once. The place of a channel's next block is known before it is full, so that a chain leads from
 * the first one to the last: what is kept of a channel does not grow with its readings. */
struct wl_held_block {
    int64_t next; /* number of the channel's next block */
    int64_t unused;
    int64_t t_ns[WL_SERIES_HELD];
    double value[WL_SERIES_HELD];
};
_Static_assert(sizeof(struct wl_held_block) == 4096, "a page");

/* Beside the store; of one in a new folder, which is made when there is something to store, beside the new folder. */
static const char *place_beside(const char *store, struct wl_arena *a)
{
    const char *at = store, *folder = wl_path_dir(a, at);
    while (access(folder, F_OK) != 0 && errno == ENOENT) {
        at = folder;
        folder = wl_path_dir(a, at);
    }
    return at;
}

static int open_file(struct wl_held *h, const char *store, struct wl_arena *a, struct wl_err *e)
{
    h->file = wl_arena_new(a);
    h->fd = wl_spill_file(place_beside(store, h->file), h->file, e);
    return h->fd < 0 ? h->fd : 0;
}

static int write_block(struct wl_held *h, struct wl_held_channel *c, const char *store, struct wl_err *e)
{
    const int64_t size = sizeof *c->block, at = c->last * size;
    c->block->next = h->n_blocks;
    ssize_t n = 0, more = 0;
    for (; n < size && (more = pwrite(h->fd, (const char *)c->block + n, (size_t)(size - n), at + n)) > 0; n += more)
        ; /* after a short one the next says why */
    if (n < size)
        return wl_fail_errno(e, "%s: there is no room beside it for the readings until they are stored", store);
    c->last = h->n_blocks++;
    return 0;
}

int wl_held_add(struct wl_held *h, struct wl_held_channel *c, int64_t t_ns, double value, const char *store,
                struct wl_arena *a, struct wl_err *e)
{
    const size_t at = c->n % WL_SERIES_HELD;
    int rc = 0;
    if (!c->block) {
        c->block = wl_new(a, struct wl_held_block);
        c->first = c->last = h->n_blocks++;
    } else if (at == 0) {
        if (!h->file) rc = open_file(h, store, a, e);
        if (rc == 0) rc = write_block(h, c, store, e);
    }
    if (rc < 0) return rc;
    c->block->t_ns[at] = t_ns;
    c->block->value[at] = value;
    c->n++;
    return 0;
}

int wl_held_each(const struct wl_held *h, const struct wl_held_channel *c, wl_held_take *take, void *ctx,
                 struct wl_err *e)
{
    struct wl_held_block block;
    size_t left = c->n;
    int rc = 0;
    for (int64_t k = c->first; left > WL_SERIES_HELD && rc == 0; k = block.next, left -= WL_SERIES_HELD) {
        const ssize_t n = pread(h->fd, &block, sizeof block, k * (int64_t)sizeof block);
        if (n >= 0 && n < (ssize_t)sizeof block) errno = EIO;
        if (n < (ssize_t)sizeof block) return wl_fail_errno(e, "readings that were held cannot be read back");
        rc = take(ctx, block.t_ns, block.value, WL_SERIES_HELD, e);
    }
    return rc == 0 && left ? take(ctx, c->block->t_ns, c->block->value, left, e) : rc;
}

static int append(void *readings, const int64_t *t_ns, const double *value, size_t n, struct wl_err *e)
{
    enum { REST_AFTER = 256 * WL_SERIES_HELD };
    struct wl_readings *r = readings;
    (void)e;
    memcpy(r->t_ns + r->n, t_ns, n * sizeof *t_ns);
    memcpy(r->value + r->n, value, n * sizeof *value);
    r->n += n;
    if (r->n % REST_AFTER == 0) wl_readings_rest(r);
    return 0;
}

int wl_held_read(const struct wl_held *h, const struct wl_held_channel *c, const char *store, struct wl_readings *out,
                 struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_readings_alloc(out, c->n, store, a, e);
    if (rc == 0) rc = wl_held_each(h, c, append, out, e);
    wl_readings_rest(out);
    return rc;
}

void wl_held_close(struct wl_held *h)
{
    wl_arena_free(h->file);
    h->file = NULL;
}
