/* `wattlaw-train data wikitext`: tokenises text with a given or a new vocabulary. */
#include "cmd/train/commands.h"
#include "data/data.h"

#include <math.h>
#include <stddef.h>

struct options {
    const char *synthetic, *vocab, *to, *unit;
    struct wl_strs text, val_text;
    int64_t train_vocab, sequence, words, val_words, seed, threads;
    double val_share;
    bool json, quiet;
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct wl_opt rows[] = {
    { "text", WL_LINES, AT(text), .unit = "PATH",
      .help = "text file, or folder of texts; a folder with wiki.train.raw (or .tokens) is WikiText; required without "
              "--synthetic" },
    { "val-text", WL_LINES, AT(val_text), .unit = "PATH",
      .help = "text file or folder for validation; default: wiki.valid.raw beside wiki.train.raw, else --val-share" },
    { "val-share", WL_REAL, AT(val_share), "0.05", 0, 0.5,
      .help = "fraction of the sequences for validation, evenly spaced, if there is no text for validation" },
    { "to", WL_STR, AT(to), .unit = "FOLDER",
      .help = "folder to write: vocab.txt, train.tokens, val.tokens; required with --text" },
    { "vocab", WL_STR, AT(vocab), .unit = "FILE",
      .help = "vocabulary: BERT's vocab.txt, one token per line; default: none, see --train-vocab" },
    { "train-vocab", WL_INT, AT(train_vocab), NULL, 10, 1e7, "tokens",
      .help = "train a vocabulary of this size on the training text, in place of --vocab; default: off" },
    { "sequence", WL_INT, AT(sequence), "512", 1, 1e6, "tokens",
      .help = "length of the sequences; an incomplete one at the end is dropped" },
    { "unit", WL_CHOICE, AT(unit), "line", .choices = "line|paragraph|file",
      .help =
          "part of the text that gets one [CLS] and [SEP]: line as in WikiText, paragraph for text with line breaks" },
    { "synthetic", WL_STR, AT(synthetic), .unit = "FOLDER",
      .help = "instead of --text and --to: folder for articles of a small grammar and their tokens; default: none" },
    { "words", WL_INT, AT(words), "200000", 100, 1e9,
      .help = "approximate number of words of synthetic training text" },
    { "val-words", WL_INT, AT(val_words), NULL, 100, 1e9,
      .help = "approximate number of words of synthetic validation text; default: one tenth of --words" },
    { "seed", WL_INT, AT(seed), "1", 0, 9e15, .help = "random seed of synthetic text" },
    { "threads", WL_INT, AT(threads), NULL, 1, 1024, .help = "number of threads; default: one per core" },
    { "json", WL_FLAG, AT(json), .help = "print a summary as JSON" },
    { "quiet", WL_FLAG, AT(quiet), .help = "print no progress on stderr" },
    WL_OPT_END,
};

/* ---- tokens of a text ---------------------------------------------------------------------------------------------
 */

static int check(const struct options *o, struct wl_err *e)
{
    if (!o->text.n) return wl_fail(e, WL_EUSAGE, "--text is missing: a file or folder (or --synthetic FOLDER)");
    if (!o->to) return wl_fail(e, WL_EUSAGE, "--to is missing: the folder to write");
    if (!o->vocab && !o->train_vocab)
        return wl_fail(e, WL_EUSAGE, "no vocabulary: give --vocab FILE, or --train-vocab N to train one on the text");
    if (o->vocab && o->train_vocab) return wl_fail(e, WL_EUSAGE, "--vocab and --train-vocab: give one of them");
    return 0;
}

static enum wl_text_unit unit_of(const char *name)
{
    if (wl_str_eq(name, "paragraph")) return WL_TEXT_UNIT_PARAGRAPH;
    return wl_str_eq(name, "file") ? WL_TEXT_UNIT_FILE : WL_TEXT_UNIT_LINE;
}

static void print_json(const struct options *o, const struct wl_corpus_stats *m, struct wl_arena *a)
{
    struct wl_json *j = wl_json_root_object(a);
    wl_json_add_str(j, "data", "wikitext");
    wl_json_add_str(j, "dir", o->to);
    wl_json_add_int(j, "vocabulary", m->vocabulary);
    wl_json_add_int(j, "sequence", o->sequence);
    wl_json_add_int(j, "train_tokens", (int64_t)m->train_tokens);
    wl_json_add_int(j, "val_tokens", (int64_t)m->val_tokens);
    wl_json_add_int(j, "text_bytes", (int64_t)m->bytes);
    wl_json_add_int(j, "text_tokens", (int64_t)m->tokens);
    wl_json_add_int(j, "text_units", (int64_t)m->units);
    wl_json_add_int(j, "unknown_tokens", (int64_t)m->unknown);
    wl_json_add_int(j, "files_left_out", m->files_skipped);
    wl_json_add_real(j, "time_s", m->seconds);
    wl_json_add_real(j, "tokens_per_s", (double)m->tokens / m->seconds);
    wl_json_add_real(j, "learn_s", m->vocab_train_s);
    wl_json_print(j);
}

static void print_text(const struct options *o, const struct wl_corpus_stats *m, struct wl_arena *a)
{
    const long long sequence = (long long)o->sequence;
    if (!isnan(m->vocab_train_s))
        wl_print("vocabulary of %lld tokens trained in %s\n", (long long)m->vocabulary,
                 wl_human_time(a, m->vocab_train_s));
    if (m->files_skipped) wl_print("%lld files skipped, as they are not text\n", (long long)m->files_skipped);
    wl_print("%s of text: %llu tokens in %llu %ss, %.2g %% [UNK]; %s at %s\n", wl_human_bytes(a, m->bytes),
             (unsigned long long)m->tokens, (unsigned long long)m->units, o->unit,
             100 * (double)m->unknown / (double)m->tokens, wl_human_time(a, m->seconds),
             wl_human(a, (double)m->tokens / m->seconds, "tokens/s"));
    wl_print("%s: %lld training and %lld validation sequences of %lld tokens\n", o->to,
             (long long)m->train_tokens / sequence, (long long)m->val_tokens / sequence, sequence);
}

static int write_tokens(const struct options *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_corpus_stats made;
    const struct wl_corpus_opts c = { .dir = o->to,
                                      .vocab = o->vocab,
                                      .vocab_size = o->train_vocab,
                                      .text = o->text,
                                      .val_text = o->val_text,
                                      .val_fraction = o->val_share,
                                      .sequence = o->sequence,
                                      .unit = unit_of(o->unit),
                                      .threads = o->threads };
    int rc = check(o, e);
    if (!rc) rc = wl_corpus_write(&c, !o->quiet, &made, a, e);
    if (rc) return rc;
    if (o->json)
        print_json(o, &made, a);
    else
        print_text(o, &made, a);
    return WL_EXIT_OK;
}

/* ---- synthetic text -----------------------------------------------------------------------------------------------
 */

static int write_synthetic(const struct options *o, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_wikitext_synth_opts s = { .dir = o->synthetic,
                                              .words = o->words,
                                              .val_words = o->val_words,
                                              .vocabulary = o->train_vocab ? o->train_vocab : 512,
                                              .sequence = o->sequence,
                                              .seed = o->seed,
                                              .threads = o->threads };
    int64_t written;
    if (o->text.n || o->val_text.n || o->vocab || o->to)
        return wl_fail(e, WL_EUSAGE,
                       "--text, --val-text, --vocab and --to do not go with --synthetic, which writes its own text");
    int rc = wl_wikitext_synth(&s, &written, a, e);
    if (rc) return rc;
    if (o->json) {
        struct wl_json *j = wl_json_root_object(a);
        wl_json_add_str(j, "data", "wikitext");
        wl_json_add_str(j, "dir", o->synthetic);
        wl_json_add_int(j, "written", written);
        wl_json_print(j);
    } else if (written) {
        wl_print("%lld words and their tokens written to %s\n", (long long)written, o->synthetic);
    } else {
        wl_print("%s is already complete\n", o->synthetic);
    }
    return WL_EXIT_OK;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    if (rest->args.n) return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'", rest->args.v[0]);
    return o->synthetic ? write_synthetic(o, a, e) : write_tokens(o, a, e);
}

const struct wl_cmd wl_cmd_data_wikitext = {
    .name = "wikitext",
    .usage = "--text PATH --to FOLDER --vocab FILE | --train-vocab N [options]",
    .help = "tokenises text for bert with a given or a new vocabulary, or writes synthetic text",
    .more =
        "Words are split as in BERT's uncased models, into the longest pieces of the vocabulary. Each line, paragraph\n"
        "or file becomes [CLS] ... [SEP]; these are concatenated and cut into sequences.\n\n"
        "In folders all text files are read, in order of their names. The same text gives the same files, with any\n"
        "number of threads.\n\n"
        "example\n"
        "  wattlaw-train data wikitext --text wikitext-103-raw --vocab vocab.txt --to tokens\n"
        "  wattlaw-train data wikitext --text /usr/share/doc --unit paragraph --train-vocab 8000 --sequence 128 \\\n"
        "      --to tokens\n"
        "  wattlaw-train data wikitext --synthetic tokens --sequence 32\n"
        "  wattlaw-train bert --size tiny --data tokens --warmup-updates 100 --epochs 4",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};
