/* A vocabulary, inside: its tokens as a tree of characters. */
#ifndef WL_DATA_TEXT_VOCAB_H
#define WL_DATA_TEXT_VOCAB_H

#include "data/text/pretokenize.h"

/* A step from a node over a character to a node. node 0 and child 0: free. */
struct wl_trie_edge {
    uint32_t node, c, child;
};

/* Node 1 is where tokens begin that start a word, node 2 where "##" tokens begin, behind the "##". */
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

/* Builds a vocabulary of n tokens that the caller keeps. `path` stands in messages, line i + 1 of it is token i. */
int wl_vocab_new(struct wl_vocab **v, const char *const *tokens, size_t n, const char *path, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

#endif
