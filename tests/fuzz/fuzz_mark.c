/* Any bytes as a file of marks and as a program's output: each line is read or refused with a message, and what was
 * read can be made again from its parts. */
#include "fuzz.h"

#include "mark/mark.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_mark(const struct wl_mark *m)
{
    struct wl_mark again;
    struct wl_err e;
    int rc = wl_mark_make(&again, m->t_ns, m->rank, m->word, m->fields, &e);
    WL_CHECK(rc == 0);
    WL_CHECK(again.n == m->n && strcmp(again.fields, m->fields) == 0);
    for (size_t i = 0; i < m->n; i++) {
        const char *key = m->split + m->field[i].key;
        WL_CHECK(wl_mark_str(m, key) == m->split + m->field[i].value);
        (void)wl_mark_int(m, key, 0);
        (void)wl_mark_real(m, key);
    }
}

static void read_marks(const char *path, struct wl_arena *a)
{
    struct wl_mark_tail *t = wl_mark_tail_new(path, a);
    struct wl_mark m;
    struct wl_err e = { 0 };
    int rc;
    while ((rc = wl_mark_tail_last(t, &m, &e)) != 0) {
        if (rc > 0)
            check_mark(&m);
        else
            WL_CHECK(rc == WL_EINVAL && e.msg[0]);
    }
}

static void count(void *ctx, const struct wl_mark *m)
{
    check_mark(m);
    ++*(int *)ctx;
}

static void read_output(const char *path, const char *epoch_at, struct wl_arena *a)
{
    struct wl_mark_regex_opts o = { .epoch_regex = "Epoch ([^ /]*)(.*loss[= ]([^ ]*))?(.*n=(.*))?",
                                    .epoch_fields = "epoch=1,train_loss=3,samples=5",
                                    .epoch_at = epoch_at,
                                    .step_regex = "step +([^ ]+)(.*)",
                                    .step_fields = "step=1,note=2" };
    struct wl_tail *t = wl_tail_new(path, a);
    struct wl_mark_regex *r;
    struct wl_err e = { 0 };
    const char *line;
    size_t n;
    int made = 0;
    WL_CHECK(wl_mark_regex_new(&r, &o, count, &made, NULL, a, &e) == 0);
    wl_mark_regex_start(r, 1);
    for (int64_t t_ns = 2; wl_tail_line(t, true, &line, &n, &e) > 0; t_ns++)
        WL_CHECK(wl_mark_regex_line(r, t_ns, line, n, &e) == 0 || e.msg[0]);
    wl_mark_regex_end(r, INT64_MAX, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int fd = memfd_create("marks", 0);
    const char *path = wl_strf(a, "/proc/self/fd/%d", fd);
    WL_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    read_marks(path, a);
    read_output(path, "end", a);
    read_output(path, "begin", a);
    close(fd);
    wl_arena_free(a);
    return 0;
}
