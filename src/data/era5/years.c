/* Files with the same year in their names belong together. Channels, grid and time step are the same in all years, and
 * years are in order. */
#include "data/era5/years.h"

#include "data/era5/calendar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The last number of four digits in a name that can be a year (1000 is a level); 0: there is none. */
static int year_of(const char *name)
{
    enum { FIRST = 1600, LAST = 2999 };
    int year = 0;
    for (const char *p = name; *p;) {
        size_t n = strspn(p, "0123456789");
        const int number = n == 4 ? atoi(p) : 0;
        if (number >= FIRST && number <= LAST) year = number;
        p += n ? n : 1;
    }
    return year;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static bool is_era5_file(const char *name)
{
    return ends_with(name, ".h5") || ends_with(name, ".hdf5") || ends_with(name, ".nc");
}

struct named {
    const char *path;
    int year;
};

static int by_year(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return x->year != y->year ? (x->year > y->year) - (x->year < y->year) : strcmp(x->path, y->path);
}

/* ---- one year ---- */

/* Degrees of one grid may differ by rounding between f32 and f64. */
static int check_degrees(const struct wl_era5_variable *first, const struct wl_era5_variable *v, const char *what,
                         const double *a, const double *b, int64_t n, struct wl_err *e)
{
    static const double rounding = 1e-3;
    for (int64_t i = 0; a && b && i < n; i++)
        if (fabs(a[i] - b[i]) > rounding)
            return wl_fail(e, WL_EINVAL, "%s: %s %lld of %s is %g, in %s it is %g", v->path, what, (long long)i,
                           v->name, b[i], first->path, a[i]);
    return 0;
}

int wl_era5_check_grid(const struct wl_era5_variable *first, const struct wl_era5_variable *v, struct wl_err *e)
{
    if (v->height != first->height || v->width != first->width)
        return wl_fail(e, WL_EINVAL, "%s: %s has %lld x %lld points, %s in %s has %lld x %lld", v->path, v->name,
                       (long long)v->height, (long long)v->width, first->name, first->path, (long long)first->height,
                       (long long)first->width);
    int rc = check_degrees(first, v, "latitude", first->axes->latitude, v->axes->latitude, v->height, e);
    if (rc) return rc;
    return check_degrees(first, v, "longitude", first->axes->longitude, v->axes->longitude, v->width, e);
}

int wl_era5_check_unit(const struct wl_era5_variable *first, const struct wl_era5_variable *v, struct wl_err *e)
{
    if (!first->unit || !v->unit || wl_str_eq(first->unit, v->unit)) return 0;
    return wl_fail(e, WL_EINVAL, "%s: %s is in '%s', in %s it is in '%s'", v->path, v->name, v->unit, first->path,
                   first->unit);
}

/* A year under construction, and the names of its channels. */
struct list {
    struct wl_era5_year year;
    struct wl_strs names;
    size_t cap;
    const struct wl_era5_variable *first;
};

/* All variables of a year have the same times; those of the first file with times apply to all. */
static int check_times(struct list *l, const struct wl_era5_variable *v, struct wl_arena *a, struct wl_err *e)
{
    const int64_t *own = v->axes->time_s;
    if (v->times != l->year.times)
        return wl_fail(e, WL_EINVAL, "%s: %s has %lld times, %s in %s has %lld", v->path, v->name, (long long)v->times,
                       l->first->name, l->first->path, (long long)l->first->times);
    for (int64_t i = 0; own && l->year.time_s && i < v->times; i++)
        if (own[i] != l->year.time_s[i])
            return wl_fail(e, WL_EINVAL, "%s: time %lld of %s is %s, in %s it is %s", v->path, (long long)i, v->name,
                           wl_calendar_format(own[i], a), l->year.path, wl_calendar_format(l->year.time_s[i], a));
    if (own && !l->year.time_s) {
        l->year.time_s = own;
        l->year.path = v->path;
    }
    return 0;
}

static int add_channel(struct list *l, const struct wl_era5_variable *v, int64_t level, const char *name,
                       struct wl_arena *a, struct wl_err *e)
{
    for (size_t i = 0; i < l->names.n; i++)
        if (wl_str_eq(l->names.v[i], name))
            return wl_fail(e, WL_EINVAL, "%s: '%s' is in %s too; expected different variables in the files of a year",
                           v->path, name, l->year.channel[i].variable->path);
    if (l->names.n >= WL_ERA5_MAX_LEVELS)
        return wl_fail(e, WL_EINVAL, "%s: more than %d channels in a year", v->path, WL_ERA5_MAX_LEVELS);
    WL_GROW(a, l->year.channel, l->names.n, l->cap);
    l->year.channel[l->names.n] = (struct wl_era5_channel) { v, level };
    wl_strs_add(a, &l->names, name);
    return 0;
}

/* "t2m"; "z 500" for level 500, "z 0" for the first level if the file does not give levels; "channel 0". */
static char *channel_name(const struct wl_era5_variable *v, int64_t level, bool single_dataset, struct wl_arena *a)
{
    if (single_dataset) return wl_strf(a, "channel %lld", (long long)level);
    if (!v->has_levels) return wl_strdup(a, v->name);
    return wl_strf(a, "%s %.12g", v->name, v->level ? v->level[level] : (double)level);
}

static int add_variable(struct list *l, const struct wl_era5_variable *v, bool single_dataset, struct wl_arena *a,
                        struct wl_err *e)
{
    if (!l->first) {
        l->first = v;
        l->year.times = v->times;
        l->year.path = v->path;
    }
    int rc = wl_era5_check_grid(l->first, v, e);
    if (!rc) rc = check_times(l, v, a, e);
    for (int64_t i = 0; i < v->levels && !rc; i++)
        rc = add_channel(l, v, i, channel_name(v, i, single_dataset, a), a, e);
    return rc;
}

static int add_file(struct list *l, const char *path, bool *single_dataset, struct wl_arena *a, struct wl_err *e)
{
    struct wl_era5_variables found;
    int rc = wl_era5_variables_open(&found, path, a, e);
    if (rc) return rc;
    for (size_t i = 0; i < found.n; i++)
        if (wl_str_eq(found.v[i].name, "fields")) {
            if (!found.v[i].has_levels)
                return wl_fail(e, WL_EINVAL,
                               "%s: \"fields\" has 3 dimensions; expected [time, channel, latitude, longitude]", path);
            *single_dataset = true;
            found.v[i].unit = NULL; /* its channels have different ones */
            return add_variable(l, &found.v[i], true, a, e);
        }
    for (size_t i = 0; i < found.n && !rc; i++) rc = add_variable(l, &found.v[i], false, a, e);
    return rc;
}

/* ---- all ---- */

static int check_channels(const struct wl_era5_years *y, const struct list *l, struct wl_err *e)
{
    const struct wl_era5_variable *v = l->first;
    if ((int64_t)l->names.n != y->channels)
        return wl_fail(e, WL_EINVAL, "%s: the year has %zu channels, the previous one has %lld", v->path, l->names.n,
                       (long long)y->channels);
    for (int64_t i = 0; i < y->channels; i++)
        if (!wl_str_eq(l->names.v[i], y->names[i]))
            return wl_fail(e, WL_EINVAL, "%s: channel %lld of the year is '%s', in the previous one '%s'", v->path,
                           (long long)i, l->names.v[i], y->names[i]);
    return wl_era5_check_grid(y->v[0].channel[0].variable, v, e);
}

const struct wl_era5_variable *wl_era5_years_variable(const struct wl_era5_years *y, int64_t channel)
{
    for (size_t i = 0; i < y->n; i++)
        if (y->v[i].channel[channel].variable->unit) return y->v[i].channel[channel].variable;
    return y->v[0].channel[channel].variable;
}

/* A year must begin after the end of the previous one. */
static int check_order(const struct wl_era5_year *before, const struct wl_era5_year *year, struct wl_arena *a,
                       struct wl_err *e)
{
    if (!before->time_s || !year->time_s || !before->times || !year->times) return 0;
    const int64_t last = before->time_s[before->times - 1], first = year->time_s[0];
    if (first > last) return 0;
    return wl_fail(e, WL_EINVAL, "%s: its first time, %s, is not later than the last one of %s, %s", year->path,
                   wl_calendar_format(first, a), before->path, wl_calendar_format(last, a));
}

static int add_year(struct wl_era5_years *y, size_t *cap, struct list *l, struct wl_arena *a, struct wl_err *e)
{
    if (!y->n) {
        y->channels = (int64_t)l->names.n;
        y->names = (const char **)l->names.v;
        y->height = l->first->height;
        y->width = l->first->width;
    } else {
        int rc = check_channels(y, l, e);
        for (int64_t i = 0; i < y->channels && !rc; i++)
            rc = wl_era5_check_unit(wl_era5_years_variable(y, i), l->year.channel[i].variable, e);
        if (!rc) rc = check_order(&y->v[y->n - 1], &l->year, a, e);
        if (rc) return rc;
    }
    for (size_t i = 0; i < l->names.n; i++) {
        const struct wl_era5_coordinates *axes = l->year.channel[i].variable->axes;
        if (!y->latitude) y->latitude = axes->latitude;
        if (!y->longitude) y->longitude = axes->longitude;
    }
    WL_GROW(a, y->v, y->n, *cap);
    y->v[y->n++] = l->year;
    return 0;
}

/* The step is the shortest interval; missing times make longer intervals, of several steps. */
static int find_step(struct wl_era5_years *y, struct wl_arena *a, struct wl_err *e)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < y->n; i++) {
            const struct wl_era5_year *year = &y->v[i];
            for (int64_t t = 1; year->time_s && t < year->times; t++) {
                const int64_t apart = year->time_s[t] - year->time_s[t - 1];
                if (pass == 0 && (!y->step_s || apart < y->step_s)) y->step_s = apart;
                if (pass == 1 && apart % y->step_s)
                    return wl_fail(e, WL_EINVAL,
                                   "%s: from %s to %s it is %g h, which is not a multiple of the shortest step, %g h",
                                   year->path, wl_calendar_format(year->time_s[t - 1], a),
                                   wl_calendar_format(year->time_s[t], a), (double)apart / 3600,
                                   (double)y->step_s / 3600);
            }
        }
    return 0;
}

static void find_units(struct wl_era5_years *y, struct wl_arena *a)
{
    y->units = wl_new_array(a, const char *, (size_t)y->channels);
    for (int64_t i = 0; i < y->channels; i++) y->units[i] = wl_era5_years_variable(y, i)->unit;
}

/* channels.txt beside the folder names the channels of "fields", one per line. */
static int read_names(struct wl_era5_years *y, const char *dir, struct wl_arena *a, struct wl_err *e)
{
    char *path = wl_path_join(a, wl_path_dir(a, dir), "channels.txt"), *text;
    if (!y->single_dataset || !wl_is_file(path)) return 0;
    int rc = wl_file_read(path, 1 << 16, &text, NULL, a, e);
    if (rc) return rc;
    struct wl_strs lines = wl_str_split(a, wl_str_strip(a, text), '\n');
    if ((int64_t)lines.n != y->channels)
        return wl_fail(e, WL_EINVAL, "%s: %zu channel names, but the files have %lld channels", path, lines.n,
                       (long long)y->channels);
    y->names = (const char **)lines.v;
    return 0;
}

static int open_all(struct wl_era5_years *y, const struct named *files, size_t n, struct wl_arena *a, struct wl_err *e)
{
    size_t cap = 0;
    int rc = 0;
    for (size_t i = 0; i < n && !rc;) {
        struct list l = { .year = { .year = files[i].year } };
        size_t j = i;
        for (; j < n && files[j].year == l.year.year && !rc; j++)
            rc = add_file(&l, files[j].path, &y->single_dataset, a, e);
        if (!rc && y->single_dataset && j - i > 1)
            rc = wl_fail(e, WL_EINVAL, "%s: a second file with \"fields\" for the same year as %s", files[i + 1].path,
                         files[i].path);
        if (!rc) rc = add_year(y, &cap, &l, a, e);
        i = j;
    }
    return rc;
}

int wl_era5_years_open(struct wl_era5_years *y, const char *dir, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs names;
    *y = (struct wl_era5_years) { 0 };
    int rc = wl_dir_list(dir, &names, a, e);
    if (rc) return rc;
    struct named *files = wl_new_array(a, struct named, names.n);
    size_t n = 0;
    for (size_t i = 0; i < names.n; i++)
        if (is_era5_file(names.v[i]))
            files[n++] = (struct named) { wl_path_join(a, dir, names.v[i]), year_of(names.v[i]) };
    if (!n) return wl_fail(e, WL_EINVAL, "%s: has no .h5, .hdf5 or .nc file", dir);
    qsort(files, n, sizeof *files, by_year);
    rc = open_all(y, files, n, a, e);
    if (!rc) rc = find_step(y, a, e);
    if (rc) return rc;
    find_units(y, a);
    return read_names(y, dir, a, e);
}
