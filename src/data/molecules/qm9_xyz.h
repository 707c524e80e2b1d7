/* One molecule in QM9's form of .xyz. */
#ifndef WL_DATA_MOLECULES_QM9_XYZ_H
#define WL_DATA_MOLECULES_QM9_XYZ_H

#include "data/molecules/qm9.h"

struct wl_qm9_record {
    uint32_t id;
    double property[WL_QM9_PROPERTIES];
    struct wl_molecule_synth molecule;
};

/* Parses text [n], which need not end with a NUL. WL_EINVAL: "NAME:LINE: what was expected". */
int wl_qm9_parse(const char *text, size_t n, const char *name, struct wl_qm9_record *out,
                 struct wl_err *e) WL_MUST_CHECK;

/* "C" for 6; NULL: none of QM9's five elements. And back: 0 for another word. */
const char *wl_qm9_symbol(int number);

/* Calls `each` for every .xyz file of a folder, in the order of names, or of a tar archive, in its order, until one
 * call fails; `done` is the share of the whole that came before. */
int wl_qm9_for_each_xyz(const char *from,
                        int (*each)(void *own, double done, const char *name, const char *text, size_t n,
                                    struct wl_err *e),
                        void *own, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
