/* The page in headless Chromium: it loads without an error, and every canvas has something on it. */
#include "test.h"

#include <stdio.h>

#include "synthetic.h"

/* Behind the page's own scripts: how many canvases hold more than one colour, as an attribute of the page. */
static const char probe[] =
    "<script>\n"
    "let drawn = 0;\n"
    "for (const canvas of document.querySelectorAll('canvas')) {\n"
    "  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;\n"
    "  const seen = new Set();\n"
    "  for (let i = 0; i < data.length && seen.size < 4; i += 4) if (data[i + 3]) seen.add(data[i] << 16 | data[i + 1] "
    "<< 8 | data[i + 2]);\n"
    "  if (seen.size >= 4) drawn++;\n"
    "}\n"
    "document.documentElement.dataset.drawn = drawn;\n"
    /* One click on the first legend entry hides points, line and band of its group, and nothing else. */
    "const chart = Chart.getChart(document.querySelector('canvas'));\n"
    "chart.options.plugins.legend.onClick(null, chart.legend.legendItems[0], chart.legend);\n"
    "document.documentElement.dataset.visible = [0, 1, 2, 3].map((i) => Number(chart.isDatasetVisible(i))).join('');\n"
    "chart.options.plugins.legend.onClick(null, chart.legend.legendItems[0], chart.legend);\n"
    /* Pointing at a point names its series, value and unit. */
    "chart.tooltip.setActiveElements([{ datasetIndex: 0, index: 0 }], { x: 0, y: 0 });\n"
    "chart.update();\n"
    "document.documentElement.dataset.tooltip = [chart.tooltip.title, chart.tooltip.body[0].lines].flat().join(', ');\n"
    "document.getElementById('theme').click();\n"
    "document.querySelector('th').click();\n"
    "dispatchEvent(new Event('beforeprint'));\n"
    "dispatchEvent(new Event('afterprint'));\n"
    "document.documentElement.dataset.survived = 'yes';\n"
    "</script>\n";

/* The page's document after its scripts have run, or NULL with the reason in *why. */
static char *dom_of(const char *program, const char *url, const char *profile, const char **why, struct wl_arena *a)
{
    char *argv[] = { "timeout",
                     "240",
                     (char *)program,
                     "--headless",
                     "--no-sandbox",
                     "--disable-gpu",
                     "--disable-dev-shm-usage",
                     wl_strf(a, "--user-data-dir=%s", profile),
                     "--virtual-time-budget=5000",
                     "--dump-dom",
                     (char *)url,
                     NULL };
    char *dom;
    struct wl_err e = { 0 };
    struct wl_exit how;
    if (wl_run(argv, 1 << 24, false, &dom, &how, a, &e)) {
        *why = e.msg[0] ? wl_strdup(a, e.msg) : "it cannot be started";
        return NULL;
    }
    if (how.status == 0 && strstr(dom, "<html")) return dom;
    *why = wl_strf(a, "it ended with status %d", how.status);
    return NULL;
}

/* A browser that shows an empty page here, or NULL with the reason in *why. */
static const char *browser(const char **why, struct wl_arena *a)
{
    static const char *const names[] = { "chromium", "chromium-browser", "google-chrome" };
    char *profile = wl_path_join(a, new_folder(a), "profile");
    *why = "no chromium, chromium-browser or google-chrome in PATH";
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        char *argv[] = { (char *)names[i], "--version", NULL }, *said;
        struct wl_exit how;
        if (wl_run(argv, 200, true, &said, &how, a, NULL) || how.status) continue;
        if (dom_of(names[i], "data:text/html,<p>hello</p>", profile, why, a)) return names[i];
    }
    return NULL;
}

static char *page_with_probe(struct wl_arena *a)
{
    struct wl_text page = WL_TEXT(a), probed = WL_TEXT(a);
    wl_document_html(synthetic_document(a), &page);
    const char *end = strstr(page.s, "</body>\n</html>");
    assert_non_null(end);
    wl_text_addn(&probed, page.s, (size_t)(end - page.s));
    wl_text_add(&probed, probe);
    wl_text_add(&probed, end);
    char *path = wl_path_join(a, new_folder(a), "page.html");
    assert_ok(wl_file_write(path, probed.s, probed.n, e));
    return path;
}

static const char *program; /* main found it */

static void page_in_chromium(void **state)
{
    struct wl_arena *a = *state;
    const char *why;
    char *path = page_with_probe(a);
    char *dom =
        dom_of(program, wl_strf(a, "file://%s", path), wl_path_join(a, wl_path_dir(a, path), "profile"), &why, a);
    if (!dom) fail_msg("%s: %s", program, why);
    char *head = wl_strndup(a, strstr(dom, "<html"), 600);
    head[strcspn(head, ">")] = '\0';
    assert_holds(head, "data-rendered=\"4 of 4\"");
    assert_holds(head, "data-drawn=\"4\"");
    assert_holds(head, "data-visible=\"0001\"");
    assert_holds(head, "data-tooltip=\"workers: 2, resnet50: ");
    assert_holds(head, " s\"");
    assert_holds(head, "data-survived=\"yes\"");
    assert_holds_not(head, "data-error");
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(page_in_chromium) };
    struct wl_arena *a = wl_arena_new(NULL);
    const char *why;
    program = browser(&why, a);
    if (!program) printf("SKIP: %s\n", why);
    wl_arena_free(a);
    if (!program) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
