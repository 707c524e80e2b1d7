/* ERA5 files: what is written synthetically is read as it was, both layouts, the cut, statistics, and what is wrong
 * with bad files. */
#include "era5_temp_dir.h"

#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { H = 8, W = 16, C = 5, TIMES = 6 };

static void write_weather(const struct era5_temp_dir *p)
{
    const struct wl_era5_synth_opts o = {
        .dir = p->dir, .height = H, .width = W, .channels = C, .years = 2, .times = TIMES, .seed = 3
    };
    struct wl_err e = { 0 };
    int64_t written;
    if (wl_era5_synth(&o, false, &written, p->a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(written, 3 * TIMES);
    assert_int_equal(wl_era5_synth(&o, false, &written, p->a, &e), 0);
    assert_int_equal(written, 0);
}

static int open_weather(const struct era5_temp_dir *p, int64_t patch, struct wl_era5 **d, struct wl_err *e)
{
    const struct wl_era5_opts o = { .dir = p->dir, .train = true, .targets = 1, .lead = 2, .patch = patch };
    return wl_era5_open(d, &o, p->a, e);
}

static int put(const struct wl_era5 *d, int64_t index, float *x, float *y, struct wl_err *e)
{
    const struct wl_dataset *s = wl_era5_dataset(d);
    return s->ops->write_sample(s, NULL, &(struct wl_epoch_key) { 0 }, index, (void *[]) { x, y }, e);
}

/* ---- the layout of FourCastNet ---- */

static void read_raw(const char *path, float *to)
{
    hid_t f = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(f, "fields", H5P_DEFAULT);
    assert_true(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0);
    H5Dclose(set);
    H5Fclose(f);
}

static void synthetic_fields_are_read_as_written(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_new();
    struct wl_era5 *d;
    struct wl_err e = { 0 };
    static float raw[TIMES * C * H * W], x[C * H * W], y[C * H * W];
    write_weather(&p);
    if (open_weather(&p, 4, &d, &e)) fail_msg("%s", e.msg);
    const struct wl_era5_grid *g = wl_era5_grid(d);
    assert_int_equal(g->channels, C);
    assert_int_equal(g->height, H);
    assert_int_equal(g->width, W);
    assert_string_equal(g->names[2], "height 1");
    assert_non_null(g->climatology);
    assert_float_equal(g->latitude[0], 90 - 180.0 / H / 2, 1e-12);
    assert_int_equal(wl_era5_dataset(d)->samples, 2 * (TIMES - 2));
    read_raw(era5_path(&p, "train/2002.h5"), raw);
    if (put(d, TIMES - 2 + 1, x, y, &e)) fail_msg("%s", e.msg); /* the second year's second time */
    for (int c = 0; c < C; c++)
        for (int i = 0; i < H * W; i++) {
            assert_float_equal(x[c * H * W + i] * g->deviation[c] + g->mean[c], raw[(C + c) * H * W + i],
                               1e-5 * (fabs(g->mean[c]) + g->deviation[c]));
            assert_float_equal(y[c * H * W + i] * g->deviation[c] + g->mean[c], raw[(3 * C + c) * H * W + i],
                               1e-5 * (fabs(g->mean[c]) + g->deviation[c]));
        }
    const struct wl_dataset *s = wl_era5_dataset(d);
    s->ops->pad(s, (void *[]) { x, y });
    assert_true(isnan(y[0]) && !isnan(x[0]));
    temp_dir_free(&p);
}

/* ---- variables, packed and compressed ---- */

static void attribute(hid_t set, const char *name, double value)
{
    hid_t space = H5Screate(H5S_SCALAR), a = H5Acreate2(set, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, H5T_NATIVE_DOUBLE, &value);
    H5Aclose(a);
    H5Sclose(space);
}

enum { ODD = 9, LEVELS = 2 };

/* t2m [time,lat,lon] of 16 bits, z [time,level,lat,lon] compressed, and a coordinate. */
static void write_variables(const char *path, int times, int lines, float base)
{
    const hsize_t d3[] = { (hsize_t)times, (hsize_t)lines, W }, d4[] = { (hsize_t)times, LEVELS, (hsize_t)lines, W };
    const hsize_t chunk[] = { 2, 1, (hsize_t)lines, W }, d1[] = { W };
    short t2m[TIMES * ODD * W];
    float z[TIMES * LEVELS * ODD * W], longitude[W];
    for (int i = 0; i < W; i++) longitude[i] = (float)i;
    for (int i = 0; i < times * lines * W; i++) t2m[i] = (short)(i % 1000);
    for (int i = 0; i < times * LEVELS * lines * W; i++) z[i] = base + (float)(i % 777);
    hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t s1 = H5Screate_simple(1, d1, NULL), s3 = H5Screate_simple(3, d3, NULL), s4 = H5Screate_simple(4, d4, NULL);
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 4, chunk);
    H5Pset_deflate(properties, 1);
    hid_t a = H5Dcreate2(f, "longitude", H5T_IEEE_F32LE, s1, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t b = H5Dcreate2(f, "t2m", H5T_STD_I16LE, s3, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t c = H5Dcreate2(f, "z", H5T_IEEE_F32LE, s4, H5P_DEFAULT, properties, H5P_DEFAULT);
    attribute(b, "scale_factor", 0.5);
    attribute(b, "add_offset", 200);
    attribute(b, "_FillValue", -32767);
    H5Dwrite(a, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, longitude);
    H5Dwrite(b, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, t2m);
    H5Dwrite(c, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, z);
    for (size_t i = 0; i < 3; i++) H5Dclose((hid_t[]) { a, b, c }[i]);
    for (size_t i = 0; i < 3; i++) H5Sclose((hid_t[]) { s1, s3, s4 }[i]);
    H5Pclose(properties);
    H5Fclose(f);
}

static void packed_and_compressed_variables_are_read(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_new();
    struct wl_era5 *d;
    struct wl_err e = { 0 };
    static float x[3 * H * W], y[3 * H * W];
    assert_int_equal(wl_mkdirs(era5_path(&p, "train"), &e), 0);
    write_variables(era5_path(&p, "train/era5_2020_all.nc"), TIMES, ODD, 0);
    expect(open_weather(&p, 4, &d, &e), WL_ENOENT, &e, "global_means.npy is missing; `wattlaw-train data era5");
    if (wl_era5_statistics(p.dir, 0, false, p.a, &e)) fail_msg("%s", e.msg);
    if (open_weather(&p, 4, &d, &e)) fail_msg("%s", e.msg);
    const struct wl_era5_grid *g = wl_era5_grid(d);
    assert_int_equal(g->channels, 3);
    assert_string_equal(g->names[0], "t2m");
    assert_string_equal(g->names[2], "z 1");
    assert_int_equal(g->height, 8);
    assert_float_equal(g->latitude[0], 90, 0);
    double sum = 0;
    for (int i = 0; i < TIMES * ODD * W; i++) sum += 200 + 0.5 * (i % 1000);
    assert_float_equal(g->mean[0], sum / (TIMES * ODD * W), 1e-3);
    /* the deviation about that mean, and the climatology as so many deviations from it: of point 5, over the times */
    double squares = 0, at_5 = 0;
    for (int i = 0; i < TIMES * ODD * W; i++) squares += pow(200 + 0.5 * (i % 1000) - sum / (TIMES * ODD * W), 2);
    assert_float_equal(g->deviation[0], sqrt(squares / (TIMES * ODD * W)), 1e-2);
    for (int t = 0; t < TIMES; t++) at_5 += (200 + 0.5 * ((t * ODD * W + 5) % 1000)) / TIMES;
    assert_float_equal(g->climatology[5], (at_5 - g->mean[0]) / g->deviation[0], 1e-4);
    if (put(d, 1, x, y, &e)) fail_msg("%s", e.msg);
    for (int i = 0; i < 8 * W; i++) {
        const int t2m = ODD * W + i, z = (3 * LEVELS + 1) * ODD * W + i; /* of time 1, and of time 3 and level 1 */
        assert_float_equal(x[i] * g->deviation[0] + g->mean[0], 200 + 0.5 * (t2m % 1000), 1e-2);
        assert_float_equal(y[2 * 8 * W + i] * g->deviation[2] + g->mean[2], (float)(z % 777), 1e-2);
    }
    expect(open_weather(&p, 5, &d, &e), WL_EINVAL, &e,
           "a grid of 9 x 16 points is not divisible into patches of 5 x 5");
    write_variables(era5_path(&p, "train/era5_2021_all.nc"), TIMES, 7, 0);
    expect(open_weather(&p, 4, &d, &e), WL_EINVAL, &e, "has 7 x 16 points, t2m in");
    temp_dir_free(&p);
}

/* ---- what is wrong ---- */

static void overwrite(const char *path, off_t at, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0 && pwrite(fd, bytes, n, at) == (ssize_t)n);
    close(fd);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_new();
    struct wl_era5 *d;
    struct wl_err e = { 0 };
    static float x[C * H * W], y[C * H * W];
    expect(open_weather(&p, 4, &d, &e), WL_ENOENT, &e, "train");
    assert_int_equal(wl_mkdirs(era5_path(&p, "train"), &e), 0);
    expect(open_weather(&p, 4, &d, &e), WL_EINVAL, &e, "has no .h5, .hdf5 or .nc file");
    assert_int_equal(wl_file_write(era5_path(&p, "train/2001.h5"), "what", 4, &e), 0);
    expect(open_weather(&p, 4, &d, &e), WL_ELIB, &e, "train/2001.h5: HDF5: ");
    assert_int_equal(wl_file_write(era5_path(&p, "train/2001.h5"), "CDF\1....", 8, &e), 0);
    expect(open_weather(&p, 4, &d, &e), WL_EINVAL, &e, "NetCDF classic format; expected NetCDF-4");
    temp_dir_free(&p);

    p = temp_dir_new();
    write_weather(&p);
    const char *year = era5_path(&p, "train/2002.h5");
    const float nan = NAN;
    const off_t data = 2048; /* after the header that the library writes */
    overwrite(year, data + (off_t)((C + 1) * H * W + 5) * 4, &nan, sizeof nan);
    struct era5_temp_dir open = { .a = wl_arena_new(p.a), .dir = p.dir };
    if (open_weather(&open, 4, &d, &e)) fail_msg("%s", e.msg);
    expect(put(d, TIMES - 2 + 1, x, y, &e), WL_EINVAL, &e,
           "fields, time 1, channel 1, row 0, column 5: missing or not a finite number");
    assert_int_equal(truncate(year, data + 100), 0);
    expect(put(d, TIMES - 2 + 1, x, y, &e), WL_EIO, &e, "time 1: the file is truncated");
    wl_arena_free(open.a);
    expect(open_weather(&p, 4, &d, &e), WL_ELIB, &e, "train/2002.h5: HDF5: ");
    assert_int_equal(unlink(year), 0);
    assert_int_equal(wl_file_write(era5_path(&p, "channels.txt"), "u\nv\n", 4, &e), 0);
    expect(open_weather(&p, 4, &d, &e), WL_EINVAL, &e, "2 channel names, but the files have 5 channels");
    assert_int_equal(unlink(era5_path(&p, "channels.txt")), 0);
    assert_int_equal(wl_file_write(era5_path(&p, "stats/global_stds.npy"), "\x93NUMPY\1\0\x05\0hello", 15, &e), 0);
    expect(open_weather(&p, 4, &d, &e), WL_EINVAL, &e, "expected '<f4' or '<f8' in C order");
    temp_dir_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synthetic_fields_are_read_as_written),
        cmocka_unit_test(packed_and_compressed_variables_are_read),
        cmocka_unit_test(bad_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
