/* HDF5 files for tests of fields: one variable of one type in f32, with the coordinates that are asked for. */
#ifndef WL_TESTS_ERA5_FILE_H
#define WL_TESTS_ERA5_FILE_H

#include <hdf5.h>
#include <stddef.h>
#include <string.h>

struct era5_file {
    const char *name; /* of the variable; NULL: "t2m" */
    int times, levels /* 0: no such dimension */, height, width;
    const double *time, *latitude, *longitude; /* NULL: is not written */
    const char *units;                         /* of time; NULL: hours since 2020-01-01 */
    const char *calendar;                      /* NULL: none */
    const char *unit;                          /* of the variable; NULL: none */
};

static inline void era5_text(hid_t object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    hid_t a = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, type, text);
    H5Aclose(a);
    H5Sclose(space);
    H5Tclose(type);
}

static inline void era5_number(hid_t object, const char *name, double value)
{
    hid_t space = H5Screate(H5S_SCALAR), a = H5Acreate2(object, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, H5T_NATIVE_DOUBLE, &value);
    H5Aclose(a);
    H5Sclose(space);
}

/* A data set [n] of doubles, left open. */
static inline hid_t era5_axis(hid_t file, const char *name, const double *v, int n)
{
    hid_t space = H5Screate_simple(1, &(hsize_t) { (hsize_t)n }, NULL);
    hid_t set = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Sclose(space);
    return set;
}

/* The file, left open; `values` are the variable's. */
static inline hid_t era5_create(const char *path, const struct era5_file *o, const float *values)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hsize_t d[4];
    int rank = 0;
    d[rank++] = (hsize_t)o->times;
    if (o->levels) d[rank++] = (hsize_t)o->levels;
    d[rank++] = (hsize_t)o->height;
    d[rank++] = (hsize_t)o->width;
    hid_t space = H5Screate_simple(rank, d, NULL);
    hid_t set =
        H5Dcreate2(file, o->name ? o->name : "t2m", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    if (o->unit) era5_text(set, "units", o->unit);
    H5Dclose(set);
    H5Sclose(space);
    if (o->time) {
        hid_t axis = era5_axis(file, "time", o->time, o->times);
        era5_text(axis, "units", o->units ? o->units : "hours since 2020-01-01 00:00:00.0");
        if (o->calendar) era5_text(axis, "calendar", o->calendar);
        H5Dclose(axis);
    }
    if (o->latitude) H5Dclose(era5_axis(file, "latitude", o->latitude, o->height));
    if (o->longitude) H5Dclose(era5_axis(file, "longitude", o->longitude, o->width));
    return file;
}

#endif
