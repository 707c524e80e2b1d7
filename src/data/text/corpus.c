/* Each unit becomes [CLS] tokens [SEP]; all units of a part are concatenated and cut into sequences. */
#include "data/text/corpus.h"

#include "base/base.h"
#include "data/byte_buffer.h"
#include "data/text/blocks.h"
#include "data/text/token_writer.h"
#include "data/text/vocab_trie.h"
#include "data/text/wordpiece_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The tokens of a block. */
struct tokenized {
    struct wl_byte_buffer ids;    /* u32, scratch */
    struct wl_byte_buffer tokens; /* in the encoding of the file */
    size_t n, units, unknown;
};

struct corpus {
    const struct wl_corpus_opts *o;
    const struct wl_vocab *vocab;
    int width;
    double val_fraction; /* of the sequences */
    struct wl_token_writer train, val;
    struct tokenized *slot;
    uint8_t *piece;     /* [sequence] tokens: the sequence in progress */
    size_t filled;      /* of it */
    uint64_t sequences; /* done */
    struct wl_corpus_stats *result;
};

/* ---- a block ----------------------------------------------------------------------------------------------------- */

static size_t tokenize_units(const struct corpus *c, const char *text, size_t n, uint32_t *ids, struct tokenized *m)
{
    size_t count = 0, length;
    for (size_t at = 0; at < n; at += length) {
        length = wl_text_unit_length(c->o->unit, text + at, n - at);
        size_t words = wl_tokenize(c->vocab, text + at, length, ids + count + 1);
        if (words == 0 && c->o->unit != WL_TEXT_UNIT_LINE) continue;
        ids[count] = wl_vocab_special_token(c->vocab, WL_TOKEN_CLS);
        ids[count + words + 1] = wl_vocab_special_token(c->vocab, WL_TOKEN_SEP);
        count += words + 2;
        m->units++;
    }
    return count;
}

/* A line has at least one byte and adds two tokens: twice the bytes are enough. */
static int process(void *data, size_t slot, int64_t thread, const char *text, size_t n, struct wl_err *e)
{
    const struct corpus *c = data;
    struct tokenized *m = &c->slot[slot];
    (void)thread;
    m->units = m->unknown = 0;
    int rc = wl_byte_buffer_reserve(&m->ids, (2 * n + 2) * sizeof(uint32_t), "tokens", e);
    if (rc) return rc;
    uint32_t *ids = (uint32_t *)m->ids.p;
    m->n = tokenize_units(c, text, n, ids, m);
    rc = wl_byte_buffer_reserve(&m->tokens, m->n * (size_t)c->width + 1, "tokens", e);
    for (size_t i = 0; !rc && i < m->n; i++) {
        wl_le_write(m->tokens.p + i * (size_t)c->width, c->width, ids[i]);
        m->unknown += ids[i] == wl_vocab_special_token(c->vocab, WL_TOKEN_UNK);
    }
    return rc;
}

/* ---- sequences --------------------------------------------------------------------------------------------------- */

static int end_sequence(struct corpus *c, struct wl_err *e)
{
    double i = (double)c->sequences++;
    bool val = floor((i + 1) * c->val_fraction) > floor(i * c->val_fraction);
    c->filled = 0;
    return wl_token_writer_put(val ? &c->val : &c->train, c->piece, (size_t)c->o->sequence, e);
}

static int collect(void *data, size_t slot, struct wl_err *e)
{
    struct corpus *c = data;
    const struct tokenized *m = &c->slot[slot];
    const size_t width = (size_t)c->width, whole = (size_t)c->o->sequence;
    c->result->tokens += m->n;
    c->result->units += m->units;
    c->result->unknown += m->unknown;
    int rc = 0;
    for (size_t at = 0, n; !rc && at < m->n; at += n) {
        n = m->n - at < whole - c->filled ? m->n - at : whole - c->filled;
        memcpy(c->piece + c->filled * width, m->tokens.p + at * width, n * width);
        c->filled += n;
        if (c->filled == whole) rc = end_sequence(c, e);
    }
    return rc;
}

/* Tokenises some texts; a fraction of the sequences goes to val. */
static int add_texts(struct corpus *c, const struct wl_strs *names, double fraction, const char *progress,
                     struct wl_arena *a, struct wl_err *e)
{
    struct wl_text_files texts;
    const uint64_t before = c->result->units;
    int rc = wl_text_files_list(&texts, names, a, e);
    if (rc) return rc;
    c->val_fraction = fraction;
    c->sequences = 0;
    c->filled = 0;
    struct wl_text_blocks blocks = { .texts = &texts,
                                     .unit = c->o->unit,
                                     .threads = c->o->threads,
                                     .progress_label = progress,
                                     .data = c,
                                     .process = process,
                                     .collect = collect };
    rc = wl_text_blocks_run(&blocks, a, e);
    c->result->bytes += texts.bytes;
    c->result->files_skipped += texts.skipped;
    if (!rc && c->result->units == before) rc = wl_fail(e, WL_EINVAL, "%s: contains no text", names->v[0]);
    return rc;
}

/* ---- the vocabulary ---------------------------------------------------------------------------------------------- */

static int train_vocab(const struct wl_corpus_opts *o, const struct wl_strs *names, const char *path, bool progress,
                       struct wl_vocab **v, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_word_counts words;
    struct wl_text_files texts;
    struct wl_strs tokens = { 0 };
    int rc = wl_text_files_list(&texts, names, scratch, e);
    if (!rc) rc = wl_word_counts_read(&words, &texts, o->threads, progress ? "counting words" : NULL, scratch, e);
    if (!rc && words.n == 0) rc = wl_fail(e, WL_EINVAL, "%s: contains no words to train a vocabulary on", names->v[0]);
    if (!rc) rc = wl_wordpiece_train(&words, (size_t)o->vocab_size, &tokens, a, e);
    if (!rc) rc = wl_vocab_new(v, (const char *const *)tokens.v, tokens.n, path, a, e);
    wl_arena_free(scratch);
    return rc;
}

static int get_vocab(struct corpus *c, const struct wl_strs *names, const char *path, bool progress, struct wl_arena *a,
                     struct wl_err *e)
{
    struct wl_vocab *v;
    int64_t start_ns = wl_now_ns();
    int rc = c->o->vocab ? wl_vocab_read(&v, c->o->vocab, a, e) : train_vocab(c->o, names, path, progress, &v, a, e);
    if (rc) return rc;
    c->result->vocab_train_s = c->o->vocab ? NAN : (double)(wl_now_ns() - start_ns) * 1e-9;
    c->result->vocabulary = wl_vocab_size(v);
    c->width = wl_vocab_size(v) <= 1 << 16 ? 2 : 4;
    c->vocab = v;
    return 0;
}

/* An existing vocab.txt may be the user's, perhaps the one that was given: it must have the same tokens, and stays. */
static int keep_vocab(const struct wl_vocab *v, const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct wl_vocab *existing;
    int rc = wl_vocab_read(&existing, path, a, e);
    if (rc == 0 && wl_vocab_hash(existing) == wl_vocab_hash(v)) return 0;
    return wl_fail(e, WL_EINVAL, "%s: a different vocabulary exists already; remove it or choose another folder", path);
}

static int write_vocab(const struct wl_vocab *v, const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text text = WL_TEXT(a);
    if (wl_is_file(path)) return keep_vocab(v, path, a, e);
    for (int64_t i = 0; i < wl_vocab_size(v); i++) wl_text_addf(&text, "%s\n", wl_vocab_token(v, (uint32_t)i));
    return wl_file_write(path, text.s, text.n, e);
}

/* ---- the files --------------------------------------------------------------------------------------------------- */

static int open_writer(const struct corpus *c, struct wl_token_writer *w, const char *name, struct wl_arena *a,
                       struct wl_err *e)
{
    w->head = (struct wl_token_file) { .path = wl_path_join(a, c->o->dir, name),
                                       .width = c->width,
                                       .sequence = c->o->sequence,
                                       .vocabulary = wl_vocab_size(c->vocab),
                                       .vocab_hash = wl_vocab_hash(c->vocab) };
    for (int i = 0; i < WL_SPECIAL_TOKENS; i++) w->head.special[i] = wl_vocab_special_token(c->vocab, i);
    return wl_token_writer_open(w, a, e);
}

static int open_writers(struct corpus *c, struct wl_arena *a, struct wl_err *e)
{
    c->slot = wl_new_array(a, struct tokenized, wl_text_blocks_slots(c->o->threads));
    c->piece = wl_new_array(a, uint8_t, (size_t)c->o->sequence * (size_t)c->width);
    int rc = open_writer(c, &c->train, WL_TRAIN_TOKENS, a, e);
    return rc ? rc : open_writer(c, &c->val, WL_VAL_TOKENS, a, e);
}

/* Training would fail on these. */
static int check_made(const struct corpus *c, struct wl_err *e)
{
    const struct wl_corpus_stats *m = c->result;
    const char *name = c->o->text.v[0];
    const unsigned long long words = m->tokens - 2 * m->units;
    if (words == 0) return wl_fail(e, WL_EINVAL, "%s: the text contains no words", name);
    if (m->unknown == words)
        return wl_fail(e, WL_EINVAL, "%s: every word is [UNK]: the vocabulary does not fit this text", name);
    if (c->train.head.n == 0)
        return wl_fail(e, WL_EINVAL, "%s: the text is too short for a training sequence of %lld tokens", name,
                       (long long)c->o->sequence);
    if (c->val.head.n == 0)
        return wl_fail(
            e, WL_EINVAL,
            "%s: the text is too short for a validation sequence of %lld tokens: raise --val-share or give --val-text",
            name, (long long)c->o->sequence);
    if (10 * m->unknown > words)
        wl_log(WL_WARN, "data", "%.0f %% of the words' tokens are [UNK]: does the vocabulary fit the text?",
               100 * (double)m->unknown / (double)words);
    return 0;
}

static void release(struct corpus *c)
{
    for (size_t i = 0; c->slot && i < wl_text_blocks_slots(c->o->threads); i++) {
        free(c->slot[i].ids.p);
        free(c->slot[i].tokens.p);
    }
}

static int tokenize_all(struct corpus *c, const struct wl_strs *train, const struct wl_strs *val, bool progress,
                        struct wl_arena *a, struct wl_err *e)
{
    const char *bar = progress ? "tokenising" : NULL;
    int64_t start_ns = wl_now_ns();
    int rc = open_writers(c, a, e);
    if (!rc) rc = add_texts(c, train, val->n ? 0 : c->o->val_fraction, bar, a, e);
    if (!rc && val->n) rc = add_texts(c, val, 1, bar, a, e);
    if (!rc) rc = check_made(c, e);
    if (!rc) rc = wl_token_writer_finish(&c->val, e);
    if (!rc) rc = wl_token_writer_finish(&c->train, e);
    c->result->seconds = (double)(wl_now_ns() - start_ns) * 1e-9;
    c->result->train_tokens = c->train.head.n;
    c->result->val_tokens = c->val.head.n;
    return rc;
}

static int check_output_dir(const char *dir, struct wl_arena *a, struct wl_err *e)
{
    const char *val = wl_path_join(a, dir, WL_VAL_TOKENS); /* written first: an interrupted call may have left it */
    int rc = wl_mkdirs(dir, e);
    if (rc) return rc;
    if (!wl_is_file(wl_path_join(a, dir, WL_TRAIN_TOKENS)) && (!wl_is_file(val) || wl_token_file_detect(val))) return 0;
    return wl_fail(e, WL_EINVAL, "%s: token files exist already; remove them or choose another folder", dir);
}

int wl_corpus_write(const struct wl_corpus_opts *opts, bool progress, struct wl_corpus_stats *made, struct wl_arena *a,
                    struct wl_err *e)
{
    struct wl_corpus_opts o = *opts;
    struct wl_arena *scratch = wl_arena_new(a);
    struct corpus c = { .o = &o, .result = made };
    struct wl_strs train, val;
    const char *path = wl_path_join(scratch, o.dir, WL_VOCAB_FILE);
    *made = (struct wl_corpus_stats) { 0 };
    if (o.threads == 0) o.threads = sysconf(_SC_NPROCESSORS_ONLN);
    int rc = check_output_dir(o.dir, scratch, e);
    if (!rc) rc = wl_text_files_split(&o, &train, &val, scratch, e);
    if (!rc) rc = get_vocab(&c, &train, path, progress, scratch, e);
    if (!rc) rc = write_vocab(c.vocab, path, scratch, e);
    if (!rc) rc = tokenize_all(&c, &train, &val, progress, scratch, e);
    release(&c);
    wl_arena_free(scratch);
    return rc;
}
