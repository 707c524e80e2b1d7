/* Weather on a grid: FourCastNet on ERA5, trained one step ahead, or fine-tuned two steps ahead with the same weights.
 */
#include "models/models.h"
#include "nn/checkpoint/checkpoint.h"
#include "train/workloads/weather_metrics.h"

#include <stddef.h>

struct options {
    struct wl_train_opts train;
    const char *data, *init;
    int64_t lead, steps, train_samples, val_samples;
};

struct weather {
    struct wl_weather forecasts; /* with --explain alone: of ERA5's grid */
    struct wl_fourcastnet_io net;
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Huber et al. 2025, arXiv:2508.07706, train FourCastNet as its authors do (Pathak et al. 2022, arXiv:2202.11214):
 * 80 epochs of AdamW with a rate of 5e-4 that falls as a cosine, one field per GPU; then two steps ahead, 50 epochs
 * from 1e-4. */
static const struct wl_opt_preset recipes[] = {
    { "huber2025", "steps=1 epochs=80 local-batch=1 optimizer=adamw lr=5e-4 lr-scale=no lr-schedule=cosine "
                   "warmup-epochs=0 precision=f32 validate=yes" },
    { "huber2025-finetune", "steps=2 epochs=50 local-batch=1 optimizer=adamw lr=1e-4 lr-scale=no lr-schedule=cosine "
                            "warmup-epochs=0 precision=f32 validate=yes" },
    { NULL, NULL },
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct wl_opt rows[] = {
    { "data", WL_STR, AT(data), .unit = "FOLDER",
      .help = "folder with train/*.h5 or *.nc, val and stats; required for training" },
    { "recipe", WL_CHOICE, AT(train.recipe), .choices = "huber2025|huber2025-finetune", .presets = recipes,
      .help = "published recipe, which sets the defaults of other options; default: none" },
    { "lead", WL_INT, AT(lead), "1", 1, 1e4, "times", .help = "lead time of a forecast step" },
    { "steps", WL_INT, AT(steps), "1", 1, WL_FOURCASTNET_MAX_STEPS,
      .help = "forecast steps, each from the previous one, whose losses are summed; 2 for fine-tuning" },
    { "init", WL_STR, AT(init), .unit = "PATH",
      .help = "checkpoint of a pre-training with initial parameters, or a folder, for its newest one; default: random "
              "values" },
    { "train-samples", WL_INT, AT(train_samples), NULL, 1, 1e12,
      .help = "number of training times to use, evenly spaced; default: all" },
    { "val-samples", WL_INT, AT(val_samples), NULL, 1, 1e12,
      .help = "number of validation times to use, evenly spaced; default: all" },
    WL_OPT_END,
};

static const struct options *options_of(const struct wl_train_task *j) { return (const struct options *)j->opts; }

static int configure(struct wl_train_task *j, struct wl_err *e)
{
    (void)e;
    j->state = wl_new(j->arena, struct weather);
    const struct options *o = options_of(j);
    j->data = o->data;
    j->sample_text = wl_strf(j->arena, "forecasts %lld time%s ahead", (long long)o->lead, o->lead == 1 ? "" : "s");
    if (o->steps > 1) j->sample_text = wl_strf(j->arena, "%s, %lld in a row", j->sample_text, (long long)o->steps);
    wl_train_task_attr(j, "lead", o->lead);
    wl_train_task_attr_since(j, "steps", o->steps, 1); /* older checkpoints are of one step */
    return 0;
}

/* ---- data and graph ---------------------------------------------------------------------------------------------- */

static int open_part(struct wl_train_task *j, bool train, struct wl_era5 **d, struct wl_err *e)
{
    const struct options *o = options_of(j);
    const struct wl_era5_opts how = {
        .dir = o->data,
        .train = train,
        .targets = o->steps,
        .lead = o->lead,
        .patch = wl_fourcastnet_patch(o->train.size),
        .samples = train ? o->train_samples : o->val_samples,
        .silent = j->quiet_rank,
    };
    return wl_era5_open(d, &how, j->arena, e);
}

static int open_data(struct wl_train_task *j, struct wl_err *e)
{
    struct weather *w = j->state;
    struct wl_era5_grid *g = &w->forecasts.grid;
    struct wl_era5 *train, *val = NULL;
    int rc = open_part(j, true, &train, e);
    if (rc) return rc;
    *g = *wl_era5_grid(train);
    w->forecasts.steps = options_of(j)->steps;
    if (j->opts->validate) rc = open_part(j, false, &val, e);
    if (!rc && val) rc = wl_era5_check_disjoint(train, val, j->arena, e);
    if (!rc) rc = wl_weather_metrics(j, &w->forecasts, e);
    if (rc) return rc;
    j->train = wl_era5_dataset(train);
    j->val = val ? wl_era5_dataset(val) : NULL;
    j->data_text =
        wl_strf(j->arena, "%lld channels of %lld x %lld points, %lld training times in %s", (long long)g->channels,
                (long long)g->height, (long long)g->width, (long long)j->train->samples, g->layout);
    wl_train_task_attr(j, "channels", g->channels);
    wl_train_task_attr(j, "height", g->height);
    wl_train_task_attr(j, "width", g->width);
    return 0;
}

static void assume_data(struct wl_train_task *j)
{
    struct weather *w = j->state;
    const bool tiny = wl_str_eq(j->opts->size, "tiny");
    w->forecasts.grid =
        (struct wl_era5_grid) { .channels = tiny ? 5 : 20, .height = tiny ? 32 : 720, .width = tiny ? 64 : 1440 };
}

static int build(struct wl_train_task *j, struct wl_graph *g, struct wl_err *e)
{
    struct weather *w = j->state;
    const struct wl_era5_grid *grid = &w->forecasts.grid;
    const struct wl_fourcastnet_opts o = { .size = j->opts->size,
                                           .batch = j->opts->local_batch,
                                           .channels = grid->channels,
                                           .height = grid->height,
                                           .width = grid->width,
                                           .steps = options_of(j)->steps };
    int rc = wl_fourcastnet_build(g, &o, &w->net, e);
    if (rc) return rc;
    j->inputs[0] = w->net.fields;
    for (int64_t i = 0; i < w->net.steps; i++) {
        wl_output(g, w->net.prediction[i]);
        j->inputs[1 + i] = w->net.target[i];
    }
    return 0;
}

static void add_metrics(const struct wl_train_task *j, struct wl_plan *plan, int64_t n, double *custom_sums)
{
    const struct weather *w = j->state;
    for (int64_t i = 0; i < w->net.steps; i++)
        wl_weather_metrics_add(&w->forecasts, i, n, wl_plan_run_input(plan, w->net.fields),
                               wl_plan_run_input(plan, w->net.target[i]), wl_plan_output(plan, w->net.prediction[i]),
                               custom_sums);
}

/* ---- initial parameters ------------------------------------------------------------------------------------------ */

static int find_pretrained(const char *path, struct wl_checkpoint *c, struct wl_arena *a, struct wl_err *e)
{
    bool found = true;
    int rc = wl_is_dir(path) ? wl_checkpoint_newest(path, c, &found, a, e) : wl_checkpoint_open(path, c, a, e);
    return rc || found ? rc : wl_fail(e, WL_ENOENT, "%s: no complete checkpoint", path);
}

/* Must be the same network on the same grid with the same lead time; the number of steps may differ. */
static int check_pretrained(const struct wl_train_task *j, const struct wl_checkpoint *c, struct wl_err *e)
{
    int rc = wl_checkpoint_check_text(c, "model", j->workload->name, e);
    if (!rc) rc = wl_checkpoint_check_text(c, "size", j->opts->size, e);
    for (int i = 0; i < j->n_attrs && !rc; i++)
        if (!wl_str_eq(j->attrs[i].name, "steps"))
            rc = wl_checkpoint_check_int(c, j->attrs[i].name, j->attrs[i].value, j->attrs[i].default_value, e);
    return rc;
}

static int init_weights(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e)
{
    const char *path = options_of(j)->init;
    struct wl_checkpoint c;
    if (!path) return 0;
    struct wl_arena *once = wl_arena_new(j->arena);
    int rc = find_pretrained(path, &c, once, e);
    if (!rc) rc = check_pretrained(j, &c, e);
    if (!rc) rc = wl_checkpoint_load_weights(&c, plan, once, e);
    if (!rc && !j->quiet_rank) wl_log(WL_INFO, "train", "initial parameters from %s", c.path);
    wl_arena_free(once);
    return rc ? wl_err_prefix(e, "--init") : 0;
}

const struct wl_workload wl_workload_fourcastnet = {
    .name = "fourcastnet",
    .help = "trains FourCastNet on ERA5, one or two steps ahead",
    .noun = "time",
    .rows = rows,
    .options_size = sizeof(struct options),
    .example = "wattlaw-train data era5 --synthetic weather\n"
               "wattlaw-train fourcastnet --size tiny --data weather --epochs 10 --checkpoint-dir pre\n"
               "wattlaw-train fourcastnet --size tiny --data weather --epochs 5 --steps 2 --init pre --lr 5e-4",
    .full = { .local_batch = 1, .lr = 5e-4, .optimizer = "adamw", .lr_schedule = "cosine", .weight_decay = 0.01 },
    .tiny = { .local_batch = 8, .lr = 2e-3, .optimizer = "adamw", .lr_schedule = "cosine", .weight_decay = 0.01 },
    .configure = configure,
    .open = open_data,
    .assume_data = assume_data,
    .build = build,
    .init_weights = init_weights,
    .add_metrics = add_metrics,
};
