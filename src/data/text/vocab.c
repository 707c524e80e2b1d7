#include "data/text/vocab.h"

#include "data/text/unicode.h"
#include "data/text/vocab_trie.h"

#include <string.h>

enum { MAX_BYTES = 1 << 28, MAX_TOKENS = 1 << 24 };

/* ---- the trie --------------------------------------------------------------------------------------------------- */

static size_t edge_slot(const struct wl_vocab *v, uint32_t node, uint32_t c)
{
    uint64_t h = ((uint64_t)node << 21 ^ c) * 0x9e3779b97f4a7c15u;
    size_t mask = v->edges - 1, at = (size_t)(h >> 32) & mask;
    while (v->edge[at].child && (v->edge[at].node != node || v->edge[at].c != c)) at = (at + 1) & mask;
    return at;
}

uint32_t wl_vocab_child(const struct wl_vocab *v, uint32_t node, uint32_t c)
{
    return v->edge[edge_slot(v, node, c)].child; /* 0: none */
}

static uint32_t child_find_or_add(struct wl_vocab *v, uint32_t node, uint32_t c)
{
    struct wl_trie_edge *edge = &v->edge[edge_slot(v, node, c)];
    if (edge->child) return edge->child;
    *edge = (struct wl_trie_edge) { node, c, (uint32_t)v->nodes };
    v->id[v->nodes] = -1;
    return (uint32_t)v->nodes++;
}

static int insert(struct wl_vocab *v, size_t i, const char *path, struct wl_err *e)
{
    const char *token = v->token[i];
    bool inside = wl_str_starts(token, "##") && token[2];
    const uint8_t *p = (const uint8_t *)token + (inside ? 2 : 0), *end = (const uint8_t *)token + strlen(token);
    uint32_t node = inside ? WL_TRIE_CONTINUATION : WL_TRIE_WORD_START;
    while (p < end) {
        size_t length = wl_utf8_length((const char *)p);
        if (!length) return wl_fail(e, WL_EINVAL, "%s:%zu: the token is not valid UTF-8", path, i + 1);
        node = child_find_or_add(v, node, wl_utf8_next(&p, end));
    }
    if (v->id[node] >= 0)
        return wl_fail(e, WL_EINVAL, "%s:%zu: the token \"%s\" duplicates line %d", path, i + 1, token,
                       v->id[node] + 1);
    v->id[node] = (int32_t)i;
    return 0;
}

static int build_trie(struct wl_vocab *v, const char *path, struct wl_arena *a, struct wl_err *e)
{
    size_t bytes = 0;
    for (size_t i = 0; i < v->n; i++) bytes += strlen(v->token[i]);
    for (v->edges = 16; v->edges < 2 * bytes;) v->edges *= 2;
    v->edge = wl_try_alloc(a, v->edges * sizeof *v->edge, 64, "the vocabulary", e);
    v->id = wl_try_alloc(a, (bytes + 3) * sizeof *v->id, 64, "the vocabulary", e);
    if (!v->edge || !v->id) return WL_ENOMEM;
    v->nodes = 3;
    v->id[WL_TRIE_WORD_START] = v->id[WL_TRIE_CONTINUATION] = -1;
    int rc = 0;
    for (size_t i = 0; !rc && i < v->n; i++) rc = insert(v, i, path, e);
    return rc;
}

static int32_t find(const struct wl_vocab *v, const char *token)
{
    uint32_t node = WL_TRIE_WORD_START;
    for (const char *c = token; *c && node; c++) node = wl_vocab_child(v, node, (uint8_t)*c);
    return node ? v->id[node] : -1;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static int find_specials(struct wl_vocab *v, const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text missing = WL_TEXT(a);
    for (int i = 0; i < WL_SPECIAL_TOKENS; i++) {
        int32_t id = find(v, wl_special_token_names[i]);
        v->special[i] = (uint32_t)id;
        if (id < 0) wl_text_addf(&missing, " %s", wl_special_token_names[i]);
    }
    if (!missing.n) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: the vocabulary of %zu tokens lacks%s; expected BERT's vocab.txt, one token per line", path,
                   v->n, missing.s);
}

int wl_vocab_new(struct wl_vocab **out, const char *const *tokens, size_t n, const char *path, struct wl_arena *a,
                 struct wl_err *e)
{
    struct wl_vocab *v = wl_new(a, struct wl_vocab);
    v->token = wl_new_array(a, const char *, n);
    struct wl_text all = WL_TEXT(a);
    for (v->n = 0; v->n < n; v->n++) {
        v->token[v->n] = tokens[v->n];
        wl_text_addf(&all, "%s\n", tokens[v->n]);
    }
    v->hash = wl_hash_fnv1a(all.s);
    int rc = build_trie(v, path, a, e);
    if (!rc) rc = find_specials(v, path, a, e);
    *out = v;
    return rc;
}

/* Splits the text into lines, in place. */
static int split_lines(char *text, size_t n, const char ***lines, size_t *count, const char *path, struct wl_arena *a,
                       struct wl_err *e)
{
    size_t cap = 0;
    *lines = NULL;
    *count = 0;
    if (memchr(text, '\0', n))
        return wl_fail(e, WL_EINVAL, "%s: contains a NUL byte; expected one token per line", path);
    for (char *line = text, *next; *line; line = next) {
        char *end = strchr(line, '\n');
        next = end ? end + 1 : line + strlen(line);
        if (!end) end = next;
        if (end > line && end[-1] == '\r') end--;
        *end = '\0';
        if (end == line) return wl_fail(e, WL_EINVAL, "%s:%zu: the line is empty; expected a token", path, *count + 1);
        if (*count == MAX_TOKENS) return wl_fail(e, WL_EINVAL, "%s: more than %d tokens", path, MAX_TOKENS);
        WL_GROW(a, *lines, *count, cap);
        (*lines)[(*count)++] = line;
    }
    return *count ? 0 : wl_fail(e, WL_EINVAL, "%s: the file is empty; expected one token per line", path);
}

int wl_vocab_read(struct wl_vocab **v, const char *path, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    size_t n, count;
    const char **lines;
    int rc = wl_file_read(path, MAX_BYTES, &text, &n, a, e);
    if (!rc) rc = split_lines(text, n, &lines, &count, path, a, e);
    return rc ? rc : wl_vocab_new(v, lines, count, path, a, e);
}

int64_t wl_vocab_size(const struct wl_vocab *v) { return (int64_t)v->n; }
uint32_t wl_vocab_special_token(const struct wl_vocab *v, enum wl_special_token which) { return v->special[which]; }
const char *wl_vocab_token(const struct wl_vocab *v, uint32_t id) { return v->token[id]; }
uint64_t wl_vocab_hash(const struct wl_vocab *v) { return v->hash; }
