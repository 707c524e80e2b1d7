#include "data/text/synth.h"

#include "data/manifest.h"
#include "data/rng.h"
#include "data/text/corpus.h"

#include <unistd.h>

enum {
    GENERATOR_VERSION = 1 /* incremented when other text is written */,
    SUBJECTS = 6,
    NOUNS = 6,
    VERBS = 4,
    ADJECTIVES = 4,
    PLACES = 3
};

/* The subjects of articles. Plural nouns end in s, and so do verbs of the third person singular. */
static const struct subject {
    const char *noun[NOUNS], *verb[VERBS], *adjective[ADJECTIVES], *place[PLACES];
} subjects[SUBJECTS] = {
    { { "bear", "owl", "rabbit", "badger", "oak", "hunter" },
      { "follow", "hide", "hear", "fear" },
      { "wild", "quiet", "brown", "mossy" },
      { "forest", "clearing", "den" } },
    { { "whale", "sailor", "gull", "trawler", "diver", "seal" },
      { "spot", "circle", "chase", "signal" },
      { "salty", "deep", "stormy", "drifting" },
      { "harbour", "ocean", "bay" } },
    { { "tram", "courier", "banker", "tower", "tourist", "cyclist" },
      { "meet", "overtake", "visit", "photograph" },
      { "crowded", "modern", "busy", "noisy" },
      { "station", "market", "avenue" } },
    { { "cook", "kettle", "guest", "oven", "baker", "waiter" },
      { "warm", "serve", "taste", "praise" },
      { "hungry", "sweet", "spicy", "fresh" },
      { "kitchen", "cellar", "restaurant" } },
    { { "comet", "astronomer", "satellite", "planet", "telescope", "meteor" },
      { "orbit", "observe", "measure", "follow" },
      { "distant", "bright", "frozen", "ancient" },
      { "sky", "observatory", "galaxy" } },
    { { "engineer", "lathe", "robot", "apprentice", "welder", "motor" },
      { "repair", "assemble", "test", "inspect" },
      { "oily", "precise", "heavy", "rusty" },
      { "workshop", "factory", "laboratory" } },
};

/* An article under construction. */
struct article {
    struct wl_text *out;
    struct wl_rng draws;
    const struct subject *subject;
    int64_t words;
};

static const char *pick(struct article *t, const char *const *from, uint64_t n)
{
    return from[wl_rng_below(&t->draws, n)];
}

static void append_word(struct article *t, const char *word, const char *ending)
{
    wl_text_addf(t->out, " %s%s", word, ending);
    t->words++;
}

/* "the wild bear", "three wild bears": returns whether it is plural. */
static bool append_noun(struct article *t)
{
    static const char *const one[] = { "the", "every", "this", "one" }, *const many[] = { "the", "some", "these",
                                                                                          "three" };
    bool several = wl_rng_below(&t->draws, 2);
    append_word(t, pick(t, several ? many : one, 4), "");
    if (wl_rng_below(&t->draws, 2)) append_word(t, pick(t, t->subject->adjective, ADJECTIVES), "");
    append_word(t, pick(t, t->subject->noun, NOUNS), several ? "s" : "");
    return several;
}

static void append_verb(struct article *t, bool several)
{
    append_word(t, pick(t, t->subject->verb, VERBS), several ? "" : "s");
}

static void append_sentence(struct article *t)
{
    bool several = append_noun(t);
    append_verb(t, several);
    append_noun(t);
    if (wl_rng_below(&t->draws, 2)) {
        append_word(t, "in", "");
        append_word(t, "the", "");
        append_word(t, pick(t, t->subject->place, PLACES), "");
    }
    if (wl_rng_below(&t->draws, 3) == 0) {
        append_word(t, "and", "");
        append_word(t, several ? "they" : "it", "");
        append_verb(t, several);
        append_word(t, several ? "their" : "its", "");
        append_word(t, pick(t, t->subject->noun, NOUNS), "");
    }
    append_word(t, ".", "");
}

/* As in WikiText: a blank line, the title, a blank line, one line per paragraph. */
static void append_article(struct article *t)
{
    t->subject = &subjects[wl_rng_below(&t->draws, SUBJECTS)];
    wl_text_addf(t->out, " \n = The %s of the %s = \n \n", pick(t, t->subject->noun, NOUNS),
                 pick(t, t->subject->place, PLACES));
    for (uint64_t paragraphs = 1 + wl_rng_below(&t->draws, 3); paragraphs--;) {
        for (uint64_t sentences = 3 + wl_rng_below(&t->draws, 6); sentences--;) append_sentence(t);
        wl_text_add(t->out, " \n");
    }
}

static int write_part(const struct wl_wikitext_synth_opts *o, bool val, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text text = WL_TEXT(a);
    struct article t = { .out = &text };
    const int64_t words = val ? o->val_words : o->words;
    for (uint64_t i = 0; t.words < words; i++) {
        t.draws = wl_rng((uint64_t)o->seed, "article", val, i);
        append_article(&t);
    }
    return wl_file_write(wl_path_join(a, o->dir, val ? "wiki.valid.raw" : "wiki.train.raw"), text.s, text.n, e);
}

static int write_tokens(const struct wl_wikitext_synth_opts *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_corpus_stats made;
    struct wl_corpus_opts c = {
        .dir = o->dir, .vocab_size = o->vocabulary, .sequence = o->sequence, .threads = o->threads
    };
    const char *left = wl_path_join(a, o->dir, WL_TRAIN_TOKENS); /* by an interrupted call */
    wl_strs_add(a, &c.text, o->dir);
    if (wl_is_file(left) && unlink(left)) return wl_fail_errno(e, "removing %s", left);
    return wl_corpus_write(&c, false, &made, a, e);
}

int wl_wikitext_synth(const struct wl_wikitext_synth_opts *opts, int64_t *written, struct wl_arena *a, struct wl_err *e)
{
    struct wl_wikitext_synth_opts o = *opts;
    bool complete;
    if (o.val_words == 0) o.val_words = o.words / 10;
    const char *settings = wl_strf(
        a,
        "# Written by wattlaw-train data wikitext --synthetic; the text is of a small grammar.\n"
        "[wikitext]\nrecipe = %d\nwords = %lld\nval_words = %lld\nvocabulary = %lld\nsequence = %lld\nseed = %lld\n",
        GENERATOR_VERSION, (long long)o.words, (long long)o.val_words, (long long)o.vocabulary, (long long)o.sequence,
        (long long)o.seed);
    *written = 0;
    int rc = wl_manifest_begin(o.dir, settings, &complete, a, e);
    if (rc || complete) return rc;
    rc = write_part(&o, false, a, e);
    if (!rc) rc = write_part(&o, true, a, e);
    if (!rc) rc = write_tokens(&o, a, e);
    *written = o.words + o.val_words;
    return rc ? rc : wl_manifest_end(o.dir, settings, a, e);
}
