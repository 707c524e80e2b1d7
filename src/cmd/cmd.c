#include "cmd/cmd.h"

#include "cmd/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void nothing(int number) { (void)number; }

/* Makes a closed pipe (SIGPIPE) and a limit on the size of files (SIGXFSZ) write errors that do not end a run. What the
 * caller ignores stays ignored; a command that is run has neither handler. */
static void catch_write_signal(int number)
{
    struct sigaction then, now = { .sa_handler = nothing, .sa_flags = SA_RESTART };
    sigemptyset(&now.sa_mask);
    if (sigaction(number, NULL, &then) == 0 && then.sa_handler != SIG_IGN) sigaction(number, &now, NULL);
}

static bool sigpipe_is_ignored(void)
{
    struct sigaction now;
    return sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* Ends silently by SIGPIPE, as other programs do whose output is no longer read. */
static int die_by_sigpipe(void)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGPIPE);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(SIGPIPE);
    return 128 + SIGPIPE; /* the first process of a container ignores the signal */
}

/* Fails if the output could not be written: a full disk below a redirection is a failure too. A reader that has seen
 * enough (head) ends us by SIGPIPE, now that all is done and stored, unless the caller ignores that signal. */
static int flushed(int status)
{
    const int en = wl_out_flush();
    wl_print_flush(WL_STDERR);
    if (en == 0) return status;
    if (en == EPIPE && !sigpipe_is_ignored()) return status ? status : die_by_sigpipe();
    wl_eprint("error: cannot write the results: %s\n", strerror(en));
    return status ? status : WL_EXIT_FAILED;
}

static void print_error(const char *program, const struct wl_cmd *c, const struct wl_err *e)
{
    wl_fprint_in(WL_STDERR, WL_BAD, "error:");
    wl_eprint(" %s\n", e->msg);
    if (e->code == WL_EUSAGE)
        wl_eprint("usage: %s %s %s\ndetails: %s %s --help\n", program, c->name, c->usage, program, c->name);
}

int wl_exit_status(int rc)
{
    if (rc >= 0) return rc;
    return rc == WL_EUSAGE ? WL_EXIT_USAGE : rc == WL_EINTR ? WL_EXIT_INTERRUPTED : WL_EXIT_FAILED;
}

static void set_color(const char *choice)
{
    wl_out_color_set(wl_str_eq(choice, "always")  ? WL_COLOR_ALWAYS
                     : wl_str_eq(choice, "never") ? WL_COLOR_NEVER
                                                  : WL_COLOR_AUTO);
}

int wl_cmd_main(const char *program, const struct wl_cmd *c, int argc, char **argv)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_opts_args rest;
    const bool speaks = !c->silent || !c->silent();
    const struct wl_opts_line line = {
        .rows = wl_cmd_rows(c, a), .argc = argc, .argv = argv, .stop_at_word = c->command_follows
    };
    const size_t offset = wl_cmd_common_offset(c);
    char *options = wl_alloc(a, offset + sizeof(struct wl_cmd_common));
    int rc = wl_opts_parse(&line, options, &rest, a, &e);
    set_color(((const struct wl_cmd_common *)(options + offset))->color);
    if (rc == 0 && !rest.help)
        rc = c->run ? c->run(options, &rest, a, &e) : c->run_subject(c->subject, options, &rest, a, &e);
    else if (rc == 0 && speaks)
        wl_print_text(WL_STDOUT, wl_cmd_help(program, c, (size_t)wl_out_text_width(WL_STDOUT), a));
    if (rc < 0 && speaks) print_error(program, c, &e);
    wl_arena_free(a);
    return flushed(wl_exit_status(rc));
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static void print_program(const struct wl_cmd_program *p, enum wl_out to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    wl_print_text(to, wl_cmd_program_help(p, (size_t)wl_out_text_width(to), a));
    wl_arena_free(a);
}

static int unknown(const struct wl_cmd_program *p, const char *name)
{
    enum { MAX = 64 };
    const char *names[MAX];
    size_t n = 0;
    while (p->commands[n] && n < MAX) names[n] = p->commands[n]->name, n++;
    const char *near = wl_str_closest(name, names, n);
    wl_fprint_in(WL_STDERR, WL_BAD, "error:");
    wl_eprint(" unknown %s %s", p->noun, name);
    if (near) wl_eprint("; did you mean %s?", near);
    wl_eprint("\nusage: %s %s; %s --help lists the %ss\n", p->name, p->usage, p->name, p->noun);
    return WL_EXIT_USAGE;
}

/* If the caller closed a standard descriptor, a store or lock file would get its number, and output would be written
 * into that file. */
static void open_standard_descriptors(void)
{
    int fd;
    while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO) fcntl(fd, F_SETFD, 0);
    if (fd >= 0) close(fd);
}

static int run_program(const struct wl_cmd_program *p, int argc, char **argv);

/* "help data imagenet" is "data imagenet --help". */
static int help_on(const struct wl_cmd_program *p, int argc, char **argv)
{
    char *words[5] = { argv[0], argv[2] };
    int n = 2;
    if (argc > 3) words[n++] = argv[3];
    words[n++] = (char *)"--help";
    return run_program(p, n, words);
}

static int run_program(const struct wl_cmd_program *p, int argc, char **argv)
{
    if (argc < 2) {
        print_program(p, WL_STDERR);
        return WL_EXIT_USAGE;
    }
    const char *name = argv[1];
    bool asks = wl_str_eq(name, "--help") || wl_str_eq(name, "-h") || wl_str_eq(name, "help");
    if (asks && argc > 2) return help_on(p, argc, argv);
    if (asks) {
        print_program(p, WL_STDOUT);
        return flushed(WL_EXIT_OK);
    }
    if (wl_str_eq(name, "--version")) {
        wl_print("%s " WL_VERSION "\n", p->name);
        return flushed(WL_EXIT_OK);
    }
    for (const struct wl_cmd *const *c = p->commands; *c; c++)
        if (wl_str_eq((*c)->name, name))
            return (*c)->program ? run_program((*c)->program, argc - 1, argv + 1)
                                 : wl_cmd_main(p->name, *c, argc - 2, argv + 2);
    return unknown(p, name);
}

/* The program with the commands that every program has. */
static const struct wl_cmd_program *with_common(const struct wl_cmd_program *p, struct wl_arena *a)
{
    size_t n = 0;
    while (p->commands[n]) n++;
    struct wl_cmd_program *all = wl_new(a, struct wl_cmd_program);
    const struct wl_cmd **commands = wl_new_array(a, const struct wl_cmd *, n + 2);
    struct wl_cmd *completion = wl_new(a, struct wl_cmd);
    *all = *p;
    *completion = wl_cmd_completion;
    memcpy(commands, p->commands, n * sizeof *commands);
    commands[n] = completion;
    all->commands = commands;
    completion->subject = all;
    return all;
}

/* "--man [COMMAND [SUBCOMMAND]]" prints the manual page; for the build (docs/man/meson.build). */
static int print_manual(const struct wl_cmd_program *p, char **words, struct wl_arena *a)
{
    const struct wl_cmd *c = wl_cmd_find(p, words);
    if (*words && !c) return unknown(p, *words);
    const char *page = c ? wl_man_command(p, words, c, a) : wl_man_program(p, a);
    wl_print_text(WL_STDOUT, page);
    return flushed(WL_EXIT_OK);
}

int wl_cmd_program_main(const struct wl_cmd_program *given, int argc, char **argv)
{
    open_standard_descriptors();
    catch_write_signal(SIGPIPE);
    catch_write_signal(SIGXFSZ);
    signal(SIGCHLD, SIG_DFL); /* if the caller ignored SIGCHLD, we could not wait for our children */
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_cmd_program *p = with_common(given, a);
    const int status =
        argc > 1 && wl_str_eq(argv[1], "--man") ? print_manual(p, argv + 2, a) : run_program(p, argc, argv);
    wl_arena_free(a);
    return status;
}
