/* A sample is a sequence of a token file in which some tokens are to be predicted. Of these 80 % become [MASK], 10 %
 * another token of the vocabulary, and 10 % stay (Devlin et al. 2019, arXiv:1810.04805, 3.1). */
#include "data/text/mlm.h"

#include "base/base.h"
#include "data/rng.h"
#include "data/text/corpus.h"

#include <string.h>

struct wl_mlm {
    struct wl_dataset set;
    struct wl_token_file tokens;
    int64_t sequence, predictions; /* S, P */
    int64_t total;                 /* sequences of the file */
};

/* Buffers, in the order of the network's inputs. */
enum { TOKENS, LENGTHS, POSITIONS, LABELS };

static uint32_t token_at(const struct wl_token_file *t, int64_t i)
{
    return (uint32_t)wl_le_read(t->data + i * t->width, t->width);
}

/* Separators of units, and padding, are never predicted. */
static bool is_candidate(const struct wl_token_file *t, int32_t token)
{
    return (uint32_t)token != t->special[WL_TOKEN_CLS] && (uint32_t)token != t->special[WL_TOKEN_SEP] &&
           (uint32_t)token != t->special[WL_TOKEN_PAD];
}

/* The network's input in place of a token to predict. */
static int32_t replacement_token(const struct wl_token_file *t, int32_t token, struct wl_rng *d)
{
    uint64_t ten = wl_rng_below(d, 10);
    if (ten < 8) return (int32_t)t->special[WL_TOKEN_MASK];
    return ten == 8 ? (int32_t)wl_rng_below(d, (uint64_t)t->vocabulary) : token;
}

/* 15 % of the candidates, rounded to the nearest, at least one of them and at most P. */
static int64_t masked_count(int64_t candidates, int64_t predictions)
{
    int64_t n = (3 * candidates + 10) / 20;
    if (n == 0) n = candidates > 0;
    return n < predictions ? n : predictions;
}

/* Selection sampling (Knuth, The Art of Computer Programming, 3.4.2, algorithm S): each subset of that size is equally
 * likely, and positions are in ascending order. */
static void mask(const struct wl_mlm *m, int32_t *tokens, int32_t *positions, int32_t *labels, struct wl_rng *d)
{
    int64_t candidates = 0, taken = 0;
    for (int64_t i = 0; i < m->sequence; i++) candidates += is_candidate(&m->tokens, tokens[i]);
    int64_t wanted = masked_count(candidates, m->predictions);
    for (int64_t i = 0; taken < wanted; i++) {
        if (!is_candidate(&m->tokens, tokens[i])) continue;
        if ((int64_t)wl_rng_below(d, (uint64_t)candidates--) >= wanted - taken) continue;
        positions[taken] = (int32_t)i;
        labels[taken++] = tokens[i];
        tokens[i] = replacement_token(&m->tokens, tokens[i], d);
    }
    for (; taken < m->predictions; taken++) {
        positions[taken] = 0;
        labels[taken] = -1;
    }
}

/* Masks of evaluation do not depend on the epoch, and come from another stream than those of training. */
static int write_sample(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *key, int64_t index,
                        void *const *buffers, struct wl_err *e)
{
    const struct wl_mlm *m = s->data;
    struct wl_rng d = key->training ? wl_rng(key->seed, "mask", (uint64_t)key->epoch, (uint64_t)index)
                                    : wl_rng(key->seed, "mask of evaluation", 0, (uint64_t)index);
    int32_t *tokens = buffers[TOKENS];
    const int64_t from = index * m->total / s->samples * m->sequence;
    (void)thread, (void)e;
    for (int64_t i = 0; i < m->sequence; i++) tokens[i] = (int32_t)token_at(&m->tokens, from + i);
    *(int32_t *)buffers[LENGTHS] = (int32_t)m->sequence;
    mask(m, tokens, buffers[POSITIONS], buffers[LABELS], &d);
    return 0;
}

static void pad(const struct wl_dataset *s, void *const *buffers)
{
    const struct wl_mlm *m = s->data;
    memset(buffers[TOKENS], 0, s->bytes[TOKENS]);
    memset(buffers[POSITIONS], 0, s->bytes[POSITIONS]);
    *(int32_t *)buffers[LENGTHS] = 0;
    for (int64_t i = 0; i < m->predictions; i++) ((int32_t *)buffers[LABELS])[i] = -1;
}

int wl_mlm_open(struct wl_mlm **out, const struct wl_mlm_opts *o, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_dataset_ops ops = { .noun = "sequence", .write_sample = write_sample, .pad = pad };
    struct wl_mlm *m = wl_new(a, struct wl_mlm);
    const char *path = wl_path_join(a, o->dir, o->train ? WL_TRAIN_TOKENS : WL_VAL_TOKENS);
    int rc = wl_token_file_open(&m->tokens, path, a, e);
    if (rc) return rc;
    m->sequence = o->sequence;
    m->predictions = o->predictions;
    m->total = (int64_t)m->tokens.n / m->sequence;
    if (m->total == 0 || o->samples > m->total)
        return wl_fail(e, WL_EINVAL, "%s: %lld tokens are %lld sequences of %lld tokens; %lld requested", path,
                       (long long)m->tokens.n, (long long)m->total, (long long)m->sequence,
                       (long long)(o->samples ? o->samples : 1));
    const size_t word = sizeof(int32_t);
    m->set = (struct wl_dataset) { .ops = &ops,
                                   .name = m->tokens.path,
                                   .samples = o->samples ? o->samples : m->total,
                                   .buffers = 4,
                                   .bytes = { (size_t)m->sequence * word, word, (size_t)m->predictions * word,
                                              (size_t)m->predictions * word },
                                   .data = m };
    *out = m;
    return 0;
}

const struct wl_dataset *wl_mlm_dataset(const struct wl_mlm *m) { return &m->set; }
const struct wl_token_file *wl_mlm_token_file(const struct wl_mlm *m) { return &m->tokens; }
