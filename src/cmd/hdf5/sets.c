#include "cmd/hdf5/sets.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 1000000, MOST_TEXTS = 4096, LONGEST_TEXT = 256 };

int wl_hdf5_open(struct wl_hdf5_file *f, void *bytes, size_t n, struct wl_arena *a, struct wl_err *e)
{
    enum { NUMBERS_PER_BYTE = 16, STEP = 1 << 20 }; /* compressed; without that a number has a byte at least */
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    *f = (struct wl_hdf5_file) { .id = -1, .room = (uint64_t)n * NUMBERS_PER_BYTE, .a = a };
    if (H5Pset_fapl_core(access, STEP, false) >= 0 && H5Pset_file_image(access, bytes, n) >= 0)
        f->id = H5Fopen("file", H5F_ACC_RDONLY, access);
    int rc = f->id < 0 ? wl_hdf5_fail(e, "damaged") : 0; /* before the next call forgets why */
    H5Pclose(access);
    return rc;
}

/* ---- groups ---- */

int wl_hdf5_group(hid_t parent, const char *name, hid_t *out, struct wl_err *e)
{
    H5L_info_t link;
    *out = -1;
    const htri_t exists = H5Lexists(parent, name, H5P_DEFAULT);
    if (exists == 0) return 0;
    if (exists < 0 || H5Lget_info(parent, name, &link, H5P_DEFAULT) < 0) return wl_hdf5_fail(e, "%s: damaged", name);
    if (link.type != H5L_TYPE_HARD) return 0;
    hid_t object = H5Oopen(parent, name, H5P_DEFAULT);
    if (object < 0) return wl_hdf5_fail(e, "%s: damaged", name);
    if (H5Iget_type(object) == H5I_GROUP) {
        *out = object;
        return 1;
    }
    H5Oclose(object);
    return 0;
}

struct names {
    struct wl_strs *to;
    struct wl_arena *a;
};

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *link, void *names)
{
    struct names *n = names;
    (void)group;
    if (n->to->n == MOST_NAMES) return -1;
    if (link->type == H5L_TYPE_HARD) wl_strs_add(n->a, n->to, name);
    return 0;
}

static int by_version(const void *x, const void *y) { return strverscmp(*(char *const *)x, *(char *const *)y); }

int wl_hdf5_names(hid_t group, struct wl_strs *out, struct wl_arena *a, struct wl_err *e)
{
    struct names names = { out, a };
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_name, &names) < 0) {
        if (out->n == MOST_NAMES) return wl_fail(e, WL_EINVAL, "a group with more than %d members", MOST_NAMES);
        return wl_hdf5_fail(e, "a group");
    }
    if (out->n) qsort(out->v, out->n, sizeof *out->v, by_version);
    return 0;
}

/* ---- data sets ---- */

static bool is_number(hid_t type)
{
    const H5T_class_t class = H5Tget_class(type);
    return class == H5T_FLOAT || class == H5T_INTEGER;
}

/* The set's rank and dimensions, [2]; -1 where it has more. */
static int dims_of(hid_t set, hsize_t dims[2])
{
    hid_t space = H5Dget_space(set);
    const int rank = H5Sget_simple_extent_type(space) == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : -1;
    dims[0] = dims[1] = 1;
    if (rank == 1 || rank == 2) H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    return rank == 1 || rank == 2 ? rank : -1;
}

/* How many chunks a whole set [rows,columns] has; 0: it has none, being in one piece. */
static hsize_t chunks_of(hid_t set, const hsize_t dims[2])
{
    hsize_t size[2] = { 1, 1 };
    hid_t how = H5Dget_create_plist(set);
    const bool chunked = H5Pget_layout(how) == H5D_CHUNKED && H5Pget_chunk(how, 2, size) > 0 && size[0] && size[1];
    H5Pclose(how);
    return chunked ? ((dims[0] - 1) / size[0] + 1) * ((dims[1] - 1) / size[1] + 1) : 0;
}

/* What was not, the library reads as fill values: invented ones. The status of compressed chunks says less. */
static bool is_written(hid_t set, const hsize_t dims[2])
{
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    hsize_t written = 0;
    if (dims[0] == 0 || dims[1] == 0) return true;
    const hsize_t all = chunks_of(set, dims);
    if (all) {
        hid_t space = H5Dget_space(set); /* 1.10 does not take H5S_ALL here */
        const bool counted = H5Dget_num_chunks(set, space, &written) >= 0;
        H5Sclose(space);
        return counted && written == all;
    }
    return H5Dget_space_status(set, &status) >= 0 && status == H5D_SPACE_STATUS_ALLOCATED;
}

static int check_numbers(struct wl_hdf5_file *f, hid_t set, const char *name, struct wl_hdf5_numbers *out,
                         struct wl_err *e)
{
    hsize_t dims[2], all;
    hid_t type = H5Dget_type(set);
    const bool numbers = is_number(type);
    H5Tclose(type);
    if (!numbers) return wl_fail(e, WL_EINVAL, "%s holds no numbers", name);
    if (dims_of(set, dims) < 0) return wl_fail(e, WL_EINVAL, "%s is neither a list nor a table", name);
    if (!is_written(set, dims)) return wl_fail(e, WL_EINVAL, "%s: not all of its numbers were written", name);
    if (__builtin_mul_overflow(dims[0], dims[1], &all) || all > f->room || dims[1] > MOST_TEXTS)
        return wl_fail(e, WL_EINVAL, "%s: [%llu,%llu] numbers are more than the file can hold: damaged", name,
                       (unsigned long long)dims[0], (unsigned long long)dims[1]);
    f->room -= all;
    *out = (struct wl_hdf5_numbers) { set, dims[0], dims[1] };
    return 0;
}

int wl_hdf5_numbers_open(struct wl_hdf5_file *f, hid_t group, const char *name, struct wl_hdf5_numbers *out,
                         struct wl_err *e)
{
    *out = (struct wl_hdf5_numbers) { .set = -1 };
    if (!wl_hdf5_has_dataset(group, name))
        return wl_fail(e, WL_EINVAL, "no data set %s in the file itself (links are not followed)", name);
    hid_t set = H5Dopen2(group, name, H5P_DEFAULT);
    if (set < 0) return wl_hdf5_fail(e, "%s", name);
    int rc = check_numbers(f, set, name, out, e);
    if (rc < 0) H5Dclose(set);
    return rc;
}

int wl_hdf5_numbers_read(const struct wl_hdf5_numbers *s, hsize_t first, hsize_t n, double *to, struct wl_err *e)
{
    const hsize_t start[2] = { first, 0 }, count[2] = { n, s->columns }, all = n * s->columns;
    hid_t from = H5Dget_space(s->set), memory = H5Screate_simple(1, &all, NULL);
    const bool read = H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                      H5Dread(s->set, H5T_NATIVE_DOUBLE, memory, from, H5P_DEFAULT, to) >= 0;
    int rc = read ? 0 : wl_hdf5_fail(e, "cannot read numbers"); /* before the next call forgets why */
    H5Sclose(memory);
    H5Sclose(from);
    return rc;
}

void wl_hdf5_numbers_close(struct wl_hdf5_numbers *s)
{
    if (s->set >= 0) H5Dclose(s->set);
    s->set = -1;
}

static int read_texts(hid_t set, hid_t type, const char *name, struct wl_strs *out, struct wl_arena *a,
                      struct wl_err *e)
{
    hsize_t dims[2];
    const size_t size = H5Tget_size(type);
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 || dims_of(set, dims) != 1)
        return wl_fail(e, WL_EINVAL, "%s is not a list of texts", name);
    if (size == 0 || size > LONGEST_TEXT || dims[0] > MOST_TEXTS)
        return wl_fail(e, WL_EINVAL, "%s: %llu texts of %zu bytes are too many or too long", name,
                       (unsigned long long)dims[0], size);
    char *all = wl_alloc(a, dims[0] * size + 1);
    if (dims[0] && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) < 0) return wl_hdf5_fail(e, "%s", name);
    for (hsize_t i = 0; i < dims[0]; i++)
        wl_strs_add(a, out, wl_strndup(a, all + i * size, strnlen(all + i * size, size)));
    return 0;
}

int wl_hdf5_texts(hid_t group, const char *name, struct wl_strs *out, struct wl_arena *a, struct wl_err *e)
{
    if (!wl_hdf5_has_dataset(group, name))
        return wl_fail(e, WL_EINVAL, "no data set %s in the file itself (links are not followed)", name);
    hid_t set = H5Dopen2(group, name, H5P_DEFAULT);
    if (set < 0) return wl_hdf5_fail(e, "%s", name);
    hid_t type = H5Dget_type(set);
    int rc = read_texts(set, type, name, out, a, e);
    H5Tclose(type);
    H5Dclose(set);
    return rc;
}

/* ---- text ---- */

void wl_hdf5_put(struct wl_text *line, const char *field, struct wl_arena *a)
{
    char *copy = wl_strdup(a, field);
    for (char *p = copy; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f || *p == '"') *p = ' ';
    wl_csv_put(line, copy);
}
