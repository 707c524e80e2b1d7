/* From texts to token files: packing, parts, threads, and errors. */
#include "base/base.h"
#include "data/rng.h"
#include "temp_dir.h"

static const char vocab_text[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##b\n";
enum { PAD, UNK, CLS, SEP, MASK, A, B, C, INSIDE_B };

static const char *put(const struct temp_dir *p, const char *name, const char *text, size_t n)
{
    struct wl_err e = { 0 };
    const char *path = wl_path_join(p->arena, p->root, name);
    if (wl_mkdirs(wl_path_dir(p->arena, path), &e) || wl_file_write(path, text, n, &e)) fail_msg("%s", e.msg);
    return path;
}

static struct wl_corpus_opts options(const struct temp_dir *p, const char *text, const char *val)
{
    struct wl_corpus_opts o = { .dir = p->dir, .sequence = 4, .threads = 2 };
    o.vocab = put(p, "given.txt", vocab_text, strlen(vocab_text));
    wl_strs_add(p->arena, &o.text, text);
    if (val) wl_strs_add(p->arena, &o.val_text, val);
    return o;
}

static struct wl_corpus_stats make_corpus(const struct temp_dir *p, const struct wl_corpus_opts *o)
{
    struct wl_corpus_stats m;
    struct wl_err e = { 0 };
    if (wl_corpus_write(o, false, &m, p->arena, &e)) fail_msg("%s", e.msg);
    return m;
}

static void assert_tokens(const struct temp_dir *p, const char *name, const int *want, size_t n)
{
    struct wl_token_file t;
    struct wl_err e = { 0 };
    if (wl_token_file_open(&t, temp_dir_path(p, name), p->arena, &e)) fail_msg("%s", e.msg);
    assert_int_equal(t.n, n);
    assert_int_equal(t.width, 2);
    for (size_t i = 0; i < n; i++) assert_int_equal(wl_le_read(t.data + 2 * i, 2), want[i]);
}

static void lines_get_cls_and_sep(void **state)
{
    struct temp_dir *p = *state;
    static const int train[] = { CLS, A, INSIDE_B, SEP, CLS, SEP, CLS, C }, val[] = { CLS, A, SEP, CLS };
    struct wl_corpus_opts o = options(p, put(p, "t", "ab\n\nc b", 7), put(p, "v", "a\n\n", 3));
    struct wl_corpus_stats m = make_corpus(p, &o);
    assert_tokens(p, WL_TRAIN_TOKENS, train, 8); /* b and its [SEP] fill no sequence */
    assert_tokens(p, WL_VAL_TOKENS, val, 4);
    assert_int_equal(m.train_tokens, 8);
    assert_int_equal(m.tokens, 10 + 5);
    assert_int_equal(m.units, 3 + 2);
}

static void paragraphs_get_cls_and_sep(void **state)
{
    struct temp_dir *p = *state;
    static const int train[] = { CLS, A, B, SEP, CLS, C, A, SEP }, val[] = { CLS, A, B, SEP };
    struct wl_corpus_opts o = options(p, put(p, "t", "a\nb\n \t\n\n\nc\na\n", 14), put(p, "v", "a b\n\n", 5));
    o.unit = WL_TEXT_UNIT_PARAGRAPH;
    make_corpus(p, &o);
    assert_tokens(p, WL_TRAIN_TOKENS, train, 8);
    assert_tokens(p, WL_VAL_TOKENS, val, 4);
}

static void files_get_cls_and_sep(void **state)
{
    struct temp_dir *p = *state;
    static const int train[] = { CLS, A, A, SEP, CLS, B, B, SEP };
    put(p, "texts/1", "a\n\na", 4);
    put(p, "texts/0-empty", "", 0);
    put(p, "texts/more/x", "b\nb\n", 4);
    put(p, "texts/.hidden", "c", 1);
    put(p, "texts/2-binary", "c\0c", 3);
    struct wl_corpus_opts o = options(p, wl_path_join(p->arena, p->root, "texts"), put(p, "v", "a b c a", 7));
    o.unit = WL_TEXT_UNIT_FILE;
    struct wl_corpus_stats m = make_corpus(p, &o);
    assert_tokens(p, WL_TRAIN_TOKENS, train, 8);
    assert_int_equal(m.files_skipped, 1);
}

static void wikitext_folder_is_recognised(void **state)
{
    struct temp_dir *p = *state;
    static const int train[] = { CLS, A, A, SEP }, val[] = { CLS, B, B, SEP };
    put(p, "wiki/wiki.train.raw", "a a\n", 4);
    put(p, "wiki/wiki.valid.raw", "b b\n", 4);
    put(p, "wiki/wiki.test.raw", "c c\n", 4);
    struct wl_corpus_opts o = options(p, wl_path_join(p->arena, p->root, "wiki"), NULL);
    make_corpus(p, &o);
    assert_tokens(p, WL_TRAIN_TOKENS, train, 4);
    assert_tokens(p, WL_VAL_TOKENS, val, 4);
}

/* Some MB of lines of all lengths, so that there are many blocks. */
static const char *long_text(const struct temp_dir *p, size_t bytes)
{
    struct wl_text t = WL_TEXT(p->arena);
    for (uint64_t i = 0; t.n < bytes; i++) {
        struct wl_rng d = wl_rng(1, "line", 0, i);
        for (uint64_t n = wl_rng_below(&d, 60); n--;) wl_text_add(&t, wl_rng_below(&d, 2) ? "ab " : "c");
        wl_text_add(&t, "\n");
    }
    return put(p, "long", t.s, t.n);
}

static void assert_same_file(const struct temp_dir *p, const char *a, const char *b)
{
    struct wl_err e;
    char *x, *y;
    size_t n, m;
    assert_int_equal(wl_file_read(wl_path_join(p->arena, p->root, a), 1 << 30, &x, &n, p->arena, &e), 0);
    assert_int_equal(wl_file_read(wl_path_join(p->arena, p->root, b), 1 << 30, &y, &m, p->arena, &e), 0);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
}

static void threads_do_not_change_the_files(void **state)
{
    struct temp_dir *p = *state;
    struct wl_corpus_opts o = options(p, long_text(p, 5 << 20), NULL);
    o.val_fraction = 0.1;
    o.vocab = NULL;
    o.vocab_size = 30;
    for (o.threads = 1; o.threads <= 4; o.threads += 3) {
        o.dir = wl_path_join(p->arena, p->root, o.threads == 1 ? "one" : "four");
        struct wl_corpus_stats m = make_corpus(p, &o);
        assert_int_equal(m.vocabulary, 30);
        uint64_t sequences = (m.train_tokens + m.val_tokens) / 4;
        assert_int_equal(m.val_tokens / 4, sequences / 10);
    }
    assert_same_file(p, "one/" WL_VOCAB_FILE, "four/" WL_VOCAB_FILE);
    assert_same_file(p, "one/" WL_TRAIN_TOKENS, "four/" WL_TRAIN_TOKENS);
    assert_same_file(p, "one/" WL_VAL_TOKENS, "four/" WL_VAL_TOKENS);
}

static void refused(const struct temp_dir *p, const struct wl_corpus_opts *o, int code, const char *why)
{
    struct wl_corpus_stats m;
    struct wl_err e = { 0 };
    assert_int_equal(wl_corpus_write(o, false, &m, p->arena, &e), code);
    if (!strstr(e.msg, why)) fail_msg("'%s' does not say '%s'", e.msg, why);
    assert_false(wl_is_file(temp_dir_path(p, WL_TRAIN_TOKENS)));
}

static void bad_texts_are_refused(void **state)
{
    struct temp_dir *p = *state;
    const char *good = put(p, "good", "a b a b a b\n", 12);
    struct wl_corpus_opts o = options(p, put(p, "empty", "", 0), good);
    refused(p, &o, WL_EINVAL, "empty: contains no text");
    o = options(p, put(p, "blank", "\n \n", 3), put(p, "blank too", "\n", 1));
    refused(p, &o, WL_EINVAL, "the text contains no words");
    o = options(p, put(p, "short", "a", 1), good);
    refused(p, &o, WL_EINVAL, "too short for a training sequence of 4");
    o = options(p, put(p, "foreign", "xyz uvw xyz\n", 12), put(p, "other", "q r s t\n", 8));
    refused(p, &o, WL_EINVAL, "every word is [UNK]");
    o = options(p, good, put(p, "short", "a", 1));
    refused(p, &o, WL_EINVAL, "too short for a validation sequence of 4");
    o = options(p, good, NULL);
    o.val_fraction = 0.05;
    refused(p, &o, WL_EINVAL, "too short for a validation sequence of 4");
    o = options(p, wl_path_join(p->arena, p->root, "nowhere"), good);
    refused(p, &o, WL_ENOENT, "nowhere");
    o = options(p, put(p, "blank", "\n \n", 3), good);
    o.vocab = NULL;
    o.vocab_size = 100;
    refused(p, &o, WL_EINVAL, "contains no words to train a vocabulary on");
}

/* Files in the folder that are not from an earlier call may be the user's. */
static void files_of_the_user_are_kept(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e = { 0 };
    struct wl_corpus_stats m;
    char *text;
    struct wl_corpus_opts o = options(p, put(p, "t", "ab\n\nc b", 7), put(p, "v", "a\n\n", 3));
    const char *vocab = temp_dir_path(p, WL_VOCAB_FILE), *val = temp_dir_path(p, WL_VAL_TOKENS);
    const char other[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nz\n";
    if (wl_mkdirs(p->dir, &e) || wl_file_write(vocab, other, strlen(other), &e)) fail_msg("%s", e.msg);
    assert_int_equal(wl_corpus_write(&o, false, &m, p->arena, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "a different vocabulary exists already"));
    assert_int_equal(wl_file_read(vocab, 1 << 16, &text, NULL, p->arena, &e), 0);
    assert_string_equal(text, other);
    assert_int_equal(unlink(vocab), 0);
    if (wl_file_write(val, "theirs", 6, &e)) fail_msg("%s", e.msg);
    assert_int_equal(wl_corpus_write(&o, false, &m, p->arena, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "token files exist already"));
    assert_int_equal(unlink(val), 0);
    if (wl_file_write(vocab, vocab_text, strlen(vocab_text), &e))
        fail_msg("%s", e.msg); /* of a call that was cut off */
    make_corpus(p, &o);
}

static void existing_tokens_are_not_overwritten(void **state)
{
    struct temp_dir *p = *state;
    const char *good = put(p, "good", "a b a b a b\n", 12);
    struct wl_corpus_opts o = options(p, good, good);
    struct wl_corpus_stats m;
    struct wl_err e = { 0 };
    make_corpus(p, &o);
    assert_int_equal(wl_corpus_write(&o, false, &m, p->arena, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "token files exist already"));
}

static void damaged(const struct temp_dir *p, long at, int byte, const char *why)
{
    struct wl_token_file t;
    struct wl_err e = { 0 };
    const char *path = temp_dir_path(p, WL_TRAIN_TOKENS);
    char *text;
    size_t n;
    assert_int_equal(wl_file_read(path, 1 << 20, &text, &n, p->arena, &e), 0);
    temp_dir_poke_byte(path, at, byte);
    assert_true(wl_token_file_open(&t, path, p->arena, &e) < 0);
    if (!strstr(e.msg, why)) fail_msg("'%s' does not say '%s'", e.msg, why);
    assert_int_equal(wl_file_write(path, text, n, &e), 0);
}

static void damaged_token_file_is_refused(void **state)
{
    struct temp_dir *p = *state;
    const char *good = put(p, "good", "a b a b a b\n", 12), *path = temp_dir_path(p, WL_TRAIN_TOKENS);
    struct wl_corpus_opts o = options(p, good, good);
    struct wl_token_file t;
    struct wl_err e = { 0 };
    make_corpus(p, &o);
    damaged(p, 0, 'X', "not a token file");
    damaged(p, 8, 9, "format version 9");
    damaged(p, 16, 99, "the header is damaged");
    damaged(p, 130, 99, "the tokens are damaged");
    assert_int_equal(truncate(path, 140), 0);
    assert_int_equal(wl_token_file_open(&t, path, p->arena, &e), WL_EIO);
    assert_non_null(strstr(e.msg, "140 bytes, but the header gives 8 tokens of 2 bytes after 128 bytes of header"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_get_cls_and_sep),           TEST(paragraphs_get_cls_and_sep),
        TEST(files_get_cls_and_sep),           TEST(wikitext_folder_is_recognised),
        TEST(threads_do_not_change_the_files), TEST(bad_texts_are_refused),
        TEST(files_of_the_user_are_kept),      TEST(existing_tokens_are_not_overwritten),
        TEST(damaged_token_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
