#include "data/era5/calendar.h"
#include "data/era5/npy.h"
#include "data/era5/years.h"

#include <math.h>
#include <string.h>

enum { MAX_TARGETS = 2 };

/* Times of one year. */
struct sample {
    int32_t year, time[MAX_TARGETS + 1];
};

struct wl_era5 {
    struct wl_dataset set;
    struct wl_era5_years years;
    struct wl_era5_grid grid;
    int64_t targets, lead;
    struct sample *sample;
    int64_t total; /* samples of which set.samples are used, evenly spaced */
};

const struct wl_dataset *wl_era5_dataset(const struct wl_era5 *d) { return &d->set; }
const struct wl_era5_grid *wl_era5_grid(const struct wl_era5 *d) { return &d->grid; }

/* ---- samples ---- */

static int read_time(const struct wl_era5 *d, const struct wl_era5_year *y, int64_t time, float *to, struct wl_err *e)
{
    const int64_t plane = d->grid.height * d->grid.width;
    int rc = 0;
    for (int64_t c = 0; c < d->grid.channels && !rc; c++, to += plane) {
        rc = wl_era5_variable_read(y->channel[c].variable, time, y->channel[c].level, d->grid.height, to, e);
        const float mean = d->grid.mean[c], scale = 1 / d->grid.deviation[c];
        for (int64_t i = 0; i < plane && !rc; i++) to[i] = (to[i] - mean) * scale;
    }
    return rc;
}

static int write_sample(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *key, int64_t index,
                        void *const *buffers, struct wl_err *e)
{
    (void)thread;
    (void)key;
    const struct wl_era5 *d = s->data;
    const struct sample *sample = &d->sample[index * d->total / s->samples];
    int rc = 0;
    for (int64_t i = 0; i <= d->targets && !rc; i++)
        rc = read_time(d, &d->years.v[sample->year], sample->time[i], buffers[i], e);
    return rc;
}

/* A target that begins with NAN is padding (wl_relative_l2). */
static void pad(const struct wl_dataset *s, void *const *buffers)
{
    for (int i = 0; i < s->buffers; i++) {
        memset(buffers[i], 0, s->bytes[i]);
        if (i > 0) *(float *)buffers[i] = NAN;
    }
}

static const struct wl_dataset_ops ops = { .noun = "time", .write_sample = write_sample, .pad = pad };

/* ---- opening ---- */

static const char *folder(const struct wl_era5_opts *o, struct wl_arena *a)
{
    if (o->train) return wl_path_join(a, o->dir, "train");
    const char *val = wl_path_join(a, o->dir, "val"), *test = wl_path_join(a, o->dir, "test");
    return wl_is_dir(val) || !wl_is_dir(test) ? val : test;
}

/* One row of latitude may be dropped: ERA5 has 721, including both poles. */
static int cut(struct wl_era5 *d, const char *dir, int64_t patch, struct wl_err *e)
{
    const struct wl_era5_years *y = &d->years;
    d->grid.height = y->height - y->height % patch;
    d->grid.width = y->width;
    if (y->height % patch <= 1 && d->grid.height > 0 && y->width % patch == 0) return 0;
    return wl_fail(e, WL_EINVAL, "%s: a grid of %lld x %lld points is not divisible into patches of %lld x %lld", dir,
                   (long long)y->height, (long long)y->width, (long long)patch, (long long)patch);
}

/* Without coordinates in the files: rows of an even height are cell centres; an odd height, such as ERA5's 721,
 * includes both poles. */
static void find_latitudes(struct wl_era5 *d, struct wl_arena *a)
{
    const int64_t h = d->years.height;
    double *latitude = wl_new_array(a, double, (size_t)d->grid.height);
    for (int64_t r = 0; r < d->grid.height; r++)
        latitude[r] = h % 2 ? 90 - 180.0 * (double)r / (double)(h - 1) : 90 - 180.0 * ((double)r + 0.5) / (double)h;
    d->grid.latitude = d->years.latitude ? d->years.latitude : latitude;
}

/* The index of the time `ahead` steps after `time` in its year; -1: there is none. */
static int64_t time_ahead(const struct wl_era5_years *y, const struct wl_era5_year *year, int64_t time, int64_t ahead)
{
    int64_t low = time, high = time + ahead; /* an upper bound */
    if (!year->time_s) return high < year->times ? high : -1;
    if (high >= year->times) high = year->times - 1;
    const int64_t wanted = year->time_s[time] + ahead * y->step_s;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (year->time_s[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return year->time_s[low] == wanted ? low : -1;
}

static void list_samples(struct wl_era5 *d, int32_t year)
{
    const struct wl_era5_year *y = &d->years.v[year];
    for (int64_t t = 0; t < y->times; t++) {
        struct sample s = { .year = year };
        bool whole = true;
        for (int64_t i = 0; i <= d->targets && whole; i++) {
            const int64_t at = time_ahead(&d->years, y, t, i * d->lead);
            s.time[i] = (int32_t)at;
            whole = at >= 0;
        }
        if (whole) d->sample[d->total++] = s;
    }
}

static int find_samples(struct wl_era5 *d, const struct wl_era5_opts *o, const char *dir, struct wl_arena *a,
                        struct wl_err *e)
{
    const int64_t ahead = d->targets * d->lead;
    int64_t times = 0, most = 0;
    for (size_t i = 0; i < d->years.n; i++) {
        times += d->years.v[i].times;
        most += d->years.v[i].times > ahead ? d->years.v[i].times - ahead : 0;
    }
    d->sample = wl_try_alloc(a, (size_t)times * sizeof *d->sample, 16, "the list of times", e);
    if (!d->sample) return WL_ENOMEM;
    for (size_t i = 0; i < d->years.n; i++) list_samples(d, (int32_t)i);
    if (d->total < most && !o->silent)
        wl_log(WL_WARN, "data", "%s: times are missing, so %lld of %lld forecasts are skipped", dir,
               (long long)(most - d->total), (long long)most);
    if (d->total > 0) return 0;
    return wl_fail(e, WL_EINVAL, "%s: no year has the %lld consecutive times of a sample", dir, (long long)ahead + 1);
}

static const char *statistics_path(const char *dir, const char *name, struct wl_arena *a)
{
    return wl_path_join(a, wl_path_join(a, dir, "stats"), name);
}

static int read_by_channel(const struct wl_era5 *d, const char *dir, const char *name, const float **out,
                           struct wl_arena *a, struct wl_err *e)
{
    const char *path = statistics_path(dir, name, a);
    float *v = wl_new_array(a, float, (size_t)d->grid.channels);
    *out = v;
    if (!wl_is_file(path))
        return wl_fail(e, WL_ENOENT, "%s is missing; `wattlaw-train data era5 --statistics %s` computes it", path, dir);
    return wl_npy_read(path, d->grid.channels, v, a, e);
}

/* The file has the height of the data files; rows beyond the grid are dropped. */
static int read_climatology(struct wl_era5 *d, const char *dir, struct wl_arena *a, struct wl_err *e)
{
    const char *path = statistics_path(dir, "time_means.npy", a);
    const struct wl_era5_grid *g = &d->grid;
    const int64_t own = d->years.height * g->width, plane = g->height * g->width;
    if (!wl_is_file(path)) return 0;
    struct wl_arena *scratch = wl_arena_new(a);
    float *all = wl_try_alloc(scratch, (size_t)(g->channels * own) * sizeof(float), 64, "the climatology", e);
    float *kept = all ? wl_try_alloc(a, (size_t)(g->channels * plane) * sizeof(float), 64, "the climatology", e) : NULL;
    int rc = kept ? wl_npy_read(path, g->channels * own, all, scratch, e) : WL_ENOMEM;
    for (int64_t i = 0; i < g->channels * own && !rc; i++)
        if (!isfinite(all[i])) rc = wl_fail(e, WL_EINVAL, "%s: value %lld is not finite", path, (long long)i);
    for (int64_t c = 0; c < g->channels && !rc; c++)
        for (int64_t i = 0; i < plane; i++) kept[c * plane + i] = (all[c * own + i] - g->mean[c]) / g->deviation[c];
    d->grid.climatology = kept;
    wl_arena_free(scratch);
    return rc;
}

static int read_statistics(struct wl_era5 *d, const char *dir, struct wl_arena *a, struct wl_err *e)
{
    int rc = read_by_channel(d, dir, "global_means.npy", &d->grid.mean, a, e);
    if (!rc) rc = read_by_channel(d, dir, "global_stds.npy", &d->grid.deviation, a, e);
    for (int64_t c = 0; c < d->grid.channels && !rc; c++)
        if (!isfinite(d->grid.mean[c]) || !isfinite(d->grid.deviation[c]) || !(d->grid.deviation[c] > 0))
            rc = wl_fail(e, WL_EINVAL, "%s: channel %lld has mean %g and standard deviation %g",
                         statistics_path(dir, "", a), (long long)c, (double)d->grid.mean[c],
                         (double)d->grid.deviation[c]);
    return rc ? rc : read_climatology(d, dir, a, e);
}

static void describe(struct wl_era5 *d, const char *dir, const struct wl_era5_opts *o)
{
    const size_t bytes = (size_t)(d->grid.channels * d->grid.height * d->grid.width) * sizeof(float);
    d->set = (struct wl_dataset) {
        .ops = &ops, .name = dir, .samples = d->total, .buffers = (int)d->targets + 1, .data = d
    };
    if (o->samples) d->set.samples = o->samples;
    for (int i = 0; i < d->set.buffers; i++) d->set.bytes[i] = bytes;
}

int wl_era5_open(struct wl_era5 **out, const struct wl_era5_opts *o, struct wl_arena *a, struct wl_err *e)
{
    WL_CHECK(o->targets >= 1 && o->targets <= MAX_TARGETS && o->lead >= 1 && o->patch >= 1);
    struct wl_era5 *d = *out = wl_new(a, struct wl_era5);
    const char *dir = folder(o, a);
    d->targets = o->targets;
    d->lead = o->lead;
    int rc = wl_era5_years_open(&d->years, dir, a, e);
    if (rc) return rc;
    d->grid.channels = d->years.channels;
    d->grid.names = d->years.names;
    d->grid.units = d->years.units;
    d->grid.layout = d->years.single_dataset ? "one data set a year" : "variables";
    rc = cut(d, dir, o->patch, e);
    if (!rc) find_latitudes(d, a);
    d->grid.step_s = d->years.step_s;
    if (!rc) rc = find_samples(d, o, dir, a, e);
    if (!rc && o->samples > d->total)
        rc = wl_fail(e, WL_EINVAL, "%s: %lld samples requested, %lld available", dir, (long long)o->samples,
                     (long long)d->total);
    if (!rc) rc = read_statistics(d, o->dir, a, e);
    if (!rc) describe(d, dir, o);
    return rc;
}

/* ---- training against validation ---- */

/* A time that both years have; NULL: none, or unknown. */
static const int64_t *common_time(const struct wl_era5_year *a, const struct wl_era5_year *b)
{
    for (int64_t i = 0, k = 0; a->time_s && b->time_s && i < a->times && k < b->times;) {
        if (a->time_s[i] == b->time_s[k]) return &a->time_s[i];
        if (a->time_s[i] < b->time_s[k])
            i++;
        else
            k++;
    }
    return NULL;
}

static int check_years(const struct wl_era5_year *train, const struct wl_era5_year *val, struct wl_arena *a,
                       struct wl_err *e)
{
    const int64_t *common = common_time(train, val);
    if (common)
        return wl_fail(e, WL_EINVAL, "%s: %s is also a training time, in %s", val->path, wl_calendar_format(*common, a),
                       train->path);
    if ((!train->time_s || !val->time_s) && train->year && train->year == val->year)
        return wl_fail(e, WL_EINVAL, "%s: %d is also a training year, in %s", val->path, val->year, train->path);
    return 0;
}

static int check_alike(const struct wl_era5_years *train, const struct wl_era5_years *val, struct wl_err *e)
{
    const struct wl_era5_variable *v = val->v[0].channel[0].variable;
    int rc = wl_era5_check_grid(train->v[0].channel[0].variable, v, e);
    if (rc) return rc;
    if (train->channels != val->channels)
        return wl_fail(e, WL_EINVAL, "%s: validation has %lld channels, training %lld", v->path,
                       (long long)val->channels, (long long)train->channels);
    for (int64_t c = 0; c < val->channels; c++)
        if (!wl_str_eq(train->names[c], val->names[c]))
            return wl_fail(e, WL_EINVAL, "%s: channel %lld of validation is '%s', of training '%s'", v->path,
                           (long long)c, val->names[c], train->names[c]);
    for (int64_t c = 0; c < val->channels && !rc; c++)
        rc = wl_era5_check_unit(wl_era5_years_variable(train, c), wl_era5_years_variable(val, c), e);
    if (rc) return rc;
    if (train->step_s && val->step_s && train->step_s != val->step_s)
        return wl_fail(e, WL_EINVAL, "%s: times of validation are %g h apart, of training %g h", v->path,
                       (double)val->step_s / 3600, (double)train->step_s / 3600);
    return 0;
}

int wl_era5_check_disjoint(const struct wl_era5 *train, const struct wl_era5 *val, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_era5_years *x = &train->years, *y = &val->years;
    int rc = check_alike(x, y, e);
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < y->n && !rc; k++) rc = check_years(&x->v[i], &y->v[k], a, e);
    return rc;
}
