/* HDF5 files made to break their reader: unsupported filters, links, types and sizes. */
#include "era5_file.h"
#include "era5_temp_dir.h"

enum { H = 8, W = 16, TIMES = 4 };

/* A data set of one time, without values. */
static hid_t create_dataset(hid_t file, const char *name, hid_t type, int rank, const hsize_t *d, hid_t properties)
{
    hid_t space = H5Screate_simple(rank, d, NULL);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Sclose(space);
    return set;
}

/* HDF5 calls a filter that packs, and forgets it again: the file then lacks it. */
static size_t filter(unsigned flags, size_t n_values, const unsigned *values, size_t n, size_t *size, void **data)
{
    (void)flags, (void)n_values, (void)values, (void)size, (void)data;
    return n;
}

static void write_filtered(hid_t file)
{
    enum { ID = 300 };
    const hsize_t d[] = { TIMES, H, W };
    const H5Z_class2_t lost = { H5Z_CLASS_T_VERS, ID, 1, 1, "lost", NULL, NULL, filter };
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Zregister(&lost) >= 0);
    H5Pset_chunk(properties, 3, d);
    H5Pset_filter(properties, ID, H5Z_FLAG_MANDATORY, 0, NULL);
    H5Dclose(create_dataset(file, "t2m", H5T_IEEE_F32LE, 3, d, properties));
    H5Pclose(properties);
}

static void write_elsewhere(hid_t file)
{
    const hsize_t d[] = { TIMES, H, W };
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(properties, "/proc/nowhere", 0, TIMES * H * W * sizeof(float));
    H5Dclose(create_dataset(file, "t2m", H5T_IEEE_F32LE, 3, d, properties));
    H5Pclose(properties);
}

static void write_strings(hid_t file)
{
    const hsize_t d[] = { TIMES, H, W };
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Dclose(create_dataset(file, "t2m", type, 3, d, H5P_DEFAULT));
    H5Tclose(type);
}

static void write_huge(hid_t file)
{
    const hsize_t d[] = { 1, H, (hsize_t)1 << 40 }, chunk[] = { 1, H, W };
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 3, chunk);
    H5Dclose(create_dataset(file, "t2m", H5T_IEEE_F32LE, 3, d, properties));
    H5Pclose(properties);
}

static void write_five(hid_t file)
{
    const hsize_t d[] = { 1, 2, 3, H, W };
    H5Dclose(create_dataset(file, "t", H5T_IEEE_F32LE, 5, d, H5P_DEFAULT));
}

static void write_scaled(hid_t file, const char *name, const char *text)
{
    const hsize_t d[] = { TIMES, H, W };
    hid_t set = create_dataset(file, "t2m", H5T_STD_I16LE, 3, d, H5P_DEFAULT);
    if (text)
        era5_text(set, name, text);
    else
        era5_number(set, name, 0);
    H5Dclose(set);
}

static void write_scale_text(hid_t file) { write_scaled(file, "scale_factor", "one"); }
static void write_scale_zero(hid_t file) { write_scaled(file, "scale_factor", NULL); }
static void write_soft(hid_t file) { H5Lcreate_soft("/t2m", file, "t2m", H5P_DEFAULT, H5P_DEFAULT); }
static void write_group(hid_t file) { H5Lcreate_hard(file, "/", file, "group", H5P_DEFAULT, H5P_DEFAULT); }

static void write_external(hid_t file)
{
    H5Lcreate_external("/proc/other.h5", "/t2m", file, "t2m", H5P_DEFAULT, H5P_DEFAULT);
}

/* Values that NetCDF never wrote. */
static void write_unwritten(hid_t file)
{
    const hsize_t d[] = { TIMES, H, W };
    static const float fill = 9.9692099683868690e+36f;
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &fill);
    H5Dclose(create_dataset(file, "t2m", H5T_IEEE_F32LE, 3, d, properties));
    H5Pclose(properties);
}

static void hostile_files_are_refused(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_with_parts();
    struct wl_err e = { 0 };
    const struct {
        void (*write)(hid_t file);
        const char *error;
    } cases[] = {
        { write_filtered,
          "t2m: it is compressed with filter 300 lost, which this HDF5 does not have; set HDF5_PLUGIN_PATH" },
        { write_elsewhere, "t2m: its values are in external files, which are not read" },
        { write_strings, "t2m: it does not contain numbers" },
        { write_huge, "t2m: 1 times of 1 levels of 8 x 2147483647 points; expected at most" },
        { write_five, "t: it has 5 dimensions; expected [time, (level,) latitude, longitude]" },
        { write_scale_text, "t2m: its attribute scale_factor is not a single number" },
        { write_scale_zero, "t2m: its scale_factor is 0 and its add_offset 0" },
        { write_soft, "t2m is a link to another name; expected data sets in the file itself" },
        { write_external, "t2m is a link to another file; expected data sets in the file itself" },
        { write_group, "has no variable [time, latitude, longitude] or [time, level, latitude, longitude]" },
        { write_unwritten, "t2m, time 0, row 0, column 0: missing or not a finite number" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hid_t file = H5Fcreate(era5_path(&p, "train/2020.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        cases[i].write(file);
        H5Fclose(file);
        H5Zunregister(300);
        expect(wl_era5_statistics(p.dir, 0, false, p.a, &e), WL_EINVAL, &e, cases[i].error);
    }
    assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    temp_dir_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(hostile_files_are_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
