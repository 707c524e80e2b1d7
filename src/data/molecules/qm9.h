/* QM9: 133,885 small molecules with 15 computed properties each (Ramakrishnan et al. 2014, doi:10.1038/sdata.2014.22).
 * The original .xyz files are packed into one file once; training reads that. docs/formats.md has both formats. */
#ifndef WL_DATA_MOLECULES_QM9_H
#define WL_DATA_MOLECULES_QM9_H

#include "data/dataset.h"
#include "data/molecules/molecules.h"

enum { WL_QM9_PROPERTIES = 15 };

struct wl_qm9_property {
    const char *name;      /* "U0" */
    const char *unit;      /* of the files: "Ha" */
    double display_factor; /* from unit to display_unit: 27211.386 (meV) for Ha, else 1 */
    const char *display_unit;
};
extern const struct wl_qm9_property wl_qm9_properties[WL_QM9_PROPERTIES]; /* in the order of the files */

/* A property by name; -1 with a message that lists them. */
int wl_qm9_property(const char *name, struct wl_err *e);

/* ---- packing ---- */

struct wl_qm9_pack_opts {
    const char *from;    /* folder of .xyz files, or a tar archive of them */
    const char *exclude; /* (optional) list whose lines begin with the number of a molecule to exclude */
    const char *to;      /* file to write */
    bool progress;       /* draw a bar on stderr */
};
struct wl_qm9_pack_stats {
    int64_t molecules, atoms, excluded;
};

/* Reads all molecules, in the order of their numbers, and writes the file atomically. WL_EINVAL names file and line of
 * malformed input, two molecules with the same number, two atoms at the same position, a list without a number. */
int wl_qm9_pack(const struct wl_qm9_pack_opts *o, struct wl_qm9_pack_stats *done, struct wl_arena *a,
                struct wl_err *e) WL_MUST_CHECK;

/* Writes DIR/dsgdb9nsd_000001.xyz ... of synthetic molecules (wl_molecule_synth) in the original format. Energies
 * are those of free atoms plus a Morse potential between each two atoms; the other properties are simple functions too.
 */
int wl_qm9_synth(const char *dir, int64_t molecules, uint64_t seed, bool progress, struct wl_err *e) WL_MUST_CHECK;

/* ---- reading ---- */

/* A packed file, mapped. */
struct wl_qm9 {
    const char *path;
    int64_t molecules, atoms;
    const uint32_t *start;        /* [molecules + 1]: index of its first atom */
    const uint32_t *id;           /* [molecules]: ascending */
    const double *property;       /* [molecules,15] */
    const float *position;        /* [atoms,3] angstrom */
    const uint8_t *atomic_number; /* [atoms] */
};

/* The file, or qm9.molecules in a folder. WL_EINVAL: no such file, another version; WL_EIO: damaged. */
int wl_qm9_open(struct wl_qm9 *q, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

struct wl_molecule wl_qm9_molecule(const struct wl_qm9 *q, int64_t i);

/* How to split the molecules into training and validation sets, and which inputs the network reads. */
struct wl_qm9_split_opts {
    uint64_t seed;                          /* of the split */
    int64_t train_molecules, val_molecules; /* 0: 110,000 and 10,000 of 130,831, in proportion of all */
    int property;                           /* of wl_qm9_properties */
    double cutoff;                          /* angstrom */
    bool triplets;                          /* edges with triplets (DimeNet); false: pairs (SchNet) */
    int64_t batch;
};

/* Molecules in a random order that depends on the seed alone: the first are for training, the next for validation, the
 * rest is unused. The target is (value - sum of its atoms' reference energies - constant)/scale: reference energies by
 * element and the constant are fitted to the training molecules (least squares), scale is the residual standard
 * deviation. So targets have a typical magnitude of 1. */
struct wl_qm9_splits {
    struct wl_dataset train, val;
    int64_t unused;       /* molecules in neither */
    double scale;         /* in the property's unit */
    int64_t capacity[4];  /* of a batch: molecules, atoms, pairs or edges, triplets */
    double mean_batch[4]; /* the same for a batch of the data set's mean molecule */
};

/* The buffers of a batch, in the order in which the networks declare their inputs: counts, atom_start, number, then of
 * pairs pair_start, pair, distance, of edges edge_start, source, reverse, triplet_start, distance, cosine, then target.
 * The same order is in models/molecule_models.h. WL_EINVAL: fewer molecules than requested, more neighbours than fit.
 */
int wl_qm9_split(struct wl_qm9_splits *p, const struct wl_qm9 *q, const struct wl_qm9_split_opts *o, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

#endif
