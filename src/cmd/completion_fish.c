/* Completion for fish: one line for each command and option, with the words before it as its condition. */
#include "cmd/internal.h"

#include <string.h>

struct fish {
    const struct wl_cmd_program *p;
    struct wl_text *to;
};

static void add_quoted(struct wl_text *to, const char *s)
{
    wl_text_add(to, "'");
    for (; *s; s++) wl_text_addf(to, *s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
    wl_text_add(to, "'");
}

/* "complete -c wattlaw -n 'CONDITION PATH'" */
static void begin(const struct fish *f, const char *condition, const char *path)
{
    wl_text_addf(f->to, "complete -c %s -n '%s_%s%s%s'", f->p->name, wl_completion_function(f->p, f->to->arena),
                 condition, *path ? " " : "", path);
}

static void end(const struct fish *f, const char *description)
{
    wl_text_add(f->to, " -d ");
    add_quoted(f->to, description);
    wl_text_add(f->to, "\n");
}

static void add_option(const struct fish *f, const char *path, const struct wl_opt *o)
{
    begin(f, "in", path);
    wl_text_addf(f->to, " -l %s", o->name);
    if (o->letter) wl_text_addf(f->to, " -s %c", o->letter);
    switch (wl_cmd_value_kind(o)) {
    case WL_VALUE_NONE: break;
    case WL_VALUE_WORDS: wl_text_addf(f->to, " -x -a '%s'", wl_cmd_choices(o, f->to->arena)); break;
    case WL_VALUE_FILE: wl_text_add(f->to, " -r -F"); break;
    case WL_VALUE_FOLDER: wl_text_add(f->to, " -x -a '(__fish_complete_directories)'"); break;
    case WL_VALUE_OTHER: wl_text_add(f->to, " -x"); break;
    }
    end(f, o->help);
    if (!wl_opt_is_on(o)) return;
    begin(f, "in", path);
    wl_text_addf(f->to, " -l no-%s", o->name);
    end(f, o->help);
}

static void add_command(void *ctx, const char *path, const struct wl_cmd *c, struct wl_arena *a)
{
    const struct fish *f = ctx;
    const char *words = wl_cmd_argument_words(c, a);
    for (const struct wl_opt *o = wl_cmd_rows(c, a); o->name; o++) add_option(f, path, o);
    begin(f, "in", path);
    wl_text_add(f->to, " -l help");
    end(f, "describe the command");
    if (!wl_cmd_takes_files(c)) {
        begin(f, "in", path);
        wl_text_add(f->to, " -f\n");
    }
    if (!words) return;
    begin(f, "after", path);
    wl_text_addf(f->to, " -a '%s'\n", words);
}

static void add_names(const struct fish *f, const struct wl_cmd_program *p, const char *path)
{
    for (const struct wl_cmd *const *c = p->commands; *c; c++) {
        begin(f, "after", path);
        wl_text_addf(f->to, " -f -a %s", (*c)->name);
        end(f, (*c)->help);
        if ((*c)->program) add_names(f, (*c)->program, (*c)->name);
    }
}

void wl_completion_fish(const struct wl_cmd_program *p, struct wl_text *to)
{
    struct fish f = { p, to };
    const char *name = wl_completion_function(p, to->arena);
    wl_text_addf(to,
                 "# fish completion of %s, printed by `%s completion fish`\n"
                 "function %s_in # the words after the program begin with these, and no -- has ended the options\n"
                 "    set -l words (commandline -opc)\n"
                 "    contains -- -- $words; and return 1\n"
                 "    test (count $words) -gt (count $argv); or return 1\n"
                 "    for i in (seq (count $argv))\n"
                 "        test $words[(math $i + 1)] = $argv[$i]; or return 1\n"
                 "    end\n"
                 "end\n"
                 "function %s_after # they are exactly these\n"
                 "    test (count (commandline -opc)) -eq (math (count $argv) + 1); and %s_in $argv\n"
                 "end\n",
                 p->name, p->name, name, name, name);
    add_names(&f, p, "");
    begin(&f, "after", "");
    wl_text_add(to, " -l help -d 'list the commands'\n");
    begin(&f, "after", "");
    wl_text_add(to, " -l version -d 'print the version'\n");
    wl_cmd_walk(p, add_command, &f, to->arena);
}
