/* wattlaw: finds the command and runs it. */
#include "cmd/cmd.h"

#include <signal.h>
#include <string.h>

static void print_help(FILE *to)
{
    fputs("usage: wattlaw COMMAND [options]\n\n"
          "How a data-parallel training job scales, what it costs in joules, and which settings to use.\n\ncommands\n",
          to);
    for (const struct wl_cmd *const *c = wl_commands; *c; c++) fprintf(to, "  %-10s  %s\n", (*c)->name, (*c)->help);
    fputs("\nwattlaw COMMAND --help says more; wattlaw --version prints the version.\n", to);
}

static int unknown(const char *name)
{
    enum { MAX = 64 };
    const char *names[MAX];
    size_t n = 0;
    while (wl_commands[n] && n < MAX) names[n] = wl_commands[n]->name, n++;
    const char *near = wl_closest(name, names, n);
    fprintf(stderr, "error: unknown command %s", name);
    if (near) fprintf(stderr, "; did you mean %s?", near);
    fputs("\nusage: wattlaw COMMAND [options]; wattlaw --help lists the commands\n", stderr);
    return WL_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error, reported as such */
    if (argc < 2) {
        print_help(stderr);
        return WL_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (wl_streq(name, "--help") || wl_streq(name, "-h") || wl_streq(name, "help")) {
        print_help(stdout);
        return WL_EXIT_OK;
    }
    if (wl_streq(name, "--version")) {
        puts("wattlaw " WL_VERSION);
        return WL_EXIT_OK;
    }
    for (const struct wl_cmd *const *c = wl_commands; *c; c++)
        if (wl_streq((*c)->name, name)) return wl_cmd_main("wattlaw", *c, argc - 2, argv + 2);
    return unknown(name);
}
