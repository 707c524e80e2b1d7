/* A header of 128 bytes, then the tokens. docs/formats.md has the layout. */
#include "data/text/token_file.h"

#include "base/base.h"
#include "data/text/token_writer.h"

#include <string.h>
#include <unistd.h>

enum { VERSION = 1, CRC_AT = 60, HEAD_CRC_AT = WL_TOKEN_FILE_HEADER - 4, WORD = 8 };
static const char word[] = "WLTOKEN\n";

/* ---- the header ----------------------------------------------------------------------------------------------------
 */

static void encode_head(const struct wl_token_file *t, uint32_t crc, uint8_t *p)
{
    memset(p, 0, WL_TOKEN_FILE_HEADER);
    memcpy(p, word, WORD);
    wl_le_write(p + 8, 4, VERSION);
    wl_le_write(p + 12, 4, (uint64_t)t->width);
    wl_le_write(p + 16, 8, t->n);
    wl_le_write(p + 24, 8, t->vocab_hash);
    wl_le_write(p + 32, 4, (uint64_t)t->vocabulary);
    wl_le_write(p + 36, 4, (uint64_t)t->sequence);
    for (int i = 0; i < WL_SPECIAL_TOKENS; i++) wl_le_write(p + 40 + 4 * i, 4, t->special[i]);
    wl_le_write(p + CRC_AT, 4, crc);
    wl_le_write(p + HEAD_CRC_AT, 4, wl_crc32c(0, p, HEAD_CRC_AT));
}

static int check_values(const struct wl_token_file *t, size_t bytes, struct wl_err *e)
{
    bool known = true;
    for (int i = 0; i < WL_SPECIAL_TOKENS; i++) known = known && t->special[i] < t->vocabulary;
    if ((t->width != 2 && t->width != 4) || !known || t->sequence < 1 || t->vocabulary > 1LL << (8 * t->width))
        return wl_fail(e, WL_EINVAL, "%s: the header of this token file has invalid values", t->path);
    if (t->n == 0 || t->n != (bytes - WL_TOKEN_FILE_HEADER) / (size_t)t->width ||
        (bytes - WL_TOKEN_FILE_HEADER) % (size_t)t->width)
        return wl_fail(e, WL_EIO,
                       "%s: %zu bytes, but the header gives %llu tokens of %d bytes after %d bytes of header", t->path,
                       bytes, (unsigned long long)t->n, t->width, WL_TOKEN_FILE_HEADER);
    return 0;
}

static int decode_head(struct wl_token_file *t, const uint8_t *p, size_t bytes, struct wl_err *e)
{
    if (bytes < WL_TOKEN_FILE_HEADER || memcmp(p, word, WORD) != 0)
        return wl_fail(e, WL_EINVAL, "%s: not a token file (wattlaw-train data wikitext makes them)", t->path);
    if (wl_le_read(p + 8, 4) != VERSION)
        return wl_fail(e, WL_EINVAL, "%s: format version %llu; expected version %d", t->path,
                       (unsigned long long)wl_le_read(p + 8, 4), VERSION);
    if (wl_le_read(p + HEAD_CRC_AT, 4) != wl_crc32c(0, p, HEAD_CRC_AT))
        return wl_fail(e, WL_EIO, "%s: the header is damaged (checksum mismatch)", t->path);
    t->width = (int)wl_le_read(p + 12, 4);
    t->n = wl_le_read(p + 16, 8);
    t->vocab_hash = wl_le_read(p + 24, 8);
    t->vocabulary = (int64_t)wl_le_read(p + 32, 4);
    t->sequence = (int64_t)wl_le_read(p + 36, 4);
    for (int i = 0; i < WL_SPECIAL_TOKENS; i++) t->special[i] = (uint32_t)wl_le_read(p + 40 + 4 * i, 4);
    t->data = p + WL_TOKEN_FILE_HEADER;
    return check_values(t, bytes, e);
}

/* Every token must be in the vocabulary: training uses them as indices. */
static int check_tokens(const struct wl_token_file *t, uint32_t crc, struct wl_err *e)
{
    if (crc != wl_crc32c(0, t->data, (size_t)t->n * (size_t)t->width))
        return wl_fail(e, WL_EIO, "%s: the tokens are damaged (expected checksum %08x)", t->path, crc);
    for (uint64_t i = 0; i < t->n; i++) {
        uint64_t token = wl_le_read(t->data + i * (size_t)t->width, t->width);
        if (token >= (uint64_t)t->vocabulary)
            return wl_fail(e, WL_EINVAL, "%s: token %llu has id %llu, but the vocabulary has %lld tokens", t->path,
                           (unsigned long long)i, (unsigned long long)token, (long long)t->vocabulary);
    }
    return 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int wl_token_file_open(struct wl_token_file *t, const char *path, struct wl_arena *a, struct wl_err *e)
{
    *t = (struct wl_token_file) { .path = wl_strdup(a, path) };
    struct wl_file_mapping m;
    int rc = wl_file_map(path, "the tokens", &m, a, e);
    if (!rc) rc = decode_head(t, m.p, m.n, e);
    return rc ? rc : check_tokens(t, (uint32_t)wl_le_read(m.p + CRC_AT, 4), e);
}

bool wl_token_file_detect(const char *path)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_file_mapping m;
    bool ours =
        wl_file_map(path, "", &m, a, NULL) == 0 && m.n >= sizeof word - 1 && memcmp(m.p, word, sizeof word - 1) == 0;
    wl_arena_free(a);
    return ours;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

int wl_token_writer_open(struct wl_token_writer *w, struct wl_arena *a, struct wl_err *e)
{
    static const uint8_t zero[WL_TOKEN_FILE_HEADER];
    w->head.n = 0;
    w->crc = 0;
    int rc = wl_atomic_file_open(&w->out, w->head.path, WL_ATOMIC_FILE_INTERNAL, e);
    if (rc) return rc;
    wl_defer(a, wl_atomic_file_discard, &w->out);
    FILE *f = wl_atomic_file_stream(&w->out);
    return f && fwrite(zero, 1, sizeof zero, f) == sizeof zero ? 0 : wl_fail_errno(e, "writing %s", w->head.path);
}

int wl_token_writer_put(struct wl_token_writer *w, const uint8_t *tokens, size_t n, struct wl_err *e)
{
    size_t bytes = n * (size_t)w->head.width;
    w->crc = wl_crc32c(w->crc, tokens, bytes);
    w->head.n += n;
    return fwrite(tokens, 1, bytes, w->out.stream) == bytes ? 0 : wl_fail_errno(e, "writing %s", w->head.path);
}

int wl_token_writer_finish(struct wl_token_writer *w, struct wl_err *e)
{
    uint8_t head[WL_TOKEN_FILE_HEADER];
    encode_head(&w->head, w->crc, head);
    bool bad = fflush(w->out.stream) || pwrite(w->out.fd, head, sizeof head, 0) != (ssize_t)sizeof head;
    return bad ? wl_fail_errno(e, "writing %s", w->head.path) : wl_atomic_file_commit(&w->out, e);
}
