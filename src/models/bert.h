/* BERT. */
#ifndef WL_MODELS_BERT_H
#define WL_MODELS_BERT_H

#include "nn/nn.h"

/* BERT, trained by predicting masked tokens (Devlin et al. 2019, arXiv:1810.04805): the encoder and the head that
 * predicts tokens, without next-sentence prediction and pooler. Parameters have the names and shapes of the state
 * dict of Hugging Face's BertForMaskedLM, and start as there: matrices and tables N(0, .02), biases 0, layer
 * norms 1 and 0. "bert.embeddings.word_embeddings.weight" [V,D] is the decoder's matrix too and is stored once. */
struct wl_bert_opts {
    const char *size;    /* "full": BERT-base, 12 layers of 768 with 12 heads; "tiny": 2 layers of 128 with 2 heads */
    int64_t batch;       /* N, samples of a micro-batch */
    int64_t sequence;    /* S, tokens of a sample; at most 512 */
    int64_t predictions; /* P, maximum of tokens to predict per sample; 0: wl_bert_default_predictions(sequence) */
    int64_t vocabulary;  /* V; 0: 30522, that of bert-base-uncased */
    double drop;         /* dropout probability of hidden activations and attention; NAN: 0.1 */
};

/* Inputs, in their order, and outputs of the graph. Inputs are i32, filled before each run. */
struct wl_bert_io {
    struct wl_tensor *tokens;    /* [N,S] in [0,V); all of segment 0 */
    struct wl_tensor *lengths;   /* [N]: number of tokens; the rest is padding, which attention masks out. 0: the whole
                                  * sample is padding */
    struct wl_tensor *positions; /* [N,P]: position in its sample of each token to predict, in [0,S) */
    struct wl_tensor *labels;    /* [N*P]: that token; -1: unused, whatever its position */
    struct wl_tensor *logits;    /* f32 [N*P,V] */
    struct wl_tensor *loss;      /* f32, mean over the labels >= 0; these are the samples of wl_counts */
};

/* 15 % of the tokens of a sample, rounded up. */
int64_t wl_bert_default_predictions(int64_t sequence);

/* Adds the network to an empty graph. WL_EINVAL: a sequence longer than the position embeddings, the graph's own error.
 */
int wl_bert_build(struct wl_graph *g, const struct wl_bert_opts *opts, struct wl_bert_io *io,
                  struct wl_err *e) WL_MUST_CHECK;

#endif
