/* Molecules as batches of graphs: who is near whom. Built by the threads that load, never in a training step. */
#ifndef WL_DATA_MOLECULES_MOLECULES_H
#define WL_DATA_MOLECULES_MOLECULES_H

#include "base/base.h"

/* One molecule. Positions in angstrom. */
struct wl_molecule {
    int n;
    const uint8_t *number; /* [n] atomic numbers */
    const float *at;       /* [n,3] */
};

enum { WL_MOLECULE_MAX_ATOMS = 29 }; /* atoms of the largest molecule of QM9 */

/* Made up: molecule `index` of a seed, about as large, dense and composed as those of QM9. */
struct wl_molecule_synth {
    int n;
    uint8_t number[WL_MOLECULE_MAX_ATOMS];
    float at[WL_MOLECULE_MAX_ATOMS][3];
};
void wl_molecule_synth(uint64_t seed, uint64_t index, struct wl_molecule_synth *m);

/* What it is as a graph whose atoms at less than `cutoff` from each other are joined: the same numbers for any order of
 * its atoms. Pairs count once, edges once a direction; a triplet is an edge k->j in front of an edge j->i, k not i. */
struct wl_molecule_graph_size {
    int64_t atoms, pairs, edges, triplets;
};
struct wl_molecule_graph_size wl_molecule_graph_size(const struct wl_molecule *m, double cutoff);

/* Two atoms at one place, which have no direction from one to the other. False where there are none. */
bool wl_molecule_find_overlap(const struct wl_molecule *m, int *i, int *j);

/* A batch under construction: arrays of the caller's with room for what is added, and how much they hold. `starts` are
 * offsets by molecule, and end with where the last one ends. */
struct wl_pair_batch {
    double cutoff;
    int32_t molecules, atoms, pairs;
    int32_t *atom_start, *number; /* [molecules + 1] [atoms] */
    int32_t *pair_start, *pair;   /* [molecules + 1] [pairs,2] the second atom stands before the first */
    float *distance;              /* [pairs] below the cutoff */
};
void wl_pair_batch_add(struct wl_pair_batch *b, const struct wl_molecule *m);

/* The same with edges in either direction and the angles between them. Edges j->i stand target by target, and of one
 * target in the order of their sources. The triplets k->j->i around j stand together, i by i, then k by k. Molecules
 * without coincidences only. */
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
