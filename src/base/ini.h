/* INI files, through libinih: sections of "key = value" with line numbers.
 *
 * Comments start with # or ; . A duplicate key in a section is an error. A value may continue on indented lines
 * (joined by one space). Lines may be as long as the file.
 */
#ifndef WL_BASE_INI_H
#define WL_BASE_INI_H

#include "base/opt.h"

struct wl_ini_entry {
    const char *key, *value;
    int line;
};
struct wl_ini_section {
    const char *name;
    int line;
    struct wl_ini_entry *v;
    size_t n, cap;
};
struct wl_ini {
    const char *path, *text;
    struct wl_ini_section *v;
    size_t n, cap;
};

/* Reads a file (at most 1 MiB). Errors name file:line and the text found there. */
int wl_ini_read(const char *path, struct wl_ini *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The same from text; `path` is used in messages. */
int wl_ini_parse(const char *path, const char *text, struct wl_ini *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* A section by name, or NULL. */
const struct wl_ini_section *wl_ini_section(const struct wl_ini *ini, const char *name);

/* Sets options from all entries of a section (no section: nothing to do). */
int wl_ini_apply(const struct wl_ini *ini, const char *section, const struct wl_opt *rows, void *out,
                 struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Fails on a section that is not in the list, with "did you mean". */
int wl_ini_known_sections(const struct wl_ini *ini, const char *const *names, size_t n, struct wl_err *e) WL_MUST_CHECK;

#endif
