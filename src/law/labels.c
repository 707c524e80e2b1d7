#include "law/labels.h"

#include <math.h>
#include <string.h>

typedef bool same_kind(const void *ctx, size_t a, size_t b);

/* Numbers the kinds of rows in order of first appearance; `same` compares two rows of one hash. Returns the number of
 * kinds. */
static size_t number_kinds(const uint64_t *hash, size_t n, same_kind *same, const void *ctx, size_t *ids,
                           struct wl_arena *scratch)
{
    size_t size = 16, count = 0;
    while (size < 2 * n) size *= 2;
    size_t *first = wl_new_array(scratch, size_t, size); /* row + 1, open addressing */
    for (size_t i = 0; i < n; i++) {
        size_t at = hash[i] & (size - 1);
        while (first[at] && !same(ctx, first[at] - 1, i)) at = (at + 1) & (size - 1);
        if (!first[at]) {
            first[at] = i + 1;
            ids[i] = count++;
        } else {
            ids[i] = ids[first[at] - 1];
        }
    }
    return count;
}

static bool same_text(const void *ctx, size_t a, size_t b)
{
    const char *const *texts = ctx;
    return texts[a] == texts[b] || strcmp(texts[a], texts[b]) == 0;
}

size_t wl_law_labels(const char *const *texts, size_t n, size_t *ids, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    uint64_t *hash = wl_new_array(scratch, uint64_t, n);
    for (size_t i = 0; i < n; i++) hash[i] = wl_hash_fnv1a(texts[i]);
    size_t count = number_kinds(hash, n, same_text, texts, ids, scratch);
    wl_arena_free(scratch);
    return count;
}

static bool same_number(const void *ctx, size_t a, size_t b)
{
    const double *v = ctx;
    return v[a] == v[b] || (isnan(v[a]) && isnan(v[b]));
}

const char **wl_law_labels_of_numbers(const double *v, size_t n, int digits, struct wl_arena *texts_in,
                                      struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    size_t *ids = wl_new_array(scratch, size_t, n);
    const char **texts = wl_new_array(a, const char *, n), **of = wl_new_array(scratch, const char *, n);
    uint64_t *hash = wl_new_array(scratch, uint64_t, n);
    for (size_t i = 0; i < n; i++) {
        const double known = isnan(v[i]) ? 0 : v[i] + 0.0; /* -0 and 0 are the same */
        memcpy(&hash[i], &known, sizeof known);
        hash[i] = (hash[i] * 0x9e3779b97f4a7c15u) >> 20;
    }
    number_kinds(hash, n, same_number, v, ids, scratch);
    for (size_t i = 0; i < n; i++) {
        if (!of[ids[i]]) of[ids[i]] = isnan(v[i]) ? "" : wl_strf(texts_in, "%.*g", digits, v[i]);
        texts[i] = of[ids[i]];
    }
    wl_arena_free(scratch);
    return texts;
}

struct pairs {
    const size_t *of, *text;
};

static bool same_pair(const void *ctx, size_t a, size_t b)
{
    const struct pairs *p = ctx;
    return p->of[a] == p->of[b] && p->text[a] == p->text[b];
}

size_t wl_law_labels_within(const size_t *of, const char *const *texts, size_t n, size_t *ids, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    size_t *text = wl_new_array(scratch, size_t, n);
    uint64_t *hash = wl_new_array(scratch, uint64_t, n);
    wl_law_labels(texts, n, text, scratch);
    for (size_t i = 0; i < n; i++) hash[i] = (of[i] * 0x9e3779b97f4a7c15u + text[i] * 0xc2b2ae3d27d4eb4fu) >> 20;
    size_t count = number_kinds(hash, n, same_pair, &(struct pairs) { of, text }, ids, scratch);
    wl_arena_free(scratch);
    return count;
}
