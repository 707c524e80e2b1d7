#include "serve/snapshot.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files are looked at so often at most; reading takes at most this share of a core. */
static const int64_t LOOK_NS = WL_NS_PER_S / 5;
static const double READ_SHARE = 0.05;

/* Stamps of younger files may stay the same though the files change. */
static const int64_t SETTLED_NS = 2 * WL_NS_PER_S;

struct wl_served {
    const char *path, *name;
    size_t number;
    pthread_mutex_t lock; /* of what follows */
    struct wl_snapshot *now;
    int64_t next_read_ns;
    int64_t looked_ns;
    uint64_t state;
    struct wl_strs spools; /* paths of the readings of runs that were running, in spools_arena */
    struct wl_arena *spools_arena;
};

/* ---- the state of the files ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15; /* a step of splitmix64 */
    return h ^ h >> 29;
}

/* What changed a moment ago counts as another state until its stamp can be relied upon. */
static uint64_t settled(int64_t changed_ns)
{
    const int64_t age_ns = wl_wall_ns() - changed_ns;
    return age_ns >= 0 && age_ns < SETTLED_NS ? (uint64_t)(age_ns / (SETTLED_NS / 2)) + 1 : 0;
}

/* The lock is held. */
static uint64_t look(struct wl_served *s)
{
    const struct wl_store_stamp stamp = wl_store_stamp(s->path);
    uint64_t h = mix(mix(mix(0, (uint64_t)stamp.changed_wall_ns), (uint64_t)stamp.size), (uint64_t)stamp.inode);
    h = mix(h, settled(stamp.changed_wall_ns));
    for (size_t i = 0; i < s->spools.n; i++) {
        struct stat st;
        if (stat(s->spools.v[i], &st)) continue;
        h = mix(mix(h, (uint64_t)st.st_size), (uint64_t)st.st_mtim.tv_sec * WL_NS_PER_S + (uint64_t)st.st_mtim.tv_nsec);
    }
    return h;
}

/* The lock is held. */
static uint64_t state_now(struct wl_served *s)
{
    const int64_t now_ns = wl_now_ns();
    if (s->looked_ns && now_ns - s->looked_ns < LOOK_NS) return s->state;
    s->looked_ns = now_ns;
    return s->state = look(s);
}

uint64_t wl_served_state(struct wl_served *s)
{
    pthread_mutex_lock(&s->lock);
    const uint64_t state = state_now(s);
    pthread_mutex_unlock(&s->lock);
    return state;
}

/* ---- reading ---- */

static void add_workload(struct wl_snapshot *out, const char *name)
{
    for (size_t i = 0; i < out->workloads.n; i++)
        if (strcmp(out->workloads.v[i], name) == 0) return;
    wl_strs_add(out->a, &out->workloads, name);
}

static const char *haystack_of(const struct wl_run_row *r, const char *settings, struct wl_arena *a)
{
    const char *const parts[] = { r->host, r->command, r->error, r->training };
    struct wl_text t = WL_TEXT(a);
    wl_text_addf(&t, "%lld %s\n%s", (long long)r->id, settings, wl_settings_words(&r->set, a));
    for (size_t i = 0; i < WL_COUNT(parts); i++)
        if (parts[i]) wl_text_addf(&t, "\n%s", parts[i]);
    for (char *p = t.s; *p; p++) *p = (char)tolower((unsigned char)*p);
    return t.s;
}

static void describe(struct wl_snapshot *out)
{
    out->settings = wl_new_array(out->a, const char *, out->runs.n);
    out->haystacks = wl_new_array(out->a, const char *, out->runs.n);
    for (size_t i = 0; i < out->runs.n; i++) {
        const struct wl_run_row *r = &out->runs.v[i];
        out->settings[i] = wl_settings_text(&r->set, out->a);
        out->haystacks[i] = haystack_of(r, out->settings[i], out->a);
        add_workload(out, r->set.workload ? r->set.workload : "");
    }
}

static int by_id(const void *x, const void *y)
{
    const struct wl_run_row *a = x, *b = y;
    return (a->id > b->id) - (a->id < b->id);
}

static int read_rows(struct wl_store *store, struct wl_snapshot *out, struct wl_err *e)
{
    int rc = wl_store_begin_read(store, e);
    if (rc == 0) rc = wl_store_campaigns(store, &out->campaigns, out->a, e);
    if (rc == 0) rc = wl_store_runs(store, &(struct wl_run_filter) { 0 }, &out->runs, out->a, e);
    if (rc == 0) rc = wl_store_commit(store, e);
    if (rc == 0 && out->runs.n) qsort(out->runs.v, out->runs.n, sizeof *out->runs.v, by_id);
    return rc;
}

/* The lock is held. */
static void note_spools(struct wl_served *s, const struct wl_store *store, const struct wl_snapshot *from)
{
    wl_arena_free(s->spools_arena);
    s->spools_arena = wl_arena_new(NULL);
    s->spools = (struct wl_strs) { 0 };
    for (size_t i = 0; i < from->runs.n; i++)
        if (from->runs.v[i].status == WL_RUN_RUNNING)
            wl_strs_add(s->spools_arena, &s->spools, wl_store_spool_path(store, from->runs.v[i].id, s->spools_arena));
}

/* The lock is held. */
static struct wl_snapshot *read_snapshot(struct wl_served *s)
{
    struct wl_arena *a = wl_arena_new(NULL), *scratch = wl_arena_new(NULL);
    struct wl_snapshot *out = wl_new(a, struct wl_snapshot);
    struct wl_store *store = NULL;
    struct wl_err e;
    *out = (struct wl_snapshot) { .a = a, .users = 1 };
    pthread_mutex_init(&out->lock, NULL);
    s->looked_ns = 0; /* before it is read: what changes meanwhile is another state */
    out->state = state_now(s);
    int rc = wl_store_open(&store, s->path, WL_STORE_READ, scratch, &e);
    if (rc == 0) rc = read_rows(store, out, &e);
    if (rc) {
        out->error = wl_strdup(a, e.msg);
        out->campaigns.n = out->runs.n = 0;
    }
    describe(out);
    if (rc == 0) note_spools(s, store, out);
    wl_arena_free(scratch);
    return out;
}

void wl_snapshot_release(struct wl_snapshot *p)
{
    if (!p || __atomic_sub_fetch(&p->users, 1, __ATOMIC_ACQ_REL) > 0) return;
    pthread_mutex_destroy(&p->lock);
    wl_arena_free(p->a);
}

struct wl_snapshot *wl_served_get(struct wl_served *s)
{
    pthread_mutex_lock(&s->lock);
    if (!s->now || (wl_now_ns() >= s->next_read_ns && s->now->state != state_now(s))) {
        struct wl_snapshot *old = s->now;
        const int64_t begin_ns = wl_clock_thread_cpu_ns();
        s->now = read_snapshot(s);
        s->next_read_ns = wl_now_ns() + (int64_t)((double)(wl_clock_thread_cpu_ns() - begin_ns) / READ_SHARE);
        wl_snapshot_release(old);
    }
    struct wl_snapshot *now = s->now;
    __atomic_add_fetch(&now->users, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_unlock(&s->lock);
    return now;
}

/* ---- a store ---- */

static void release(void *served)
{
    struct wl_served *s = served;
    wl_snapshot_release(s->now);
    wl_arena_free(s->spools_arena);
    pthread_mutex_destroy(&s->lock);
}

/* "lab1" of lab1/wattlaw.db, "old" of old.db */
static const char *name_of(const char *path, struct wl_arena *a)
{
    const char *base = wl_path_base(path), *dot = strrchr(base, '.');
    if (strcmp(base, WL_STORE_FILE) == 0) return wl_strdup(a, wl_path_base(wl_path_dir(a, wl_path_absolute(a, path))));
    return wl_strndup(a, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

struct wl_served *wl_served_new(const char *path, size_t number, struct wl_arena *a)
{
    struct wl_served *s = wl_new(a, struct wl_served);
    *s = (struct wl_served) { .path = wl_strdup(a, path), .name = name_of(path, a), .number = number };
    pthread_mutex_init(&s->lock, NULL);
    wl_defer(a, release, s);
    return s;
}

const char *wl_served_path(const struct wl_served *s) { return s->path; }
const char *wl_served_name(const struct wl_served *s) { return s->name; }
size_t wl_served_number(const struct wl_served *s) { return s->number; }

/* ---- rows ---- */

const struct wl_run_row *wl_snapshot_run(const struct wl_snapshot *p, int64_t run)
{
    const struct wl_run_row key = { .id = run };
    return p->runs.n ? bsearch(&key, p->runs.v, p->runs.n, sizeof *p->runs.v, by_id) : NULL;
}

size_t wl_snapshot_index(const struct wl_snapshot *p, const struct wl_run_row *run)
{
    return (size_t)(run - p->runs.v);
}

const char *wl_snapshot_campaign(const struct wl_snapshot *p, int64_t campaign)
{
    for (size_t i = 0; i < p->campaigns.n; i++)
        if (p->campaigns.v[i].id == campaign) return p->campaigns.v[i].name;
    return NULL;
}
