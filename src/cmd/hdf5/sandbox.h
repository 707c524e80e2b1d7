/* What a process may still do that parses a file which anybody may have written. docs/adr/179. */
#ifndef WL_CMD_HDF5_SANDBOX_H
#define WL_CMD_HDF5_SANDBOX_H

#include "base/base.h"

/* From here on this process may compute, ask for memory, write to the descriptors that it has, and end. It opens,
 * executes, sends and signals nothing, and makes no process: such a call fails with EPERM. `bytes` of the file bound
 * its memory and its time on a processor. WL_EUNAVAIL: the kernel does not do it, or not on this kind of processor. */
int wl_hdf5_confine(size_t bytes, struct wl_err *e) WL_MUST_CHECK;

#endif
