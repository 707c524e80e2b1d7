/* The head of the page: the card and the contents. */
#include "report/document/html.h"
#include "report/escape.h"

#include <math.h>

/* ---- the card ---- */

static void put_row(struct wl_text *to, const char *head, const char *text)
{
    if (!text || !*text) return;
    wl_text_addf(to, "<div><dt>%s</dt>", head);
    wl_html_prose(to, "<dd>", text, "</dd></div>\n");
}

/* One workload or two: all that there is to say. */
static void put_answer(const struct wl_answer *answer, struct wl_text *to)
{
    wl_text_addf(to, "<div class=\"answer%s\">\n<p class=\"use\">", answer->shown ? "" : " open");
    if (answer->workload) wl_html_text(to, "<span class=\"workload\">", answer->workload, ":</span> ");
    wl_html_prose(to, answer->shown ? "Use <strong>" : "<strong>", answer->use, "</strong></p>\n<dl>\n");
    put_row(to, answer->shown ? "Saves" : "Because", answer->saves);
    put_row(to, "How sure", answer->sure);
    put_row(to, "Next", answer->next);
    wl_text_add(to, "</dl>\n</div>\n");
}

static const char *probability(const struct wl_answer *answer, struct wl_arena *a)
{
    if (isnan(answer->within)) return answer->shown ? "no other fits" : "";
    return wl_probability_text(answer->within, a);
}

/* Many workloads: a row each. */
static void put_answer_row(const struct wl_answer *answer, bool with_next, struct wl_text *to)
{
    wl_text_addf(to, "<tr%s>", answer->shown ? "" : " class=\"open\"");
    wl_html_text(to, "<th scope=\"row\" class=t>", answer->workload ? answer->workload : "no workload", "</th>");
    if (!answer->saves && !answer->next && isnan(answer->within)) { /* nothing but why there is no setting */
        wl_text_addf(to, "<td class=\"t use\" colspan=\"%d\">", with_next ? 4 : 3);
        wl_html_prose(to, "", answer->use, "</td></tr>\n");
        return;
    }
    wl_html_prose(to, "<td class=\"t use\">", answer->use, "</td>");
    wl_html_prose(to, "<td class=\"t saves\">", answer->saves, "</td>");
    wl_html_text(to, "<td class=\"t sure\">", probability(answer, to->arena), "</td>");
    if (with_next) wl_html_prose(to, "<td class=\"t next\">", answer->next, "</td>");
    wl_text_add(to, "</tr>\n");
}

static void put_answer_table(const struct wl_answer *v, size_t n, struct wl_text *to)
{
    bool with_next = false;
    for (size_t i = 0; i < n; i++) with_next = with_next || v[i].next;
    wl_text_add(to, "<table class=\"answers\">\n<thead><tr><th class=t>workload</th><th class=\"t use\">use</th>"
                    "<th class=\"t saves\">saves</th><th class=\"t sure\">how sure</th>");
    wl_text_addf(to, "%s</tr></thead>\n<tbody>\n", with_next ? "<th class=\"t next\">next</th>" : "");
    for (size_t i = 0; i < n; i++) put_answer_row(&v[i], with_next, to);
    wl_text_add(to, "</tbody>\n</table>\n");
}

/* What was asked for; where nothing is shown there is nothing to explain. */
static void put_question(const struct wl_document *d, bool in_table, struct wl_text *to)
{
    bool any = false;
    for (size_t i = 0; i < d->n_answers; i++) any = any || d->answers[i].shown || d->answers[i].saves;
    if (!any) return;
    wl_text_addf(to,
                 "<p class=\"caption\">%sLeast energy within 10&nbsp;%% of the time of the same setting without a cap "
                 "(of the fastest one where no cap varied), as <code>wattlaw recommend</code>; "
                 "other limits and goals: <code>wattlaw recommend --help</code>.</p>\n",
                 in_table ? "How sure: the probability that the setting is within 3&nbsp;% of the best one. " : "");
}

void wl_document_html_card(const struct wl_document *d, struct wl_text *to)
{
    enum { WHOLE = 2, HEAD = 8 };
    if (d->n_answers == 0) return;
    wl_text_add(to, "<section id=\"choice-card\">\n<h2>Which setting to use</h2>\n");
    for (size_t i = 0; d->n_answers <= WHOLE && i < d->n_answers; i++) put_answer(&d->answers[i], to);
    if (d->n_answers > WHOLE) put_answer_table(d->answers, d->n_answers < HEAD ? d->n_answers : HEAD, to);
    if (d->n_answers > HEAD) {
        wl_text_addf(to, "<details><summary>%zu more workloads</summary>\n", d->n_answers - HEAD);
        put_answer_table(d->answers + HEAD, d->n_answers - HEAD, to);
        wl_text_add(to, "</details>\n");
    }
    put_question(d, d->n_answers > WHOLE, to);
    wl_text_add(to, "</section>\n");
}

/* ---- contents ---- */

static void put_link(struct wl_text *to, const char *kind, const char *id, const char *title)
{
    wl_text_addf(to, "<li><a href=\"#%s%s\">", kind, id);
    wl_html_text(to, "", title, "</a></li>\n");
}

void wl_document_html_contents(const struct wl_document *d, struct wl_text *to)
{
    size_t figures = 0, tables = 0;
    for (size_t i = 0; i < d->n_sections; i++) figures += d->sections[i]->n_figures, tables += d->sections[i]->n_tables;
    wl_text_addf(to,
                 "<nav aria-label=\"Contents\">\n<details id=\"contents\"><summary>Contents: %zu figure%s, %zu "
                 "table%s</summary>\n<div id=\"pickers\" hidden></div>\n<input id=\"search\" type=\"search\" "
                 "placeholder=\"find a figure or table\" aria-label=\"Find a figure or table\" hidden>\n<ul>\n",
                 figures, figures == 1 ? "" : "s", tables, tables == 1 ? "" : "s");
    for (size_t i = 0; i < d->n_sections; i++) {
        const struct wl_section *s = d->sections[i];
        if (!s->n_figures && !s->n_tables) continue;
        wl_text_addf(to, "<li><a href=\"#%s\">", s->id);
        wl_html_text(to, "", s->title, "</a>\n<ul>\n");
        for (size_t k = 0; k < s->n_figures; k++) put_link(to, "figure-", s->figures[k]->id, s->figures[k]->title);
        for (size_t k = 0; k < s->n_tables; k++) put_link(to, "table-", s->tables[k]->id, s->tables[k]->title);
        wl_text_add(to, "</ul></li>\n");
    }
    wl_text_add(to, "<li><a href=\"#metrics\">How each number is computed</a></li>\n</ul>\n</details>\n</nav>\n");
}
