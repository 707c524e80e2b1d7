/* QM9's variant of the .xyz format: one molecule per file. */
#ifndef WL_DATA_MOLECULES_QM9_XYZ_H
#define WL_DATA_MOLECULES_QM9_XYZ_H

#include "data/molecules/qm9.h"
#include "data/molecules/synth.h"

struct wl_qm9_record {
    uint32_t id;
    double property[WL_QM9_PROPERTIES];
    struct wl_molecule_synth molecule;
};

/* Parses text [n], which need not be terminated. WL_EINVAL: "NAME:LINE: what was expected". */
int wl_qm9_parse(const char *text, size_t n, const char *name, struct wl_qm9_record *out,
                 struct wl_err *e) WL_MUST_CHECK;

/* "C" for 6; NULL: not one of QM9's five elements. */
const char *wl_qm9_symbol(int number);

#endif
