/* Restores what dead processes left. */
#include "cap/restore.h"

#include "cap/control.h"
#include "cap/safe_file.h"
#include "cap/state_dir.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

const char *const wl_restore_state_names[] = {
    [WL_RESTORE_DONE] = "restored",   [WL_RESTORE_NOT_NEEDED] = "unset", [WL_RESTORE_CHANGED_BY_OTHER] = "theirs",
    [WL_RESTORE_FAILED] = "failed",   [WL_RESTORE_HELD] = "held",        [WL_RESTORE_HANDED_OVER] = "handed",
    [WL_RESTORE_BAD_JOURNAL] = "bad",
};

/* ---- finding a device ---- */

/* A setter's controls of one kind. `hung`: [controls.n] a call to this device has timed out: it is not called again. */
struct opened {
    const struct wl_setter_ops *ops; /* NULL: the machine's own */
    enum wl_cap_kind kind;
    struct wl_controls controls;
    bool *hung;
    int rc;
    struct wl_err why;
};

/* Open setters: for one journal of this user, with its options, or for the journals of all other users, with root's. */
struct wl_restore_setters {
    struct wl_setter_context context;
    struct wl_cap_opts opts;
    struct wl_power_opts power;
    struct opened *v;
    size_t n, cap;
};

static void setters_init(struct wl_restore_setters *r, const struct wl_cap_opts *opts,
                         const struct wl_power_opts *power, struct wl_arena *a)
{
    static const char driver[] = "libnvidia-ml.so.1"; /* found by the loader alone, not by $NVML_LIBRARY */
    *r = (struct wl_restore_setters) { .opts = *opts };
    if (power) r->power = *power;
    if (!r->power.root) r->power.root = "";
    if (geteuid() == 0 && !r->power.nvml_library) r->power.nvml_library = driver;
    r->context = (struct wl_setter_context) { .opts = &r->opts, .power = &r->power, .all = true, .a = a };
}

static struct opened *open_setter(struct wl_restore_setters *r, const struct wl_setter_ops *ops, enum wl_cap_kind kind)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].ops == ops && r->v[i].kind == kind) return &r->v[i];
    WL_GROW(r->context.a, r->v, r->n, r->cap);
    struct opened *o = &r->v[r->n++];
    const char *fix = NULL;
    *o = (struct opened) { .ops = ops, .kind = kind };
    o->rc = wl_controls_open(&r->context, ops, kind, &o->controls, &fix, &o->why);
    o->hung = wl_new_array(r->context.a, bool, o->controls.n);
    return o;
}

static const struct wl_control *find_control(struct wl_restore_setters *r, const struct wl_setter_ops *ops,
                                             const struct wl_journal_entry *entry, bool **hung, struct wl_err *e)
{
    struct opened *o = open_setter(r, ops, entry->kind);
    for (size_t i = 0; i < o->controls.n; i++) {
        if (!wl_str_eq(o->controls.v[i].device, entry->device)) continue;
        *hung = &o->hung[i];
        return &o->controls.v[i];
    }
    if (o->rc < 0)
        wl_fail(e, o->rc, "%s", o->why.msg);
    else
        wl_fail(e, WL_ENOENT, "%s: no such device", entry->device);
    return NULL;
}

/* ---- one value ---- */

struct restoring {
    const struct wl_journal *j;
    const struct wl_claims *all;
    const struct wl_restore_options *opts;
    struct wl_restore_setters *setters;
    bool rebooted;
    struct wl_arena *a; /* of the results */
};

/* Has somebody else set the value? It is then neither ours nor the found one. After a reboot it is also not the
 * default; if that is not known (RAPL, whose firmware sets it), any value may come from the reboot. */
static bool changed_by_other(const struct restoring *w, const struct wl_control *k,
                             const struct wl_journal_entry *entry, double now)
{
    if (k->write_only || w->opts->force) return false;
    if (wl_cap_same(k->kind, now, entry->set) || wl_cap_same(k->kind, now, entry->found)) return false;
    return !w->rebooted || (!isnan(k->default_value) && !wl_cap_same(k->kind, now, k->default_value));
}

/* Locked clocks do not survive a reboot; a later lock is not ours. A readable value must equal the found one exactly: a
 * similar one may be the cap. */
static bool has_found_value(const struct restoring *w, const struct wl_control *k, const struct wl_journal_entry *entry,
                            double now)
{
    static const double EXACT = 1e-6;
    return k->write_only ? w->rebooted : fabs(now - entry->found) <= EXACT;
}

static const char *name_of(const struct wl_claim *c, struct wl_arena *a)
{
    return wl_strf(a, "process %lld of user %u", (long long)c->j.holder.pid, (unsigned)c->j.owner);
}

/* May this cap be restored (DONE) although another holder claims the device? If that holder's value is read and ours is
 * not, it has set its own cap over ours, which cannot be faked: a live one that found what we found restores it at its
 * end; the cap of a dead one has to be undone first. A live holder whose cap is indistinguishable from ours is
 * respected too, unless we have reserved the device. */
static enum wl_restore_state conflict_with(const struct restoring *w, const struct wl_control *k,
                                           const struct wl_journal_entry *entry, const struct wl_claim *c,
                                           const struct wl_journal_entry *other, double now)
{
    bool enforced = !k->write_only && wl_cap_same(k->kind, now, other->set);
    bool over = enforced && !wl_cap_same(k->kind, now, entry->set);
    bool newer = c->j.holder.started >= w->j->holder.started;
    if (w->opts->force && c->holder_state != WL_HOLDER_ALIVE) return WL_RESTORE_DONE;
    if (over && wl_claim_may_be_alive(c))
        return wl_cap_same(k->kind, other->found, entry->found) ? WL_RESTORE_HANDED_OVER : WL_RESTORE_HELD;
    if (over && newer && c->holder_state == WL_HOLDER_DEAD) return WL_RESTORE_HELD;
    bool unverifiable = w->opts->reserved || c->holder_state != WL_HOLDER_ALIVE || !(enforced || k->write_only);
    return unverifiable ? WL_RESTORE_DONE : WL_RESTORE_HELD;
}

static bool held_by_other(const struct restoring *w, const struct wl_control *k, const struct wl_journal_entry *entry,
                          struct wl_restore_result *row)
{
    const struct wl_journal_entry *other;
    for (size_t i = 0; (other = wl_claims_next(w->all, w->j, entry, &i)); i++) {
        const struct wl_claim *c = &w->all->v[i];
        enum wl_restore_state state = conflict_with(w, k, entry, c, other, row->now);
        if (state == WL_RESTORE_DONE) continue;
        const char *why = state == WL_RESTORE_HANDED_OVER ? "holds the device now and will restore it"
                          : wl_claim_may_be_alive(c)      ? "holds the device now and has to end first"
                                                     : "has set another value since, which has to be restored first";
        row->state = state;
        row->why = wl_strf(w->a, "%s %s", name_of(c, w->a), why);
        return true;
    }
    return false;
}

/* The value to restore: what the first holder found. The cap service has looked for it when it set the cap, and takes
 * nothing from other users' journals. */
static double original(const struct restoring *w, const struct wl_control *k, const struct wl_journal_entry *entry)
{
    const struct wl_claim *whose;
    if (w->j->opts.client || (!w->j->trusted && w->j->owner != geteuid())) return entry->found;
    return wl_claims_original(w->all, w->j, entry, k, &whose);
}

static int set_found(const struct restoring *w, const struct wl_control *k, struct wl_restore_result *row,
                     struct wl_err *e)
{
    double enforced;
    row->state = WL_RESTORE_DONE;
    if (w->opts->dry_run) return 0;
    int rc = wl_control_restore(k, row->found, e);
    if (rc == 0) rc = wl_control_get(k, &row->now, &enforced, e);
    if (rc < 0 || k->write_only || wl_cap_same(k->kind, row->now, row->found)) return rc;
    return wl_fail(e, WL_EIO, "%s: restored %g %s but %g is read", k->device, row->found, wl_cap_kind_unit(k->kind),
                   row->now);
}

static int restore_control(const struct restoring *w, const struct wl_control *k, const struct wl_journal_entry *entry,
                           struct wl_restore_result *row, struct wl_err *e)
{
    double enforced;
    if (entry->set_pending)
        return wl_fail(e, WL_EHUNG, "%s: the call that sets %s has not returned and may still take effect", k->device,
                       wl_cap_kind_name(k->kind));
    int rc = wl_control_get(k, &row->now, &enforced, e);
    if (rc < 0) return rc;
    row->state = WL_RESTORE_NOT_NEEDED;
    if (has_found_value(w, k, entry, row->now)) return 0;
    if (held_by_other(w, k, entry, row)) return 0;
    row->state = WL_RESTORE_CHANGED_BY_OTHER;
    if (changed_by_other(w, k, entry, row->now)) return 0;
    row->found = original(w, k, entry);
    const char *doubt =
        w->j->owner == geteuid() ? NULL : wl_journal_entry_refusal(entry, k, row->now, w->opts->force, w->a);
    if (doubt) return wl_fail(e, WL_EPERM, "%s: %s", k->device, doubt);
    if (isnan(row->found) && !k->write_only)
        return wl_fail(e, WL_EINVAL, "%s: the journal has no found value to restore", k->device);
    return set_found(w, k, row, e);
}

/* A command in another user's journal is not run: the machine's own drivers are used. */
static int restore_entry(struct restoring *w, const struct wl_journal_entry *entry, struct wl_restore_result *row,
                         struct wl_err *e)
{
    const struct wl_setter_ops *ops = wl_setter_find(entry->setter);
    bool *hung;
    if (!w->j->trusted && ops == &wl_setter_command) ops = NULL;
    const struct wl_control *k = find_control(w->setters, ops, entry, &hung, e);
    if (!k) return e->code;
    if (*hung) return wl_fail(e, WL_EHUNG, "%s: the driver timed out before and is not called again", k->device);
    int rc = restore_control(w, k, entry, row, e);
    *hung = rc == WL_EHUNG && !entry->set_pending;
    return rc;
}

/* ---- one journal ---- */

static void add_row(struct wl_restore_results *out, const struct wl_restore_result *row, struct wl_arena *a)
{
    WL_GROW(a, out->v, out->n, out->cap);
    out->v[out->n++] = *row;
}

static struct wl_restore_result row_of(const struct wl_journal *j, const struct wl_journal_entry *entry, bool rebooted,
                                       struct wl_arena *a)
{
    return (struct wl_restore_result) { .journal = wl_printable_ascii(j->path, a),
                                        .pid = j->holder.pid,
                                        .user = (int64_t)j->owner,
                                        .rebooted = rebooted,
                                        .device = entry->device,
                                        .setter = entry->setter,
                                        .kind = entry->kind,
                                        .found = entry->found,
                                        .set = entry->set,
                                        .now = NAN };
}

static bool is_pending(const struct wl_restore_result *row)
{
    return row->state == WL_RESTORE_FAILED || row->state == WL_RESTORE_HELD;
}

/* Removes finished entries from the journal: a later lock of somebody else must not be undone by another attempt.
 * Another user's journal is not rewritten: only that user writes to the folder. `first`: index of the journal's first
 * row. */
static int update_journal(const struct wl_journal *j, const struct wl_restore_results *rows, size_t first,
                          struct wl_arena *a, struct wl_err *e)
{
    struct wl_journal left = *j;
    left.v = wl_new_array(a, struct wl_journal_entry, j->n);
    left.n = 0;
    for (size_t i = 0; i < j->n; i++)
        if (is_pending(&rows->v[first + i])) left.v[left.n++] = j->v[i];
    if (left.n == 0) return wl_journal_remove(j, e);
    return left.n < j->n && j->owner == geteuid() ? wl_journal_write(&left, e) : 0;
}

int wl_journal_restore(const struct wl_journal *j, const struct wl_claims *all, const struct wl_restore_options *opts,
                       bool rebooted, struct wl_restore_results *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_restore_setters own;
    struct restoring w = { .j = j, .all = all, .opts = opts, .setters = opts->setters, .rebooted = rebooted, .a = a };
    struct wl_arena *opened = wl_arena_new(a);
    int failed = 0;
    struct wl_err first;
    size_t before = out->n;
    if (j->trusted || !w.setters) {
        setters_init(&own, j->trusted ? &j->opts : opts->opts, j->trusted ? &j->power : opts->power, opened);
        w.setters = &own;
    }
    for (size_t i = 0; i < j->n; i++) {
        struct wl_restore_result row = row_of(j, &j->v[i], rebooted, a);
        int rc = restore_entry(&w, &j->v[i], &row, e);
        if (rc < 0) {
            row.state = WL_RESTORE_FAILED;
            row.why = wl_printable_ascii(e->msg, a);
            row.blocks = j->owner == geteuid();
            if (!failed || rc == WL_EHUNG) first = *e;
            failed = first.code;
        }
        add_row(out, &row, a);
    }
    wl_arena_free(opened);
    if (!opts->dry_run && update_journal(j, out, before, a, e) < 0) return e->code;
    return failed ? wl_fail(e, failed, "%s", first.msg) : 0;
}

/* ---- all of them ---- */

/* The same result for all entries of a journal. */
static void add_rows(const struct wl_claim *c, enum wl_restore_state state, const char *why,
                     struct wl_restore_results *out, struct wl_arena *a)
{
    bool ours = c->j.owner == geteuid();
    for (size_t i = 0; i < c->j.n; i++) {
        struct wl_restore_result row = row_of(&c->j, &c->j.v[i], false, a);
        row.state = state;
        row.why = why;
        row.other_host = c->holder_state == WL_HOLDER_OTHER_HOST;
        row.blocks = c->holder_state == WL_HOLDER_ALIVE || ours;
        add_row(out, &row, a);
    }
}

/* Why this user cannot restore the claim; NULL: it can. Root uses drivers and options of its own. */
static const char *not_ours(const struct wl_claim *c, struct wl_arena *a)
{
    if (c->j.owner == geteuid() || geteuid() == 0) return NULL;
    return wl_strf(a, "%s: belongs to user %u; that user or root must run wattlaw restore",
                   wl_printable_ascii(c->j.path, a), (unsigned)c->j.owner);
}

static void restore_claim(struct wl_claim *c, const struct wl_claims *all, const struct wl_restore_options *opts,
                          struct wl_restore_results *out, struct wl_arena *a)
{
    struct wl_err failed; /* the results have it */
    size_t before = out->n;
    bool is_dead = c->holder_state == WL_HOLDER_DEAD || c->holder_state == WL_HOLDER_REBOOTED;
    const char *foreign = not_ours(c, a);
    if (c->holder_state == WL_HOLDER_ALIVE || (!is_dead && !opts->force))
        add_rows(c, WL_RESTORE_HELD, c->why, out, a);
    else if (foreign)
        add_rows(c, WL_RESTORE_FAILED, foreign, out, a);
    else if (wl_journal_restore(&c->j, all, opts, c->holder_state == WL_HOLDER_REBOOTED, out, a, &failed) < 0)
        wl_log(WL_DEBUG, "cap", "%s", failed.msg);
    c->settled = true;
    for (size_t i = before; i < out->n; i++) c->settled &= !is_pending(&out->v[i]);
}

int wl_restore_locked(const char *dir, const struct wl_restore_options *opts, struct wl_restore_results *out,
                      struct wl_arena *a, struct wl_err *e)
{
    struct wl_claims all;
    struct wl_restore_setters others;
    struct wl_restore_options shared = *opts;
    int rc = wl_claims_load(dir, opts->opts->client, &all, a, e);
    if (rc < 0) return rc;
    for (size_t i = 0; i < all.n_bad; i++) add_row(out, &all.bad[i], a);
    struct wl_arena *opened = wl_arena_new(a);
    setters_init(&others, opts->opts, opts->power, opened);
    shared.setters = &others;
    for (size_t i = 0; i < all.n; i++) restore_claim(&all.v[i], &all, &shared, out, a);
    wl_arena_free(opened);
    return 0;
}

/* A process that holds the lock for too long delays this but cannot prevent it: live holders are respected anyway. */
static int restore_dir(const char *dir, const struct wl_restore_options *opts, struct wl_restore_results *out,
                       struct wl_arena *a, struct wl_err *e)
{
    struct wl_err held;
    int lock = wl_cap_state_lock(dir, wl_cap_wait_s(opts->opts), &held);
    if (lock == WL_EHUNG) wl_log(WL_WARN, "cap", "%s; continuing without the lock", held.msg);
    int rc = wl_restore_locked(dir, opts, out, a, e);
    if (lock >= 0) close(lock);
    return rc;
}

int wl_cap_restore(const struct wl_cap_opts *opts, const struct wl_power_opts *power, struct wl_cap_restore_flags flags,
                   struct wl_restore_results *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_restore_options restore = {
        .opts = opts, .power = power, .dry_run = flags.dry_run, .force = flags.force
    };
    struct wl_strs dirs = { 0 };
    int rc = 0;
    *out = (struct wl_restore_results) { 0 };
    wl_cap_state_dirs(opts, &dirs, a);
    for (size_t i = 0; i < dirs.n && rc == 0; i++) {
        if (wl_is_dir(dirs.v[i]))
            rc = restore_dir(dirs.v[i], &restore, out, a, e);
        else if (dirs.n == 1)
            rc = wl_fail(e, WL_ENOENT,
                         "%s: no such folder: either no run has set caps with it since the machine started, or it was "
                         "removed and caps may be left",
                         dirs.v[i]);
    }
    return rc;
}
