#include "train/workloads/weather_metrics.h"

#include <ctype.h>
#include <math.h>

/* Custom sums of a step: the loss, then each of these by channel. */
enum { SUM_RMSE, SUM_PERSISTENCE, SUM_ACC, KINDS };

static int64_t step_sum_count(const struct wl_weather *f) { return 1 + KINDS * f->grid.channels; }

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

/* Share of the persistence forecast's RMSE that the network's forecast avoids, mean over the channels. */
static double skill(const struct wl_train_metric *m, const double *sum)
{
    double all = 0;
    for (int c = 0; c < m->count; c++)
        all += 1 - sum[m->index + SUM_RMSE * m->count + c] / sum[m->index + SUM_PERSISTENCE * m->count + c];
    return all / m->count;
}

/* "rmse" of "z 500" in the second step is rmse_z_500_step2; channel NULL: of all channels. */
static const char *metric_name(const char *kind, const char *channel, int64_t step, struct wl_arena *a)
{
    char *name = channel ? wl_strf(a, "%s_%s", kind, channel) : wl_strdup(a, kind);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '_';
    return step ? wl_strf(a, "%s_step%lld", name, (long long)step + 1) : name;
}

/* "RMSE of z 500, step 2" */
static const char *metric_label(const char *kind, const char *channel, int64_t step, struct wl_arena *a)
{
    const char *label = channel ? wl_strf(a, "%s of %s", kind, channel) : kind;
    return step ? wl_strf(a, "%s, step %lld", label, (long long)step + 1) : label;
}

static const struct {
    const char *name, *label;
} kinds[KINDS] = {
    [SUM_RMSE] = { "rmse", "RMSE" },
    [SUM_PERSISTENCE] = { "persistence_rmse", "RMSE of persistence" },
    [SUM_ACC] = { "acc", "anomaly correlation" },
};

static struct wl_train_metric *list_channels(struct wl_train_metric *m, const struct wl_weather *f, int64_t step,
                                             int at, struct wl_arena *a)
{
    const char *const *names = f->grid.names;
    const int channels = (int)f->grid.channels, n = f->grid.climatology ? KINDS : SUM_ACC;
    for (int k = 0; k < n; k++)
        for (int c = 0; c < channels; c++)
            *m++ = (struct wl_train_metric) {
                .name = metric_name(kinds[k].name, names[c], step, a),
                .unit = k == SUM_ACC ? "1" : f->grid.units[c],
                .larger_is_better = k == SUM_ACC,
                .value = wl_train_metric_mean,
                .index = at + k * channels + c,
                .label = metric_label(kinds[k].label, names[c], step, a),
                .baseline_of = k == SUM_PERSISTENCE ? metric_name(kinds[SUM_RMSE].name, names[c], step, a) : NULL,
            };
    return m;
}

/* The skill of the last step is the primary metric. */
static struct wl_train_metric *list_step(struct wl_train_metric *m, const struct wl_weather *f, int64_t step,
                                         struct wl_arena *a)
{
    const int at = WL_SUM_CUSTOM + (int)(step * step_sum_count(f));
    *m++ = (struct wl_train_metric) {
        .name = metric_name("skill", NULL, step, a),
        .unit = "1",
        .larger_is_better = true,
        .display_name = step ? wl_strf(a, "skill of step %lld", (long long)step + 1) : "skill",
        .display_unit = "%",
        .display_scale = 100,
        .value = skill,
        .index = at + 1,
        .count = (int)f->grid.channels,
        .label = metric_label("skill over persistence", NULL, step, a),
        .primary = step == f->steps - 1,
    };
    if (f->steps > 1) /* with one step it is the loss itself */
        *m++ = (struct wl_train_metric) { .name = wl_strf(a, "loss_step%lld", (long long)step + 1),
                                          .unit = "1",
                                          .value = wl_train_metric_mean,
                                          .index = at,
                                          .label = wl_strf(a, "relative L2 loss of step %lld", (long long)step + 1) };
    return list_channels(m, f, step, at + 1, a);
}

/* cos(latitude), scaled to a mean of 1. */
static const double *weigh(const struct wl_era5_grid *g, struct wl_arena *a)
{
    double sum = 0, *weight = wl_new_array(a, double, (size_t)g->height);
    for (int64_t r = 0; r < g->height; r++) sum += weight[r] = cos(g->latitude[r] * M_PI / 180);
    for (int64_t r = 0; r < g->height; r++) weight[r] *= (double)g->height / sum;
    return weight;
}

int wl_weather_metrics(struct wl_train_task *j, struct wl_weather *f, struct wl_err *e)
{
    const int64_t max_channels = ((WL_MAX_SUMS - WL_SUM_CUSTOM) / f->steps - 1) / KINDS;
    if (f->grid.channels > max_channels)
        return wl_fail(e, WL_EINVAL, "%s: %lld channels; the metrics of %lld step%s allow at most %lld", j->data,
                       (long long)f->grid.channels, (long long)f->steps, f->steps == 1 ? "" : "s",
                       (long long)max_channels);
    f->weight = weigh(&f->grid, j->arena);
    j->custom_sums = (int)(f->steps * step_sum_count(f));
    struct wl_train_metric *m =
        wl_new_array(j->arena, struct wl_train_metric, (size_t)(1 + f->steps * (1 + step_sum_count(f))));
    j->metrics = m;
    *m++ = (struct wl_train_metric) { .name = "loss",
                                      .unit = "1",
                                      .display_name = "loss",
                                      .value = wl_train_metric_mean,
                                      .index = WL_SUM_LOSS,
                                      .label = f->steps > 1 ? "relative L2 loss of all steps" : "relative L2 loss" };
    for (int64_t i = 0; i < f->steps; i++) m = list_step(m, f, i, j->arena);
    j->n_metrics = (size_t)(m - j->metrics);
    return 0;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* |a - b| / |b| of [n] */
static double relative_l2(const float *a, const float *b, int64_t n)
{
    double error = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        error += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    return sqrt(error / norm);
}

/* Root of the mean square of a - b over the globe; both [height,width]. */
static double rmse(const struct wl_weather *f, const float *a, const float *b)
{
    double sum = 0;
    for (int64_t r = 0; r < f->grid.height; r++) {
        double line = 0;
        for (int64_t i = r * f->grid.width; i < (r + 1) * f->grid.width; i++)
            line += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        sum += f->weight[r] * line;
    }
    return sqrt(sum / (double)(f->grid.height * f->grid.width));
}

/* Anomaly correlation: of both minus the climatology. */
static double correlation(const struct wl_weather *f, const float *a, const float *b, const float *climatology)
{
    double ab = 0, aa = 0, bb = 0;
    for (int64_t r = 0; r < f->grid.height; r++)
        for (int64_t i = r * f->grid.width; i < (r + 1) * f->grid.width; i++) {
            const double x = (double)a[i] - (double)climatology[i], y = (double)b[i] - (double)climatology[i];
            ab += f->weight[r] * x * y;
            aa += f->weight[r] * x * x;
            bb += f->weight[r] * y * y;
        }
    return ab / sqrt(aa * bb);
}

void wl_weather_metrics_add(const struct wl_weather *f, int64_t step, int64_t n, const float *from, const float *target,
                            const float *prediction, double *custom_sums)
{
    const int64_t channels = f->grid.channels, plane = f->grid.height * f->grid.width;
    double *loss = custom_sums + step * step_sum_count(f), *by_channel = loss + 1;
    for (int64_t i = 0; i < n; i++)
        *loss += relative_l2(prediction + i * channels * plane, target + i * channels * plane, channels * plane);
    for (int64_t i = 0; i < n * channels; i++) {
        const int64_t c = i % channels, at = i * plane;
        const double unit = (double)f->grid.deviation[c];
        by_channel[SUM_RMSE * channels + c] += unit * rmse(f, prediction + at, target + at);
        by_channel[SUM_PERSISTENCE * channels + c] += unit * rmse(f, from + at, target + at);
        if (f->grid.climatology)
            by_channel[SUM_ACC * channels + c] +=
                correlation(f, prediction + at, target + at, f->grid.climatology + c * plane);
    }
}
