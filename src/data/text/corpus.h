/* From text to a folder of token files. */
#ifndef WL_DATA_TEXT_CORPUS_H
#define WL_DATA_TEXT_CORPUS_H

#include "base/base.h"

/* The part of a text that gets one [CLS] and [SEP]. */
enum wl_text_unit {
    WL_TEXT_UNIT_LINE,      /* every line, also blank ones, as in run_mlm of transformers */
    WL_TEXT_UNIT_PARAGRAPH, /* lines up to a blank one: for text with line breaks */
    WL_TEXT_UNIT_FILE,
};

/* The files of the folder. */
#define WL_VOCAB_FILE   "vocab.txt"
#define WL_TRAIN_TOKENS "train.tokens"
#define WL_VAL_TOKENS   "val.tokens"

struct wl_corpus_opts {
    const char *dir;         /* created if missing */
    const char *vocab;       /* vocab.txt; NULL: a vocabulary is trained */
    int64_t vocab_size;      /* tokens of the vocabulary to train on the training text */
    struct wl_strs text;     /* files and folders; a folder with wiki.train.raw (or .tokens) is WikiText */
    struct wl_strs val_text; /* empty: that of the WikiText folder, otherwise val_fraction of the text */
    double val_fraction;     /* 0 to 1: of the sequences, evenly spaced */
    int64_t sequence;        /* tokens; an incomplete sequence at the end is dropped */
    enum wl_text_unit unit;
    int64_t threads; /* 0: one per core */
};

/* Counts are totals over both parts. */
struct wl_corpus_stats {
    uint64_t train_tokens, val_tokens; /* in complete sequences */
    uint64_t tokens, units, unknown;   /* of the text: all tokens, units, and [UNK] */
    double bytes;                      /* of text */
    double seconds;                    /* for tokenising */
    double vocab_train_s;              /* for training the vocabulary; NAN: it was given */
    int64_t vocabulary;
    int64_t files_skipped; /* files in folders that are not text */
};

/* Tokenises. The same files for any number of threads. A folder that already has tokens is WL_EINVAL. `progress` draws
 * a bar on stderr. */
int wl_corpus_write(const struct wl_corpus_opts *o, bool progress, struct wl_corpus_stats *made, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

#endif
