/* Completion for zsh, by _arguments. */
#include "cmd/internal.h"

#include <string.h>

/* A file of $fpath has the name of its function. */
static char *function_name(const struct wl_cmd_program *p, struct wl_arena *a)
{
    char *name = wl_strf(a, "_%s", p->name), *blank = strchr(name, ' ');
    if (blank) *blank = '_';
    return name;
}

/* Text inside '...' and, there, inside [...] of a specification. */
static void add_quoted(struct wl_text *to, const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            wl_text_add(to, "'\\''");
        else if (strchr("[]:\\", *s))
            wl_text_addf(to, "\\%c", *s);
        else
            wl_text_addn(to, s, 1);
    }
}

/* ":FILE:_files" after an option that takes a file. */
static void add_value(struct wl_text *to, const struct wl_opt *o)
{
    const enum wl_value_kind kind = wl_cmd_value_kind(o);
    if (kind == WL_VALUE_NONE) return;
    wl_text_add(to, ":");
    add_quoted(to, kind == WL_VALUE_WORDS ? o->name : wl_opt_value_word(o, to->arena));
    wl_text_add(to, ":");
    if (kind == WL_VALUE_WORDS) wl_text_addf(to, "(%s)", wl_cmd_choices(o, to->arena));
    if (kind == WL_VALUE_FILE) wl_text_add(to, "_files");
    if (kind == WL_VALUE_FOLDER) wl_text_add(to, "_files -/");
}

static void add_option(struct wl_text *to, const struct wl_opt *o, const char *spelling)
{
    const bool repeated = o->type == WL_LINES || o->type == WL_STRS;
    wl_text_addf(to, "            '%s%s[", repeated ? "*" : "", spelling);
    add_quoted(to, o->help);
    wl_text_add(to, "]");
    add_value(to, o);
    wl_text_add(to, "' \\\n");
}

static void add_arguments(struct wl_text *to, const struct wl_cmd *c)
{
    const char *words = wl_cmd_argument_words(c, to->arena);
    if (c->command_follows)
        wl_text_add(to, "            '(-)1:command:_command_names -e' '*::argument:_normal'\n");
    else
        wl_text_addf(to, "            %s%s%s%s\n", words ? "'1:what:(" : "", words ? words : "", words ? ")' " : "",
                     wl_cmd_takes_files(c) ? "'*:file:_files'" : "'*: :'");
}

static void add_command(struct wl_text *to, const struct wl_cmd *c)
{
    wl_text_addf(to, "        %s)\n            _arguments -s : \\\n", c->name);
    for (const struct wl_opt *o = wl_cmd_rows(c, to->arena); o->name; o++) {
        const char *takes = o->type == WL_FLAG ? "" : "=";
        add_option(to, o, wl_strf(to->arena, "--%s%s", o->name, takes));
        if (wl_opt_is_on(o)) add_option(to, o, wl_strf(to->arena, "--no-%s", o->name));
        if (o->letter) add_option(to, o, wl_strf(to->arena, "-%c%s", o->letter, *takes ? "+" : ""));
    }
    wl_text_add(to, "            '(- *)--help[describe the command]' \\\n");
    add_arguments(to, c);
    wl_text_add(to, "            ;;\n");
}

/* A function for the program, and one for each command with subcommands, which it calls. */
static void add_function(struct wl_text *to, const struct wl_cmd_program *p)
{
    for (const struct wl_cmd *const *c = p->commands; *c; c++)
        if ((*c)->program) add_function(to, (*c)->program);
    wl_text_addf(to,
                 "%s() {\n"
                 "    local curcontext=$curcontext state line\n"
                 "    typeset -A opt_args\n"
                 "    local -a names\n"
                 "    _arguments -C '(- *)--help[describe the commands]' '(- *)--version[print the version]' \\\n"
                 "        '1: :->name' '*:: :->rest'\n"
                 "    case $state in\n"
                 "    name)\n"
                 "        names=(\n",
                 function_name(p, to->arena));
    for (const struct wl_cmd *const *c = p->commands; *c; c++) {
        wl_text_addf(to, "            '%s:", (*c)->name);
        add_quoted(to, (*c)->help);
        wl_text_add(to, "'\n");
    }
    wl_text_addf(to,
                 "        )\n"
                 "        _describe -t names '%s' names\n"
                 "        ;;\n"
                 "    rest)\n"
                 "        case $line[1] in\n",
                 p->noun);
    for (const struct wl_cmd *const *c = p->commands; *c; c++) {
        if ((*c)->program)
            wl_text_addf(to, "        %s) %s ;;\n", (*c)->name, function_name((*c)->program, to->arena));
        else
            add_command(to, *c);
    }
    wl_text_add(to, "        esac\n        ;;\n    esac\n}\n\n");
}

void wl_completion_zsh(const struct wl_cmd_program *p, struct wl_text *to)
{
    const char *name = function_name(p, to->arena);
    wl_text_addf(to, "#compdef %s\n# zsh completion of %s, printed by `%s completion zsh`\n\n", p->name, p->name,
                 p->name);
    add_function(to, p);
    /* a file of $fpath is called when it is first needed; a script that is sourced only registers */
    wl_text_addf(to, "if [[ $funcstack[1] == %s ]]; then\n    %s \"$@\"\nelse\n    compdef %s %s\nfi\n", name, name,
                 name, p->name);
}
