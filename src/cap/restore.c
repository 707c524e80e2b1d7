/* Putting back what dead processes left. */
#include "cap/internal.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

const char *const wl_left_state_names[] = {
    [WL_LEFT_RESTORED] = "restored", [WL_LEFT_UNSET] = "unset", [WL_LEFT_THEIRS] = "theirs",
    [WL_LEFT_FAILED] = "failed",     [WL_LEFT_HELD] = "held",
};

/* The knob of an entry; its setter's knobs of this kind are opened once for a journal and setter. */
struct opened {
    const char *setter;
    enum wl_cap_kind kind;
    struct wl_knobs knobs;
    int rc;
    struct wl_err why;
};

struct work {
    const struct wl_journal *j;
    struct wl_setting_place place;
    struct opened *v;
    size_t n, cap;
    bool rebooted, dry_run, force;
};

static struct opened *open_setter(struct work *w, const struct wl_entry *entry)
{
    for (size_t i = 0; i < w->n; i++)
        if (wl_streq(w->v[i].setter, entry->setter) && w->v[i].kind == entry->kind) return &w->v[i];
    WL_GROW(w->place.a, w->v, w->n, w->cap);
    struct opened *o = &w->v[w->n++];
    const char *fix = NULL;
    *o = (struct opened) { .setter = entry->setter, .kind = entry->kind };
    o->rc = wl_knobs_open(&w->place, wl_setter_find(entry->setter), entry->kind, &o->knobs, &fix, &o->why);
    return o;
}

static const struct wl_knob *find_knob(struct work *w, const struct wl_entry *entry, struct wl_err *e)
{
    struct opened *o = open_setter(w, entry);
    for (size_t i = 0; i < o->knobs.n; i++)
        if (wl_streq(o->knobs.v[i].device, entry->device)) return &o->knobs.v[i];
    if (o->rc < 0)
        wl_fail(e, o->rc, "%s", o->why.msg);
    else
        wl_fail(e, WL_ENOENT, "%s: there is no such device now", entry->device);
    return NULL;
}

/* Somebody else's value is neither ours nor what was found. After a reboot the default is nobody's, and where the default
 * is not known (RAPL, whose firmware sets it) neither is any other value. */
static bool is_theirs(const struct work *w, const struct wl_knob *k, const struct wl_entry *entry, double now)
{
    if (k->blind || w->force) return false;
    if (wl_cap_same(k->kind, now, entry->set) || wl_cap_same(k->kind, now, entry->found)) return false;
    return !w->rebooted || (!isnan(k->standard) && !wl_cap_same(k->kind, now, k->standard));
}

/* Locked clocks are gone with a reboot; what has been locked since is not ours. A readable value must be the found one
 * itself: one that is near it may be the cap. */
static bool has_found_value(const struct work *w, const struct wl_knob *k, const struct wl_entry *entry, double now)
{
    static const double EXACT = 1e-6;
    return k->blind ? w->rebooted : fabs(now - entry->found) <= EXACT;
}

static int put_back(const struct work *w, const struct wl_knob *k, const struct wl_entry *entry, struct wl_left *row,
                    struct wl_err *e)
{
    double acts;
    if (entry->stuck)
        return wl_fail(e, WL_EHUNG, "%s: the call that sets %s has not come back and may still act", k->device,
                       wl_cap_kind_name(k->kind));
    int rc = wl_knob_get(k, &row->now, &acts, e);
    if (rc < 0) return rc;
    row->state = WL_LEFT_UNSET;
    if (has_found_value(w, k, entry, row->now)) return 0;
    row->state = WL_LEFT_THEIRS;
    if (is_theirs(w, k, entry, row->now)) return 0;
    if (isnan(entry->found) && !k->blind)
        return wl_fail(e, WL_EINVAL, "%s: the journal has no found value to put back", k->device);
    row->state = WL_LEFT_RESTORED;
    if (w->dry_run) return 0;
    rc = wl_knob_restore(k, entry->found, e);
    if (rc == 0) rc = wl_knob_get(k, &row->now, &acts, e);
    if (rc < 0 || k->blind || wl_cap_same(k->kind, row->now, entry->found)) return rc;
    return wl_fail(e, WL_EIO, "%s: %g %s was put back and %g is read", k->device, entry->found,
                   wl_cap_kind_unit(k->kind), row->now);
}

static void add_row(struct wl_lefts *out, const struct wl_left *row, struct wl_arena *a)
{
    WL_GROW(a, out->v, out->n, out->cap);
    out->v[out->n++] = *row;
}

static struct wl_left row_of(const struct wl_journal *j, const struct wl_entry *entry, bool rebooted)
{
    return (struct wl_left) { .journal = j->path,
                              .pid = j->holder.pid,
                              .rebooted = rebooted,
                              .device = entry->device,
                              .setter = entry->setter,
                              .kind = entry->kind,
                              .found = entry->found,
                              .set = entry->set,
                              .now = NAN };
}

/* What was dealt with goes: a lock that somebody sets later must not be undone by another try. */
static int keep_failed(const struct wl_journal *j, const struct wl_left *rows, struct wl_arena *a, struct wl_err *e)
{
    struct wl_journal left = *j;
    left.v = wl_new_array(a, struct wl_entry, j->n);
    left.n = 0;
    for (size_t i = 0; i < j->n; i++)
        if (rows[i].state == WL_LEFT_FAILED) left.v[left.n++] = j->v[i];
    return left.n < j->n ? wl_journal_write(&left, e) : 0;
}

int wl_journal_restore(const struct wl_journal *j, bool rebooted, bool dry_run, bool force, struct wl_lefts *out,
                       struct wl_arena *a, struct wl_err *e)
{
    struct work w = { .j = j,
                      .place = { .opts = &j->opts, .power = &j->power, .all = true, .a = wl_arena_new(a) },
                      .rebooted = rebooted,
                      .dry_run = dry_run,
                      .force = force };
    int failed = 0;
    struct wl_err first;
    size_t before = out->n;
    for (size_t i = 0; i < j->n; i++) {
        struct wl_left row = row_of(j, &j->v[i], rebooted);
        const struct wl_knob *k = find_knob(&w, &j->v[i], e);
        int rc = k ? put_back(&w, k, &j->v[i], &row, e) : e->code;
        if (rc < 0) {
            row.state = WL_LEFT_FAILED;
            row.why = wl_strdup(a, e->msg);
            if (!failed || rc == WL_EHUNG) first = *e;
            failed = first.code;
        }
        add_row(out, &row, a);
    }
    wl_arena_free(w.place.a);
    if (failed && !dry_run && keep_failed(j, out->v + before, a, e) < 0) return e->code;
    if (failed) return wl_fail(e, failed, "%s", first.msg);
    return dry_run ? 0 : wl_journal_remove(j->path, e);
}

/* All of a journal stays as it is. */
static void add_rows(const struct wl_journal *j, enum wl_left_state state, const char *why, bool other_host,
                     struct wl_lefts *out, struct wl_arena *a)
{
    for (size_t i = 0; i < j->n; i++) {
        struct wl_left row = row_of(j, &j->v[i], false);
        row.state = state;
        row.why = why;
        row.other_host = other_host;
        add_row(out, &row, a);
    }
}

int wl_restore_locked(const char *dir, bool dry_run, bool force, struct wl_lefts *out, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_strs paths;
    int rc = wl_journal_list(dir, &paths, a, e);
    for (size_t i = 0; i < paths.n && rc == 0; i++) {
        struct wl_journal j;
        const char *why;
        rc = wl_journal_read(paths.v[i], &j, a, e);
        if (rc < 0) return rc;
        enum wl_life life = wl_holder_life(&j.holder, &why, a);
        struct wl_err failed; /* stands in the rows */
        if (life == WL_LIFE_ALIVE || (life != WL_LIFE_DEAD && life != WL_LIFE_REBOOTED && !force))
            add_rows(&j, WL_LEFT_HELD, why, life == WL_LIFE_OTHER_HOST, out, a);
        else if (wl_journal_check_owner(j.path, &failed) < 0)
            add_rows(&j, WL_LEFT_FAILED, wl_strdup(a, failed.msg), false, out, a);
        else if (wl_journal_restore(&j, life == WL_LIFE_REBOOTED, dry_run, force, out, a, &failed) < 0)
            wl_log(WL_DEBUG, "cap", "%s", failed.msg);
    }
    return rc;
}

int wl_cap_restore(const struct wl_cap_opts *opts, bool dry_run, bool force, struct wl_lefts *out, struct wl_arena *a,
                   struct wl_err *e)
{
    const char *dir = wl_cap_state_dir(opts, a);
    *out = (struct wl_lefts) { 0 };
    if (!wl_is_dir(dir)) return 0;
    int lock = wl_state_lock(dir, e);
    if (lock < 0) return lock;
    int rc = wl_restore_locked(dir, dry_run, force, out, a, e);
    close(lock);
    return rc;
}
