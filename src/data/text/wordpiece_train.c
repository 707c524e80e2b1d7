/* WordPiece by frequency: words start as single characters, and repeatedly the most frequent pair of adjacent pieces is
 * merged (byte pair encoding with "##" inside words, as in the trainer of Hugging Face's tokenizers). Of equally
 * frequent pairs the one with the older pieces comes first, so the result depends on the counts alone.
 *
 * Each pair has the list of words that may contain it; a merge touches only these. The most frequent pair comes from a
 * heap whose entries are updated when they reach the top: counts of old pairs only fall. */
#include "data/text/wordpiece_train.h"

#include "data/text/pretokenize.h"

#include <stdlib.h>

enum { ALPHABET = 1000 /* the most frequent characters */, MIN_COUNT = 2 /* a pair that occurs once is not merged */ };

struct word {
    uint32_t *piece; /* [n] */
    uint32_t n;
    int64_t count;
};

struct pair {
    uint32_t left, right; /* pieces */
    int64_t count;
    uint32_t *word; /* [n] words that contain it, or did; some twice */
    size_t n, cap;
    bool queued; /* in `fresh` */
};

struct entry {
    int64_t count;
    uint32_t pair;
};

struct learner {
    struct wl_arena *arena;
    struct wl_strs token;
    struct word *word; /* [words] */
    size_t words;

    struct pair *pair;
    size_t pairs, pair_cap;
    struct entry *heap;
    size_t heaped, heap_cap;
    uint32_t *fresh; /* pairs that the merge in progress created or increased */
    size_t fresh_n, fresh_cap;

    struct map {
        uint32_t *place; /* [places] index + 1, 0: free */
        size_t places;
    } pair_map, token_map;
};

/* ---- maps ------------------------------------------------------------------------------------------------------- */

static uint64_t pair_hash(uint32_t left, uint32_t right)
{
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 31;
}

static uint64_t hash_at(const struct learner *l, const struct map *m, uint32_t i)
{
    return m == &l->pair_map ? pair_hash(l->pair[i].left, l->pair[i].right) : wl_hash_fnv1a(l->token.v[i]);
}

static void map_put(const struct learner *l, struct map *m, uint32_t i)
{
    size_t at = hash_at(l, m, i) & (m->places - 1);
    while (m->place[at]) at = (at + 1) & (m->places - 1);
    m->place[at] = i + 1;
}

/* Entry n - 1 is new. */
static void map_add(struct learner *l, struct map *m, size_t n)
{
    if (2 * n > m->places) {
        m->places = m->places ? 2 * m->places : 1 << 12;
        m->place = wl_new_array(l->arena, uint32_t, m->places);
        for (uint32_t i = 0; i + 1 < n; i++) map_put(l, m, i);
    }
    map_put(l, m, (uint32_t)n - 1);
}

static struct pair *pair_find_or_add(struct learner *l, uint32_t left, uint32_t right)
{
    const struct map *m = &l->pair_map;
    for (size_t at = pair_hash(left, right) & (m->places - 1); m->places && m->place[at];
         at = (at + 1) & (m->places - 1)) {
        struct pair *p = &l->pair[m->place[at] - 1];
        if (p->left == left && p->right == right) return p;
    }
    WL_GROW(l->arena, l->pair, l->pairs, l->pair_cap);
    l->pair[l->pairs++] = (struct pair) { .left = left, .right = right };
    map_add(l, &l->pair_map, l->pairs);
    return &l->pair[l->pairs - 1];
}

static uint32_t token_find_or_add(struct learner *l, const char *text)
{
    const struct map *m = &l->token_map;
    for (size_t at = wl_hash_fnv1a(text) & (m->places - 1); m->places && m->place[at]; at = (at + 1) & (m->places - 1))
        if (wl_str_eq(l->token.v[m->place[at] - 1], text)) return m->place[at] - 1;
    wl_strs_add(l->arena, &l->token, text);
    map_add(l, &l->token_map, l->token.n);
    return (uint32_t)l->token.n - 1;
}

/* ---- the heap ---------------------------------------------------------------------------------------------------- */

static bool before(const struct learner *l, const struct entry *x, const struct entry *y)
{
    const struct pair *a = &l->pair[x->pair], *b = &l->pair[y->pair];
    if (x->count != y->count) return x->count > y->count;
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

static void swap(struct learner *l, size_t i, size_t k)
{
    struct entry keep = l->heap[i];
    l->heap[i] = l->heap[k];
    l->heap[k] = keep;
}

static void push(struct learner *l, uint32_t pair)
{
    WL_GROW(l->arena, l->heap, l->heaped, l->heap_cap);
    size_t i = l->heaped++;
    l->heap[i] = (struct entry) { l->pair[pair].count, pair };
    for (; i > 0 && before(l, &l->heap[i], &l->heap[(i - 1) / 2]); i = (i - 1) / 2) swap(l, i, (i - 1) / 2);
}

static struct entry pop(struct learner *l)
{
    struct entry top = l->heap[0];
    l->heap[0] = l->heap[--l->heaped];
    for (size_t i = 0, child; (child = 2 * i + 1) < l->heaped; i = child) {
        if (child + 1 < l->heaped && before(l, &l->heap[child + 1], &l->heap[child])) child++;
        if (!before(l, &l->heap[child], &l->heap[i])) break;
        swap(l, i, child);
    }
    return top;
}

/* The most frequent pair; false: none is frequent enough. */
static bool next_pair(struct learner *l, uint32_t *pair)
{
    while (l->heaped) {
        struct entry top = pop(l);
        int64_t now = l->pair[top.pair].count;
        *pair = top.pair;
        if (now == top.count && now >= MIN_COUNT) return true;
        if (now != top.count && now >= MIN_COUNT) push(l, top.pair);
    }
    return false;
}

/* ---- characters -------------------------------------------------------------------------------------------------- */

struct letter {
    uint32_t c;
    int64_t count;
};

static int by_count(const void *x, const void *y)
{
    const struct letter *a = x, *b = y;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return (a->c > b->c) - (a->c < b->c);
}

/* The characters to keep: one flag per Unicode character. */
static const bool *choose_alphabet(const struct wl_word_counts *words, struct wl_arena *a)
{
    enum { UNICODE = 0x110000 };
    int64_t *count = wl_new_array(a, int64_t, UNICODE);
    bool *keep = wl_new_array(a, bool, UNICODE);
    struct letter *letter = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < words->n; i++)
        for (uint32_t k = 0; k < words->words[i].n; k++) count[words->words[i].c[k]] += words->words[i].count;
    for (uint32_t c = 0; c < UNICODE; c++) {
        if (!count[c]) continue;
        WL_GROW(a, letter, n, cap);
        letter[n++] = (struct letter) { c, count[c] };
    }
    if (n) qsort(letter, n, sizeof *letter, by_count);
    for (size_t i = 0; i < n && i < ALPHABET; i++) keep[letter[i].c] = true;
    return keep;
}

static bool all_in_alphabet(const struct wl_word_count *x, const bool *keep)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (!keep[x->c[i]]) return false;
    return true;
}

static uint32_t letter_token(struct learner *l, uint32_t c, bool inside)
{
    char text[8] = "##";
    text[(inside ? 2 : 0) + wl_utf8_put(text + (inside ? 2 : 0), c)] = '\0';
    return token_find_or_add(l, text);
}

/* Every kept character becomes a token for the start of words and, if it occurs there, one for the inside: in the order
 * of Unicode, so that a token's id does not depend on the words. */
static void add_letters(struct learner *l, const struct wl_word_counts *words, const bool *keep, struct wl_arena *a)
{
    enum { UNICODE = 0x110000 };
    bool *inside = wl_new_array(a, bool, UNICODE);
    for (size_t i = 0; i < words->n; i++)
        for (uint32_t k = 1; k < words->words[i].n; k++) inside[words->words[i].c[k]] = true;
    for (uint32_t c = 0; c < UNICODE; c++)
        if (keep[c]) letter_token(l, c, false);
    for (uint32_t c = 0; c < UNICODE; c++)
        if (keep[c] && inside[c]) letter_token(l, c, true);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Adds `sign` times a word's count to its pairs. A positive sign also lists the word with the pairs that contain
 * `piece`, or with all of them for piece 0, which is [PAD] and never part of a word. */
static void count_pairs(struct learner *l, uint32_t word, int sign, uint32_t piece)
{
    const struct word *w = &l->word[word];
    for (uint32_t i = 0; i + 1 < w->n; i++) {
        struct pair *p = pair_find_or_add(l, w->piece[i], w->piece[i + 1]);
        p->count += sign * w->count;
        if (sign < 0 || (piece && p->left != piece && p->right != piece)) continue;
        WL_GROW(l->arena, p->word, p->n, p->cap);
        p->word[p->n++] = word;
        if (p->queued) continue;
        p->queued = true;
        WL_GROW(l->arena, l->fresh, l->fresh_n, l->fresh_cap);
        l->fresh[l->fresh_n++] = (uint32_t)(p - l->pair);
    }
}

static void queue_fresh(struct learner *l)
{
    for (size_t i = 0; i < l->fresh_n; i++) {
        l->pair[l->fresh[i]].queued = false;
        push(l, l->fresh[i]);
    }
    l->fresh_n = 0;
}

static void begin_words(struct learner *l, const struct wl_word_counts *from, const bool *keep)
{
    l->word = wl_new_array(l->arena, struct word, from->n);
    for (size_t i = 0; i < from->n; i++) {
        const struct wl_word_count *x = &from->words[i];
        if (x->n < 2 || !all_in_alphabet(x, keep)) continue;
        struct word *w = &l->word[l->words];
        *w = (struct word) { .piece = wl_new_array(l->arena, uint32_t, x->n), .n = x->n, .count = x->count };
        for (uint32_t k = 0; k < x->n; k++) w->piece[k] = letter_token(l, x->c[k], k > 0);
        count_pairs(l, (uint32_t)l->words++, 1, 0);
    }
    queue_fresh(l);
}

static bool has_pair(const struct word *w, uint32_t left, uint32_t right)
{
    for (uint32_t i = 0; i + 1 < w->n; i++)
        if (w->piece[i] == left && w->piece[i + 1] == right) return true;
    return false;
}

/* Replaces each pair of left and right by `piece`. */
static void join(struct word *w, uint32_t left, uint32_t right, uint32_t piece)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        bool here = i + 1 < w->n && w->piece[i] == left && w->piece[i + 1] == right;
        w->piece[n++] = here ? piece : w->piece[i];
        i += here;
    }
    w->n = n;
}

static void merge(struct learner *l, uint32_t pair)
{
    const struct pair p = l->pair[pair]; /* new pairs may move the others */
    const char *right = l->token.v[p.right];
    uint32_t piece = token_find_or_add(l, wl_strf(l->arena, "%s%s", l->token.v[p.left],
                                                  right + (wl_str_starts(right, "##") ? 2 : 0)));
    for (size_t i = 0; i < p.n; i++) {
        struct word *w = &l->word[p.word[i]];
        if (!has_pair(w, p.left, p.right)) continue;
        count_pairs(l, p.word[i], -1, 0);
        join(w, p.left, p.right, piece);
        count_pairs(l, p.word[i], 1, piece);
    }
    queue_fresh(l);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

int wl_wordpiece_train(const struct wl_word_counts *from, size_t size, struct wl_strs *tokens, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_arena *own = wl_arena_new(a);
    struct learner l = { .arena = own };
    const bool *keep = choose_alphabet(from, own);
    for (int i = 0; i < WL_SPECIAL_TOKENS; i++) token_find_or_add(&l, wl_special_token_names[i]);
    add_letters(&l, from, keep, own);
    int rc = 0;
    if (l.token.n > size)
        rc =
            wl_fail(e, WL_EINVAL,
                    "a vocabulary of %zu tokens is too small for %d special tokens and the %zu characters of this text",
                    size, WL_SPECIAL_TOKENS, l.token.n - WL_SPECIAL_TOKENS);
    if (!rc) begin_words(&l, from, keep);
    uint32_t pair;
    while (!rc && l.token.n < size && next_pair(&l, &pair)) merge(&l, pair);
    for (size_t i = 0; !rc && i < l.token.n; i++) wl_strs_add(a, tokens, l.token.v[i]);
    wl_arena_free(own);
    return rc;
}
