/* The reference networks. Each builds a graph for one local batch and nothing else. */
#ifndef WL_MODELS_MODELS_H
#define WL_MODELS_MODELS_H

#include "nn/nn.h"

/* What a model is built for. */
struct wl_image_model_opts {
    const char
        *size;     /* "full", or "tiny": the same code with fewer blocks and channels, for tests and small machines */
    int64_t batch; /* N, samples of a micro-batch */
    int64_t image_size; /* S, pixels a side */
    int64_t classes;
};

/* The ends of the graph. */
struct wl_image_model_io {
    struct wl_tensor *images; /* f32 [N,3,S,S] */
    struct wl_tensor *labels; /* i32 [N]; < 0: padding */
    struct wl_tensor *logits; /* f32 [N,classes] */
    struct wl_tensor *loss;   /* f32, mean over the samples */
};

struct wl_image_model {
    const char *name;
    int64_t image_size, tiny_image_size; /* pixels a side that each size is meant for; others are possible */

    /* Adds the network to an empty graph. WL_EINVAL: the graph's own error, an image too small for the network. */
    int (*build)(struct wl_graph *g, const struct wl_image_model_opts *opts, struct wl_image_model_io *net,
                 struct wl_err *e);
};

/* ---- BERT -------------------------------------------------------------------------------------------------- */

/* BERT, trained by predicting masked tokens (Devlin et al. 2019, arXiv:1810.04805): the encoder and the head that
 * predicts tokens, without next-sentence prediction and pooler. Parameters have the names and shapes of the state
 * dict of Hugging Face's BertForMaskedLM, and start as there: matrices and tables N(0, .02), biases 0, layer
 * norms 1 and 0. "bert.embeddings.word_embeddings.weight" [V,D] is the decoder's matrix too and stands once. */
struct wl_bert_opts {
    const char *size;   /* "full": BERT-base, 12 layers of 768 with 12 heads; "tiny": 2 layers of 128 with 2 heads */
    int64_t batch;      /* N, samples of a micro-batch */
    int64_t sequence;   /* S, tokens of a sample; at most 512 */
    int64_t masked;     /* P, places of a sample for tokens to predict; 0 counts as wl_bert_default_masked(sequence) */
    int64_t vocabulary; /* V; 0 counts as 30522, that of bert-base-uncased */
    double drop;        /* dropout of hidden values and attention; NAN counts as .1 */
};

/* The ends of the graph, the inputs in their order. All are i32, filled before each run. */
struct wl_bert_io {
    struct wl_tensor *tokens;    /* [N,S] in [0,V); all of segment 0 */
    struct wl_tensor *lengths;   /* [N]: tokens that count, from the first one on; the others are padding, which nobody
                                  * attends to. 0: the whole sample is padding */
    struct wl_tensor *positions; /* [N,P]: where in its sample each token to predict stands, in [0,S) */
    struct wl_tensor *labels;    /* [N*P]: that token; -1: the place is not used, whatever its position */
    struct wl_tensor *logits;    /* f32 [N*P,V] */
    struct wl_tensor *loss;      /* f32, mean over the places with a label >= 0; these are the samples of wl_counts */
};

/* Tokens of a sample that are predicted where nothing else is said: 15 %, rounded up. */
int64_t wl_bert_default_masked(int64_t sequence);

/* Adds the network to an empty graph. WL_EINVAL: a sequence longer than the table of positions, the graph's own error.
 */
int wl_bert_build(struct wl_graph *g, const struct wl_bert_opts *opts, struct wl_bert_io *net,
                  struct wl_err *e) WL_MUST_CHECK;

/* ---- molecules ------------------------------------------------------------------------------------------- */

/* The most of each that a batch has room for. */
struct wl_molecule_capacity {
    int64_t molecules, atoms, edges, triplets; /* SchNet's edges are pairs, each once; DimeNet's have a direction */
};

struct wl_molecule_model_opts {
    const char *size;
    struct wl_molecule_capacity room;
};

/* The ends of the graph. Inputs that a network does not read are NULL. Atoms of a molecule stand together, and so do
 * its pairs, edges and triplets; B, A, E and T are the room. Atoms at 0 < d < cutoff from each other are joined. */
struct wl_molecule_model_io {
    struct wl_tensor *counts;        /* i32 [WL_ROW_KINDS] molecules, atoms, pairs or edges, triplets that are there */
    struct wl_tensor *atom_start;    /* i32 [B + 1] the first atom of each molecule, and where the last one ends */
    struct wl_tensor *number;        /* i32 [A] atomic numbers, 1 to 94 */
    struct wl_tensor *pair_start;    /* i32 [B + 1] SchNet: the first pair of each molecule */
    struct wl_tensor *pair;          /* i32 [E,2] SchNet: two atoms */
    struct wl_tensor *distance;      /* f32 [E] in angstrom, of pairs or edges */
    struct wl_tensor *edge_start;    /* i32 [A + 1] DimeNet, as the next four: struct wl_edges of nn.h */
    struct wl_tensor *source;        /* i32 [E] */
    struct wl_tensor *reverse;       /* i32 [E] */
    struct wl_tensor *triplet_start; /* i32 [A + 1] */
    struct wl_tensor *cosine;        /* f32 [T] of the angle at i between j and k, for the triplet k->j->i */
    struct wl_tensor *target;        /* f32 [B,1]; NAN: padding */
    struct wl_tensor *prediction;    /* f32 [B,1] */
    struct wl_tensor *loss;          /* f32, mean square over the molecules */
};

/* A network of molecules by its size: "full" or "tiny". */
struct wl_molecule_model {
    const char *name;
    double (*cutoff)(const char *size); /* angstrom */
    /* Adds the network to an empty graph. WL_EINVAL: the graph's own error. */
    int (*build)(struct wl_graph *g, const struct wl_molecule_model_opts *opts, struct wl_molecule_model_io *net,
                 struct wl_err *e);
};
extern const struct wl_molecule_model wl_schnet, wl_dimenet;

/* ---- weather --------------------------------------------------------------------------------------------- */

struct wl_fourcastnet_opts {
    const char *size;
    int64_t batch, channels, height, width; /* N, C; points, multiples of the patch */
    int64_t steps; /* forecasts, each of the one before by the same parameters; 0 counts as 1 (pre-training) */
};

enum { WL_FOURCASTNET_MAX_STEPS = 2 }; /* at most: those of fine-tuning */
struct wl_fourcastnet_io {
    int64_t steps;
    struct wl_tensor *fields; /* f32 [N,C,H,W], normalised */
    /* Of each step: what was to be forecast, where a sample that begins with NAN is padding; and the forecast [N,C,H,W]
     * of `fields`, or of the prediction before. */
    struct wl_tensor *target[WL_FOURCASTNET_MAX_STEPS], *prediction[WL_FOURCASTNET_MAX_STEPS];
};

/* Points a side of the patches of a size. */
int64_t wl_fourcastnet_patch(const char *size);

/* Adds the network to an empty graph, with the relative L2 of each step as a loss of weight 1. WL_EINVAL: a grid that
 * patches do not divide, or whose patches are no product of 2, 3 and 5 down or across. */
int wl_fourcastnet_build(struct wl_graph *g, const struct wl_fourcastnet_opts *opts, struct wl_fourcastnet_io *net,
                         struct wl_err *e) WL_MUST_CHECK;

/* ---- the list ---------------------------------------------------------------------------------------------- */

extern const struct wl_image_model *const wl_image_models[]; /* NULL-terminated */

/* A model by name, or NULL. */
const struct wl_image_model *wl_image_model_find(const char *name);

#endif
