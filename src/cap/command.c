/* The site's own command sets and restores caps; the machine's own setter reads them. */
#include "cap/control.h"
#include "cap/indirect.h"

#include <math.h>
#include <string.h>

enum { OUTPUT_MAX = 400 };

/* Fills in the placeholders of a word; WL_EINVAL names an unknown one. */
static int fill(const struct wl_control *k, const char *word, double value, struct wl_text *to, struct wl_err *e)
{
    for (const char *s = word; *s;) {
        size_t plain = strcspn(s, "{");
        wl_text_addn(to, s, plain);
        s += plain;
        if (!*s) return 0;
        size_t n = strcspn(s, "}");
        if (strncmp(s, "{uuid}", n + 1) == 0)
            wl_text_add(to, k->device);
        else if (strncmp(s, "{scope}", n + 1) == 0)
            wl_text_add(to, k->kind == WL_CAP_MODULE ? "module" : "gpu");
        else if (strncmp(s, "{watts}", n + 1) == 0 || strncmp(s, "{mhz}", n + 1) == 0)
            wl_text_addf(to, "%.10g", value);
        else
            return wl_fail(e, WL_EINVAL,
                           "cap command: unknown placeholder %.*s (expected {uuid}, {watts}, {scope} or {mhz})",
                           (int)(s[n] ? n + 1 : n), s);
        s += n + 1;
    }
    return 0;
}

static int run_command(const struct wl_control *k, const char *command, double value, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_strs words, argv = { 0 };
    int rc = wl_shell_split(command, &words, a, e);
    for (size_t i = 0; i < words.n && rc == 0; i++) {
        struct wl_text t = WL_TEXT(a);
        rc = fill(k, words.v[i], value, &t, e);
        wl_strs_add(a, &argv, t.s);
    }
    if (rc < 0) return rc;
    if (argv.n == 0) return wl_fail(e, WL_EINVAL, "the cap command is empty");
    wl_strs_add(a, &argv, "");
    argv.v[argv.n - 1] = NULL;
    char *text;
    struct wl_process_result end;
    rc = wl_process_run(&(struct wl_process_run) { .argv = argv.v,
                                                   .max = OUTPUT_MAX,
                                                   .merge_stderr = true,
                                                   .timeout_s = wl_cap_wait_s(k->state) },
                        &text, &end, a, e);
    if (rc < 0) return wl_err_prefix(e, "%s%s", k->device, rc == WL_EIO || rc == WL_EHUNG ? " (--cap-wait)" : "");
    if (end.status == 0) return 0;
    return wl_fail(e, WL_EIO, "%s: exit status %d: %s", wl_shell_quote(a, argv.v), end.status, wl_str_strip(a, text));
}

static int run_over(const struct wl_control *k, const char *command, double value, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int rc = run_command(k, command, value, a, e);
    wl_arena_free(a);
    return rc;
}

static const char *set_command(const struct wl_control *k)
{
    const struct wl_cap_opts *o = k->state;
    return wl_cap_is_power(k->kind) ? o->command : o->clock_command;
}

static int command_set(const struct wl_control *k, double value, struct wl_err *e)
{
    return run_over(k, set_command(k), value, e);
}

static int command_restore(const struct wl_control *k, double found, struct wl_err *e)
{
    const struct wl_cap_opts *o = k->state;
    const char *undo = wl_cap_is_power(k->kind) ? o->restore : o->clock_restore;
    return run_over(k, undo ? undo : set_command(k), found, e);
}

/* The command that locks a clock cannot restore it: it was not locked before. CPUs have a value to restore. A command
 * for module limits needs {scope}, else it would set those of GPUs. */
static int check_commands(const struct wl_setter_context *p, enum wl_cap_kind kind, const struct wl_controls *controls,
                          struct wl_err *e)
{
    const struct wl_cap_opts *o = p->opts;
    bool power = wl_cap_is_power(kind);
    const char *command = power ? o->command : o->clock_command;
    const char *value = power ? "{watts}" : "{mhz}", *option = power ? "" : "clock-";
    if (!command) return wl_fail(e, WL_EINVAL, "the cap setter is 'command': --cap-%scommand is missing", option);
    if (!strstr(command, value)) return wl_fail(e, WL_EINVAL, "cap command '%s': %s is missing", command, value);
    const char *undo = power ? o->restore : NULL;
    if (kind == WL_CAP_MODULE && (!strstr(command, "{scope}") || (undo && !strstr(undo, "{scope}"))))
        return wl_fail(e, WL_EINVAL, "cap command '%s': {scope} is missing, which distinguishes modules from GPUs",
                       strstr(command, "{scope}") ? undo : command);
    bool write_only = controls->n > 0 && controls->v[0].write_only;
    if (write_only && !o->clock_restore)
        return wl_fail(e, WL_EINVAL, "--cap-clock-command needs --cap-clock-restore, the command that undoes it");
    return 0;
}

static int command_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                        const char **fix, struct wl_err *e)
{
    int rc = wl_indirect_open(&wl_setter_command, p, kind, out, fix, e);
    return rc < 0 ? rc : check_commands(p, kind, out, e);
}

static int command_probe(const struct wl_control *k, const char **fix, struct wl_err *e)
{
    struct wl_strs words;
    struct wl_arena *a = wl_arena_new(NULL);
    int rc = wl_shell_split(set_command(k), &words, a, e);
    if (rc == 0 && (words.n == 0 || !wl_process_find_program(words.v[0], a))) {
        *fix = "name a program that is in PATH";
        rc = wl_fail(e, WL_ENOENT, "%s: command not found", words.n ? words.v[0] : "cap command");
    }
    wl_arena_free(a);
    return rc;
}

const struct wl_setter_ops wl_setter_command = {
    .name = "command",
    .help = "the site's own commands set and restore the cap",
    .kinds = { [WL_CAP_POWER] = true, [WL_CAP_MODULE] = true, [WL_CAP_CLOCK] = true },
    .open = command_open,
    .get = wl_indirect_get,
    .set = command_set,
    .restore = command_restore,
    .probe = command_probe,
    .locked_by_other = wl_indirect_locked_by_other,
    .has_own_timeout = true,
};
