/* --help, folded to the width of the terminal. */
#include "cmd/internal.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { USAGE = sizeof "usage: " - 1 };

static void put(void *to, const char *s, size_t n) { wl_text_addn(to, s, n); }

/* `hang`: the column of the text after a label of the first line; 0: none. */
static void add_folded(struct wl_text *to, const char *text, size_t hang, size_t width)
{
    struct wl_fold fold = { .flush_left = true, .hang = hang };
    wl_fold_add(&fold, text, strlen(text), width, put, to);
    wl_fold_flush(&fold, width, put, to);
}

/* ---- paragraphs and examples of a command ---- */

/* A command line that is too long goes on after a backslash, so that it can be copied. */
static void add_long_command(struct wl_text *to, const char *line, size_t width)
{
    enum { INDENT = 6 };
    size_t column = 0;
    for (const char *word = line; *word;) {
        const size_t blanks = strspn(word, " "), n = strcspn(word + blanks, " ");
        if (column && column + blanks + n + 2 > width) {
            wl_text_addf(to, " \\\n%*s", INDENT, "");
            column = INDENT;
        } else {
            wl_text_addf(to, "%*s", (int)blanks, "");
            column += blanks;
        }
        wl_text_addn(to, word + blanks, n);
        column += n;
        word += blanks + n;
    }
    wl_text_add(to, "\n");
}

static bool has_comment(const char *line) { return strstr(line + strspn(line, " "), "  ") != NULL; }

/* Lines of a paragraph are filled anew; indented lines are examples and stay. */
static void add_paragraphs(struct wl_text *to, const char *text, size_t width, struct wl_arena *a)
{
    struct wl_text paragraph = WL_TEXT(a);
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");
        const bool filled = n && *line != ' ';
        if (filled) wl_text_addf(&paragraph, "%s%.*s", paragraph.n ? " " : "", (int)n, line);
        const bool last = !line[n], ends = last || !filled || line[n + 1] == '\n' || line[n + 1] == ' ';
        if (ends && paragraph.n) {
            wl_text_add(&paragraph, "\n");
            add_folded(to, paragraph.s, 0, width);
            wl_text_clear(&paragraph);
        }
        const char *example = filled ? NULL : wl_strndup(a, line, n);
        if (example && wl_utf8_columns(example, n) > width && !has_comment(example))
            add_long_command(to, example, width);
        else if (example)
            add_folded(to, wl_strf(a, "%s\n", example), 0, width);
        line += n + !last;
    }
}

/* ---- a command ---- */

char *wl_cmd_help(const char *program, const struct wl_cmd *c, size_t width, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a), options = WL_TEXT(a);
    add_folded(&t, wl_strf(a, "usage: %s %s %s\n\n", program, c->name, c->usage), USAGE, width);
    add_folded(&t, wl_strf(a, "%c%s.\n", toupper((unsigned char)c->help[0]), c->help + 1), 0, width);
    wl_opts_help(wl_cmd_rows(c, a), &options, width);
    wl_text_addf(&t, "\noptions\n%s", options.s);
    if (c->more) {
        wl_text_add(&t, "\n");
        add_paragraphs(&t, c->more, width, a);
    }
    return t.s;
}

/* ---- a program ---- */

char *wl_cmd_program_help(const struct wl_cmd_program *p, size_t width, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_addf(&t, "usage: %s %s\n\n%s\n\n%ss\n", p->name, p->usage, p->about, p->noun);
    int longest = 0;
    for (const struct wl_cmd *const *c = p->commands; *c; c++) {
        const int n = (int)strlen((*c)->name);
        longest = n > longest ? n : longest;
    }
    for (const struct wl_cmd *const *c = p->commands; *c; c++)
        wl_text_addf(&t, "  %-*s  %s\n", longest, (*c)->name, (*c)->help);
    wl_text_addf(&t, "\n\"%s NAME --help\" describes a %s, \"%s --version\" prints the version.\n", p->name, p->noun,
                 p->name);
    struct wl_text folded = WL_TEXT(a);
    add_folded(&folded, t.s, USAGE, width);
    return folded.s;
}

/* ---- options that every command has ---- */

static const struct wl_opt common[] = {
    { .name = "color",
      .type = WL_CHOICE,
      .offset = offsetof(struct wl_cmd_common, color),
      .choices = "auto|always|never",
      .def = "auto",
      .help = "colours in text for people; auto: on terminals, unless NO_COLOR is set or TERM is dumb" },
    WL_OPT_END,
};

size_t wl_cmd_common_offset(const struct wl_cmd *c)
{
    const size_t align = _Alignof(max_align_t);
    return (c->options_size + align - 1) / align * align;
}

const struct wl_opt *wl_cmd_rows(const struct wl_cmd *c, struct wl_arena *a)
{
    static const struct wl_opt none[] = { WL_OPT_END };
    struct wl_opt shifted[WL_COUNT(common)];
    memcpy(shifted, common, sizeof shifted);
    for (size_t i = 0; i < WL_COUNT(shifted); i++) shifted[i].offset += wl_cmd_common_offset(c);
    return wl_opts_join(c->options ? c->options : none, shifted, a);
}
