/* Words and pieces, case by case; vocabularies that are refused. */
#include "temp_dir.h"

#include "data/text/pretokenize.h"
#include "data/text/vocab_trie.h"

/* The words of a text, joined by '|'; special tokens and words that are too long by their name and length. */
static const char *words_of(struct wl_arena *a, const char *text, size_t n)
{
    struct wl_pretokenizer w = { .p = (const uint8_t *)text, .end = (const uint8_t *)text + n };
    struct wl_text out = WL_TEXT(a);
    while (wl_pretokenizer_next(&w)) {
        if (out.n) wl_text_add(&out, "|");
        if (w.special >= 0) wl_text_addf(&out, "<%s>", wl_special_token_names[w.special]);
        if (w.n > WL_WORD_MAX) wl_text_addf(&out, "<%zu>", w.n);
        for (size_t i = 0; i < w.n && w.n <= WL_WORD_MAX; i++) {
            char c[4];
            wl_text_addn(&out, c, wl_utf8_put(c, w.c[i]));
        }
    }
    return out.s;
}

static void words_are_split_as_in_bert(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "" },
        { " \t\r\n", "" },
        { "Hello, World!", "hello|,|world|!" },
        { "don't x=y+z $5", "don|'|t|x|=|y|+|z|$|5" },
        { "Caf\u00e9 cafe\u0301 \u00c5ngstr\u00f6m", "cafe|cafe|angstrom" },
        { "\u0130stanbul I\u0131 \u03a3\u0391\u03a3", "istanbul|i\u0131|\u03c3\u03b1\u03c3" },
        { "a\u4e2db\u6587", "a|\u4e2d|b|\u6587" },
        { "\uf900", "\u8c48" },                                     /* a compatibility ideograph */
        { "\ud55c\uae00", "\u1112\u1161\u11ab\u1100\u1173\u11af" }, /* syllables come apart */
        { "\ufb01x", "\ufb01x" },                                   /* a ligature stays: NFD, not NFKD */
        { "a\u200bb\u00adc\ufeffd\u200de", "abcde" },               /* formats fall away */
        { "a\u00a0b\u3000c\u2028d", "a|b|c|d" },
        { "\u00bfqu\u00e9?", "\u00bf|que|?" },
        { "a\u2260b", "a|=|b" }, /* punctuation and a mark */
        { "\u05e9\u05c1\u05dc\u05d5\u05dd", "\u05e9\u05dc\u05d5\u05dd" },
        { "\U0001f600ok", "\U0001f600ok" },
        { "[MASK]a[SEP][mask][UNK", "<[MASK]>|a|<[SEP]>|[|mask|]|[|unk" },
        { "a\xff\x80z \xed\xa0\x80q \xc0\xaf \xe2\x82(", "az|q|(" },            /* no UTF-8 */
        { "\U0001d158\U0001d16d\U0001d165", "\U0001d158\U0001d165\U0001d16d" }, /* marks in canonical order */
    };
    struct temp_dir *p = *state;
    for (size_t i = 0; i < WL_COUNT(cases); i++)
        assert_string_equal(words_of(p->arena, cases[i].text, strlen(cases[i].text)), cases[i].words);
    assert_string_equal(words_of(p->arena, "a\0b\1c", 5), "abc");
}

static void long_words_are_unknown(void **state)
{
    struct temp_dir *p = *state;
    char text[2 * WL_WORD_MAX + 4];
    memset(text, 'x', sizeof text);
    assert_int_equal(strlen(words_of(p->arena, text, WL_WORD_MAX)), WL_WORD_MAX);
    assert_string_equal(words_of(p->arena, text, WL_WORD_MAX + 1), "<101>");
    for (size_t i = 0; i < WL_WORD_MAX + 1; i++) memcpy(text + 2 * i, "\u00e9", 2);
    assert_int_equal(strlen(words_of(p->arena, text, 2 * WL_WORD_MAX)), WL_WORD_MAX);
}

/* wl_tokenize promises at most one token per byte. */
static void tokens_are_at_most_the_bytes(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x110000; c++) {
        char bytes[4];
        if (c >= 0xd800 && c < 0xe000) continue;
        assert_true(wl_unicode_fold(c).n <= wl_utf8_put(bytes, c));
    }
}

static const char vocab_text[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\naffable\n##a\n,\nthe\n##\u00e9\r\nx";

static const char *write_text(const struct temp_dir *p, const char *name, const char *text, size_t n)
{
    struct wl_err e = { 0 };
    const char *path = wl_path_join(p->arena, p->root, name);
    if (wl_file_write(path, text, n, &e)) fail_msg("%s", e.msg);
    return path;
}

static void longest_pieces_are_taken(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e = { 0 };
    struct wl_vocab *v;
    static const char text[] = "Unaffable, unaffx affable the[MASK]xa";
    static const uint32_t want[] = { 5, 6, 7, 10, 1, 8, 11, 4, 13, 9 };
    uint32_t ids[sizeof text];
    const char *path = write_text(p, "vocab.txt", vocab_text, strlen(vocab_text));
    if (wl_vocab_read(&v, path, p->arena, &e)) fail_msg("%s", e.msg);
    assert_int_equal(wl_vocab_size(v), 14);
    assert_int_equal(wl_vocab_special_token(v, WL_TOKEN_MASK), 4);
    assert_string_equal(wl_vocab_token(v, 12), "##\u00e9"); /* without the carriage return */
    assert_int_equal(wl_tokenize(v, text, strlen(text), ids), WL_COUNT(want));
    assert_memory_equal(ids, want, sizeof want);
}

static void refused(const struct temp_dir *p, const char *text, size_t n, const char *why)
{
    struct wl_err e = { 0 };
    struct wl_vocab *v;
    const char *path = write_text(p, "bad.txt", text, n);
    assert_int_equal(wl_vocab_read(&v, path, p->arena, &e), WL_EINVAL);
    if (!strstr(e.msg, why)) fail_msg("'%s' does not say '%s'", e.msg, why);
}

static void bad_vocabularies_are_refused(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e = { 0 };
    struct wl_vocab *v;
    refused(p, "", 0, "the file is empty");
    refused(p, "[PAD]\na\nb\n", 10, "the vocabulary of 3 tokens lacks [UNK] [CLS] [SEP] [MASK]");
    refused(p, "a\nb\na\n", 6, "bad.txt:3: the token \"a\" duplicates line 1");
    refused(p, "a\n\nb\n", 5, "bad.txt:2: the line is empty");
    refused(p, "a\nb\xff\n", 5, "bad.txt:2: the token is not valid UTF-8");
    refused(p, "a\0b\n", 4, "NUL byte");
    assert_int_equal(wl_vocab_read(&v, "/proc/nowhere/vocab.txt", p->arena, &e), WL_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words_are_split_as_in_bert, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(long_words_are_unknown, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test(tokens_are_at_most_the_bytes),
        cmocka_unit_test_setup_teardown(longest_pieces_are_taken, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(bad_vocabularies_are_refused, temp_dir_setup, temp_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
