/* The HDF5 files of other tools as the CSV that the same tools write. */
#ifndef WL_CMD_HDF5_TOOLS_H
#define WL_CMD_HDF5_TOOLS_H

#include "cmd/hdf5/sets.h"

#include <stdio.h>

/* perun's tree of runs; with three columns more than perun's CSV: uuid, name and driver_version of GPUs. */
int wl_hdf5_write_perun(struct wl_hdf5_file *f, FILE *to, struct wl_err *e) WL_MUST_CHECK;

/* jpwr's table of readings, of which pandas makes a group "jpwr". */
int wl_hdf5_write_jpwr(struct wl_hdf5_file *f, FILE *to, struct wl_err *e) WL_MUST_CHECK;

#endif
