/* Access to the HDF5 library, which is called from one thread at a time. */
#ifndef WL_DATA_ERA5_HDF5_LIBRARY_H
#define WL_DATA_ERA5_HDF5_LIBRARY_H

#include "base/base.h"

#include <hdf5.h>

/* The library's state is global to the process, and so is its lock. Every call is between these two. */
void wl_hdf5_lock(void);
void wl_hdf5_unlock(void);

/* WL_ELIB with the library's own error messages, innermost first. Inside the lock. */
int wl_hdf5_fail(struct wl_err *e, const char *fmt, ...) WL_PRINTF(2, 3);

/* A numeric attribute; *v stays unchanged if there is none. WL_EINVAL: not a single number. */
int wl_hdf5_attribute_number(hid_t object, const char *name, double *v, struct wl_err *e) WL_MUST_CHECK;

/* A text attribute; "" if there is none or it is too long. Inside the lock. */
const char *wl_hdf5_attribute_text(hid_t object, const char *name, struct wl_arena *a);

/* Does the file itself have a data set of this name? */
bool wl_hdf5_has_dataset(hid_t file, const char *name);

#endif
