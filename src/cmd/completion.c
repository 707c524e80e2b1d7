/* The command `completion`: completion of commands, options, their values and files, for bash, zsh and fish. Scripts
 * are generated from the option rows, so that none is missing. */
#include "cmd/internal.h"

static const struct {
    const char *name;
    void (*write)(const struct wl_cmd_program *p, struct wl_text *to);
} shells[] = { { "bash", wl_completion_bash }, { "zsh", wl_completion_zsh }, { "fish", wl_completion_fish } };

static int run(const void *subject, void *options, const struct wl_opts_args *rest, struct wl_arena *a,
               struct wl_err *e)
{
    (void)options;
    if (rest->args.n != 1 || rest->command) return wl_fail(e, WL_EUSAGE, "expected one shell: bash, zsh or fish");
    for (size_t i = 0; i < WL_COUNT(shells); i++) {
        struct wl_text script = WL_TEXT(a);
        if (!wl_str_eq(rest->args.v[0], shells[i].name)) continue;
        shells[i].write(subject, &script);
        wl_print_text(WL_STDOUT, script.s);
        return WL_EXIT_OK;
    }
    return wl_fail(e, WL_EUSAGE, "%s: expected bash, zsh or fish", rest->args.v[0]);
}

const struct wl_cmd wl_cmd_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .help = "print the completion of commands, options and files for a shell",
    .more = "An installed wattlaw is completed without this.\n"
            "\n"
            "  source <(wattlaw completion bash)\n"
            "  source <(wattlaw completion zsh)\n"
            "  wattlaw completion fish | source",
    .run_subject = run,
};

/* ---- what the scripts share ---- */

char *wl_completion_names(const struct wl_cmd_program *p, bool nested, const char *separator, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (const struct wl_cmd *const *c = p->commands; *c; c++)
        if (!nested || (*c)->program) wl_text_addf(&t, "%s%s", t.n ? separator : "", (*c)->name);
    return t.s;
}

char *wl_completion_function(const struct wl_cmd_program *p, struct wl_arena *a)
{
    char *name = wl_strf(a, "_%s", p->name);
    for (char *s = name; *s; s++)
        if (*s == '-' || *s == ' ') *s = '_';
    return name;
}
