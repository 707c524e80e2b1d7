/* What is generated from a program's commands and their option rows: --help, completion of shells, manual pages. */
#ifndef WL_CMD_INTERNAL_H
#define WL_CMD_INTERNAL_H

#include "cmd/cmd.h"

/* The rows of a command, then those that every command has; the values of the latter follow the command's own struct.
 */
struct wl_cmd_common {
    const char *color;
};
const struct wl_opt *wl_cmd_rows(const struct wl_cmd *c, struct wl_arena *a);
size_t wl_cmd_common_offset(const struct wl_cmd *c);

/* The text of --help, folded to `width`. */
char *wl_cmd_help(const char *program, const struct wl_cmd *c, size_t width, struct wl_arena *a);
char *wl_cmd_program_help(const struct wl_cmd_program *p, size_t width, struct wl_arena *a);

/* The command "completion", which prints a shell's script for the program that is its subject. */
extern const struct wl_cmd wl_cmd_completion;
/* Names of the commands, or only of those with subcommands; and a name for the script's function. */
char *wl_completion_names(const struct wl_cmd_program *p, bool nested, const char *separator, struct wl_arena *a);
char *wl_completion_function(const struct wl_cmd_program *p, struct wl_arena *a);
void wl_completion_bash(const struct wl_cmd_program *p, struct wl_text *to);
void wl_completion_zsh(const struct wl_cmd_program *p, struct wl_text *to);
void wl_completion_fish(const struct wl_cmd_program *p, struct wl_text *to);

/* A manual page in mdoc(7): of the program, or of one of its commands. `words`: what is typed after the program's name,
 * NULL-terminated. */
char *wl_man_program(const struct wl_cmd_program *p, struct wl_arena *a);
char *wl_man_command(const struct wl_cmd_program *p, char *const *words, const struct wl_cmd *c, struct wl_arena *a);

/* The command of these words, through subcommands; NULL: none. */
const struct wl_cmd *wl_cmd_find(const struct wl_cmd_program *p, char *const *words);

/* Calls visit for each command and subcommand that takes options, with what is typed after the program's name: "fit",
 * "data imagenet". */
typedef void wl_cmd_visit(void *ctx, const char *path, const struct wl_cmd *c, struct wl_arena *a);
void wl_cmd_walk(const struct wl_cmd_program *p, wl_cmd_visit *visit, void *ctx, struct wl_arena *a);

/* What an option's value or an argument is, for completion. */
enum wl_value_kind { WL_VALUE_NONE, WL_VALUE_WORDS, WL_VALUE_FILE, WL_VALUE_FOLDER, WL_VALUE_OTHER };
enum wl_value_kind wl_cmd_value_kind(const struct wl_opt *o);

/* Words that the first argument is one of, separated by blanks: "observations samples"; NULL: it is a file, or there is
 * none. */
const char *wl_cmd_argument_words(const struct wl_cmd *c, struct wl_arena *a);

/* Are files among the arguments? */
bool wl_cmd_takes_files(const struct wl_cmd *c);

/* The choices of an option, separated by blanks. */
char *wl_cmd_choices(const struct wl_opt *o, struct wl_arena *a);

#endif
