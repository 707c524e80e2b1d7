/* wattlaw setup --system: lets a group read energy counters and set power caps without root. Shown first, asked for,
 * and undone by --remove. */
#include "cmd/wattlaw/setup/setup.h"

#include "base/trust.h"
#include "cmd/cmd.h"

#include <ctype.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *group, *program, *root;
    bool system, remove, yes, dry_run, json;
};

static const struct wl_opt rows[] = {
    { .name = "system",
      .type = WL_FLAG,
      .offset = offsetof(struct options, system),
      .help = "set up this machine for all members of a group; as root" },
    { .name = "group",
      .type = WL_STR,
      .offset = offsetof(struct options, group),
      .def = "wattlaw",
      .unit = "NAME",
      .help = "group whose members read energy counters and set caps" },
    { .name = "program",
      .type = WL_STR,
      .offset = offsetof(struct options, program),
      .unit = "PATH",
      .help = "wattlaw program of the cap service (default: this one)" },
    { .name = "root",
      .type = WL_STR,
      .offset = offsetof(struct options, root),
      .def = "",
      .unit = "FOLDER",
      .help = "folder of a system image in which files are made and no command is run (default: the running system)" },
    { .name = "remove",
      .type = WL_FLAG,
      .offset = offsetof(struct options, remove),
      .help = "undo: remove what setup has made, except files that were changed since" },
    { .name = "yes", .type = WL_FLAG, .offset = offsetof(struct options, yes), .help = "do not ask", .letter = 'y' },
    { .name = "dry-run",
      .type = WL_FLAG,
      .offset = offsetof(struct options, dry_run),
      .help = "show what would be done, with the contents of files; change nothing" },
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct options, json),
      .help = "print what would be done (--dry-run) or was done (--yes) as JSON" },
    WL_OPT_END,
};

/* ---- names ---- */

static bool is_plain(const char *s, const char *others, size_t max)
{
    size_t n = strlen(s);
    for (const char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(others, *c)) return false;
    return n > 0 && n <= max;
}

bool wl_setup_is_group_name(const char *s)
{
    return is_plain(s, "_-", 31) && (isalpha((unsigned char)*s) || *s == '_');
}

/* Folders that ProtectHome and PrivateTmp of the service hide. NULL: it is in none of them. */
static const char *hiding_folder(const char *program)
{
    static const char *const hidden[] = { "/home/", "/root/", "/run/", "/tmp/", "/var/tmp/" };
    for (size_t i = 0; i < WL_COUNT(hidden); i++)
        if (wl_str_starts(program, hidden[i])) return hidden[i];
    return NULL;
}

/* Root's service runs the program: nobody else may be able to replace it. Units have characters of their own. */
static int check_program(const struct options *o, const char *program, struct wl_err *e)
{
    if (program[0] != '/' || !is_plain(program, "/._+-", PATH_MAX - 1))
        return wl_fail(e, WL_EINVAL, "--program %s: expected an absolute path of letters, digits and / . _ + -",
                       program);
    char real[PATH_MAX];
    const bool is_here = !*o->root && realpath(program, real);
    const char *hidden = hiding_folder(program);
    if (!hidden && is_here) hidden = hiding_folder(real);
    if (hidden)
        return wl_fail(e, WL_EINVAL,
                       "%s: the service does not see %s: install wattlaw (sudo meson install), or name an "
                       "installed one with --program",
                       program, hidden);
    if (*o->root || wl_path_is_ours(program)) return 0;
    return wl_fail(e, WL_EPERM,
                   "%s: other users can replace it, and a service of root would run it: install wattlaw (sudo meson "
                   "install), or name an installed one with --program",
                   program);
}

static int read_names(const struct options *o, struct wl_setup_names *out, struct wl_arena *a, struct wl_err *e)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    *out = (struct wl_setup_names) { .group = o->group, .program = o->program, .root = o->root };
    if (!o->program) out->program = wl_strndup(a, self, n > 0 ? (size_t)n : 0);
    if (!wl_setup_is_group_name(o->group))
        return wl_fail(e, WL_EINVAL, "--group %s: expected a letter, then letters, digits, _ and -, at most 31",
                       o->group);
    return o->remove ? 0 : check_program(o, out->program, e);
}

/* ---- asking ---- */

static int ask(const struct options *o, struct wl_err *e)
{
    char answer[16] = "";
    if (o->yes) return 0;
    wl_print("Continue? [y/N] ");
    fflush(NULL);
    if (fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y')) return 0;
    return wl_fail(e, WL_EPERM, "nothing was changed (--yes does not ask)");
}

/* ---- setting up ---- */

/* What others have made is not replaced; in a folder where others can replace files, none of ours would stay ours. */
static int refuse_foreign(const struct wl_setup_plan *p, struct wl_err *e)
{
    for (size_t i = 0; i < p->items.n; i++)
        if (p->items.v[i].open_to_others)
            return wl_fail(e, WL_EPERM,
                           "%s%s: belongs to another user, or others can write to it (chown root, chmod go-w)", p->root,
                           p->items.v[i].path);
    for (size_t i = 0; i < p->items.n; i++)
        if (wl_setup_action(&p->items.v[i]) == WL_SETUP_REFUSE)
            return wl_fail(e, WL_EINVAL,
                           "%s%s: exists and is not what setup would make, or was changed since: move it away", p->root,
                           p->items.v[i].path);
    return 0;
}

static int make(const struct wl_setup_plan *p, size_t from, size_t to, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = from; i < to && rc == 0; i++) {
        struct wl_setup_item *item = &p->items.v[i];
        if (wl_setup_is_made(item)) item->done = (rc = wl_setup_make(p->root, item, e)) == 0;
    }
    return rc;
}

/* The folder of the record first, then the record, then all that it names. */
static int make_all(struct wl_setup_plan *p, struct wl_arena *a, struct wl_err *e)
{
    size_t first = 0;
    for (size_t i = 0; i < p->items.n; i++) {
        if (wl_str_eq(p->items.v[i].path, "/etc/wattlaw")) first = i + 1;
        if (wl_setup_is_made(&p->items.v[i])) wl_setup_record_add(&p->record, &p->items.v[i], a);
    }
    int rc = make(p, 0, first, e);
    if (rc == 0) rc = wl_setup_record_write(p->root, &p->record, e);
    if (rc == 0) rc = make(p, first, p->items.n, e);
    return rc < 0 ? wl_err_prefix(e, "what was made stays (wattlaw setup --system --remove)") : 0;
}

static int set_up(const struct options *o, struct wl_setup_plan *p, struct wl_arena *a, struct wl_err *e)
{
    p->record.made_group |= wl_setup_adds_group(p);
    p->record.group = p->group;
    int rc = make_all(p, a, e);
    if (rc < 0) return rc;
    bool ok = wl_setup_commands_run(&p->after, a);
    if (!o->json)
        wl_print(ok ? "done: sudo gpasswd -a USER %s admits a user, at the next login\n"
                    : "the files are there, but not all commands have worked; group %s\n",
                 p->group);
    return ok ? WL_EXIT_OK : WL_EXIT_FAILED;
}

static int plan_setup(const struct wl_setup_names *names, struct wl_setup_plan *p, struct wl_arena *a, struct wl_err *e)
{
    wl_setup_list(names, &p->items, a);
    int rc = wl_setup_record_read(p->root, &p->record, a, e);
    if (rc == 0) rc = wl_setup_inspect(p->root, &p->items, &p->record, e);
    if (rc < 0) return rc;
    if (p->record.group && !wl_str_eq(p->record.group, p->group))
        return wl_fail(e, WL_EINVAL, "set up for the group %s: first wattlaw setup --system --remove", p->record.group);
    return 0;
}

/* ---- undoing ---- */

/* Entries of one kind, newest first: folders come last, when their files are gone. */
static int remove_entries(const struct options *o, struct wl_setup_plan *p, bool folders, bool *changed,
                          struct wl_err *e)
{
    int rc = 0;
    for (size_t i = p->record.n; i-- > 0 && rc == 0;) {
        struct wl_setup_made *made = &p->record.v[i];
        if ((made->type == WL_SETUP_FOLDER) != folders) continue;
        rc = wl_setup_remove(p->root, made, p->dry_run, e);
        if (rc < 0 || !made->left || p->dry_run) continue;
        if (!o->json) wl_print("kept %s%s: %s\n", p->root, made->path, made->left);
        *changed |= !folders;
    }
    return rc;
}

static bool clean_system(struct wl_setup_plan *p, struct wl_arena *a)
{
    const struct group *g = getgrnam(p->group);
    if (g) p->closed = wl_setup_close_counters("", g->gr_gid, a);
    return wl_setup_commands_run(&p->after, a);
}

static int undo(const struct options *o, struct wl_setup_plan *p, struct wl_arena *a, struct wl_err *e)
{
    bool changed = false, ok = wl_setup_commands_run(&p->before, a);
    int rc = remove_entries(o, p, false, &changed, e);
    if (rc == 0) rc = wl_setup_record_remove(p->root, e);
    p->record_done = rc == 0;
    if (rc == 0) rc = remove_entries(o, p, true, &changed, e);
    if (rc < 0) return rc;
    if (!*p->root) ok &= clean_system(p, a);
    if (!o->json) wl_print(ok && !changed ? "removed\n" : "removed, except what is named above\n");
    return ok && !changed ? WL_EXIT_OK : WL_EXIT_FAILED;
}

static int plan_removal(const struct options *o, struct wl_setup_plan *p, struct wl_arena *a, struct wl_err *e)
{
    bool changed;
    int rc = wl_setup_record_read(p->root, &p->record, a, e);
    if (rc < 0) return rc;
    if (!p->record.group) return wl_fail(e, WL_ENOENT, "%s%s: not there: nothing was set up", p->root, WL_SETUP_RECORD);
    p->group = p->record.group;
    /* packaged files stay: nothing starts them any more, and they are their package's to remove */
    wl_setup_list(&(struct wl_setup_names) { .group = p->group, .program = "", .root = p->root }, &p->items, a);
    if (p->dry_run) rc = remove_entries(o, p, false, &changed, e);
    return p->dry_run && rc == 0 ? remove_entries(o, p, true, &changed, e) : rc;
}

/* ---- a call ---- */

/* The answer may have taken long: what has changed meanwhile is not overwritten. */
static int look_again(struct wl_setup_plan *p, struct wl_err *e)
{
    int rc = wl_setup_inspect(p->root, &p->items, &p->record, e);
    return rc < 0 ? rc : refuse_foreign(p, e);
}

/* Shows the plan, and carries it out. */
static int act(const struct options *o, struct wl_setup_plan *p, struct wl_arena *a, struct wl_err *e)
{
    wl_setup_plan_commands(p, a);
    if (!o->json) wl_setup_show(p, a);
    int rc = p->removes ? 0 : refuse_foreign(p, e);
    if (rc == 0 && !p->dry_run) rc = ask(o, e);
    if (rc == 0 && !p->dry_run && !p->removes) rc = look_again(p, e);
    if (rc == 0 && !p->dry_run) rc = p->removes ? undo(o, p, a, e) : set_up(o, p, a, e);
    if (o->json) wl_setup_print_json(p, a);
    return rc;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct options *o = options;
    struct wl_setup_names names;
    if (rest->args.n > 0) return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'", rest->args.v[0]);
    if (!o->system) return wl_fail(e, WL_EUSAGE, "--system is missing: there is nothing else to set up yet");
    if (o->json && !o->yes && !o->dry_run)
        return wl_fail(e, WL_EUSAGE, "--json does not ask: add --yes, or --dry-run, which changes nothing");
    if (*o->root) o->root = wl_path_absolute(a, o->root);
    if (wl_str_eq(o->root, "/")) o->root = "";
    if (*o->root && !wl_is_dir(o->root)) return wl_fail(e, WL_ENOENT, "--root %s: no such folder", o->root);
    int rc = read_names(o, &names, a, e);
    if (rc < 0) return rc;
    if (!*o->root && !o->dry_run && geteuid() != 0)
        return wl_fail(e, WL_EPERM,
                       "only root can set up the system: sudo wattlaw setup --system (--dry-run shows what it does)");
    struct wl_setup_plan p = { .root = o->root, .group = o->group, .removes = o->remove, .dry_run = o->dry_run };
    rc = o->remove ? plan_removal(o, &p, a, e) : plan_setup(&names, &p, a, e);
    return rc < 0 ? rc : act(o, &p, a, e);
}

const struct wl_cmd wl_cmd_setup = {
    .name = "setup",
    .usage = "--system [options]",
    .help = "let a group read energy counters and set power caps without root; shown first, and reversible",
    .more =
        "Prints what it would do and asks. It makes a group, rules by which the group reads the energy counters of "
        "CPUs\n"
        "(udev, tmpfiles.d), and a cap service with a socket (systemd) that sets caps within "
        "/etc/wattlaw/caps.conf. A\n"
        "second call changes nothing. Units that a package has installed are used as they are. --remove removes what "
        "was\n"
        "made, and leaves files that were changed since.\n"
        "\n"
        "  wattlaw setup --system --dry-run            every file with its content, every command\n"
        "  sudo wattlaw setup --system\n"
        "  sudo gpasswd -a alice wattlaw               admits a user, at the next login\n"
        "  wattlaw setup --system --dry-run --json     the same for programs\n"
        "  sudo wattlaw setup --system --remove",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};
