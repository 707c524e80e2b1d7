/* Completion for bash. It needs nothing of the package bash-completion, which need not be installed. */
#include "cmd/internal.h"

/* Collected over the commands: words after a command, and after an option. */
struct bash {
    struct wl_text *to;
    struct wl_text options; /* cases of the words that begin with a dash */
    struct wl_text arguments;
};

static void bash_command(void *ctx, const char *path, const struct wl_cmd *c, struct wl_arena *a)
{
    struct bash *b = ctx;
    struct wl_text names = WL_TEXT(a);
    for (const struct wl_opt *o = wl_cmd_rows(c, a); o->name; o++) {
        wl_text_addf(&names, "--%s ", o->name);
        if (wl_opt_is_on(o)) wl_text_addf(&names, "--no-%s ", o->name);
        const char *pattern =
            wl_strf(a, "'%s --%s'%s", path, o->name, o->letter ? wl_strf(a, " | '%s -%c'", path, o->letter) : "");
        switch (wl_cmd_value_kind(o)) {
        case WL_VALUE_NONE: break;
        case WL_VALUE_WORDS: wl_text_addf(b->to, "    %s) words='%s' ;;\n", pattern, wl_cmd_choices(o, a)); break;
        case WL_VALUE_FILE: wl_text_addf(b->to, "    %s) kind=file ;;\n", pattern); break;
        case WL_VALUE_FOLDER: wl_text_addf(b->to, "    %s) kind=folder ;;\n", pattern); break;
        case WL_VALUE_OTHER: wl_text_addf(b->to, "    %s) kind=none ;;\n", pattern); break;
        }
    }
    wl_text_addf(&b->options, "    '%s') words='%s--help' ;;\n", path, names.s);
    const char *words = wl_cmd_argument_words(c, a);
    const char *kind = wl_cmd_takes_files(c) ? "file" : "none";
    if (words)
        wl_text_addf(&b->arguments, "    '%s') kind=%s; ((COMP_CWORD > first)) || words='%s' ;;\n", path, kind, words);
    else if (!wl_cmd_takes_files(c))
        wl_text_addf(&b->arguments, "    '%s') kind=none ;;\n", path);
}

/* Names of the commands and, for each with subcommands, of those. */
static void bash_names(const struct wl_cmd_program *p, const char *path, struct wl_text *to)
{
    const char *names = wl_completion_names(p, false, " ", to->arena);
    if (*path)
        wl_text_addf(to, "    %s) words='%s --help' ;;\n", path, names);
    else
        wl_text_addf(to, "    '') words='%s help --help --version' ;;\n    help) words='%s' ;;\n", names, names);
    for (const struct wl_cmd *const *c = p->commands; *c; c++)
        if ((*c)->program) bash_names((*c)->program, (*c)->name, to);
}

void wl_completion_bash(const struct wl_cmd_program *p, struct wl_text *to)
{
    struct wl_arena *a = to->arena;
    struct bash b = { .to = to, .options = WL_TEXT(a), .arguments = WL_TEXT(a) };
    const char *name = wl_completion_function(p, a), *nested = wl_completion_names(p, true, "|", a);
    wl_text_addf(
        to,
        "# bash completion of %s, printed by `%s completion bash`\n"
        "%s()\n"
        "{\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= words= kind= first=2 i\n"
        "    # --option=value is three words\n"
        "    if [[ $cur == '=' ]]; then cur=; elif [[ $prev == '=' ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        if [[ ${COMP_WORDS[i]} == -- ]]; then # a command of its own\n"
        "            if ((i == COMP_CWORD - 1)); then mapfile -t COMPREPLY < <(compgen -c -- \"$cur\"); return; fi\n"
        "            kind=file\n"
        "        fi\n"
        "    done\n"
        "    ((COMP_CWORD > 1)) && path=${COMP_WORDS[1]}\n",
        p->name, p->name, name);
    if (*nested)
        wl_text_addf(to,
                     "    case $path in\n"
                     "    %s) ((COMP_CWORD > 2)) && path+=\" ${COMP_WORDS[2]}\" first=3 ;;\n"
                     "    esac\n",
                     nested);
    wl_text_add(to, "    [[ -n $kind ]] || case \"$path $prev\" in\n");
    wl_cmd_walk(p, bash_command, &b, a);
    wl_text_addf(to,
                 "    esac\n"
                 "    [[ -n $kind$words || $cur != -* ]] || case $path in\n"
                 "%s"
                 "    esac\n"
                 "    [[ -n $kind$words ]] || case $path in\n",
                 b.options.s);
    bash_names(p, "", to);
    wl_text_addf(to,
                 "%s"
                 "    *) kind=file ;;\n"
                 "    esac\n"
                 "    COMPREPLY=()\n"
                 "    [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                 "    # where no word fits; readline's own completion of names knows quotes, blanks and line ends\n"
                 "    case $kind in\n"
                 "    file) compopt -o default ;;\n"
                 "    folder) compopt -o dirnames ;;\n"
                 "    esac 2>/dev/null\n"
                 "}\n"
                 "complete -F %s %s\n",
                 b.arguments.s, name, p->name);
}
