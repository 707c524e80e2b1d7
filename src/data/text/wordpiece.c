/* The greedy longest-match tokeniser of WordPiece. */
#include "data/text/pretokenize.h"
#include "data/text/vocab_trie.h"

/* The length of the longest token that starts at c[0]; 0: none. */
static size_t longest_piece(const struct wl_vocab *v, uint32_t node, const uint32_t *c, size_t n, uint32_t *id)
{
    size_t best = 0;
    for (size_t i = 0; i < n && (node = wl_vocab_child(v, node, c[i])) != 0; i++) {
        if (v->id[node] < 0) continue;
        best = i + 1;
        *id = (uint32_t)v->id[node];
    }
    return best;
}

/* Writes the pieces of a word to ids, with room for max(w->n, 1); returns how many. */
static size_t word_pieces(const struct wl_vocab *v, const struct wl_pretokenizer *w, uint32_t *ids)
{
    size_t n = 0, at = 0;
    if (w->special >= 0 || w->n > WL_WORD_MAX) {
        ids[0] = v->special[w->special >= 0 ? w->special : WL_TOKEN_UNK];
        return 1;
    }
    while (at < w->n) {
        size_t piece = longest_piece(v, at ? WL_TRIE_CONTINUATION : WL_TRIE_WORD_START, w->c + at, w->n - at, &ids[n]);
        if (!piece) {
            ids[0] = v->special[WL_TOKEN_UNK];
            return 1;
        }
        at += piece;
        n++;
    }
    return n;
}

size_t wl_tokenize(const struct wl_vocab *v, const char *text, size_t n, uint32_t *ids)
{
    struct wl_pretokenizer w = { .p = (const uint8_t *)text, .end = (const uint8_t *)text + n };
    size_t count = 0;
    while (wl_pretokenizer_next(&w)) count += word_pieces(v, &w, ids + count);
    return count;
}
