#include "cap/claims.h"

#include "cap/safe_file.h"
#include "cap/state_dir.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits per other user: each cap is compared with all others, so that the time grows with the square. */
enum { MAX_JOURNALS = 100, MAX_CAPS = 4096 };

static void add_bad(struct wl_claims *all, const char *path, const char *why, uid_t owner, struct wl_arena *a)
{
    WL_GROW(a, all->bad, all->n_bad, all->bad_cap);
    all->bad[all->n_bad++] = (struct wl_restore_result) { .state = WL_RESTORE_BAD_JOURNAL,
                                                          .journal = wl_printable_ascii(path, a),
                                                          .user = owner == (uid_t)-1 ? -1 : (int64_t)owner,
                                                          .found = NAN,
                                                          .set = NAN,
                                                          .now = NAN,
                                                          .why = wl_printable_ascii(why, a) };
}

static int newest_first(const void *x, const void *y)
{
    const struct wl_claim *p = x, *q = y;
    return (p->j.holder.started < q->j.holder.started) - (p->j.holder.started > q->j.holder.started);
}

/* How much has been read of a user. */
struct quota {
    uid_t user;
    size_t journals, caps;
    bool reported;
};

struct quotas {
    struct quota *v;
    size_t n, cap;
};

static struct quota *quota_of(struct quotas *all, uid_t user, struct wl_arena *a)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i].user == user) return &all->v[i];
    WL_GROW(a, all->v, all->n, all->cap);
    all->v[all->n] = (struct quota) { .user = user };
    return &all->v[all->n++];
}

/* A user with many journals cannot delay others: the rest of them is skipped unread, with one message. */
static bool exceeds_quota(const char *path, struct quotas *quotas, struct wl_claims *out, struct wl_arena *a)
{
    struct stat st;
    if (lstat(path, &st) || st.st_uid == geteuid()) return false;
    struct quota *s = quota_of(quotas, st.st_uid, a);
    if (s->journals < MAX_JOURNALS && s->caps < MAX_CAPS) {
        s->journals++;
        return false;
    }
    if (!s->reported)
        add_bad(out, path,
                wl_strf(a,
                        "%s: this and later journals of user %u are ignored: expected at most %d journals with %d caps",
                        path, (unsigned)st.st_uid, MAX_JOURNALS, MAX_CAPS),
                st.st_uid, a);
    s->reported = true;
    return true;
}

static void load_one(const char *path, const struct wl_cap_client *client, struct quotas *quotas, struct wl_claims *out,
                     struct wl_arena *a)
{
    struct wl_claim c = { .j.owner = (uid_t)-1 };
    struct wl_err bad;
    int rc = wl_journal_read(path, &c.j, a, &bad);
    if (rc == WL_ENOENT) return; /* removed meanwhile */
    if (rc < 0) {
        add_bad(out, path, bad.msg, c.j.owner, a);
        return;
    }
    if (c.j.owner != geteuid()) quota_of(quotas, c.j.owner, a)->caps += c.j.n;
    c.holder_state = wl_holder_state_of(&c.j.holder, c.j.owner, &c.why, a);
    if (client && c.j.owner != geteuid() && !wl_claim_may_be_alive(&c)) return;
    WL_GROW(a, out->v, out->n, out->cap);
    out->v[out->n++] = c;
}

int wl_claims_load(const char *dir, const struct wl_cap_client *client, struct wl_claims *out, struct wl_arena *a,
                   struct wl_err *e)
{
    struct wl_strs paths, why;
    struct quotas quotas = { 0 };
    *out = (struct wl_claims) { 0 };
    int rc = wl_cap_state_files(dir, WL_JOURNAL_SUFFIX, MAX_JOURNALS, &paths, &why, a, e);
    if (rc < 0) return rc;
    for (size_t i = 0; i < why.n; i++) add_bad(out, dir, why.v[i], (uid_t)-1, a);
    for (size_t i = 0; i < paths.n; i++)
        if (!exceeds_quota(paths.v[i], &quotas, out, a)) load_one(paths.v[i], client, &quotas, out, a);
    if (out->n > 0) qsort(out->v, out->n, sizeof *out->v, newest_first);
    return 0;
}

bool wl_claim_may_be_alive(const struct wl_claim *c)
{
    return c->holder_state == WL_HOLDER_ALIVE || c->holder_state == WL_HOLDER_ELSEWHERE;
}

static bool is_same_holder(const struct wl_journal *x, const struct wl_journal *y)
{
    return x->owner == y->owner && x->holder.pid == y->holder.pid && x->holder.started == y->holder.started &&
           wl_str_eq(x->holder.boot_id, y->holder.boot_id) && wl_str_eq(x->holder.host, y->holder.host);
}

const struct wl_journal_entry *wl_claims_next(const struct wl_claims *all, const struct wl_journal *self,
                                              const struct wl_journal_entry *mine, size_t *at)
{
    for (; all && *at < all->n; ++*at) {
        const struct wl_claim *c = &all->v[*at];
        if (c->settled || c->holder_state == WL_HOLDER_OTHER_HOST || is_same_holder(&c->j, self)) continue;
        for (size_t i = 0; i < c->j.n; i++)
            if (c->j.v[i].kind == mine->kind && wl_str_eq(c->j.v[i].device, mine->device)) return &c->j.v[i];
    }
    return NULL;
}

const char *wl_journal_entry_refusal(const struct wl_journal_entry *entry, const struct wl_control *k, double now,
                                     bool force, struct wl_arena *a)
{
    if (isnan(entry->found)) return k->write_only ? NULL : "its journal has no found value";
    const char *refusal = wl_cap_refusal(&k->range, k->kind, entry->found, a);
    if (refusal)
        return wl_strf(a, "%g %s cannot have been its value: %s", entry->found, wl_cap_kind_unit(k->kind), refusal);
    if (force) return NULL;
    double max = isnan(k->default_value) ? k->range.max : k->default_value;
    if (isnan(max)) return "the device's default is not known: only the user who set it, or --force, can restore it";
    if (entry->found < now) return "another user's journal would lower it: only that user, or --force, can";
    if (entry->found <= max || wl_cap_same(k->kind, entry->found, max)) return NULL;
    return "another user's journal would raise it above its default: only that user, or --force, can";
}

/* One step back: the newest dead holder who set this value; NULL: none. */
static const struct wl_claim *who_set(const struct wl_claims *all, const struct wl_journal *self,
                                      const struct wl_journal_entry *mine, const struct wl_control *k, double value,
                                      const struct wl_journal_entry **entry, struct wl_arena *a)
{
    for (size_t i = 0; (*entry = wl_claims_next(all, self, mine, &i)); i++) {
        const struct wl_claim *c = &all->v[i];
        if (c->holder_state != WL_HOLDER_DEAD || !wl_cap_same(mine->kind, (*entry)->set, value)) continue;
        if (wl_cap_same(mine->kind, (*entry)->found, value)) continue;
        if (c->j.owner == geteuid() || !wl_journal_entry_refusal(*entry, k, value, false, a)) return c;
    }
    return NULL;
}

double wl_claims_original(const struct wl_claims *all, const struct wl_journal *self,
                          const struct wl_journal_entry *mine, const struct wl_control *k,
                          const struct wl_claim **whose)
{
    double found = mine->found;
    *whose = NULL;
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t steps = 0; all && steps < all->n && !isnan(found); steps++) {
        const struct wl_journal_entry *entry;
        const struct wl_claim *c = who_set(all, self, mine, k, found, &entry, a);
        if (!c) break;
        *whose = c;
        found = entry->found;
    }
    wl_arena_free(a);
    return found;
}
