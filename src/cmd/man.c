/* Manual pages in mdoc(7), from the rows of the options and the texts of --help. */
#include "cmd/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

/* Is s[i] the blank between two sentences? */
static bool ends_sentence(const char *s, size_t i, size_t n)
{
    return s[i] == ' ' && i && i + 1 < n && strchr(".?!", s[i - 1]) && isupper((unsigned char)s[i + 1]);
}

/* One line: characters that roff takes as its own are escaped. */
static void add_line(struct wl_text *to, const char *s, size_t n)
{
    if (n && (*s == '.' || *s == '\'')) wl_text_add(to, "\\&");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\')
            wl_text_add(to, "\\e");
        else if (ends_sentence(s, i, n))
            wl_text_add(to, "\n"); /* roff sets the space after a sentence itself */
        else if (s[i] == '-' && i + 1 < n && s[i + 1] == '-')
            wl_text_add(to, "\\-"); /* options can be copied and searched for */
        else if (s[i] == '-' && i && s[i - 1] == '-')
            wl_text_add(to, "\\-");
        else
            wl_text_addn(to, s + i, 1);
    }
    wl_text_add(to, "\n");
}

static void add_sentence(struct wl_text *to, const char *s)
{
    const char *text = wl_strf(to->arena, "%c%s.", toupper((unsigned char)*s), s + 1);
    add_line(to, text, strlen(text));
}

/* A macro's arguments: words with quotes around what has blanks or looks like a macro. */
static void add_quoted(struct wl_text *to, const char *s)
{
    wl_text_add(to, " \"");
    for (; *s; s++) wl_text_add(to, *s == '"' ? "\"\"" : *s == '\\' ? "\\e" : *s == '-' ? "\\-" : (char[]) { *s, 0 });
    wl_text_add(to, "\"");
}

/* Paragraphs of --help: what is indented is an example. */
static void add_paragraphs(struct wl_text *to, const char *text, bool examples)
{
    bool gap = false, any = false;
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");
        const bool example = *line == ' ';
        if (n == 0) gap = true;
        if (n && example == examples) {
            const size_t indent = strspn(line, " ");
            if (gap && any && !examples) wl_text_add(to, ".Pp\n");
            add_line(to, line + indent, n - indent);
            gap = false, any = true;
        }
        line += n + (line[n] == '\n');
    }
}

static bool has_examples(const char *more)
{
    for (const char *line = more; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (*line == ' ') return true;
    return false;
}

/* ---- parts of a page ---- */

static char *page_name(const char *program, char *const *words, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, program);
    for (; *words; words++) wl_text_addf(&t, "-%s", *words);
    return t.s;
}

static void add_head(struct wl_text *to, const char *name, const char *about)
{
    struct wl_text upper = WL_TEXT(to->arena);
    for (const char *s = name; *s; s++) wl_text_addf(&upper, "%c", toupper((unsigned char)*s));
    wl_text_addf(to, ".Dd %s\n.Dt %s 1\n.Os wattlaw %s\n.Sh NAME\n.Nm %s\n.Nd ", WL_VERSION_DATE, upper.s, WL_VERSION,
                 name);
    add_line(to, about, strlen(about));
}

static void add_options(struct wl_text *to, const struct wl_opt *rows)
{
    wl_text_add(to, ".Sh OPTIONS\n.Bl -tag -width Ds\n");
    for (const struct wl_opt *o = rows; o->name; o++) {
        const char *help = wl_opt_description(o, to->arena), *value = wl_opt_value_word(o, to->arena);
        wl_text_add(to, ".It");
        if (o->letter) wl_text_addf(to, " Fl %c ,", o->letter);
        wl_text_addf(to, " Fl \\-%s%s", wl_opt_is_on(o) ? "[no\\-]" : "", o->name);
        if (o->type != WL_FLAG) {
            wl_text_add(to, " Ar");
            add_quoted(to, value);
        }
        wl_text_add(to, "\n");
        add_line(to, help, strlen(help));
    }
    wl_text_add(to, ".El\n");
}

static void add_environment(struct wl_text *to)
{
    wl_text_add(to, ".Sh ENVIRONMENT\n"
                    ".Bl -tag -width Ds\n"
                    ".It Ev COLUMNS\n"
                    "Width of the output in columns where it is not a terminal, or the terminal does not tell.\n"
                    ".It Ev NO_COLOR\n"
                    "If it is set and not empty, text has no colours.\n"
                    ".It Ev TERM\n"
                    "If it is\n"
                    ".Dq dumb ,\n"
                    "text has no colours and no progress is drawn.\n"
                    ".El\n");
}

static void add_exit_status(struct wl_text *to)
{
    wl_text_add(to, ".Sh EXIT STATUS\n"
                    ".Bl -tag -width Ds\n"
                    ".It 0\n"
                    "success\n"
                    ".It 1\n"
                    "failure; a message says why\n"
                    ".It 2\n"
                    "wrong usage\n"
                    ".It 130\n"
                    "interrupted\n"
                    ".El\n");
}

struct list {
    struct wl_text *to;
    struct wl_strs pages; /* of the commands: "wattlaw-fit" */
    const struct wl_cmd_program *p;
};

static char *dashed(const char *path, struct wl_arena *a)
{
    char *s = wl_strdup(a, path);
    for (char *c = s; *c; c++)
        if (*c == ' ') *c = '-';
    return s;
}

static void add_to_list(void *ctx, const char *path, const struct wl_cmd *c, struct wl_arena *a)
{
    struct list *l = ctx;
    wl_strs_addf(a, &l->pages, "%s-%s", l->p->name, dashed(path, a));
    wl_text_addf(l->to, ".It Ic %s\n", path);
    add_line(l->to, c->help, strlen(c->help));
}

/* ---- pages ---- */

static int by_name(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

char *wl_man_program(const struct wl_cmd_program *p, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    struct list commands = { .to = &t, .p = p };
    const size_t about = strlen(p->about);
    char *name_line = wl_strndup(a, p->about, about ? about - 1 : 0); /* without its full stop */
    *name_line = (char)tolower((unsigned char)*name_line);
    add_head(&t, p->name, name_line);
    wl_text_addf(&t, ".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options\n.Sh DESCRIPTION\n");
    add_line(&t, p->about, about);
    wl_text_addf(
        &t, ".Pp\nEach command has a page of its own, and\n.Nm\n.Ar command\n.Fl \\-help\ndescribes it in short.\n");
    wl_text_add(&t, ".Bl -tag -width Ds\n");
    wl_cmd_walk(p, add_to_list, &commands, a);
    wl_text_add(&t, ".El\n");
    add_environment(&t);
    add_exit_status(&t);
    wl_text_add(&t, ".Sh SEE ALSO\n");
    qsort(commands.pages.v, commands.pages.n, sizeof *commands.pages.v, by_name);
    for (size_t i = 0; i < commands.pages.n; i++)
        wl_text_addf(&t, ".Xr %s 1%s\n", commands.pages.v[i], i + 1 < commands.pages.n ? " ," : "");
    return t.s;
}

char *wl_man_command(const struct wl_cmd_program *p, char *const *words, const struct wl_cmd *c, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    add_head(&t, page_name(p->name, words, a), c->help);
    wl_text_addf(&t, ".Sh SYNOPSIS\n.Nm %s", p->name);
    for (; *words; words++) wl_text_addf(&t, " %s", *words);
    wl_text_add(&t, "\n");
    add_line(&t, c->usage, strlen(c->usage));
    wl_text_add(&t, ".Sh DESCRIPTION\n");
    add_sentence(&t, c->help);
    if (c->more) {
        wl_text_add(&t, ".Pp\n");
        add_paragraphs(&t, c->more, false);
    }
    add_options(&t, wl_cmd_rows(c, a));
    if (has_examples(c->more)) {
        wl_text_add(&t, ".Sh EXAMPLES\n.Bd -literal -offset indent\n");
        add_paragraphs(&t, c->more, true);
        wl_text_add(&t, ".Ed\n");
    }
    wl_text_addf(&t, ".Sh SEE ALSO\n.Xr %s 1\n", p->name);
    return t.s;
}
