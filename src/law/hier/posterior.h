/* Nodes of the posterior and their weights. */
#ifndef WL_LAW_HIER_POSTERIOR_H
#define WL_LAW_HIER_POSTERIOR_H

#include "law/hier/families.h"
#include "law/hier/scatter.h"

/* One curve of a family. */
struct wl_hier_node {
    double z[WL_HIER_SHAPES];
    double *weight; /* [scatter nodes]; sum 1 over all nodes of all families */
    double total;   /* their sum */
};
struct wl_hier_component {
    enum wl_hier_family family;
    struct wl_hier_node *nodes;
    size_t n;
};
struct wl_hier_posterior {
    struct wl_hier_scatter scatter;
    struct wl_hier_component components[WL_HIER_FAMILIES];
    size_t n_components;
    double largest; /* worker count of the data: R of the curves */
};

#endif
