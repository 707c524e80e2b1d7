#include "test.h"

#include "report/report.h"

/* docs/metrics.md has the rows that the page shows, word for word. */
static void metrics_are_documented(void **state)
{
    char *doc;
    assert_ok(wl_file_read(source_file(*state, "docs/metrics.md"), 1 << 20, &doc, NULL, *state, e));
    for (const struct wl_metric_doc *m = wl_metric_docs; m->id; m++)
        assert_holds(doc, wl_strf(*state, "| %s | %s | %s | %s |", m->name, m->unit, m->formula, m->source));
}

static void metric_ids_are_unique(void **state)
{
    (void)state;
    for (const struct wl_metric_doc *m = wl_metric_docs; m->id; m++) assert_ptr_equal(wl_metric_doc(m->id), m);
    assert_null(wl_metric_doc("nothing"));
    assert_null(wl_metric_doc(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(metrics_are_documented), cmocka_unit_test(metric_ids_are_unique) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
