/* Text from people, files and programs, made harmless in each place where it is shown. */
#ifndef WL_REPORT_ESCAPE_H
#define WL_REPORT_ESCAPE_H

#include "base/base.h"

/* Each adds `s` so that it reads as plain text there; NULL adds nothing. U+FFFD replaces bad UTF-8, C1 and
 * bidirectional controls, and characters without width (base/printable.h). */
void wl_escape_html(struct wl_text *to, const char *s);       /* text and quoted attributes */
void wl_escape_html_prose(struct wl_text *to, const char *s); /* no line break before a unit */
void wl_escape_attribute(struct wl_text *to, const char *name,
                         const char *value); /* " name=\"value\""; NULL: nothing */
void wl_escape_latex(struct wl_text *to, const char *s);
void wl_escape_markdown(struct wl_text *to, const char *s);       /* inside a table cell: no line breaks */
void wl_escape_gnuplot(struct wl_text *to, const char *s);        /* with its quotes */
void wl_escape_script_json(struct wl_text *to, const char *json); /* JSON text inside <script> */

#endif
