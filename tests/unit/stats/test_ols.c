/* Least squares against statsmodels, and the messages for data that cannot be fitted. */
#include "check.h"

enum { MOST_ROWS = 64, MOST_COLUMNS = 3 };

struct data {
    size_t n, columns;
    double y[MOST_ROWS], x[MOST_ROWS * MOST_COLUMNS];
};

static void read_case(struct data *d, const char *name, struct wl_arena *a)
{
    static const char *const column[] = { "x1", "x2", "x3" };
    struct wl_csv csv;
    double rows[MOST_ROWS][MOST_COLUMNS];
    *d = (struct data) { 0 };
    golden_open(&csv, "ols_data.csv", a);
    while (golden_next(&csv)) {
        if (!wl_str_eq(csv.row[0], name)) continue;
        assert_true(d->n < MOST_ROWS);
        d->y[d->n] = golden_real(&csv, "y");
        for (int j = 0; j < MOST_COLUMNS; j++) rows[d->n][j] = golden_real(&csv, column[j]);
        d->n++;
    }
    while (d->columns < MOST_COLUMNS && !isnan(rows[0][d->columns])) d->columns++;
    for (size_t j = 0; j < d->columns; j++)
        for (size_t i = 0; i < d->n; i++) d->x[i + j * d->n] = rows[i][j];
}

static double quantity(const struct wl_ols *o, const struct wl_ols_prediction *at, const char *name)
{
    size_t i = strcspn(name, "0123456789");
    size_t index = name[i] ? (size_t)atoi(name + i) : 0;
#define IS(text) (i == strlen(text) && !strncmp(name, text, i))
    if (wl_str_eq(name, "r2")) return o->r2;
    if (wl_str_eq(name, "r2_adj")) return o->r2_adj;
    if (IS("sse")) return o->sse;
    if (IS("sigma")) return o->sigma;
    if (IS("f")) return o->f;
    if (IS("p_f")) return o->p_f;
    if (IS("fit")) return at->fit;
    if (IS("mean_lo")) return at->mean_lo;
    if (IS("run_hi")) return at->run_hi;
    if (IS("b")) return o->b[index];
    if (IS("se")) return o->se[index];
    if (IS("p")) return o->p[index];
    if (IS("half")) return wl_ols_half_width(o, index, 0.95);
    if (IS("leverage")) return o->leverage[index];
    if (IS("student")) return o->student[index];
    if (IS("cook")) return o->cook[index];
#undef IS
    fail_msg("no such quantity: %s", name);
    return NAN;
}

static void like_statsmodels(const char *name, bool intercept)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct data d;
    struct wl_ols o;
    read_case(&d, name, a);
    const struct wl_ols_data data = { .n = d.n, .columns = d.columns, .y = d.y, .x = d.x, .intercept = intercept };
    if (wl_ols_fit(&o, &data, a, &e)) fail_msg("%s", e.msg);
    double x0[MOST_COLUMNS]; /* 1.5 times the largest value of each column */
    for (size_t j = 0; j < d.columns; j++) {
        x0[j] = d.x[j * d.n];
        for (size_t i = 0; i < d.n; i++) x0[j] = fmax(x0[j], d.x[i + j * d.n]);
        x0[j] *= 1.5;
    }
    struct wl_ols_prediction at = wl_ols_predict(&o, x0, 0.95);
    struct wl_csv csv;
    int checked = 0;
    golden_open(&csv, "ols_values.csv", a);
    while (golden_next(&csv)) {
        if (!wl_str_eq(csv.row[0], name)) continue;
        agree(wl_strf(a, "%s %s", name, csv.row[1]), quantity(&o, &at, csv.row[1]), golden_real(&csv, "value"), 8);
        checked++;
    }
    assert_true(checked >= 15);
    wl_arena_free(a);
}

static void line_matches_statsmodels(void **state) { (void)state, like_statsmodels("line", true); }
static void three_columns_match_statsmodels(void **state) { (void)state, like_statsmodels("plane", true); }
static void origin_matches_statsmodels(void **state) { (void)state, like_statsmodels("origin", false); }

/* Changing the unit of x divides the slope and changes nothing else. */
static void units_do_not_matter(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct data d;
    struct wl_ols o, scaled;
    read_case(&d, "line", a);
    assert_int_equal(wl_ols_line(&o, d.y, d.x, d.n, a, &e), 0);
    for (size_t i = 0; i < d.n; i++) d.x[i] *= 1e9;
    assert_int_equal(wl_ols_line(&scaled, d.y, d.x, d.n, a, &e), 0);
    agree("slope", scaled.b[1] * 1e9, o.b[1], 13);
    agree("its p", scaled.p[1], o.p[1], 11);
    agree("condition", scaled.condition, 1, 15);
    wl_arena_free(a);
}

static void message_says_what_cannot_be_fitted(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_ols o;
    const double y[] = { 1, 2, 4 }, same[] = { 7, 7, 7 }, gap[] = { 1, NAN, 2 }, twins[] = { 1, 2, 4, 2, 4, 8 };
    const double one[] = { 3 };
    const struct wl_ols_data collinear = { .n = 3, .columns = 2, .y = y, .x = twins, .intercept = true };
    assert_int_equal(wl_ols_line(&o, y, same, 3, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "column 1 is constant"));
    assert_int_equal(wl_ols_line(&o, y, gap, 3, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "row 2"));
    assert_int_equal(wl_ols_fit(&o, &collinear, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "combinations"));
    assert_int_equal(wl_ols_line(&o, y, one, 1, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "1 rows are too few for 2 coefficients"));
    wl_arena_free(a);
}

/* Two points give a line and no error; equal values give no R2. */
static void undefined_values_are_nan(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_ols o;
    const double y[] = { 5, 3 }, x[] = { 0, 2 }, flat[] = { 2, 2, 2 }, xs[] = { 1, 2, 3 };
    assert_int_equal(wl_ols_line(&o, y, x, 2, a, &e), 0);
    agree("slope", o.b[1], -1, 15);
    assert_true(o.df == 0 && isnan(o.sigma) && isnan(o.se[1]) && isnan(o.p[1]) && isnan(o.r2_adj) && isnan(o.f));
    assert_true(isnan(wl_ols_half_width(&o, 1, 0.95)) && isnan(wl_ols_predict(&o, x, 0.95).mean_lo));
    assert_int_equal(wl_ols_line(&o, flat, xs, 3, a, &e), 0);
    assert_true(o.b[1] == 0 && o.sigma == 0 && isnan(o.r2));
    wl_arena_free(a);
}

/* Draper & Smith's F by hand: y at x = 1 (1, 3), 2 (4, 6), 3 (3, 5): SSpe = 6 on 3 df, SSE about the line. */
static void lack_of_fit_matches_hand_computation(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_ols o;
    const double x[] = { 1, 2, 3, 1, 2, 3 }, y[] = { 1, 4, 3, 3, 6, 5 };
    assert_int_equal(wl_ols_line(&o, y, x, 6, a, &e), 0);
    struct wl_lack_of_fit l = wl_lack_of_fit(x, y, 6, o.sse, 2, a);
    agree("SSpe", l.ss_pure, 6, 14);
    agree("F", l.f, (34.0 / 3 - 6) / (6.0 / 3), 13);
    assert_true(l.df1 == 1 && l.df2 == 3);
    agree("p", l.p, wl_f_sf(l.f, 1, 3), 15);
    l = wl_lack_of_fit(x, y, 3, 1, 2, a);
    assert_true(isnan(l.f) && isnan(l.p) && l.df2 == 0);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_matches_statsmodels),
        cmocka_unit_test(three_columns_match_statsmodels),
        cmocka_unit_test(origin_matches_statsmodels),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(message_says_what_cannot_be_fitted),
        cmocka_unit_test(undefined_values_are_nan),
        cmocka_unit_test(lack_of_fit_matches_hand_computation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
