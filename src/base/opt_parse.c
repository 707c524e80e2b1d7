/* Options on a command line: reading them, and the lines of --help. */
#include "base/fold.h"
#include "base/opt_value.h"

#include <ctype.h>
#include <string.h>

/* The state of one pass over a command line. */
struct pass {
    const struct wl_opts_line *line;
    void *out;
    int i;      /* of the word that is read */
    bool *seen; /* per row */
    struct wl_arena *a;
    struct wl_err *e;
};

/* The word after an option that takes a value. "--" ends the options: in `--out -- COMMAND` the value is missing. */
static int next_value(struct pass *p, const struct wl_opt *o, const char *shown, const char **value)
{
    const bool ends = p->i + 1 < p->line->argc && strcmp(p->line->argv[p->i + 1], "--") == 0;
    if (p->i + 1 >= p->line->argc || ends)
        return wl_fail(p->e, WL_EUSAGE, "%s: a value is missing%s; expected %s", shown,
                       ends ? " before \"--\", which ends the options" : "", wl_opt_expected(o, p->a));
    *value = p->line->argv[++p->i];
    return 0;
}

static int apply(struct pass *p, const struct wl_opt *o, const char *value, const char *shown)
{
    size_t k = (size_t)(o - p->line->rows);
    if (!wl_opt_set(o, p->out, value, p->seen[k], p->a))
        return wl_fail(p->e, WL_EUSAGE, "%s %s: expected %s", shown, *value ? value : "\"\"", wl_opt_expected(o, p->a));
    p->seen[k] = true;
    return 0;
}

/* The option that writes a flag's output to a file: for --json, --json-file; NULL: none. */
static const struct wl_opt *file_option(const struct pass *p, const struct wl_opt *flag)
{
    return wl_opts_find(p->line->rows, wl_strf(p->a, "%s-file", flag->name));
}

/* --name, --name=value, --name value, --no-flag */
static int long_option(struct pass *p, const char *arg)
{
    const char *eq = strchr(arg, '=');
    const char *name = wl_strndup(p->a, arg + 2, eq ? (size_t)(eq - arg - 2) : strlen(arg + 2));
    const struct wl_opt *o = wl_opts_find(p->line->rows, name);
    if (!o && wl_str_starts(name, "no-")) {
        o = wl_opts_find(p->line->rows, name + 3);
        if (o && o->type == WL_FLAG && !eq) return apply(p, o, "no", arg);
        o = NULL;
    }
    if (!o) return wl_opt_unknown(p->line->rows, name, "", "--", WL_EUSAGE, p->e);
    const char *shown = wl_strf(p->a, "--%s", name);
    if (eq && o->type == WL_FLAG && file_option(p, o) && apply(p, o, eq + 1, shown))
        return wl_fail(p->e, WL_EUSAGE, "%s does not take a value; --%s %s writes a file", shown,
                       file_option(p, o)->name, eq + 1);
    if (eq) return apply(p, o, eq + 1, shown);
    if (o->type == WL_FLAG) return apply(p, o, "yes", shown);
    const char *value;
    int rc = next_value(p, o, shown, &value);
    return rc ? rc : apply(p, o, value, shown);
}

/* -x, -xvalue, -x value */
static int short_option(struct pass *p, const char *arg)
{
    for (const struct wl_opt *o = p->line->rows; o->name; o++) {
        if (!o->letter || o->letter != arg[1]) continue;
        const char *shown = wl_strndup(p->a, arg, 2);
        if (o->type == WL_FLAG && !arg[2]) return apply(p, o, "yes", shown);
        if (o->type != WL_FLAG && arg[2]) return apply(p, o, arg + 2, shown);
        if (o->type == WL_FLAG) break;
        const char *value;
        int rc = next_value(p, o, shown, &value);
        return rc ? rc : apply(p, o, value, shown);
    }
    return wl_fail(p->e, WL_EUSAGE, "unknown option %s", arg);
}

/* Sets the values of a chosen preset in rows that the command line does not set. A row set here counts as not seen,
 * like one with a default. */
static void apply_preset(struct pass *p, const char *values)
{
    struct wl_strs pairs = wl_str_split(p->a, values, ' ');
    for (size_t i = 0; i < pairs.n; i++) {
        const char *eq = strchr(pairs.v[i], '=');
        WL_CHECK(eq);
        const struct wl_opt *o = wl_opts_find(p->line->rows, wl_strndup(p->a, pairs.v[i], (size_t)(eq - pairs.v[i])));
        WL_CHECK(o);
        if (!p->seen[o - p->line->rows]) WL_CHECK(wl_opt_set(o, p->out, eq + 1, false, p->a));
    }
}

static void apply_presets(struct pass *p)
{
    for (const struct wl_opt *o = p->line->rows; o->name; o++) {
        const char *chosen = o->presets ? *(const char *const *)((const char *)p->out + o->offset) : NULL;
        for (const struct wl_opt_preset *v = o->presets; chosen && v->name; v++)
            if (wl_str_eq(v->name, chosen)) apply_preset(p, v->values);
    }
}

static int check_required(const struct pass *p)
{
    for (const struct wl_opt *o = p->line->rows; o->name; o++)
        if (o->required && !p->seen[o - p->line->rows])
            return wl_fail(p->e, WL_EUSAGE, "--%s is missing: %s", o->name, o->help);
    return 0;
}

int wl_opts_parse(const struct wl_opts_line *line, void *out, struct wl_opts_args *rest, struct wl_arena *a,
                  struct wl_err *e)
{
    struct pass p = {
        .line = line, .out = out, .seen = wl_new_array(a, bool, wl_opts_count(line->rows)), .a = a, .e = e
    };
    *rest = (struct wl_opts_args) { 0 };
    wl_opts_default(line->rows, out, a);
    for (; p.i < line->argc; p.i++) {
        const char *arg = line->argv[p.i];
        int rc = 0;
        if (strcmp(arg, "--") == 0) {
            rest->command = line->argv + p.i + 1;
            break;
        } else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            rest->help = true;
            return 0;
        } else if (wl_str_starts(arg, "--")) {
            rc = long_option(&p, arg);
        } else if (arg[0] == '-' && arg[1] && !isdigit((unsigned char)arg[1])) {
            rc = short_option(&p, arg);
        } else if (line->stop_at_word) {
            rest->command = line->argv + p.i;
            break;
        } else {
            wl_strs_add(a, &rest->args, arg);
        }
        if (rc) return rc;
    }
    for (const struct wl_opt *o = line->rows; o->name; o++)
        if (p.seen[o - line->rows]) wl_strs_add(a, &rest->given, o->name);
    apply_presets(&p);
    return check_required(&p);
}

const char *wl_opt_value_word(const struct wl_opt *o, struct wl_arena *a)
{
    if (o->unit) return o->unit;
    switch (o->type) {
    case WL_FLAG: return "";
    case WL_INT: return "N";
    case WL_REAL: return "X";
    case WL_DURATION: return "TIME";
    case WL_INTS: return "N,N...";
    case WL_REALS: return "X,X...";
    case WL_CHOICE: return wl_strdup(a, o->choices);
    case WL_STR: return "TEXT";
    case WL_STRS: return "A,B...";
    case WL_LINES: return "TEXT";
    }
    return "";
}

bool wl_opt_is_on(const struct wl_opt *o) { return o->type == WL_FLAG && wl_str_eq(o->def, "yes"); }

const char *wl_opt_description(const struct wl_opt *o, struct wl_arena *a)
{
    struct wl_text facts = WL_TEXT(a);
    if (o->required) wl_text_add(&facts, ", required");
    if (wl_opt_has_range(o))
        wl_text_addf(&facts, o->max >= WL_NO_MAX ? ", at least %.10g" : ", %.10g to %.10g", o->min, o->max);
    if (o->def && *o->def && !(o->type == WL_FLAG && wl_str_eq(o->def, "no")))
        wl_text_addf(&facts, ", default %s", o->def);
    if (o->type == WL_LINES || o->type == WL_STRS) wl_text_add(&facts, ", may be repeated");
    return facts.n ? wl_strf(a, "%s (%s)", o->help, facts.s + 2) : o->help;
}

static void put_text(void *to, const char *s, size_t n) { wl_text_addn(to, s, n); }

/* Adds choices to the `used` columns of a line; where it ends they go on in the next one, after a "|". */
static void add_choices(struct wl_text *to, const char *choices, size_t used, size_t width)
{
    enum { HANG = 4 };
    for (size_t n; *choices; choices += n, used += n) {
        n = strcspn(choices, "|");
        n += choices[n] == '|';
        if (used > HANG && used + n > width) {
            wl_text_addf(to, "\n%*s", HANG, "");
            used = HANG;
        }
        wl_text_addn(to, choices, n);
    }
}

/* An option that is too long for its column has its description on the next line. On a narrow terminal all have. */
void wl_opts_help(const struct wl_opt *rows, struct wl_text *to, size_t width)
{
    enum { INDENT = 2, OPTION = 28, NARROW = 72, NARROW_OPTION = 4 };
    const int column = width < NARROW ? NARROW_OPTION : OPTION;
    struct wl_arena *a = wl_arena_new(NULL);
    for (const struct wl_opt *o = rows; o->name; o++) {
        struct wl_fold fold = { .above = INDENT + (size_t)column + 2 };
        struct wl_text left = WL_TEXT(a);
        if (o->letter) wl_text_addf(&left, "-%c, ", o->letter);
        const char *word = wl_opt_value_word(o, a), *help = wl_opt_description(o, a);
        wl_text_addf(&left, "--%s%s%s", wl_opt_is_on(o) ? "[no-]" : "", o->name, o->type == WL_FLAG ? "" : " ");
        if (o->type == WL_CHOICE)
            add_choices(&left, word, INDENT + left.n, width);
        else
            wl_text_add(&left, word);
        const char *row = left.n > (size_t)column
                              ? wl_strf(a, "%*s%s\n%*s%s\n", INDENT, "", left.s, INDENT + column + 2, "", help)
                              : wl_strf(a, "%*s%-*s  %s\n", INDENT, "", column, left.s, help);
        wl_fold_add(&fold, row, strlen(row), width, put_text, to);
    }
    wl_arena_free(a);
}
