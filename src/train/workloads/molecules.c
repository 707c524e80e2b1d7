/* Properties of molecules, from QM9: SchNet and DimeNet. */
#include "models/models.h"
#include "train/workload.h"

#include <math.h>
#include <stddef.h>

struct options {
    struct wl_train_opts train;
    const char *data, *property;
    int64_t train_molecules, val_molecules, split_seed;
};

/* What is known of this training. */
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

/* Frey et al. 2022, arXiv:2201.12423, section 2: 200 epochs of Adam with a rate of 1e-3 and 128 molecules a GPU. */
static const struct wl_opt_preset recipes[] = {
    { "frey2022", "epochs=200 local-batch=128 optimizer=adam lr=1e-3 lr-scale=no lr-schedule=constant "
                  "warmup-epochs=0 precision=f32" },
    { NULL, NULL },
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct wl_opt rows[] = {
    { "data", WL_STR, AT(data),
      .help =
          "file of molecules, or folder with qm9.molecules (wattlaw-train data qm9 writes it); needed for training" },
    { "recipe", WL_CHOICE, AT(train.recipe), .choices = "frey2022", .presets = recipes,
      .help = "a published recipe: values for the options that are not given" },
    { "property", WL_STR, AT(property), "U0",
      .help = "what is predicted: A B C mu alpha homo lumo gap r2 zpve U0 U H G Cv" },
    { "train-molecules", WL_INT, AT(train_molecules), NULL, 1, 1e12,
      .help = "train with so many; default: 110,000 of 130,831, in proportion" },
    { "val-molecules", WL_INT, AT(val_molecules), NULL, 1, 1e12,
      .help = "validate with so many others; default: 10,000 of 130,831, in proportion" },
    { "split-seed", WL_INT, AT(split_seed), "1", 0, 9e15, .help = "of which molecules are trained with" },
    WL_OPT_END,
};

static const struct options *options_of(const struct wl_train_task *j) { return (const struct options *)j->opts; }

/* ---- what is reported -------------------------------------------------------------------------------------------- */

enum { SUM_ERROR = WL_SUM_CUSTOM };

static int begin(struct wl_train_task *j, struct wl_err *e)
{
    const struct options *o = options_of(j);
    struct molecules *own = wl_new(j->arena, struct molecules);
    own->model = wl_str_eq(j->workload->name, wl_schnet.name) ? &wl_schnet : &wl_dimenet;
    own->which = wl_qm9_property(o->property, e);
    if (own->which < 0) return WL_EUSAGE;
    own->property = &wl_qm9_properties[own->which];
    own->metrics[0] = (struct wl_train_metric) {
        .name = "loss", .unit = "1", .words = "loss", .value = wl_train_metric_mean, .at = WL_SUM_LOSS, .label = "loss"
    };
    own->metrics[1] =
        (struct wl_train_metric) { .name = "mae",
                                   .unit = own->property->shown_unit,
                                   .words = "MAE",
                                   .sign = own->property->shown_unit,
                                   .value = wl_train_metric_mean,
                                   .at = SUM_ERROR,
                                   .label = wl_strf(j->arena, "mean absolute error of %s", own->property->name),
                                   .main = true };
    j->own = own;
    j->custom_sums = 1;
    j->metrics = own->metrics;
    j->n_metrics = WL_COUNT(own->metrics);
    j->shape = wl_strf(j->arena, "molecules whose atoms see %g angstrom far, for %s", own->model->cutoff(o->train.size),
                       own->property->name);
    j->data = o->data;
    wl_train_task_attr(j, "property", own->which);
    wl_train_task_attr(j, "split_seed", o->split_seed);
    return 0;
}

/* The target is a property over its scale; the error is shown in the property's own unit. */
static void observe(const struct wl_train_task *j, struct wl_plan *plan, int64_t n, double *custom_sums)
{
    const struct molecules *own = j->own;
    const float *target = wl_plan_input(plan, own->net.target), *found = wl_plan_output(plan, own->net.prediction);
    for (int64_t i = 0; i < n; i++)
        custom_sums[0] += fabs((double)found[i] - (double)target[i]) * own->part.scale * own->property->shown_as;
}

/* ---- data and graph ---------------------------------------------------------------------------------------------- */

static int open_data(struct wl_train_task *j, struct wl_err *e)
{
    const struct options *o = options_of(j);
    struct molecules *own = j->own;
    const struct wl_qm9_split_opts how = { .seed = (uint64_t)o->split_seed,
                                           .train_molecules = o->train_molecules,
                                           .val_molecules = o->val_molecules,
                                           .property = own->which,
                                           .cutoff = own->model->cutoff(o->train.size),
                                           .triplets = own->model == &wl_dimenet,
                                           .batch = o->train.local_batch };
    int rc = wl_qm9_open(&own->data, o->data, j->arena, e);
    if (!rc) rc = wl_qm9_split(&own->part, &own->data, &how, j->arena, e);
    if (rc) return rc;
    const int64_t *room = own->part.room;
    own->room = (struct wl_molecule_capacity) { room[0], room[1], room[2], room[3] };
    for (int k = 0; k < WL_ROW_KINDS; k++) own->mean_rows[k] = own->part.mean[k];
    j->train = &own->part.train;
    j->val = o->train.validate ? &own->part.val : NULL;
    j->found =
        wl_strf(j->arena,
                "%lld training molecules, %lld for validation, %lld left; %s spreads by %.4g %s beyond its atoms",
                (long long)own->part.train.samples, (long long)own->part.val.samples, (long long)own->part.left,
                own->property->name, own->part.scale * own->property->shown_as, own->property->shown_unit);
    wl_train_task_attr(j, "molecules", own->data.molecules);
    return 0;
}

/* Every molecule as large as QM9's largest, every atom near every other; how many there are on average is not known. */
static void assume(struct wl_train_task *j)
{
    enum { MOST = WL_MOLECULE_MAX_ATOMS };
    struct molecules *own = j->own;
    const int64_t n = j->opts->local_batch, edges = MOST * (MOST - 1);
    own->room = (struct wl_molecule_capacity) { n, n * MOST, own->model == &wl_dimenet ? n * edges : n * edges / 2,
                                                n * edges * (MOST - 2) };
    for (int k = 0; k < WL_ROW_KINDS; k++) own->mean_rows[k] = NAN;
}

static int build(struct wl_train_task *j, struct wl_graph *g, struct wl_err *e)
{
    struct molecules *own = j->own;
    struct wl_molecule_model_io *t = &own->net;
    int rc = own->model->build(g, &(struct wl_molecule_model_opts) { j->opts->size, own->room }, t, e);
    if (rc) return rc;
    wl_mean_rows(g, own->mean_rows);
    struct wl_tensor *const pairs[] = { t->counts, t->atom_start, t->number, t->pair_start,
                                        t->pair,   t->distance,   t->target };
    struct wl_tensor *const edges[] = { t->counts,  t->atom_start,    t->number,   t->edge_start, t->source,
                                        t->reverse, t->triplet_start, t->distance, t->cosine,     t->target };
    const bool triplets = own->model == &wl_dimenet;
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
        .help = "trains " words " on properties of molecules (QM9)",                 \
        .noun = "molecule",                                                          \
        .rows = rows,                                                                \
        .options_size = sizeof(struct options),                                      \
        .example = "wattlaw-train data qm9 --synthetic molecules\n"                  \
                   "wattlaw-train " #id " --size tiny --data molecules --epochs 10", \
        .full = ADAM(128, 1e-3),                                                     \
        .tiny = ADAM(32, 2e-3),                                                      \
        .begin = begin,                                                              \
        .open = open_data,                                                           \
        .assume = assume,                                                            \
        .build = build,                                                              \
        .observe = observe,                                                          \
    }

NETWORK(schnet, "SchNet");
NETWORK(dimenet, "DimeNet");
