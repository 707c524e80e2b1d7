#include "planner/collective.h"

#include <math.h>

/* 2 (N-1) a + 2 (N-1)/N M/B: a reduce-scatter and an all-gather. */
static double ring(double workers, double latency_s, double bytes, double b_s)
{
    return workers > 1 ? 2 * (workers - 1) * (latency_s + bytes / workers / b_s) : 0;
}

static double slowest(const struct wl_planner_links *l, double workers)
{
    if (workers <= l->per_node) return l->node_b_s;
    return l->per_node > 1 && l->node_b_s < l->net_b_s ? l->node_b_s : l->net_b_s;
}

static double tree(const struct wl_planner_links *l, double workers, double bytes)
{
    return workers > 1 ? 2 * ceil(log2(workers)) * l->latency_s + 2 * bytes / slowest(l, workers) : 0;
}

/* Between nodes each of the g workers reduces its share M/g, and all of them share the node's link: M bytes. */
static double hierarchical(const struct wl_planner_links *l, double workers, double bytes)
{
    const double local = fmin(workers, l->per_node), nodes = ceil(workers / l->per_node);
    return ring(local, l->latency_s, bytes, l->node_b_s) + ring(nodes, l->latency_s, bytes, l->net_b_s);
}

double wl_planner_all_reduce(const struct wl_planner_links *l, enum wl_planner_algorithm how, double workers,
                             double bytes)
{
    if (!(workers > 1)) return 0;
    const double r = ring(workers, l->latency_s, bytes, slowest(l, workers)), t = tree(l, workers, bytes),
                 h = hierarchical(l, workers, bytes);
    switch (how) {
    case WL_PLANNER_RING: return r;
    case WL_PLANNER_TREE: return t;
    case WL_PLANNER_HIERARCHICAL: return h;
    case WL_PLANNER_BEST: break;
    }
    return isnan(slowest(l, workers)) ? NAN : fmin(fmin(r, t), isnan(h) ? r : h);
}

double wl_planner_exposed(double bucket_s, double count, double window_s)
{
    return fmax(bucket_s, bucket_s * count - window_s * (count - 1) / count);
}
