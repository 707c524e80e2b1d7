#include "mark/mark.h"

#include <math.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static int parse(struct wl_mark *m, const char *line, struct wl_err *e)
{
    return wl_mark_parse(m, line, strlen(line), "m:1", e);
}

static void a_mark_owns_its_fields(void **state)
{
    struct wl_mark m, copy;
    struct wl_err e = { 0 };
    (void)state;
    assert_int_equal(parse(&m, "123456789012 3 epoch-end epoch=4 samples=640 updates=20 note=a=b", &e), 0);
    copy = m; /* owns its text */
    memset(&m, 0, sizeof m);
    assert_int_equal(copy.t_ns, 123456789012);
    assert_int_equal(copy.rank, 3);
    assert_int_equal(copy.word, WL_MARK_EPOCH_END);
    assert_string_equal(wl_mark_word_name(copy.word), "epoch-end");
    assert_int_equal(copy.n, 4);
    assert_int_equal(wl_mark_int(&copy, "epoch", 0), 4);
    assert_string_equal(wl_mark_str(&copy, "note"), "a=b");
    assert_string_equal(copy.fields, "epoch=4 samples=640 updates=20 note=a=b");
    assert_null(wl_mark_str(&copy, "sample"));
    assert_int_equal(wl_mark_int(&copy, "note", -7), -7);
    assert_true(isnan(wl_mark_real(&copy, "note")));
}

static void a_mark_may_have_no_fields(void **state)
{
    struct wl_mark m;
    struct wl_err e = { 0 };
    (void)state;
    assert_int_equal(parse(&m, "0 0 stop", &e), 0);
    assert_int_equal(m.n, 0);
    assert_string_equal(m.fields, "");
}

/* The largest of each kind that a store holds and a reader accepts. */
static void the_largest_numbers_are_accepted(void **state)
{
    struct wl_mark m;
    struct wl_err e = { 0 };
    (void)state;
    assert_int_equal(parse(&m, "2305843009213693952 0 epoch-end epoch=9007199254740992 samples=9007199254740992", &e),
                     0);
    assert_true(m.t_ns == WL_MARK_TIME_MAX && wl_mark_int(&m, "epoch", 0) == WL_MARK_COUNT_MAX);
    assert_true(wl_mark_real(&m, "samples") == 0x1p53);
}

static void nan_and_infinity_read_as_nan(void **state)
{
    static const char *const values[] = { "nan", "-nan", "inf", "-Infinity" };
    struct wl_mark m;
    struct wl_err e = { 0 };
    char line[80];
    (void)state;
    for (size_t i = 0; i < WL_COUNT(values); i++) {
        snprintf(line, sizeof line, "1 0 metric name=train_loss value=%s", values[i]);
        assert_int_equal(parse(&m, line, &e), 0);
        assert_true(isnan(wl_mark_real(&m, "value")));
    }
}

/* Each broken line is refused, with a message that names place and cause. */
static void a_malformed_line_is_refused_with_its_reason(void **state)
{
    static const struct {
        const char *line, *cause;
    } cases[] = {
        { "", "expected 'TIME RANK WORD" },
        { "hello", "found 'hello'" },
        { "1 0", "expected 'TIME RANK WORD" },
        { " 1 0 stop", "time ''" },
        { "x 0 stop", "time 'x'" },
        { "-1 0 stop", "time '-1'" },
        { "99999999999999999999 0 stop", "time '9999" },
        { "2305843009213693953 0 stop", "time '2305843009213693953'" },
        { "9223372036854775807 0 stop", "time '9223372036854775807'" },
        { "1 -1 stop", "rank '-1'" },
        { "1 4294967296 stop", "rank '4294967296'" },
        { "1 0 epoch-stop epoch=1", "unknown word 'epoch-stop'" },
        { "1 0 epoch-ends epoch=1", "did you mean 'epoch-end'" },
        { "1 0 epoch-begin", "requires epoch=" },
        { "1 0 epoch-begin epoch=0", "epoch=0: expected a whole number from 1" },
        { "1 0 epoch-begin epoch=1.5", "epoch=1.5: expected" },
        { "1 0 epoch-begin epoch=9007199254740993", "expected a whole number from 1 to 9007199254740992" },
        { "1 0 metric name=loss value=1 epoch=9007199254740993", "epoch=9007199254740993: expected" },
        { "1 0 phase name=load time_s=1 epoch=1e3", "epoch=1e3: expected" },
        { "1 0 phase name=load time_s=1e999", "time_s=1e999: expected a number" },
        { "1 0 epoch-end epoch=1 samples=-5", "samples=-5: expected a whole number from 0" },
        { "1 0 epoch-end epoch=1 samples=9007199254740993", "expected a whole number from 0 to 9007199254740992" },
        { "1 0 epoch-end epoch=1 updates=9223372036854775808", "updates=9223372036854775808: expected" },
        { "1 0 epoch-end epoch=1 updates=2.5", "updates=2.5: expected" },
        { "1 0 step step=9007199254740993", "step=9007199254740993: expected" },
        { "1 0 step step=1 loss=low", "loss=low: expected a number" },
        { "1 0 metric name=val_top1", "requires value=" },
        { "1 0 metric name=val_top1 value=0,61", "value=0,61: expected a number" },
        { "1 0 define better=larger", "requires name=" },
        { "1 0 define name=f1 better=higher", "better=higher: expected larger or smaller" },
        { "1 0 define name=f1 main=yes", "main=yes: expected a whole number" },
        { "1 0 stop ", "blank at the end" },
        { "1 0 stop status=ok ", "blank at the end" },
        { "1 0 stop  status=ok", "double blank" },
        { "1 0 stop status", "'status': expected key=value" },
        { "1 0 stop status=", "status= has no value" },
        { "1 0 stop =ok", "is not a valid key" },
        { "1 0 stop 2x=ok", "is not a valid key" },
        { "1 0 stop status=ok status=ok", "duplicate key status=" },
        { "1 0 stop status=o\tk", "control character 0x09" },
    };
    struct wl_mark m;
    struct wl_err e;
    (void)state;
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        memset(&e, 0, sizeof e);
        assert_int_equal(parse(&m, cases[i].line, &e), WL_EINVAL);
        if (!strstr(e.msg, cases[i].cause)) fail_msg("'%s' gives '%s'", cases[i].line, e.msg);
        assert_true(wl_str_starts(e.msg, "m:1: "));
    }
}

static void lines_and_fields_have_a_limit(void **state)
{
    char line[WL_MARK_LINE_MAX + 1] = "1 0 start ";
    struct wl_mark m;
    struct wl_err e = { 0 };
    size_t n = strlen(line);
    (void)state;
    line[n++] = 'k';
    line[n++] = '=';
    memset(line + n, 'v', sizeof line - n);
    assert_int_equal(wl_mark_parse(&m, line, WL_MARK_LINE_MAX - 1, "m:1", &e), 0);
    assert_int_equal(wl_mark_parse(&m, line, WL_MARK_LINE_MAX, "m:1", &e), WL_EINVAL);

    n = (size_t)snprintf(line, sizeof line, "1 0 start");
    for (int i = 0; i < WL_MARK_FIELDS_MAX + 1; i++) n += (size_t)snprintf(line + n, sizeof line - n, " k%d=1", i);
    assert_int_equal(wl_mark_parse(&m, line, n, "m:1", &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "more than 64 fields"));
}

static void a_mark_made_from_parts_is_checked_like_a_line(void **state)
{
    struct wl_mark m;
    struct wl_err e = { 0 };
    (void)state;
    assert_int_equal(wl_mark_make(&m, 5, 1, WL_MARK_PHASE_BEGIN, "name=load", &e), 0);
    assert_int_equal(m.t_ns, 5);
    assert_string_equal(wl_mark_str(&m, "name"), "load");
    assert_int_equal(wl_mark_make(&m, 5, 1, WL_MARK_PHASE_BEGIN, "", &e), WL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_owns_its_fields),
        cmocka_unit_test(a_mark_may_have_no_fields),
        cmocka_unit_test(the_largest_numbers_are_accepted),
        cmocka_unit_test(nan_and_infinity_read_as_nan),
        cmocka_unit_test(a_malformed_line_is_refused_with_its_reason),
        cmocka_unit_test(lines_and_fields_have_a_limit),
        cmocka_unit_test(a_mark_made_from_parts_is_checked_like_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
