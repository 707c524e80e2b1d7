/* Deterministic molecules, the same as those of tools/oracle/molecules.py, and a batch of them in a plan's inputs. */
#ifndef WL_TESTS_MODELS_MOLECULES_H
#define WL_TESTS_MODELS_MOLECULES_H

#include "data/molecules/molecules.h"
#include "models/models.h"

/* Molecule m: 1 to 29 atoms of H, C, N, O or F on a grid, each moved a little; every other molecule is larger than the
 * cutoffs. */
struct wl_molecule deterministic_molecule(uint64_t seed, uint64_t m, struct wl_arena *a);

/* Molecules [0, n) of a seed. */
struct wl_molecule *rule_molecules(uint64_t seed, size_t n, struct wl_arena *a);

/* The capacity that n molecules need, plus `spare` times that. */
struct wl_molecule_capacity capacity_for(const struct wl_molecule_model *model, const char *size,
                                         const struct wl_molecule *m, size_t n, double spare);

/* Fills the inputs of a network; target of molecule i: normal by (seed, i), NAN in rows after n. Whatever lies after
 * the counts stays unchanged. */
void fill_molecule_inputs(struct wl_plan *p, const struct wl_molecule_model_io *net, double cutoff,
                          const struct wl_molecule *m, size_t n, uint64_t seed);

#endif
