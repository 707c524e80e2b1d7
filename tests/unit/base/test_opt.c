/* Option rows: command line, INI, JSON and help read the same table. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct opts {
    bool verbose;
    int64_t local_batch;
    double rate, wait_s;
    const char *name, *precision, *preset;
    struct wl_ints workers;
    struct wl_reals lr;
    struct wl_strs sensors, maps;
};

static const struct wl_opt_preset presets[] = {
    { "fast", "local-batch=256 rate=5 verbose=yes sensors=null" },
    { "slow", "rate=0.5" },
    { NULL, NULL },
};

static const struct wl_opt rows[] = {
    { "verbose", WL_FLAG, offsetof(struct opts, verbose), .help = "say more", .letter = 'v' },
    { "local-batch", WL_INT, offsetof(struct opts, local_batch), "32", 1, 4096, .help = "samples a worker",
      .letter = 'b' },
    { "rate", WL_REAL, offsetof(struct opts, rate), NULL, 0.1, 1000, .unit = "Hz", .help = "samples a second" },
    { "wait", WL_DURATION, offsetof(struct opts, wait_s), "10s", .help = "time to wait" },
    { "name", WL_STR, offsetof(struct opts, name), .help = "a name" },
    { "precision", WL_CHOICE, offsetof(struct opts, precision), "f32", .choices = "f32|bf16", .help = "number format" },
    { "workers", WL_INTS, offsetof(struct opts, workers), NULL, 1, 1e6, .help = "worker counts" },
    { "lr", WL_REALS, offsetof(struct opts, lr), .help = "rates" },
    { "sensors", WL_STRS, offsetof(struct opts, sensors), "nvml,rapl", .help = "sensors" },
    { "preset", WL_CHOICE, offsetof(struct opts, preset), .choices = "fast|slow", .help = "a set", .presets = presets },
    { "map", WL_LINES, offsetof(struct opts, maps), .help = "column" },
    WL_OPT_END,
};

struct fixture {
    struct wl_arena *a;
    struct opts o;
    struct wl_opts_args rest;
    struct wl_err e;
};

static int setup(void **state)
{
    static struct fixture f;
    f = (struct fixture) { .a = wl_arena_new(NULL) };
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    wl_arena_free(((struct fixture *)*state)->a);
    return 0;
}

static int parse(struct fixture *f, bool stop, char **argv)
{
    int n = 0;
    while (argv[n]) n++;
    const struct wl_opts_line line = { .rows = rows, .argc = n, .argv = argv, .stop_at_word = stop };
    return wl_opts_parse(&line, &f->o, &f->rest, f->a, &f->e);
}
#define PARSE(f, stop, ...) parse((f), (stop), (char *[]) { __VA_ARGS__, NULL })

static void defaults_and_every_form_are_read(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(PARSE(f, false, "--local_batch=64", "-v", "--workers", "1,2, 4", "--sensors", "proc", "--sensors",
                           "null,cpu_model", "--map", "t=a,b", "--map=u=c", "--wait", "200ms", "file", "--no-verbose"),
                     0);
    assert_int_equal(f->o.local_batch, 64);
    assert_false(f->o.verbose);
    assert_int_equal(f->o.workers.n, 3);
    assert_int_equal(f->o.workers.v[2], 4);
    assert_int_equal(f->o.sensors.n, 3); /* the default list is replaced, then appended to */
    assert_string_equal(f->o.sensors.v[0], "proc");
    assert_int_equal(f->o.maps.n, 2);
    assert_string_equal(f->o.maps.v[0], "t=a,b");
    assert_true(fabs(f->o.wait_s - 0.2) < 1e-12);
    assert_true(isnan(f->o.rate));
    assert_null(f->o.name);
    assert_string_equal(f->o.precision, "f32");
    assert_string_equal(f->rest.args.v[0], "file");
    assert_null(f->rest.command);
    assert_int_equal(f->rest.given.n, 6); /* each once */
    for (size_t i = 0, row = 0; i < f->rest.given.n; i++, row++) {
        while (rows[row].name && !wl_str_eq(rows[row].name, f->rest.given.v[i])) row++;
        assert_non_null(rows[row].name); /* in the order of the table */
    }
    assert_int_equal(PARSE(f, false, "file"), 0);
    assert_int_equal(f->rest.given.n, 0);
}

static void options_after_the_command_are_left_to_it(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(PARSE(f, false, "-b8", "--", "prog", "--local-batch", "x"), 0);
    assert_int_equal(f->o.local_batch, 8);
    assert_string_equal(f->rest.command[0], "prog");
    assert_string_equal(f->rest.command[2], "x");
    assert_int_equal(PARSE(f, true, "-b", "9", "prog", "--help"), 0);
    assert_int_equal(f->o.local_batch, 9);
    assert_false(f->rest.help);
    assert_string_equal(f->rest.command[1], "--help");
}

static void help_ends_the_options(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(PARSE(f, false, "--local-batch", "2", "--help", "--no-such-option"), 0);
    assert_true(f->rest.help && f->o.local_batch == 2);
    assert_int_equal(PARSE(f, false, "--local-batch", "2"), 0);
    assert_false(f->rest.help);
}

static void an_invalid_value_names_what_was_expected(void **state)
{
    struct fixture *f = *state;
    const struct {
        char *argv[4];
        const char *says;
    } cases[] = {
        { { "--local-batch", "0" }, "--local-batch 0: expected a whole number from 1 to 4096" },
        { { "--local-batch", "1e3" }, "expected a whole number" },
        { { "--local-batch" }, "a value is missing" },
        { { "--locl-batch", "3" }, "unknown option --locl-batch; did you mean --local-batch?" },
        { { "--rate=0" }, "(Hz)" },
        { { "--precision", "f16" }, "one of f32|bf16" },
        { { "--precision", "" }, "one of f32|bf16" },
        { { "--workers", "1,,2" }, "a list of whole numbers from 1" },
        { { "--workers", "" }, "a list of whole numbers" },
        { { "-z" }, "unknown option -z" },
        { { "--no-rate" }, "unknown option --no-rate" },
    };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        assert_int_equal(parse(f, false, (char **)cases[i].argv), WL_EUSAGE);
        if (!strstr(f->e.msg, cases[i].says)) fail_msg("\"%s\" lacks \"%s\"", f->e.msg, cases[i].says);
    }
}

static void ini_errors_name_file_and_line(void **state)
{
    struct fixture *f = *state;
    const struct {
        const char *text, *says;
    } cases[] = {
        { "[run]\nlocal_batch = 8\nlocal_batch = 9\n",
          "x.ini:3: duplicate key local_batch in [run] (first on line 2)" },
        { "[run]\n\nlocal_bach = 8\n", "x.ini:3: unknown key local_bach; did you mean local_batch?" },
        { "[run]\nworkers =\n", "x.ini:2: workers = (empty): expected a list of whole numbers from 1 to 1000000" },
        { "[run]\nworkers 3\n", "x.ini:2: expected [section] or key = value, found: workers 3" },
        { "[rum]\n", NULL },
        { "[rum]\na=1\n", "x.ini:2: unknown section [rum]; did you mean [run]?" },
        { "a=1\n", "x.ini:1: key before the first [section]" },
    };
    static const char *const sections[] = { "run", "data" };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_ini ini;
        f->e.msg[0] = '\0';
        int rc = wl_ini_parse("x.ini", cases[i].text, &ini, f->a, &f->e);
        if (!rc) rc = wl_ini_known_sections(&ini, sections, 2, &f->e);
        if (!rc) rc = wl_ini_apply(&ini, "run", rows, &f->o, f->a, &f->e);
        assert_true(cases[i].says ? rc < 0 : rc == 0);
        if (cases[i].says) assert_string_equal(f->e.msg, cases[i].says);
    }
}

static void ini_joins_continued_lines(void **state)
{
    struct fixture *f = *state;
    struct wl_ini ini;
    assert_int_equal(wl_ini_parse("x.ini", "# c\n[run]\nname = a b ; c\n  c d\nworkers = 1,2\n", &ini, f->a, &f->e), 0);
    wl_opts_default(rows, &f->o, f->a);
    assert_int_equal(wl_ini_apply(&ini, "run", rows, &f->o, f->a, &f->e), 0);
    assert_string_equal(f->o.name, "a b c d");
    assert_int_equal(wl_ini_section(&ini, "run")->v[1].line, 5);
}

/* libinih's buffer holds 200 bytes; ours are as long as the user wants. */
static void ini_lines_may_be_long(void **state)
{
    struct fixture *f = *state;
    for (int words = 30; words < 200; words++) {
        struct wl_text name = WL_TEXT(f->a);
        for (int i = 0; i < words; i++) wl_text_addf(&name, "%s%s%d", i ? " " : "", i % 7 ? "word" : "#;", i);
        const char *long_comment = wl_strf(f->a, "%s %s", name.s, name.s);
        const char *text = wl_strf(f->a, "[run]\nname = %s\n# %s\nlocal_batch = 8 ; %s\nworkers = 1\nbad\n", name.s,
                                   long_comment, long_comment);
        struct wl_ini ini;
        assert_int_equal(wl_ini_parse("x.ini", text, &ini, f->a, &f->e), WL_EINVAL);
        assert_string_equal(f->e.msg, "x.ini:6: expected [section] or key = value, found: bad");
        text = wl_strndup(f->a, text, strlen(text) - strlen("bad\n"));
        assert_int_equal(wl_ini_parse("x.ini", text, &ini, f->a, &f->e), 0);
        wl_opts_default(rows, &f->o, f->a);
        assert_int_equal(wl_ini_apply(&ini, "run", rows, &f->o, f->a, &f->e), 0);
        assert_string_equal(f->o.name, name.s);
        assert_int_equal(f->o.workers.n, 1);
        assert_int_equal(wl_ini_section(&ini, "run")->v[2].line, 5);
    }
}

static void values_round_trip_through_ini_and_json(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(PARSE(f, false, "--workers", "1,2", "--rate", "0.1", "--name", "x \"y\"", "-v", "--lr", "0.3"), 0);
    struct wl_text ini_text = WL_TEXT(f->a);
    wl_text_add(&ini_text, "[run]\n");
    wl_opts_ini(rows, &f->o, &ini_text);
    struct wl_ini ini;
    struct opts again;
    wl_opts_default(rows, &again, f->a);
    assert_int_equal(wl_ini_parse("x.ini", ini_text.s, &ini, f->a, &f->e), 0);
    assert_int_equal(wl_ini_apply(&ini, "run", rows, &again, f->a, &f->e), 0);
    assert_true(again.rate == f->o.rate);
    assert_true(again.lr.v[0] == 0.3);
    assert_string_equal(again.name, f->o.name);
    struct wl_json *j = wl_json_root_object(f->a), *back;
    wl_opts_json(rows, &f->o, j);
    assert_int_equal(wl_json_parse(wl_json_text(j, 0, f->a), "text", &back, f->a, &f->e), 0);
    assert_true(wl_json_real(wl_json_get(back, "rate")) == 0.1);
    assert_int_equal(wl_json_int(wl_json_at(wl_json_get(back, "workers"), 1), -1), 2);
    assert_string_equal(wl_json_str(wl_json_get(back, "name")), "x \"y\"");
}

static void values_round_trip_through_words(void **state)
{
    struct fixture *f = *state;
    struct wl_strs words = { 0 };
    struct opts again;
    assert_int_equal(PARSE(f, false, "--workers", "1,2", "--rate", "0.1", "--name", "x \"y\"", "-v", "--map", "a=b,c",
                           "--map", "d", "--wait", "10"),
                     0);
    wl_opts_argv(rows, &f->o, &words, f->a);
    assert_int_equal(words.n, 11); /* local-batch, wait, precision and sensors have their defaults */
    const struct wl_opts_line line = { .rows = rows, .argc = (int)words.n, .argv = words.v };
    assert_int_equal(wl_opts_parse(&line, &again, &f->rest, f->a, &f->e), 0);
    assert_true(again.verbose && again.rate == 0.1 && again.wait_s == 10 && again.local_batch == 32);
    assert_string_equal(again.name, "x \"y\"");
    assert_true(again.workers.n == 2 && again.workers.v[1] == 2 && again.sensors.n == 2);
    assert_true(again.maps.n == 2 && wl_str_eq(again.maps.v[0], "a=b,c"));
}

static void help_names_every_row(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text text = WL_TEXT(a);
    wl_opts_help(rows, &text, 1000);
    for (const struct wl_opt *o = rows; o->name; o++) assert_non_null(strstr(text.s, o->name));
    assert_non_null(strstr(text.s, "1 to 4096, default 32"));
    wl_arena_free(a);
}

/* Choices wider than the screen are folded between two of them; where they fit there is no blank. */
static void help_folds_choices(void **state)
{
    (void)state;
    static const struct wl_opt wide[] = { { .name = "format",
                                            .type = WL_CHOICE,
                                            .choices =
                                                "first-of-all|second-of-all|third-of-all|fourth-of-all|fifth-of-all",
                                            .help = "format of the output" },
                                          WL_OPT_END };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t width = 40; width <= 120; width += 5) {
        struct wl_text text = WL_TEXT(a);
        wl_opts_help(wide, &text, width);
        for (const char *line = text.s; *line; line = strchr(line, '\n') + 1)
            if (strcspn(line, "\n") > width) fail_msg("wider than %zu columns:\n%s", width, text.s);
        assert_null(strstr(text.s, "| "));
        assert_non_null(strstr(text.s, "fifth-of-all"));
    }
    wl_arena_free(a);
}

/* "--" ends the options and is nobody's value, unless it is written with '='. */
static void the_end_of_options_is_never_a_value(void **state)
{
    struct fixture *f = *state;
    for (const struct wl_opt *o = rows; o->name; o++) {
        char name[32], letter[3] = { '-', o->letter };
        snprintf(name, sizeof name, "--%s", o->name);
        if (o->type == WL_FLAG) {
            assert_int_equal(PARSE(f, true, name, "--", "make"), 0);
            assert_string_equal(f->rest.command[0], "make");
            continue;
        }
        assert_int_equal(PARSE(f, true, name, "--", "make"), WL_EUSAGE);
        assert_non_null(strstr(f->e.msg, "a value is missing before \"--\""));
        if (o->letter) assert_int_equal(PARSE(f, true, letter, "--", "make"), WL_EUSAGE);
    }
    struct wl_strs words = { 0 };
    assert_int_equal(PARSE(f, false, "--name=--", "--map=--"), 0);
    assert_string_equal(f->o.name, "--");
    wl_opts_argv(rows, &f->o, &words, f->a);
    const struct wl_opts_line line = { .rows = rows, .argc = (int)words.n, .argv = words.v };
    assert_int_equal(wl_opts_parse(&line, &f->o, &f->rest, f->a, &f->e), 0);
    assert_true(wl_str_eq(f->o.name, "--") && wl_str_eq(f->o.maps.v[0], "--"));
}

/* A preset's values apply where the command line says nothing, whichever comes first. */
static void a_preset_applies_where_the_command_line_is_silent(void **state)
{
    struct fixture *f = *state;
    char *fast[] = { "--rate", "7", "--preset", "fast", "--no-verbose", NULL }, *slow[] = { "--preset=slow", NULL };
    char *wrong[] = { "--preset", "medium", NULL };
    assert_int_equal(parse(f, false, fast), 0);
    assert_int_equal(f->o.local_batch, 256);
    assert_true(f->o.rate == 7);
    assert_false(f->o.verbose);
    assert_int_equal(f->o.sensors.n, 1);
    assert_string_equal(f->o.sensors.v[0], "null");
    assert_int_equal(parse(f, false, slow), 0);
    assert_int_equal(f->o.local_batch, 32);
    assert_true(f->o.rate == 0.5);
    assert_int_equal(parse(f, false, wrong), WL_EUSAGE);
    assert_non_null(strstr(f->e.msg, "fast|slow"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(help_ends_the_options, setup, teardown),
        cmocka_unit_test_setup_teardown(defaults_and_every_form_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_preset_applies_where_the_command_line_is_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_of_options_is_never_a_value, setup, teardown),
        cmocka_unit_test_setup_teardown(options_after_the_command_are_left_to_it, setup, teardown),
        cmocka_unit_test_setup_teardown(an_invalid_value_names_what_was_expected, setup, teardown),
        cmocka_unit_test_setup_teardown(ini_errors_name_file_and_line, setup, teardown),
        cmocka_unit_test_setup_teardown(ini_joins_continued_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(ini_lines_may_be_long, setup, teardown),
        cmocka_unit_test_setup_teardown(values_round_trip_through_ini_and_json, setup, teardown),
        cmocka_unit_test_setup_teardown(values_round_trip_through_words, setup, teardown),
        cmocka_unit_test(help_names_every_row),
        cmocka_unit_test(help_folds_choices),
    };
    return cmocka_run_group_tests_name("opt", tests, NULL, NULL);
}
