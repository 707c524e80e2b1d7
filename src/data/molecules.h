/* Molecules as batches of graphs: who is near whom. Built by the threads that load, never in a training step. */
#ifndef WL_DATA_MOLECULES_H
#define WL_DATA_MOLECULES_H

#include "base/base.h"

/* One molecule. Positions in angstrom. */
struct wl_molecule {
    int n;
    const uint8_t *number; /* [n] atomic numbers */
    const float *at;       /* [n,3] */
};

/* What it is as a graph whose atoms at less than `cutoff` from each other are joined: the same numbers for any order of
 * its atoms. Pairs count once, edges once a direction; a triplet is an edge k->j in front of an edge j->i, k not i. */
struct wl_molecule_size {
    int64_t atoms, pairs, edges, triplets;
};
struct wl_molecule_size wl_molecule_size(const struct wl_molecule *m, double cutoff);

/* Two atoms at one place, which have no direction from one to the other. False where there are none. */
bool wl_molecule_coincidence(const struct wl_molecule *m, int *i, int *j);

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

#endif
