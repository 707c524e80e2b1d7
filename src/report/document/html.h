/* Parts of the page. */
#ifndef WL_REPORT_DOCUMENT_HTML_H
#define WL_REPORT_DOCUMENT_HTML_H

#include "report/document/document.h"

/* The card that answers: which setting, what it saves, how sure that is, and what to measure next. */
void wl_document_html_card(const struct wl_document *d, struct wl_text *to);

/* The list of all figures and tables, with a search; the pickers of workload and factor, which ui/pickers.js fills in. */
void wl_document_html_contents(const struct wl_document *d, struct wl_text *to);

#endif
