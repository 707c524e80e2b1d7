/* Variables of HDF5 files. Data sets of f32 in one piece, as FourCastNet's are, are read past the library, which
 * serves one thread at a time; others are read through it. */
#include "data/era5/internal.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_CACHE = 256 << 20 };

struct file {
    hid_t id;
    int fd;
};

static void close_file(void *what)
{
    struct file *f = what;
    wl_hdf5_lock();
    H5Fclose(f->id);
    wl_hdf5_unlock();
    close(f->fd);
}

static void close_set(void *what)
{
    wl_hdf5_lock();
    H5Dclose(*(hid_t *)what);
    wl_hdf5_unlock();
}

/* A number that stands beside a variable; `otherwise` where there is none. */
static double attribute(hid_t set, const char *name, double otherwise)
{
    double v = otherwise;
    if (H5Aexists(set, name) <= 0) return otherwise;
    hid_t a = H5Aopen(set, name, H5P_DEFAULT), space = H5Aget_space(a);
    if (H5Sget_simple_extent_npoints(space) == 1 && H5Aread(a, H5T_NATIVE_DOUBLE, &v) < 0) v = otherwise;
    H5Sclose(space);
    H5Aclose(a);
    return v;
}

/* Where a data set lies in the file, if it does so in one piece of our own floats. */
static void find_place(struct wl_variable *v, int fd)
{
    hid_t type = H5Dget_type(v->set), how = H5Dget_create_plist(v->set);
    const haddr_t at = H5Dget_offset(v->set);
    v->plain = H5Tequal(type, H5T_NATIVE_FLOAT) > 0 && H5Pget_layout(how) == H5D_CONTIGUOUS &&
               H5Pget_external_count(how) == 0 && at != HADDR_UNDEF;
    v->at = (int64_t)at;
    v->fd = fd;
    H5Pclose(how);
    H5Tclose(type);
}

/* Chunks that hold several times are decompressed for each of them, unless they stay in the cache from one sample to
 * the next: opens the set with room for the chunks of one time, up to a limit. */
static hid_t open_cached(const struct file *f, const char *name)
{
    hid_t set = H5Dopen2(f->id, name, H5P_DEFAULT);
    if (set < 0) return set;
    hid_t how = H5Dget_create_plist(set), space = H5Dget_space(set), access = H5Pcreate(H5P_DATASET_ACCESS);
    hsize_t d[H5S_MAX_RANK], chunk[H5S_MAX_RANK], chunks = 1, bytes = sizeof(float);
    const int rank = H5Sget_simple_extent_dims(space, d, NULL);
    if (rank > 0 && H5Pget_layout(how) == H5D_CHUNKED && H5Pget_chunk(how, rank, chunk) == rank) {
        for (int i = 0; i < rank; i++) bytes *= chunk[i];
        for (int i = 1; i < rank; i++) chunks *= (d[i] + chunk[i] - 1) / chunk[i];
        H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT,
                           bytes > LARGEST_CACHE / chunks ? LARGEST_CACHE : bytes * chunks, 1.0);
        H5Dclose(set);
        set = H5Dopen2(f->id, name, access);
    }
    H5Pclose(access);
    H5Sclose(space);
    H5Pclose(how);
    return set;
}

/* Fills v from the data set `name`, which is open in v->set; false where it is no field. */
static bool describe(struct wl_variable *v, int fd)
{
    hsize_t d[H5S_MAX_RANK] = { 0 };
    hid_t space = H5Dget_space(v->set), type = H5Dget_type(v->set);
    const int rank = H5Sget_simple_extent_dims(space, d, NULL);
    const H5T_class_t class = H5Tget_class(type);
    H5Tclose(type);
    H5Sclose(space);
    if ((rank != 3 && rank != 4) || (class != H5T_FLOAT && class != H5T_INTEGER)) return false;
    v->has_levels = rank == 4;
    v->times = (int64_t)d[0];
    v->levels = rank == 4 ? (int64_t)d[1] : 1;
    v->height = (int64_t)d[rank - 2];
    v->width = (int64_t)d[rank - 1];
    v->scale = attribute(v->set, "scale_factor", 1);
    v->offset = attribute(v->set, "add_offset", 0);
    v->missing[0] = attribute(v->set, "_FillValue", NAN);
    v->missing[1] = attribute(v->set, "missing_value", NAN);
    find_place(v, fd);
    return true;
}

static int add_variable(struct wl_variables *out, size_t *cap, const struct file *f, const char *path, const char *name,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_variable v = { .path = path, .name = wl_strdup(a, name) };
    v.set = open_cached(f, name);
    if (v.set < 0) return wl_hdf5_fail(e, "%s: %s", path, name);
    hid_t *kept = wl_new(a, hid_t);
    *kept = v.set;
    wl_defer(a, close_set, kept);
    if (!describe(&v, f->fd)) return 0;
    WL_GROW(a, out->v, out->n, *cap);
    out->v[out->n++] = v;
    return 0;
}

/* Data sets of the root group, by name. */
static int list(struct wl_variables *out, const struct file *f, const char *path, struct wl_arena *a, struct wl_err *e)
{
    H5G_info_t group;
    size_t cap = 0;
    int rc = 0;
    if (H5Gget_info(f->id, &group) < 0) return wl_hdf5_fail(e, "%s", path);
    for (hsize_t i = 0; i < group.nlinks && !rc; i++) {
        char name[256];
        H5O_info_t about;
        if (H5Lget_name_by_idx(f->id, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) < 0 ||
            H5Oget_info_by_name2(f->id, name, &about, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
            return wl_hdf5_fail(e, "%s: entry %lld", path, (long long)i);
        if (about.type == H5O_TYPE_DATASET) rc = add_variable(out, &cap, f, path, name, a, e);
    }
    return rc;
}

/* NetCDF's older formats begin so; HDF5 says nothing of use about them. */
static bool is_classic(int fd)
{
    char magic[4] = "";
    return pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "CDF", 3);
}

static int open_file(struct file *f, const char *path, struct wl_arena *a, struct wl_err *e)
{
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0) return wl_fail_errno(e, "%s", path);
    const bool classic = is_classic(f->fd);
    wl_hdf5_lock();
    f->id = classic ? -1 : H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    int rc = f->id < 0 && !classic ? wl_hdf5_fail(e, "%s", path) : 0;
    wl_hdf5_unlock();
    if (classic)
        rc = wl_fail(e, WL_EINVAL, "%s: is NetCDF of the classic format; nccopy -k netCDF-4 IN OUT makes HDF5 of it",
                     path);
    if (rc)
        close(f->fd);
    else
        wl_defer(a, close_file, f);
    return rc;
}

int wl_variables_open(struct wl_variables *out, const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct file *f = wl_new(a, struct file);
    *out = (struct wl_variables) { 0 };
    int rc = open_file(f, path, a, e);
    if (rc) return rc;
    wl_hdf5_lock();
    rc = list(out, f, path, a, e);
    wl_hdf5_unlock();
    if (rc || out->n) return rc;
    return wl_fail(e, WL_EINVAL,
                   "%s: holds no variable [time, latitude, longitude] or [time, level, latitude, longitude]", path);
}

/* ---- reading ---- */

static int read_plain(const struct wl_variable *v, int64_t time, int64_t level, int64_t height, float *to,
                      struct wl_err *e)
{
    const int64_t plane = v->height * v->width;
    int64_t at = v->at + (time * v->levels + level) * plane * (int64_t)sizeof(float);
    size_t left = (size_t)(height * v->width) * sizeof(float);
    for (char *p = (char *)to; left;) {
        const ssize_t n = pread(v->fd, p, left, at);
        if (n < 0) return wl_fail_errno(e, "%s: %s, time %lld", v->path, v->name, (long long)time);
        if (n == 0)
            return wl_fail(e, WL_EIO, "%s: %s, time %lld: the file is cut off", v->path, v->name, (long long)time);
        p += n;
        at += n;
        left -= (size_t)n;
    }
    return 0;
}

static int read_library(const struct wl_variable *v, int64_t time, int64_t level, int64_t height, float *to,
                        struct wl_err *e)
{
    const hsize_t from4[] = { (hsize_t)time, (hsize_t)level, 0, 0 },
                  n4[] = { 1, 1, (hsize_t)height, (hsize_t)v->width };
    const hsize_t from3[] = { (hsize_t)time, 0, 0 }, n3[] = { 1, (hsize_t)height, (hsize_t)v->width };
    wl_hdf5_lock();
    hid_t in_file = H5Dget_space(v->set), in_memory = H5Screate_simple(3, n3, NULL);
    herr_t done = H5Sselect_hyperslab(in_file, H5S_SELECT_SET, v->has_levels ? from4 : from3, NULL,
                                      v->has_levels ? n4 : n3, NULL);
    if (done >= 0) done = H5Dread(v->set, H5T_NATIVE_FLOAT, in_memory, in_file, H5P_DEFAULT, to);
    int rc = done < 0 ? wl_hdf5_fail(e, "%s: %s, time %lld", v->path, v->name, (long long)time) : 0;
    H5Sclose(in_memory);
    H5Sclose(in_file);
    wl_hdf5_unlock();
    return rc;
}

int wl_variable_read(const struct wl_variable *v, int64_t time, int64_t level, int64_t height, float *to,
                     struct wl_err *e)
{
    int rc = v->plain ? read_plain(v, time, level, height, to, e) : read_library(v, time, level, height, to, e);
    if (rc) return rc;
    const float scale = (float)v->scale, offset = (float)v->offset,
                none[2] = { (float)v->missing[0], (float)v->missing[1] };
    for (int64_t i = 0; i < height * v->width; i++) {
        if (!isfinite(to[i]) || to[i] == none[0] || to[i] == none[1])
            return wl_fail(e, WL_EINVAL, "%s: %s, time %lld, row %lld, column %lld: no number", v->path, v->name,
                           (long long)time, (long long)(i / v->width), (long long)(i % v->width));
        to[i] = to[i] * scale + offset;
    }
    return 0;
}
