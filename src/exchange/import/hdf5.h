/* HDF5 files of other tools: another process turns them into the CSV that the same tool writes. docs/adr/179. */
#ifndef WL_EXCHANGE_IMPORT_HDF5_H
#define WL_EXCHANGE_IMPORT_HDF5_H

#include "exchange/import/import.h"

bool wl_import_is_hdf5(const struct wl_import_head *h);

/* Reads im->in by `read_csv` if it is text, or else what wattlaw-hdf5 makes of the HDF5 file in it, as `tool` writes
 * it. WL_EINVAL: the file is damaged, or not of that tool; WL_EUNAVAIL: there is no wattlaw-hdf5. */
int wl_import_csv_or_hdf5(struct wl_import *im, const char *tool, int (*read_csv)(struct wl_import *, struct wl_err *),
                          struct wl_err *e) WL_MUST_CHECK;

#endif
