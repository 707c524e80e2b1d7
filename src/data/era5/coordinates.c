/* Coordinates are one-dimensional data sets, found by the names that the Climate Data Store, cfgrib and CF files use.
 */
#include "data/era5/coordinates.h"

#include "data/era5/calendar.h"

#include <math.h>

static const char *const times[] = { "valid_time", "time", NULL };
static const char *const latitudes[] = { "latitude", "lat", NULL };
static const char *const longitudes[] = { "longitude", "lon", NULL };
static const char *const levels[] = { "pressure_level", "level", "model_level", "isobaricInhPa",
                                      "plev",           "lev",   "hybrid",      NULL };
static const char *const others[] = { "expver", "number", NULL }; /* dimensions other than levels */

struct axis {
    hid_t set; /* negative: there is none */
    const char *name;
    int64_t n;
};

/* NetCDF writes a data set also for a dimension without values. */
static bool is_bare(hid_t set, struct wl_arena *a)
{
    return wl_str_starts(wl_hdf5_attribute_text(set, "NAME", a),
                         "This is a netCDF dimension but not a netCDF variable");
}

/* The first of these names that is a data set of one dimension, and of length n if n is not 0. */
static struct axis find(hid_t file, const char *const *names, int64_t n, struct wl_arena *a)
{
    for (; *names; names++) {
        if (!wl_hdf5_has_dataset(file, *names)) continue;
        hid_t set = H5Dopen2(file, *names, H5P_DEFAULT), space = H5Dget_space(set);
        hsize_t length = 0;
        const bool line =
            H5Sget_simple_extent_ndims(space) == 1 && H5Sget_simple_extent_dims(space, &length, NULL) == 1;
        H5Sclose(space);
        if (line && length > 0 && (n == 0 || length == (hsize_t)n) && !is_bare(set, a))
            return (struct axis) { set, *names, length > INT64_MAX ? INT64_MAX : (int64_t)length };
        H5Dclose(set);
    }
    return (struct axis) { .set = -1 };
}

/* Reads its values, which must be finite. */
static int read(const struct axis *axis, int64_t max_values, const double **out, struct wl_arena *a, struct wl_err *e)
{
    if (axis->n > max_values)
        return wl_fail(e, WL_EINVAL, "%s has %lld values; expected at most %lld", axis->name, (long long)axis->n,
                       (long long)max_values);
    double *v = wl_new_array(a, double, (size_t)axis->n);
    if (H5Dread(axis->set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0)
        return wl_hdf5_fail(e, "%s", axis->name);
    for (int64_t i = 0; i < axis->n; i++)
        if (!isfinite(v[i])) return wl_fail(e, WL_EINVAL, "%s %lld is not a finite number", axis->name, (long long)i);
    *out = v;
    return 0;
}

static bool is_monotonic(const double *v, int64_t n, double sign)
{
    for (int64_t i = 1; i < n; i++)
        if (!(sign * (v[i] - v[i - 1]) > 0)) return false;
    return true;
}

/* ---- latitude and longitude ---- */

static int read_latitudes(struct wl_era5_coordinates *axes, const struct axis *axis, struct wl_arena *a,
                          struct wl_err *e)
{
    enum { POLE = 90 };
    const double *v;
    int rc = read(axis, WL_ERA5_MAX_POINTS, &v, a, e);
    if (rc) return rc;
    const int64_t n = axis->n;
    axes->south_to_north = n > 1 && v[0] < v[n - 1];
    if (!is_monotonic(v, n, axes->south_to_north ? 1 : -1) || fabs(v[0]) > POLE || fabs(v[n - 1]) > POLE)
        return wl_fail(e, WL_EINVAL, "%s runs from %g to %g; expected degrees from -90 to 90, ascending or descending",
                       axis->name, v[0], v[n - 1]);
    double *own = wl_new_array(a, double, (size_t)n);
    for (int64_t i = 0; i < n; i++) own[i] = axes->south_to_north ? v[n - 1 - i] : v[i];
    axes->latitude = own;
    axes->height = n;
    return 0;
}

static int read_longitudes(struct wl_era5_coordinates *axes, const struct axis *axis, struct wl_arena *a,
                           struct wl_err *e)
{
    int rc = read(axis, WL_ERA5_MAX_POINTS, &axes->longitude, a, e);
    if (rc) return rc;
    const double *v = axes->longitude, first = v[0], last = v[axis->n - 1];
    axes->width = axis->n;
    if (is_monotonic(v, axis->n, 1) && first >= -360 && last <= 360 && last - first < 360) return 0;
    return wl_fail(e, WL_EINVAL, "%s runs from %g to %g; expected ascending degrees within one turn", axis->name, first,
                   last);
}

/* ---- times ---- */

static int check_calendar(const struct axis *axis, double *unit_s, int64_t *from_s, struct wl_arena *a,
                          struct wl_err *e)
{
    static const char *const known[] = { "", "standard", "gregorian", "proleptic_gregorian" };
    const char *text = wl_hdf5_attribute_text(axis->set, "units", a),
               *calendar = wl_hdf5_attribute_text(axis->set, "calendar", a);
    if (!wl_calendar_parse_units(text, unit_s, from_s))
        return wl_fail(e, WL_EINVAL, "%s has the units '%s'; expected a form such as 'hours since 1900-01-01 00:00:00'",
                       axis->name, text);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (wl_str_eq(calendar, known[i])) return 0;
    return wl_fail(e, WL_EINVAL, "%s has the calendar '%s'; expected 'standard' or 'proleptic_gregorian'", axis->name,
                   calendar);
}

static int read_times(struct wl_era5_coordinates *axes, const struct axis *axis, struct wl_arena *a, struct wl_err *e)
{
    static const double latest_s = 1e11; /* three thousand years */
    const double *v;
    double unit_s;
    int64_t from_s;
    int rc = read(axis, WL_ERA5_MAX_TIMES, &v, a, e);
    if (!rc) rc = check_calendar(axis, &unit_s, &from_s, a, e);
    if (rc) return rc;
    int64_t *at = wl_new_array(a, int64_t, (size_t)axis->n);
    for (int64_t i = 0; i < axis->n; i++) {
        const double s = v[i] * unit_s + (double)from_s;
        if (!(fabs(s) < latest_s))
            return wl_fail(e, WL_EINVAL, "%s %lld is out of range: %g", axis->name, (long long)i, v[i]);
        at[i] = llround(s);
        if (i > 0 && at[i] <= at[i - 1])
            return wl_fail(e, WL_EINVAL, "%s %lld, %s, is not later than the previous one, %s", axis->name,
                           (long long)i, wl_calendar_format(at[i], a), wl_calendar_format(at[i - 1], a));
    }
    axes->time_s = at;
    axes->times = axis->n;
    return 0;
}

/* ---- all ---- */

typedef int read_axis(struct wl_era5_coordinates *, const struct axis *, struct wl_arena *, struct wl_err *);

static int read_one(struct wl_era5_coordinates *axes, hid_t file, const char *const *names, read_axis *how,
                    struct wl_arena *a, struct wl_err *e)
{
    const struct axis axis = find(file, names, 0, a);
    if (axis.set < 0) return 0;
    int rc = how(axes, &axis, a, e);
    H5Dclose(axis.set);
    return rc;
}

int wl_era5_coordinates_read(struct wl_era5_coordinates *axes, hid_t file, struct wl_arena *a, struct wl_err *e)
{
    *axes = (struct wl_era5_coordinates) { 0 };
    int rc = read_one(axes, file, times, read_times, a, e);
    if (!rc) rc = read_one(axes, file, latitudes, read_latitudes, a, e);
    return rc ? rc : read_one(axes, file, longitudes, read_longitudes, a, e);
}

int wl_era5_levels_read(const double **level, hid_t file, int64_t n, struct wl_arena *a, struct wl_err *e)
{
    struct axis axis = find(file, levels, n, a);
    int rc = 0;
    *level = NULL;
    if (axis.set >= 0) {
        rc = read(&axis, WL_ERA5_MAX_LEVELS, level, a, e);
    } else if (n > 1) {
        axis = find(file, others, n, a);
        if (axis.set >= 0)
            rc = wl_fail(
                e, WL_EINVAL,
                "its second dimension is '%s', of length %lld, where levels are expected; select or merge it first",
                axis.name, (long long)n);
    }
    if (axis.set >= 0) H5Dclose(axis.set);
    return rc;
}
