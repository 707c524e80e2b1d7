/* Weather on a grid: FourCastNet on ERA5, one step ahead. */
#include "cmd/workload.h"
#include "models/models.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>

struct options {
    struct wl_train_opts train;
    const char *data;
    int64_t lead, train_samples, val_samples;
};

/* Own sums, each by channel. */
enum { SUM_RMSE, SUM_PERSISTENCE, SUM_ACC, SUMS };

struct weather {
    struct wl_era5_grid grid; /* with --explain alone: that of ERA5 */
    double *weight;           /* [height] of a line of latitude: its share of the area times height */
    struct wl_tensor *prediction;
};

/* ---- options ------------------------------------------------------------------------------------------------------
 */

/* Huber et al. 2025, arXiv:2508.07706, train FourCastNet as its authors do (Pathak et al. 2022, arXiv:2202.11214):
 * 80 epochs of AdamW with a rate of 5e-4 that falls as a cosine, one field a GPU. */
static const struct wl_opt_preset recipes[] = {
    { "huber2025", "epochs=80 local-batch=1 optimizer=adamw lr=5e-4 lr-scale=no lr-schedule=cosine warmup-epochs=0 "
                   "precision=f32 validate=yes" },
    { NULL, NULL },
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct wl_opt rows[] = {
    { "data", WL_STR, AT(data), .help = "folder with train/*.h5 or *.nc, val and stats; needed for training" },
    { "recipe", WL_CHOICE, AT(train.recipe), .choices = "huber2025", .presets = recipes,
      .help = "a published recipe: values for the options that are not given" },
    { "lead", WL_INT, AT(lead), "1", 1, 1e4, "times", .help = "how far ahead is forecast" },
    { "train-samples", WL_INT, AT(train_samples), NULL, 1, 1e12,
      .help = "use so many times of training; default: all" },
    { "val-samples", WL_INT, AT(val_samples), NULL, 1, 1e12, .help = "use so many times of validation; default: all" },
    WL_OPT_END,
};

static const struct options *options_of(const struct wl_job *j) { return (const struct options *)j->opts; }

static int begin(struct wl_job *j, struct wl_err *e)
{
    (void)e;
    j->own = wl_new(j->arena, struct weather);
    j->data = options_of(j)->data;
    j->shape = wl_strf(j->arena, "forecasts %lld time%s ahead", (long long)options_of(j)->lead,
                       options_of(j)->lead == 1 ? "" : "s");
    wl_job_fact(j, "lead", options_of(j)->lead);
    return 0;
}

/* ---- what is reported ----------------------------------------------------------------------------------------------
 */

/* Share of the persistence forecast's error that the network's avoids, mean over the channels. */
static double skill(const struct wl_metric *m, const double *sum)
{
    const int channels = m->at;
    double all = 0;
    for (int c = 0; c < channels; c++)
        all += 1 - sum[WL_SUM_OWN + SUM_RMSE * channels + c] / sum[WL_SUM_OWN + SUM_PERSISTENCE * channels + c];
    return all / channels;
}

/* "z 500" becomes rmse_z_500. */
static const char *metric_name(const char *kind, const char *channel, struct wl_arena *a)
{
    char *name = wl_strf(a, "%s_%s", kind, channel);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '_';
    return name;
}

static void list_metrics(struct wl_job *j, const struct wl_era5_grid *g)
{
    static const struct {
        const char *name, *label;
    } kinds[SUMS] = { { "rmse", "RMSE" }, { "persistence_rmse", "RMSE of persistence" }, { "acc", "anomaly correlation" } };
    const int channels = (int)g->channels, sums = g->climate ? SUMS : SUM_ACC;
    struct wl_metric *m = wl_new_array(j->arena, struct wl_metric, (size_t)(2 + SUMS * channels));
    j->metrics = m;
    *m++ = (struct wl_metric) { .name = "loss",
                                .unit = "1",
                                .words = "loss",
                                .value = wl_metric_mean,
                                .at = WL_SUM_LOSS,
                                .label = "relative L2 loss" };
    *m++ = (struct wl_metric) { .name = "skill",
                                .unit = "1",
                                .larger = true,
                                .words = "skill",
                                .sign = "%",
                                .shown_as = 100,
                                .value = skill,
                                .at = channels,
                                .label = "skill over persistence",
                                .main = true };
    for (int k = 0; k < sums; k++)
        for (int c = 0; c < channels; c++)
            *m++ = (struct wl_metric) {
                .name = metric_name(kinds[k].name, g->names[c], j->arena),
                .unit = k == SUM_ACC ? "1" : NULL,
                .larger = k == SUM_ACC,
                .value = wl_metric_mean,
                .at = WL_SUM_OWN + k * channels + c,
                .label = wl_strf(j->arena, "%s of %s", kinds[k].label, g->names[c]),
                .baseline_of =
                    k == SUM_PERSISTENCE ? metric_name(kinds[SUM_RMSE].name, g->names[c], j->arena) : NULL,
            };
    j->n_metrics = (size_t)(m - j->metrics);
    j->own_sums = SUMS * channels;
}

/* Root of the mean square of a - b over the globe; both [height,width]. */
static double rmse(const struct weather *w, const float *a, const float *b)
{
    double sum = 0;
    for (int64_t r = 0; r < w->grid.height; r++) {
        double line = 0;
        for (int64_t i = r * w->grid.width; i < (r + 1) * w->grid.width; i++)
            line += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        sum += w->weight[r] * line;
    }
    return sqrt(sum / (double)(w->grid.height * w->grid.width));
}

/* Correlation of what both have beside the climatology. */
static double correlation(const struct weather *w, const float *a, const float *b, const float *climate)
{
    double ab = 0, aa = 0, bb = 0;
    for (int64_t r = 0; r < w->grid.height; r++)
        for (int64_t i = r * w->grid.width; i < (r + 1) * w->grid.width; i++) {
            const double x = (double)a[i] - (double)climate[i], y = (double)b[i] - (double)climate[i];
            ab += w->weight[r] * x * y;
            aa += w->weight[r] * x * x;
            bb += w->weight[r] * y * y;
        }
    return ab / sqrt(aa * bb);
}

static void observe(const struct wl_job *j, struct wl_plan *plan, int64_t n, double *own_sums)
{
    const struct weather *w = j->own;
    const int64_t channels = w->grid.channels, plane = w->grid.height * w->grid.width;
    const float *from = wl_plan_input(plan, j->inputs[0]), *target = wl_plan_input(plan, j->inputs[1]);
    const float *prediction = wl_plan_output(plan, w->prediction);
    for (int64_t i = 0; i < n * channels; i++) {
        const int64_t c = i % channels, at = i * plane;
        const double unit = (double)w->grid.deviation[c];
        own_sums[SUM_RMSE * channels + c] += unit * rmse(w, prediction + at, target + at);
        own_sums[SUM_PERSISTENCE * channels + c] += unit * rmse(w, from + at, target + at);
        if (w->grid.climate)
            own_sums[SUM_ACC * channels + c] +=
                correlation(w, prediction + at, target + at, w->grid.climate + c * plane);
    }
}

/* ---- data and graph ------------------------------------------------------------------------------------------------
 */

static int open_part(struct wl_job *j, bool train, struct wl_era5 **d, struct wl_err *e)
{
    const struct options *o = options_of(j);
    const struct wl_era5_opts how = {
        .dir = o->data,
        .train = train,
        .targets = 1,
        .lead = o->lead,
        .patch = wl_fourcastnet_patch(o->train.size),
        .samples = train ? o->train_samples : o->val_samples,
        .silent = j->silent,
    };
    return wl_era5_open(d, &how, j->arena, e);
}

/* cos(latitude), scaled to a mean of 1. */
static void weigh(struct weather *w, struct wl_arena *a)
{
    double sum = 0;
    w->weight = wl_new_array(a, double, (size_t)w->grid.height);
    for (int64_t r = 0; r < w->grid.height; r++) sum += w->weight[r] = cos(w->grid.latitude[r] * M_PI / 180);
    for (int64_t r = 0; r < w->grid.height; r++) w->weight[r] *= (double)w->grid.height / sum;
}

static int open_data(struct wl_job *j, struct wl_err *e)
{
    struct weather *w = j->own;
    struct wl_era5 *train, *val = NULL;
    int rc = open_part(j, true, &train, e);
    if (rc) return rc;
    w->grid = *wl_era5_grid(train);
    if (j->opts->validate) rc = open_part(j, false, &val, e);
    if (!rc && val) rc = wl_era5_check_apart(train, val, j->arena, e);
    if (rc) return rc;
    weigh(w, j->arena);
    list_metrics(j, &w->grid);
    j->train = wl_era5_set(train);
    j->val = val ? wl_era5_set(val) : NULL;
    j->found =
        wl_strf(j->arena, "%lld channels of %lld x %lld points, %lld training times in %s", (long long)w->grid.channels,
                (long long)w->grid.height, (long long)w->grid.width, (long long)j->train->samples, w->grid.layout);
    wl_job_fact(j, "channels", w->grid.channels);
    wl_job_fact(j, "height", w->grid.height);
    wl_job_fact(j, "width", w->grid.width);
    return 0;
}

static void assume(struct wl_job *j)
{
    struct weather *w = j->own;
    const bool tiny = wl_streq(j->opts->size, "tiny");
    w->grid = (struct wl_era5_grid) { .channels = tiny ? 5 : 20, .height = tiny ? 32 : 720, .width = tiny ? 64 : 1440 };
}

static int build(struct wl_job *j, struct wl_graph *g, struct wl_err *e)
{
    struct weather *w = j->own;
    struct wl_fourcastnet_net net;
    const struct wl_fourcastnet_opts o = { .size = j->opts->size,
                                           .batch = j->opts->local_batch,
                                           .channels = w->grid.channels,
                                           .height = w->grid.height,
                                           .width = w->grid.width };
    int rc = wl_fourcastnet_build(g, &o, &net, e);
    if (rc) return rc;
    wl_output(g, net.prediction);
    w->prediction = net.prediction;
    j->inputs[0] = net.fields;
    j->inputs[1] = net.target;
    return 0;
}

const struct wl_workload wl_workload_fourcastnet = {
    .name = "fourcastnet",
    .help = "trains FourCastNet on ERA5, one step ahead",
    .noun = "time",
    .rows = rows,
    .options_size = sizeof(struct options),
    .example = "wattlaw-train data era5 --synthetic weather\n"
               "wattlaw-train fourcastnet --size tiny --data weather --epochs 10",
    .full = { .local_batch = 1, .lr = 5e-4, .optimizer = "adamw", .lr_schedule = "cosine", .weight_decay = 0.01 },
    .tiny = { .local_batch = 8, .lr = 2e-3, .optimizer = "adamw", .lr_schedule = "cosine", .weight_decay = 0.01 },
    .begin = begin,
    .open = open_data,
    .assume = assume,
    .build = build,
    .observe = observe,
};
