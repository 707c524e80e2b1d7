#include "train/train.h"

#include <math.h>
#include <stddef.h>

#define AT(field) .offset = offsetof(struct wl_train_opts, field)

const struct wl_opt wl_train_option_rows[] = {
    { "epochs", WL_INT, AT(epochs), "10", 1, 1e6, .help = "passes over the training set" },
    { "local-batch", WL_INT, AT(local_batch), NULL, 1, 1e6,
      .help = "samples of a worker at a time; default: the model's" },
    { "accumulation", WL_INT, AT(accumulation), "1", 1, 1e6,
      .help = "local batches added up before an update; global batch = workers x local batch x accumulation" },
    { "size", WL_CHOICE, AT(size), "full", .choices = "full|tiny",
      .help = "tiny: the same network with fewer blocks and channels, for tests and small machines" },
    { "validate", WL_FLAG, AT(validate), "yes", .help = "run over the validation set after each epoch" },
    { "eval-train", WL_FLAG, AT(eval_train),
      .help = "run over the training set too after each epoch, as over the validation set" },
    { "seed", WL_INT, AT(seed), "1", 0, 9e15,
      .help = "of the parameters, the order of samples and what is random in them" },

    { "optimizer", WL_CHOICE, AT(optimizer), .choices = "sgd|adam|adamw", .help = "default: the model's" },
    { "lr", WL_REAL, AT(lr), NULL, 0, 1e6,
      .help = "learning rate; default: the model's, some in proportion to the global batch" },
    { "lr-scale", WL_FLAG, AT(lr_scale), .help = "multiply it by global batch/256" },
    { "lr-schedule", WL_CHOICE, AT(lr_schedule), .choices = "constant|step|cosine|linear|plateau",
      .help = "what happens to it over the epochs; default: the model's" },
    { "warmup-epochs", WL_REAL, AT(warmup_epochs), "0", 0, 1e6, .help = "linear rise at the start" },
    { "warmup-updates", WL_INT, AT(warmup_updates), NULL, 0, 1e12, .help = "the same, counted in updates" },
    { "lr-factor", WL_REAL, AT(lr_factor), "0.1", 1e-9, 1, .help = "step and plateau: what it is multiplied by" },
    { "lr-step-epochs", WL_REAL, AT(lr_step_epochs), "30", 1e-3, 1e6, .help = "step: every so many epochs" },
    { "lr-patience", WL_INT, AT(lr_patience), "5", 0, 1e6, .help = "plateau: epochs without improvement before a cut" },
    { "lr-min", WL_REAL, AT(lr_min), "0", 0, 1e6, .help = "the schedule stops here" },
    { "momentum", WL_REAL, AT(momentum), NULL, 0, 1, .help = "of SGD; default: the model's" },
    { "weight-decay", WL_REAL, AT(weight_decay), NULL, 0, 1, .help = "default: the model's" },
    { "decay-weights-only", WL_FLAG, AT(decay_weights_only), .help = "spare biases and the parameters of norms" },
    { "beta1", WL_REAL, AT(beta1), "0.9", 1e-9, 1, .help = "adam, adamw: share of the old mean of gradients" },
    { "beta2", WL_REAL, AT(beta2), "0.999", 1e-9, 1, .help = "adam, adamw: share of the old mean of their squares" },
    { "eps", WL_REAL, AT(eps), "1e-8", 1e-30, 1, .help = "adam, adamw: added to the root of that mean" },
    { "nesterov", WL_FLAG, AT(nesterov), .help = "Nesterov's momentum" },

    { "workers", WL_INT, AT(workers), NULL, 1, 1024,
      .help = "ranks on this machine, started here; leave it out under mpirun or srun" },
    { "threads", WL_INT, AT(threads), "1", 1, 1024, .help = "of each worker, for computing" },
    { "loader-threads", WL_INT, AT(loader_threads), "1", 0, 1024,
      .help = "of each worker, for reading data ahead; 0: read when needed" },
    { "pin", WL_FLAG, AT(pin), .help = "give each worker processor cores of its own, as many as threads" },
    { "comm", WL_CHOICE, AT(comm), "auto", .choices = "auto|null|shm|mpi", .help = "how ranks exchange gradients" },
    { "backend", WL_CHOICE, AT(backend), "auto", .choices = "auto|cpu|ref",
      .help = "cpu: oneDNN; ref: plain C, slow, for comparison" },

    { "conv", WL_CHOICE, AT(conv), "auto", .choices = "auto|direct|winograd",
      .help = "how convolutions are computed; auto: the faster way by shape, measured once and remembered" },
    { "precision", WL_CHOICE, AT(precision), "f32", .choices = "f32|bf16",
      .help = "bf16: values and products in bf16; parameters, their gradients and statistics stay f32" },
    { "allow-slow-bf16", WL_FLAG, AT(allow_slow_bf16),
      .help = "bf16 also on a processor that has no instructions for it: slower than f32" },

    { "recompute", WL_CHOICE, AT(recompute), "no", .choices = "no|yes",
      .help = "yes: keep few values for the backward pass and compute the others again there: the least memory, same "
              "bits" },
    { "memory", WL_REAL, AT(memory_gb), NULL, 1e-3, 1e6, "GB",
      .help = "of a worker's plan, at most: as many values are computed again as that takes; default: any" },

    { "checkpoint-dir", WL_STR, AT(checkpoint_dir), .help = "folder for checkpoints; default: none are written" },
    { "checkpoint-every", WL_REAL, AT(checkpoint_every), "1", 0, 1e6, "epochs",
      .help = "how often; 0: only at the end and on an interruption" },
    { "checkpoint-keep", WL_INT, AT(checkpoint_keep), "2", 1, 1e6, .help = "how many are kept" },
    { "resume", WL_FLAG, AT(resume), .help = "go on from the newest checkpoint, if there is one" },
    { "explain", WL_FLAG, AT(explain),
      .help = "print what a step does, with kernels, layouts, memory and flop, instead of training" },
    { "json", WL_FLAG, AT(json), .help = "print the results as JSON" },
    { "quiet", WL_FLAG, AT(quiet), .help = "no progress on stderr" },
    WL_OPT_END,
};

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
    int rc = j->workload->begin(j, e);
    if (rc) return rc;
    if (!j->data && !o->explain)
        return wl_fail(e, WL_EUSAGE, "--data is missing: %s", wl_opts_find(j->rows, "data")->help);
    if (o->warmup_updates && o->warmup_epochs > 0)
        return wl_fail(e, WL_EUSAGE, "--warmup-updates and --warmup-epochs say the same: give one of them");
    if (o->resume && !o->checkpoint_dir)
        return wl_fail(e, WL_EUSAGE, "--resume needs --checkpoint-dir, the folder to go on from");
    return 0;
}
