/* Properties of molecules, from QM9: SchNet and DimeNet. */
#include "models/models.h"
#include "train/workload.h"

#include <math.h>
#include <stddef.h>

struct options {
    struct wl_train_opts train;
    const char *data, *property, *filters; /* filters: NULL but of SchNet */
    int64_t train_molecules, val_molecules, split_seed;
};

/* The state of this training. */
struct molecules {
    const struct wl_molecule_model *model;
    const struct wl_qm9_property *property;
    int which; /* of wl_qm9_properties */
    struct wl_qm9 data;
    struct wl_qm9_splits part;
    struct wl_molecule_capacity room;
    double mean_rows[WL_ROW_KINDS]; /* of a batch */
    struct wl_molecule_model_io net;
    struct wl_train_metric metrics[2];
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Frey et al. 2022, arXiv:2201.12423, section 2: 200 epochs of Adam with a rate of 1e-3 and 128 molecules per GPU. */
static const struct wl_opt_preset recipes[] = {
    { "frey2022", "epochs=200 local-batch=128 optimizer=adam lr=1e-3 lr-scale=no lr-schedule=constant "
                  "warmup-epochs=0 precision=f32" },
    { NULL, NULL },
};

#define AT(field) .offset = offsetof(struct options, field)

/* Those of both networks; a table ends with WL_OPT_END. */
/* clang-format off */
#define ROWS                                                                                                           \
    { "data", WL_STR, AT(data), .unit = "PATH",                                                                        \
      .help =                                                                                                          \
          "file of molecules (made by wattlaw-train data qm9), or folder with qm9.molecules; required for training" }, \
    { "recipe", WL_CHOICE, AT(train.recipe), .choices = "frey2022", .presets = recipes,                                \
      .help = "published recipe, which sets the defaults of other options; default: none" },                           \
    { "property", WL_STR, AT(property), "U0", .unit = "PROPERTY",                                                      \
      .help = "property to predict: A B C mu alpha homo lumo gap r2 zpve U0 U H G Cv" },                               \
    { "train-molecules", WL_INT, AT(train_molecules), NULL, 1, 1e12,                                                   \
      .help = "number of training molecules; default: 110,000 of 130,831, in proportion" },                            \
    { "train-samples", WL_INT, AT(train_molecules), NULL, 1, 1e12,                                                     \
      .help = "number of training molecules, under the name that all workloads have; default: --train-molecules" },    \
    { "val-molecules", WL_INT, AT(val_molecules), NULL, 1, 1e12,                                                       \
      .help = "number of validation molecules; default: 10,000 of 130,831, in proportion" },                           \
    { "split-seed", WL_INT, AT(split_seed), "1", 0, 9e15,                                                              \
      .help = "random seed of the split into training and validation molecules" }
/* clang-format on */

static const struct wl_opt dimenet_rows[] = { ROWS, WL_OPT_END };

static const struct wl_opt schnet_rows[] = {
    ROWS,
    { "filters", WL_CHOICE, AT(filters), "table", .choices = "table|exact",
      .help = "computation of the filters; table: interpolated over the distance, gradients within 1e-6 of exact ones; "
              "exact, and on a GPU in any case: as published, for each pair of atoms" },
    WL_OPT_END,
};

static const struct options *options_of(const struct wl_train_task *j) { return (const struct options *)j->opts; }

/* ---- what is reported -------------------------------------------------------------------------------------------- */

enum { SUM_ERROR = WL_SUM_CUSTOM };

static int configure(struct wl_train_task *j, struct wl_err *e)
{
    const struct options *o = options_of(j);
    struct molecules *state = wl_new(j->arena, struct molecules);
    state->model = wl_str_eq(j->workload->name, wl_schnet.name) ? &wl_schnet : &wl_dimenet;
    state->which = wl_qm9_property(o->property, e);
    if (state->which < 0) return WL_EUSAGE;
    state->property = &wl_qm9_properties[state->which];
    state->metrics[0] = (struct wl_train_metric) { .name = "loss",
                                                   .unit = "1",
                                                   .display_name = "loss",
                                                   .value = wl_train_metric_mean,
                                                   .index = WL_SUM_LOSS,
                                                   .label = "loss" };
    state->metrics[1] =
        (struct wl_train_metric) { .name = "mae",
                                   .unit = state->property->display_unit,
                                   .display_name = "MAE",
                                   .display_unit = state->property->display_unit,
                                   .value = wl_train_metric_mean,
                                   .index = SUM_ERROR,
                                   .label = wl_strf(j->arena, "mean absolute error of %s", state->property->name),
                                   .primary = true };
    j->state = state;
    j->custom_sums = 1;
    j->metrics = state->metrics;
    j->n_metrics = WL_COUNT(state->metrics);
    j->sample_text = wl_strf(j->arena, "molecules whose atoms see %g angstrom far, for %s",
                             state->model->cutoff(o->train.size), state->property->name);
    j->data = o->data;
    wl_train_task_attr(j, "property", state->which);
    wl_train_task_attr(j, "split_seed", o->split_seed);
    if (o->filters) wl_train_task_attr_text(j, "filters", o->filters);
    return 0;
}

/* The target is a property over its scale; the error is shown in the property's own unit. */
static void add_metrics(const struct wl_train_task *j, struct wl_plan *plan, int64_t n, double *custom_sums)
{
    const struct molecules *state = j->state;
    const float *target = wl_plan_run_input(plan, state->net.target),
                *found = wl_plan_output(plan, state->net.prediction);
    for (int64_t i = 0; i < n; i++)
        custom_sums[0] +=
            fabs((double)found[i] - (double)target[i]) * state->part.scale * state->property->display_factor;
}

/* ---- data and graph ---------------------------------------------------------------------------------------------- */

static int split(const struct wl_train_task *j, struct wl_qm9_splits *part, struct wl_err *e)
{
    const struct options *o = options_of(j);
    const struct molecules *state = j->state;
    const struct wl_qm9_split_opts how = { .seed = (uint64_t)o->split_seed,
                                           .train_molecules = o->train_molecules,
                                           .val_molecules = o->val_molecules,
                                           .property = state->which,
                                           .cutoff = state->model->cutoff(o->train.size),
                                           .triplets = state->model == &wl_dimenet,
                                           .batch = o->train.local_batch };
    return wl_qm9_split(part, &state->data, &how, j->arena, e);
}

static struct wl_molecule_capacity room_of(const struct wl_qm9_splits *part)
{
    const int64_t *room = part->capacity;
    return (struct wl_molecule_capacity) { room[0], room[1], room[2], room[3] };
}

static int resize(struct wl_train_task *j, struct wl_err *e)
{
    struct wl_qm9_splits part;
    int rc = split(j, &part, e);
    if (!rc) ((struct molecules *)j->state)->room = room_of(&part);
    return rc;
}

static int open_data(struct wl_train_task *j, struct wl_err *e)
{
    const struct options *o = options_of(j);
    struct molecules *state = j->state;
    int rc = wl_qm9_open(&state->data, o->data, j->arena, e);
    if (!rc) rc = split(j, &state->part, e);
    if (rc) return rc;
    state->room = room_of(&state->part);
    for (int k = 0; k < WL_ROW_KINDS; k++) state->mean_rows[k] = state->part.mean_batch[k];
    j->train = &state->part.train;
    j->val = o->train.validate ? &state->part.val : NULL;
    j->data_text =
        wl_strf(j->arena,
                "%lld training molecules, %lld for validation, %lld left; %s spreads by %.4g %s beyond its atoms",
                (long long)state->part.train.samples, (long long)state->part.val.samples, (long long)state->part.unused,
                state->property->name, state->part.scale * state->property->display_factor,
                state->property->display_unit);
    wl_train_task_attr(j, "molecules", state->data.molecules);
    return 0;
}

/* Every molecule as large as QM9's largest, every atom near every other; how many there are on average is not known. */
static void assume_data(struct wl_train_task *j)
{
    enum { MOST = WL_MOLECULE_MAX_ATOMS };
    struct molecules *state = j->state;
    const int64_t n = j->opts->local_batch, edges = MOST * (MOST - 1);
    state->room = (struct wl_molecule_capacity) { n, n * MOST, state->model == &wl_dimenet ? n * edges : n * edges / 2,
                                                  n * edges * (MOST - 2) };
    for (int k = 0; k < WL_ROW_KINDS; k++) state->mean_rows[k] = NAN;
}

static int build(struct wl_train_task *j, struct wl_graph *g, struct wl_err *e)
{
    struct molecules *state = j->state;
    struct wl_molecule_model_io *t = &state->net;
    const char *filters = options_of(j)->filters;
    const struct wl_molecule_model_opts how = { .size = j->opts->size,
                                                .capacity = state->room,
                                                .exact_filters = filters && wl_str_eq(filters, "exact") };
    int rc = state->model->build(g, &how, t, e);
    if (rc) return rc;
    wl_mean_rows(g, state->mean_rows);
    struct wl_tensor *const pairs[] = { t->counts, t->atom_start, t->number, t->pair_start,
                                        t->pair,   t->distance,   t->target };
    struct wl_tensor *const edges[] = { t->counts,  t->atom_start,    t->number,   t->edge_start, t->source,
                                        t->reverse, t->triplet_start, t->distance, t->cosine,     t->target };
    const bool triplets = state->model == &wl_dimenet;
    for (size_t i = 0; i < (triplets ? WL_COUNT(edges) : WL_COUNT(pairs)); i++)
        j->inputs[i] = triplets ? edges[i] : pairs[i];
    return 0;
}

/* ---- the networks ------------------------------------------------------------------------------------------------ */

#define ADAM(batch, rate)                                                                     \
    {                                                                                         \
        .local_batch = (batch), .lr = (rate), .optimizer = "adam", .lr_schedule = "constant", \
    }

#define NETWORK(id, words)                                                           \
    const struct wl_workload wl_workload_##id = {                                    \
        .name = #id,                                                                 \
        .help = "trains " words " on properties of molecules from QM9",              \
        .noun = "molecule",                                                          \
        .rows = id##_rows,                                                           \
        .options_size = sizeof(struct options),                                      \
        .example = "wattlaw-train data qm9 --synthetic molecules\n"                  \
                   "wattlaw-train " #id " --size tiny --data molecules --epochs 10", \
        .full = ADAM(128, 1e-3),                                                     \
        .tiny = ADAM(32, 2e-3),                                                      \
        .configure = configure,                                                      \
        .open = open_data,                                                           \
        .assume_data = assume_data,                                                  \
        .resize = resize,                                                            \
        .build = build,                                                              \
        .add_metrics = add_metrics,                                                  \
    }

NETWORK(schnet, "SchNet");
NETWORK(dimenet, "DimeNet");
