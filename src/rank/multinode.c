/* The nodes of one run, each under a leader, meet in a folder that all of them see:
 *
 *     HOST.RUN.node     the status of a node: joined, caps set, caps restored, or why it cannot take part; RUN numbers
 *                       the runs of its shard
 *     alive             of a campaign's run: a number that the sweep increments each second
 *
 * A job starts when every node has set its caps. Files are written whole and renamed; nothing here relies on locks,
 * which shared file systems may not have. docs/adr/092 */
#include "rank/multinode.h"
#include "rank/rank.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    POLL_INTERVAL_US = 20000,
    NODE_STATUS_MAX = 2000,
    HEARTBEAT_MISSES_MAX = 30, /* a second apart. Checks are counted, not time: a job that was suspended made none */
};

static const char *const words[] = {
    [WL_NODE_JOINED] = "came", [WL_NODE_READY] = "ready", [WL_NODE_RESTORED] = "back", [WL_NODE_REFUSED] = "refused"
};
static const char suffix[] = ".node", heartbeat_file[] = "alive";

struct wl_multinode {
    struct wl_arena *a;
    const char *folder, *host;
    int64_t run;
    int local_size, size; /* ranks on this node, in the job */
    bool refused;         /* by this node or another one: the reason has been published */
    int64_t checked_ns, last_beat;
    int missed; /* checks without a new beat */
};

/* ---- publish ---- */

static int publish_status(const struct wl_multinode *f, enum wl_node_state state, const char *why, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *path = wl_strf(a, "%s/%s.%lld%s", f->folder, f->host, (long long)f->run, suffix);
    const char *text = wl_strf(a, "%s %d %d\n%.*s\n", words[state], f->local_size, f->size, NODE_STATUS_MAX / 2, why);
    int rc = wl_file_write(path, text, strlen(text), e);
    wl_arena_free(a);
    return rc < 0 ? wl_err_prefix(e, "the nodes of this run cannot exchange their status") : 0;
}

int wl_multinode_join(struct wl_multinode **out, const char *folder, const struct wl_local_ranks *ranks, int64_t run,
                      struct wl_arena *a, struct wl_err *e)
{
    const struct wl_rank *me = ranks ? wl_local_ranks_self(ranks) : NULL;
    struct wl_multinode *f = wl_new(a, struct wl_multinode);
    *f = (struct wl_multinode) { .a = a,
                                 .folder = folder,
                                 .host = wl_host_name(a),
                                 .run = run,
                                 .local_size = me ? me->local_size : 1,
                                 .size = me ? me->size : 1 };
    *out = f;
    int rc = wl_mkdirs(folder, e);
    return rc ? rc : publish_status(f, WL_NODE_JOINED, "", e);
}

void wl_multinode_refuse(struct wl_multinode *f, const char *why)
{
    struct wl_err e;
    if (f->refused) return;
    f->refused = true;
    if (publish_status(f, WL_NODE_REFUSED, why, &e) < 0) wl_log(WL_ERROR, "campaign", "%s", e.msg);
}

void wl_multinode_caps_restored(struct wl_multinode *f)
{
    struct wl_err e;
    if (publish_status(f, WL_NODE_RESTORED, "", &e) < 0) wl_log(WL_WARN, "campaign", "%s", e.msg);
}

/* ---- read ---- */

/* "n1.3.node"; the host may contain dots too. false: another file, or of another run. */
static bool is_of_run(const char *name, int64_t run, size_t *host)
{
    size_t n = strlen(name), suffix_n = strlen(suffix);
    if (n <= suffix_n || !wl_str_eq(name + n - suffix_n, suffix)) return false;
    size_t dot = n - suffix_n;
    while (dot > 0 && name[dot - 1] != '.') dot--;
    *host = dot ? dot - 1 : 0;
    return dot > 1 && strtoll(name + dot, NULL, 10) == run;
}

static bool read_node_status(const char *path, struct wl_node_status *to, struct wl_arena *a)
{
    char *text, word[16];
    int skip = 0;
    if (wl_file_read(path, NODE_STATUS_MAX, &text, NULL, a, NULL) < 0) return false;
    if (sscanf(text, "%15s %d %d%n", word, &to->local_size, &to->size, &skip) != 3) return false;
    to->why = wl_str_strip(a, text + skip);
    for (size_t i = 0; i < WL_COUNT(words); i++) {
        if (!wl_str_eq(words[i], word)) continue;
        to->state = (enum wl_node_state)i;
        return true;
    }
    return false;
}

struct wl_node_statuses wl_multinode_status(const char *folder, int64_t run, struct wl_arena *a)
{
    struct wl_node_statuses out = { 0 };
    struct wl_strs names;
    size_t cap = 0, host;
    if (wl_dir_list(folder, &names, a, NULL) < 0) return out;
    for (size_t i = 0; i < names.n; i++) {
        struct wl_node_status status;
        if (!is_of_run(names.v[i], run, &host) || !read_node_status(wl_path_join(a, folder, names.v[i]), &status, a))
            continue;
        status.host = wl_strndup(a, names.v[i], host);
        WL_GROW(a, out.v, out.n, cap);
        out.v[out.n++] = status;
    }
    return out;
}

const struct wl_node_status *wl_multinode_refusal(const struct wl_node_statuses *nodes)
{
    for (size_t i = 0; i < nodes->n; i++)
        if (nodes->v[i].state == WL_NODE_REFUSED) return &nodes->v[i];
    return NULL;
}

char *wl_multinode_unrestored(const struct wl_node_statuses *nodes, struct wl_arena *a)
{
    struct wl_text hosts = WL_TEXT(a);
    for (size_t i = 0; i < nodes->n; i++)
        if (nodes->v[i].state <= WL_NODE_READY) wl_text_addf(&hosts, "%s%s", hosts.n ? ", " : "", nodes->v[i].host);
    return hosts.n ? hosts.s : NULL;
}

/* ---- the barrier ---- */

/* Its caps are set, or were: a short job may have ended on one node before another node checks. */
static bool was_ready(const struct wl_node_status *s)
{
    return s->state == WL_NODE_READY || s->state == WL_NODE_RESTORED;
}

static int ranks_ready(const struct wl_node_statuses *nodes)
{
    int ranks = 0;
    for (size_t i = 0; i < nodes->n; i++)
        if (was_ready(&nodes->v[i])) ranks += nodes->v[i].local_size;
    return ranks;
}

/* Names those that keep the others waiting: nodes that joined and are not ready, ranks that did not join. */
static int fail_late_nodes(const struct wl_multinode *f, const struct wl_node_statuses *nodes, double wait_s,
                           struct wl_arena *a, struct wl_err *e)
{
    struct wl_text late = WL_TEXT(a), ready = WL_TEXT(a);
    int ranks = 0;
    for (size_t i = 0; i < nodes->n; i++) {
        struct wl_text *t = was_ready(&nodes->v[i]) ? &ready : &late;
        wl_text_addf(t, "%s%s", t->n ? ", " : "", nodes->v[i].host);
        ranks += nodes->v[i].local_size;
    }
    const char *list = getenv("SLURM_STEP_NODELIST");
    if (late.n)
        return wl_fail(e, WL_EJOB, "node %s has not set its caps within %g s (--node-wait); ready: %s", late.s, wait_s,
                       ready.s);
    return wl_fail(e, WL_EJOB,
                   "%d of %d ranks have not joined within %g s (--node-wait)%s%s; ready: %s. Do all nodes see %s?",
                   f->size - ranks, f->size, wait_s, list ? "; the step's nodes are " : "", list ? list : "", ready.s,
                   f->folder);
}

static int wait_barrier(struct wl_multinode *f, double wait_s, const struct wl_signals *signals, struct wl_err *e)
{
    int64_t until_ns = wl_now_ns() + (int64_t)(wait_s * WL_NS_PER_S);
    for (;;) {
        bool from_terminal;
        struct wl_arena *a = wl_arena_new(f->a);
        struct wl_node_statuses nodes = wl_multinode_status(f->folder, f->run, a);
        const struct wl_node_status *refusal = wl_multinode_refusal(&nodes);
        int rc = ranks_ready(&nodes) == f->size ? 1 : 0;
        if (refusal) rc = wl_fail(e, WL_EJOB, "node %s: %s", refusal->host, refusal->why);
        if (rc == 0 && wl_now_ns() >= until_ns) rc = fail_late_nodes(f, &nodes, wait_s, a, e);
        wl_arena_free(a);
        if (rc == 0 && signals && wl_signals_next(signals, &from_terminal))
            rc = wl_fail(e, WL_EINTR, "stopped while waiting for the caps of other nodes");
        if (rc) {
            f->refused |= refusal != NULL;
            return rc < 0 ? rc : 0;
        }
        usleep(POLL_INTERVAL_US);
    }
}

int wl_multinode_barrier(struct wl_multinode *f, double wait_s, const struct wl_signals *signals, struct wl_err *e)
{
    int rc = publish_status(f, WL_NODE_READY, "", e);
    if (rc < 0 || f->local_size == f->size) return rc;
    return wait_s > 0 ? wait_barrier(f, wait_s, signals, e) : 0;
}

/* ---- heartbeat ---- */

int wl_multinode_heartbeat(const char *folder, int64_t beat, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *path = wl_path_join(a, folder, heartbeat_file);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    bool written = fd >= 0 && dprintf(fd, "%lld\n", (long long)beat) > 0;
    int rc = written ? 0 : wl_fail_errno(e, "%s", path);
    if (fd >= 0) close(fd);
    wl_arena_free(a);
    return rc;
}

/* A file that is missing, or empty because it is being written, counts as no check. */
bool wl_multinode_heartbeat_lost(struct wl_multinode *f)
{
    char *text;
    int64_t beat;
    if (wl_now_ns() - f->checked_ns < WL_NS_PER_S) return false;
    f->checked_ns = wl_now_ns();
    struct wl_arena *a = wl_arena_new(NULL);
    bool known = wl_file_read(wl_path_join(a, f->folder, heartbeat_file), NODE_STATUS_MAX, &text, NULL, a, NULL) == 0 &&
                 wl_str_to_int(wl_str_strip(a, text), &beat) == 0;
    wl_arena_free(a);
    if (!known) return false;
    f->missed = beat == f->last_beat ? f->missed + 1 : 0;
    f->last_beat = beat;
    return f->missed >= HEARTBEAT_MISSES_MAX;
}
