/* Synthetic text in the format of WikiText. */
#ifndef WL_DATA_TEXT_SYNTH_H
#define WL_DATA_TEXT_SYNTH_H

#include "base/base.h"

struct wl_wikitext_synth_opts {
    const char *dir;    /* created if missing */
    int64_t words;      /* of wiki.train.raw, approximately */
    int64_t val_words;  /* of wiki.valid.raw, approximately; 0: one tenth of words */
    int64_t vocabulary; /* tokens of the vocabulary to train */
    int64_t sequence, seed, threads;
};

/* Writes articles of a small grammar, and their tokens, so that training can start. Masked words can be inferred from
 * those around them: an article has one subject, verbs and pronouns agree with their noun in number. The same files for
 * the same settings. A folder that is complete with them stays unchanged (*written = 0). */
int wl_wikitext_synth(const struct wl_wikitext_synth_opts *o, int64_t *written, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

#endif
