/* Reads mark lines: a workload's reports about its epochs (written by include/wattlaw/mark.h, python/wattlaw.py).
 *
 *     <CLOCK_MONOTONIC ns> <rank> <word> key=value key=value ...
 *
 * docs/formats.md has the grammar. Reading is strict, but an invalid line affects only itself: it gives a message with
 * file:line and reason, is counted, and reading continues with the next line.
 */
#ifndef WL_MARK_MARK_H
#define WL_MARK_MARK_H

#include "base/base.h"

#define WL_MARK_LINE_MAX   512 /* bytes of a line, newline included */
#define WL_MARK_FIELDS_MAX 64

enum wl_mark_word {
    WL_MARK_START,
    WL_MARK_EPOCH_BEGIN, /* epoch= */
    WL_MARK_EPOCH_END,   /* epoch=, optional samples= updates= of all workers in this epoch */
    WL_MARK_STEP,        /* step=, optional samples= loss= */
    WL_MARK_PHASE_BEGIN, /* name= */
    WL_MARK_PHASE_END,   /* name= */
    WL_MARK_PHASE,       /* name= time_s=, optional epoch=: many short pieces, added up */
    WL_MARK_METRIC,      /* name= value=, optional epoch= */
    WL_MARK_DEFINE,      /* name=, optional unit= better= label= main= baseline_of=: what a metric is */
    WL_MARK_STOP,        /* optional status= */
    WL_MARK_WORDS
};

/* One mark. It owns its text, so it may be copied and kept. */
struct wl_mark {
    int64_t t_ns; /* CLOCK_MONOTONIC of the workload's node */
    int32_t rank;
    enum wl_mark_word word;
    char fields[WL_MARK_LINE_MAX]; /* "key=value key=value" as in the line; "": none */
    char split[WL_MARK_LINE_MAX];  /* the same bytes, keys and values each ended by a NUL */
    struct {
        uint16_t key, value; /* offsets into split */
    } field[WL_MARK_FIELDS_MAX];
    size_t n;
};

const char *wl_mark_word_name(enum wl_mark_word word);

/* Parses one line of n bytes, without its newline. Messages begin with `where` ("marks.log:12"). WL_EINVAL: syntax
 * error, unknown word (with "did you mean"), a required field missing or not a number, a duplicate key. */
int wl_mark_parse(struct wl_mark *m, const char *line, size_t n, const char *where, struct wl_err *e) WL_MUST_CHECK;

/* Builds a mark from parts, as if from a line; `fields` as in the struct. */
int wl_mark_make(struct wl_mark *m, int64_t t_ns, int rank, enum wl_mark_word word, const char *fields,
                 struct wl_err *e) WL_MUST_CHECK;

/* Fields by name: NULL, the fallback or NAN if the field is absent or not a number (wl_mark_parse has checked the
 * fields listed at each word above). "nan" and "inf" are numbers that read as NAN. */
const char *wl_mark_str(const struct wl_mark *m, const char *key);
int64_t wl_mark_int(const struct wl_mark *m, const char *key, int64_t fallback);
double wl_mark_real(const struct wl_mark *m, const char *key);

/* ---- a growing file, line by line ---- */

/* Follows a growing file. The file need not exist yet; if it shrinks or is replaced, reading restarts at its beginning.
 * Only whole lines are returned. */
struct wl_tail;
struct wl_tail *wl_tail_new(const char *path, struct wl_arena *a);

/* The next whole line without its end: 1 with *line, *n set (valid until the next call), 0: none at the moment, WL_EIO.
 * Of a line longer than 64 KiB, the first 64 KiB. `cr_too`: '\r' ends a line like '\n' (progress bars in program
 * output).
 */
int wl_tail_line(struct wl_tail *t, bool cr_too, const char **line, size_t *n, struct wl_err *e) WL_MUST_CHECK;

/* The text after the last newline, when the writer has ended: 1 with the text, 0: none. */
int wl_tail_rest(struct wl_tail *t, const char **line, size_t *n, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_tail_line_number(const struct wl_tail *t); /* of the last returned line, from 1 */

/* Follows a file of marks. */
struct wl_mark_tail;
struct wl_mark_tail *wl_mark_tail_new(const char *path, struct wl_arena *a);

/* The next mark: 1 with *m, 0: none at the moment, WL_EINVAL: invalid line (call again for the next one), WL_EIO. */
int wl_mark_tail_next(struct wl_mark_tail *t, struct wl_mark *m, struct wl_err *e) WL_MUST_CHECK;

/* As wl_mark_tail_next, when the workload has ended: a last line without its newline is invalid too. */
int wl_mark_tail_last(struct wl_mark_tail *t, struct wl_mark *m, struct wl_err *e) WL_MUST_CHECK;

/* ---- marks from the output of a program that cannot be changed ---- */

/* POSIX extended regular expressions searched in each output line; see docs/guide.md. */
struct wl_mark_regex_opts {
    const char *epoch_regex;  /* a line that reports an epoch; NULL: no marks of epochs */
    const char *epoch_fields; /* "epoch=1,train_loss=2": name=group; NULL: "epoch=1" if there is a group */
    const char *epoch_at;     /* "end" (also NULL): the line is at the end of its epoch; "begin": at its beginning */
    const char *start_regex;  /* at "end": an epoch begins after this line; NULL: at the end of the previous epoch */
    const char *step_regex;   /* a line that reports an update; NULL: none */
    const char *step_fields;  /* "step=1,loss=2,samples=3"; NULL: "step=1" if there is a group */
    struct wl_strs define;    /* fields of a define mark each: "name=val_f1 better=larger" */
};

/* clang-format off */
/* Rows for a struct that holds a struct wl_mark_regex_opts as member `at`. */
#define WL_MARK_REGEX_OPT_ROWS(holder, at) \
    { .name = "epoch-regex", .type = WL_STR, .offset = offsetof(holder, at.epoch_regex), \
      .unit = "REGEX", .help = "regular expression of output lines that report an epoch, for programs without marks" }, \
    { .name = "epoch-fields", .type = WL_STR, .offset = offsetof(holder, at.epoch_fields), \
      .unit = "FIELDS", .help = "capture groups of the epoch expression: epoch=1,train_loss=2" }, \
    { .name = "epoch-at", .type = WL_CHOICE, .offset = offsetof(holder, at.epoch_at), \
      .choices = "end|begin", .help = "position of the epoch line: at the end or the beginning of its epoch (default end)" }, \
    { .name = "start-regex", .type = WL_STR, .offset = offsetof(holder, at.start_regex), \
      .unit = "REGEX", .help = "regular expression of the output line after which an epoch begins (default: the end of the previous epoch)" }, \
    { .name = "step-regex", .type = WL_STR, .offset = offsetof(holder, at.step_regex), \
      .unit = "REGEX", .help = "regular expression of output lines that report an update" }, \
    { .name = "step-fields", .type = WL_STR, .offset = offsetof(holder, at.step_fields), \
      .unit = "FIELDS", .help = "capture groups of the step expression: step=1,loss=2,samples=3" }, \
    { .name = "define", .type = WL_STRS, .offset = offsetof(holder, at.define), \
      .unit = "FIELDS", .help = "definition of a metric: name=val_f1 better=larger unit=% label=F1_on_held-out_data" }
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

/* The job starts; prints a line; ends, successfully or not. Times are CLOCK_MONOTONIC of this node. An epoch's marks
 * are made when its end is known, so the sink gets its begin after marks of steps inside it. A matching line that is
 * invalid (the epoch's number decreases or jumps, a group is not a number as required) is WL_EINVAL with the line in
 * the message; continue with the next line. */
void wl_mark_regex_start(struct wl_mark_regex *r, int64_t t_ns); /* gives the definitions to the sink */
int wl_mark_regex_line(struct wl_mark_regex *r, int64_t t_ns, const char *line, size_t n,
                       struct wl_err *e) WL_MUST_CHECK;
void wl_mark_regex_end(struct wl_mark_regex *r, int64_t t_ns, bool ok);

#endif
