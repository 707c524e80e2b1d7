/* Cost of collectives by the latency-bandwidth (alpha-beta) model, and what of it the backward pass hides.
 *
 * Sources: Thakur et al. 2005, doi:10.1177/1094342005051521 (ring); Sanders et al. 2009 (double binary trees, as in
 * NCCL 2.4); Li et al. 2020, arXiv:2006.15704 (buckets of DistributedDataParallel).
 */
#ifndef WL_PLANNER_COLLECTIVE_H
#define WL_PLANNER_COLLECTIVE_H

#include "base/base.h"

/* Links of a cluster: workers fill nodes of `per_node`. */
struct wl_planner_links {
    double per_node;  /* workers, >= 1 */
    double latency_s; /* of one hop, inside a node or between two */
    double node_b_s;  /* bandwidth between two workers of a node, bytes/s */
    double net_b_s;   /* bandwidth between two nodes, of a node as a whole, bytes/s */
};

enum wl_planner_algorithm { WL_PLANNER_BEST, WL_PLANNER_RING, WL_PLANNER_TREE, WL_PLANNER_HIERARCHICAL };

/* Seconds for an all-reduce of `bytes` over N workers; 0 for one worker; NAN where a bandwidth that it needs is.
 *   ring          2 (N-1) a + 2 (N-1)/N M/B, B the slowest link of the ring
 *   tree          2 ceil(log2 N) a + 2 M/B
 *   hierarchical  ring reduce-scatter and all-gather in the node, a ring between nodes over all of its workers' shares
 *   best          the fastest of these */
double wl_planner_all_reduce(const struct wl_planner_links *l, enum wl_planner_algorithm how, double workers,
                             double bytes);

/* Seconds of `count` equal buckets of which each takes bucket_s, started while the backward pass computes for window_s:
 * the last bucket is ready when the pass ends. max(bucket, total - window (count-1)/count), >= 0. */
double wl_planner_exposed(double bucket_s, double count, double window_s);

#endif
