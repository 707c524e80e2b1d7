/* Samples for masked language modelling. */
#ifndef WL_DATA_TEXT_MLM_H
#define WL_DATA_TEXT_MLM_H

#include "data/dataset.h"
#include "data/text/token_file.h"

struct wl_mlm_opts {
    const char *dir;     /* of token files */
    bool train;          /* true: training set; false: validation set */
    int64_t sequence;    /* S, tokens of a sample; need not be the length to which the tokens were cut */
    int64_t predictions; /* P, maximum number of tokens to predict per sample */
    int64_t samples;     /* number to use, evenly spaced; 0: all. More than there are: WL_EINVAL */
};

/* One part of a folder of token files: sequences in which 15 % of the tokens are to be predicted, rounded to the
 * nearest, at least one and at most P; never [CLS], [SEP] and [PAD]. 80 % of them become [MASK], 10 % any token of the
 * vocabulary, 10 % stay. In training the choice is keyed by (seed, epoch, sample), in evaluation by (seed, sample).
 * Buffers, all i32: tokens [B,S]    lengths [B]: S, 0: padding    positions [B,P] ascending    labels [B,P] the tokens
 * there, -1: unused */
struct wl_mlm;
int wl_mlm_open(struct wl_mlm **m, const struct wl_mlm_opts *o, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

const struct wl_dataset *wl_mlm_dataset(const struct wl_mlm *m);
const struct wl_token_file *wl_mlm_token_file(const struct wl_mlm *m);

#endif
