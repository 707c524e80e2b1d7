/* The inside of a vocabulary: its tokens as a trie of characters. */
#ifndef WL_DATA_TEXT_VOCAB_TRIE_H
#define WL_DATA_TEXT_VOCAB_TRIE_H

#include "data/text/vocab.h"

/* From a node over a character to a child node. node 0 and child 0: free. */
struct wl_trie_edge {
    uint32_t node, c, child;
};

/* Tokens that start a word begin at node 1, continuation tokens at node 2, after their "##". */
enum { WL_TRIE_WORD_START = 1, WL_TRIE_CONTINUATION = 2 };

struct wl_vocab {
    const char **token; /* [n] */
    size_t n;
    uint64_t hash;
    uint32_t special[WL_SPECIAL_TOKENS];

    struct wl_trie_edge *edge; /* [edges] open addressing; a power of two, at most half full */
    size_t edges;
    int32_t *id; /* [nodes] the token that ends at a node, -1: none */
    size_t nodes;
};

/* Builds a vocabulary of n tokens that the caller keeps. Messages name `path`, whose line i + 1 is token i. */
int wl_vocab_new(struct wl_vocab **v, const char *const *tokens, size_t n, const char *path, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* The child of a node over a character; 0: none. */
uint32_t wl_vocab_child(const struct wl_vocab *v, uint32_t node, uint32_t c);

#endif
