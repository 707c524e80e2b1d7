/* A transaction: probe, journal, set, read back; at the end read back and restore. */
#include "cap/control.h"
#include "cap/guard.h"
#include "cap/restore.h"
#include "cap/state_dir.h"
#include "cap/watch.h"

#include <math.h>
#include <unistd.h>

struct wl_caps {
    struct wl_arena *a;
    struct wl_setter_context context;
    const struct wl_cap_request *request;
    struct wl_controls controls;
    struct wl_cap_setting *settings; /* [controls.n] */
    struct wl_journal journal;
    size_t *entries; /* [controls.n] index in the journal */
    const char *dir, *program;
    struct wl_claims claims; /* of other processes, while the state folder is locked */
    struct wl_guard guard;
    struct wl_cap_watch watch;
    struct wl_hold *hold;         /* what another process holds for us; NULL: nothing */
    bool journal_written, warned; /* warned: a missing guard or journal was reported */
};

/* ---- probing ---- */

/* If a dead process of another user left a cap, the value before that cap is the one to restore. */
static void find_original(struct wl_caps *c, const struct wl_control *k, struct wl_cap_setting *s)
{
    struct wl_journal_entry mine = { .device = k->device, .kind = k->kind, .found = s->found };
    const struct wl_claim *whose;
    double read = s->found;
    s->found = wl_claims_original(&c->claims, &c->journal, &mine, k, &whose);
    if (!whose) return;
    const char *unit = wl_cap_kind_unit(k->kind);
    wl_log(WL_WARN, "cap",
           "%s: %g %s was set by process %lld of user %u, which is dead; %g %s, which it had found, will be restored",
           k->device, read, unit, (long long)whose->j.holder.pid, (unsigned)whose->j.owner, s->found, unit);
}

static int probe_one(struct wl_caps *c, size_t i, struct wl_err *e)
{
    const struct wl_control *k = &c->controls.v[i];
    struct wl_cap_setting *s = &c->settings[i];
    *s = (struct wl_cap_setting) { .kind = k->kind,
                                   .setter = k->ops->name,
                                   .device = k->device,
                                   .name = k->name,
                                   .requested = c->request->value[k->kind],
                                   .found = NAN,
                                   .enforced = NAN,
                                   .at_end = NAN,
                                   .in_effect = NAN,
                                   .range = k->range,
                                   .default_value = k->default_value,
                                   .simulated = k->simulated };
    const char *why = wl_cap_refusal(&k->range, k->kind, s->requested, c->a);
    if (why)
        return wl_fail(e, WL_EINVAL, "%s: %g %s is out of range for %s (%s): %s", wl_cap_kind_name(k->kind),
                       s->requested, wl_cap_kind_unit(k->kind), k->device, k->name, why);
    int rc = wl_control_locked_by_other(k, &why, c->a, e);
    if (rc < 0) return rc;
    if (why)
        return wl_fail(e, WL_EPERM,
                       "%s (%s): %s. wattlaw cannot restore a lock that it cannot read: undo it first (sudo nvidia-smi "
                       "-rgc -i %s)",
                       k->device, k->name, why, k->device);
    rc = wl_control_get(k, &s->found, &s->in_effect, e);
    if (rc == 0) find_original(c, k, s);
    return rc;
}

static int open_all(struct wl_caps *c, struct wl_err *e)
{
    for (int kind = 0; kind < WL_CAP_KINDS; kind++) {
        const char *fix = NULL;
        if (isnan(c->request->value[kind])) continue;
        if (wl_controls_open(&c->context, NULL, kind, &c->controls, &fix, e) == 0) continue;
        wl_err_prefix(e, "%s cannot be set", wl_cap_kind_name(kind));
        return fix ? wl_fail(e, e->code, "%s; to fix it: %s", wl_strdup(c->a, e->msg), fix) : e->code;
    }
    return 0;
}

static int probe_all(struct wl_caps *c, struct wl_err *e)
{
    c->settings = wl_new_array(c->a, struct wl_cap_setting, c->controls.n);
    int rc = 0;
    for (size_t i = 0; i < c->controls.n && rc == 0; i++) rc = probe_one(c, i, e);
    return rc;
}

static void log_restore_result(const struct wl_restore_result *l)
{
    if (l->state == WL_RESTORE_DONE)
        wl_log(WL_WARN, "cap", "%s: %s of process %lld, which is dead, was restored to the value it had found",
               l->device, wl_cap_kind_name(l->kind), (long long)l->pid);
    if (l->state == WL_RESTORE_BAD_JOURNAL) wl_log(WL_WARN, "cap", "%s; ignored", l->why);
}

/* Another limit of a device that the process has capped for which the cap service acts. */
static bool is_of_client(const struct wl_cap_client *client, const struct wl_restore_result *l)
{
    if (!client || l->pid != client->pid || l->user != client->user) return false;
    for (size_t i = 0; i < client->n; i++)
        if (client->v[i].kind == l->kind && wl_str_eq(client->v[i].device, l->device)) return false;
    return true;
}

/* Fails if a live process, or one of this user that may live, holds one of the devices. Unreadable journals and those
 * of other users' dead processes do not block a device. */
static int check_free(struct wl_caps *c, struct wl_err *e)
{
    struct wl_restore_results results = { 0 };
    struct wl_restore_options opts = { .opts = c->context.opts, .power = c->context.power };
    int rc = wl_restore_locked(c->dir, &opts, &results, c->a, e);
    for (size_t i = 0; i < results.n && rc == 0; i++) {
        const struct wl_restore_result *l = &results.v[i];
        log_restore_result(l);
        if (!l->blocks || is_of_client(c->context.opts->client, l)) continue;
        bool unique = wl_str_starts(l->device, "GPU-"); /* CPUs of other machines have the same names */
        for (size_t k = 0; k < c->controls.n && rc == 0; k++)
            if ((unique || !l->other_host) && wl_str_eq(c->controls.v[k].device, l->device))
                rc = wl_fail(e, WL_EPERM, "%s has a cap of another run: %s (%s)", l->device, l->why, l->journal);
    }
    return rc;
}

/* ---- setting ---- */

static bool is_held(const struct wl_caps *c, size_t i) { return c->controls.v[i].ops->hold; }

static bool is_journalled(const struct wl_caps *c, size_t i)
{
    return !c->controls.v[i].ops->observes && !is_held(c, i);
}

static int write_journal(struct wl_caps *c, struct wl_err *e)
{
    int rc = wl_holder_self(&c->journal.holder, c->a, e);
    if (rc < 0) return rc;
    char *folder;
    rc = wl_cap_state_user_dir(c->dir, &folder, c->a, e);
    if (rc < 0) return rc;
    c->journal.path = wl_journal_path(folder, &c->journal.holder, c->a);
    c->journal.owner = geteuid();
    c->journal.trusted = true;
    c->journal.opts = *c->context.opts;
    c->journal.power = *c->context.power;
    c->journal.v = wl_new_array(c->a, struct wl_journal_entry, c->controls.n);
    c->entries = wl_new_array(c->a, size_t, c->controls.n);
    for (size_t i = 0; i < c->controls.n; i++) {
        const struct wl_cap_setting *s = &c->settings[i];
        if (!is_journalled(c, i)) continue;
        c->entries[i] = c->journal.n;
        c->journal.v[c->journal.n++] = (struct wl_journal_entry) {
            .setter = s->setter, .device = s->device, .kind = s->kind, .found = s->found, .set = s->requested
        };
    }
    if (c->journal.n == 0) return 0;
    rc = wl_journal_write(&c->journal, e);
    if (rc < 0) return wl_err_prefix(e, "nothing was set");
    c->journal_written = true;
    return 0;
}

/* Compares the value read with the requested one; a locked clock can only be seen not to exceed it. */
static int verify_one(const struct wl_control *k, const struct wl_cap_setting *s, double *set, struct wl_err *e)
{
    double enforced, asked = s->requested;
    const char *unit = wl_cap_kind_unit(k->kind);
    int rc = wl_control_get(k, set, &enforced, e);
    if (rc < 0) return rc;
    if (k->write_only) {
        *set = enforced;
        if (isnan(enforced) || enforced <= asked || wl_cap_same(k->kind, enforced, asked)) return 0;
        return wl_fail(e, WL_EIO, "%s runs at %g %s, requested at most %g", k->device, enforced, unit, asked);
    }
    if (!wl_cap_same(k->kind, *set, asked))
        return wl_fail(e, WL_EIO, "%s reads %g %s, requested %g", k->device, *set, unit, asked);
    if (isnan(enforced) || enforced > asked || wl_cap_same(k->kind, enforced, asked)) return 0;
    return wl_fail(e, WL_EIO, "%s accepts %g %s but enforces %g: another limit is lower", k->device, asked, unit,
                   enforced);
}

/* A running clock takes a moment to decrease. */
static int wait_for_readback(struct wl_caps *c, size_t i, struct wl_err *e)
{
    enum { SETTLE_NS = WL_NS_PER_S, RETRY_US = 5000 };
    int64_t until_ns = wl_now_ns() + SETTLE_NS;
    for (;;) {
        int rc = verify_one(&c->controls.v[i], &c->settings[i], &c->settings[i].enforced, e);
        if (rc != WL_EIO || wl_now_ns() >= until_ns) return rc;
        usleep(RETRY_US);
    }
}

/* Limits from this control on were not set: restoring them would need the right that was missing. */
static void forget_unset(struct wl_caps *c, size_t from)
{
    c->journal.n = 0;
    for (size_t i = 0; i < from; i++) c->journal.n += is_journalled(c, i);
}

static int set_all(struct wl_caps *c, struct wl_err *e)
{
    int rc = 0;
    size_t i;
    for (i = 0; i < c->controls.n && rc == 0; i++) {
        if (is_held(c, i)) continue;
        rc = wl_control_set(&c->controls.v[i], c->settings[i].requested, e);
        if (rc == WL_EHUNG && c->journal_written) c->journal.v[c->entries[i]].set_pending = true;
    }
    if (rc < 0) forget_unset(c, rc == WL_EPERM ? i - 1 : i);
    for (i = 0; i < c->controls.n && rc == 0; i++)
        if (!is_held(c, i) && !c->controls.v[i].ops->watches) rc = wait_for_readback(c, i, e);
    return rc;
}

/* Uses an arena of its own: it may be called while that of the caps is being freed. */
static int restore_locked(struct wl_caps *c, struct wl_err *e)
{
    struct wl_restore_results rows = { 0 };
    struct wl_claims all = { 0 };
    struct wl_restore_options opts = { .opts = c->context.opts, .power = c->context.power, .reserved = true };
    struct wl_err none;
    if (!c->journal_written) return 0;
    struct wl_arena *a = wl_arena_new(NULL);
    bool seen = wl_claims_load(c->dir, c->context.opts->client, &all, a, &none) == 0;
    int rc = wl_journal_restore(&c->journal, seen ? &all : NULL, &opts, false, &rows, a, e);
    for (size_t i = 0; i < rows.n; i++)
        if (rows.v[i].state == WL_RESTORE_CHANGED_BY_OTHER)
            wl_log(WL_WARN, "cap", "%s: %s is %g %s now, set by somebody else: left unchanged", rows.v[i].device,
                   wl_cap_kind_name(rows.v[i].kind), rows.v[i].now, wl_cap_kind_unit(rows.v[i].kind));
    wl_arena_free(a);
    if (rc < 0) return wl_err_prefix(e, "not all caps are restored (wattlaw restore tries again)");
    c->journal_written = false;
    return 0;
}

static int set_locked(struct wl_caps *c, struct wl_err *e)
{
    int rc = check_free(c, e);
    if (rc == 0) rc = wl_claims_load(c->dir, c->context.opts->client, &c->claims, c->a, e);
    if (rc == 0) rc = probe_all(c, e);
    if (rc == 0) rc = write_journal(c, e);
    if (rc == 0 && c->journal_written) rc = wl_guard_start(&c->guard, c->program, c->journal.path, c->a, e);
    if (rc == 0) rc = set_all(c, e);
    if (rc == 0) return 0;
    struct wl_err back;
    if (restore_locked(c, &back) < 0) return wl_fail(e, rc, "%s; and %s", wl_strdup(c->a, e->msg), back.msg);
    return rc;
}

/* What could not be restored stays in the journal, and the guard tries again when this process has ended. */
static void release_guard(struct wl_caps *c)
{
    if (c->journal_written)
        wl_guard_detach(&c->guard);
    else
        wl_guard_dismiss(&c->guard);
    c->journal_written = false;
}

/* ---- held by another process ---- */

/* That process takes the lock of the state folder: it must be free. */
static int hold_all(struct wl_caps *c, struct wl_err *e)
{
    struct wl_cap_setting **held = wl_new_array(c->a, struct wl_cap_setting *, c->controls.n);
    const struct wl_setter_ops *ops = NULL;
    size_t n = 0;
    for (size_t i = 0; i < c->controls.n; i++) {
        if (!is_held(c, i)) continue;
        ops = c->controls.v[i].ops;
        held[n++] = &c->settings[i];
    }
    int rc = ops ? ops->hold(&c->hold, c->context.opts, held, n, c->a, e) : 0;
    for (size_t i = 0; i < c->controls.n && rc == 0; i++)
        if (is_held(c, i)) rc = wait_for_readback(c, i, e);
    return rc;
}

/* Does each limit have its value from before? One that somebody else has set meanwhile is left unchanged. */
static int check_released(const struct wl_caps *c, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < c->controls.n && rc == 0; i++) {
        const struct wl_control *k = &c->controls.v[i];
        const struct wl_cap_setting *s = &c->settings[i];
        double set = NAN, enforced;
        if (!is_held(c, i) || k->write_only) continue;
        rc = wl_control_get(k, &set, &enforced, e);
        if (rc == 0 && wl_cap_same(k->kind, set, s->requested) && !wl_cap_same(k->kind, set, s->found))
            rc = wl_fail(e, WL_EIO, "%s still reads %g %s, not the %g that was found", k->device, set,
                         wl_cap_kind_unit(k->kind), s->found);
    }
    return rc;
}

static int release_hold(struct wl_caps *c, struct wl_err *e)
{
    struct wl_hold *h = c->hold;
    c->hold = NULL;
    if (!h) return 0;
    for (size_t i = 0; i < c->controls.n; i++) {
        if (!is_held(c, i)) continue;
        int rc = c->controls.v[i].ops->release(h, e);
        return rc < 0 ? rc : check_released(c, e);
    }
    return 0;
}

static void keep_hold(struct wl_caps *c)
{
    struct wl_err e;
    for (size_t i = 0; i < c->controls.n && c->hold; i++) {
        if (!is_held(c, i)) continue;
        if (c->controls.v[i].ops->keep(c->hold, &e) < 0 && !c->warned) {
            wl_log(WL_WARN, "cap", "%s", e.msg);
            c->warned = true;
        }
        return;
    }
}

/* Nothing stays set if the other process refuses. */
static int hold_or_release(struct wl_caps *c, struct wl_err *e)
{
    struct wl_err back;
    int rc = hold_all(c, e);
    if (rc == 0 || wl_caps_release(c, &back) == 0) return rc;
    return wl_fail(e, rc, "%s; and %s", wl_strdup(c->a, e->msg), back.msg);
}

static void release(void *what)
{
    struct wl_err e;
    if (wl_caps_release(what, &e) < 0) wl_log(WL_ERROR, "cap", "%s", e.msg);
}

static struct wl_caps *caps_new(const struct wl_cap_request *request, const struct wl_cap_opts *opts,
                                const struct wl_power_opts *power, struct wl_arena *a)
{
    struct wl_caps *c = wl_new(a, struct wl_caps);
    struct wl_cap_request *kept = wl_new(a, struct wl_cap_request);
    *kept = *request;
    c->a = a;
    c->request = kept;
    c->context = (struct wl_setter_context) { .opts = opts, .power = power, .all = opts->client != NULL, .a = a };
    c->dir = wl_cap_state_dir(opts, a);
    c->program = opts->program;
    return c;
}

int wl_caps_plan(struct wl_caps **out, const struct wl_cap_request *request, const struct wl_cap_opts *opts,
                 const struct wl_power_opts *power, struct wl_arena *a, struct wl_err *e)
{
    *out = caps_new(request, opts, power, a);
    int rc = open_all(*out, e);
    return rc ? rc : probe_all(*out, e);
}

int wl_caps_set(struct wl_caps **out, const struct wl_cap_request *request, const struct wl_cap_opts *opts,
                const struct wl_power_opts *power, struct wl_arena *a, struct wl_err *e)
{
    struct wl_caps *c = *out = caps_new(request, opts, power, a);
    int rc = open_all(c, e);
    if (rc < 0) return rc;
    rc = wl_cap_state_make(c->dir, e);
    int lock = rc < 0 ? rc : wl_cap_state_lock(c->dir, wl_cap_wait_s(opts), e);
    if (lock < 0) return lock;
    wl_defer(a, release, c);
    rc = set_locked(c, e);
    close(lock);
    if (rc < 0) release_guard(c);
    return rc < 0 ? rc : hold_or_release(c, e);
}

/* ---- while it is set, and the end ---- */

const struct wl_cap_setting *wl_caps_settings(const struct wl_caps *c, size_t *n)
{
    *n = c->controls.n;
    return c->settings;
}

static char *amount(double v, enum wl_cap_kind kind, const char *missing, struct wl_arena *a)
{
    return isnan(v) ? wl_strdup(a, missing) : wl_strf(a, "%.6g %s", v, wl_cap_kind_unit(kind));
}

char *wl_cap_describe(const struct wl_cap_setting *s, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_addf(&t, "%s (%s): %s %s asked", s->device, s->name, wl_cap_kind_name(s->kind),
                 amount(s->requested, s->kind, "nothing", a));
    if (!isnan(s->enforced)) wl_text_addf(&t, ", %s enforced", amount(s->enforced, s->kind, "-", a));
    wl_text_addf(&t, ", %s found", amount(s->found, s->kind, wl_cap_is_power(s->kind) ? "no value" : "no lock", a));
    const char *range = wl_cap_range_text(&s->range, s->kind, a);
    if (range) wl_text_addf(&t, " (takes %s)", range);
    if (!isnan(s->at_end)) wl_text_addf(&t, ", %s at the end", amount(s->at_end, s->kind, "-", a));
    wl_text_addf(&t, ", by %s%s", s->setter, s->simulated ? " (simulated)" : "");
    return t.s;
}

/* The journal was removed: if this process were killed now, its caps would stay unnoticed. */
static void rewrite_journal(struct wl_caps *c)
{
    struct wl_err e;
    int rc = wl_mkdirs(wl_path_dir(c->a, c->journal.path), &e);
    if (rc == 0) rc = wl_journal_write(&c->journal, &e);
    if (rc == 0)
        wl_log(WL_WARN, "cap", "%s was removed while caps are set; written again", c->journal.path);
    else if (!c->warned)
        wl_log(WL_WARN, "cap", "%s: caps are restored at the end, or by their guard", e.msg);
    c->warned |= rc < 0;
}

void wl_caps_poll(struct wl_caps *c)
{
    struct wl_err e;
    keep_hold(c);
    wl_cap_watch_poll(&c->watch, &c->controls, c->settings);
    if (!c->journal_written) return;
    if (access(c->journal.path, F_OK)) rewrite_journal(c);
    if (wl_guard_is_alive(&c->guard)) return;
    bool first = !c->warned;
    c->warned = true;
    if (first) wl_log(WL_WARN, "cap", "the guard of the caps was killed; starting another one");
    if (wl_guard_start(&c->guard, c->program, c->journal.path, c->a, &e) < 0 && first)
        wl_log(WL_WARN, "cap", "%s: caps are restored at the end, or by wattlaw restore", e.msg);
}

const char *wl_caps_check(struct wl_caps *c)
{
    const char *why = wl_cap_watch_failure(&c->controls, c->settings, c->a);
    for (size_t i = 0; i < c->controls.n; i++) {
        struct wl_err e;
        if (c->controls.v[i].ops->watches) continue; /* what was set for the job ends with it */
        if (verify_one(&c->controls.v[i], &c->settings[i], &c->settings[i].at_end, &e) < 0 && !why)
            why = wl_strf(c->a, "a cap changed during the run: %s", e.msg);
    }
    return why;
}

/* Our devices are reserved, so nobody else sets them: a lock that is not released does not keep caps in place. */
int wl_caps_release(struct wl_caps *c, struct wl_err *e)
{
    int rc = release_hold(c, e);
    if (c->journal_written) {
        struct wl_err held, why;
        int lock = wl_cap_state_lock(c->dir, wl_cap_wait_s(c->context.opts), &held);
        if (lock == WL_EHUNG) wl_log(WL_WARN, "cap", "%s; caps are restored without the lock", held.msg);
        int restored = restore_locked(c, &why);
        if (rc == 0 && restored < 0) rc = wl_fail(e, restored, "%s", why.msg);
        if (lock >= 0) close(lock);
    }
    release_guard(c);
    return rc;
}
