/* Commands of the running system: the group, and what makes systemd and udev see the files. */
#include "cmd/wattlaw/setup/setup.h"

#include <grp.h>
#include <stdlib.h>

static const struct wl_setup_command after_setup[] = {
    { .argv = { "systemd-tmpfiles", "--create", "/etc/tmpfiles.d/wattlaw-energy.conf" } },
    { .argv = { "systemd-tmpfiles", "--create", "wattlaw.conf" } },
    { .argv = { "udevadm", "control", "--reload" }, .of_init = true },
    { .argv = { "systemctl", "daemon-reload" }, .of_init = true },
    { .argv = { "systemctl", "start", "wattlaw-caps.socket" }, .of_init = true },
};
static const struct wl_setup_command before_removal[] = {
    { .argv = { "systemctl", "stop", "wattlaw-caps.socket", "wattlaw-caps.service" }, .of_init = true },
};
static const struct wl_setup_command after_removal[] = {
    { .argv = { "udevadm", "control", "--reload" }, .of_init = true },
    { .argv = { "systemctl", "daemon-reload" }, .of_init = true },
};

/* ---- which ---- */

static const char *why_not(const struct wl_setup_command *c, struct wl_arena *a)
{
    if (c->of_init && !wl_is_dir("/run/systemd/system")) return "systemd is not running";
    return wl_process_find_program(c->argv[0], a) ? NULL : "there is no such program";
}

static void add(struct wl_setup_commands *out, const struct wl_setup_command *v, size_t n, struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++) {
        WL_GROW(a, out->v, out->n, out->cap);
        out->v[out->n] = v[i];
        out->v[out->n++].why_not = why_not(&v[i], a);
    }
}

bool wl_setup_adds_group(const struct wl_setup_plan *p) { return !p->removes && !*p->root && !getgrnam(p->group); }

/* The group stays if it was there before, or has members now. */
static const char *group_stays(const struct wl_setup_record *r, struct wl_arena *a)
{
    const struct group *g = getgrnam(r->group);
    if (!g) return "it is gone";
    if (!r->made_group) return "it was there before";
    return g->gr_mem[0] ? wl_strf(a, "it has members (%s); sudo groupdel %s", g->gr_mem[0], r->group) : NULL;
}

static void plan_removal(struct wl_setup_plan *p, struct wl_arena *a)
{
    const struct wl_setup_command drop_group = { .argv = { "groupdel", p->group } };
    p->group_stays = group_stays(&p->record, a);
    add(&p->before, before_removal, WL_COUNT(before_removal), a);
    add(&p->after, after_removal, WL_COUNT(after_removal), a);
    if (!p->group_stays) add(&p->after, &drop_group, 1, a);
}

void wl_setup_plan_commands(struct wl_setup_plan *p, struct wl_arena *a)
{
    const struct wl_setup_command add_group = { .argv = { "groupadd", "--system", p->group } };
    if (*p->root) return;
    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1); /* root runs them: whatever a PATH of a user has first */
    if (p->removes) {
        plan_removal(p, a);
        return;
    }
    if (wl_setup_adds_group(p)) add(&p->after, &add_group, 1, a);
    add(&p->after, after_setup, WL_COUNT(after_setup), a);
}

char *wl_setup_command_line(const struct wl_setup_command *c, struct wl_arena *a)
{
    return wl_shell_quote(a, (char *const *)(const char *const *)c->argv);
}

/* ---- running them ---- */

static void run_one(struct wl_setup_command *c, struct wl_arena *a)
{
    struct wl_process_result end = { 0 };
    struct wl_err e;
    char *text;
    struct wl_process_run run = {
        .argv = (char *const *)(const char *const *)c->argv, .max = 1000, .merge_stderr = true, .timeout_s = 150
    };
    int rc = wl_process_run(&run, &text, &end, a, &e);
    c->done = rc == 0 && end.status == 0;
    if (!c->done) c->failure = rc < 0 ? wl_strdup(a, e.msg) : wl_str_strip(a, text);
}

bool wl_setup_commands_run(struct wl_setup_commands *c, struct wl_arena *a)
{
    bool ok = true;
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].why_not) continue;
        run_one(&c->v[i], a);
        if (c->v[i].failure) wl_eprint("%s: %s\n", wl_setup_command_line(&c->v[i], a), c->v[i].failure);
        ok &= c->v[i].done;
    }
    return ok;
}
