/* Parts of the page. */
#ifndef WL_REPORT_DOCUMENT_HTML_H
#define WL_REPORT_DOCUMENT_HTML_H

#include "report/document/document.h"

/* A text between two pieces of HTML; NULL: none. Prose: a number stays on one line with its unit. */
void wl_html_text(struct wl_text *to, const char *open, const char *text, const char *close);
void wl_html_prose(struct wl_text *to, const char *open, const char *text, const char *close);

/* The card that answers: which setting, what it saves, how sure that is, and what to measure next. */
void wl_document_html_card(const struct wl_document *d, struct wl_text *to);

/* The list of all figures and tables, with a search; the pickers of workload and factor, which ui/pickers.js fills in.
 */
void wl_document_html_contents(const struct wl_document *d, struct wl_text *to);

#endif
