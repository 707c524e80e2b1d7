/* Observation tables from CSV: separators, names, missing fields, messages; and back again. */
#include "exchange/exchange.h"
#include "settings/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
    struct wl_arena *arena;
    char path[64];
    struct wl_observations obs;
    struct wl_err e;
};

static int set_up(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct fixture *p = wl_new(a, struct fixture);
    p->arena = a;
    strcpy(p->path, "/tmp/wattlaw-obs-XXXXXX");
    int fd = mkstemp(p->path);
    *state = p;
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    struct fixture *p = *state;
    int rc = unlink(p->path);
    wl_arena_free(p->arena);
    return rc;
}

/* Reads the text as a file, with "canonical=column" entries separated by blanks. */
static int read_text(struct fixture *p, const char *text, const char *map)
{
    struct wl_strs entries = wl_str_split(p->arena, map, ' ');
    p->e = (struct wl_err) { 0 };
    if (wl_file_write(p->path, text, strlen(text), &p->e)) fail_msg("%s", p->e.msg);
    return wl_obs_read_csv(p->path, &entries, &p->obs, p->arena, &p->e);
}

static void must_refuse(struct fixture *p, const char *text, const char *map, const char *message)
{
    if (read_text(p, text, map) != WL_EINVAL) fail_msg("\"%s\" was read", text);
    if (!strstr(p->e.msg, message)) fail_msg("\"%s\" is not in \"%s\"", message, p->e.msg);
}

static void canonical_columns_are_read(void **state)
{
    struct fixture *p = *state;
    int rc = read_text(p,
                       "workload,workers,run,epoch,time_s,energy_j,estimated\n"
                       "resnet50,2,r1,1,10.5,,1\n"
                       "\"a, b\",4,r2,,1e-3,200,\n",
                       "");
    if (rc) fail_msg("%s", p->e.msg);
    const struct wl_observations *o = &p->obs;
    assert_int_equal(o->n, 2);
    assert_string_equal(o->source, p->path);
    assert_string_equal(o->workload[1], "a, b");
    assert_true(o->workers[1] == 4 && o->time_s[0] == 10.5 && o->time_s[1] == 1e-3);
    assert_true(isnan(o->energy_j[0]) && isnan(o->epoch[1]) && isnan(o->nodes[0]));
    assert_true(o->estimated[0] == 1 && o->estimated[1] == 0 && o->simulated[0] == 0);
    assert_int_equal(o->runs, 2);
    assert_null(o->metric[0]);
}

static void columns_are_renamed_by_the_map_and_others_kept(void **state)
{
    struct fixture *p = *state;
    int rc = read_text(p,
                       "gpus;time (s);time_s;cooling;ambient\n"
                       "1;100;7;air;20\n"
                       "2;55;8;;21.5\n",
                       "workers=gpus time_s=time\\x20(s)");
    assert_int_equal(rc, WL_EINVAL); /* the shell's quoting is not ours */
    struct wl_strs map = { 0 };
    wl_strs_add(p->arena, &map, "workers=gpus");
    wl_strs_add(p->arena, &map, "time_s=time (s)");
    if (wl_obs_read_csv(p->path, &map, &p->obs, p->arena, &p->e)) fail_msg("%s", p->e.msg);
    assert_true(p->obs.workers[1] == 2 && p->obs.time_s[1] == 55);
    struct wl_obs_column c;
    assert_int_equal(wl_obs_find(&p->obs, "cooling", &c, NULL), 0);
    assert_string_equal(c.text[0], "air");
    assert_null(c.text[1]);
    assert_int_equal(wl_obs_find(&p->obs, "ambient", &c, NULL), 0);
    assert_true(c.real[1] == 21.5);
    assert_int_equal(wl_obs_find(&p->obs, "time_s (file)", &c, NULL), 0); /* its name was given away */
    assert_true(c.real[0] == 7);
}

static size_t runs_of_two_rows(struct fixture *p, const char *column, const char *first, const char *second)
{
    const char *text =
        wl_strf(p->arena, "run,workers,epoch,time_s,%s\n1,2,1,10,%s\n1,2,2,11,%s\n", column, first, second);
    if (read_text(p, text, "")) fail_msg("%s: %s", column, p->e.msg);
    return p->obs.runs;
}

/* Two rows with one label are one run, unless they differ in a setting that separates runs. */
static void runs_of_one_label_differ_in_their_settings(void **state)
{
    struct fixture *p = *state;
    static const char *const settings[][3] = {
        { "module_cap_w", "600", "500" }, { "mem_clock_mhz", "810", "" }, { "threads", "1", "2" },
        { "accumulation", "1", "2" },     { "precision", "f32", "bf16" }, { "recompute", "no", "yes" },
        { "power_cap_w", "250", "" },     { "clock_mhz", "900", "1200" },
    };
    for (size_t i = 0; i < WL_COUNT(settings); i++) {
        const char *const *s = settings[i];
        if (runs_of_two_rows(p, s[0], s[1], s[2]) != 2) fail_msg("%s %s and '%s' are one run", s[0], s[1], s[2]);
        if (runs_of_two_rows(p, s[0], s[1], s[1]) != 1) fail_msg("%s %s twice are two runs", s[0], s[1]);
    }
    assert_int_equal(runs_of_two_rows(p, "epochs", "1", "2"), 1); /* may count those so far */
    assert_int_equal(runs_of_two_rows(p, "ambient", "20", "21"), 1);
}

static void the_separator_is_found_after_comments(void **state)
{
    struct fixture *p = *state;
    if (read_text(p, "# made by hand, twice\n\ntime_s\tworkers\n3\t1\n", "")) fail_msg("%s", p->e.msg);
    assert_true(p->obs.time_s[0] == 3 && p->obs.workers[0] == 1);
    if (read_text(p, "\"time_s\"\n3\n", "")) fail_msg("%s", p->e.msg);
    assert_int_equal(p->obs.n, 1);
    if (read_text(p, "time_s,workers\n", "")) fail_msg("%s", p->e.msg);
    assert_int_equal(p->obs.n, 0);
}

/* Every setting is a name that --map gives, a choice such as precision too. */
static void any_setting_can_be_mapped(void **state)
{
    struct fixture *p = *state;
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        struct wl_obs_column column;
        if (read_text(p, "time_s,Own\n1,2\n", wl_strf(p->arena, "%s=Own", r->name))) fail_msg("%s", p->e.msg);
        assert_int_equal(wl_obs_find(&p->obs, r->name, &column, &p->e), 0);
    }
    must_refuse(p, "time_s,Own\n1,2\n", "precison=Own", "did you mean precision");
}

static void names_are_read_without_regard_to_case(void **state)
{
    struct fixture *p = *state;
    if (read_text(p, "Time_S,WORKERS,Energy\n3,1,9\n", "energy_j=energy")) fail_msg("%s", p->e.msg);
    assert_true(p->obs.time_s[0] == 3 && p->obs.workers[0] == 1 && p->obs.energy_j[0] == 9);
    must_refuse(p, "TIME_S,workers,time_s\n3,1,4\n", "",
                "duplicate column \"time_s\": \"TIME_S\" and \"time_s\" differ only in case");
    if (read_text(p, "TIME_S,time_s\n3,4\n", "energy_j=TIME_S")) fail_msg("%s", p->e.msg);
    assert_true(p->obs.energy_j[0] == 3 && p->obs.time_s[0] == 4);
    if (read_text(p, "time_s,Precision,Site\n3,bf16,a\n", "")) fail_msg("%s", p->e.msg);
    assert_string_equal(p->obs.extra[0].name, "precision"); /* a setting, which separates groups */
    assert_true(p->obs.extra[0].setting && !p->obs.extra[1].setting);
    assert_string_equal(p->obs.extra[1].name, "Site");
}

static void lines_may_end_with_cr_alone(void **state)
{
    struct fixture *p = *state;
    if (read_text(p, "# Macintosh\rtime_s;workers\r3;1\r4;2\r", "")) fail_msg("%s", p->e.msg);
    assert_int_equal(p->obs.n, 2);
    assert_true(p->obs.time_s[1] == 4 && p->obs.workers[1] == 2);
    must_refuse(p, "time_s,workers\r1,2\rfast,2\r", "", ":3: column time_s: \"fast\" is not a number");
}

/* Rows share the texts that they repeat, and only those. */
static void repeated_texts_are_read_as_they_are(void **state)
{
    struct fixture *p = *state;
    static const char *const want[] = { "a", "a", "b", NULL, "b", "b", "=x", "=x", "=x" };
    if (read_text(p, "time_s,run\n1,a\n1,a\n1,b\n1,\n1,b\n1, b \n1,'=x\n1,=x\n1,\"=x\"\n", ""))
        fail_msg("%s", p->e.msg);
    assert_int_equal(p->obs.n, WL_COUNT(want));
    for (size_t i = 0; i < WL_COUNT(want); i++)
        if (want[i])
            assert_string_equal(p->obs.run[i], want[i]);
        else
            assert_null(p->obs.run[i]);
}

static void hexadecimal_numbers_are_refused(void **state)
{
    struct fixture *p = *state;
    must_refuse(p, "time_s,workers\n1,0x10\n", "", ":2: column workers: \"0x10\" is not a number");
    if (read_text(p, "time_s,nodes_of\n1,0x10\n", "")) fail_msg("%s", p->e.msg);
    assert_string_equal(p->obs.extra[0].text[0], "0x10");
}

/* Where another separator leaves no doubt, and the reader says so. */
static void decimal_commas_are_read_where_unambiguous(void **state)
{
    struct fixture *p = *state;
    if (read_text(p, "workers;time_s;run;x\n0,5;1,234;1,5;2,5\n1;-1,5e2;a;3\n", "")) fail_msg("%s", p->e.msg);
    assert_true(p->obs.workers[0] == 0.5 && p->obs.time_s[0] == 1.234 && p->obs.time_s[1] == -150);
    assert_string_equal(p->obs.run[0], "1,5");
    assert_true(p->obs.extra[0].real[0] == 2.5);
    assert_non_null(strstr(p->obs.note, "decimal commas"));
    if (read_text(p, "workers;time_s\n1;2\n", "")) fail_msg("%s", p->e.msg);
    assert_null(p->obs.note);
    must_refuse(p, "workers;time_s\n1;1,234\n2;12,345\n", "",
                ":2: column time_s: \"1,234\" may be a decimal number or");
    must_refuse(p, "workers;time_s\n1;1,5\n2;1.5\n", "", ":2: column time_s: \"1,5\" has a comma, other numbers");
    must_refuse(p, "workers;time_s\n1;1,5\n2;1.000,5\n", "", ":3: column time_s: \"1.000,5\" is not a number");
}

static void errors_name_line_column_and_value(void **state)
{
    struct fixture *p = *state;
    must_refuse(p, "time_s,workers\n1,2\nfast,2\n", "", ":3: column time_s: \"fast\" is not a number");
    must_refuse(p, "time_s,estimated\n1,yes\n", "", ":2: column estimated: \"yes\" is not a number");
    must_refuse(p, "time_s,simulated\n1,2\n", "", ":2: column simulated: \"2\" is not 0 or 1");
    must_refuse(p, "time_s,workers\n1\n", "", ":2: 1 fields, the header has 2");
    must_refuse(p, "time_s,time_s\n1,2\n", "", "duplicate column \"time_s\"");
    must_refuse(p, "seconds,workers\n1,2\n", "", "none of the columns time_s, energy_j, throughput");
    must_refuse(p, "seconds,workers\n1,2\n", "time_s=second", "no column \"second\"; did you mean \"seconds\"?");
    must_refuse(p, "seconds,workers\n1,2\n", "time=seconds", "\"time\" is not a column of the observation table");
    must_refuse(p, "seconds,workers\n1,2\n", "seconds", "expected canonical=column");
    must_refuse(p, "t,workers\n1,2\n", "time_s=t energy_j=t", "the column is already mapped to time_s");
    must_refuse(p, "t,u\n1,2\n", "time_s=t time_s=u", "duplicate column \"time_s\"");
    must_refuse(p, "time_s,x\n1,\"2\n", "", ":2: unterminated quote");
    must_refuse(p, "", "", "the file is empty");
    struct wl_strs none = { 0 };
    assert_int_equal(wl_obs_read_csv("/proc/nowhere/x.csv", &none, &p->obs, p->arena, &p->e), WL_ENOENT);
}

static char *text_of(const struct wl_observations *obs, void (*write)(const struct wl_observations *, FILE *))
{
    char *s = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&s, &n);
    write(obs, f);
    fclose(f);
    return s;
}

static void a_written_table_reads_back(void **state)
{
    struct fixture *p = *state;
    const char *text = "workload,run,time_s,energy_j,metric,note\n"
                       "\"a \"\"b\"\"\",1,0.1,,loss,\"x, y\"\n"
                       "c,2,3.3333333333333335,1e300,,\n";
    if (read_text(p, text, "")) fail_msg("%s", p->e.msg);
    char *once = text_of(&p->obs, wl_obs_write_csv);
    if (read_text(p, once, "")) fail_msg("%s", p->e.msg);
    char *twice = text_of(&p->obs, wl_obs_write_csv);
    assert_string_equal(once, twice);
    assert_true(p->obs.time_s[1] == 3.3333333333333335 && p->obs.energy_j[1] == 1e300);
    assert_non_null(strstr(once, ",0.1,,")); /* no digits that mean nothing */
    free(once);
    free(twice);

    char *lines = text_of(&p->obs, wl_obs_write_jsonl);
    struct wl_strs line = wl_str_split(p->arena, lines, '\n');
    assert_int_equal(line.n, 3); /* the last one is empty */
    struct wl_json *object;
    assert_int_equal(wl_json_parse(line.v[0], "line 1", &object, p->arena, &p->e), 0);
    assert_string_equal(wl_json_str(wl_json_get(object, "note")), "x, y");
    assert_null(wl_json_get(object, "energy_j"));
    assert_int_equal(wl_json_parse(line.v[1], "line 2", &object, p->arena, &p->e), 0);
    assert_true(wl_json_real(wl_json_get(object, "time_s")) == 3.3333333333333335);
    free(lines);
}

/* What a spreadsheet would take for a formula is guarded in every text column and header, numbers are not, and our own
 * reader gives back what was there. */
static void formulas_are_guarded_and_read_back(void **state)
{
    struct fixture *p = *state;
    const char *text = "workload,run,time_s,metric,\"'=note()\"\n"
                       "\"=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\",-5,0.1,@SUM(A1),+x\n"
                       "-2+3,+1e3,1,'=x,''=x\n"
                       "plain 'quoted',=1,2,'tis,-1.5\n";
    if (read_text(p, text, "")) fail_msg("%s", p->e.msg);
    assert_string_equal(p->obs.metric[1], "=x"); /* of a guarded text the guard goes */
    assert_string_equal(p->obs.metric[2], "'tis");
    assert_string_equal(p->obs.extra[0].name, "=note()");
    p->obs.workload[2] = "\t=cmd|' /C calc'!A0";
    char *once = text_of(&p->obs, wl_obs_write_csv);
    const char *const wanted[] = { "\"'=HYPERLINK(\"\"http",
                                   ",-5,",
                                   ",'@SUM(A1),",
                                   ",'+x\n",
                                   "\n'-2+3,",
                                   ",+1e3,",
                                   ",'=x,",
                                   ",''=x",
                                   ",'=1,",
                                   ",'tis,",
                                   ",-1.5\n",
                                   "\n'\t=cmd" };
    for (size_t i = 0; i < WL_COUNT(wanted); i++)
        if (!strstr(once, wanted[i])) fail_msg("%s is not in:\n%s", wanted[i], once);
    if (read_text(p, once, "")) fail_msg("%s", p->e.msg);
    assert_string_equal(p->obs.workload[0], "=HYPERLINK(\"http://x\",\"y\")");
    assert_string_equal(p->obs.workload[1], "-2+3");
    assert_string_equal(p->obs.workload[2], "\t=cmd|' /C calc'!A0");
    assert_string_equal(p->obs.extra[0].text[1], "'=x");
    char *twice = text_of(&p->obs, wl_obs_write_csv);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
}

/* Any text: no cell is left that a spreadsheet would run, and reading takes away what writing has put. */
static void random_text_reads_back(void **state)
{
    struct fixture *p = *state;
    uint32_t seed = 7;
    for (int round = 0; round < 100; round++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_text file = WL_TEXT(a);
        char texts[8][8] = { "" };
        wl_text_add(&file, "time_s,workload\n");
        for (size_t i = 0; i < WL_COUNT(texts); i++) {
            static const char often[] = "'=+-@\t\r1a\",;. ";
            for (size_t k = 0; k < sizeof texts[i] - 1; k++) {
                seed = seed * 1664525 + 1013904223;
                texts[i][k] = often[(seed >> 16) % (sizeof often - 1)];
            }
            texts[i][sizeof texts[i] - 2] = 'z'; /* blanks at the end are the reader's to take */
            if (texts[i][0] == ' ') texts[i][0] = '-';
            wl_text_add(&file, "1,");
            wl_csv_put(&file, texts[i]);
            wl_text_add(&file, "\n");
            const char *cell = strrchr(file.s, '\n') - 1;
            while (cell[-1] != ',' || cell[-2] != '1' || cell[-3] != '\n') cell--;
            cell += *cell == '"';
            if (strchr("=+-@\t\r", *cell)) fail_msg("unguarded: %s", file.s);
        }
        if (wl_file_write(p->path, file.s, file.n, &p->e)) fail_msg("%s", p->e.msg);
        if (wl_obs_read_csv(p->path, NULL, &p->obs, a, &p->e)) fail_msg("%s: %s", p->e.msg, file.s);
        for (size_t i = 0; i < WL_COUNT(texts); i++) assert_string_equal(p->obs.workload[i], texts[i]);
        wl_arena_free(a);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(canonical_columns_are_read),
        TEST(columns_are_renamed_by_the_map_and_others_kept),
        TEST(the_separator_is_found_after_comments),
        TEST(any_setting_can_be_mapped),
        TEST(names_are_read_without_regard_to_case),
        TEST(lines_may_end_with_cr_alone),
        TEST(repeated_texts_are_read_as_they_are),
        TEST(hexadecimal_numbers_are_refused),
        TEST(decimal_commas_are_read_where_unambiguous),
        TEST(errors_name_line_column_and_value),
        TEST(a_written_table_reads_back),
        TEST(formulas_are_guarded_and_read_back),
        TEST(random_text_reads_back),
        TEST(runs_of_one_label_differ_in_their_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
