/* What people have to hand in, with the numbers of a store: docs/reference/exporting.md names the source of each form.
 *
 * Each number is followed by the runs that it is from. What is not known says so, with its reason, and stays for the
 * author; nothing is guessed. */
#ifndef WL_REPORT_FORMS_FORMS_H
#define WL_REPORT_FORMS_FORMS_H

#include "base/base.h"

struct wl_store;
struct wl_report_options;

#define WL_REPORT_FORMS "proposal|model-card|ai-act|artifact"

/* The text of a form, Markdown or YAML. `fields`: facts that no measurement holds (base/fields.h). options->run: a form
 * that adds up runs counts this one alone. WL_EUSAGE: an unknown field; WL_EINVAL: what the form is about was not
 * measured; WL_EJOB, WL_ENOENT as wl_report_build. */
int wl_report_form(const char *form, struct wl_store *store, const struct wl_report_options *options,
                   const struct wl_strs *fields, struct wl_text *to, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

#endif
