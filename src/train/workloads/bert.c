/* BERT, trained to predict masked tokens. */
#include "models/models.h"
#include "train/workload.h"
#include "train/workloads/bert_weights.h"

#include <math.h>
#include <stddef.h>
#include <unistd.h>

struct options {
    struct wl_train_opts train;
    const char *data, *vocab, *init, *save;
    int64_t sequence, train_samples, val_samples;
    double drop;
};

/* The state of this training. */
struct bert {
    int64_t vocabulary; /* tokens */
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Frey et al. 2022, arXiv:2201.12423, section 2.2: Hugging Face's run_mlm on WikiText-103, AdamW with a rate of 5e-5, 8
 * sequences per GPU for any number of GPUs, 4 to 40 epochs depending on it (the fewest here). The rest is as in that
 * script: 512 tokens, no weight decay, a rate that falls linearly to 0 without warm-up. */
static const struct wl_opt_preset recipes[] = {
    { "frey2022",
      "epochs=4 local-batch=8 sequence=512 optimizer=adamw lr=5e-5 lr-scale=no weight-decay=0 lr-schedule=linear "
      "warmup-epochs=0" },
    { NULL, NULL },
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct wl_opt rows[] = {
    { "data", WL_STR, AT(data), .unit = "FOLDER",
      .help = "folder of token files (made by wattlaw-train data wikitext); required for training" },
    { "recipe", WL_CHOICE, AT(train.recipe), .choices = "frey2022", .presets = recipes,
      .help = "published recipe, which sets the defaults of other options; default: none" },
    { "sequence", WL_INT, AT(sequence), NULL, 1, 1e6, "tokens",
      .help = "sequence length; default: 512, with --size tiny 32" },
    { "drop", WL_REAL, AT(drop), "0.1", 0, 0.99, .help = "dropout probability of hidden activations and attention" },
    { "vocab", WL_STR, AT(vocab), .unit = "FILE",
      .help = "vocab.txt that the token files must have been made with; default: any" },
    { "init", WL_STR, AT(init), .unit = "FILE",
      .help = "file of initial parameters: .safetensors with the names of bert-base-uncased; default: random values" },
    { "save", WL_STR, AT(save), .unit = "FILE",
      .help = "file for the parameters after the last epoch, as .safetensors; default: none" },
    { "train-samples", WL_INT, AT(train_samples), NULL, 1, 1e12,
      .help = "number of training sequences to use, evenly spaced; default: all" },
    { "val-samples", WL_INT, AT(val_samples), NULL, 1, 1e12,
      .help = "number of validation sequences to use, evenly spaced; default: all" },
    WL_OPT_END,
};

static const struct options *options_of(const struct wl_train_task *j) { return (const struct options *)j->opts; }

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

static double perplexity(const struct wl_train_metric *m, const double *sum)
{
    return exp(wl_train_metric_mean(m, sum));
}

/* Over the masked tokens. */
static const struct wl_train_metric metrics[] = {
    { "loss", "nat", false, "loss", NULL, 0, wl_train_metric_mean, WL_SUM_LOSS, .label = "loss", .primary = true },
    { "perplexity", "1", false, "perplexity", NULL, 0, perplexity, WL_SUM_LOSS, .label = "perplexity" },
    { "masked_accuracy", "1", true, "masked", "%", 100, wl_train_metric_mean, WL_SUM_TOP1,
      .label = "accuracy at masked tokens" },
};

/* Checked before hours of training, not after them. */
static int check_save(const char *path, struct wl_arena *a, struct wl_err *e)
{
    if (!path || access(wl_path_dir(a, path), W_OK) == 0) return 0;
    return wl_fail_errno(e, "--save %s", path);
}

static int configure(struct wl_train_task *j, struct wl_err *e)
{
    struct options *o = (struct options *)j->opts;
    if (!o->sequence) o->sequence = wl_str_eq(o->train.size, "tiny") ? 32 : 512;
    j->state = wl_new(j->arena, struct bert);
    j->sample_text = wl_strf(j->arena, "sequences of %lld tokens", (long long)o->sequence);
    j->data = o->data;
    j->throughput_unit = "tokens";
    j->units_per_sample = (double)o->sequence;
    j->metrics = metrics;
    j->n_metrics = WL_COUNT(metrics);
    wl_train_task_attr(j, "sequence", o->sequence);
    return check_save(o->save, j->arena, e);
}

/* ---- data and graph ---------------------------------------------------------------------------------------------- */

static int open_part(struct wl_train_task *j, bool train, struct wl_mlm **m, struct wl_err *e)
{
    const struct options *o = options_of(j);
    const struct wl_mlm_opts how = { .dir = o->data,
                                     .train = train,
                                     .sequence = o->sequence,
                                     .predictions = wl_bert_default_predictions(o->sequence),
                                     .samples = train ? o->train_samples : o->val_samples };
    return wl_mlm_open(m, &how, j->arena, e);
}

static int check_vocab(const struct wl_train_task *j, const struct wl_token_file *t, struct wl_err *e)
{
    const char *path = options_of(j)->vocab;
    struct wl_vocab *v;
    int rc = path ? wl_vocab_read(&v, path, j->arena, e) : 0;
    if (rc || !path || (wl_vocab_hash(v) == t->vocab_hash && wl_vocab_size(v) == t->vocabulary)) return rc;
    return wl_fail(e, WL_EINVAL,
                   "%s was made with another vocabulary than %s: %lld tokens with hash %016llx, not %lld with %016llx",
                   t->path, path, (long long)t->vocabulary, (unsigned long long)t->vocab_hash,
                   (long long)wl_vocab_size(v), (unsigned long long)wl_vocab_hash(v));
}

/* The network is built for the tokens of the training file. */
static int check_parts(const struct wl_token_file *train, const struct wl_token_file *val, struct wl_err *e)
{
    if (train->vocab_hash != val->vocab_hash || train->vocabulary != val->vocabulary)
        return wl_fail(e, WL_EINVAL,
                       "%s and %s were made with different vocabularies: %lld tokens with hash %016llx, and %lld with "
                       "%016llx",
                       train->path, val->path, (long long)train->vocabulary, (unsigned long long)train->vocab_hash,
                       (long long)val->vocabulary, (unsigned long long)val->vocab_hash);
    for (int i = 0; i < WL_SPECIAL_TOKENS; i++)
        if (train->special[i] != val->special[i])
            return wl_fail(e, WL_EINVAL, "%s and %s have different special tokens: number %d is %u, and %u",
                           train->path, val->path, i + 1, (unsigned)train->special[i], (unsigned)val->special[i]);
    return 0;
}

static int open_data(struct wl_train_task *j, struct wl_err *e)
{
    enum { EXACT = 12 /* 52 bits are exact in every JSON reader */ };
    struct bert *state = j->state;
    struct wl_mlm *train, *val = NULL;
    int rc = open_part(j, true, &train, e);
    if (!rc) rc = check_vocab(j, wl_mlm_token_file(train), e);
    if (!rc && j->opts->validate) rc = open_part(j, false, &val, e);
    if (!rc && val) rc = check_parts(wl_mlm_token_file(train), wl_mlm_token_file(val), e);
    if (rc) return rc;
    const struct wl_token_file *t = wl_mlm_token_file(train);
    j->train = wl_mlm_dataset(train);
    j->val = val ? wl_mlm_dataset(val) : NULL;
    state->vocabulary = t->vocabulary;
    j->data_text = wl_strf(j->arena, "%lld training sequences, a vocabulary of %lld tokens",
                           (long long)j->train->samples, (long long)t->vocabulary);
    wl_train_task_attr(j, "vocabulary", t->vocabulary);
    wl_train_task_attr(j, "vocabulary_hash", (int64_t)(t->vocab_hash >> EXACT));
    return 0;
}

/* 0: the model's own vocabulary. */
static void assume_data(struct wl_train_task *j) { (void)j; }

static int build(struct wl_train_task *j, struct wl_graph *g, struct wl_err *e)
{
    const struct options *o = options_of(j);
    const struct bert *state = j->state;
    struct wl_bert_io net;
    const struct wl_bert_opts m = { .size = o->train.size,
                                    .batch = o->train.local_batch,
                                    .sequence = o->sequence,
                                    .vocabulary = state->vocabulary,
                                    .drop = o->drop };
    int rc = wl_bert_build(g, &m, &net, e);
    if (rc) return rc;
    j->inputs[0] = net.tokens;
    j->inputs[1] = net.lengths;
    j->inputs[2] = net.positions;
    j->inputs[3] = net.labels;
    return 0;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static int init_weights(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e)
{
    const struct options *o = options_of(j);
    const struct bert *state = j->state;
    return o->init ? wl_bert_weights_load(o->init, state->vocabulary, o->data, plan, !j->quiet_rank, j->arena, e) : 0;
}

static int export_weights(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e)
{
    const struct options *o = options_of(j);
    return o->save ? wl_safetensors_save(o->save, plan, j->arena, e) : 0;
}

const struct wl_workload wl_workload_bert = {
    .name = "bert",
    .help = "trains BERT on text, by masked language modelling",
    .noun = "sequence",
    .rows = rows,
    .options_size = sizeof(struct options),
    .example = "wattlaw-train data wikitext --synthetic tokens --sequence 32\n"
               "wattlaw-train bert --size tiny --data tokens --epochs 4",
    .full = { .local_batch = 8, .lr = 5e-5, .optimizer = "adamw", .lr_schedule = "linear" },
    .tiny = { .local_batch = 16, .lr = 1e-3, .optimizer = "adamw", .lr_schedule = "linear" },
    .configure = configure,
    .open = open_data,
    .assume_data = assume_data,
    .build = build,
    .init_weights = init_weights,
    .export = export_weights,
};
