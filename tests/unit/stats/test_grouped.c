/* Least squares with columns of groups, against the same problem with all columns written out. */
#include "check.h"

#include <time.h>

enum { GROUPS = 6, BLOCKS = 5, MOST = GROUPS * BLOCKS };

/* An unbalanced design: each group misses some of the blocks, the first ones not. */
struct design {
    double y[MOST], x[MOST], z[MOST * (BLOCKS - 1)];
    size_t group[MOST], block[MOST], n;
};

static void fill(struct design *d)
{
    *d = (struct design) { 0 };
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t b = 0; b < BLOCKS; b++) {
            if (b > 2 && (g + b) % 3 == 0) continue;
            d->group[d->n] = g;
            d->block[d->n] = b;
            d->x[d->n] = log((double)(1 << b)) - 1.3;
            d->y[d->n] = 5 + .3 * (double)g - .9 * d->x[d->n] + .1 * wl_random_normal(9, g, b);
            d->n++;
        }
    for (size_t i = 0; i < d->n; i++)
        if (d->block[i]) d->z[i + (d->block[i] - 1) * d->n] = 1;
}

/* Intercept, blocks but the first, groups but the first, and with slopes their products with x. */
static struct wl_ols written_out(const struct design *d, bool slopes, struct wl_arena *a)
{
    const size_t columns = BLOCKS - 1 + (GROUPS - 1) * (slopes ? 2 : 1);
    double *x = wl_new_array(a, double, d->n *columns);
    memcpy(x, d->z, d->n * (BLOCKS - 1) * sizeof *x);
    for (size_t i = 0; i < d->n; i++) {
        if (!d->group[i]) continue;
        const size_t at = BLOCKS - 1 + d->group[i] - 1;
        x[i + at * d->n] = 1;
        if (slopes) x[i + (at + GROUPS - 1) * d->n] = d->x[i];
    }
    struct wl_ols o;
    struct wl_err e;
    const struct wl_ols_data data = { .n = d->n, .columns = columns, .y = d->y, .x = x, .intercept = true };
    if (wl_ols_fit(&o, &data, a, &e)) fail_msg("%s", e.msg);
    return o;
}

static void it_is_the_same_as_all_columns(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct design d;
    fill(&d);
    for (int slopes = 0; slopes <= 1; slopes++) {
        const struct wl_ols o = written_out(&d, slopes, a);
        struct wl_grouped g;
        struct wl_err e;
        const struct wl_grouped_data data = { d.n, GROUPS, BLOCKS - 1, d.y, d.group, slopes ? d.x : NULL, d.z };
        if (wl_grouped_fit(&g, &data, a, &e)) fail_msg("%s", e.msg);
        agree("rank", g.rank, BLOCKS - 1 - slopes, 12);
        agree("df", g.df, o.df, 12);
        agree("sse", g.sse, o.sse, 10);
        agree("sigma", g.sigma, o.sigma, 10);
        for (size_t k = 1; k < GROUPS; k++) {
            const size_t at = BLOCKS - 1 + k + (slopes ? GROUPS - 1 : 0);
            const double *v = slopes ? g.slope : g.intercept;
            agree("difference", v[k] - v[0], o.b[at], 9);
            agree("its error", g.sigma * sqrt(wl_grouped_variance(&g, k, 0)), o.se[at], 9);
            if (k == 1) continue;
            const size_t first = BLOCKS - 1 + 1 + (slopes ? GROUPS - 1 : 0);
            const double variance = o.cov[at * (o.k + 1)] + o.cov[first * (o.k + 1)] - 2 * o.cov[at + first * o.k];
            agree("of two others", g.sigma * sqrt(wl_grouped_variance(&g, k, 1)), sqrt(variance), 9);
        }
        for (size_t b = 1; b < BLOCKS && !slopes; b++) agree("block", g.c[b - 1], o.b[b], 9);
    }
    wl_arena_free(a);
}

static void what_cannot_be_told_apart(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_grouped g;
    struct wl_err e;
    static const double y[] = { 1, 2, 3, 4 }, same[] = { 1, 1, 2, 3 }, z[] = { 0, 0, 1, 1 };
    static const size_t group[] = { 0, 0, 1, 1 };
    assert_int_equal(wl_grouped_fit(&g, &(struct wl_grouped_data) { 4, 2, 0, y, group, same, NULL }, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "the x of group 1 is constant"));
    if (wl_grouped_fit(&g, &(struct wl_grouped_data) { 4, 2, 1, y, group, NULL, z }, a, &e)) fail_msg("%s", e.msg);
    assert_true(g.rank == 0 && g.df == 2); /* a block that is a group */
    wl_arena_free(a);
}

/* With matrices of the size of the groups this takes most of a minute. */
static void thousands_of_groups(void **state)
{
    (void)state;
    enum { MANY = 4000, EACH = 5 };
    struct wl_arena *a = wl_arena_new(NULL);
    double *y = wl_new_array(a, double, MANY *EACH), *x = wl_new_array(a, double, MANY *EACH),
           *z = wl_new_array(a, double, MANY *EACH *(EACH - 1));
    size_t *group = wl_new_array(a, size_t, MANY * EACH);
    for (size_t i = 0; i < MANY * EACH; i++) {
        group[i] = i / EACH;
        x[i] = (double)(i % EACH) - 2;
        y[i] = (double)(i % 7) + x[i] + wl_random_normal(3, 1, i);
        if (i % EACH) z[i + (i % EACH - 1) * MANY * EACH] = 1;
    }
    struct wl_grouped g;
    struct wl_err e;
    const clock_t start = clock();
    if (wl_grouped_fit(&g, &(struct wl_grouped_data) { MANY * EACH, MANY, EACH - 1, y, group, x, z }, a, &e))
        fail_msg("%s", e.msg);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2);
    assert_true(g.df == MANY * EACH - 2 * MANY - (EACH - 2));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_same_as_all_columns),
        cmocka_unit_test(what_cannot_be_told_apart),
        cmocka_unit_test(thousands_of_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
