/* Vocabulary training gives the same as counting all pairs again for each merge, with any number of threads. */
#include "data/rng.h"
#include "temp_dir.h"

#include "data/text/wordpiece_train.h"

enum { SIZE = 300 };

/* Words of a few letters, often the same ones. */
static void fill_lexicon(struct wl_word_counts *l, uint64_t seed)
{
    for (int i = 0; i < 400; i++) {
        struct wl_rng d = wl_rng(seed, "word", 0, (uint64_t)i);
        uint32_t c[12], n = 1 + (uint32_t)wl_rng_below(&d, 12);
        for (uint32_t k = 0; k < n; k++) c[k] = 'a' + (uint32_t)(wl_rng_below(&d, 3) * wl_rng_below(&d, 3));
        wl_word_counts_add(l, c, n, 1 + (int64_t)wl_rng_below(&d, 20));
    }
}

/* ---- reference implementation ---- */

struct plain_word {
    int piece[12], n;
    int64_t count;
};

static int index_of(struct wl_strs *tokens, const char *text, struct wl_arena *a)
{
    for (size_t i = 0; i < tokens->n; i++)
        if (wl_str_eq(tokens->v[i], text)) return (int)i;
    wl_strs_add(a, tokens, text);
    return (int)tokens->n - 1;
}

static bool best_pair(const struct plain_word *w, size_t words, int *left, int *right)
{
    static int64_t count[SIZE + 16][SIZE + 16];
    int64_t highest = 1;
    memset(count, 0, sizeof count);
    for (size_t i = 0; i < words; i++)
        for (int k = 0; k + 1 < w[i].n; k++) count[w[i].piece[k]][w[i].piece[k + 1]] += w[i].count;
    for (int x = 0; x < SIZE + 16; x++)
        for (int y = 0; y < SIZE + 16; y++)
            if (count[x][y] > highest) {
                highest = count[x][y];
                *left = x;
                *right = y;
            }
    return highest > 1;
}

static void merge_everywhere(struct plain_word *w, size_t words, int left, int right, int piece)
{
    for (size_t i = 0; i < words; i++) {
        int n = 0;
        for (int k = 0; k < w[i].n; k++) {
            bool here = k + 1 < w[i].n && w[i].piece[k] == left && w[i].piece[k + 1] == right;
            w[i].piece[n++] = here ? piece : w[i].piece[k];
            k += here;
        }
        w[i].n = n;
    }
}

/* `tokens` holds the special tokens and characters already. */
static void learn_by_recounting(const struct wl_word_counts *l, struct wl_strs *tokens, struct wl_arena *a)
{
    struct plain_word *w = wl_new_array(a, struct plain_word, l->n);
    int left = 0, right = 0;
    for (size_t i = 0; i < l->n; i++) {
        w[i].count = l->words[i].count;
        for (uint32_t k = 0; k < l->words[i].n; k++)
            w[i].piece[w[i].n++] = index_of(tokens, wl_strf(a, "%s%c", k ? "##" : "", (char)l->words[i].c[k]), a);
    }
    while (tokens->n < SIZE && best_pair(w, l->n, &left, &right)) {
        const char *text = wl_strf(a, "%s%s", tokens->v[left], tokens->v[right] + 2);
        merge_everywhere(w, l->n, left, right, index_of(tokens, text, a));
    }
}

static void merges_equal_those_of_recounting(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e = { 0 };
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct wl_word_counts l = { .arena = p->arena };
        struct wl_strs tokens = { 0 }, letters = { 0 };
        fill_lexicon(&l, seed);
        if (wl_wordpiece_train(&l, SIZE, &tokens, p->arena, &e)) fail_msg("%s", e.msg);
        for (size_t i = 0; i < tokens.n; i++) { /* up to the last character */
            const char *t = tokens.v[i];
            if (t[0] == '[' || !t[1] || (wl_str_starts(t, "##") && !t[3])) wl_strs_add(p->arena, &letters, t);
        }
        learn_by_recounting(&l, &letters, p->arena);
        assert_int_equal(tokens.n, letters.n);
        for (size_t i = 0; i < tokens.n; i++) assert_string_equal(tokens.v[i], letters.v[i]);
    }
}

static void too_small_vocabulary_is_refused(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e = { 0 };
    struct wl_word_counts l = { .arena = p->arena };
    struct wl_strs tokens = { 0 };
    wl_word_counts_add(&l, (const uint32_t[]) { 'a', 'b' }, 2, 9);
    assert_int_equal(wl_wordpiece_train(&l, 7, &tokens, p->arena, &e), WL_EINVAL);
    assert_string_equal(e.msg,
                        "a vocabulary of 7 tokens is too small for 5 special tokens and the 3 characters of this text");
    assert_int_equal(wl_wordpiece_train(&l, 100, &tokens, p->arena, &e), 0);
    assert_int_equal(tokens.n, 9); /* a, b, ##b, ab */
    assert_string_equal(tokens.v[8], "ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(merges_equal_those_of_recounting, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(too_small_vocabulary_is_refused, temp_dir_setup, temp_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
