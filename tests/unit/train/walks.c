#include "walks.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- the data: a walk of 2 to 9 steps; the target is a combination of its length and its displacement ---- */

enum { MAX_STEPS = 10, INPUTS = 4 };

struct walk {
    double at[MAX_STEPS][2];
    int n;
};

static struct walk walk_of(uint64_t part, int64_t index)
{
    struct walk w = { .n = 3 + (int)wl_random_below(5, part, (uint64_t)index, MAX_STEPS - 2) };
    for (int i = 1; i < w.n; i++)
        for (int k = 0; k < 2; k++)
            w.at[i][k] = w.at[i - 1][k] + wl_random_normal(5, part ^ (uint64_t)index << 8, (uint64_t)(2 * i + k));
    return w;
}

static double distance(const double *a, const double *b) { return hypot(a[0] - b[0], a[1] - b[1]); }

/* features [INPUTS] of a walk, and the target */
static void write_features(const struct walk *w, float *x, float *target)
{
    double length = 0, spread = 0;
    for (int i = 1; i < w->n; i++) {
        length += distance(w->at[i], w->at[i - 1]);
        spread += distance(w->at[i], w->at[0]);
    }
    const double far = distance(w->at[w->n - 1], w->at[0]);
    x[0] = (float)(length / MAX_STEPS);
    x[1] = (float)(spread / (w->n * 4));
    x[2] = (float)(far / MAX_STEPS);
    x[3] = (float)w->n / MAX_STEPS;
    *target = (float)(0.3 * length - 0.2 * far);
}

/* buffer: features [B,INPUTS], targets [B,1]. The walks of a batch are sorted by their number of steps, so that no
 * sample has a fixed position. */
struct walks {
    struct wl_tensor *prediction, *target;
    struct wl_dataset train, val;
    int64_t batch, bad_val, far;
};

static int write_batch(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *key, const int64_t *index,
                       int64_t n, void *const *buffer, struct wl_err *e)
{
    const struct walks *state = s->data;
    float *x = buffer[0], *target = buffer[1];
    int64_t at = 0;
    (void)thread, (void)key;
    for (int64_t i = 0; i < n; i++)
        if (s == &state->val && index[i] == state->bad_val - 1)
            return wl_fail(e, WL_EIO, "%s: walk %lld cannot be read", s->name, (long long)state->bad_val);
    for (int steps = 0; steps <= MAX_STEPS; steps++) {
        for (int64_t i = 0; i < n; i++) {
            struct walk w = walk_of(s == &state->val, index[i]);
            if (w.n != steps) continue;
            write_features(&w, x + at * INPUTS, target + at);
            if (s == &state->train && index[i] == state->far - 1) x[at * INPUTS] = 1e6f;
            at++;
        }
    }
    memset(x + n * INPUTS, 0, (size_t)((state->batch - n) * INPUTS) * sizeof *x);
    memset(target + n, 0, (size_t)(state->batch - n) * sizeof *target);
    return 0;
}

static const struct wl_dataset_ops walks = { .noun = "walk", .write_batch = write_batch };

/* ---- the workload ---- */

static const struct wl_opt_preset recipes[] = { { "quick", "epochs=3 lr=0.02 hidden=9" }, { NULL, NULL } };

static const struct wl_opt rows[] = {
    { "data", WL_STR, .offset = offsetof(struct walks_options, data), .help = "any word" },
    { "recipe", WL_CHOICE, .offset = offsetof(struct walks_options, train.recipe), .choices = "quick",
      .presets = recipes, .help = "values for other options" },
    { "hidden", WL_INT, .offset = offsetof(struct walks_options, hidden), "16", 1, 1000,
      .help = "width of the network" },
    { "bias", WL_REAL, .offset = offsetof(struct walks_options, bias), .help = "of the answer, at the start" },
    { "bad-val", WL_INT, .offset = offsetof(struct walks_options, bad_val), "0", 0, WALKS_VAL,
      .help = "a walk of validation that cannot be read" },
    { "far", WL_INT, .offset = offsetof(struct walks_options, far), "0", 0, WALKS_TRAIN,
      .help = "a walk of training whose length is infinite in f16" },
    { "save", WL_STR, .offset = offsetof(struct walks_options, save), .help = "file for that bias at the end" },
    WL_OPT_END,
};

enum { SUM_ERROR = WL_SUM_CUSTOM, SUM_WALKS };

static double mae(const struct wl_train_metric *m, const double *sum) { return sum[m->index] / sum[SUM_WALKS]; }

static const struct wl_train_metric metrics[] = {
    { "loss", "m2", false, "loss", NULL, 0, wl_train_metric_mean, WL_SUM_LOSS },
    { "mae", "m", false, "MAE", "mm", 1000, mae, SUM_ERROR },
};

static int configure(struct wl_train_task *j, struct wl_err *e)
{
    const struct walks_options *o = (const struct walks_options *)j->opts;
    (void)e;
    struct walks *state = wl_new(j->arena, struct walks);
    state->batch = j->opts->local_batch;
    state->bad_val = o->bad_val;
    state->far = o->far;
    j->state = state;
    j->sample_text = "walks";
    j->data = o->data;
    j->throughput_unit = "steps";
    j->units_per_sample = 5;
    j->metrics = metrics;
    j->n_metrics = WL_COUNT(metrics);
    j->custom_sums = SUM_WALKS + 1 - WL_SUM_CUSTOM;
    wl_train_task_attr(j, "hidden", o->hidden);
    return 0;
}

static int open_data(struct wl_train_task *j, struct wl_err *e)
{
    struct walks *state = j->state;
    const size_t batch = (size_t)state->batch;
    (void)e;
    state->train = (struct wl_dataset) { .ops = &walks,
                                         .name = "walks/train",
                                         .samples = WALKS_TRAIN,
                                         .buffers = 2,
                                         .bytes = { batch * INPUTS * sizeof(float), batch * sizeof(float) },
                                         .data = state };
    state->val = state->train;
    state->val.samples = WALKS_VAL;
    state->val.name = "walks/val";
    j->train = &state->train;
    j->val = &state->val;
    j->data_text = "walks of some steps";
    return 0;
}

static void assume_data(struct wl_train_task *j) { (void)j; }

static int build(struct wl_train_task *j, struct wl_graph *g, struct wl_err *e)
{
    struct walks *state = j->state;
    const int64_t n = state->batch, hidden = ((const struct walks_options *)j->opts)->hidden;
    struct wl_tensor *x = j->inputs[0] = wl_input(g, "features", WL_F32, WL_DIMS(n, INPUTS));
    state->target = j->inputs[1] = wl_input(g, "targets", WL_F32, WL_DIMS(n, 1));
    x = wl_relu(g, "relu", wl_linear(g, "fc0", x, hidden));
    state->prediction = wl_linear(g, "fc1", x, 1);
    wl_output(g, state->prediction);
    wl_mean_square(g, "loss", state->prediction, state->target, (struct wl_loss) { .weight = 1 });
    return wl_graph_check(g, e);
}

static size_t find_bias(const struct wl_plan *plan)
{
    size_t i = 0;
    while (!wl_str_eq(wl_plan_state(plan, i).name, "fc1.bias")) i++;
    return i;
}

static int init_weights(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e)
{
    const float bias = (float)((const struct walks_options *)j->opts)->bias;
    return isnan(bias) ? 0 : wl_plan_state_write(plan, find_bias(plan), &bias, e);
}

static int export_weights(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e)
{
    const char *path = ((const struct walks_options *)j->opts)->save;
    float bias;
    int rc = path ? wl_plan_state_read(plan, find_bias(plan), &bias, e) : 0;
    if (rc || !path) return rc;
    const char *text = wl_strf(j->arena, "%.9g", (double)bias);
    return wl_file_write(path, text, strlen(text), e);
}

static void add_metrics(const struct wl_train_task *j, struct wl_plan *plan, int64_t n, double *custom_sums)
{
    const struct walks *state = j->state;
    const float *prediction = wl_plan_output(plan, state->prediction), *target = wl_plan_run_input(plan, state->target);
    for (int64_t i = 0; i < n; i++) custom_sums[0] += fabs((double)prediction[i] - target[i]);
    custom_sums[1] += (double)n;
}

const struct wl_workload walks_workload = {
    .name = "walks",
    .help = "learns about walks",
    .noun = "walk",
    .rows = rows,
    .options_size = sizeof(struct walks_options),
    .example = "none",
    .full = { .local_batch = 8, .lr = 0.01, .optimizer = "adam", .lr_schedule = "linear" },
    .tiny = { .local_batch = 8, .lr = 0.01, .optimizer = "adam", .lr_schedule = "linear" },
    .configure = configure,
    .open = open_data,
    .assume_data = assume_data,
    .build = build,
    .init_weights = init_weights,
    .export = export_weights,
    .add_metrics = add_metrics,
};
