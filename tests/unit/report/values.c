#include "values.h"

#include <math.h>

const struct hand estimated = { .runs = known_answer_runs, .n = KNOWN_ANSWER_RUNS, .estimated = true };
const struct hand measured = { .runs = known_answer_runs, .n = KNOWN_ANSWER_RUNS };

const double worker_h[KNOWN_ANSWER_RUNS] = { 4, 2.56, 8, 5.12, 16, 10.24 };
const double kwh[KNOWN_ANSWER_RUNS] = { .16, .1536, .32, .3072, .64, .6144 };

struct wl_document *report_of(const struct hand *h, struct wl_report_options options, struct wl_arena *a)
{
    char *path = wl_path_join(a, new_folder(a), WL_STORE_FILE);
    struct wl_store *store;
    struct wl_document *d;
    assert_ok(known_answer_store(path, h, a, e));
    assert_ok(wl_store_open(&store, path, WL_STORE_READ, a, e));
    options.drop_epochs = 1;
    assert_ok(wl_report_build(&d, store, &options, a, e));
    return d;
}

struct wl_document *known_answer_report(const struct hand *h, struct wl_arena *a)
{
    return report_of(h, (struct wl_report_options) { 0 }, a);
}

const struct wl_report_table *table(const struct wl_document *d, const char *id)
{
    for (size_t i = 0; i < d->n_sections; i++)
        for (size_t k = 0; k < d->sections[i]->n_tables; k++)
            if (wl_str_eq(d->sections[i]->tables[k]->id, id)) return d->sections[i]->tables[k];
    fail_msg("there is no table %s", id);
    return NULL;
}

const struct wl_figure *find_figure(const struct wl_document *d, const char *id)
{
    for (size_t i = 0; i < d->n_sections; i++)
        for (size_t k = 0; k < d->sections[i]->n_figures; k++)
            if (wl_str_eq(d->sections[i]->figures[k]->id, id)) return d->sections[i]->figures[k];
    return NULL;
}

const struct wl_json *figure(const struct wl_document *d, const char *id)
{
    const struct wl_figure *f = find_figure(d, id);
    if (!f) fail_msg("there is no figure %s", id);
    struct wl_json *object = wl_json_root_object(d->arena), *parsed;
    wl_figure_json(f, object);
    assert_ok(wl_json_parse(wl_json_text(object, 0, d->arena), id, &parsed, d->arena, e));
    return parsed;
}

bool flag(const struct wl_json *figure, const char *what)
{
    const char *honesty = wl_json_str(wl_json_get(figure, "honesty"));
    return honesty && strstr(honesty, what);
}

const struct wl_json *series(const struct wl_json *figure, size_t i)
{
    const struct wl_json *s = wl_json_at(wl_json_get(figure, "series"), i);
    if (!s) fail_msg("figure %s has no series %zu", wl_json_str(wl_json_get(figure, "id")), i);
    return s;
}

void assert_near(double is, double want, const char *what)
{
    if (isnan(want) ? !isnan(is) : !(fabs(is - want) <= 2e-6 * fmax(fabs(want), 1e-3)))
        fail_msg("%s is %.9g, by hand %.9g", what, is, want);
}

void assert_values(const struct wl_json *figure, size_t i, const char *member, const double *want, size_t n)
{
    const struct wl_json *s = series(figure, i), *v = wl_json_get(s, member);
    char what[200];
    const char *id = wl_json_str(wl_json_get(figure, "id"));
    if (wl_json_size(v) != n) fail_msg("%s: series %zu has %zu %s, by hand %zu", id, i, wl_json_size(v), member, n);
    for (size_t k = 0; k < n; k++) {
        snprintf(what, sizeof what, "%s: %s[%zu] of series %zu", id, member, k, i);
        assert_near(wl_json_real(wl_json_at(v, k)), want[k], what);
    }
}

void assert_kind(const struct wl_json *figure, size_t i, const char *style, const char *label)
{
    const struct wl_json *s = series(figure, i);
    assert_string_equal(wl_json_str(wl_json_get(s, "style")), style);
    const char *is = wl_json_str(wl_json_get(s, "label"));
    if (!wl_str_eq(is, label)) fail_msg("series %zu is called %s and not %s", i, is ? is : "-", label ? label : "-");
}

char *joined(const struct wl_strs *list, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < list->n; i++) wl_text_addf(&t, "%s\n", list->v[i]);
    return t.s;
}

void line_of_energy(double *base, double *slope)
{
    double mean_x = 0, mean_y = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < KNOWN_ANSWER_RUNS; i++)
        mean_x += worker_h[i] / KNOWN_ANSWER_RUNS, mean_y += kwh[i] / KNOWN_ANSWER_RUNS;
    for (int i = 0; i < KNOWN_ANSWER_RUNS; i++) {
        sxx += (worker_h[i] - mean_x) * (worker_h[i] - mean_x);
        sxy += (worker_h[i] - mean_x) * (kwh[i] - mean_y);
    }
    *slope = sxy / sxx;
    *base = mean_y - *slope * mean_x;
}
