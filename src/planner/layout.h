/* How the workers of a job share a network: replicas of it (data-parallel), each on tensor x stages workers.
 *
 *   N = replicas x tensor x stages; a worker has 1/(tensor x stages) of the layers' work and parameters
 *   tensor     4 all-reduces of a micro-batch's activations in each layer, which nothing hides
 *   pipeline   of k micro-batches each stage computes k and waits for (stages - 1)/chunks; activations forwards and
 *              their gradients backwards go to the next stage and back
 *
 * Source: Narayanan et al. 2021, arXiv:2104.04473, sections 2.2 and 3 (1F1B schedule, interleaved with chunks > 1).
 */
#ifndef WL_PLANNER_LAYOUT_H
#define WL_PLANNER_LAYOUT_H

#include "planner/collective.h"

struct wl_planner_layout {
    double tensor, stages, chunks; /* chunks: groups of layers that a stage has (virtual stages) */
    double replicas;               /* NAN: the workers are not a multiple of tensor x stages */
};

struct wl_planner_layout wl_planner_layout_of(double workers, double tensor, double stages, double chunks);

/* Links as one worker of each replica sees them in the reduction of its gradients: neighbours in a node belong to the
 * same replica, and the groups of a node share its link to the others. */
struct wl_planner_links wl_planner_links_of_replicas(const struct wl_planner_links *l,
                                                     const struct wl_planner_layout *p);

/* Seconds of a stage's all-reduces in a micro-step, for activations of `bytes` between two layers; 0 without. */
double wl_planner_tensor_s(const struct wl_planner_links *l, enum wl_planner_algorithm how,
                           const struct wl_planner_layout *p, double layers, double bytes);

/* Seconds that `micro` micro-steps of stage_s each wait for the pipeline: bubble and transfers of `bytes` between
 * stages; 0 without stages. */
double wl_planner_pipeline_s(const struct wl_planner_links *l, const struct wl_planner_layout *p, double micro,
                             double stage_s, double bytes);

#endif
