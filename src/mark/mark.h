/* Mark lines, read: what a workload says about its epochs (written by include/wattlaw/mark.h, python/wattlaw.py).
 *
 *     <CLOCK_MONOTONIC ns> <rank> <word> key=value key=value ...
 *
 * The grammar stands in docs/formats.md. Reading is strict, and a broken line costs that line only: it gives a
 * message with file:line and what was wrong, is counted, and the next line is read as if it had not been there.
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
    char fields[WL_MARK_LINE_MAX]; /* "key=value key=value" as it stood in the line; "" for none */
    char split[WL_MARK_LINE_MAX];  /* the same bytes, keys and values each ended by a NUL */
    struct {
        uint16_t key, value; /* offsets into split */
    } field[WL_MARK_FIELDS_MAX];
    size_t n;
};

const char *wl_mark_word_name(enum wl_mark_word word);

/* Reads one line of n bytes, without its newline. `where` ("marks.log:12") stands in front of the message.
 * WL_EINVAL: another shape than the grammar, unknown word (with "did you mean"), a field that the word needs is not
 * there or is no number, a key twice. */
int wl_mark_parse(struct wl_mark *m, const char *line, size_t n, const char *where, struct wl_err *e) WL_MUST_CHECK;

/* Builds a mark from parts, as if its line had been read; `fields` as in the struct. */
int wl_mark_make(struct wl_mark *m, int64_t t_ns, int rank, enum wl_mark_word word, const char *fields,
                 struct wl_err *e) WL_MUST_CHECK;

/* Fields by name: NULL, the fallback or NAN where the field is absent or is no number (of the fields that stand beside
 * each word above, wl_mark_parse has checked that they are). "nan" and "inf" are numbers that read as NAN. */
const char *wl_mark_str(const struct wl_mark *m, const char *key);
int64_t wl_mark_int(const struct wl_mark *m, const char *key, int64_t fallback);
double wl_mark_real(const struct wl_mark *m, const char *key);

/* ---- a growing file, line by line ---- */

/* Follows a file that others append to. It need not be there yet; when it shrinks or is replaced, reading starts again
 * at its beginning. Only whole lines are given out. */
struct wl_tail;
struct wl_tail *wl_tail_new(const char *path, struct wl_arena *a);

/* The next whole line without its end: 1 with *line, *n set (valid until the next call), 0 where there is no more at
 * the moment, WL_EIO. A line longer than 64 KiB is given as its first 64 KiB. `cr_too`: '\r' ends a line as '\n' does
 * (progress bars in program output). */
int wl_tail_line(struct wl_tail *t, bool cr_too, const char **line, size_t *n, struct wl_err *e) WL_MUST_CHECK;

/* The rest behind the last newline, when the writer is gone: 1 with the text, 0 where there is none. */
int wl_tail_rest(struct wl_tail *t, const char **line, size_t *n, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_tail_line_number(const struct wl_tail *t); /* of the line given last, from 1 */

/* Follows a file of marks. */
struct wl_mark_tail;
struct wl_mark_tail *wl_mark_tail_new(const char *path, struct wl_arena *a);

/* The next mark: 1 with *m, 0 where there is no more at the moment, WL_EINVAL for a broken line (call again to go
 * on behind it), WL_EIO. */
int wl_mark_tail_next(struct wl_mark_tail *t, struct wl_mark *m, struct wl_err *e) WL_MUST_CHECK;

/* When the workload is gone: as wl_mark_tail_next, and then a line without its newline is a broken line too. */
int wl_mark_tail_last(struct wl_mark_tail *t, struct wl_mark *m, struct wl_err *e) WL_MUST_CHECK;

/* ---- marks from the output of a program that cannot be changed ---- */

/* POSIX extended regular expressions that are searched in each output line; semantics in docs/guide.md, "Programs that
 * cannot be changed". */
struct wl_mark_regex_opts {
    const char *epoch_regex;  /* a line that reports an epoch; NULL: no marks of epochs */
    const char *epoch_fields; /* "epoch=1,train_loss=2": name=group; NULL: "epoch=1" where there is a group */
    const char *epoch_at;     /* "end" (also NULL): the line ends its epoch; "begin": it begins its epoch */
    const char *start_regex;  /* at "end": behind this line an epoch begins; NULL: where the one before ended */
    const char *step_regex;   /* a line that reports an update; NULL: none */
    const char *step_fields;  /* "step=1,loss=2,samples=3"; NULL: "step=1" where there is a group */
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

/* Is an expression set at all? */
bool wl_mark_regex_is_set(const struct wl_mark_regex_opts *o);

struct wl_mark_regex;

/* Called with each mark made; the mark lives until the call returns. */
typedef void wl_mark_sink(void *ctx, const struct wl_mark *m);

/* Compiles the expressions. WL_EINVAL names the option and quotes regerror; also: a group that is not there, a
 * definition that is no mark. `faulty` (NULL: not wanted) then gets the option's name, "epoch-regex". */
int wl_mark_regex_new(struct wl_mark_regex **r, const struct wl_mark_regex_opts *o, wl_mark_sink *sink, void *ctx,
                      const char **faulty, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The job starts; a line of its output was seen; the job ends, well or not. Times are CLOCK_MONOTONIC of this node.
 * An epoch's marks are made when its end is known, so a begin comes to the sink later than marks of steps inside it.
 * A line that matches but makes no sense (the epoch's number goes back or jumps, a group that must be a number is none)
 * is WL_EINVAL with the line in the message; go on with the next line. */
void wl_mark_regex_start(struct wl_mark_regex *r, int64_t t_ns); /* gives the definitions to the sink */
int wl_mark_regex_line(struct wl_mark_regex *r, int64_t t_ns, const char *line, size_t n,
                       struct wl_err *e) WL_MUST_CHECK;
void wl_mark_regex_end(struct wl_mark_regex *r, int64_t t_ns, bool ok);

#endif
