/* The page in headless Chromium: it loads without an error, every canvas has something on it, and its policy runs
 * nothing but the page's own scripts, even where an escape was forgotten. */
#include "test.h"

#include <stdio.h>

#include "synthetic.h"

/* After the page's own scripts: how many canvases hold more than one colour, as an attribute of the page. */
static const char probe[] =
    "<script nonce=\"probe\">\n"
    "dispatchEvent(new Event('beforeprint'));\n" /* draws what is not in view */
    "dispatchEvent(new Event('afterprint'));\n"
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
    /* Pickers and search: how many figures are shown, and how many entries of the contents. */
    "const pick = document.getElementById('pick-workload'), search = document.getElementById('search');\n"
    "const pickWorkload = (name) => { pick.value = name; pick.dispatchEvent(new Event('change')); };\n"
    "const shown = () => document.querySelectorAll('figure.chart:not([hidden])').length;\n"
    "const all = shown();\n"
    "pickWorkload('resnet50');\n"
    "document.documentElement.dataset.picked = `${all} ${shown()}`;\n"
    "document.querySelector('#contents a[href=\"#figure-epoch-time\"]').click();\n" /* shows what was not picked */
    "document.documentElement.dataset.revealed = !document.getElementById('figure-epoch-time').hidden;\n"
    "search.value = 'EPOCH time';\n"
    "search.dispatchEvent(new Event('input'));\n"
    "document.documentElement.dataset.found = document.querySelectorAll('#contents li li:not([hidden])').length;\n"
    "document.documentElement.dataset.survived = 'yes';\n"
    "</script>\n";

/* Counts what the policy refuses, from the beginning on. */
static const char watch[] =
    "<script nonce=\"probe\">\n"
    "document.documentElement.dataset.refused = 0;\n"
    "addEventListener('securitypolicyviolation', (event) => {\n"
    "  document.documentElement.dataset.refused++;\n"
    "  document.documentElement.dataset.why = `${event.effectiveDirective} ${event.blockedURI} ${event.sample}`;\n"
    "});\n"
    "</script>\n";

/* What an unescaped name would put into the page. Each would leave its name in data-ran. */
#define RUNS(what) "document.documentElement.dataset.ran += ' " what "'"
static const char injected[] = "<img src=\"data:,\" onerror=\"" RUNS(
    "handler") "\">\n"
               "<svg onload=\"" RUNS(
                   "svg") "\"></svg>\n"
                          "<script>" RUNS(
                              "inline") "</script>\n"
                                        "<script src=\"data:text/javascript," RUNS(
                                            "source") "\"></script>\n"
                                                      "<iframe srcdoc=\"<script>parent." RUNS(
                                                          "frame") "</script>\"></iframe>\n"
                                                                   "<a id=\"link\" href=\"javascript:void(" RUNS(
                                                                       "link") ")\">x</a>\n"
                                                                               "<script "
                                                                               "nonce=\"probe\">document."
                                                                               "getElementById('link').click();</"
                                                                               "script>\n";

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
    struct wl_process_result end;
    if (wl_process_run(&(struct wl_process_run) { .argv = argv, .max = 1 << 24 }, &dom, &end, a, &e)) {
        *why = e.msg[0] ? wl_strdup(a, e.msg) : "it cannot be started";
        return NULL;
    }
    if (end.status == 0 && strstr(dom, "<html")) return dom;
    *why = wl_strf(a, "it ended with status %d", end.status);
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
        struct wl_process_result end;
        if (wl_process_run(&(struct wl_process_run) { .argv = argv, .max = 200, .merge_stderr = true }, &said, &end, a,
                           NULL) ||
            end.status)
            continue;
        if (dom_of(names[i], "data:text/html,<p>hello</p>", profile, why, a)) return names[i];
    }
    return NULL;
}

/* `page` with `text` before `mark`. */
static char *insert(struct wl_arena *a, const char *page, const char *mark, const char *text)
{
    const char *at = strstr(page, mark);
    if (!at) fail_msg("no %s in the page", mark);
    return wl_strf(a, "%.*s%s%s", (int)(at - page), page, text, at);
}

enum policy { OURS, NO_POLICY };

/* The page with the probe's scripts, which a nonce lets in beside the two of the page; `more` (or "") in its body. */
static char *probed_page(struct wl_arena *a, enum policy policy, const char *more)
{
    struct wl_text page = WL_TEXT(a);
    wl_document_html(synthetic_document(a), &page);
    char *s = insert(a, page.s, "<meta name=\"viewport\"", watch);
    s = insert(a, s, "<main>", more);
    s = insert(a, s, "</body>\n</html>", probe);
    s = insert(a, s, "'sha256-", "'nonce-probe' ");
    if (policy == NO_POLICY) s = insert(a, s, "http-equiv=\"Content-Security-Policy\"", "data-off ");
    if (policy == NO_POLICY) memcpy(strstr(s, "http-equiv"), "data-equiv", strlen("data-equiv"));
    char *path = wl_path_join(a, new_folder(a), "page.html");
    assert_ok(wl_file_write(path, s, strlen(s), e));
    return path;
}

static const char *program; /* main found it */

/* The attributes of <html> after the page has run. */
static char *attributes(struct wl_arena *a, enum policy policy, const char *more)
{
    const char *why;
    char *path = probed_page(a, policy, more);
    char *dom =
        dom_of(program, wl_strf(a, "file://%s", path), wl_path_join(a, wl_path_dir(a, path), "profile"), &why, a);
    if (!dom) fail_msg("%s: %s", program, why);
    char *head = wl_strndup(a, strstr(dom, "<html"), 900);
    head[strcspn(head, ">")] = '\0';
    return head;
}

static void assert_drawn(const char *head)
{
    assert_holds(head, "data-rendered=\"4 of 4\"");
    assert_holds(head, "data-drawn=\"4\"");
    assert_holds(head, "data-visible=\"0001\"");
    assert_holds(head, "data-tooltip=\"workers: 2, resnet50: ");
    assert_holds(head, " s\"");
    assert_holds(head, "data-picked=\"4 1\"");
    assert_holds(head, "data-revealed=\"true\"");
    assert_holds(head, "data-found=\"1\"");
    assert_holds(head, "data-survived=\"yes\"");
    assert_holds_not(head, "data-error");
}

static void page_loads_without_errors(void **state)
{
    char *head = attributes(*state, OURS, "");
    assert_drawn(head);
    assert_holds(head, "data-refused=\"0\""); /* the policy forbids nothing that the page does */
}

static void injected_code_is_blocked_by_the_policy(void **state)
{
    char *head = attributes(*state, OURS, injected);
    assert_drawn(head);
    assert_holds_not(head, "data-ran");
    assert_holds_not(head, "data-refused=\"0\"");
}

/* Without the policy all of it runs: the test above would notice. */
static void injected_code_runs_without_the_policy(void **state)
{
    char *head = attributes(*state, NO_POLICY, injected);
    static const char *const ways[] = { "handler", "svg", "inline", "source", "frame", "link" };
    for (size_t i = 0; i < WL_COUNT(ways); i++) assert_holds(head, wl_strf(*state, " %s", ways[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(page_loads_without_errors),
                                        WITH_ARENA(injected_code_is_blocked_by_the_policy),
                                        WITH_ARENA(injected_code_runs_without_the_policy) };
    struct wl_arena *a = wl_arena_new(NULL);
    const char *why;
    program = browser(&why, a);
    if (!program) printf("SKIP: %s\n", why);
    wl_arena_free(a);
    if (!program) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
