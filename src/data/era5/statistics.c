/* Mean and standard deviation of each channel, and the climatology, over the training years. */
#include "data/era5/npy.h"
#include "data/era5/years.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_TIMES = 256 };

struct sums {
    double *sum, *square; /* [channels] */
    double *point;        /* [channels,height,width] */
};

static int add_time(const struct wl_era5_years *y, const struct wl_era5_year *year, int64_t time, struct sums *s,
                    float *plane, struct wl_err *e)
{
    const int64_t n = y->height * y->width;
    for (int64_t c = 0; c < y->channels; c++) {
        const struct wl_era5_channel *channel = &year->channel[c];
        int rc = wl_era5_variable_read(channel->variable, time, channel->level, y->height, plane, e);
        if (rc) return rc;
        for (int64_t i = 0; i < n; i++) {
            const double v = (double)plane[i];
            s->sum[c] += v;
            s->square[c] += v * v;
            s->point[c * n + i] += v;
        }
    }
    return 0;
}

static int add_all(const struct wl_era5_years *y, int64_t all, int64_t used, struct sums *s, float *plane,
                   bool progress, struct wl_err *e)
{
    struct wl_progress bar;
    int rc = 0;
    if (progress) wl_progress_start(&bar, "statistics");
    for (int64_t i = 0; i < used && !rc; i++) {
        int64_t time = i * all / used;
        size_t year = 0;
        for (; time >= y->v[year].times; year++) time -= y->v[year].times;
        rc = add_time(y, &y->v[year], time, s, plane, e);
        if (progress) wl_progress_update(&bar, (double)(i + 1), (double)used, -1, NULL);
    }
    if (progress) wl_progress_clear(&bar);
    return rc;
}

static int write(const char *dir, const struct wl_era5_years *y, int64_t used, const struct sums *s, struct wl_arena *a,
                 struct wl_err *e)
{
    const int64_t plane = y->height * y->width;
    const double n = (double)used * (double)plane;
    const struct wl_era5_grid shape = { .channels = y->channels, .height = y->height, .width = y->width };
    float *mean = wl_new_array(a, float, (size_t)y->channels), *deviation = wl_new_array(a, float, (size_t)y->channels);
    float *point = wl_try_alloc(a, (size_t)(y->channels * plane) * sizeof(float), 64, "the climatology", e);
    if (!point) return WL_ENOMEM;
    for (int64_t c = 0; c < y->channels; c++) {
        const double m = s->sum[c] / n, variance = s->square[c] / n - m * m;
        mean[c] = (float)m;
        deviation[c] = (float)sqrt(variance > 0 ? variance : 0);
        if (!(deviation[c] > 0)) return wl_fail(e, WL_EINVAL, "%s: channel %s is constant (%g)", dir, y->names[c], m);
    }
    for (int64_t i = 0; i < y->channels * plane; i++) point[i] = (float)(s->point[i] / (double)used);
    const char *stats = wl_path_join(a, dir, "stats");
    int rc = wl_mkdirs(stats, e);
    if (!rc) rc = wl_npy_write(wl_path_join(a, stats, "global_means.npy"), &shape, false, mean, a, e);
    if (!rc) rc = wl_npy_write(wl_path_join(a, stats, "global_stds.npy"), &shape, false, deviation, a, e);
    if (!rc) rc = wl_npy_write(wl_path_join(a, stats, "time_means.npy"), &shape, true, point, a, e);
    return rc;
}

int wl_era5_statistics(const char *dir, int64_t times, bool progress, struct wl_arena *parent, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(parent);
    struct wl_era5_years y;
    struct sums s = { 0 };
    float *plane = NULL;
    int64_t all = 0;
    int rc = wl_era5_years_open(&y, wl_path_join(a, dir, "train"), a, e);
    for (size_t i = 0; i < y.n && !rc; i++) all += y.v[i].times;
    if (!rc && !all) rc = wl_fail(e, WL_EINVAL, "%s: the training years have no times", dir);
    const int64_t wanted = times ? times : DEFAULT_TIMES, used = wanted < all ? wanted : all;
    if (!rc) {
        const size_t points = (size_t)(y.height * y.width), channels = (size_t)y.channels;
        s.sum = wl_new_array(a, double, channels);
        s.square = wl_new_array(a, double, channels);
        s.point = wl_try_alloc(a, channels * points * sizeof(double), 64, "the climatology", e);
        plane = wl_try_alloc(a, points * sizeof(float), 64, "a field", e);
        if (!s.point || !plane) rc = WL_ENOMEM;
    }
    if (!rc) memset(s.point, 0, (size_t)(y.channels * y.height * y.width) * sizeof(double));
    if (!rc) rc = add_all(&y, all, used, &s, plane, progress, e);
    if (!rc) rc = write(dir, &y, used, &s, a, e);
    wl_arena_free(a);
    return rc;
}
