/* BERT. Source: Devlin et al. 2019, arXiv:1810.04805; layers and names of Hugging Face's BertForMaskedLM: 109,514,298
 * numbers at full size. The decoder works only at the masked positions, 15 % of all. */
#include "models/bert.h"

#include <math.h>

static const double DEVIATION = 0.02, EPS = 1e-12, DROP = 0.1;

enum { SEGMENTS = 2, VOCABULARY = 30522 };

struct shape {
    int64_t layers, features, heads, hidden, positions;
};
static const struct shape full = { .layers = 12, .features = 768, .heads = 12, .hidden = 3072, .positions = 512 };
static const struct shape tiny = { .layers = 2, .features = 128, .heads = 2, .hidden = 512, .positions = 512 };

/* Shared by all layers. */
struct build {
    struct wl_graph *g;
    const struct shape *shape;
    struct wl_tensor *lengths;
    double drop;
};

static struct wl_tensor *project(const struct build *b, const char *name, struct wl_tensor *x, int64_t features,
                                 bool gelu)
{
    return wl_project(b->g, name, x,
                      (struct wl_project) { .features = features, .gelu = gelu, .deviation = DEVIATION });
}

/* LayerNorm(x + dropout(branch)) */
static struct wl_tensor *add_norm(const struct build *b, const char *name, struct wl_tensor *x,
                                  struct wl_tensor *branch)
{
    return wl_layer_norm(b->g, name, x, branch, (struct wl_layer_norm) { .eps = EPS, .drop = branch ? b->drop : 0 });
}

static struct wl_tensor *embeddings(const struct build *b, struct wl_tensor *tokens, int64_t vocabulary)
{
    const struct wl_token_tables how = { .vocabulary = vocabulary,
                                         .positions = b->shape->positions,
                                         .segments = SEGMENTS,
                                         .features = b->shape->features,
                                         .deviation = DEVIATION };
    return wl_embed_tokens(b->g, "bert.embeddings", tokens, how);
}

static struct wl_tensor *layer(const struct build *b, struct wl_tensor *x)
{
    const struct shape *s = b->shape;
    const struct wl_project qkv = { .features = 3 * s->features,
                                    .deviation = DEVIATION,
                                    .parts = { "query", "key", "value" } };
    const struct wl_attention how = { .heads = s->heads, .drop = b->drop };
    struct wl_tensor *y = wl_project(b->g, "attention.self", x, qkv);
    y = wl_attention(b->g, "attention.self.attention", y, b->lengths, how);
    y = project(b, "attention.output.dense", y, s->features, false);
    x = add_norm(b, "attention.output.LayerNorm", x, y);
    y = project(b, "intermediate.dense", x, s->hidden, true);
    y = project(b, "output.dense", y, s->features, false);
    return add_norm(b, "output.LayerNorm", x, y);
}

static struct wl_tensor *encoder(const struct build *b, struct wl_tensor *embedded)
{
    wl_scope_push(b->g, "bert");
    struct wl_tensor *x = add_norm(b, "embeddings.LayerNorm", embedded, NULL);
    x = wl_dropout(b->g, "embeddings.dropout", x, b->drop);
    for (int64_t i = 0; i < b->shape->layers; i++) {
        wl_scope_push(b->g, "encoder.layer.%lld", (long long)i);
        x = layer(b, x);
        wl_scope_pop(b->g);
    }
    wl_scope_pop(b->g);
    return x;
}

/* The logits at these positions. */
static struct wl_tensor *predictions(const struct build *b, struct wl_tensor *x, struct wl_tensor *positions,
                                     struct wl_tensor *embedded)
{
    wl_scope_push(b->g, "cls");
    x = wl_gather(b->g, "places", x, positions);
    x = project(b, "predictions.transform.dense", x, b->shape->features, true);
    x = add_norm(b, "predictions.transform.LayerNorm", x, NULL);
    x = wl_decoder(b->g, "predictions", x, embedded);
    wl_scope_pop(b->g);
    return x;
}

int64_t wl_bert_default_predictions(int64_t sequence) { return (sequence * 15 + 99) / 100; }

static int check(const struct wl_bert_opts *o, const struct shape *s, struct wl_err *e)
{
    if (o->sequence >= 1 && o->sequence <= s->positions) return 0;
    return wl_fail(e, WL_EINVAL, "bert: sequences of %lld tokens; expected 1 to %lld, its number of positions",
                   (long long)o->sequence, (long long)s->positions);
}

int wl_bert_build(struct wl_graph *g, const struct wl_bert_opts *opts, struct wl_bert_io *io, struct wl_err *e)
{
    const struct shape *s = wl_str_eq(opts->size, "tiny") ? &tiny : &full;
    const int64_t n = opts->batch,
                  places = opts->predictions ? opts->predictions : wl_bert_default_predictions(opts->sequence);
    int rc = check(opts, s, e);
    if (rc) return rc;
    io->tokens = wl_input(g, "tokens", WL_I32, WL_DIMS(n, opts->sequence));
    io->lengths = wl_input(g, "lengths", WL_I32, WL_DIMS(n));
    io->positions = wl_input(g, "positions", WL_I32, WL_DIMS(n, places));
    io->labels = wl_input(g, "labels", WL_I32, WL_DIMS(n * places));

    const struct build b = {
        .g = g, .shape = s, .lengths = io->lengths, .drop = isnan(opts->drop) ? DROP : opts->drop
    };
    struct wl_tensor *embedded = embeddings(&b, io->tokens, opts->vocabulary ? opts->vocabulary : VOCABULARY);
    io->logits = predictions(&b, encoder(&b, embedded), io->positions, embedded);
    io->loss = wl_cross_entropy(g, "loss", io->logits, io->labels, (struct wl_loss) { .weight = 1 });
    return wl_graph_check(g, e);
}
