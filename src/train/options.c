#include "train/options.h"

#include "nn/comm/comm.h"
#include "nn/nn.h"
#include "train/workload.h"

#include <math.h>
#include <stddef.h>

#define AT(field) .offset = offsetof(struct wl_train_opts, field)

/* `choices` and `help` of --comm and --backend come from the tables: wl_train_options. */
static const struct wl_opt shared_rows[] = {
    { "epochs", WL_INT, AT(epochs), "10", 1, WL_TRAIN_MAX_EPOCHS, .help = "number of passes over the training set" },
    { "local-batch", WL_INT, AT(local_batch), NULL, 1, 1e6,
      .help = "samples that a worker computes at a time; default: the model's" },
    { "accumulation", WL_INT, AT(accumulation), "1", 1, 1e6,
      .help = "local batches whose gradients are summed before an update; global batch = workers x local batch x "
              "accumulation" },
    { "size", WL_CHOICE, AT(size), "full", .choices = "full|tiny",
      .help = "size of the network; tiny: fewer blocks and channels, for tests and small machines" },
    { "validate", WL_FLAG, AT(validate), "yes", .help = "evaluate on the validation set after each epoch" },
    { "eval-train", WL_FLAG, AT(eval_train), .help = "evaluate on the training set after each epoch (default no)" },
    { "seed", WL_INT, AT(seed), "1", 0, 9e15,
      .help = "random seed of the initial parameters, the order of samples, augmentation and dropout" },

    { "optimizer", WL_CHOICE, AT(optimizer), .choices = "sgd|adam|adamw", .help = "optimizer; default: the model's" },
    { "lr", WL_REAL, AT(lr), NULL, 0, 1e6,
      .help = "learning rate; default: the model's, which image models scale with the global batch" },
    { "lr-scale", WL_FLAG, AT(lr_scale),
      .help = "scale the learning rate linearly with the global batch (lr x batch / 256); default no" },
    { "lr-schedule", WL_CHOICE, AT(lr_schedule), .choices = "constant|step|cosine|linear|plateau",
      .help = "learning-rate schedule over the epochs; default: the model's" },
    { "warmup-epochs", WL_REAL, AT(warmup_epochs), "0", 0, 1e6, "epochs",
      .help = "length of the linear rise of the learning rate at the start" },
    { "warmup-updates", WL_INT, AT(warmup_updates), NULL, 0, 1e12, "updates",
      .help = "length of the linear rise of the learning rate at the start, in place of --warmup-epochs; default: as "
              "--warmup-epochs" },
    { "lr-factor", WL_REAL, AT(lr_factor), "0.1", 1e-9, 1,
      .help = "factor by which the step and plateau schedules cut the learning rate" },
    { "lr-step-epochs", WL_REAL, AT(lr_step_epochs), "30", 1e-3, 1e6, "epochs",
      .help = "interval between the cuts of the step schedule" },
    { "lr-patience", WL_INT, AT(lr_patience), "5", 0, 1e6, "epochs",
      .help = "epochs without improvement before the plateau schedule cuts the learning rate" },
    { "lr-min", WL_REAL, AT(lr_min), "0", 0, 1e6, .help = "lower limit of the learning-rate schedule" },
    { "momentum", WL_REAL, AT(momentum), NULL, 0, 1, .help = "momentum of SGD; default: the model's" },
    { "weight-decay", WL_REAL, AT(weight_decay), NULL, 0, 1, .help = "weight decay; default: the model's" },
    { "decay-weights-only", WL_FLAG, AT(decay_weights_only),
      .help = "exclude biases and normalisation parameters from weight decay (default no)" },
    { "beta1", WL_REAL, AT(beta1), "0.9", 1e-9, 1,
      .help = "decay rate of Adam's and AdamW's first moment (mean of gradients)" },
    { "beta2", WL_REAL, AT(beta2), "0.999", 1e-9, 1,
      .help = "decay rate of Adam's and AdamW's second moment (mean of squared gradients)" },
    { "eps", WL_REAL, AT(eps), "1e-8", 1e-30, 1, .help = "Adam's and AdamW's epsilon, added to the denominator" },
    { "nesterov", WL_FLAG, AT(nesterov), .help = "use Nesterov momentum with SGD (default no)" },

    { "workers", WL_INT, AT(workers), NULL, 1, 1024,
      .help = "worker processes (ranks) to start on this machine; not with mpirun or srun; default: 1" },
    { "threads", WL_INT, AT(threads), "1", 1, 1024, .help = "compute threads of each worker" },
    { "loader-threads", WL_INT, AT(loader_threads), "1", 0, 1024,
      .help = "threads of each worker that read data ahead; 0: read each batch when needed" },
    { "pin", WL_FLAG, AT(pin), .help = "bind each worker to one CPU core per thread (default no)" },
    { "comm", WL_CHOICE, AT(comm), "auto", .choices = "auto", .help = "communication between ranks" },
    { "backend", WL_CHOICE, AT(backend), "auto", .choices = "auto",
      .help = "compute back-end; auto: the first of these that was built, but boxed and gpu by name only" },

    { "conv", WL_CHOICE, AT(conv), "auto", .choices = "auto|direct|winograd",
      .help = "convolution algorithm; auto: the faster one for each shape, measured once and cached, on a GPU of "
              "matrix products "
              "too" },
    { "allow-slow-bf16", WL_FLAG, AT(allow_slow_bf16),
      .help = "allow bf16 on a processor without bf16 instructions (slower than f32) (default no)" },
#define SETTING_CHOICE(name, option, def, choices_, help_, ...) \
    { option, WL_CHOICE, AT(name), def, .choices = choices_, .help = help_ },
#include "settings/settings.def"
    { "memory", WL_REAL, AT(memory_gb), NULL, 1e-3, 1e6, "GB",
      .help = "memory limit of a worker's plan, met by recomputing activations; default: no limit" },

    { "checkpoint-dir", WL_STR, AT(checkpoint_dir), .unit = "FOLDER",
      .help = "folder for checkpoints; default: none are written" },
    { "checkpoint-every", WL_REAL, AT(checkpoint_every), "1", 0, 1e6, "epochs",
      .help = "interval between checkpoints; 0: only at the end and when interrupted" },
    { "checkpoint-keep", WL_INT, AT(checkpoint_keep), "2", 1, 1e6, .help = "number of checkpoints to keep" },
    { "resume", WL_FLAG, AT(resume),
      .help = "continue from the newest checkpoint in --checkpoint-dir, if there is one (default no)" },
    { "explain", WL_FLAG, AT(explain),
      .help = "instead of training, print the steps of one update with kernels, layouts, memory and flop" },
    { "by-op", WL_CHOICE, AT(by_op), "no", .choices = "no|class|all",
      .help = "times to print with --explain, measured in a few steps on the data, beside the shortest "
              "that this machine allows; class: summed over operations of one kind; all: one by one" },
    { "json", WL_FLAG, AT(json), .help = "print the results as JSON" },
    { "quiet", WL_FLAG, AT(quiet), .help = "print only warnings and errors on stderr" },
    WL_OPT_END,
};

struct choices {
    struct wl_text names, help;
};

static struct choices choices_of(const struct wl_opt *row, struct wl_arena *a)
{
    struct choices c = { WL_TEXT(a), WL_TEXT(a) };
    wl_text_add(&c.names, row->choices);
    wl_text_add(&c.help, row->help);
    return c;
}

/* "; NAME: what it is" or "; NAME: not available (reason)" */
static void add_choice(struct choices *c, const char *name, const char *what, const char *unavailable)
{
    wl_text_addf(&c->names, "|%s", name);
    if (unavailable)
        wl_text_addf(&c->help, "; %s: not available (%s)", name, unavailable);
    else
        wl_text_addf(&c->help, "; %s: %s", name, what);
}

static void list_backends(struct wl_opt *row, struct wl_arena *a)
{
    struct choices c = choices_of(row, a);
    const struct wl_backend_row *b;
    for (size_t i = 0; (b = wl_backend_row(i)); i++) add_choice(&c, b->name, b->help, b->unavailable);
    row->choices = c.names.s;
    row->help = c.help.s;
}

static void list_comm(struct wl_opt *row, struct wl_arena *a)
{
    struct choices c = choices_of(row, a);
    const struct wl_comm_ops *ops;
    for (size_t i = 0; (ops = wl_comm_backends[i]); i++) add_choice(&c, ops->name, ops->help, ops->unavailable);
    row->choices = c.names.s;
    row->help = c.help.s;
}

const struct wl_opt *wl_train_options(const struct wl_workload *w, struct wl_arena *a)
{
    struct wl_opt *shared = wl_new_array(a, struct wl_opt, WL_COUNT(shared_rows));
    for (size_t i = 0; i < WL_COUNT(shared_rows); i++) {
        shared[i] = shared_rows[i];
        if (shared[i].offset == offsetof(struct wl_train_opts, backend)) list_backends(&shared[i], a);
        if (shared[i].offset == offsetof(struct wl_train_opts, comm)) list_comm(&shared[i], a);
    }
    return wl_opts_join(w->rows, shared, a);
}

const struct wl_train_defaults *wl_train_defaults(const struct wl_train_task *j)
{
    return wl_str_eq(j->opts->size, "tiny") ? &j->workload->tiny : &j->workload->full;
}

static void fill_shared(struct wl_train_opts *o, const struct wl_train_defaults *d)
{
    if (o->local_batch == 0) o->local_batch = d->local_batch;
    if (!o->optimizer) o->optimizer = d->optimizer;
    if (!o->lr_schedule) o->lr_schedule = d->lr_schedule;
    if (isnan(o->momentum)) o->momentum = d->momentum;
    if (isnan(o->weight_decay)) o->weight_decay = d->weight_decay;
}

int wl_train_options_complete(struct wl_train_task *j, struct wl_err *e)
{
    struct wl_train_opts *o = j->opts;
    fill_shared(o, wl_train_defaults(j));
    int rc = j->workload->configure(j, e);
    if (rc) return rc;
    const bool by_op = !wl_str_eq(o->by_op, "no");
    if (by_op && !o->explain) return wl_fail(e, WL_EUSAGE, "--by-op %s needs --explain: it trains nothing", o->by_op);
    if (!j->data && (by_op || !o->explain))
        return wl_fail(e, WL_EUSAGE, "--data is missing: %s", wl_opts_find(j->rows, "data")->help);
    if (o->warmup_updates && o->warmup_epochs > 0)
        return wl_fail(e, WL_EUSAGE, "--warmup-updates and --warmup-epochs exclude each other: give one of them");
    if (o->resume && !o->checkpoint_dir)
        return wl_fail(e, WL_EUSAGE, "--resume needs --checkpoint-dir, the folder with the checkpoints");
    return 0;
}
