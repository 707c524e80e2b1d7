/* Any bytes as a text, and as a vocab.txt. */
#include "fuzz.h"

#include "data/text/vocab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct wl_vocab *read_vocab(const void *data, size_t n, struct wl_arena *a, struct wl_err *e)
{
    struct wl_vocab *v;
    int fd = memfd_create("vocab", 0);
    WL_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    int rc = wl_vocab_read(&v, wl_strf(a, "/proc/self/fd/%d", fd), a, e);
    WL_CHECK(rc == 0 || (rc < 0 && e->code == rc && e->msg[0]));
    close(fd);
    return rc ? NULL : v;
}

/* At most a token a byte, all of them known; and a line's tokens do not depend on the lines beside it. */
static void check_text(const struct wl_vocab *v, const uint8_t *data, size_t n)
{
    uint32_t *ids = malloc((2 * n + 1) * sizeof *ids);
    WL_CHECK(ids);
    const char *text = (const char *)data, *line = n ? memchr(text, '\n', n) : NULL;
    size_t all = wl_tokenize(v, text, n, ids), first = line ? (size_t)(line - text) + 1 : 0;
    WL_CHECK(all <= n);
    for (size_t i = 0; i < all; i++) WL_CHECK(ids[i] < wl_vocab_size(v));
    size_t parts = wl_tokenize(v, text, first, ids + n);
    WL_CHECK(memcmp(ids, ids + n, parts * sizeof *ids) == 0);
    parts += wl_tokenize(v, text + first, n - first, ids + n + parts);
    WL_CHECK(parts == all && memcmp(ids, ids + n, all * sizeof *ids) == 0);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char few[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##ab\n,\n\u4e2d\nth\n##e\n";
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    const struct wl_vocab *v = read_vocab(data, n, a, &e);
    if (v) check_text(v, data, n);
    v = read_vocab(few, strlen(few), a, &e);
    WL_CHECK(v);
    check_text(v, data, n);
    wl_arena_free(a);
    return 0;
}
