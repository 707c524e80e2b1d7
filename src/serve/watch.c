#include "serve/watch.h"

#include "base/thread.h"
#include "mark/mark.h"
#include "store/control.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const int64_t LOOK_NS = WL_NS_PER_S / 2, BEAT_NS = 15 * WL_NS_PER_S, READINGS_NS = 2 * WL_NS_PER_S;
static const double READ_SHARE = 0.05; /* of a core, at most: by processor time, since others may use the machine */
enum { EVENTS_AT_ONCE = 200, NICE = 5 };

/* A run that is running: how far its marks have been read, and what its spool looked like. */
struct running {
    int64_t run, begin_ns, since_ns, open_epoch, open_ns;
    int64_t marks_at_since; /* marks of that very instant that have been seen */
    char *spool;
    int64_t spool_size, told_ns;
};

/* What was seen of a store last; in an arena that is replaced at each reading. */
struct seen {
    struct wl_arena *a;
    struct wl_run_state_rows states;
    struct running *running;
    size_t n_running;
    size_t count[WL_RUN_INTERRUPTED + 1];
    int64_t control; /* stamp of the requests */
    bool known;      /* false: the first reading, which makes no events */
};

struct store {
    struct wl_served *served;
    uint64_t state;
    int64_t next_ns;
    struct seen seen;
};

struct wl_watch {
    pthread_mutex_t lock;
    pthread_cond_t change;
    pthread_t thread;
    bool started, ended;
    int clients;
    struct store *stores;
    size_t n;
    struct wl_events *events;
    int64_t beat_ns;
};

/* ---- events ---- */

static void add_event(struct wl_watch *w, const char *name, const struct wl_json *data, struct wl_arena *a)
{
    wl_events_add(w->events, name, wl_json_text(data, 0, a));
}

static struct wl_json *event_of(const struct store *s, int64_t run, struct wl_arena *a)
{
    struct wl_json *o = wl_json_root_object(a);
    wl_json_add_str(o, "id", wl_strf(a, "%zu-%lld", wl_served_number(s->served), (long long)run));
    return o;
}

static void say_run(struct wl_watch *w, const struct store *s, const struct wl_run_state_row *row, struct wl_arena *a)
{
    struct wl_json *o = event_of(s, row->run, a);
    wl_json_add_str(o, "state", wl_run_status_names[row->status]);
    add_event(w, "run", o, a);
}

static void say_epoch(struct wl_watch *w, const struct store *s, const struct running *run, int64_t end_ns,
                      struct wl_arena *a)
{
    struct wl_json *o = event_of(s, run->run, a);
    wl_json_add_int(o, "epoch", run->open_epoch);
    wl_json_add_real(o, "begin_s", (double)(run->open_ns - run->begin_ns) / WL_NS_PER_S);
    wl_json_add_real(o, "end_s", (double)(end_ns - run->begin_ns) / WL_NS_PER_S);
    wl_json_add_real(o, "time_s", (double)(end_ns - run->open_ns) / WL_NS_PER_S);
    add_event(w, "epoch", o, a);
}

static void say_progress(struct wl_watch *w, const struct store *s, const struct seen *now, struct wl_arena *a)
{
    struct wl_json *o = wl_json_root_object(a);
    wl_json_add_int(o, "store", (int64_t)wl_served_number(s->served));
    wl_json_add_int(o, "runs", (int64_t)now->states.n);
    for (int i = 0; i <= WL_RUN_INTERRUPTED; i++) wl_json_add_int(o, wl_run_status_names[i], (int64_t)now->count[i]);
    add_event(w, "progress", o, a);
}

static void say_control(struct wl_watch *w, const struct store *s, struct wl_arena *a)
{
    struct wl_json *o = wl_json_root_object(a);
    wl_json_add_int(o, "store", (int64_t)wl_served_number(s->served));
    add_event(w, "control", o, a);
}

/* ---- runs ---- */

static const struct wl_run_state_row *find_state(const struct seen *v, int64_t run)
{
    size_t lo = 0, hi = v->states.n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (v->states.v[mid].run < run)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < v->states.n && v->states.v[lo].run == run ? &v->states.v[lo] : NULL;
}

static struct running *find_running(const struct seen *v, int64_t run)
{
    for (size_t i = 0; i < v->n_running; i++)
        if (v->running[i].run == run) return &v->running[i];
    return NULL;
}

/* The runs that changed; too many of them are one `reset`. */
static void compare(struct wl_watch *w, const struct store *s, const struct seen *now, struct wl_arena *a)
{
    size_t changed = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < now->states.n; i++) {
            const struct wl_run_state_row *row = &now->states.v[i], *old = find_state(&s->seen, row->run);
            if (old && old->status == row->status) continue;
            if (pass == 0)
                changed++;
            else
                say_run(w, s, row, a);
        }
        if (changed > EVENTS_AT_ONCE) {
            wl_events_add(w->events, "reset", "{}");
            break;
        }
    }
    if (changed || now->states.n != s->seen.states.n) say_progress(w, s, now, a);
    if (now->control != s->seen.control) say_control(w, s, a);
}

/* ---- marks of running runs ---- */

static bool parse_mark(const struct wl_mark_row *row, struct wl_mark *m)
{
    static const enum wl_mark_word words[] = { WL_MARK_EPOCH_BEGIN, WL_MARK_EPOCH_END };
    for (size_t i = 0; i < WL_COUNT(words); i++)
        if (row->rank == 0 && wl_str_eq(row->word, wl_mark_word_name(words[i])))
            return wl_mark_make(m, row->t_ns, 0, words[i], row->fields, NULL) == 0;
    return false;
}

/* The marks that have come since the last look. `said`: epochs that end are events. */
static int read_marks(struct wl_watch *w, const struct store *s, struct wl_store *store, struct running *run, bool said,
                      struct wl_arena *a, struct wl_err *e)
{
    struct wl_mark_rows marks;
    int rc = wl_store_read_marks_since(store, run->run, run->since_ns, &marks, a, e);
    if (rc < 0) return rc;
    const int64_t skip = run->marks_at_since, from_ns = run->since_ns;
    for (size_t i = 0; i < marks.n; i++) {
        const int64_t t_ns = marks.v[i].t_ns;
        struct wl_mark m;
        if (t_ns == from_ns && (int64_t)i < skip) continue;
        run->marks_at_since = t_ns == run->since_ns ? run->marks_at_since + 1 : 1;
        run->since_ns = t_ns;
        if (!parse_mark(&marks.v[i], &m)) continue;
        const int64_t epoch = wl_mark_int(&m, "epoch", 0);
        if (m.word == WL_MARK_EPOCH_BEGIN) {
            run->open_epoch = epoch;
            run->open_ns = t_ns;
        } else if (run->open_epoch && epoch == run->open_epoch) {
            if (said) say_epoch(w, s, run, t_ns, a);
            run->open_epoch = 0;
        }
    }
    return 0;
}

/* A mark that was late belongs before one that has been read: a run with several ranks has such marks, but those of
 * rank 0 alone make epochs, and come in order. */
static int read_running(struct wl_watch *w, struct store *s, struct wl_store *store, struct seen *now, struct wl_err *e)
{
    struct wl_run_rows rows;
    int rc = wl_store_runs(store, &(struct wl_run_filter) { .statuses = 1u << WL_RUN_RUNNING }, &rows, now->a, e);
    if (rc < 0) return rc;
    now->running = wl_new_array(now->a, struct running, rows.n);
    for (size_t i = 0; i < rows.n && rc == 0; i++) {
        struct running *run = &now->running[now->n_running++];
        const struct running *old = find_running(&s->seen, rows.v[i].id);
        *run = old ? *old
                   : (struct running) { .run = rows.v[i].id,
                                        .begin_ns = rows.v[i].start.mono_ns == WL_NO_NS ? 0 : rows.v[i].start.mono_ns };
        run->spool = wl_store_spool_path(store, run->run, now->a);
        /* the epochs of a run that began since the last look are new, too */
        rc = read_marks(w, s, store, run, s->seen.known, now->a, e);
    }
    return rc;
}

/* ---- a store ---- */

static int read_store(struct wl_watch *w, struct store *s, struct seen *now, struct wl_arena *scratch, struct wl_err *e)
{
    struct wl_store *store;
    int rc = wl_store_open(&store, wl_served_path(s->served), WL_STORE_READ, scratch, e);
    if (rc == 0) rc = wl_store_run_states(store, &now->states, now->a, e);
    if (rc == 0) rc = wl_store_control_stamp(store, &now->control, e);
    for (size_t i = 0; rc == 0 && i < now->states.n; i++) now->count[now->states.v[i].status]++;
    if (rc == 0 && s->seen.known) compare(w, s, now, scratch);
    if (rc == 0) rc = read_running(w, s, store, now, e);
    return rc;
}

static void read_again(struct wl_watch *w, struct store *s, uint64_t state)
{
    const int64_t begin_ns = wl_clock_thread_cpu_ns();
    struct wl_arena *scratch = wl_arena_new(NULL);
    struct seen now = { .a = wl_arena_new(NULL), .known = true };
    struct wl_err e;
    if (read_store(w, s, &now, scratch, &e) == 0) {
        wl_arena_free(s->seen.a);
        s->seen = now;
        s->state = state;
    } else { /* replaced, or damaged: a request for it says why */
        wl_arena_free(now.a);
    }
    wl_arena_free(scratch);
    s->next_ns = wl_now_ns() + (int64_t)((double)(wl_clock_thread_cpu_ns() - begin_ns) / READ_SHARE);
}

static void look_at_spools(struct wl_watch *w, struct store *s)
{
    const int64_t now_ns = wl_now_ns();
    for (size_t i = 0; i < s->seen.n_running; i++) {
        struct running *run = &s->seen.running[i];
        struct stat st;
        if (now_ns - run->told_ns < READINGS_NS || stat(run->spool, &st) || st.st_size == run->spool_size) continue;
        run->spool_size = (int64_t)st.st_size;
        run->told_ns = now_ns;
        struct wl_arena *a = wl_arena_new(NULL);
        add_event(w, "readings", event_of(s, run->run, a), a);
        wl_arena_free(a);
    }
}

static void look(struct wl_watch *w)
{
    for (size_t i = 0; i < w->n; i++) {
        struct store *s = &w->stores[i];
        const uint64_t state = wl_served_state(s->served);
        if (s->seen.known && (state == s->state || wl_now_ns() < s->next_ns)) {
            look_at_spools(w, s);
            continue;
        }
        read_again(w, s, state);
        look_at_spools(w, s);
    }
    if (wl_now_ns() - w->beat_ns < BEAT_NS) return;
    w->beat_ns = wl_now_ns();
    wl_events_beat(w->events);
}

/* ---- the thread ---- */

/* Nobody was here for a while. The present state is that which later ones are compared with; clients that came before
 * it was read get `reset`. */
static void begin_anew(struct wl_watch *w)
{
    for (size_t i = 0; i < w->n; i++) {
        wl_arena_free(w->stores[i].seen.a);
        w->stores[i].seen = (struct seen) { 0 };
    }
    look(w);
    wl_events_forget(w->events);
}

static void *watch(void *arg)
{
    struct wl_watch *w = arg;
    bool slept = true;
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    pthread_mutex_lock(&w->lock);
    while (!w->ended) {
        if (w->clients == 0) {
            slept = true;
            pthread_cond_wait(&w->change, &w->lock);
            continue;
        }
        pthread_mutex_unlock(&w->lock);
        if (slept)
            begin_anew(w);
        else
            look(w);
        slept = false;
        pthread_mutex_lock(&w->lock);
        if (!w->ended) wl_thread_cond_wait(&w->change, &w->lock, &w->ended, LOOK_NS);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void end(void *arg)
{
    struct wl_watch *w = arg;
    pthread_mutex_lock(&w->lock);
    w->ended = true;
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
    if (w->started) pthread_join(w->thread, NULL);
    for (size_t i = 0; i < w->n; i++) wl_arena_free(w->stores[i].seen.a);
    pthread_cond_destroy(&w->change);
    pthread_mutex_destroy(&w->lock);
}

int wl_watch_new(struct wl_watch **out, struct wl_served **stores, size_t n, struct wl_events *events,
                 struct wl_arena *a, struct wl_err *e)
{
    struct wl_watch *w = wl_new(a, struct wl_watch);
    *w = (struct wl_watch) { .stores = wl_new_array(a, struct store, n), .n = n, .events = events };
    for (size_t i = 0; i < n; i++) w->stores[i].served = stores[i];
    wl_thread_cond_init(&w->lock, &w->change);
    wl_defer(a, end, w);
    const int rc = wl_thread_start(&w->thread, "serve-watch", watch, w);
    if (rc) return wl_fail(e, WL_EIO, "cannot start a thread: %s", strerror(rc));
    w->started = true;
    *out = w;
    return 0;
}

void wl_watch_clients(struct wl_watch *w, int change)
{
    pthread_mutex_lock(&w->lock);
    w->clients += change;
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
}
