#include "base/opt.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Names compare with '_' and '-' alike. */
static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) return false;
    return *a == *b;
}

const struct wl_opt *wl_opts_find(const struct wl_opt *rows, const char *name)
{
    for (; rows->name; rows++)
        if (same_name(rows->name, name)) return rows;
    return NULL;
}

static char *ini_name(struct wl_arena *a, const struct wl_opt *o)
{
    char *s = wl_strdup(a, o->name);
    for (char *p = s; *p; p++)
        if (*p == '-') *p = '_';
    return s;
}

static void *field(const struct wl_opt *o, void *out) { return (char *)out + o->offset; }
static const void *cfield(const struct wl_opt *o, const void *in) { return (const char *)in + o->offset; }
static bool ranged(const struct wl_opt *o) { return o->min != 0 || o->max != 0; }

/* "a whole number from 1 to 64 (W)" */
static const char *expected(const struct wl_opt *o, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    switch (o->type) {
    case WL_FLAG: wl_text_add(&t, "yes or no"); break;
    case WL_INT: wl_text_add(&t, "a whole number"); break;
    case WL_REAL: wl_text_add(&t, "a number"); break;
    case WL_DURATION: wl_text_add(&t, "a time such as 10s, 200ms or 3m"); break;
    case WL_CHOICE: wl_text_addf(&t, "one of %s", o->choices); break;
    case WL_INTS: wl_text_add(&t, "a list of whole numbers"); break;
    case WL_REALS: wl_text_add(&t, "a list of numbers"); break;
    case WL_STR:
    case WL_STRS:
    case WL_LINES: wl_text_add(&t, "text"); break;
    }
    if (ranged(o) && o->max >= WL_NO_MAX) wl_text_addf(&t, " of at least %.10g", o->min);
    else if (ranged(o)) wl_text_addf(&t, " from %.10g to %.10g", o->min, o->max);
    if (o->unit) wl_text_addf(&t, " (%s)", o->unit);
    return t.s;
}

static bool in_range(const struct wl_opt *o, double v) { return !ranged(o) || (v >= o->min && v <= o->max); }

static bool parse_flag(const char *s, bool *out)
{
    static const char *const yes[] = { "yes", "true", "on", "1" }, *const no[] = { "no", "false", "off", "0" };
    for (size_t i = 0; i < WL_COUNT(yes); i++) {
        if (strcasecmp(s, yes[i]) == 0) return *out = true, true;
        if (strcasecmp(s, no[i]) == 0) return *out = false, true;
    }
    return false;
}

static bool has_choice(const char *choices, const char *s)
{
    size_t n = strlen(s);
    for (const char *c = choices; c && n; c = strchr(c, '|') ? strchr(c, '|') + 1 : NULL)
        if (strncmp(c, s, n) == 0 && (c[n] == '|' || c[n] == '\0')) return true;
    return false;
}

static bool set_ints(const struct wl_opt *o, struct wl_ints *out, const char *s, struct wl_arena *a)
{
    struct wl_strs words = wl_split(a, s, ',');
    struct wl_ints list = { wl_new_array(a, int64_t, words.n), words.n };
    for (size_t i = 0; i < words.n; i++)
        if (wl_parse_int(words.v[i], &list.v[i]) || !in_range(o, (double)list.v[i])) return false;
    if (list.n) *out = list;
    return list.n > 0;
}

static bool set_reals(const struct wl_opt *o, struct wl_reals *out, const char *s, struct wl_arena *a)
{
    struct wl_strs words = wl_split(a, s, ',');
    struct wl_reals list = { wl_new_array(a, double, words.n), words.n };
    for (size_t i = 0; i < words.n; i++)
        if (wl_parse_real(words.v[i], &list.v[i]) || !in_range(o, list.v[i])) return false;
    if (list.n) *out = list;
    return list.n > 0;
}

/* Sets the field; `more` appends to a list of strings instead of replacing it. */
static bool set_value(const struct wl_opt *o, void *out, const char *s, bool more, struct wl_arena *a)
{
    void *f = field(o, out);
    switch (o->type) {
    case WL_FLAG: return parse_flag(s, f);
    case WL_INT: {
        int64_t v;
        if (wl_parse_int(s, &v) || !in_range(o, (double)v)) return false;
        *(int64_t *)f = v;
        return true;
    }
    case WL_REAL:
    case WL_DURATION: {
        double v;
        if (o->type == WL_REAL ? wl_parse_real(s, &v) : wl_parse_duration(s, &v)) return false;
        if (!in_range(o, v)) return false;
        *(double *)f = v;
        return true;
    }
    case WL_CHOICE:
        if (!has_choice(o->choices, s)) return false;
        *(const char **)f = wl_strdup(a, s);
        return true;
    case WL_STR: *(const char **)f = wl_strdup(a, s); return true;
    case WL_INTS: return set_ints(o, f, s, a);
    case WL_REALS: return set_reals(o, f, s, a);
    case WL_STRS: {
        struct wl_strs words = wl_split(a, s, ','), *list = f;
        if (!more) *list = (struct wl_strs){ 0 };
        for (size_t i = 0; i < words.n; i++) wl_strs_add(a, list, words.v[i]);
        return words.n > 0;
    }
    case WL_LINES:
        if (!more) *(struct wl_strs *)f = (struct wl_strs){ 0 };
        wl_strs_add(a, f, s);
        return true;
    }
    return false;
}

static size_t count_rows(const struct wl_opt *rows)
{
    size_t n = 0;
    while (rows[n].name) n++;
    return n;
}

const struct wl_opt *wl_opts_join(const struct wl_opt *first, const struct wl_opt *second, struct wl_arena *a)
{
    const size_t n = count_rows(first), m = count_rows(second);
    struct wl_opt *rows = wl_new_array(a, struct wl_opt, n + m + 1); /* zeroed: the last ends the table */
    memcpy(rows, first, n * sizeof *rows);
    memcpy(rows + n, second, m * sizeof *rows);
    return rows;
}

void wl_opts_default(const struct wl_opt *rows, void *out, struct wl_arena *a)
{
    for (const struct wl_opt *o = rows; o->name; o++) {
        void *f = field(o, out);
        switch (o->type) {
        case WL_FLAG: *(bool *)f = false; break;
        case WL_INT: *(int64_t *)f = 0; break;
        case WL_REAL:
        case WL_DURATION: *(double *)f = NAN; break;
        case WL_STR:
        case WL_CHOICE: *(const char **)f = NULL; break;
        case WL_INTS: *(struct wl_ints *)f = (struct wl_ints){ 0 }; break;
        case WL_REALS: *(struct wl_reals *)f = (struct wl_reals){ 0 }; break;
        case WL_STRS:
        case WL_LINES: *(struct wl_strs *)f = (struct wl_strs){ 0 }; break;
        }
        WL_CHECK(!o->def || set_value(o, out, o->def, false, a));
    }
}

static int unknown(const struct wl_opt *rows, const char *name, const char *where, const char *dashes, int code,
                   struct wl_err *e)
{
    enum { MAX = 256 };
    const char *names[MAX];
    size_t n = 0;
    for (const struct wl_opt *o = rows; o->name && n < MAX; o++) names[n++] = o->name;
    char word[64]; /* compared in the spelling of the table */
    size_t i = 0;
    for (; name[i] && i < sizeof word - 1; i++) word[i] = name[i] == '_' ? '-' : name[i];
    word[i] = '\0';
    const char *near = wl_closest(word, names, n);
    if (!near) return wl_fail(e, code, "%sunknown %s %s%s", where, *dashes ? "option" : "key", dashes, name);
    char shown[64]; /* and suggested in the spelling of the place */
    snprintf(shown, sizeof shown, "%s", near);
    if (!*dashes)
        for (char *p = shown; *p; p++)
            if (*p == '-') *p = '_';
    return wl_fail(e, code, "%sunknown %s %s%s; did you mean %s%s?", where, *dashes ? "option" : "key", dashes, name,
                   dashes, shown);
}

int wl_opts_set(const struct wl_opt *rows, void *out, const char *name, const char *value, const char *where,
                struct wl_arena *a, struct wl_err *e)
{
    char *at = wl_strf(a, "%s: ", where);
    const struct wl_opt *o = wl_opts_find(rows, name);
    if (!o) return unknown(rows, name, at, "", WL_EINVAL, e);
    if (!set_value(o, out, value, false, a))
        return wl_fail(e, WL_EINVAL, "%s%s = %s: expected %s", at, ini_name(a, o), *value ? value : "(empty)",
                       expected(o, a));
    return 0;
}

/* The state of one pass over a command line. */
struct pass {
    const struct wl_opt *rows;
    void *out;
    int argc, i;
    char **argv;
    bool *seen; /* per row */
    struct wl_arena *a;
    struct wl_err *e;
};

static int apply(struct pass *p, const struct wl_opt *o, const char *value, const char *shown)
{
    size_t k = (size_t)(o - p->rows);
    if (!set_value(o, p->out, value, p->seen[k], p->a))
        return wl_fail(p->e, WL_EUSAGE, "%s %s: expected %s", shown, *value ? value : "\"\"", expected(o, p->a));
    p->seen[k] = true;
    return 0;
}

/* --name, --name=value, --name value, --no-flag */
static int long_option(struct pass *p, const char *arg)
{
    const char *eq = strchr(arg, '=');
    const char *name = wl_strndup(p->a, arg + 2, eq ? (size_t)(eq - arg - 2) : strlen(arg + 2));
    const struct wl_opt *o = wl_opts_find(p->rows, name);
    if (!o && wl_starts(name, "no-")) {
        o = wl_opts_find(p->rows, name + 3);
        if (o && o->type == WL_FLAG && !eq) return apply(p, o, "no", arg);
        o = NULL;
    }
    if (!o) return unknown(p->rows, name, "", "--", WL_EUSAGE, p->e);
    const char *shown = wl_strf(p->a, "--%s", name);
    if (eq) return apply(p, o, eq + 1, shown);
    if (o->type == WL_FLAG) return apply(p, o, "yes", shown);
    if (++p->i >= p->argc) return wl_fail(p->e, WL_EUSAGE, "%s: a value is missing; expected %s", shown, expected(o, p->a));
    return apply(p, o, p->argv[p->i], shown);
}

/* -x, -xvalue, -x value */
static int short_option(struct pass *p, const char *arg)
{
    for (const struct wl_opt *o = p->rows; o->name; o++) {
        if (!o->letter || o->letter != arg[1]) continue;
        const char *shown = wl_strndup(p->a, arg, 2);
        if (o->type == WL_FLAG && !arg[2]) return apply(p, o, "yes", shown);
        if (o->type != WL_FLAG && arg[2]) return apply(p, o, arg + 2, shown);
        if (o->type == WL_FLAG) break;
        if (++p->i >= p->argc) return wl_fail(p->e, WL_EUSAGE, "%s: a value is missing; expected %s", shown, expected(o, p->a));
        return apply(p, o, p->argv[p->i], shown);
    }
    return wl_fail(p->e, WL_EUSAGE, "unknown option %s", arg);
}

/* The values of a chosen preset for the rows that the command line left alone. A row set here counts as not seen, as
 * one with a default does. */
static void apply_preset(struct pass *p, const char *values)
{
    struct wl_strs pairs = wl_split(p->a, values, ' ');
    for (size_t i = 0; i < pairs.n; i++) {
        const char *eq = strchr(pairs.v[i], '=');
        WL_CHECK(eq);
        const struct wl_opt *o = wl_opts_find(p->rows, wl_strndup(p->a, pairs.v[i], (size_t)(eq - pairs.v[i])));
        WL_CHECK(o);
        if (!p->seen[o - p->rows]) WL_CHECK(set_value(o, p->out, eq + 1, false, p->a));
    }
}

static void apply_presets(struct pass *p)
{
    for (const struct wl_opt *o = p->rows; o->name; o++) {
        const char *chosen = o->presets ? *(const char **)field(o, p->out) : NULL;
        for (const struct wl_opt_preset *v = o->presets; chosen && v->name; v++)
            if (wl_streq(v->name, chosen)) apply_preset(p, v->values);
    }
}

static int check_required(const struct pass *p)
{
    for (const struct wl_opt *o = p->rows; o->name; o++)
        if (o->required && !p->seen[o - p->rows])
            return wl_fail(p->e, WL_EUSAGE, "--%s is missing: %s", o->name, o->help);
    return 0;
}

int wl_opts_parse(const struct wl_opt *rows, void *out, int argc, char **argv, bool stop_at_word, struct wl_rest *rest,
                  bool *help, struct wl_arena *a, struct wl_err *e)
{
    struct pass p = { rows, out, argc, 0, argv, wl_new_array(a, bool, count_rows(rows)), a, e };
    *rest = (struct wl_rest){ 0 };
    *help = false;
    wl_opts_default(rows, out, a);
    for (; p.i < argc; p.i++) {
        const char *arg = argv[p.i];
        int rc = 0;
        if (strcmp(arg, "--") == 0) {
            rest->command = argv + p.i + 1;
            break;
        } else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            *help = true;
            return 0;
        } else if (wl_starts(arg, "--")) {
            rc = long_option(&p, arg);
        } else if (arg[0] == '-' && arg[1] && !isdigit((unsigned char)arg[1])) {
            rc = short_option(&p, arg);
        } else if (stop_at_word) {
            rest->command = argv + p.i;
            break;
        } else {
            wl_strs_add(a, &rest->args, arg);
        }
        if (rc) return rc;
    }
    apply_presets(&p);
    return check_required(&p);
}

static const char *value_word(const struct wl_opt *o, struct wl_arena *a)
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

void wl_opts_help(const struct wl_opt *rows, FILE *to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    for (const struct wl_opt *o = rows; o->name; o++) {
        struct wl_text left = WL_TEXT(a), right = WL_TEXT(a);
        if (o->letter) wl_text_addf(&left, "-%c, ", o->letter);
        wl_text_addf(&left, "--%s%s%s", o->name, o->type == WL_FLAG ? "" : " ", value_word(o, a));
        wl_text_add(&right, o->help);
        struct wl_text facts = WL_TEXT(a);
        if (o->required) wl_text_add(&facts, ", required");
        if (ranged(o)) wl_text_addf(&facts, o->max >= WL_NO_MAX ? ", at least %.10g" : ", %.10g to %.10g", o->min, o->max);
        if (o->def && *o->def && !(o->type == WL_FLAG && wl_streq(o->def, "no"))) wl_text_addf(&facts, ", default %s", o->def);
        if (o->type == WL_LINES || o->type == WL_STRS) wl_text_add(&facts, ", may be repeated");
        if (facts.n) wl_text_addf(&right, " (%s)", facts.s + 2);
        if (left.n > 28) fprintf(to, "  %s\n  %-28s  %s\n", left.s, "", right.s);
        else fprintf(to, "  %-28s  %s\n", left.s, right.s);
    }
    wl_arena_free(a);
}

void wl_opts_json(const struct wl_opt *rows, const void *in, struct wl_json *object)
{
    struct wl_arena *a = wl_arena_new(NULL);
    for (const struct wl_opt *o = rows; o->name; o++) {
        const void *f = cfield(o, in);
        const char *key = ini_name(a, o);
        struct wl_json *list;
        switch (o->type) {
        case WL_FLAG: wl_json_add_bool(object, key, *(const bool *)f); break;
        case WL_INT: wl_json_add_int(object, key, *(const int64_t *)f); break;
        case WL_REAL:
        case WL_DURATION: wl_json_add_real(object, key, *(const double *)f); break;
        case WL_STR:
        case WL_CHOICE: wl_json_add_str(object, key, *(const char *const *)f); break;
        case WL_INTS:
            list = wl_json_add_array(object, key);
            for (size_t i = 0; i < ((const struct wl_ints *)f)->n; i++)
                wl_json_add_int(list, NULL, ((const struct wl_ints *)f)->v[i]);
            break;
        case WL_REALS:
            list = wl_json_add_array(object, key);
            for (size_t i = 0; i < ((const struct wl_reals *)f)->n; i++)
                wl_json_add_real(list, NULL, ((const struct wl_reals *)f)->v[i]);
            break;
        case WL_STRS:
        case WL_LINES:
            list = wl_json_add_array(object, key);
            for (size_t i = 0; i < ((const struct wl_strs *)f)->n; i++)
                wl_json_add_str(list, NULL, ((const struct wl_strs *)f)->v[i]);
            break;
        }
    }
    wl_arena_free(a);
}

/* The value as INI text; NULL: unset. */
static const char *value_text(const struct wl_opt *o, const void *f, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    switch (o->type) {
    case WL_FLAG: return *(const bool *)f ? "yes" : "no";
    case WL_INT: return wl_strf(a, "%lld", (long long)*(const int64_t *)f);
    case WL_REAL:
    case WL_DURATION: return isnan(*(const double *)f) ? NULL : wl_strf(a, "%.17g", *(const double *)f);
    case WL_STR:
    case WL_CHOICE: return *(const char *const *)f;
    case WL_INTS:
        for (size_t i = 0; i < ((const struct wl_ints *)f)->n; i++)
            wl_text_addf(&t, "%s%lld", i ? "," : "", (long long)((const struct wl_ints *)f)->v[i]);
        break;
    case WL_REALS:
        for (size_t i = 0; i < ((const struct wl_reals *)f)->n; i++)
            wl_text_addf(&t, "%s%.17g", i ? "," : "", ((const struct wl_reals *)f)->v[i]);
        break;
    case WL_STRS:
    case WL_LINES:
        for (size_t i = 0; i < ((const struct wl_strs *)f)->n; i++)
            wl_text_addf(&t, "%s%s", i ? "," : "", ((const struct wl_strs *)f)->v[i]);
        break;
    }
    return t.n ? t.s : NULL;
}

/* Has the field its row's default? Durations are written in several ways. */
static bool is_default(const struct wl_opt *o, const void *f, const char *text)
{
    double s;
    if (!o->def) return o->type == WL_FLAG && !*(const bool *)f;
    if (o->type == WL_DURATION) return wl_parse_duration(o->def, &s) == 0 && s == *(const double *)f;
    return wl_streq(text, o->def);
}

void wl_opts_words(const struct wl_opt *rows, const void *in, struct wl_strs *to, struct wl_arena *a)
{
    for (const struct wl_opt *o = rows; o->name; o++) {
        const void *f = cfield(o, in);
        const char *v = value_text(o, f, a);
        if (!v || is_default(o, f, v)) continue;
        if (o->type == WL_FLAG) {
            wl_strs_add(a, to, wl_strf(a, "--%s%s", *(const bool *)f ? "" : "no-", o->name));
            continue;
        }
        const struct wl_strs *lines = f, one = { .v = (char *[]) { (char *)v }, .n = 1 };
        const struct wl_strs *values = o->type == WL_LINES ? lines : &one;
        for (size_t i = 0; i < values->n; i++) {
            wl_strs_add(a, to, wl_strf(a, "--%s", o->name));
            wl_strs_add(a, to, values->v[i]);
        }
    }
}

void wl_opts_ini(const struct wl_opt *rows, const void *in, struct wl_text *to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    for (const struct wl_opt *o = rows; o->name; o++) {
        const char *v = value_text(o, cfield(o, in), a);
        if (v) wl_text_addf(to, "%s = %s\n", ini_name(a, o), v);
    }
    wl_arena_free(a);
}
