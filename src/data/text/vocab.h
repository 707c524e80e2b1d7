/* WordPiece vocabularies, and tokenisation with them.
 *
 * Tokens are those of BERT's uncased models: lower case, without accents, split at white space and punctuation, each
 * word into the longest pieces that the vocabulary has. docs/formats.md has the files, docs/adr/034 the packing. */
#ifndef WL_DATA_TEXT_VOCAB_H
#define WL_DATA_TEXT_VOCAB_H

#include "base/base.h"

/* The tokens that every vocabulary has, as spelled in vocab.txt: [PAD] [UNK] [CLS] [SEP] [MASK]. */
enum wl_special_token { WL_TOKEN_PAD, WL_TOKEN_UNK, WL_TOKEN_CLS, WL_TOKEN_SEP, WL_TOKEN_MASK, WL_SPECIAL_TOKENS };
extern const char *const wl_special_token_names[WL_SPECIAL_TOKENS];

struct wl_vocab;

/* Reads a vocab.txt: one token per line, the first has id 0; continuation pieces start with "##". WL_EINVAL names the
 * line that is empty, a duplicate or not UTF-8, or the special tokens that are missing. */
int wl_vocab_read(struct wl_vocab **v, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_vocab_size(const struct wl_vocab *v);
uint32_t wl_vocab_special_token(const struct wl_vocab *v, enum wl_special_token which);
const char *wl_vocab_token(const struct wl_vocab *v, uint32_t id);

/* FNV-1a of all tokens, each followed by a newline: the same for the same tokens in the same order. */
uint64_t wl_vocab_hash(const struct wl_vocab *v);

/* Writes the token ids of a text of n bytes, without [CLS] and [SEP], to ids [n]; returns their number, at most n. Any
 * bytes are accepted: those that are not UTF-8 count as U+FFFD. Any thread. */
size_t wl_tokenize(const struct wl_vocab *v, const char *text, size_t n, uint32_t *ids);

#endif
