/* Programs with subcommands: `wattlaw` (cmd/wattlaw/commands.c) and `wattlaw-train` (cmd/train/commands.c). A command's
 * file defines one `const struct wl_cmd`. */
#ifndef WL_CMD_CMD_H
#define WL_CMD_CMD_H

#include "base/base.h"

/* Exit statuses that scripts can trust. */
enum { WL_EXIT_OK = 0, WL_EXIT_FAILED = 1, WL_EXIT_USAGE = 2, WL_EXIT_INTERRUPTED = 130 };

/* The status of a wl_code: 2 for WL_EUSAGE, 130 for WL_EINTR, 1 for other errors; a code >= 0 is a status itself. */
int wl_exit_status(int rc);

struct wl_cmd {
    const char *name;
    const char *usage; /* after "wattlaw NAME": "[options] -- COMMAND..." */
    const char *help;  /* one line for the list of commands: a verb phrase in lower case, without a full stop */
    const char *more;  /* paragraphs for `wattlaw NAME --help`, with an example; NULL: none */
    const struct wl_opt *options; /* rows over the command's own struct */
    size_t options_size;          /* sizeof that struct */
    bool command_follows;         /* the first plain argument starts a foreign command line */

    /* Does the work. `options` is the parsed struct. Returns the exit status >= 0, or a negative wl_code with e
     * filled: the caller prints the message and exits with 2 for WL_EUSAGE, 130 for WL_EINTR, else 1. */
    int (*run)(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e);

    /* (optional) For a command generated from a row of a table: the row, and the function to call instead of `run`. */
    const void *subject;
    int (*run_subject)(const void *subject, void *options, const struct wl_opts_args *rest, struct wl_arena *a,
                       struct wl_err *e);

    /* (optional) Instead of all that: the first argument names one of this program's commands. The program's name is
     * all that is typed: "wattlaw-train data". */
    const struct wl_cmd_program *program;

    /* (optional) True if another process of the same job prints help and errors; this one only returns the status. */
    bool (*silent)(void);
};

/* A program, or a command with subcommands: name, text of --help, and commands, NULL-terminated, in the order of
 * --help. */
struct wl_cmd_program {
    const char *name;
    const char *usage; /* after the name: "COMMAND [options]" */
    const char *noun;  /* name of the first argument: "command" */
    const char *about; /* a sentence */
    const struct wl_cmd *const *commands;
};

/* The whole of main: finds the command and runs it, or answers --help and --version. Returns the exit status. */
int wl_cmd_program_main(const struct wl_cmd_program *p, int argc, char **argv);

extern const struct wl_cmd *const wl_commands[]; /* of wattlaw */

/* Parses argv (after the command's name) and runs the command; prints errors; returns the exit status. `program` is
 * "wattlaw". */
int wl_cmd_main(const char *program, const struct wl_cmd *cmd, int argc, char **argv);

#endif
