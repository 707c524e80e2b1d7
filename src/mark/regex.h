/* Marks from the output of a program that cannot be changed. */
#ifndef WL_MARK_REGEX_H
#define WL_MARK_REGEX_H

#include "mark/logs.h"
#include "mark/parse.h"

/* POSIX extended regular expressions searched in each output line; see docs/guide.md. */
struct wl_mark_regex_opts {
    const char *epoch_regex;  /* a line that reports an epoch; NULL: no marks of epochs */
    const char *epoch_fields; /* "epoch=1,train_loss=2": name=group; NULL: "epoch=1" if there is a group */
    const char *epoch_at;     /* "end" (also NULL): the line is at the end of its epoch; "begin": at its beginning */
    const char *start_regex;  /* at "end": an epoch begins after this line; NULL: at the end of the previous epoch */
    const char *step_regex;   /* a line that reports an update; NULL: none */
    const char *step_fields;  /* "step=1,loss=2,samples=3"; NULL: "step=1" if there is a group */
    const char *log;          /* a framework whose steps are read (logs.h); NULL: none */
    const char *checkpoint_regex; /* a line that a checkpoint has been saved, group 1 its step; NULL: as `log` has it */
    int64_t samples_per_step, tokens_per_sample; /* of all workers, where lines do not say; 0: not known */
    struct wl_strs define;                       /* fields of a define mark each: "name=val_f1 better=larger" */
};

/* clang-format off */
/* Rows for a struct that holds a struct wl_mark_regex_opts as member `at`. */
#define WL_MARK_REGEX_OPT_ROWS(holder, at) \
    { .name = "epoch-regex", .type = WL_STR, .offset = offsetof(holder, at.epoch_regex), \
      .unit = "REGEX", .help = "regular expression of output lines that report an epoch, for programs without marks (default: none)" }, \
    { .name = "epoch-fields", .type = WL_STR, .offset = offsetof(holder, at.epoch_fields), \
      .unit = "FIELDS", .help = "capture groups of --epoch-regex by number, such as epoch=1,train_loss=2 (default epoch=1)" }, \
    { .name = "epoch-at", .type = WL_CHOICE, .offset = offsetof(holder, at.epoch_at), \
      .choices = "end|begin", .help = "position of the epoch line: at the end or the beginning of its epoch (default end)" }, \
    { .name = "start-regex", .type = WL_STR, .offset = offsetof(holder, at.start_regex), \
      .unit = "REGEX", .help = "regular expression of the output line after which an epoch begins (default: the end of the previous epoch)" }, \
    { .name = "step-regex", .type = WL_STR, .offset = offsetof(holder, at.step_regex), \
      .unit = "REGEX", .help = "regular expression of output lines that report an update (default: none)" }, \
    { .name = "step-fields", .type = WL_STR, .offset = offsetof(holder, at.step_fields), \
      .unit = "FIELDS", .help = "capture groups of --step-regex by number, such as step=1,loss=2,samples=3 (default step=1)" }, \
    { .name = "log", .type = WL_CHOICE, .offset = offsetof(holder, at.log), \
      .choices = WL_MARK_LOG_CHOICES, .help = "framework whose log lines report steps, samples and loss, instead of --step-regex (default: none)" }, \
    { .name = "checkpoint-regex", .type = WL_STR, .offset = offsetof(holder, at.checkpoint_regex), \
      .unit = "REGEX", .help = "regular expression of output lines that report a saved checkpoint (default: from --log, else none)" }, \
    { .name = "samples-per-step", .type = WL_INT, .offset = offsetof(holder, at.samples_per_step), .def = "0", .min = 0, .max = 1e12, \
      .help = "number of samples of all workers in an update, for output without samples; 0: unknown" }, \
    { .name = "tokens-per-sample", .type = WL_INT, .offset = offsetof(holder, at.tokens_per_sample), .def = "0", .min = 0, .max = 1e12, \
      .help = "number of tokens in a sample (sequence length), for output without tokens; 0: unknown" }, \
    { .name = "define", .type = WL_STRS, .offset = offsetof(holder, at.define), \
      .unit = "FIELDS", .help = "definition of a metric, such as name=val_f1 better=larger unit=% label=F1_on_held-out_data (default: none)" }
/* clang-format on */

/* True if any expression is set. */
bool wl_mark_regex_is_set(const struct wl_mark_regex_opts *o);

struct wl_mark_regex;

/* Receives each mark; the mark is valid until the call returns. */
typedef void wl_mark_sink(void *ctx, const struct wl_mark *m);

/* Compiles the expressions. WL_EINVAL names the option and quotes regerror; also for a missing group and an invalid
 * definition. *faulty (if not NULL) is then the option's name, "epoch-regex". */
int wl_mark_regex_new(struct wl_mark_regex **r, const struct wl_mark_regex_opts *o, wl_mark_sink *sink, void *ctx,
                      const char **faulty, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Expressions that no line has matched so far: one sentence each, with a line that they miss by the case of letters
 * alone. Empty: each has matched. Of checkpoints nothing is said, as a job need not save one. */
struct wl_strs wl_mark_regex_unmatched(const struct wl_mark_regex *r, struct wl_arena *a);

/* The job starts; prints a line; ends, successfully or not. Times are CLOCK_MONOTONIC of this node. An epoch's marks
 * are made when its end is known, so the sink gets its begin after marks of steps inside it. A matching line that is
 * invalid (the epoch's number decreases or jumps, a group is not a number as required) is WL_EINVAL with the line in
 * the message; continue with the next line. */
void wl_mark_regex_start(struct wl_mark_regex *r, int64_t t_ns); /* gives the definitions to the sink */
int wl_mark_regex_line(struct wl_mark_regex *r, int64_t t_ns, const char *line, size_t n,
                       struct wl_err *e) WL_MUST_CHECK;
void wl_mark_regex_end(struct wl_mark_regex *r, int64_t t_ns, bool ok);

#endif
