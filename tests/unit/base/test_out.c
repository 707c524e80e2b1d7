/* What people read: formats as printf's, and nothing in an argument that a terminal would obey. */
#include "base/base.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What is on stderr after the call, up to the last byte. */
static char captured[1 << 17];

static int begin(void)
{
    fflush(stderr);
    int saved_fd = dup(STDERR_FILENO),
        fd = open(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", O_TMPFILE | O_RDWR, 0600);
    assert_true(saved_fd >= 0 && fd >= 0);
    dup2(fd, STDERR_FILENO);
    close(fd);
    return saved_fd;
}

static const char *end(int saved_fd)
{
    ssize_t n = pread(STDERR_FILENO, captured, sizeof captured - 1, 0);
    dup2(saved_fd, STDERR_FILENO);
    close(saved_fd);
    captured[n > 0 ? n : 0] = '\0';
    return captured;
}

#define PRINTED(wanted_, ...)                        \
    do {                                             \
        int saved_fd = begin();                      \
        wl_eprint(__VA_ARGS__);                      \
        assert_string_equal(end(saved_fd), wanted_); \
    } while (0)

/* The same as snprintf, where nothing has to be escaped. */
#define SAME(...)                                     \
    do {                                              \
        char wanted[2048];                            \
        snprintf(wanted, sizeof wanted, __VA_ARGS__); \
        PRINTED(wanted, __VA_ARGS__);                 \
    } while (0)

static void formats_match_printf(void **state)
{
    (void)state;
    SAME("plain\n\ttext, 100 %%\n");
    SAME("%d %i %5d|%-5d|%05d|%+d|% d|%x|%#X|%o|%u", 1, -2, 3, 4, 5, 6, 7, 255u, 255u, 8u, 9u);
    SAME("%hhd %hd %ld %lld %zu %jd %td", (signed char)1, (short)2, -3L, -4LL, (size_t)5, (intmax_t)6, (ptrdiff_t)7);
    SAME("%llu %lu %lx", ~0ULL, ~0UL, 0xabcUL);
    SAME("%f %.0f %.3f %8.2f|%-8.2f|%e %g %.4g %+.2f %.17g %Lf", 1.5, 2.5, 3.14159, 4.0, 5.0, 6e10, 7e-9, 12345.678,
         8.0, 0.1, 9.0L);
    SAME("%g %g %.3g", NAN, INFINITY, -INFINITY);
    SAME("%.*f|%*d|%-*d|%*d", 2, 3.14159, 6, 42, 6, 42, -6, 42);
    SAME("%s|%10s|%-10s|%.3s|%10.3s|%-10.3s|%.*s|%*s", "abc", "abc", "abc", "abcdef", "abcdef", "abcdef", 2, "abcdef",
         6, "ab");
    SAME("%c%c%3c|%-3c|", 'a', 'b', 'c', 'd');
    SAME("%.3s", (const char[]) { 'a', 'b', 'c' }); /* not terminated: no more than the precision is read */
    SAME("%p", (void *)captured);
    SAME("%.100f", 1e300);
}

static void arguments_are_escaped(void **state)
{
    (void)state;
    PRINTED("name \\x1b]52;c;AAAA\\x07 end\n", "name %s end\n", "\033]52;c;AAAA\a");
    PRINTED("a\\nerror: fake\n", "%s\n", "a\nerror: fake");
    PRINTED("\\t\\r\\x7f\\x00|", "%s%c|", "\t\r\x7f", 0);
    PRINTED("\\u{9b}31m \\x9b \\u{85}", "%s",
            "\xc2\x9b"
            "31m \x9b \xc2\x85");
    PRINTED("\\u{202e}\\u{2066}\\u{61c}\\u{200f}\\u{2028}\\u{200b}\\u{feff}\\u{e0041}\\u{ad}", "%s",
            "\u202e\u2066\u061c\u200f\u2028\u200b\ufeff\U000e0041\u00ad");
    PRINTED("\\u{3164}\\u{34f}\\u{ffa0}\\u{e0101}\\u{1d173}\\u{fff0}\\u{115f}", "%s",
            "\u3164\u034f\uffa0\U000e0101\U0001d173\ufff0\u115f");
    PRINTED("\u2764\ufe0f \ud55c\uae00 e\u0301 \u06dd", "%s",
            "\u2764\ufe0f \ud55c\uae00 e\u0301 \u06dd"); /* that people write */
    PRINTED("µ β 日本 é 😀", "%s", "µ β 日本 é 😀");
    PRINTED("\\xc3(\\xed\\xa0\\x80\\xff", "%s", "\xc3(\xed\xa0\x80\xff"); /* not UTF-8: cut, a surrogate, no lead */
    PRINTED("  \\x1b|β   |\\n", "%6s|%-4s|%s", "\033", "β", "\n");        /* widths of what is shown */
    PRINTED("ab", "%.3s", "ab\xc3\xa9"); /* a precision that would cut a character leaves it out */
    PRINTED("ab\xc3\xa9", "%.4s", "ab\xc3\xa9");
    const char *volatile none = NULL;
    PRINTED("(null)", "%s", none);
}

/* Text of ours in several lines; and longer than what is gathered at once. */
static void line_ends_of_texts_are_kept(void **state)
{
    (void)state;
    int saved_fd = begin();
    wl_print_text(WL_STDERR, "a\n\tb\r\033[2Jc\n");
    assert_string_equal(end(saved_fd), "a\n\tb\\r\\x1b[2Jc\n");
    enum { N = 100000 };
    char *text = malloc(N + 1);
    memset(text, 'x', N);
    text[N] = '\0';
    text[5000] = '\033';
    saved_fd = begin();
    wl_eprint("<%s>", text);
    const char *all = end(saved_fd);
    assert_int_equal(strlen(all), N + 3 + 2);
    assert_memory_equal(all + 5001, "\\x1bx", 5);
    free(text);
}

static void a_log_message_is_one_line(void **state)
{
    (void)state;
    int saved_fd = begin();
    wl_log(WL_ERROR, "area", "%s: no", "file\nerror area: fake\033[0m");
    assert_string_equal(end(saved_fd), "error area: file\\nerror area: fake\\x1b[0m: no\n");
}

/* Escaped text stays as it is, wherever it is cut, and no byte that a terminal obeys is left. */
static void escaping_twice_changes_nothing(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char s[24] = "";
        for (size_t i = 0; i < sizeof s - 1; i++) {
            static const unsigned char often[] = "\xe2\x80\xae\xc2\x9b\xf3\xa0\x81\x81\033\nab\xef\xbb\xbf";
            seed = seed * 1664525 + 1013904223;
            s[i] = (char)(seed >> 30 ? often[(seed >> 8) % (sizeof often - 1)] : 1 + (seed >> 16) % 255);
        }
        const char *once = wl_printable(a, s, WL_PRINTABLE_LINE);
        assert_string_equal(wl_printable(a, once, WL_PRINTABLE_LINE), once);
        for (const char *p = once; *p;) {
            const size_t n = wl_utf8_length(p);
            assert_true(n > 0);
            assert_true(wl_is_printable(wl_utf8_decode(p, n)));
            p += n;
        }
        wl_arena_free(a);
        a = wl_arena_new(NULL);
    }
    wl_arena_free(a);
}

/* JSON that goes to a terminal is read back as what it was. */
static void escaped_json_has_the_same_values(void **state)
{
    (void)state;
    static const char hostile[] = "\033]0;x\a \x7f \xc2\x9b \u202e \u2028 \ufeff \U000e0041 µ 日 é 😀 \" \\ \n";
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_json *root = wl_json_root_object(a), *back;
    wl_json_add_str(root, hostile, hostile);
    const char *text = wl_json_printable(wl_json_text(root, 2, a), a);
    assert_string_equal(wl_printable(a, text, WL_PRINTABLE_TEXT), text);
    assert_int_equal(wl_json_parse(text, "text", &back, a, &e), 0);
    assert_string_equal(wl_json_str(wl_json_get(back, hostile)), hostile);
    wl_arena_free(a);
}

/* Without a terminal the line has 79 columns, as on one of 80. An escape that does not fit is left out whole. */
static void the_progress_line_is_cut_to_the_width(void **state)
{
    (void)state;
    char line[100], wanted[100];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\0';
    snprintf(wanted, sizeof wanted, "\r\033[K%.79s", line);
    int saved_fd = begin();
    wl_out_status_draw(line);
    assert_string_equal(end(saved_fd), wanted);
    line[76] = '\x1b'; /* is printed as \x1b, in four columns */
    snprintf(wanted, sizeof wanted, "\r\033[K%.76s", line);
    saved_fd = begin();
    wl_out_status_draw(line);
    assert_string_equal(end(saved_fd), wanted);
    line[75] = '\n';
    snprintf(wanted, sizeof wanted, "\r\033[K%.75s\\n", line);
    saved_fd = begin();
    wl_out_status_draw(line);
    assert_string_equal(end(saved_fd), wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_match_printf),
        cmocka_unit_test(arguments_are_escaped),
        cmocka_unit_test(line_ends_of_texts_are_kept),
        cmocka_unit_test(a_log_message_is_one_line),
        cmocka_unit_test(escaping_twice_changes_nothing),
        cmocka_unit_test(escaped_json_has_the_same_values),
        cmocka_unit_test(the_progress_line_is_cut_to_the_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
