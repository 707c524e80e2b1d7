/* Molecules, and batches of their neighbour lists. The loader's threads build these, never a training step. */
#ifndef WL_DATA_MOLECULES_MOLECULES_H
#define WL_DATA_MOLECULES_MOLECULES_H

#include "base/base.h"

/* One molecule. Positions in angstrom. */
struct wl_molecule {
    int atoms;
    const uint8_t *atomic_number; /* [atoms] */
    const float *position;        /* [atoms,3] */
};

enum { WL_MOLECULE_MAX_ATOMS = 29 }; /* atoms of the largest molecule of QM9 */

/* The size of the graph that joins atoms closer than `cutoff`: the same numbers for any order of the atoms. Pairs count
 * once, edges once per direction; a triplet is an edge k->j followed by an edge j->i, where k is not i. */
struct wl_molecule_graph_size {
    int64_t atoms, pairs, edges, triplets;
};
struct wl_molecule_graph_size wl_molecule_graph_size(const struct wl_molecule *m, double cutoff);

/* Finds two atoms at the same position, between which no direction is defined. False: there are none. */
bool wl_molecule_find_overlap(const struct wl_molecule *m, int *i, int *j);

/* A batch under construction: the caller's arrays, with room for what is added, and how much they hold. Each _start
 * array is of offsets by molecule, and its last element is the end of the last one. */
struct wl_pair_batch {
    double cutoff;
    int32_t molecules, atoms, pairs;
    int32_t *atom_start, *number; /* [molecules + 1] [atoms] */
    int32_t *pair_start, *pair;   /* [molecules + 1] [pairs,2] the second atom precedes the first */
    float *distance;              /* [pairs] below the cutoff */
};
void wl_pair_batch_add(struct wl_pair_batch *b, const struct wl_molecule *m);

/* The same with edges in both directions and the angles between them. Edges j->i are sorted by target, then by source.
 * The triplets k->j->i around j are adjacent, sorted by i, then by k. Only for molecules without overlapping atoms. */
struct wl_edge_batch {
    double cutoff;
    int32_t molecules, atoms, edges, triplets;
    int32_t *atom_start, *number;        /* [molecules + 1] [atoms] */
    int32_t *edge_start, *triplet_start; /* [atoms + 1] */
    int32_t *source, *reverse;           /* [edges] j of j->i, and the edge i->j */
    float *distance;                     /* [edges] below the cutoff */
    float *cosine;                       /* [triplets] of the angle between i->j and i->k, as seen from i */
};
void wl_edge_batch_add(struct wl_edge_batch *b, const struct wl_molecule *m);

#endif
