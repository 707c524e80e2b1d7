#include "data/era5/variables.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CACHE = 256 << 20 };

struct file {
    hid_t id;
    int fd;
    struct wl_era5_coordinates axes;
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

/* ---- one variable ---- */

/* Finds the offset of a data set that is contiguous and in our own float format. */
static void find_offset(struct wl_era5_variable *v, hid_t type, hid_t how, int fd)
{
    const haddr_t at = H5Dget_offset(v->set);
    v->contiguous = H5Tequal(type, H5T_NATIVE_FLOAT) > 0 && H5Pget_layout(how) == H5D_CONTIGUOUS && at != HADDR_UNDEF &&
                    at <= INT64_MAX / 2;
    v->offset = (int64_t)at;
    v->fd = fd;
}

/* External files could be anywhere on the machine; filters may be plug-ins that are not installed. */
static int check_storage(hid_t how, struct wl_err *e)
{
    if (H5Pget_layout(how) == H5D_VIRTUAL || H5Pget_external_count(how) > 0)
        return wl_fail(
            e, WL_EINVAL,
            "its values are in external files, which are not read; h5repack or nccopy copies them into one file");
    for (unsigned i = 0; i < (unsigned)H5Pget_nfilters(how); i++) {
        char name[64] = "";
        size_t values = 0;
        unsigned flags, config;
        const H5Z_filter_t id = H5Pget_filter2(how, i, &flags, &values, NULL, sizeof name, name, &config);
        if (H5Zfilter_avail(id) <= 0)
            return wl_fail(e, WL_EINVAL,
                           "it is compressed with filter %d%s%s, which this HDF5 does not have; set HDF5_PLUGIN_PATH "
                           "to the folder "
                           "of the plug-in, or convert with `h5repack -f GZIP=1 IN OUT`",
                           (int)id, *name ? " " : "", name);
    }
    return 0;
}

/* Bytes of the chunks of one time, up to a limit. A chunk with several times would be decompressed for each of them if
 * it did not stay in the cache from one sample to the next. */
static size_t cache_size(hid_t how, int rank, const hsize_t *d)
{
    hsize_t chunk[H5S_MAX_RANK], bytes = sizeof(float);
    if (H5Pget_chunk(how, rank, chunk) != rank) return 0;
    for (int i = 0; i < rank; i++) {
        const hsize_t chunks = i && chunk[i] ? (d[i] - 1) / chunk[i] + 1 : 1;
        if (!chunk[i] || bytes > MAX_CACHE / chunks / chunk[i]) return MAX_CACHE;
        bytes *= chunks * chunk[i];
    }
    return (size_t)bytes;
}

static void open_cached(struct wl_era5_variable *v, hid_t file, hid_t how, int rank, const hsize_t *d)
{
    if (H5Pget_layout(how) != H5D_CHUNKED) return;
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT, cache_size(how, rank, d), 1.0);
    H5Dclose(v->set);
    v->set = H5Dopen2(file, v->name, access);
    H5Pclose(access);
}

static int check_shape(const struct wl_era5_variable *v, struct wl_err *e)
{
    const struct wl_era5_coordinates *axes = v->axes;
    const double numbers = (double)v->times * (double)v->levels * (double)v->height * (double)v->width;
    if (numbers > 1e16 || v->times > WL_ERA5_MAX_TIMES || v->levels < 1 || v->levels > WL_ERA5_MAX_LEVELS ||
        v->height < 1 || v->height > WL_ERA5_MAX_POINTS || v->width < 1 || v->width > WL_ERA5_MAX_POINTS)
        return wl_fail(
            e, WL_EINVAL,
            "%lld times of %lld levels of %lld x %lld points; expected at most %d, 1 to %d, 1 to %d by 1 to %d",
            (long long)v->times, (long long)v->levels, (long long)v->height, (long long)v->width, WL_ERA5_MAX_TIMES,
            WL_ERA5_MAX_LEVELS, WL_ERA5_MAX_POINTS, WL_ERA5_MAX_POINTS);
    const struct {
        const char *name;
        int64_t axis, own;
    } pairs[] = {
        { "times", axes->time_s ? axes->times : v->times, v->times },
        { "latitudes", axes->latitude ? axes->height : v->height, v->height },
        { "longitudes", axes->longitude ? axes->width : v->width, v->width },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].axis != pairs[i].own)
            return wl_fail(
                e, WL_EINVAL,
                "it has %lld %s, but the file's coordinate has %lld; expected [time, (level,) latitude, longitude]",
                (long long)pairs[i].own, pairs[i].name, (long long)pairs[i].axis);
    return 0;
}

/* Reads scale, offset and fill values. Values that NetCDF never wrote are the fill value of the data set; a fill value
 * of 0 is ignored, as 0 may be a valid value. */
static int read_packing(struct wl_era5_variable *v, hid_t how, struct wl_err *e)
{
    H5D_fill_value_t kind = H5D_FILL_VALUE_UNDEFINED;
    v->scale_factor = 1;
    v->fill_values[0] = v->fill_values[1] = v->fill_values[2] = NAN;
    int rc = wl_hdf5_attribute_number(v->set, "scale_factor", &v->scale_factor, e);
    if (!rc) rc = wl_hdf5_attribute_number(v->set, "add_offset", &v->add_offset, e);
    if (!rc) rc = wl_hdf5_attribute_number(v->set, "_FillValue", &v->fill_values[0], e);
    if (!rc) rc = wl_hdf5_attribute_number(v->set, "missing_value", &v->fill_values[1], e);
    if (rc) return rc;
    if (!isfinite(v->scale_factor) || !isfinite(v->add_offset) || v->scale_factor == 0)
        return wl_fail(
            e, WL_EINVAL,
            "its scale_factor is %g and its add_offset %g; expected finite numbers, and a scale_factor other than 0",
            v->scale_factor, v->add_offset);
    if (H5Pfill_value_defined(how, &kind) >= 0 && kind == H5D_FILL_VALUE_USER_DEFINED &&
        (H5Pget_fill_value(how, H5T_NATIVE_DOUBLE, &v->fill_values[2]) < 0 || v->fill_values[2] == 0))
        v->fill_values[2] = NAN;
    return 0;
}

/* A unit of printable characters, as it is shown in tables, marks and figures. In ERA5's files "~" means unknown. */
static const char *read_unit(hid_t set, struct wl_arena *a)
{
    enum { MAX_LENGTH = 40 };
    const char *text = wl_str_strip(a, wl_hdf5_attribute_text(set, "units", a));
    const char *p = text;
    for (size_t n; (n = wl_utf8_length(p)) > 0 && (n > 1 || isprint((unsigned char)*p));) p += n;
    if (*p || !*text || p - text > MAX_LENGTH || wl_str_eq(text, "~") || wl_str_eq(text, "unknown")) return NULL;
    return text;
}

/* Fills v from its data set; *is_field: it has at least three dimensions. */
static int describe(struct wl_era5_variable *v, const struct file *f, bool *is_field, struct wl_arena *a,
                    struct wl_err *e)
{
    hsize_t d[H5S_MAX_RANK] = { 0 };
    hid_t space = H5Dget_space(v->set), type = H5Dget_type(v->set), how = H5Dget_create_plist(v->set);
    const int rank = H5Sget_simple_extent_ndims(space) >= 3 ? H5Sget_simple_extent_dims(space, d, NULL) : 0;
    const H5T_class_t class = H5Tget_class(type);
    int rc = 0;
    *is_field = rank >= 3;
    if (rank > 4)
        rc = wl_fail(e, WL_EINVAL, "it has %d dimensions; expected [time, (level,) latitude, longitude]", rank);
    else if (rank && class != H5T_FLOAT && class != H5T_INTEGER)
        rc = wl_fail(e, WL_EINVAL, "it does not contain numbers");
    if (rank && !rc) {
        for (int i = 0; i < rank; i++) d[i] = d[i] > INT32_MAX ? INT32_MAX : d[i]; /* more than any limit */
        v->has_levels = rank == 4;
        v->times = (int64_t)d[0];
        v->levels = rank == 4 ? (int64_t)d[1] : 1;
        v->height = (int64_t)d[rank - 2];
        v->width = (int64_t)d[rank - 1];
        v->unit = read_unit(v->set, a);
        rc = check_shape(v, e);
        if (!rc) rc = check_storage(how, e);
        if (!rc) rc = read_packing(v, how, e);
        if (!rc && v->has_levels) rc = wl_era5_levels_read(&v->level, f->id, v->levels, a, e);
        if (!rc) open_cached(v, f->id, how, rank, d);
        if (!rc) find_offset(v, type, how, f->fd);
    }
    H5Pclose(how);
    H5Tclose(type);
    H5Sclose(space);
    return rc;
}

static int add_variable(struct wl_era5_variables *out, size_t *cap, const struct file *f, const char *path,
                        const char *name, struct wl_arena *a, struct wl_err *e)
{
    struct wl_era5_variable v = { .path = path, .name = wl_strdup(a, name), .axes = &f->axes };
    bool is_field = false;
    v.set = H5Dopen2(f->id, name, H5P_DEFAULT);
    if (v.set < 0) return wl_hdf5_fail(e, "%s: %s", path, name);
    int rc = describe(&v, f, &is_field, a, e);
    if (!rc && v.set < 0) rc = wl_hdf5_fail(e, "it cannot be reopened");
    if (!rc && is_field) {
        hid_t *kept = wl_new(a, hid_t);
        *kept = v.set;
        wl_defer(a, close_set, kept);
        WL_GROW(a, out->v, out->n, *cap);
        out->v[out->n++] = v;
        return 0;
    }
    if (v.set >= 0) H5Dclose(v.set);
    return rc ? wl_err_prefix(e, "%s: %s", path, name) : 0;
}

/* ---- the variables of a file ---- */

/* Soft and external links may lead in circles, or to other files. */
static int check_link(const struct file *f, const char *path, const char *name, struct wl_err *e)
{
    H5L_info_t link;
    if (H5Lget_info(f->id, name, &link, H5P_DEFAULT) < 0) return wl_hdf5_fail(e, "%s: %s", path, name);
    if (link.type == H5L_TYPE_HARD) return 0;
    return wl_fail(e, WL_EINVAL, "%s: %s is a link %s; expected data sets in the file itself", path, name,
                   link.type == H5L_TYPE_SOFT ? "to another name" : "to another file");
}

/* Data sets of the root group, by name. */
static int list(struct wl_era5_variables *out, const struct file *f, const char *path, struct wl_arena *a,
                struct wl_err *e)
{
    H5G_info_t group;
    size_t cap = 0;
    int rc = 0;
    if (H5Gget_info(f->id, &group) < 0) return wl_hdf5_fail(e, "%s", path);
    for (hsize_t i = 0; i < group.nlinks && !rc; i++) {
        char name[256];
        if (H5Lget_name_by_idx(f->id, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) < 0)
            return wl_hdf5_fail(e, "%s: entry %lld", path, (long long)i);
        rc = check_link(f, path, name, e);
        if (!rc && wl_hdf5_has_dataset(f->id, name)) rc = add_variable(out, &cap, f, path, name, a, e);
    }
    return rc;
}

/* NetCDF's classic formats, for which HDF5's own message does not help. */
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
        rc = wl_fail(e, WL_EINVAL,
                     "%s: NetCDF classic format; expected NetCDF-4: convert with `nccopy -k netCDF-4 IN OUT`", path);
    if (rc)
        close(f->fd);
    else
        wl_defer(a, close_file, f);
    return rc;
}

int wl_era5_variables_open(struct wl_era5_variables *out, const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct file *f = wl_new(a, struct file);
    *out = (struct wl_era5_variables) { 0 };
    int rc = open_file(f, path, a, e);
    if (rc) return rc;
    wl_hdf5_lock();
    rc = wl_era5_coordinates_read(&f->axes, f->id, a, e);
    rc = rc ? wl_err_prefix(e, "%s", path) : list(out, f, path, a, e);
    wl_hdf5_unlock();
    if (rc || out->n) return rc;
    return wl_fail(e, WL_EINVAL,
                   "%s: has no variable [time, latitude, longitude] or [time, level, latitude, longitude]", path);
}
