/* QM9: 133,885 small molecules with 15 computed properties each (Ramakrishnan et al. 2014, doi:10.1038/sdata.2014.22).
 * The original .xyz files are packed into one file once; training reads that. docs/formats.md has both formats. */
#ifndef WL_DATA_MOLECULES_QM9_H
#define WL_DATA_MOLECULES_QM9_H

#include "data/loader/loader.h"
#include "data/molecules/molecules.h"

enum { WL_QM9_PROPERTIES = 15 };

struct wl_qm9_property {
    const char *name; /* "U0" */
    const char *unit; /* as the files have it: "Ha" */
    double shown_as;  /* what errors are multiplied by: 27211.386 (meV) where the unit is Ha, else 1 */
    const char *shown_unit;
};
extern const struct wl_qm9_property wl_qm9_properties[WL_QM9_PROPERTIES]; /* in the order of the files */

/* A property by name; -1 with a message that lists them. */
int wl_qm9_property(const char *name, struct wl_err *e);

/* ---- packing ---- */

struct wl_qm9_pack_opts {
    const char *from;    /* folder of .xyz files, or a tar archive of them */
    const char *exclude; /* (optional) list whose lines begin with the number of a molecule to leave out */
    const char *to;      /* file to write */
    bool progress;       /* is shown on stderr */
};
struct wl_qm9_pack_stats {
    int64_t molecules, atoms, excluded;
};

/* Reads all molecules, in the order of their numbers, and writes the file atomically. WL_EINVAL names file and line of
 * what is malformed; two molecules of one number; two atoms at one place; a list without a number. */
int wl_qm9_pack(const struct wl_qm9_pack_opts *o, struct wl_qm9_pack_stats *done, struct wl_arena *a,
                struct wl_err *e) WL_MUST_CHECK;

/* Writes DIR/dsgdb9nsd_000001.xyz ... of made-up molecules (wl_molecule_synth) in the original format. Energies are
 * those of free atoms and a Morse potential between each two atoms; the other properties are simple functions, too. */
int wl_qm9_synth(const char *dir, int64_t molecules, uint64_t seed, bool progress, struct wl_err *e) WL_MUST_CHECK;

/* ---- reading ---- */

/* A packed file, mapped. */
struct wl_qm9 {
    const char *path;
    int64_t molecules, atoms;
    const uint32_t *start;  /* [molecules + 1]: atoms before each */
    const uint32_t *id;     /* [molecules]: rising */
    const double *property; /* [molecules,15] */
    const float *at;        /* [atoms,3] angstrom */
    const uint8_t *number;  /* [atoms] */
};

/* The file, or qm9.molecules in a folder. WL_EINVAL: no such file, another version; WL_EIO: damaged. */
int wl_qm9_open(struct wl_qm9 *q, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

struct wl_molecule wl_qm9_molecule(const struct wl_qm9 *q, int64_t i);

/* How the molecules are shared out, and what of them a network sees. */
struct wl_qm9_split_opts {
    uint64_t seed;                          /* of the split */
    int64_t train_molecules, val_molecules; /* 0: 110,000 and 10,000 of 130,831, in proportion of all */
    int property;                           /* of wl_qm9_properties */
    double cutoff;                          /* angstrom */
    bool triplets;                          /* edges with triplets (DimeNet); false: pairs (SchNet) */
    int64_t batch;
};

/* Molecules in a random order, by the seed alone: the first are trained with, the next validated, the rest is left. The
 * target is (value - sum of its atoms' shares - constant)/scale: shares of the elements and constant are fitted to the
 * training molecules (least squares), scale is the deviation that is left. So a target is 1 where the network has to
 * find as much as it does on average. */
struct wl_qm9_splits {
    struct wl_dataset train, val;
    int64_t left;    /* molecules in neither */
    double scale;    /* in the property's unit */
    int64_t room[4]; /* of a batch: molecules, atoms, pairs or edges, triplets */
    double mean[4];  /* the same of a batch of the data set's mean molecule */
};

/* The buffers of a batch, in the order in which the networks declare their inputs: counts, atom_start, number, then of
 * pairs pair_start, pair, distance, of edges edge_start, source, reverse, triplet_start, distance, cosine, then target.
 * WL_EINVAL: fewer molecules than asked for, more atoms near one than fit. */
int wl_qm9_split(struct wl_qm9_splits *p, const struct wl_qm9 *q, const struct wl_qm9_split_opts *o, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

#endif
