/* wattlaw setup --system: lets a group read energy counters and set power caps without root. Shown first, asked for,
 * and undone by --remove. */
#include "cmd/wattlaw/setup/setup.h"

#include "base/trust.h"
#include "cmd/cmd.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *group, *program, *root;
    bool system, remove, yes, dry_run;
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

/* Root's service runs the program: nobody else may be able to replace it. Units have characters of their own. */
static int check_program(const struct options *o, const char *program, struct wl_err *e)
{
    if (program[0] != '/' || !is_plain(program, "/._+-", PATH_MAX - 1))
        return wl_fail(e, WL_EINVAL, "--program %s: expected an absolute path of letters, digits and / . _ + -",
                       program);
    static const char *const hidden[] = { "/home/", "/root/", "/run/", "/tmp/", "/var/tmp/" };
    for (size_t i = 0; i < WL_COUNT(hidden); i++)
        if (wl_str_starts(program, hidden[i]))
            return wl_fail(e, WL_EINVAL,
                           "%s: the service does not see %s: install wattlaw (sudo meson install), or name an "
                           "installed one with --program",
                           program, hidden[i]);
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
    if (!is_plain(o->group, "_-", 31) || !(isalpha((unsigned char)*o->group) || *o->group == '_'))
        return wl_fail(e, WL_EINVAL, "--group %s: expected a letter, then letters, digits, _ and -, at most 31",
                       o->group);
    return o->remove ? 0 : check_program(o, out->program, e);
}

/* ---- commands ---- */

struct command {
    const char *argv[5];
    bool of_init; /* needs a running systemd */
};

static const struct command after_setup[] = {
    { .argv = { "systemd-tmpfiles", "--create", "/etc/tmpfiles.d/wattlaw-energy.conf" } },
    { .argv = { "systemd-tmpfiles", "--create", "wattlaw.conf" } },
    { .argv = { "udevadm", "control", "--reload" }, .of_init = true },
    { .argv = { "systemctl", "daemon-reload" }, .of_init = true },
    { .argv = { "systemctl", "start", "wattlaw-caps.socket" }, .of_init = true },
};
static const struct command before_removal[] = {
    { .argv = { "systemctl", "stop", "wattlaw-caps.socket", "wattlaw-caps.service" }, .of_init = true },
};
static const struct command after_removal[] = {
    { .argv = { "udevadm", "control", "--reload" }, .of_init = true },
    { .argv = { "systemctl", "daemon-reload" }, .of_init = true },
};

static char *line_of(const struct command *c, struct wl_arena *a)
{
    return wl_shell_quote(a, (char *const *)(const char *const *)c->argv);
}

/* Why it is not run; NULL: it is. */
static const char *why_not(const struct command *c, struct wl_arena *a)
{
    if (c->of_init && !wl_is_dir("/run/systemd/system")) return "systemd is not running";
    return wl_process_find_program(c->argv[0], a) ? NULL : "there is no such program";
}

static void show_commands(const struct command *v, size_t n, struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++) {
        const char *why = why_not(&v[i], a);
        wl_print("  %-8s %s%s%s%s\n", why ? "skip" : "run", line_of(&v[i], a), why ? "    (" : "", why ? why : "",
                 why ? ")" : "");
    }
}

/* A command that fails leaves what was done: it is named, and can be run by hand. */
static bool run_commands(const struct command *v, size_t n, struct wl_arena *a)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        struct wl_process_result end = { 0 };
        struct wl_err e;
        char *text;
        struct wl_process_run run = {
            .argv = (char *const *)(const char *const *)v[i].argv, .max = 1000, .merge_stderr = true, .timeout_s = 150
        };
        if (why_not(&v[i], a)) continue;
        int rc = wl_process_run(&run, &text, &end, a, &e);
        if (rc == 0 && end.status == 0) continue;
        wl_eprint("%s: %s\n", line_of(&v[i], a), rc < 0 ? e.msg : wl_str_strip(a, text));
        ok = false;
    }
    return ok;
}

/* ---- the group ---- */

static bool group_exists(const char *name) { return getgrnam(name) != NULL; }

static struct command group_command(const char *program, const char *name)
{
    if (wl_str_eq(program, "groupadd")) return (struct command) { .argv = { program, "--system", name } };
    return (struct command) { .argv = { program, name } };
}

/* The group stays if it was there before, or has members now. Why; NULL: it goes. */
static const char *group_stays(const struct wl_setup_record *r, struct wl_arena *a)
{
    const struct group *g = getgrnam(r->group);
    if (!g) return "it is gone";
    if (!r->made_group) return "it was there before";
    return g->gr_mem[0] ? wl_strf(a, "it has members (%s); sudo groupdel %s", g->gr_mem[0], r->group) : NULL;
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

static const char *action(const struct wl_setup_item *item)
{
    switch (item->state) {
    case WL_SETUP_MISSING: return item->type == WL_SETUP_LINK ? "link" : "create";
    case WL_SETUP_OLD: return item->is_editable ? "keep" : "replace";
    case WL_SETUP_SAME: return "keep";
    case WL_SETUP_FOREIGN: break;
    }
    /* a link that systemctl enable has made: its name alone counts */
    return item->is_editable || item->type == WL_SETUP_LINK ? "keep" : "REFUSE";
}

static bool is_made(const struct wl_setup_item *item)
{
    return item->state == WL_SETUP_MISSING || (item->state == WL_SETUP_OLD && !item->is_editable);
}

static void show_text(const char *text)
{
    for (const char *s = text; *s;) {
        int n = (int)strcspn(s, "\n");
        wl_print("        | %.*s\n", n, s);
        s += n + (s[n] == '\n');
    }
}

static void show_item(const struct wl_setup_item *item, const struct options *o)
{
    bool folder = item->type == WL_SETUP_FOLDER;
    if (folder && item->state == WL_SETUP_SAME) return;
    if (item->type == WL_SETUP_LINK)
        wl_print("  %-8s %s%s\n%17s-> %s\n", action(item), o->root, item->path, "", item->text);
    else
        wl_print("  %-8s %04o  %s%s\n", action(item), item->mode, o->root, item->path);
    if (!folder) wl_print("%17s%s%s\n", "", item->why, wl_str_eq(item->packaged, item->path) ? ": the package's" : "");
    if (item->packaged && !wl_str_eq(item->packaged, item->path))
        wl_print("%17sin place of %s%s, which is different\n", "", o->root, item->packaged);
    if (o->dry_run && is_made(item) && item->type == WL_SETUP_FILE) show_text(item->text);
}

static void show_setup(const struct options *o, const struct wl_setup_items *items, struct wl_arena *a)
{
    wl_print("wattlaw setup --system, in %s, as owner root:\n", *o->root ? o->root : "/");
    for (size_t i = 0; i < items->n; i++) show_item(&items->v[i], o);
    if (!*o->root) { /* its commands are those of the running system */
        struct command add_group = group_command("groupadd", o->group);
        if (!group_exists(o->group)) show_commands(&add_group, 1, a);
        show_commands(after_setup, WL_COUNT(after_setup), a);
    }
    wl_print(
        "Members of the group %s can then read the energy counters of CPUs, and set power caps within the rules of\n"
        "/etc/wattlaw/caps.conf. To undo: wattlaw setup --system --remove\n",
        o->group);
}

static int refuse_foreign(const struct options *o, const struct wl_setup_items *items, struct wl_err *e)
{
    for (size_t i = 0; i < items->n; i++)
        if (wl_str_eq(action(&items->v[i]), "REFUSE"))
            return wl_fail(e, WL_EINVAL,
                           "%s%s: exists and is not what setup would make, or was changed since: move it away", o->root,
                           items->v[i].path);
    return 0;
}

/* The folder of the record first, then the record, then all that it names. */
static int make_all(const struct options *o, const struct wl_setup_items *items, struct wl_setup_record *r,
                    struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    size_t folder = 0;
    for (size_t i = 0; i < items->n; i++) {
        if (wl_str_eq(items->v[i].path, "/etc/wattlaw")) folder = i;
        if (is_made(&items->v[i])) wl_setup_record_add(r, &items->v[i], a);
    }
    for (size_t i = 0; i <= folder && rc == 0; i++) rc = wl_setup_make(o->root, &items->v[i], e);
    if (rc == 0) rc = wl_setup_record_write(o->root, r, e);
    for (size_t i = folder + 1; i < items->n && rc == 0; i++)
        if (is_made(&items->v[i])) rc = wl_setup_make(o->root, &items->v[i], e);
    return rc < 0 ? wl_err_prefix(e, "what was made stays (wattlaw setup --system --remove)") : 0;
}

static int set_up(const struct options *o, const struct wl_setup_names *names, struct wl_arena *a, struct wl_err *e)
{
    struct wl_setup_items items = { 0 };
    struct wl_setup_record r;
    wl_setup_list(names, &items, a);
    int rc = wl_setup_record_read(o->root, &r, a, e);
    if (rc == 0) rc = wl_setup_inspect(o->root, &items, &r, e);
    if (rc < 0) return rc;
    if (r.group && !wl_str_eq(r.group, o->group))
        return wl_fail(e, WL_EINVAL, "set up for the group %s: first wattlaw setup --system --remove", r.group);
    show_setup(o, &items, a);
    rc = refuse_foreign(o, &items, e);
    if (rc < 0 || o->dry_run) return rc;
    rc = ask(o, e);
    if (rc < 0) return rc;
    struct command add_group = group_command("groupadd", o->group);
    bool add = !*o->root && !group_exists(o->group);
    r.group = o->group;
    r.made_group |= add;
    rc = make_all(o, &items, &r, a, e);
    if (rc < 0) return rc;
    bool ok = !add || run_commands(&add_group, 1, a);
    if (!*o->root) ok &= run_commands(after_setup, WL_COUNT(after_setup), a);
    wl_print(ok ? "done: sudo gpasswd -a USER %s admits a user, at the next login\n"
                : "the files are there, but not all commands have worked; group %s\n",
             o->group);
    return ok ? WL_EXIT_OK : WL_EXIT_FAILED;
}

/* ---- undoing ---- */

/* Nothing starts them any more; they are their package's to remove. */
static void show_packaged(const struct options *o, const struct wl_setup_record *r, struct wl_arena *a)
{
    struct wl_setup_items items = { 0 };
    struct wl_setup_names names = { .group = r->group, .program = "", .root = o->root };
    wl_setup_list(&names, &items, a);
    for (size_t i = 0; i < items.n; i++)
        if (items.v[i].packaged) wl_print("  keep     %s%s    a package's\n", o->root, items.v[i].packaged);
}

static void show_removal(const struct options *o, const struct wl_setup_record *r, struct wl_arena *a)
{
    wl_print("wattlaw setup --system --remove, in %s:\n", *o->root ? o->root : "/");
    if (!*o->root) show_commands(before_removal, WL_COUNT(before_removal), a);
    for (size_t i = r->n; i-- > 0;)
        wl_print("  remove   %s%s%s\n", o->root, r->v[i].path,
                 r->v[i].type == WL_SETUP_FOLDER ? "    if empty"
                 : r->v[i].type == WL_SETUP_FILE ? "    if unchanged"
                                                 : "");
    wl_print("  remove   %s%s\n", o->root, WL_SETUP_RECORD);
    show_packaged(o, r, a);
    if (*o->root) return;
    const char *stays = group_stays(r, a);
    struct command drop_group = group_command("groupdel", r->group);
    wl_print("  close    /sys/class/powercap/*/energy_uj that group %s reads\n", r->group);
    show_commands(after_removal, WL_COUNT(after_removal), a);
    if (stays)
        wl_print("  keep     group %s: %s\n", r->group, stays);
    else
        show_commands(&drop_group, 1, a);
}

/* Entries of one kind, newest first: folders come last, when their files are gone. */
static int remove_entries(const struct options *o, const struct wl_setup_record *r, bool folders, bool *changed,
                          struct wl_err *e)
{
    int rc = 0;
    for (size_t i = r->n; i-- > 0 && rc == 0;) {
        const char *left;
        if ((r->v[i].type == WL_SETUP_FOLDER) != folders) continue;
        rc = wl_setup_remove(o->root, &r->v[i], &left, e);
        if (rc < 0 || !left) continue;
        wl_print("kept %s%s: %s\n", o->root, r->v[i].path, left);
        *changed |= !folders;
    }
    return rc;
}

static bool clean_system(const struct wl_setup_record *r, struct wl_arena *a)
{
    const struct group *g = getgrnam(r->group);
    struct command drop_group = group_command("groupdel", r->group);
    if (g) wl_setup_close_counters("", g->gr_gid, a);
    bool ok = run_commands(after_removal, WL_COUNT(after_removal), a);
    return (group_stays(r, a) || run_commands(&drop_group, 1, a)) && ok;
}

static int undo(const struct options *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_setup_record r;
    bool changed = false, ok = true;
    int rc = wl_setup_record_read(o->root, &r, a, e);
    if (rc < 0) return rc;
    if (!r.group) return wl_fail(e, WL_ENOENT, "%s%s: not there: nothing was set up", o->root, WL_SETUP_RECORD);
    show_removal(o, &r, a);
    if (o->dry_run) return WL_EXIT_OK;
    rc = ask(o, e);
    if (rc == 0 && !*o->root) ok = run_commands(before_removal, WL_COUNT(before_removal), a);
    if (rc == 0) rc = remove_entries(o, &r, false, &changed, e);
    if (rc == 0) rc = wl_setup_record_remove(o->root, e);
    if (rc == 0) rc = remove_entries(o, &r, true, &changed, e);
    if (rc < 0) return rc;
    if (!*o->root) ok &= clean_system(&r, a);
    wl_print(ok && !changed ? "removed\n" : "removed, except what is named above\n");
    return ok && !changed ? WL_EXIT_OK : WL_EXIT_FAILED;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct options *o = options;
    struct wl_setup_names names;
    if (rest->args.n > 0) return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'", rest->args.v[0]);
    if (!o->system) return wl_fail(e, WL_EUSAGE, "--system is missing: there is nothing else to set up yet");
    if (*o->root) o->root = wl_path_absolute(a, o->root);
    if (wl_str_eq(o->root, "/")) o->root = "";
    if (*o->root && !wl_is_dir(o->root)) return wl_fail(e, WL_ENOENT, "--root %s: no such folder", o->root);
    int rc = read_names(o, &names, a, e);
    if (rc < 0) return rc;
    if (!*o->root && !o->dry_run && geteuid() != 0)
        return wl_fail(e, WL_EPERM,
                       "only root can set up the system: sudo wattlaw setup --system (--dry-run shows what it does)");
    return o->remove ? undo(o, a, e) : set_up(o, &names, a, e);
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
        "  sudo wattlaw setup --system --remove",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};
