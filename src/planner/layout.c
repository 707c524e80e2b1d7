#include "planner/layout.h"

#include <math.h>

struct wl_planner_layout wl_planner_layout_of(double workers, double tensor, double stages, double chunks)
{
    const double replicas = workers / (tensor * stages);
    return (struct wl_planner_layout) { tensor, stages, chunks, replicas == floor(replicas) ? replicas : NAN };
}

struct wl_planner_links wl_planner_links_of_replicas(const struct wl_planner_links *l,
                                                     const struct wl_planner_layout *p)
{
    const double in_node = fmax(floor(l->per_node / (p->tensor * p->stages)), 1);
    struct wl_planner_links links = *l;
    links.per_node = in_node;
    links.net_b_s = l->net_b_s / (l->per_node / in_node);
    return links;
}

double wl_planner_tensor_s(const struct wl_planner_links *l, enum wl_planner_algorithm how,
                           const struct wl_planner_layout *p, double layers, double bytes)
{
    const double OF_A_LAYER = 4; /* after attention and after the MLP, forwards and backwards */
    return p->tensor > 1 ? OF_A_LAYER * layers / p->stages * wl_planner_all_reduce(l, how, p->tensor, bytes) : 0;
}

/* Workers of a tensor-parallel group send a share each; the groups of a node share its link. */
static double transfer_s(const struct wl_planner_links *l, const struct wl_planner_layout *p, double bytes)
{
    const bool inside = p->tensor * p->stages <= l->per_node;
    const double groups = fmax(l->per_node / p->tensor, 1);
    return l->latency_s + (inside ? bytes / p->tensor / l->node_b_s : bytes * groups / l->net_b_s);
}

double wl_planner_pipeline_s(const struct wl_planner_links *l, const struct wl_planner_layout *p, double micro,
                             double stage_s, double bytes)
{
    if (!(p->stages > 1)) return 0;
    const double fill = p->stages - 1, bubble_s = fill / p->chunks * stage_s;
    return bubble_s + 2 * (p->chunks * micro + fill) * transfer_s(l, p, bytes);
}
