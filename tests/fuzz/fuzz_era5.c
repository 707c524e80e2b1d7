/* HDF5 files that the library writes as the input says: any shapes, types, layouts, filters, attributes and links under
 * the names that fields and coordinates have. Opened and read, or refused with a message; no handle stays open.
 * An input that begins as HDF5 does is the file itself. That fuzzes the library too, which crashes on some
 * damaged files: it is for a search by hand, not for a test. */
#include "fuzz.h"

#include "data/era5/years.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_OBJECTS = 8, MOST_NUMBERS = 1 << 12, MOST_RANK = 5, LOST_FILTER = 300 };

/* The rest of the input; zeros after its end. */
struct bytes {
    const uint8_t *p;
    size_t n;
};

static uint8_t next(struct bytes *b)
{
    if (!b->n) return 0;
    b->n--;
    return *b->p++;
}

static double next_number(struct bytes *b)
{
    static const double special[] = { 0, 1, -1, 0.5, 90, -90, 360, 1e30, -32767, NAN, INFINITY, 1e300, 6, 12, 18, 24 };
    const uint8_t kind = next(b);
    if (kind % 2) return special[kind / 2 % (sizeof special / sizeof *special)];
    return (double)next(b) - kind;
}

static const char *next_name(struct bytes *b)
{
    static const char *const names[] = { "valid_time", "time",   "latitude", "lat", "longitude", "lon", "level",
                                         "plev",       "expver", "fields",   "t2m", "z",         "u" };
    return names[next(b) % (sizeof names / sizeof *names)];
}

static const char *next_text(struct bytes *b)
{
    static const char *const texts[] = { "hours since 2020-01-01 00:00:00.0",
                                         "seconds since 1970-01-01T00:00:00Z",
                                         "days since 1-1-1",
                                         "hours since 2020-99-01",
                                         "standard",
                                         "noleap",
                                         "This is a netCDF dimension but not a netCDF variable.  9",
                                         "" };
    return texts[next(b) % (sizeof texts / sizeof *texts)];
}

static hid_t next_type(struct bytes *b)
{
    const hid_t numbers[] = {
        H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_IEEE_F32BE, H5T_STD_I16LE, H5T_STD_U64LE, H5T_STD_I8LE
    };
    const uint8_t kind = next(b);
    hid_t type;
    switch (kind % 16) {
    case 0: return H5Tarray_create2(H5T_IEEE_F32LE, 1, &(hsize_t) { 2 });
    case 1: return H5Tenum_create(H5T_STD_I8LE);
    case 2: return H5Tvlen_create(H5T_IEEE_F32LE);
    case 3: return H5Tcreate(H5T_OPAQUE, 3);
    case 4: /* a text, of any length */
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, kind / 16 % 2 ? H5T_VARIABLE : 4);
        return type;
    case 5: return H5Tcopy(H5T_STD_REF_OBJ);
    default: return H5Tcopy(kind / 16 < 8 ? H5T_IEEE_F32LE : numbers[kind % (sizeof numbers / sizeof *numbers)]);
    }
}

static void add_attribute(struct bytes *b, hid_t set)
{
    static const char *const names[] = { "scale_factor", "add_offset", "_FillValue", "missing_value",
                                         "units",        "calendar",   "NAME" };
    const char *name = names[next(b) % (sizeof names / sizeof *names)], *text = next_text(b);
    const uint8_t kind = next(b);
    const double v[2] = { next_number(b), next_number(b) };
    hid_t space = kind % 8 == 0   ? H5Screate(H5S_NULL)
                  : kind % 8 == 1 ? H5Screate_simple(1, &(hsize_t) { 2 }, NULL)
                                  : H5Screate(H5S_SCALAR);
    hid_t type = kind / 8 % 2 ? H5Tcopy(H5T_IEEE_F64LE) : H5Tcopy(H5T_C_S1);
    if (!(kind / 8 % 2)) H5Tset_size(type, kind / 16 % 2 ? H5T_VARIABLE : strlen(text) + 1);
    hid_t a = H5Acreate2(set, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (kind / 8 % 2)
        H5Awrite(a, type, v);
    else if (kind % 8 > 1)
        H5Awrite(a, type, kind / 16 % 2 ? (const void *)&text : text);
    H5Aclose(a);
    H5Tclose(type);
    H5Sclose(space);
}

static void set_layout(struct bytes *b, hid_t how, int rank)
{
    static const hsize_t sizes[] = { 1, 2, 3, 8, 16, 1 << 16 };
    const uint8_t kind = next(b), filters = next(b);
    hsize_t chunk[MOST_RANK];
    for (int i = 0; i < rank; i++) chunk[i] = sizes[next(b) % (sizeof sizes / sizeof *sizes)];
    if (kind % 8 == 0) {
        H5Pset_external(how, "/proc/nowhere", 0, H5F_UNLIMITED);
    } else if (kind % 8 == 1) {
        H5Pset_layout(how, H5D_COMPACT);
    } else if (kind % 8 < 5 && rank) {
        H5Pset_chunk(how, rank, chunk);
        if (filters & 1) H5Pset_deflate(how, 1);
        if (filters & 2) H5Pset_shuffle(how);
        if (filters & 4) H5Pset_filter(how, LOST_FILTER, H5Z_FLAG_OPTIONAL, 0, NULL);
        if (filters & 8) H5Pset_fletcher32(how);
    }
}

static void write_numbers(struct bytes *b, hid_t set, hid_t space)
{
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    double v[MOST_NUMBERS], at = next_number(b);
    const double step = next_number(b);
    const int odd = next(b);
    for (int i = 0; i < MOST_NUMBERS; i++, at += step) v[i] = at;
    if (odd > 0) v[odd] = next_number(b);
    if (n > 0 && n <= MOST_NUMBERS) H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
}

static void add_set(struct bytes *b, hid_t file, const char *name)
{
    static const hsize_t sizes[] = { 4, 9, 16, 8, 4, 9, 16, 1, 2, 0, 1 << 17, (hsize_t)1 << 33, (hsize_t)1 << 62 };
    const int rank = next(b) % (MOST_RANK + 1);
    hsize_t d[MOST_RANK];
    for (int i = 0; i < rank; i++) d[i] = sizes[next(b) % (sizeof sizes / sizeof *sizes)];
    hid_t type = next_type(b), space = rank ? H5Screate_simple(rank, d, NULL) : H5Screate(H5S_SCALAR),
          how = H5Pcreate(H5P_DATASET_CREATE);
    const double fill = next_number(b);
    set_layout(b, how, rank);
    if (next(b) % 4 == 0) H5Pset_fill_value(how, H5T_NATIVE_DOUBLE, &fill);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    if (set >= 0) {
        write_numbers(b, set, space);
        for (int i = next(b) % 4; i > 0; i--) add_attribute(b, set);
        H5Dclose(set);
    }
    H5Pclose(how);
    H5Sclose(space);
    H5Tclose(type);
}

static void add_object(struct bytes *b, hid_t file)
{
    const char *name = next_name(b);
    switch (next(b) % 32) {
    case 0: H5Lcreate_soft(next_name(b), file, name, H5P_DEFAULT, H5P_DEFAULT); break;
    case 1: H5Lcreate_external("/proc/nowhere.h5", next_name(b), file, name, H5P_DEFAULT, H5P_DEFAULT); break;
    case 2: H5Lcreate_hard(file, "/", file, name, H5P_DEFAULT, H5P_DEFAULT); break;
    case 3: H5Lcreate_hard(file, next_name(b), file, name, H5P_DEFAULT, H5P_DEFAULT); break;
    case 4: H5Gclose(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); break;
    default: add_set(b, file, name);
    }
}

/* The bytes of a file with up to eight objects; NULL: the library writes none of that kind. */
static void *make_file(struct bytes *b, size_t *n, struct wl_arena *a)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, false);
    hid_t file = H5Fcreate("in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    for (int i = 0; i < MOST_OBJECTS && b->n; i++) add_object(b, file);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    const ssize_t size = H5Fget_file_image(file, NULL, 0);
    void *image = size > 0 ? wl_alloc(a, (size_t)size) : NULL;
    if (image) H5Fget_file_image(file, image, (size_t)size);
    *n = (size_t)size;
    H5Fclose(file);
    H5Pclose(access);
    return image;
}

static void read_ends(const struct wl_era5_variable *v, struct wl_arena *a)
{
    const int64_t points = v->height * v->width;
    WL_CHECK(v->times >= 0 && v->levels > 0 && points > 0);
    if (points > MOST_NUMBERS || v->times == 0) return;
    float *to = wl_new_array(a, float, (size_t)points);
    for (int last = 0; last < 2; last++) {
        struct wl_err e = { 0 };
        int rc = wl_era5_variable_read(v, last ? v->times - 1 : 0, last ? v->levels - 1 : 0, v->height, to, &e);
        WL_CHECK(rc == 0 || (rc < 0 && e.msg[0]));
        for (int64_t i = 0; i < points && !rc; i++) WL_CHECK(isfinite(to[i]));
    }
}

/* The library wants a file with a name: the same one each time. */
static char path[] = "/tmp/wl-fuzz-era5-XXXXXX";

static void remove_file(void) { (void)unlink(path); }

static int place(void)
{
    static bool made;
    if (made) return open(path, O_WRONLY | O_TRUNC);
    made = true;
    atexit(remove_file);
    return mkstemp(path);
}

static void open_and_read(const void *image, size_t n, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    struct wl_era5_variables found;
    int fd = place();
    WL_CHECK(fd >= 0 && write(fd, image, n) == (ssize_t)n);
    close(fd);
    int rc = wl_era5_variables_open(&found, path, a, &e);
    WL_CHECK(rc == 0 || (rc < 0 && e.code == rc && e.msg[0]));
    for (size_t i = 0; rc == 0 && i < found.n; i++) read_ends(&found.v[i], a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char magic[] = "\x89HDF\r\n\x1a\n";
    struct wl_arena *a = wl_arena_new(NULL);
    struct bytes b = { data, n };
    size_t size = n;
    const bool whole = n >= sizeof magic - 1 && !memcmp(data, magic, sizeof magic - 1);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const void *image = whole ? data : make_file(&b, &size, a);
    if (image) open_and_read(image, size, a);
    wl_arena_free(a);
    WL_CHECK(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == 0);
    return 0;
}
