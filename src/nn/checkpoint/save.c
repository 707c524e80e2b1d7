/* Writing checkpoints. */
#include "nn/checkpoint/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "checkpoints are little-endian: this machine needs a conversion here"
#endif

struct writer {
    struct wl_atomic_file out;
    uint32_t crc;
};

static int write_bytes(struct writer *w, const void *p, size_t n, struct wl_err *e)
{
    w->crc = wl_crc32c(w->crc, p, n);
    return wl_atomic_file_write(&w->out, p, n, e);
}

const char *wl_checkpoint_kind(enum wl_state_kind kind)
{
    switch (kind) {
    case WL_STATE_PARAM: return "parameter";
    case WL_STATE_OPTIM: return "optimizer";
    case WL_STATE_STATISTIC: return "statistic";
    }
    return NULL;
}

static void describe(struct wl_json *head, const struct wl_plan *plan)
{
    wl_json_add_int(head, "format", WL_CHECKPOINT_FORMAT);
    wl_json_add_str(head, "wattlaw", WL_VERSION);
    struct wl_json *tensors = wl_json_add_array(head, "tensors");
    size_t offset = 0;
    for (size_t i = 0; i < wl_plan_state_count(plan); i++) {
        struct wl_state s = wl_plan_state(plan, i);
        struct wl_json *t = wl_json_add_object(tensors, NULL);
        wl_json_add_str(t, "name", s.name);
        wl_json_add_str(t, "kind", wl_checkpoint_kind(s.kind));
        struct wl_json *dims = wl_json_add_array(t, "dims");
        for (int d = 0; d < s.dims.n; d++) wl_json_add_int(dims, NULL, s.dims.d[d]);
        wl_json_add_int(t, "offset", (int64_t)offset);
        offset += wl_checkpoint_padded(s.count * sizeof(float));
    }
}

static int write_head(struct writer *w, const struct wl_json *head, struct wl_arena *a, struct wl_err *e)
{
    const size_t before = strlen(WL_CHECKPOINT_MAGIC) + sizeof(uint32_t);
    struct wl_text text = WL_TEXT(a);
    wl_text_add(&text, wl_json_text(head, 0, a));
    while ((before + text.n) % WL_CHECKPOINT_ALIGN) wl_text_add(&text, " ");
    uint32_t n = (uint32_t)text.n;
    int rc = write_bytes(w, WL_CHECKPOINT_MAGIC, strlen(WL_CHECKPOINT_MAGIC), e);
    if (!rc) rc = write_bytes(w, &n, sizeof n, e);
    return rc ? rc : write_bytes(w, text.s, text.n, e);
}

static int put_tensors(struct writer *w, struct wl_plan *plan, struct wl_arena *a, struct wl_err *e)
{
    size_t largest = 0, states = wl_plan_state_count(plan);
    for (size_t i = 0; i < states; i++) {
        size_t n = wl_plan_state(plan, i).count;
        if (n > largest) largest = n;
    }
    float *x = wl_try_alloc(a, wl_checkpoint_padded(largest * sizeof *x), WL_CHECKPOINT_ALIGN, w->out.path, e);
    if (!x) return WL_ENOMEM;
    for (size_t i = 0; i < states; i++) {
        size_t n = wl_plan_state(plan, i).count * sizeof *x, padded = wl_checkpoint_padded(n);
        int rc = wl_plan_state_read(plan, i, x, e);
        memset((char *)x + n, 0, padded - n);
        if (!rc) rc = write_bytes(w, x, padded, e);
        if (rc) return rc;
    }
    return 0;
}

static int write_file(const char *path, const struct wl_json *head, struct wl_plan *plan, struct wl_arena *a,
                      struct wl_err *e)
{
    struct writer w = { 0 };
    int rc = wl_atomic_file_open(&w.out, path, WL_ATOMIC_FILE_INTERNAL, e);
    if (rc) return wl_err_prefix(e, "checkpoint");
    rc = write_head(&w, head, a, e);
    if (!rc) rc = put_tensors(&w, plan, a, e);
    uint32_t crc = w.crc;
    if (!rc) rc = write_bytes(&w, &crc, sizeof crc, e);
    if (!rc) return wl_atomic_file_commit(&w.out, e);
    wl_atomic_file_discard(&w.out);
    return rc;
}

/* After this the new name survives a loss of power. Some file systems cannot sync a folder; the rename holds there
 * as well as they promise it. */
static void sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

/* Not a file of somebody else that has such a name. */
static bool is_ours(const char *path)
{
    char word[sizeof WL_CHECKPOINT_MAGIC - 1];
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool ours = read(fd, word, sizeof word) == sizeof word && memcmp(word, WL_CHECKPOINT_MAGIC, sizeof word) == 0;
    close(fd);
    return ours;
}

static int remove_old(const char *dir, int64_t keep, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs names = { 0 };
    int rc = wl_checkpoint_list(dir, &names, a, e);
    if (rc) return rc;
    for (size_t i = 0; i + (size_t)keep < names.n; i++) {
        char *path = wl_path_join(a, dir, names.v[i]);
        if (!is_ours(path)) continue;
        if (unlink(path) && errno != ENOENT) return wl_fail_errno(e, "removing the old checkpoint %s", path);
    }
    return 0;
}

int wl_checkpoint_save(const char *dir, int64_t update, int64_t keep, struct wl_json *head, struct wl_plan *plan,
                       struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_mkdirs(dir, e);
    if (rc) return rc;
    struct wl_arena *scratch = wl_arena_new(a);
    char *path = wl_strf(scratch, "%s/checkpoint-%010lld.wlc", dir, (long long)update);
    describe(head, plan);
    rc = write_file(path, head, plan, scratch, e);
    if (!rc) sync_folder(dir);
    if (!rc) rc = remove_old(dir, keep, scratch, e);
    wl_arena_free(scratch);
    return rc;
}
