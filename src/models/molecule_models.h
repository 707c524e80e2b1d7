/* Networks that predict properties of molecules. */
#ifndef WL_MODELS_MOLECULE_MODELS_H
#define WL_MODELS_MOLECULE_MODELS_H

#include "nn/nn.h"

/* The maximum of each that a batch can hold. */
struct wl_molecule_capacity {
    int64_t molecules, atoms, edges, triplets; /* SchNet's edges are pairs, each once; DimeNet's have a direction */
};

struct wl_molecule_model_opts {
    const char *size;
    struct wl_molecule_capacity capacity;
    bool exact_filters; /* SchNet: struct wl_filter.exact */
};

/* Inputs, in the order of data/molecules/qm9.h, and outputs of the graph. Inputs that a network does not read are NULL.
 * Atoms of a molecule are adjacent, and so are its pairs, edges and triplets; B, A, E and T are the capacity. Atoms at
 * 0 < d < cutoff from each other are joined. */
struct wl_molecule_model_io {
    struct wl_tensor *counts;        /* i32 [WL_ROW_KINDS] numbers of molecules, atoms, pairs or edges, triplets */
    struct wl_tensor *atom_start;    /* i32 [B + 1] the first atom of each molecule, and the end of the last one */
    struct wl_tensor *number;        /* i32 [A] atomic numbers, 1 to 94 */
    struct wl_tensor *pair_start;    /* i32 [B + 1] SchNet: the first pair of each molecule */
    struct wl_tensor *pair;          /* i32 [E,2] SchNet: two atoms */
    struct wl_tensor *distance;      /* f32 [E] in angstrom, of pairs or edges */
    struct wl_tensor *edge_start;    /* i32 [A + 1] DimeNet, as the next four: struct wl_edges of nn.h */
    struct wl_tensor *source;        /* i32 [E] */
    struct wl_tensor *reverse;       /* i32 [E] */
    struct wl_tensor *triplet_start; /* i32 [A + 1] */
    struct wl_tensor *cosine;        /* f32 [T] of the angle at i between j and k, for the triplet k->j->i */
    struct wl_tensor *target;        /* f32 [B,1]; NAN: padding */
    struct wl_tensor *prediction;    /* f32 [B,1] */
    struct wl_tensor *loss;          /* f32, mean square over the molecules */
};

/* `size` is "full" or "tiny". */
struct wl_molecule_model {
    const char *name;
    double (*cutoff)(const char *size); /* angstrom */
    /* Adds the network to an empty graph. WL_EINVAL: the graph's own error. */
    int (*build)(struct wl_graph *g, const struct wl_molecule_model_opts *opts, struct wl_molecule_model_io *io,
                 struct wl_err *e);
};
extern const struct wl_molecule_model wl_schnet, wl_dimenet;

#endif
