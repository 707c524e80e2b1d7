/* Reads mark lines: a workload's reports about its epochs (written by include/wattlaw/mark.h, python/wattlaw/__init__.py).
 *
 *     <CLOCK_MONOTONIC ns> <rank> <word> key=value key=value ...
 *
 * docs/formats.md has the grammar. Reading is strict, but an invalid line affects only itself: it gives a message with
 * file:line and reason, is counted, and reading continues with the next line.
 */
#ifndef WL_MARK_PARSE_H
#define WL_MARK_PARSE_H

#include "base/base.h"

#define WL_MARK_LINE_MAX   512 /* bytes of a line, newline included */
#define WL_MARK_FIELDS_MAX 64
#define WL_MARK_COUNT_MAX  ((int64_t)1 << 53) /* counts are kept as doubles: up to here each has its own */
#define WL_MARK_TIME_MAX \
    ((int64_t)1 << 61) /* ns; plus the shift of its node's clock it is still within the store's 2^62 */

enum wl_mark_word {
    WL_MARK_START,
    WL_MARK_EPOCH_BEGIN, /* epoch= */
    WL_MARK_EPOCH_END,   /* epoch=, optional samples= updates= tokens= of all workers in this epoch */
    WL_MARK_STEP, /* step=, optional samples= tokens= of all workers since the step before, total= steps, loss= */
    WL_MARK_PHASE_BEGIN, /* name= */
    WL_MARK_PHASE_END,   /* name= */
    WL_MARK_PHASE,       /* name= time_s=, optional epoch=: many short pieces, added up */
    WL_MARK_METRIC,      /* name= value=, optional epoch= */
    WL_MARK_CHECKPOINT,  /* optional step=: everything up to here can be resumed */
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
 * error, unknown word (with "did you mean"), a required field missing, a number that is none or out of range, a
 * duplicate key. */
int wl_mark_parse(struct wl_mark *m, const char *line, size_t n, const char *where, struct wl_err *e) WL_MUST_CHECK;

/* Builds a mark from parts, as if from a line; `fields` as in the struct. */
int wl_mark_make(struct wl_mark *m, int64_t t_ns, int rank, enum wl_mark_word word, const char *fields,
                 struct wl_err *e) WL_MUST_CHECK;

/* Fields by name: NULL, the fallback or NAN if the field is absent or not a number (wl_mark_parse has checked the
 * fields listed at each word above). "nan" and "inf" are numbers that read as NAN. */
const char *wl_mark_str(const struct wl_mark *m, const char *key);
int64_t wl_mark_int(const struct wl_mark *m, const char *key, int64_t fallback);
double wl_mark_real(const struct wl_mark *m, const char *key);

#endif
