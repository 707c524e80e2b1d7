/* The page in headless Chromium: it loads without an error, every canvas has something on it, and its policy runs
 * nothing but the page's own scripts, even where an escape was forgotten. */
#include "test.h"

#include <math.h>
#include <stdio.h>

#include "synthetic.h"
#include "values.h"

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
    "const rowsOf = (id) => [...document.querySelectorAll(`#table-${id} tbody tr`)].filter((row) => "
    "!row.hidden).length;\n"
    "document.documentElement.dataset.rows = `${rowsOf('configurations')} ${rowsOf('configurations-2')}`;\n"
    "document.documentElement.dataset.picked = `${all} ${shown()}`;\n"
    /* A table says how many of its rows are here, and where the others are. */
    "const noteOf = (id) => { const note = document.querySelector(`#table-${id} p.rows`); return note.hidden ? '' : "
    "note.textContent; };\n"
    "for (const id of ['long', 'crowd', 'configurations-2']) document.documentElement.dataset[id.replace('-', '')] = "
    "`${rowsOf(id)} rows. ${noteOf(id)}`;\n"
    "pickWorkload('');\n"
    "document.documentElement.dataset.every = `${rowsOf('long')}${noteOf('long')}`;\n"
    "pickWorkload('resnet50');\n"
    "document.querySelector('#contents a[href=\"#figure-epoch-time\"]').click();\n" /* shows what was not picked */
    "document.documentElement.dataset.revealed = !document.getElementById('figure-epoch-time').hidden;\n"
    "search.value = 'EPOCH time';\n"
    "search.dispatchEvent(new Event('input'));\n"
    "document.documentElement.dataset.found = document.querySelectorAll('#contents li li:not([hidden])').length;\n"
    "const { radius } = Chart.getChart(document.querySelector('#figure-power canvas')).data.datasets[0];\n"
    "document.documentElement.dataset.alone = [64, 65, 66, 75].map((i) => radius[i]).join();\n"
    "document.documentElement.dataset.formula = document.querySelector('th a').title;\n"
    "document.documentElement.dataset.survived = 'yes';\n"
    "</script>\n";

/* Speed-ups and energies over other bases than the page came with, as the page draws them: "y lo hi", a point each. */
static const char base_probe[] =
    "<script nonce=\"probe\">\n"
    "dispatchEvent(new Event('beforeprint'));\n"
    "function over(id, changes) {\n"
    "  const figure = document.getElementById(`figure-${id}`);\n"
    "  for (const [name, text] of changes) {\n"
    "    const select = figure.querySelector(`select[aria-label=\"${name} that is 1\"]`);\n"
    "    select.value = [...select.options].find((option) => option.text === text).value;\n"
    "    select.dispatchEvent(new Event('change'));\n"
    "  }\n"
    "  const chart = Chart.getChart(figure.querySelector('canvas'));\n"
    "  const sets = chart.data.datasets.map((set) => set.series).filter((s) => s.style === 'points' || s.label === "
    "'ideal');\n"
    "  return [chart.options.scales.y.title.text, ...sets.flatMap((s) => s.y.map((y, i) => [y, s.lo?.[i], "
    "s.hi?.[i]].map((v) => v ?? '-').join(' ')))].join(';');\n"
    "}\n"
    "const put = document.documentElement.dataset;\n"
    "put.count = over('speedup', [['worker count', '4']]);\n"
    "put.group = over('energy-ratio', [['group', 'no power cap'], ['worker count', '1']]);\n"
    "put.back = over('speedup', [['worker count', 'the fewest']]);\n"
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

/* A document's page with `script`, which a nonce lets in beside the two of the page; `more` (or "") in its body. */
static char *probed_page(struct wl_arena *a, const struct wl_document *d, const char *script, enum policy policy,
                         const char *more)
{
    struct wl_text page = WL_TEXT(a);
    wl_document_html(d, &page);
    char *s = insert(a, page.s, "<meta name=\"viewport\"", watch);
    s = insert(a, s, "<main>", more);
    s = insert(a, s, "</body>\n</html>", script);
    s = insert(a, s, "'sha256-", "'nonce-probe' ");
    if (policy == NO_POLICY) s = insert(a, s, "http-equiv=\"Content-Security-Policy\"", "data-off ");
    if (policy == NO_POLICY) memcpy(strstr(s, "http-equiv"), "data-equiv", strlen("data-equiv"));
    char *path = wl_path_join(a, new_folder(a), "page.html");
    assert_ok(wl_file_write(path, s, strlen(s), e));
    return path;
}

static const char *program; /* main found it */

/* The attributes of <html> after the page has run. */
static char *attributes_of(struct wl_arena *a, const char *path)
{
    const char *why;
    char *dom =
        dom_of(program, wl_strf(a, "file://%s", path), wl_path_join(a, wl_path_dir(a, path), "profile"), &why, a);
    if (!dom) fail_msg("%s: %s", program, why);
    const char *head = strstr(dom, "<html");
    return wl_strndup(a, head, strcspn(head, ">"));
}

static char *attributes(struct wl_arena *a, enum policy policy, const char *more)
{
    return attributes_of(a, probed_page(a, synthetic_crowded_document(a), probe, policy, more));
}

static void assert_drawn(const char *head)
{
    assert_holds(head, "data-rendered=\"4 of 4\"");
    assert_holds(head, "data-drawn=\"4\"");
    assert_holds(head, "data-visible=\"0001\"");
    assert_holds(head, "data-tooltip=\"workers: 2, resnet50: ");
    assert_holds(head, " s\"");
    assert_holds(head, "data-picked=\"4 1\"");
    assert_holds(head, "data-rows=\"2 0\"");
    assert_holds(head, "data-long=\"75 rows. 200 rows are about resnet50. 75 of them are on this page, all are in "
                       "tables/long.csv, which wattlaw report --formats csv writes.\"");
    assert_holds(head, "data-crowd=\"0 rows. 5 rows are about resnet50. None of them is on this page, all are in "
                       "tables/crowd.csv, which wattlaw report --formats csv writes.\"");
    assert_holds(head, "data-configurations2=\"0 rows. No row is about resnet50.\"");
    assert_holds(head, "data-every=\"150\"");
    assert_holds(head, "data-revealed=\"true\"");
    assert_holds(head, "data-found=\"1\"");
    assert_holds(head, "data-alone=\"0,4,0,0\""); /* a value between gaps has no line, and a mark */
    assert_holds(head, "data-formula=\"rank 0's epoch-end minus epoch-begin; ");
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

/* ---- other bases ---- */

/* The numbers after `title` in an attribute: n points of three, "-" where there is none. */
static void assert_points(const char *head, const char *attribute, const char *title, const double (*want)[3], size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *at = strstr(head, wl_strf(a, " data-%s=\"", attribute));
    if (!at) fail_msg("no attribute %s in %s", attribute, head);
    at = strchr(at, '"') + 1;
    if (!wl_str_starts(at, title)) fail_msg("%s: %.60s, not %s", attribute, at, title);
    at += strlen(title);
    for (size_t i = 0; i < 3 * n; i++) {
        char *end;
        const double is = strtod(++at, &end), expected = want[i / 3][i % 3];
        if (isnan(expected)) {
            if (*at != '-') fail_msg("%s, point %zu: %.20s, not missing", attribute, i / 3, at);
            end = (char *)at + 1;
        } else if (!(fabs(is / expected - 1) < 1e-4)) {
            fail_msg("%s, point %zu: %.20s, not %g", attribute, i / 3, at, expected);
        }
        at = end;
    }
    assert_true(*at == '"');
    wl_arena_free(a);
}

/* Of two runs at each point one takes 1.25 times, the other 0.8 times the mean: uncapped 2880 s at 1 worker and 1440 s
 * at 4; at 200 W 1.2 times that and 0.7 times the power. Welch: variances d^2 and d^2, 2 degrees of freedom. */
static void another_base_is_computed_on_the_page(void **state)
{
    static const struct known_answer_run runs[] = {
        { 1, NAN, 3600, 40, .5, 40, .1, .1, .1 }, { 1, NAN, 2304, 40, .5, 40, .1, .1, .1 },
        { 4, NAN, 1800, 40, .5, 40, .1, .1, .1 }, { 4, NAN, 1152, 40, .5, 40, .1, .1, .1 },
        { 1, 200, 4320, 28, .5, 40, .1, .1, .1 }, { 1, 200, 2764.8, 28, .5, 40, .1, .1, .1 },
        { 4, 200, 2160, 28, .5, 40, .1, .1, .1 }, { 4, 200, 1382.4, 28, .5, 40, .1, .1, .1 },
    };
    const struct wl_document *d = known_answer_report(&(struct hand) { .runs = runs, .n = WL_COUNT(runs) }, *state);
    const char *head = attributes_of(*state, probed_page(*state, d, base_probe, OURS, ""));
    const double half = T2 * sqrt(2) * D, lo = exp(-half), hi = exp(half), none = NAN;
    assert_holds_not(head, "data-error");
    assert_points(head, "count", "speedup over 4 workers",
                  (const double[][3]) { { .5, .5 * lo, .5 * hi },
                                        { 1, none, none },
                                        { .5, .5 * lo, .5 * hi },
                                        { 1, none, none },
                                        { .25, none, none },
                                        { 1, none, none } },
                  6);
    const double capped = 1.2 * .7;
    assert_points(head, "group", "energy over the base above",
                  (const double[][3]) { { capped, capped * lo, capped * hi },
                                        { 2 * capped, 2 * capped * lo, 2 * capped * hi },
                                        { 1, none, none },
                                        { 2, 2 * lo, 2 * hi } },
                  4);
    assert_points(head, "back", "speedup over the fewest workers",
                  (const double[][3]) { { 1, 1, 1 },
                                        { 2, 2 * lo, 2 * hi },
                                        { 1, 1, 1 },
                                        { 2, 2 * lo, 2 * hi },
                                        { 1, none, none },
                                        { 4, none, none } },
                  6);
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(page_loads_without_errors),
                                        WITH_ARENA(another_base_is_computed_on_the_page),
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
