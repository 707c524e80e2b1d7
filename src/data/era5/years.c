/* Files as years: those whose names hold one year belong together, and the channels of all years are the same. */
#include "data/era5/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The last four digits of a name that stand alone and are a year; 0: there are none. */
static int year_of(const char *name)
{
    int year = 0;
    for (const char *p = name; *p;) {
        size_t n = strspn(p, "0123456789");
        if (n == 4 && (p[0] == '1' || p[0] == '2')) year = atoi(p);
        p += n ? n : 1;
    }
    return year;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static bool is_ours(const char *name)
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

static int check_like(const struct wl_variable *first, const struct wl_variable *v, bool same_times, struct wl_err *e)
{
    if (v->height != first->height || v->width != first->width)
        return wl_fail(e, WL_EINVAL, "%s: %s has %lld x %lld points, %s in %s has %lld x %lld", v->path, v->name,
                       (long long)v->height, (long long)v->width, first->name, first->path, (long long)first->height,
                       (long long)first->width);
    if (same_times && v->times != first->times)
        return wl_fail(e, WL_EINVAL, "%s: %s has %lld times, %s in %s has %lld", v->path, v->name, (long long)v->times,
                       first->name, first->path, (long long)first->times);
    return 0;
}

/* A year under construction, and the names of its channels. */
struct list {
    struct wl_year year;
    struct wl_strs names;
    size_t cap;
    const struct wl_variable *first;
};

static int add_variable(struct list *l, const struct wl_variable *v, bool one_set, struct wl_arena *a, struct wl_err *e)
{
    if (!l->first) l->first = v;
    int rc = check_like(l->first, v, true, e);
    l->year.times = v->times;
    for (int64_t i = 0; i < v->levels && !rc; i++) {
        WL_GROW(a, l->year.channel, l->names.n, l->cap);
        l->year.channel[l->names.n] = (struct wl_channel) { v, i };
        if (one_set)
            wl_strs_add(a, &l->names, wl_strf(a, "channel %lld", (long long)i));
        else
            wl_strs_add(a, &l->names, v->has_levels ? wl_strf(a, "%s %lld", v->name, (long long)i) : v->name);
    }
    return rc;
}

static int add_file(struct list *l, const char *path, bool *one_set, struct wl_arena *a, struct wl_err *e)
{
    struct wl_variables found;
    int rc = wl_variables_open(&found, path, a, e);
    if (rc) return rc;
    for (size_t i = 0; i < found.n; i++)
        if (found.v[i].has_levels && wl_streq(found.v[i].name, "fields")) {
            *one_set = true;
            return add_variable(l, &found.v[i], true, a, e);
        }
    for (size_t i = 0; i < found.n && !rc; i++) rc = add_variable(l, &found.v[i], false, a, e);
    return rc;
}

/* ---- all ---- */

static int check_channels(const struct wl_years *y, const struct list *l, struct wl_err *e)
{
    const struct wl_variable *v = l->first;
    if ((int64_t)l->names.n != y->channels)
        return wl_fail(e, WL_EINVAL, "%s: the year has %zu channels, the one before has %lld", v->path, l->names.n,
                       (long long)y->channels);
    for (int64_t i = 0; i < y->channels; i++)
        if (!wl_streq(l->names.v[i], y->names[i]))
            return wl_fail(e, WL_EINVAL, "%s: channel %lld of the year is '%s', in the one before '%s'", v->path,
                           (long long)i, l->names.v[i], y->names[i]);
    return check_like(y->v[0].channel[0].variable, v, false, e);
}

static int add_year(struct wl_years *y, size_t *cap, struct list *l, struct wl_arena *a, struct wl_err *e)
{
    if (!y->n) {
        y->channels = (int64_t)l->names.n;
        y->names = (const char **)l->names.v;
        y->height = l->first->height;
        y->width = l->first->width;
    } else {
        int rc = check_channels(y, l, e);
        if (rc) return rc;
    }
    WL_GROW(a, y->v, y->n, *cap);
    y->v[y->n++] = l->year;
    return 0;
}

/* channels.txt beside the folder names the channels of "fields", a line each. */
static int read_names(struct wl_years *y, const char *dir, struct wl_arena *a, struct wl_err *e)
{
    char *path = wl_path_join(a, wl_path_dir(a, dir), "channels.txt"), *text;
    if (!y->one_set || !wl_is_file(path)) return 0;
    int rc = wl_file_read(path, 1 << 16, &text, NULL, a, e);
    if (rc) return rc;
    struct wl_strs lines = wl_split(a, wl_strip(a, text), '\n');
    if ((int64_t)lines.n != y->channels)
        return wl_fail(e, WL_EINVAL, "%s: %zu names, but the files have %lld channels", path, lines.n,
                       (long long)y->channels);
    y->names = (const char **)lines.v;
    return 0;
}

static int open_all(struct wl_years *y, const struct named *files, size_t n, struct wl_arena *a, struct wl_err *e)
{
    size_t cap = 0;
    int rc = 0;
    for (size_t i = 0; i < n && !rc;) {
        struct list l = { .year = { .year = files[i].year } };
        size_t j = i;
        for (; j < n && files[j].year == l.year.year && !rc; j++) rc = add_file(&l, files[j].path, &y->one_set, a, e);
        if (!rc && y->one_set && j - i > 1)
            rc = wl_fail(e, WL_EINVAL, "%s: a second file with \"fields\" of one year, beside %s", files[i + 1].path,
                         files[i].path);
        if (!rc) rc = add_year(y, &cap, &l, a, e);
        i = j;
    }
    return rc;
}

int wl_years_open(struct wl_years *y, const char *dir, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs names;
    *y = (struct wl_years) { 0 };
    int rc = wl_dir_list(dir, &names, a, e);
    if (rc) return rc;
    struct named *files = wl_new_array(a, struct named, names.n);
    size_t n = 0;
    for (size_t i = 0; i < names.n; i++)
        if (is_ours(names.v[i])) files[n++] = (struct named) { wl_path_join(a, dir, names.v[i]), year_of(names.v[i]) };
    if (!n) return wl_fail(e, WL_EINVAL, "%s: holds no .h5 and no .nc file", dir);
    qsort(files, n, sizeof *files, by_year);
    rc = open_all(y, files, n, a, e);
    return rc ? rc : read_names(y, dir, a, e);
}
