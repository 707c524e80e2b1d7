/* The nodes of one run. Each has a leader; the leaders meet in a folder that all nodes see. docs/adr/092 */
#ifndef WL_RANK_MULTINODE_H
#define WL_RANK_MULTINODE_H

#include "job/job.h"

struct wl_local_ranks;

/* ---- one node of the run ---- */

/* Joins run number `run` of the node's shard and publishes that. `ranks` NULL: one rank alone. */
struct wl_multinode;
int wl_multinode_join(struct wl_multinode **out, const char *folder, const struct wl_local_ranks *ranks, int64_t run,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* This node cannot take part: every node learns why, and none starts. */
void wl_multinode_refuse(struct wl_multinode *f, const char *why);

/* The caps of this node are set. Waits until those of all nodes are, at most so long (0: not at all). WL_EJOB: a node
 * refused, or is late; the message names it. WL_EINTR: a signal came. */
int wl_multinode_barrier(struct wl_multinode *f, double wait_s, const struct wl_signals *signals,
                         struct wl_err *e) WL_MUST_CHECK;

/* The caps of this node have been restored. */
void wl_multinode_caps_restored(struct wl_multinode *f);

/* ---- what the nodes have published ---- */

enum wl_node_state { WL_NODE_JOINED, WL_NODE_READY, WL_NODE_RESTORED, WL_NODE_REFUSED };
struct wl_node_status {
    const char *host;
    enum wl_node_state state;
    int local_size, size; /* ranks on that node, in the job */
    const char *why;      /* of a refusal */
};
struct wl_node_statuses {
    struct wl_node_status *v;
    size_t n;
};

/* The status of each node of that run, in the order of their names. */
struct wl_node_statuses wl_multinode_status(const char *folder, int64_t run, struct wl_arena *a);
const struct wl_node_status *wl_multinode_refusal(const struct wl_node_statuses *nodes); /* the first; NULL: none */

/* Nodes that joined and have neither refused nor restored their caps: "n1, n2"; NULL: none. */
char *wl_multinode_unrestored(const struct wl_node_statuses *nodes, struct wl_arena *a);

/* ---- heartbeat of the sweep ---- */

/* The sweep writes another number each second; after half a minute without a new one its nodes take it for dead. */
int wl_multinode_heartbeat(const char *folder, int64_t beat, struct wl_err *e) WL_MUST_CHECK;
bool wl_multinode_heartbeat_lost(struct wl_multinode *f);

#endif
