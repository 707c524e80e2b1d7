/* Text of language models: WordPiece vocabularies and tokens, files of tokens, and masked samples of them.
 *
 * Tokens are those of BERT's uncased models: lower case, without accents, split at white space and punctuation, each
 * word into the longest pieces that the vocabulary has. docs/formats.md has the files, docs/adr/034 the packing.
 */
#ifndef WL_DATA_TEXT_TEXT_H
#define WL_DATA_TEXT_TEXT_H

#include "data/loader/loader.h"

/* ---- vocabularies ---- */

/* The tokens that every vocabulary has, as vocab.txt spells them: [PAD] [UNK] [CLS] [SEP] [MASK]. */
enum wl_special_token { WL_TOKEN_PAD, WL_TOKEN_UNK, WL_TOKEN_CLS, WL_TOKEN_SEP, WL_TOKEN_MASK, WL_SPECIAL_TOKENS };
extern const char *const wl_special_token_names[WL_SPECIAL_TOKENS];

struct wl_vocab;

/* Reads a vocab.txt: one token a line, the first has id 0; pieces inside of words begin with "##". WL_EINVAL names the
 * line: an empty one, a duplicate, no UTF-8; or the special tokens that are missing. */
int wl_vocab_read(struct wl_vocab **v, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_vocab_size(const struct wl_vocab *v);
uint32_t wl_vocab_special_token(const struct wl_vocab *v, enum wl_special_token which);
const char *wl_vocab_token(const struct wl_vocab *v, uint32_t id);

/* FNV-1a of all tokens, each with a newline behind it: the same for the same tokens in the same order. */
uint64_t wl_vocab_hash(const struct wl_vocab *v);

/* ---- tokens ---- */

/* The tokens of a text without [CLS] and [SEP] into ids, which has room for n; returns how many there are (never more
 * than n). Any bytes are a text: what is no UTF-8 counts as U+FFFD. Any thread. */
size_t wl_tokenize(const struct wl_vocab *v, const char *text, size_t n, uint32_t *ids);

/* ---- texts ---- */

/* What [CLS] and [SEP] stand around. */
enum wl_text_unit {
    WL_TEXT_UNIT_LINE,      /* every line, blank ones too, as run_mlm of transformers has it */
    WL_TEXT_UNIT_PARAGRAPH, /* lines up to a blank one: for text with line breaks */
    WL_TEXT_UNIT_FILE,
};

/* A folder of tokens is made of a text once: these files. */
#define WL_VOCAB_FILE   "vocab.txt"
#define WL_TRAIN_TOKENS "train.tokens"
#define WL_VAL_TOKENS   "val.tokens"

struct wl_corpus_opts {
    const char *dir;         /* made if it is not there */
    const char *vocab;       /* vocab.txt; NULL: one is learned */
    int64_t learn;           /* tokens of the vocabulary that is learned from the training text */
    struct wl_strs text;     /* files and folders; a folder with wiki.train.raw (or .tokens) is WikiText */
    struct wl_strs val_text; /* none: of a WikiText folder its own, otherwise val_share of the text */
    double val_share;        /* 0 to 1: so many of the sequences, evenly spread */
    int64_t sequence;        /* tokens; what does not fill one at the end is left out */
    enum wl_text_unit unit;
    int64_t threads; /* 0: one a core */
};

/* What was made; counts are of both parts together. */
struct wl_corpus_stats {
    uint64_t train_tokens, val_tokens; /* in whole sequences */
    uint64_t tokens, units, unknown;   /* of the text: all, units, and [UNK] */
    double bytes;                      /* of text */
    double seconds;                    /* that tokenising took */
    double learn_seconds;              /* that learning the vocabulary took; NAN: it was given */
    int64_t vocabulary;
    int64_t left_out; /* files of folders that are no text */
};

/* Tokenises. The same files for any number of threads. A folder that holds tokens already is WL_EINVAL. `progress`
 * draws a bar on stderr. */
int wl_corpus_write(const struct wl_corpus_opts *o, bool progress, struct wl_corpus_stats *made, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* ---- synthetic text in the same format ---- */

struct wl_wikitext_synth_opts {
    const char *dir;    /* made if it is not there */
    int64_t words;      /* of wiki.train.raw, about */
    int64_t val_words;  /* of wiki.valid.raw, about; 0: a tenth */
    int64_t vocabulary; /* tokens to learn */
    int64_t sequence, seed, threads;
};

/* Writes articles of a small grammar as WikiText has them, and their tokens, so that a training can begin. Masked words
 * can be told from those around them: an article keeps to one subject, verbs and pronouns to the number of their noun.
 * The same files for the same settings. A folder that is complete with them is left as it is (*written = 0). */
int wl_wikitext_synth(const struct wl_wikitext_synth_opts *o, int64_t *written, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* ---- files of tokens ---- */

/* A file as it lies in memory. */
struct wl_token_file {
    const char *path;
    const uint8_t *data; /* tokens, `width` bytes each, little-endian */
    int width;           /* 2 or 4 */
    uint64_t n;          /* tokens, whole sequences */
    int64_t sequence;    /* they were cut to */
    int64_t vocabulary;  /* tokens that there are */
    uint64_t vocab_hash;
    uint32_t special[WL_SPECIAL_TOKENS];
};

/* Maps a file and compares it with its checksums; it is unmapped with the arena. WL_EINVAL and WL_EIO name what is
 * wrong. */
int wl_token_file_open(struct wl_token_file *t, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- masked samples ---- */

struct wl_mlm_opts {
    const char *dir;  /* of tokens */
    bool train;       /* true: training set; false: validation */
    int64_t sequence; /* S, tokens of a sample; any, not only that which the tokens were cut to */
    int64_t places;   /* P, room for tokens to predict */
    int64_t samples;  /* use so many, evenly spaced; 0: all. More than there are: WL_EINVAL */
};

/* One part of a folder of tokens, as a set for feeds: sequences in which 15 % of the tokens are to be predicted,
 * rounded to the nearest, at least one and at most P; never [CLS], [SEP] and [PAD]. 80 % of them are [MASK], 10 % any
 * token of the vocabulary, 10 % stay. In training the choice is keyed by (seed, epoch, sample), in evaluation by (seed,
 * sample). Its inputs, all i32: tokens [B,S]    lengths [B]: S, 0: padding    positions [B,P] rising    labels [B,P]
 * the tokens there, -1: no token */
struct wl_mlm;
int wl_mlm_open(struct wl_mlm **m, const struct wl_mlm_opts *o, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

const struct wl_dataset *wl_mlm_dataset(const struct wl_mlm *m);
const struct wl_token_file *wl_mlm_token_file(const struct wl_mlm *m);

#endif
