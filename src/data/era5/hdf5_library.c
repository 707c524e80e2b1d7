#include "data/era5/hdf5_library.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void wl_hdf5_lock(void)
{
    pthread_mutex_lock(&lock);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* keeps it from printing */
}

void wl_hdf5_unlock(void) { pthread_mutex_unlock(&lock); }

/* The innermost error is the most specific. */
static herr_t keep_text(unsigned n, const H5E_error2_t *error, void *text)
{
    (void)n;
    snprintf(text, 256, "%s", error->desc);
    return 1;
}

int wl_hdf5_fail(struct wl_err *e, const char *fmt, ...)
{
    char text[256] = "unknown error";
    struct wl_err own = { 0 };
    va_list ap;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_text, text);
    va_start(ap, fmt);
    wl_failv(&own, WL_ELIB, fmt, ap);
    va_end(ap);
    return wl_fail(e, WL_ELIB, "%s: HDF5: %s", own.msg, text);
}

/* ---- attributes ---- */

static bool is_number(hid_t type)
{
    const H5T_class_t class = H5Tget_class(type);
    return class == H5T_FLOAT || class == H5T_INTEGER;
}

int wl_hdf5_attribute_number(hid_t object, const char *name, double *v, struct wl_err *e)
{
    if (H5Aexists(object, name) <= 0) return 0;
    hid_t at = H5Aopen(object, name, H5P_DEFAULT), space = H5Aget_space(at), type = H5Aget_type(at);
    const bool fits = is_number(type) && H5Sget_simple_extent_npoints(space) == 1;
    int rc = fits ? 0 : wl_fail(e, WL_EINVAL, "its attribute %s is not a single number", name);
    if (fits && H5Aread(at, H5T_NATIVE_DOUBLE, v) < 0) rc = wl_hdf5_fail(e, "its attribute %s", name);
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(at);
    return rc;
}

/* NetCDF writes texts of fixed length, h5py of variable length. */
const char *wl_hdf5_attribute_text(hid_t object, const char *name, struct wl_arena *a)
{
    enum { LONGEST = 256 };
    char fixed[LONGEST + 1] = "", *variable = NULL;
    if (H5Aexists(object, name) <= 0) return "";
    hid_t at = H5Aopen(object, name, H5P_DEFAULT), space = H5Aget_space(at), type = H5Aget_type(at),
          text = H5Tcopy(H5T_C_S1);
    const bool fits = H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1;
    const bool varies = fits && H5Tis_variable_str(type) > 0;
    H5Tset_size(text, varies ? H5T_VARIABLE : LONGEST + 1);
    H5Tset_cset(text, H5Tget_cset(type)); /* the library does not convert between character sets */
    if (fits) (void)H5Aread(at, text, varies ? (void *)&variable : fixed);
    char *found = wl_strdup(a, variable ? variable : fixed);
    H5free_memory(variable);
    H5Tclose(text);
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(at);
    return found;
}

bool wl_hdf5_has_dataset(hid_t file, const char *name)
{
    H5L_info_t link;
    if (H5Lexists(file, name, H5P_DEFAULT) <= 0 || H5Lget_info(file, name, &link, H5P_DEFAULT) < 0 ||
        link.type != H5L_TYPE_HARD)
        return false;
    hid_t object = H5Oopen(file, name, H5P_DEFAULT);
    const bool is_set = H5Iget_type(object) == H5I_DATASET;
    H5Oclose(object);
    return is_set;
}
