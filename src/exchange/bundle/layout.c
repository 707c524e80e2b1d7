/* How the parts of an archive lie in it. An archive lists its files twice: in a directory at its end, and before the
 * content of each. Programs that unpack it read one or the other, so that both have to say the same; and what is in
 * neither would travel unseen. APPNOTE.TXT 6.3.10 has the records. */
#include "exchange/bundle/layout.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END_64 = 0x06064b50,
    LOCATOR_64 = 0x07064b50,
    END = 0x06054b50,
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_64_BYTES = 56,
    LOCATOR_64_BYTES = 20,
    END_BYTES = 22,
    ENCRYPTED = 0x2041, /* flags: encryption, a strong one, and of the directory */
    DESCRIBED = 8,      /* a flag: sizes and CRC follow the content, */
    DESCRIPTOR_MOST = 24
};

struct layout {
    const struct wl_bundle_archive *of;
    struct wl_arena *arena;
    struct wl_err *e;
};

static unsigned u16(const unsigned char *p) { return (unsigned)p[0] | (unsigned)p[1] << 8; }
static uint32_t u32(const unsigned char *p) { return u16(p) | (uint32_t)u16(p + 2) << 16; }

/* Reads n bytes, which begin with `signature`. */
static bool record(const struct layout *l, uint64_t at, unsigned char *to, size_t n, uint32_t signature)
{
    return at <= l->of->bytes && pread(l->of->fd, to, n, (off_t)at) == (ssize_t)n && u32(to) == signature;
}

static int refuse(const struct layout *l, const char *name, const char *why)
{
    return wl_fail(l->e, WL_EINVAL, "%s: refused: \"%.200s\" %s", l->of->path, name, why);
}

/* Reads both entries of a file, and where its content is. */
static int place(const struct layout *l, struct wl_bundle_place *p)
{
    static const char damaged[] = "has a damaged header";
    unsigned char in[CENTRAL_BYTES], at[LOCAL_BYTES];
    const size_t n = strlen(p->name);
    if (!record(l, p->central, in, sizeof in, CENTRAL) || u16(in + 28) != n) return refuse(l, p->name, damaged);
    p->central_end = p->central + sizeof in + n + u16(in + 30) + u16(in + 32);
    p->begin = u32(in + 42);
    if (!record(l, p->begin, at, sizeof at, LOCAL)) return refuse(l, p->name, damaged);
    char *name = wl_new_array(l->arena, char, n + 1);
    const bool same_name = u16(at + 26) == n &&
                           pread(l->of->fd, name, n, (off_t)(p->begin + sizeof at)) == (ssize_t)n &&
                           memcmp(name, p->name, n) == 0;
    if (!same_name) return refuse(l, p->name, "has another name where its content is");
    if ((u16(at + 6) ^ u16(in + 8)) & ENCRYPTED || u16(at + 8) != u16(in + 10))
        return refuse(l, p->name, "is packed in another way where its content is");
    p->described = (u16(at + 6) & DESCRIBED) != 0;
    p->end = p->begin + sizeof at + n + u16(at + 28) + u32(in + 20);
    return 0;
}

static int by_begin(const void *x, const void *y)
{
    const struct wl_bundle_place *a = x, *b = y;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* One after the other, from the first byte to the directory. */
static int check_contents(const struct layout *l, const struct wl_bundle_place *v, size_t n, uint64_t directory)
{
    uint64_t at = 0, slack = 0;
    for (size_t i = 0; i <= n; i++) {
        const uint64_t begin = i < n ? v[i].begin : directory;
        if (begin < at) return refuse(l, v[i ? i - 1 : 0].name, "overlaps with what follows: a zip bomb");
        if (begin - at > slack)
            return wl_fail(l->e, WL_EINVAL, "%s: refused: %llu bytes at %llu are of no file", l->of->path,
                           (unsigned long long)(begin - at), (unsigned long long)at);
        if (i == n) break;
        at = v[i].end;
        slack = v[i].described ? DESCRIPTOR_MOST : 0;
    }
    return 0;
}

/* The end of the archive is where its directory ends. */
static int check_end(const struct layout *l, uint64_t at)
{
    unsigned char end[END_64_BYTES];
    if (record(l, at, end, END_64_BYTES, END_64) && record(l, at + END_64_BYTES, end, LOCATOR_64_BYTES, LOCATOR_64))
        at += END_64_BYTES + LOCATOR_64_BYTES;
    if (record(l, at, end, END_BYTES, END) && at + END_BYTES + u16(end + 20) == l->of->bytes) return 0;
    return wl_fail(l->e, WL_EINVAL, "%s: refused: it is cut off, or its end has bytes that are of no file",
                   l->of->path);
}

uint64_t wl_bundle_end_before_comment(const struct wl_bundle_archive *of)
{
    const struct layout l = { .of = of };
    unsigned char end[END_BYTES];
    for (uint64_t comment = UINT16_MAX - END_BYTES; comment <= UINT16_MAX; comment++) {
        const uint64_t after = END_BYTES + comment;
        if (after > of->bytes) return 0;
        if (record(&l, of->bytes - after, end, END_BYTES, END) && u16(end + 20) == comment) return of->bytes - comment;
    }
    return 0;
}

int wl_bundle_check_layout(const struct wl_bundle_archive *of, struct wl_bundle_place *v, size_t n, struct wl_err *e)
{
    struct layout l = { of, wl_arena_new(NULL), e };
    unsigned char begin[4];
    uint64_t directory = UINT64_MAX, end = 0;
    int rc = 0;
    if (n && !record(&l, 0, begin, sizeof begin, LOCAL))
        rc = wl_fail(e, WL_EINVAL, "%s: refused: it begins with bytes that are of no file", of->path);
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = place(&l, &v[i]);
        if (v[i].central < directory) directory = v[i].central;
        if (v[i].central_end > end) end = v[i].central_end;
    }
    if (n) qsort(v, n, sizeof *v, by_begin);
    if (rc == 0) rc = check_contents(&l, v, n, n ? directory : 0);
    if (rc == 0) rc = check_end(&l, end);
    wl_arena_free(l.arena);
    return rc;
}
