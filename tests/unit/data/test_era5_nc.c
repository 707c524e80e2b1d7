/* Files of fields with coordinates: those that netCDF4 wrote in the manners of the Climate Data Store, times, lines and
 * columns in every order, and what is refused. */
#include "data/data.h"
#include "era5_file.h"
#include "era5_temp_dir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { H = 8, W = 16, ODD = H + 1, TIMES = 4 };

static void copy_fixture(const struct era5_temp_dir *p, const char *name, const char *to)
{
    const char *root = getenv("WL_FIXTURES");
    struct wl_err e = { 0 };
    char *text;
    size_t n;
    assert_non_null(root);
    if (wl_file_read(wl_strf(p->a, "%s/era5/%s", root, name), 1 << 20, &text, &n, p->a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(wl_file_write(era5_path(p, to), text, n, &e), 0);
}

static int open_part(const struct era5_temp_dir *p, bool train, int64_t targets, int64_t lead, struct wl_era5 **d,
                     struct wl_err *e)
{
    const struct wl_era5_opts o = {
        .dir = p->dir, .train = train, .targets = targets, .lead = lead, .patch = 4, .silent = true
    };
    return wl_era5_open(d, &o, p->a, e);
}

/* Statistics of the training part, and the part. */
static struct wl_era5 *opened(const struct era5_temp_dir *p, int64_t targets, int64_t lead)
{
    struct wl_era5 *d;
    struct wl_err e = { 0 };
    if (wl_era5_statistics(p->dir, 0, false, p->a, &e)) fail_msg("%s", e.msg);
    if (open_part(p, true, targets, lead, &d, &e)) fail_msg("%s", e.msg);
    return d;
}

static int put(const struct wl_era5 *d, int64_t index, float *const *at, struct wl_err *e)
{
    const struct wl_dataset *s = wl_era5_dataset(d);
    return s->ops->write_sample(s, NULL, &(struct wl_epoch_key) { 0 }, index, (void *const *)at, e);
}

/* ---- as netCDF4 writes ---- */

/* tests/fixtures/data/era5/make.py */
static double fixture_value(int time, double level, int row, int column)
{
    return 250 + 10.0 * time + level / 100 + (90 - 22.5 * row) + 22.5 * column / 1000;
}

/* Fields at `time` of one channel, from north to south; columns that begin at `west` degrees. */
static void check_plane(const struct wl_era5 *d, int channel, const float *x, int time, double level, double west,
                        double within)
{
    const struct wl_era5_grid *g = wl_era5_grid(d);
    for (int i = 0; i < H * W; i++) {
        const double found = (double)x[channel * H * W + i] * (double)g->deviation[channel] + (double)g->mean[channel];
        assert_float_equal(found, fixture_value(time, level, i / W, i % W) + west / 1000, within);
    }
}

/* One variable per file, with valid_time, pressure levels, strings and zlib. */
static void climate_data_store_files_are_read(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_with_parts();
    struct wl_err e = { 0 };
    static float x[3 * H * W], y[3 * H * W];
    copy_fixture(&p, "t2m_2020.nc", "train/t2m_2020.nc");
    copy_fixture(&p, "z_2020.nc", "train/z_2020.nc");
    const struct wl_era5 *d = opened(&p, 1, 2);
    const struct wl_era5_grid *g = wl_era5_grid(d);
    assert_int_equal(g->channels, 3);
    assert_string_equal(g->names[0], "t2m");
    assert_string_equal(g->names[1], "z 1000");
    assert_string_equal(g->names[2], "z 500");
    assert_string_equal(g->units[0], "K");
    assert_string_equal(g->units[1], "m**2 s**-2");
    assert_string_equal(g->units[2], "m**2 s**-2");
    assert_int_equal(g->step_s, 6 * 3600);
    assert_int_equal(g->height, H);
    assert_float_equal(g->latitude[1], 67.5, 0);
    assert_int_equal(wl_era5_dataset(d)->samples, TIMES - 2);
    if (put(d, 1, (float *[]) { x, y }, &e)) fail_msg("%s", e.msg);
    check_plane(d, 0, x, 1, 0, 0, 1e-3);
    check_plane(d, 0, y, 3, 0, 0, 1e-3);
    check_plane(d, 1, y, 3, 1000, 0, 1e-3);
    check_plane(d, 2, y, 3, 500, 0, 1e-3);
    temp_dir_free(&p);
}

/* 16 bits with scale, offset and a fill value; big-endian doubles from south to north and from 180 W. */
static void packed_and_big_endian_variables_are_read(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_with_parts();
    struct wl_err e = { 0 };
    static float x[H * W], y[H * W];
    copy_fixture(&p, "packed_2020.nc", "train/packed_2020.nc");
    const struct wl_era5 *d = opened(&p, 1, 1);
    if (put(d, 2, (float *[]) { x, y }, &e)) fail_msg("%s", e.msg);
    check_plane(d, 0, y, 3, 0, 0, 5.1e-3);

    copy_fixture(&p, "missing_2020.nc", "train/packed_2020.nc");
    expect(wl_era5_statistics(p.dir, 0, false, p.a, &e), WL_EINVAL, &e,
           "packed_2020.nc: t2m, time 1 (2020-01-01 06:00), row 2, column 3 (45 N, 67.5 E): missing or not a finite "
           "number");

    copy_fixture(&p, "versions_2020.nc", "train/packed_2020.nc");
    expect(wl_era5_statistics(p.dir, 0, false, p.a, &e), WL_EINVAL, &e,
           "t2m: its second dimension is 'expver', of length 2, where levels are expected; select or merge it first");
    temp_dir_free(&p);

    p = temp_dir_with_parts();
    copy_fixture(&p, "wide_2020.nc", "train/wide_2020.nc");
    d = opened(&p, 1, 1);
    assert_float_equal(wl_era5_grid(d)->latitude[0], 90, 0);
    if (put(d, 0, (float *[]) { x, y }, &e)) fail_msg("%s", e.msg);
    check_plane(d, 0, x, 0, 0, -180, 1e-3);
    copy_fixture(&p, "packed_2020.nc", "train/packed_2019.nc");
    expect(wl_era5_statistics(p.dir, 0, false, p.a, &e), WL_EINVAL, &e,
           "wide_2020.nc: longitude 0 of t2m is -180, in ");
    temp_dir_free(&p);
}

/* ---- times ---- */

static float some[16 * ODD * W];

static void write_file(const struct era5_temp_dir *p, const char *name, const struct era5_file *o)
{
    struct era5_file f = *o;
    if (!f.height) f.height = H;
    if (!f.width) f.width = W;
    for (int i = 0; i < f.times * (f.levels ? f.levels : 1) * f.height * f.width; i++) some[i] = (float)(i % 1000);
    (void)unlink(era5_path(p, name)); /* it may be open */
    H5Fclose(era5_create(era5_path(p, name), &f, some));
}

/* The first number of the field of a time. */
static float begin_of(int time) { return (float)(time * H * W % 1000); }

/* Samples whose targets are missing are skipped; a target is found by its time, not by its index. */
static void samples_with_missing_times_are_skipped(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_with_parts();
    struct wl_err e = { 0 };
    static float x[H * W], y[H * W], z[H * W];
    static const double time[] = { 0, 6, 12, 24, 30, 36, 48 }; /* 18 and 42 are missing */
    write_file(&p, "train/2020.h5", &(struct era5_file) { .times = 7, .time = time });
    const struct wl_era5 *d = opened(&p, 1, 1);
    assert_int_equal(wl_era5_dataset(d)->samples, 4); /* 0-6, 6-12, 24-30, 30-36 */
    d = opened(&p, 1, 2);
    assert_int_equal(wl_era5_dataset(d)->samples, 4); /* 0-12, 12-24, 24-36, 36-48 */
    if (put(d, 1, (float *[]) { x, y }, &e)) fail_msg("%s", e.msg);
    const double mean = (double)wl_era5_grid(d)->mean[0], deviation = (double)wl_era5_grid(d)->deviation[0];
    assert_float_equal((double)x[0] * deviation + mean, (double)begin_of(2), 1e-3);
    assert_float_equal((double)y[0] * deviation + mean, (double)begin_of(3), 1e-3);
    d = opened(&p, 2, 1);
    assert_int_equal(wl_era5_dataset(d)->samples, 2); /* 0-6-12, 24-30-36 */
    if (put(d, 1, (float *[]) { x, y, z }, &e)) fail_msg("%s", e.msg);
    assert_float_equal((double)z[0] * deviation + mean, (double)begin_of(5), 1e-3);
    temp_dir_free(&p);
}

/* A sample lies in one year, and the years have one step. */
static void years_follow_each_other_with_one_step(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_with_parts();
    struct wl_era5 *d;
    struct wl_err e = { 0 };
    static const double first[] = { 0, 6, 12, 18 }, next[] = { 24, 30, 36, 42 }, hourly[] = { 24, 25, 26, 27 },
                        over[] = { 18, 24, 30, 36 }, odd[] = { 24, 30, 40, 46 };
    const struct {
        const double *time;
        const char *error;
    } cases[] = {
        { over, "2021.h5: its first time, 2020-01-01 18:00, is not later than the last one of " },
        { first, "2021.h5: its first time, 2020-01-01 00:00, is not later than the last one of " },
        { odd, "2021.h5: from 2020-01-02 06:00 to 2020-01-02 16:00 it is 10 h, which is not a multiple of the shortest "
               "step, 6 h" },
    };
    write_file(&p, "train/2020.h5", &(struct era5_file) { .times = 4, .time = first });
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(&p, "train/2021.h5", &(struct era5_file) { .times = 4, .time = cases[i].time });
        expect(wl_era5_statistics(p.dir, 0, false, p.a, &e), WL_EINVAL, &e, cases[i].error);
    }
    write_file(&p, "train/2021.h5", &(struct era5_file) { .times = 4, .time = next });
    const struct wl_era5 *train = opened(&p, 1, 1);
    assert_int_equal(wl_era5_dataset(train)->samples, 6);

    expect(open_part(&p, false, 1, 1, &d, &e), WL_EINVAL, &e, "val: has no .h5, .hdf5 or .nc file");
    write_file(&p, "val/2022.h5", &(struct era5_file) { .times = 4, .time = over });
    assert_int_equal(open_part(&p, false, 1, 1, &d, &e), 0);
    expect(wl_era5_check_disjoint(train, d, p.a, &e), WL_EINVAL, &e,
           "val/2022.h5: 2020-01-01 18:00 is also a training time, in ");
    write_file(&p, "val/2022.h5", &(struct era5_file) { .times = 4, .time = hourly });
    assert_int_equal(open_part(&p, false, 1, 1, &d, &e), 0);
    expect(wl_era5_check_disjoint(train, d, p.a, &e), WL_EINVAL, &e, "are 1 h apart, of training 6 h");
    write_file(&p, "val/2022.h5", &(struct era5_file) { .times = 4 });
    assert_int_equal(open_part(&p, false, 1, 1, &d, &e), 0);
    assert_int_equal(wl_era5_check_disjoint(train, d, p.a, &e), 0);
    assert_int_equal(rename(era5_path(&p, "val/2022.h5"), era5_path(&p, "val/2021.h5")), 0);
    assert_int_equal(open_part(&p, false, 1, 1, &d, &e), 0);
    expect(wl_era5_check_disjoint(train, d, p.a, &e), WL_EINVAL, &e, "2021 is also a training year");
    write_file(&p, "val/2021.h5", &(struct era5_file) { .name = "z", .times = 4 });
    assert_int_equal(open_part(&p, false, 1, 1, &d, &e), 0);
    expect(wl_era5_check_disjoint(train, d, p.a, &e), WL_EINVAL, &e,
           "channel 0 of validation is 'z', of training 't2m'");
    temp_dir_free(&p);
}

/* A channel has the unit of any of its years, which must not differ. Unprintable units are ignored. */
static void units_agree_over_years(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_with_parts();
    struct wl_era5 *d;
    struct wl_err e = { 0 };
    static const char *const none[] = {
        "~", "unknown", " ", "K\n1 0 stop", "\260C" /* Latin-1 */, "forty-one characters of no unit anybody has",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        write_file(&p, "train/2020.h5", &(struct era5_file) { .times = 4, .unit = none[i] });
        assert_null(wl_era5_grid(opened(&p, 1, 1))->units[0]);
    }
    write_file(&p, "train/2021.h5", &(struct era5_file) { .times = 4, .unit = " m s**-1 " });
    const struct wl_era5 *train = opened(&p, 1, 1);
    assert_string_equal(wl_era5_grid(train)->units[0], "m s**-1");

    write_file(&p, "val/2023.h5", &(struct era5_file) { .times = 4, .unit = "knots" });
    assert_int_equal(open_part(&p, false, 1, 1, &d, &e), 0);
    expect(wl_era5_check_disjoint(train, d, p.a, &e), WL_EINVAL, &e, "val/2023.h5: t2m is in 'knots', in ");
    write_file(&p, "train/2022.h5", &(struct era5_file) { .times = 4, .unit = "knots" });
    expect(wl_era5_statistics(p.dir, 0, false, p.a, &e), WL_EINVAL, &e, "2021.h5 it is in 'm s**-1'");

    for (int year = 2020; year <= 2022; year++) (void)unlink(era5_path(&p, wl_strf(p.a, "train/%d.h5", year)));
    write_file(&p, "train/2020.h5", &(struct era5_file) { .name = "fields", .times = 4, .levels = 2, .unit = "K" });
    assert_null(wl_era5_grid(opened(&p, 1, 1))->units[1]);
    temp_dir_free(&p);
}

/* ---- what is refused ---- */

static void bad_coordinates_are_refused(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_with_parts();
    struct wl_err e = { 0 };
    static const double hours[] = { 0, 6, 12, 18 }, back[] = { 0, 12, 6, 18 }, twice[] = { 0, 6, 6, 12 },
                        none[] = { 0, 6, NAN, 18 };
    static double north[ODD], wild[ODD], around[W], west[W];
    for (int i = 0; i < ODD; i++) {
        north[i] = 90 - 22.5 * i;
        wild[i] = i == 4 ? 80 : north[i];
    }
    for (int i = 0; i < W; i++) {
        around[i] = 22.5 * i;
        west[i] = 22.5 * (W - i);
    }
    const struct {
        struct era5_file file;
        const char *error;
    } cases[] = {
        { { .time = back }, "time 2, 2020-01-01 06:00, is not later than the previous one, 2020-01-01 12:00" },
        { { .time = twice }, "time 2, 2020-01-01 06:00, is not later than the previous one" },
        { { .time = none }, "time 2 is not a finite number" },
        { { .time = hours, .units = "fortnights" },
          "time has the units 'fortnights'; expected a form such as 'hours since" },
        { { .time = hours, .units = "hours since 2020-13-01" }, "time has the units 'hours since 2020-13-01'" },
        { { .time = hours, .units = "hours since 2021-02-29" }, "time has the units 'hours since 2021-02-29'" },
        { { .time = hours, .units = "hours since 1-1-1" }, "time has the units" },
        { { .time = hours, .units = "hours since 2020-01-01 00:00 +02:00" }, "time has the units" },
        { { .time = hours, .calendar = "noleap" }, "time has the calendar 'noleap'" },
        { { .height = ODD, .latitude = wild }, "latitude runs from 90 to -90; expected degrees" },
        { { .longitude = west }, "longitude runs from 360 to 22.5; expected ascending degrees within one turn" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct era5_file f = cases[i].file;
        f.times = TIMES;
        write_file(&p, "train/2020.h5", &f);
        expect(wl_era5_statistics(p.dir, 0, false, p.a, &e), WL_EINVAL, &e, cases[i].error);
    }
    /* latitude and longitude are swapped: [time, longitude, latitude] */
    hid_t file = era5_create(era5_path(&p, "train/2020.h5"),
                             &(struct era5_file) { .times = TIMES, .height = W, .width = ODD, .time = hours }, some);
    H5Dclose(era5_axis(file, "lat", north, ODD));
    H5Dclose(era5_axis(file, "lon", around, W));
    H5Fclose(file);
    expect(wl_era5_statistics(p.dir, 0, false, p.a, &e), WL_EINVAL, &e,
           "t2m: it has 16 latitudes, but the file's coordinate has 9; expected [time, (level,) latitude, longitude]");
    temp_dir_free(&p);
}

static void files_of_a_year_have_one_grid_and_times(void **state)
{
    (void)state;
    struct era5_temp_dir p = temp_dir_with_parts();
    struct wl_err e = { 0 };
    static const double hours[] = { 0, 6, 12, 18 }, later[] = { 0, 6, 12, 24 };
    static double north[ODD], other[ODD], south[ODD];
    for (int i = 0; i < ODD; i++) {
        north[i] = 90 - 22.5 * i;
        other[i] = north[i] / 2;
        south[ODD - 1 - i] = north[i] * (1 - 1e-7);
    }
    write_file(&p, "train/a_2020.h5",
               &(struct era5_file) { .times = TIMES, .height = ODD, .time = hours, .latitude = north });
    const struct {
        struct era5_file file;
        const char *error;
    } cases[] = {
        { { .name = "z", .height = ODD, .time = later }, "b_2020.h5: time 3 of z is 2020-01-02 00:00, in " },
        { { .name = "z", .height = ODD, .latitude = other }, "b_2020.h5: latitude 0 of z is 45, in " },
        { { .name = "z", .height = H }, "b_2020.h5: z has 8 x 16 points, t2m in " },
        { { .height = ODD, .time = hours }, "b_2020.h5: 't2m' is in " },
        { { .name = "fields", .height = ODD }, "b_2020.h5: \"fields\" has 3 dimensions; expected [time, channel," },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct era5_file f = cases[i].file;
        f.times = TIMES;
        write_file(&p, "train/b_2020.h5", &f);
        expect(wl_era5_statistics(p.dir, 0, false, p.a, &e), WL_EINVAL, &e, cases[i].error);
    }
    /* files may differ in the order of rows, and in having times */
    write_file(&p, "train/b_2020.h5",
               &(struct era5_file) { .name = "z", .times = TIMES, .height = ODD, .latitude = south });
    assert_int_equal(wl_era5_grid(opened(&p, 1, 1))->channels, 2);
    temp_dir_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(climate_data_store_files_are_read),
        cmocka_unit_test(packed_and_big_endian_variables_are_read),
        cmocka_unit_test(samples_with_missing_times_are_skipped),
        cmocka_unit_test(years_follow_each_other_with_one_step),
        cmocka_unit_test(units_agree_over_years),
        cmocka_unit_test(bad_coordinates_are_refused),
        cmocka_unit_test(files_of_a_year_have_one_grid_and_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
