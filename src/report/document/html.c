/* A document as one HTML page. Chart.js, the page's own script, its style and all figures are inside it; nothing
 * is loaded from anywhere. */
#include "report/document/html.h"
#include "report/document/assets.h"
#include "report/document/document.h"
#include "report/escape.h"
#include "report/labels.h"
#include "report/metric_docs.h"

void wl_html_text(struct wl_text *to, const char *open, const char *text, const char *close)
{
    wl_text_add(to, open);
    wl_escape_html(to, text);
    wl_text_add(to, close);
}

void wl_html_prose(struct wl_text *to, const char *open, const char *text, const char *close)
{
    wl_text_add(to, open);
    wl_escape_html_prose(to, text);
    wl_text_add(to, close);
}

static void put_list(struct wl_text *to, const char *class, const struct wl_strs *items)
{
    if (items->n == 0) return;
    wl_text_addf(to, "<ul class=\"%s\">\n", class);
    for (size_t i = 0; i < items->n; i++) wl_html_prose(to, "<li>", items->v[i], "</li>\n");
    wl_text_add(to, "</ul>\n");
}

static void put_header(const struct wl_document *d, struct wl_text *to)
{
    wl_text_add(to, "<header>\n");
    wl_html_text(to, "<h1>", d->title, "</h1>\n");
    if (d->subtitle) wl_html_text(to, "<p class=\"subtitle\">", d->subtitle, "</p>\n");
    wl_text_add(to, "<button id=\"theme\" type=\"button\">dark or light</button>\n</header>\n");
}

static void put_list_section(struct wl_text *to, const char *id, const char *title, const struct wl_strs *items)
{
    if (items->n == 0) return;
    wl_text_addf(to, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
    put_list(to, id, items);
    wl_text_add(to, "</section>\n");
}

/* The most important ones; the others are folded, so that the first screen holds them. */
static void put_findings(const struct wl_document *d, struct wl_text *to)
{
    enum { LEAST = 3 };
    const size_t asked = d->n_head_findings > LEAST ? d->n_head_findings : LEAST,
                 n = asked + 1 < d->findings.n ? asked : d->findings.n;
    const struct wl_strs head = { d->findings.v, n, n }, rest = { d->findings.v + n, d->findings.n - n, 0 };
    if (d->findings.n == 0) return;
    wl_text_add(to, "<section id=\"findings\">\n<h2>Key findings</h2>\n");
    put_list(to, "findings", &head);
    if (rest.n) {
        wl_text_addf(to, "<details><summary>%zu more findings</summary>\n", rest.n);
        put_list(to, "findings", &rest);
        wl_text_add(to, "</details>\n");
    }
    wl_text_add(to, "</section>\n");
}

static void put_facts(const struct wl_document *d, struct wl_text *to)
{
    if (d->n_facts == 0) return;
    wl_text_add(to, "<section id=\"facts\">\n<h2>What was measured</h2>\n<dl class=\"facts\">\n");
    for (size_t i = 0; i < d->n_facts; i++) {
        wl_html_text(to, "<div><dt>", d->facts[i].label, "</dt>");
        wl_html_prose(to, "<dd>", d->facts[i].value, "</dd></div>\n");
    }
    wl_text_add(to, "</dl>\n</section>\n");
}

/* Links to the rows at the foot of the page that say how the numbers were computed. */
static void put_metric_links(const char *ids, struct wl_arena *a, struct wl_text *to)
{
    struct wl_strs list = wl_str_split(a, ids ? ids : "", ' ');
    if (list.n == 0) return;
    wl_text_add(to, "<p class=\"metrics\">How computed: ");
    for (size_t i = 0; i < list.n; i++) {
        const struct wl_metric_doc *m = wl_metric_doc(list.v[i]);
        WL_CHECK(m);
        wl_text_addf(to, "%s<a href=\"#metric-%s\">", i ? ", " : "", m->id);
        wl_html_text(to, "", m->name, "</a>");
    }
    wl_text_add(to, "</p>\n");
}

/* The places of a figure's workload, or of those of its view, among the document's: ui/tables.js shows their rows. */
static void put_of(const struct wl_document *d, const char *name, struct wl_text *to)
{
    const struct wl_strs one = { (char **)&name, 1, 0 };
    const struct wl_strs *names = &one;
    struct wl_json *of = wl_json_root_array(d->arena);
    if (!name) return;
    for (size_t i = 0; i < d->n_views; i++)
        if (wl_str_eq(d->views[i].name, name)) names = &d->views[i].workloads;
    for (size_t i = 0; i < names->n; i++)
        for (size_t k = 0; k < d->workloads.n; k++)
            if (wl_str_eq(d->workloads.v[k], names->v[i])) wl_json_add_int(of, NULL, (int64_t)k);
    wl_text_addf(to, " data-of=\"%s\"", wl_json_text_to_draw(of, d->arena));
}

static void put_figure(const struct wl_document *d, const struct wl_figure *f, struct wl_text *to)
{
    const char *honesty = wl_provenance_note(f->estimated, f->simulated);
    wl_text_addf(to, "<figure class=\"chart\" id=\"figure-%s\"", f->id);
    wl_escape_attribute(to, "data-workload", f->workload);
    put_of(d, f->workload, to);
    wl_escape_attribute(to, "data-factor", f->factor);
    wl_text_add(to, ">\n");
    wl_html_text(to, "<figcaption><h3>", f->title, "");
    if (honesty) wl_text_addf(to, " <span class=\"badge\">%s</span>", honesty);
    wl_text_addf(to, "</h3></figcaption>\n<div class=\"canvas\"><canvas data-figure=\"%s\" role=\"img\" aria-label=\"",
                 f->id);
    wl_escape_html(to, f->title);
    wl_text_add(to, "\"></canvas></div>\n");
    if (f->caption) wl_html_prose(to, "<p class=\"caption\">", f->caption, "</p>\n");
    if (f->source) wl_html_text(to, "<p class=\"source\">", f->source, "</p>\n");
    const struct wl_figure_thinned thinned = wl_figure_thinned(f);
    if (thinned.drawn < thinned.all)
        wl_text_addf(to,
                     "<p class=\"source\">Points that would cover each other are drawn once: %zu of %zu. All of them: "
                     "figures/%s.csv, which <code>wattlaw report --formats csv</code> writes.</p>\n",
                     thinned.drawn, thinned.all, f->id);
    put_metric_links(f->metrics, d->arena, to);
    wl_text_add(to, "</figure>\n");
}

static void put_section(const struct wl_document *d, const struct wl_section *s, struct wl_text *to)
{
    wl_report_table_writer *write_table = wl_report_table_format("html");
    if (!s->n_figures && !s->n_tables) return;
    wl_text_addf(to, "<section id=\"%s\">\n", s->id);
    wl_html_text(to, "<h2>", s->title, "</h2>\n");
    if (s->n_figures) wl_text_add(to, "<div class=\"figures\">\n");
    for (size_t i = 0; i < s->n_figures; i++) put_figure(d, s->figures[i], to);
    if (s->n_figures) wl_text_add(to, "</div>\n");
    for (size_t i = 0; i < s->n_tables; i++) write_table(s->tables[i], to);
    wl_text_add(to, "</section>\n");
}

static void put_metrics(struct wl_text *to)
{
    wl_text_add(to, "<section id=\"metrics\">\n<h2>How each number is computed</h2>\n<dl class=\"metrics\">\n");
    for (const struct wl_metric_doc *m = wl_metric_docs; m->id; m++) {
        wl_text_addf(to, "<div id=\"metric-%s\">", m->id);
        wl_html_text(to, "<dt>", m->name, "");
        if (*m->unit) wl_html_text(to, " <span class=\"unit\">[", m->unit, "]</span>");
        wl_html_text(to, "</dt><dd>", m->formula, "");
        wl_html_text(to, " <span class=\"source\">(", m->source, ")</span></dd></div>\n");
    }
    wl_text_add(to, "</dl>\n</section>\n");
}

static void put_data(const struct wl_document *d, struct wl_text *to)
{
    struct wl_json *root = wl_json_root_array(d->arena);
    for (size_t i = 0; i < d->n_sections; i++) {
        const struct wl_section *s = d->sections[i];
        for (size_t k = 0; k < s->n_figures; k++) wl_figure_json(s->figures[k], wl_json_add_object(root, NULL));
    }
    wl_text_add(to, "<script type=\"application/json\" id=\"figures\">");
    wl_escape_script_json(to, wl_json_text_to_draw(root, d->arena));
    wl_text_add(to, "</script>\n");
}

static void put_asset(struct wl_text *to, const char *open, const unsigned char *bytes, size_t n, const char *close)
{
    wl_text_add(to, open);
    wl_text_addn(to, (const char *)bytes, n);
    wl_text_add(to, close);
}

/* The browser runs the two scripts and applies the one style of the build, known by their hashes, and loads nothing:
 * names of a store that got past the escapes still run nothing and connect nowhere. Source: CSP level 3,
 * https://www.w3.org/TR/CSP3/. The canvases' sizes, which Chart.js sets through the DOM, are not inline styles. */
static void put_policy(struct wl_text *to)
{
    wl_text_addf(to,
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '%s' '%s'; "
                 "style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'\">\n",
                 wl_asset_chart_js_hash, wl_asset_report_js_hash, wl_asset_report_css_hash);
}

void wl_document_html(const struct wl_document *d, struct wl_text *to)
{
    wl_text_add(to, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(to); /* before everything that it is about */
    wl_text_add(to, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"generator\" content=\"wattlaw " WL_VERSION "\">\n"
                    "<link rel=\"icon\" href=\"data:,\">\n");
    wl_html_text(to, "<title>", d->title, "</title>\n");
    put_asset(to, "<style>", wl_asset_report_css, wl_asset_report_css_size, "</style>\n</head>\n<body>\n");
    put_header(d, to);
    wl_document_html_card(d, to);
    put_findings(d, to);
    wl_document_html_contents(d, to);
    put_list_section(to, "warnings", "Read with care", &d->warnings);
    put_facts(d, to);
    wl_text_add(to,
                "<main>\n<noscript><p>The figures are drawn by JavaScript; words and tables are not.</p></noscript>\n");
    for (size_t i = 0; i < d->n_sections; i++) put_section(d, d->sections[i], to);
    put_metrics(to);
    wl_text_add(to, "</main>\n");
    put_data(d, to);
    put_asset(to, "<script>", wl_asset_chart_js, wl_asset_chart_js_size, "</script>\n");
    put_asset(to, "<script>", wl_asset_report_js, wl_asset_report_js_size, "</script>\n</body>\n</html>\n");
}
