/* One regular expression of an option --NAME-regex, what its groups are (--NAME-fields), and whether it has matched. */
#ifndef WL_MARK_EXPRESSION_H
#define WL_MARK_EXPRESSION_H

#include "base/base.h"

#include <regex.h>

enum { WL_EXPRESSION_GROUPS = 16 }; /* group 0 is the whole match */

struct wl_expression {
    const char *option; /* its name, for messages */
    bool set, matched;
    regex_t regex, any_case; /* any_case: the same, upper and lower case alike; of lines before the first match */
    const char *text;        /* the expression */
    char near[80];           /* the first line that matches any_case alone; "": none */
    struct {
        const char *name;
        int group;
    } field[WL_EXPRESSION_GROUPS];
    size_t n;
};

/* What an expression found in a line. */
struct wl_match {
    regmatch_t at[WL_EXPRESSION_GROUPS];
};

/* `option` is "epoch", say, which is also the name of the first group where no list of fields ("epoch=1,samples=3") is
 * given. Without an expression it matches nothing. *faulty: the option that an error is about. Freed with the arena.
 * WL_EINVAL. */
int wl_expression_compile(struct wl_expression *x, const char *option, const char *regex, const char *fields,
                          const char **faulty, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

bool wl_expression_match(struct wl_expression *x, const char *line, struct wl_match *m);

/* The text of field i, or of a field's name, in buf, without blanks at its ends; "" where the group took no part. */
enum { WL_EXPRESSION_TEXT = 64 };
const char *wl_expression_field(const struct wl_expression *x, size_t i, const char *line, const struct wl_match *m,
                                char buf[WL_EXPRESSION_TEXT]);
const char *wl_expression_named(const struct wl_expression *x, const char *name, const char *line,
                                const struct wl_match *m, char buf[WL_EXPRESSION_TEXT]);

/* A sentence if it has matched none of so many lines. */
void wl_expression_add_unmatched(struct wl_strs *out, const struct wl_expression *x, int64_t lines, struct wl_arena *a);

#endif
