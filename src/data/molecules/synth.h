/* Synthetic molecules. */
#ifndef WL_DATA_MOLECULES_SYNTH_H
#define WL_DATA_MOLECULES_SYNTH_H

#include "data/molecules/molecules.h"

struct wl_molecule_synth {
    int atoms;
    uint8_t atomic_number[WL_MOLECULE_MAX_ATOMS];
    float position[WL_MOLECULE_MAX_ATOMS][3]; /* angstrom */
};

/* Molecule `index` of a seed, similar to those of QM9 in size, density and composition. */
void wl_molecule_synth(uint64_t seed, uint64_t index, struct wl_molecule_synth *m);

#endif
