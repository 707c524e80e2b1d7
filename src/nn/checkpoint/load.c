/* Finding, checking and reading checkpoints. */
#include "nn/checkpoint/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORD_BYTES = 8, PREFIX = WORD_BYTES + sizeof(uint32_t), CHUNK = 1 << 20 };

/* The number in "checkpoint-NUMBER.wlc"; -1 for other names. */
static int64_t update_of(const char *name)
{
    static const char start[] = "checkpoint-", end[] = ".wlc";
    size_t n = strlen(name), frame = strlen(start) + strlen(end);
    if (n <= frame || n > frame + 18 || !wl_str_starts(name, start) || strcmp(name + n - strlen(end), end)) return -1;
    int64_t update = 0;
    for (const char *c = name + strlen(start); c < name + n - strlen(end); c++) {
        if (*c < '0' || *c > '9') return -1;
        update = 10 * update + (*c - '0');
    }
    return update;
}

int wl_checkpoint_list(const char *dir, struct wl_strs *names, struct wl_arena *a, struct wl_err *e)
{
    if (!wl_is_dir(dir)) return 0;
    struct wl_strs all = { 0 };
    int rc = wl_dir_list(dir, &all, a, e);
    for (size_t i = 0; i < all.n; i++) {
        if (update_of(all.v[i]) < 0) continue;
        wl_strs_add(a, names, all.v[i]);
        for (size_t k = names->n - 1; k > 0; k--) { /* by number: the names sort alike only up to ten digits */
            if (update_of(names->v[k - 1]) <= update_of(names->v[k])) break;
            char *swap = names->v[k];
            names->v[k] = names->v[k - 1];
            names->v[k - 1] = swap;
        }
    }
    return rc;
}

int wl_checkpoint_any(const char *dir, bool *any, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs names = { 0 };
    int rc = wl_checkpoint_list(dir, &names, a, e);
    *any = names.n > 0;
    return rc;
}

static int get(int fd, const char *path, int64_t at, void *to, size_t n, struct wl_err *e)
{
    for (char *p = to; n;) {
        ssize_t got = pread(fd, p, n, at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return wl_fail_errno(e, "reading %s", path);
        if (got == 0) return wl_fail(e, WL_EIO, "%s ends at byte %lld; more was expected", path, (long long)at);
        p += got;
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

static int check_sum(int fd, const char *path, int64_t size, struct wl_arena *a, struct wl_err *e)
{
    char *chunk = wl_try_alloc(a, CHUNK, 64, path, e);
    if (!chunk) return WL_ENOMEM;
    uint32_t crc = 0, want;
    const int64_t body = size - (int64_t)sizeof want;
    for (int64_t at = 0; at < body; at += CHUNK) {
        size_t n = body - at < CHUNK ? (size_t)(body - at) : CHUNK;
        int rc = get(fd, path, at, chunk, n, e);
        if (rc) return rc;
        crc = wl_crc32c(crc, chunk, n);
    }
    int rc = get(fd, path, body, &want, sizeof want, e);
    if (rc) return rc;
    return crc == want
               ? 0
               : wl_fail(e, WL_EIO, "%s is damaged: its checksum is %08x, its content has %08x", path, want, crc);
}

static int check_file(int fd, struct wl_checkpoint *c, struct wl_arena *a, struct wl_err *e)
{
    struct stat st;
    if (fstat(fd, &st)) return wl_fail_errno(e, "checkpoint %s", c->path);
    char word[WORD_BYTES];
    uint32_t n;
    int rc = get(fd, c->path, 0, word, sizeof word, e);
    if (!rc && memcmp(word, WL_CHECKPOINT_MAGIC, sizeof word))
        rc = wl_fail(e, WL_EINVAL, "%s: not a checkpoint (it does not begin with WLCKPT1)", c->path);
    if (!rc) rc = check_sum(fd, c->path, st.st_size, a, e);
    if (!rc) rc = get(fd, c->path, WORD_BYTES, &n, sizeof n, e);
    if (!rc && (int64_t)n > st.st_size - (int64_t)PREFIX)
        rc = wl_fail(e, WL_EINVAL, "%s: a header of %u bytes in a file of %lld", c->path, n, (long long)st.st_size);
    if (rc) return rc;
    char *text = wl_try_alloc(a, (size_t)n + 1, 1, c->path, e);
    if (!text) return WL_ENOMEM;
    rc = get(fd, c->path, PREFIX, text, n, e);
    if (!rc) rc = wl_json_parse(text, c->path, &c->head, a, e);
    if (rc) return rc;
    c->data = (int64_t)PREFIX + n;
    int64_t format = wl_json_int(wl_json_get(c->head, "format"), 0);
    if (format != WL_CHECKPOINT_FORMAT)
        return wl_fail(e, WL_EINVAL, "%s has format %lld; this program reads format %d", c->path, (long long)format,
                       WL_CHECKPOINT_FORMAT);
    return wl_checkpoint_check_tensors(c, st.st_size - (int64_t)sizeof(uint32_t) - c->data, a, e);
}

int wl_checkpoint_open(const char *path, struct wl_checkpoint *c, struct wl_arena *a, struct wl_err *e)
{
    *c = (struct wl_checkpoint) { .path = wl_strdup(a, path) };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "checkpoint %s", path);
    int rc = check_file(fd, c, a, e);
    close(fd);
    return rc;
}

int wl_checkpoint_newest(const char *dir, struct wl_checkpoint *c, bool *found, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs names = { 0 };
    int rc = wl_checkpoint_list(dir, &names, a, e);
    *found = false;
    for (size_t i = names.n; !rc && i > 0 && !*found; i--) {
        struct wl_err why = { 0 };
        if (wl_checkpoint_open(wl_path_join(a, dir, names.v[i - 1]), c, a, &why) == 0)
            *found = true;
        else
            wl_log(WL_WARN, "checkpoint", "skipped: %s", why.msg);
    }
    return rc;
}

/* ---- restoring -------------------------------------------------------------------------------------------------- */

static struct wl_dims dims_of(const struct wl_json *t)
{
    const struct wl_json *list = wl_json_get(t, "dims");
    struct wl_dims d = { .n = (int)wl_json_size(list) };
    if (d.n > WL_MAX_DIMS) d.n = WL_MAX_DIMS;
    for (int i = 0; i < d.n; i++) d.d[i] = wl_json_int(wl_json_at(list, (size_t)i), -1);
    return d;
}

/* Tensor i of the file, which is to be this state. */
static int compare_one(const struct wl_checkpoint *c, size_t i, const struct wl_state *s, struct wl_arena *a,
                       struct wl_err *e)
{
    const struct wl_json *t = wl_json_at(wl_json_get(c->head, "tensors"), i);
    const char *name = wl_json_str(wl_json_get(t, "name"));
    const struct wl_dims d = dims_of(t);
    if (!wl_str_eq(name, s->name))
        return wl_fail(e, WL_EINVAL, "%s holds %s where this network has %s", c->path, name ? name : "nothing",
                       s->name);
    if (!wl_dims_equal(&d, &s->dims))
        return wl_fail(e, WL_EINVAL, "%s: %s is %s there and %s in this network", c->path, name, wl_dims_text(a, &d),
                       wl_dims_text(a, &s->dims));
    const char *kind = wl_json_str(wl_json_get(t, "kind")), *wanted = wl_checkpoint_kind(s->kind);
    if (!wl_str_eq(kind, wanted))
        return wl_fail(e, WL_EINVAL, "%s: %s has kind %s there and %s in this network", c->path, name, kind, wanted);
    return 0;
}

static int unexpected_tensor(const struct wl_checkpoint *c, size_t i, struct wl_err *e)
{
    const char *name = wl_json_str(wl_json_get(wl_json_at(wl_json_get(c->head, "tensors"), i), "name"));
    return wl_fail(e, WL_EINVAL, "%s: unexpected tensor %s, which this network does not have", c->path,
                   name ? name : "without a name");
}

static int compare(const struct wl_checkpoint *c, const struct wl_plan *plan, struct wl_arena *a, struct wl_err *e)
{
    const size_t states = wl_plan_state_count(plan), stored = wl_json_size(wl_json_get(c->head, "tensors"));
    int rc = 0;
    for (size_t i = 0; i < states && !rc; i++) {
        const struct wl_state s = wl_plan_state(plan, i);
        rc = compare_one(c, i, &s, a, e);
    }
    return rc || stored <= states ? rc : unexpected_tensor(c, states, e);
}

/* Mean squares and variances, of which the next step takes the root; the former may overflow. */
static bool is_square(const char *name)
{
    static const char *const ends[] = { ".exp_avg_sq", ".running_var" };
    for (size_t i = 0; i < WL_COUNT(ends); i++) {
        const char *at = strstr(name, ends[i]);
        if (at && wl_str_eq(at, ends[i])) return true;
    }
    return false;
}

static int check_values(const struct wl_checkpoint *c, const struct wl_state *s, const float *x, struct wl_err *e)
{
    const bool square = is_square(s->name);
    for (size_t i = 0; i < s->count; i++)
        if (square ? !(x[i] >= 0) : !isfinite(x[i]))
            return wl_fail(e, WL_EINVAL, "%s: %s: element %zu is %g, expected %s", c->path, s->name, i, (double)x[i],
                           square ? "at least 0" : "a finite number");
    return 0;
}

/* Tensor i of the file, which was compared with the state. */
static int get_tensor(const struct wl_checkpoint *c, int fd, size_t i, const struct wl_state *s, float *to,
                      struct wl_err *e)
{
    const struct wl_json *t = wl_json_at(wl_json_get(c->head, "tensors"), i);
    const int64_t offset = wl_json_int(wl_json_get(t, "offset"), -1);
    int rc = get(fd, c->path, c->data + offset, to, s->count * sizeof *to, e);
    return rc ? rc : check_values(c, s, to, e);
}

/* Rank 0 reads and broadcasts. A failed read is reported to all ranks at the end, so that they stay in step. */
static int distribute(const struct wl_checkpoint *c, int fd, struct wl_plan *plan, struct wl_comm *comm,
                      struct wl_arena *a, struct wl_err *e)
{
    struct wl_err failure = { 0 };
    int bad = 0;
    for (size_t i = 0; i < wl_plan_state_count(plan); i++) {
        struct wl_arena *once = wl_arena_new(a);
        const struct wl_state s = wl_plan_state(plan, i);
        const size_t bytes = s.count * sizeof(float);
        float *x = wl_alloc(once, bytes);
        if (comm->rank == 0 && !bad) bad = get_tensor(c, fd, i, &s, x, &failure);
        int rc = comm->ops->broadcast(comm, x, bytes, 0, e);
        if (!rc && !bad) bad = wl_plan_state_write(plan, i, x, &failure);
        wl_arena_free(once);
        if (rc) return rc;
    }
    bad = wl_comm_agree(comm, bad, &failure);
    if (bad) *e = failure;
    return bad;
}

int wl_checkpoint_restore(const struct wl_checkpoint *c, struct wl_plan *plan, struct wl_comm *comm, struct wl_arena *a,
                          struct wl_err *e)
{
    int fd = -1, rc = 0;
    if (comm->rank == 0) {
        rc = compare(c, plan, a, e);
        if (!rc && (fd = open(c->path, O_RDONLY | O_CLOEXEC)) < 0) rc = wl_fail_errno(e, "checkpoint %s", c->path);
    }
    rc = wl_comm_agree(comm, rc, e);
    if (!rc) rc = distribute(c, fd, plan, comm, a, e);
    if (fd >= 0) close(fd);
    return rc;
}

/* ---- starting anew ---------------------------------------------------------------------------------------------- */

int wl_checkpoint_check_text(const struct wl_checkpoint *c, const char *key, const char *now, struct wl_err *e)
{
    const char *then = wl_json_str(wl_json_get(c->head, key));
    if (wl_str_eq(then, now)) return 0;
    return wl_fail(e, WL_EINVAL, "%s was made with %s %s, this is %s", c->path, key, then ? then : "unknown", now);
}

int wl_checkpoint_check_int(const struct wl_checkpoint *c, const char *key, int64_t now, int64_t default_value,
                            struct wl_err *e)
{
    int64_t then = wl_json_int(wl_json_get(c->head, key), default_value);
    if (then == now) return 0;
    if (then < 0) return wl_fail(e, WL_EINVAL, "%s does not say its %s, this is %lld", c->path, key, (long long)now);
    return wl_fail(e, WL_EINVAL, "%s was made with %s %lld, this is %lld", c->path, key, (long long)then,
                   (long long)now);
}

/* The first tensor of the file from i on that is not an optimizer's. */
static size_t next_parameter(const struct wl_checkpoint *c, size_t i)
{
    const struct wl_json *tensors = wl_json_get(c->head, "tensors");
    const char *optim = wl_checkpoint_kind(WL_STATE_OPTIM);
    while (i < wl_json_size(tensors) && wl_str_eq(wl_json_str(wl_json_get(wl_json_at(tensors, i), "kind")), optim)) i++;
    return i;
}

static int take(const struct wl_checkpoint *c, int fd, size_t from, struct wl_plan *plan, size_t to, struct wl_arena *a,
                struct wl_err *e)
{
    const struct wl_state s = wl_plan_state(plan, to);
    struct wl_arena *once = wl_arena_new(a);
    float *x = wl_try_alloc(once, s.count * sizeof *x, WL_CHECKPOINT_ALIGN, s.name, e);
    int rc = x ? compare_one(c, from, &s, once, e) : WL_ENOMEM;
    if (!rc) rc = get_tensor(c, fd, from, &s, x, e);
    if (!rc) rc = wl_plan_state_write(plan, to, x, e);
    wl_arena_free(once);
    return rc;
}

int wl_checkpoint_load_weights(const struct wl_checkpoint *c, struct wl_plan *plan, struct wl_arena *a,
                               struct wl_err *e)
{
    const int fd = open(c->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "checkpoint %s", c->path);
    size_t from = 0;
    int rc = 0;
    for (size_t i = 0; i < wl_plan_state_count(plan) && !rc; i++) {
        if (wl_plan_state(plan, i).kind == WL_STATE_OPTIM) continue;
        from = next_parameter(c, from);
        rc = take(c, fd, from++, plan, i, a, e);
    }
    close(fd);
    from = next_parameter(c, from);
    return rc || from == wl_json_size(wl_json_get(c->head, "tensors")) ? rc : unexpected_tensor(c, from, e);
}
