/* hf and lightning read what their newest versions print, which tests/e2e/frameworks runs; the others, lines from logs
 * that users of these frameworks have published. tests/fixtures/logs names each source. A part that a version does not
 * print is missing. */
#include "mark/logs.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 8, PARTS_MAX = 8 };

/* What a part of a line is. */
enum part { STEP, TOTAL, CONSUMED, LOSS, LOSS_ALONE, TOKENS_ALONE, FACT_TOTAL, FACT_BATCH, FACT_LENGTH, EPOCH_STEPS };

/* The bar of tqdm: "  8%|###    | 1999/24128 [1:52:09<20:27:23,  3.33s/it"; groups 2 and 3 of this text. */
#define BAR "[0-9]+%(\\|[^|]*\\|)? *([0-9]+)/([0-9]+) \\["

/* Lightning's: "Epoch 3:   8%|# | 1/12 [00:00<00:01, 9.8it/s", of data without a length "Epoch 3: |  | 1/? [". Groups
 * 1, 4, 5. */
#define EPOCH_BAR "Epoch ([0-9]+): +([0-9]+%)?(\\|[^|]*\\|)? *([0-9]+)/([0-9]+|\\?) \\["

struct preset {
    const char *name;
    const char *checkpoint, *epoch;
    struct {
        enum part is;
        int group;
        const char *regex;
    } parts[PARTS_MAX]; /* a line that matches the parts STEP is about a step */
    bool one_total;     /* bars with another total are of something else, such as an evaluation */
    bool from_1;        /* a bar at 0 does not count: that of a job that resumed begins there too, and jumps */
    bool early_checkpoint, late_loss; /* see logs.h */
    const char *without_steps;
};

static const struct preset presets[] = {
    { .name = "megatron",
      .checkpoint = "successfully saved checkpoint .*iteration +([0-9]+)",
      .parts = { { STEP, 1, "iteration +([0-9]+)/ *[0-9]+ \\|" },
                 { TOTAL, 1, "iteration +[0-9]+/ *([0-9]+) \\|" },
                 { CONSUMED, 1, "consumed samples: +([0-9]+) \\|" },
                 { LOSS, 1, " lm[ _]loss: +([-+0-9.eE]+)" },
                 { FACT_LENGTH, 1, "^ *seq_length \\.+ ([0-9]+)" },
                 { FACT_BATCH, 1, "^ *global_batch_size \\.+ ([0-9]+)" } } },
    { .name = "torchtitan",
      .checkpoint = "Finished saving the checkpoint",
      .parts = { { STEP, 1, "step: +([0-9]+)[^a-z]*loss: " },
                 { LOSS, 1, "loss: +([-+0-9.eE]+)" },
                 { FACT_TOTAL, 1, "Training starts at step .*total steps ([0-9]+)" },
                 { FACT_BATCH, 1, "Training starts at step .*global batch size ([0-9]+)" },
                 { FACT_LENGTH, 1, "Training starts at step .*sequence length ([0-9]+)" } } },
    { .name = "nemo",
      .checkpoint = "[Ss]uccessfully saved checkpoint .*iteration +([0-9]+)",
      .parts = { { STEP, 1, "global_step[:=] *([0-9]+)(\\.0)?([],| ]|$)" },
                 { TOTAL, 1, "iteration [0-9]+/([0-9]+) \\|" },
                 { TOTAL, 3, BAR },
                 { CONSUMED, 1, "consumed_samples[:=] *([0-9]+)(\\.0)?([],| ]|$)" }, /* 1.63e+6 is rounded */
                 { LOSS, 1, "reduced_train_loss[:=] *([-+0-9.eE]+)" } } },
    { .name = "hf",
      .checkpoint = "Writing model shards: +100%|Model weights saved in .*checkpoint-([0-9]+)/",
      .early_checkpoint = true,
      .one_total = true,
      .from_1 = true,
      .without_steps = "Trainer prints them in its progress bar, which disable_tqdm removes",
      .parts = { { STEP, 2, "^ *" BAR },
                 { TOTAL, 3, "^ *" BAR },
                 { LOSS_ALONE, 1, "\\{'loss': '?([-+0-9.eE]+)'?," },
                 { TOKENS_ALONE, 1, "'num_input_tokens_seen': '?([0-9]+)" },
                 { FACT_TOTAL, 1, "Total optimization steps = ([0-9,]+)" },
                 { FACT_BATCH, 1, "Total train batch size .*= ([0-9,]+)" } } },
    { .name = "deepspeed",
      .checkpoint = "Checkpoint [^ ]* is ready now!",
      .parts = { { STEP, 2, "(\\[Rank 0\\] step=|^steps: )([0-9]+),? (skipped=|loss: )" },
                 { LOSS, 1, "^steps: [0-9]+ loss: ([-+0-9.eE]+)" } } },
    { .name = "lightning",
      .checkpoint = "global step ([0-9]+): .*, saving model to ",
      .early_checkpoint = true,
      .epoch = EPOCH_BAR,
      .from_1 = true,
      .late_loss = true,
      .without_steps =
          "where the package rich is installed, Lightning prints its bar to terminals alone: give the Trainer "
          "callbacks=[TQDMProgressBar()]",
      .parts = { { STEP, 4, EPOCH_BAR },
                 { EPOCH_STEPS, 5, EPOCH_BAR },
                 { LOSS, 4, "(^|[ ,])(train_)?loss(_step)?=([-+0-9.eE]+)" } } },
};

struct wl_mark_log {
    const struct preset *preset;
    regex_t regex[PARTS_MAX];
    size_t n;
    double total; /* one_total: of the first bar; NAN: none yet */
    struct {
        double number, first, last; /* steps before its first one and up to its last one that was seen */
    } epoch;                        /* EPOCH_STEPS: the one that is under way */
};

static void free_regex(void *what) { regfree(what); }

struct wl_mark_log *wl_mark_log_new(const char *name, struct wl_arena *a)
{
    struct wl_mark_log *l = wl_new(a, struct wl_mark_log);
    for (size_t i = 0; i < WL_COUNT(presets); i++)
        if (wl_str_eq(presets[i].name, name)) l->preset = &presets[i];
    WL_CHECK(l->preset);
    l->total = NAN;
    for (; l->n < PARTS_MAX && l->preset->parts[l->n].regex; l->n++) {
        WL_CHECK(regcomp(&l->regex[l->n], l->preset->parts[l->n].regex, REG_EXTENDED) == 0);
        wl_defer(a, free_regex, &l->regex[l->n]);
    }
    return l;
}

const char *wl_mark_log_checkpoint_regex(const struct wl_mark_log *l) { return l->preset->checkpoint; }
const char *wl_mark_log_epoch_regex(const struct wl_mark_log *l) { return l->preset->epoch; }
bool wl_mark_log_checkpoint_is_early(const struct wl_mark_log *l) { return l->preset->early_checkpoint; }
bool wl_mark_log_loss_is_late(const struct wl_mark_log *l) { return l->preset->late_loss; }

const char *wl_mark_log_without_steps(const struct wl_mark_log *l)
{
    return l->preset->without_steps ? l->preset->without_steps
                                    : "this version may print other lines: --step-regex reads any";
}

/* The text of part i, without the commas of thousands; false: the line has none, or it is longer than any number. */
static bool find(const struct wl_mark_log *l, size_t i, const char *line, char buf[32])
{
    regmatch_t at[GROUPS];
    size_t n = 0;
    if (regexec(&l->regex[i], line, GROUPS, at, 0) != 0) return false;
    const regmatch_t g = at[l->preset->parts[i].group];
    if (g.rm_so < 0 || g.rm_eo - g.rm_so >= 32) return false;
    for (regoff_t k = g.rm_so; k < g.rm_eo; k++)
        if (line[k] != ',') buf[n++] = line[k];
    buf[n] = '\0';
    return n > 0;
}

static double number(const char *text)
{
    double v;
    return wl_str_to_real(text, &v) == 0 && isfinite(v) && v <= 9007199254740992.0 ? v : NAN;
}

void wl_mark_log_read_facts(const struct wl_mark_log *l, const char *line, struct wl_mark_log_facts *f)
{
    char text[32];
    for (size_t i = 0; i < l->n; i++) {
        const enum part is = l->preset->parts[i].is;
        if (is < FACT_TOTAL || is > FACT_LENGTH || !find(l, i, line, text)) continue;
        *(is == FACT_TOTAL   ? &f->total
          : is == FACT_BATCH ? &f->samples_per_step
                             : &f->tokens_per_sample) = number(text);
    }
}

/* The epoch of a bar that counts the steps of its epoch, from 0. */
static double epoch_of(const char *line)
{
    const char *word = strstr(line, "Epoch ");
    return word ? (double)strtoll(word + strlen("Epoch "), NULL, 10) : 0;
}

/* A bar counts the steps of its epoch: `steps` of them, NAN if it does not know. */
static void count_over_epochs(struct wl_mark_log *l, const char *line, double steps, struct wl_mark_log_step *s)
{
    const double epoch = epoch_of(line);
    if (s->step == steps) s->ended_epoch = steps;
    if (epoch != l->epoch.number) {
        l->epoch.number = epoch;
        l->epoch.first = l->epoch.last;
    }
    s->step += isnan(steps) ? l->epoch.first : epoch * steps;
    l->epoch.last = s->step;
}

bool wl_mark_log_read_step(struct wl_mark_log *l, const char *line, struct wl_mark_log_step *out)
{
    const struct preset *p = l->preset;
    char text[32];
    *out = (struct wl_mark_log_step) { .step = NAN, .total = NAN, .consumed_samples = NAN, .ended_epoch = NAN };
    for (size_t i = 0; i < l->n; i++) {
        const enum part is = p->parts[i].is;
        if (!find(l, i, line, text)) continue;
        if (is == STEP) out->step = number(text);
        if (is == STEP && p->from_1 && out->step == 0) return false;
        if (is == TOTAL) out->total = number(text);
        if (is == CONSUMED) out->consumed_samples = number(text);
        if (is == EPOCH_STEPS) count_over_epochs(l, line, number(text), out);
        if (is == LOSS) memcpy(out->loss, text, sizeof text);
    }
    if (isnan(out->step) || !p->one_total) return !isnan(out->step);
    if (isnan(l->total)) l->total = out->total;
    return out->total == l->total;
}

double wl_mark_log_read_tokens(const struct wl_mark_log *l, const char *line)
{
    char text[32];
    for (size_t i = 0; i < l->n; i++)
        if (l->preset->parts[i].is == TOKENS_ALONE && find(l, i, line, text)) return number(text);
    return NAN;
}

bool wl_mark_log_read_loss(const struct wl_mark_log *l, const char *line, char buf[32])
{
    for (size_t i = 0; i < l->n; i++)
        if (l->preset->parts[i].is == LOSS_ALONE && find(l, i, line, buf)) return !isnan(number(buf));
    return false;
}

bool wl_mark_log_is_lower_bar(const char *line)
{
    static const char up[] = "\x1b[A";
    const size_t n = strlen(line);
    return n >= strlen(up) && wl_str_eq(line + n - strlen(up), up);
}

void wl_mark_log_strip_colours(char *line)
{
    char *to = line;
    for (const char *from = line; *from;) {
        if (from[0] == '\x1b' && from[1] == '[') {
            from += 2 + strspn(from + 2, "0123456789;");
            if (*from) from++;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}
