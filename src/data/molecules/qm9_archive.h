/* QM9's files, in a folder or a tar archive. */
#ifndef WL_DATA_MOLECULES_QM9_ARCHIVE_H
#define WL_DATA_MOLECULES_QM9_ARCHIVE_H

#include "base/base.h"

/* Calls `each` for every .xyz file of a folder, sorted by name, or of a tar archive, in its order, until a call fails;
 * `done` is the fraction of the total that came before. */
int wl_qm9_for_each_xyz(const char *from,
                        int (*each)(void *data, double done, const char *name, const char *text, size_t n,
                                    struct wl_err *e),
                        void *data, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
