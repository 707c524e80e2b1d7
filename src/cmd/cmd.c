#include "cmd/cmd.h"

#include <errno.h>
#include <string.h>

static void print_help(const char *program, const struct wl_cmd *c)
{
    printf("usage: %s %s %s\n\n%s.\n", program, c->name, c->usage, c->help);
    if (c->options && c->options->name) {
        puts("\noptions");
        wl_opts_help(c->options, stdout);
    }
    if (c->more) printf("\n%s\n", c->more);
}

/* What was printed must have arrived: a full disk behind a pipe or a redirection is a failure too. */
static int flushed(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "error: writing the results: %s\n", strerror(errno));
    return status ? status : WL_EXIT_FAILED;
}

int wl_cmd_main(const char *program, const struct wl_cmd *c, int argc, char **argv)
{
    static const struct wl_opt none[] = { WL_OPT_END };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_rest rest;
    bool help;
    void *options = wl_alloc(a, c->options_size);
    int rc = wl_opts_parse(c->options ? c->options : none, options, argc, argv, c->command_follows, &rest, &help, a, &e);
    if (rc == 0 && help) print_help(program, c);
    else if (rc == 0) rc = c->run(options, &rest, a, &e);
    if (rc < 0) {
        fprintf(stderr, "error: %s\n", e.msg);
        if (rc == WL_EUSAGE) fprintf(stderr, "usage: %s %s %s\n       %s %s --help says more\n", program, c->name, c->usage, program, c->name);
    }
    wl_arena_free(a);
    return flushed(rc >= 0 ? rc : rc == WL_EUSAGE ? WL_EXIT_USAGE : rc == WL_EINTR ? WL_EXIT_INTERRUPTED : WL_EXIT_FAILED);
}
