#include "mark/expression.h"

#include <stdio.h>
#include <string.h>

enum { GROUPS = WL_EXPRESSION_GROUPS, TEXT = WL_EXPRESSION_TEXT };

static void free_regex(void *what) { regfree(what); }

/* One "name=group" of a list. */
static int add_field(struct wl_expression *x, const char *item, struct wl_arena *a, struct wl_err *e)
{
    const char *equals = strchr(item, '=');
    int64_t group;
    if (!equals || equals == item || wl_str_to_int(equals + 1, &group) != 0 || group < 1)
        return wl_fail(e, WL_EINVAL, "--%s-fields: '%s': expected NAME=GROUP, such as epoch=1", x->option, item);
    if ((size_t)group > x->regex.re_nsub)
        return wl_fail(e, WL_EINVAL, "--%s-fields: %s, but --%s-regex has %zu groups", x->option, item, x->option,
                       x->regex.re_nsub);
    if (group >= GROUPS || x->n == GROUPS)
        return wl_fail(e, WL_EINVAL, "--%s-fields: at most %d fields and groups", x->option, GROUPS - 1);
    x->field[x->n].name = wl_strndup(a, item, (size_t)(equals - item));
    x->field[x->n++].group = (int)group;
    return 0;
}

/* "\d" of other dialects would match the letter d, and so nothing. */
static int check_classes(const char *option, const char *regex, struct wl_err *e)
{
    for (const char *c = regex; *c; c++) {
        if (*c != '\\') continue;
        c++;
        if (*c == 'd' || *c == 'D')
            return wl_fail(e, WL_EINVAL, "--%s-regex '%s': \\%c is not known to POSIX extended expressions: write %s",
                           option, regex, *c, *c == 'd' ? "[0-9]" : "[^0-9]");
        if (!*c) break;
    }
    return 0;
}

int wl_expression_compile(struct wl_expression *x, const char *option, const char *regex, const char *fields,
                          const char **faulty, struct wl_arena *a, struct wl_err *e)
{
    char why[256];
    struct wl_strs list;
    int rc;
    x->option = option;
    *faulty = wl_strf(a, "%s-%s", option, regex ? "regex" : "fields");
    if (!regex && fields) return wl_fail(e, WL_EINVAL, "--%s-fields requires --%s-regex", option, option);
    if (!regex) return 0;
    if ((rc = check_classes(option, regex, e)) != 0) return rc;
    rc = regcomp(&x->regex, regex, REG_EXTENDED);
    if (rc != 0) {
        regerror(rc, &x->regex, why, sizeof why);
        return wl_fail(e, WL_EINVAL, "--%s-regex '%s': %s", option, regex, why);
    }
    wl_defer(a, free_regex, &x->regex);
    x->text = regex;
    x->set = true;
    if (regcomp(&x->any_case, regex, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0)
        wl_defer(a, free_regex, &x->any_case);
    else
        x->matched = true; /* it is not looked for */
    if (!fields) {
        x->field[0].name = option;
        x->field[0].group = 1;
        x->n = x->regex.re_nsub >= 1;
        return 0;
    }
    *faulty = wl_strf(a, "%s-fields", option);
    list = wl_str_split(a, fields, ',');
    for (size_t i = 0; i < list.n; i++)
        if ((rc = add_field(x, list.v[i], a, e)) != 0) return rc;
    return 0;
}

bool wl_expression_match(struct wl_expression *x, const char *line, struct wl_match *m)
{
    if (!x->set) return false;
    if (regexec(&x->regex, line, GROUPS, m->at, 0) == 0) return x->matched = true;
    if (!x->matched && !*x->near && regexec(&x->any_case, line, 0, NULL, 0) == 0)
        snprintf(x->near, sizeof x->near, "%.*s", (int)sizeof x->near - 1, line);
    return false;
}

const char *wl_expression_field(const struct wl_expression *x, size_t i, const char *line, const struct wl_match *m,
                                char buf[TEXT])
{
    regmatch_t g = m->at[x->field[i].group];
    buf[0] = '\0';
    if (g.rm_so < 0) return buf;
    while (g.rm_so < g.rm_eo && (line[g.rm_so] == ' ' || line[g.rm_so] == '\t')) g.rm_so++;
    while (g.rm_so < g.rm_eo && (line[g.rm_eo - 1] == ' ' || line[g.rm_eo - 1] == '\t')) g.rm_eo--;
    snprintf(buf, TEXT, "%.*s", (int)(g.rm_eo - g.rm_so), line + g.rm_so);
    return buf;
}

const char *wl_expression_named(const struct wl_expression *x, const char *name, const char *line,
                                const struct wl_match *m, char buf[TEXT])
{
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->field[i].name, name) == 0) return wl_expression_field(x, i, line, m, buf);
    buf[0] = '\0';
    return buf;
}

static const char *count_of(int64_t lines, struct wl_arena *a)
{
    return wl_strf(a, "%lld line%s", (long long)lines, lines == 1 ? "" : "s");
}

void wl_expression_add_unmatched(struct wl_strs *out, const struct wl_expression *x, int64_t lines, struct wl_arena *a)
{
    if (!x->set || x->matched) return;
    if (lines == 0)
        wl_strs_addf(a, out, "--%s-regex '%s': the command printed nothing", x->option, x->text);
    else
        wl_strs_addf(a, out, "--%s-regex '%s' matches no line of the output (%s)%s%s%s", x->option, x->text,
                     count_of(lines, a), *x->near ? "; it would match '" : "", x->near,
                     *x->near ? "' but for upper and lower case" : "");
}
