/* Groups and data sets of an HDF5 file, each checked before it is read. Only what the file holds itself counts: soft
 * and external links are as if they were not there. */
#ifndef WL_CMD_HDF5_SETS_H
#define WL_CMD_HDF5_SETS_H

#include "base/base.h"
#include "data/era5/hdf5_library.h"

enum { WL_HDF5_BLOCK = 4096 }; /* rows that are read at once */

struct wl_hdf5_file {
    hid_t id;
    uint64_t room; /* numbers that may still be read: damaged dimensions promise more than the file can hold */
    struct wl_arena *a;
};

/* The file from its bytes. WL_ELIB: not HDF5, or damaged. */
int wl_hdf5_open(struct wl_hdf5_file *f, void *bytes, size_t n, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The group of that name: 1, 0 there is none. *out is negative but with 1; H5Gclose. WL_ELIB: damaged. */
int wl_hdf5_group(hid_t parent, const char *name, hid_t *out, struct wl_err *e) WL_MUST_CHECK;

/* The names in a group, numbers in them in their order: "2", "10". WL_EINVAL: more than a million. */
int wl_hdf5_names(hid_t group, struct wl_strs *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A data set of numbers: [rows] or [rows,columns]. */
struct wl_hdf5_numbers {
    hid_t set;
    hsize_t rows, columns;
};

/* WL_EINVAL: there is none, of another type or rank, or larger than the file can hold. Negative `set` then. */
int wl_hdf5_numbers_open(struct wl_hdf5_file *f, hid_t group, const char *name, struct wl_hdf5_numbers *out,
                         struct wl_err *e) WL_MUST_CHECK;
/* to [n,columns] */
int wl_hdf5_numbers_read(const struct wl_hdf5_numbers *s, hsize_t first, hsize_t n, double *to,
                         struct wl_err *e) WL_MUST_CHECK;
void wl_hdf5_numbers_close(struct wl_hdf5_numbers *s);

/* A data set [n] of texts of fixed length, which PyTables writes. WL_EINVAL: it is none. */
int wl_hdf5_texts(hid_t group, const char *name, struct wl_strs *out, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* Writes a field of a line of CSV; ends of lines and other control characters become blanks. */
void wl_hdf5_put(struct wl_text *line, const char *field, struct wl_arena *a);

#endif
