/* wattlaw marks: how a training program reports its epochs to `wattlaw`.  Apache-2.0.
 *
 *     #include <wattlaw/mark.h>
 *     wattlaw_mark_start("workload=%s workers=%d local_batch=%d", "mynet", workers, batch);
 *     wattlaw_mark_define("name=val_f1 better=larger label=F1_on_held-out_data");
 *     for (int epoch = 1; epoch <= epochs; epoch++) {
 *         wattlaw_mark_epoch_begin(epoch);
 *         ...
 *         wattlaw_mark_epoch_end(epoch, samples_of_all_workers, updates);
 *         wattlaw_mark_metric("val_top1", top1, epoch);
 *     }
 *     wattlaw_mark_stop("ok");
 *
 * One header, no library, libc only; C99 (POSIX 2008) and C++11; gcc and clang. The harness sets WATTLAW_MARKS to a
 * file. Where it is not set every call is one test of a cached value. A mark is one line of at most 512 bytes,
 * appended by one write(2), so lines of ranks and threads do not mix:
 *
 *     <CLOCK_MONOTONIC ns> <rank> <word> key=value key=value ...
 *
 * Words and their fields: docs/formats.md. Every call may be made from any thread. Calls return 0, or -1 with errno
 * (EMSGSIZE: the line is longer than 512 bytes; EINVAL: empty word; otherwise what write(2) said); a program need not
 * look. A file that cannot be opened is reported once on stderr, and the program runs on without marks.
 *
 * The prefix is wattlaw_ and not the wl_ of our own sources, because wl_ belongs to Wayland in other programs.
 */
#ifndef WATTLAW_MARK_H
#define WATTLAW_MARK_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if !defined(CLOCK_MONOTONIC) || !defined(O_CLOEXEC)
#error "wattlaw/mark.h needs POSIX 2008: compile with -std=gnu99 or later, or with -D_POSIX_C_SOURCE=200809L"
#endif

#define WATTLAW_MARK_MAX 512 /* bytes of a line, newline included */

#if defined(__GNUC__)
#define WATTLAW_MARK_PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at), unused))
#define WATTLAW_MARK_UNUSED                  __attribute__((unused))
#else
#error "wattlaw/mark.h needs the __atomic builtins of gcc or clang"
#endif

/* ---- state: one file descriptor and one rank for each translation unit that includes this header ---- */

/* 0: not looked yet; -1: marks are off; otherwise the descriptor + 1. */
static int wattlaw_mark_state_ WATTLAW_MARK_UNUSED = 0;
/* -1: not known yet. */
static int wattlaw_mark_rank_ WATTLAW_MARK_UNUSED = -1;

static inline int wattlaw_mark_open_(void)
{
    const char *path = getenv("WATTLAW_MARKS");
    int state = -1, expected = 0;
    if (path && *path) {
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd >= 0)
            state = fd + 1;
        else
            fprintf(stderr, "wattlaw: marks are off: cannot open WATTLAW_MARKS=%s: %s\n", path, strerror(errno));
    }
    if (!__atomic_compare_exchange_n(&wattlaw_mark_state_, &expected, state, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        if (state > 0) close(state - 1); /* another thread was first */
        state = expected;
    }
    return state;
}

/* Are marks written? Use it to spare work that is needed for marks only. */
static inline int wattlaw_mark_on(void)
{
    int state = __atomic_load_n(&wattlaw_mark_state_, __ATOMIC_ACQUIRE);
    if (__builtin_expect(state == 0, 0)) state = wattlaw_mark_open_();
    return state > 0;
}

/* A rank from one environment variable, -1 where it is unset or no number. */
static inline int wattlaw_mark_env_rank_(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long rank;
    if (!text || !*text) return -1;
    rank = strtol(text, &end, 10);
    return *end == '\0' && rank >= 0 && rank < 1 << 24 ? (int)rank : -1;
}

/* The rank in marks: the one of wattlaw_mark_set_rank, else WATTLAW_RANK, RANK if WORLD_SIZE is set too (torchrun,
 * whose workers share one SLURM_PROCID), OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID, RANK; otherwise 0. */
static inline int wattlaw_mark_rank(void)
{
    static const char *const names[] = { "WATTLAW_RANK", "RANK",         "OMPI_COMM_WORLD_RANK",
                                         "PMI_RANK",     "SLURM_PROCID", "RANK" };
    int rank = __atomic_load_n(&wattlaw_mark_rank_, __ATOMIC_RELAXED);
    for (size_t i = 0; rank < 0 && i < sizeof names / sizeof *names; i++) {
        if (i == 1 && !getenv("WORLD_SIZE")) continue;
        rank = wattlaw_mark_env_rank_(names[i]);
    }
    if (rank < 0) rank = 0;
    __atomic_store_n(&wattlaw_mark_rank_, rank, __ATOMIC_RELAXED);
    return rank;
}

/* Sets the rank of this translation unit's marks, where the environment does not tell it. */
static inline void wattlaw_mark_set_rank(int rank) { __atomic_store_n(&wattlaw_mark_rank_, rank, __ATOMIC_RELAXED); }

/* ---- one line ---- */

static inline int wattlaw_mark_line_(const char *word, const char *fmt, va_list ap)
{
    char line[WATTLAW_MARK_MAX + 1];
    struct timespec now;
    int fd, n, more;
    ssize_t wrote;

    clock_gettime(CLOCK_MONOTONIC, &now); /* first: formatting is not part of what is timed */
    fd = __atomic_load_n(&wattlaw_mark_state_, __ATOMIC_ACQUIRE) - 1;
    if (!word || !*word) {
        errno = EINVAL;
        return -1;
    }
    n = snprintf(line, sizeof line, "%lld %d %s", (long long)now.tv_sec * 1000000000LL + now.tv_nsec,
                 wattlaw_mark_rank(), word);
    if (fmt && *fmt && n >= 0 && n < WATTLAW_MARK_MAX) {
        line[n++] = ' ';
        more = vsnprintf(line + n, sizeof line - (size_t)n, fmt, ap);
        n = more < 0 ? more : n + more;
    }
    if (n < 0 || n + 1 > WATTLAW_MARK_MAX) {
        errno = n < 0 ? EINVAL : EMSGSIZE;
        return -1;
    }
    for (int i = 0; i < n; i++) /* a newline in a value must not make two lines */
        if ((unsigned char)line[i] < ' ' || line[i] == 127) line[i] = '_';
    line[n++] = '\n';
    do {
        wrote = write(fd, line, (size_t)n);
    } while (wrote < 0 && errno == EINTR);
    if (wrote >= 0 && wrote < n) errno = ENOSPC;
    return wrote == n ? 0 : -1;
}

/* Appends one mark. `fmt` gives the fields, "key=value key=value", printf-style; NULL: none. A value holds no blanks;
 * control characters in it become '_'. Numbers need a decimal point, so a program that calls setlocale formats reals
 * with wattlaw_mark_real. */
static inline int wattlaw_mark(const char *word, const char *fmt, ...) WATTLAW_MARK_PRINTF(2, 3);
static inline int wattlaw_mark(const char *word, const char *fmt, ...)
{
    va_list ap;
    int rc;
    if (!wattlaw_mark_on()) return 0;
    va_start(ap, fmt);
    rc = wattlaw_mark_line_(word, fmt, ap);
    va_end(ap);
    return rc;
}

/* A real number as text with a decimal point in every locale; returns buf. */
static inline const char *wattlaw_mark_real(char buf[32], double value)
{
    snprintf(buf, 32, "%.9g", value);
    for (char *c = buf; *c; c++)
        if (*c == ',') *c = '.';
    return buf;
}

/* ---- the vocabulary ---- */

/* The job starts: workload=, workers=, local_batch=, global_batch= ... as fields; each rank may say so. */
static inline int wattlaw_mark_start(const char *fmt, ...) WATTLAW_MARK_PRINTF(1, 2);
static inline int wattlaw_mark_start(const char *fmt, ...)
{
    va_list ap;
    int rc;
    if (!wattlaw_mark_on()) return 0;
    va_start(ap, fmt);
    rc = wattlaw_mark_line_("start", fmt, ap);
    va_end(ap);
    return rc;
}

/* A training epoch, counted from 1, without its validation. Rank 0's pair defines the epoch's time. */
static inline int wattlaw_mark_epoch_begin(long long epoch) { return wattlaw_mark("epoch-begin", "epoch=%lld", epoch); }

/* samples and updates (optimizer steps) count the work of all workers in this epoch. */
static inline int wattlaw_mark_epoch_end(long long epoch, long long samples, long long updates)
{
    return wattlaw_mark("epoch-end", "epoch=%lld samples=%lld updates=%lld", epoch, samples, updates);
}

/* One update: its number, the samples of all workers in it, its loss (NAN: not known). A program that marks only some
 * of its updates gives the samples since the one marked before. Tokens, and the number of steps that it will do, are
 * fields too: wattlaw_mark("step", "step=%lld tokens=%lld total=%lld", ...). */
static inline int wattlaw_mark_step(long long step, long long samples, double loss)
{
    char text[32];
    if (!wattlaw_mark_on()) return 0;
    if (loss != loss) return wattlaw_mark("step", "step=%lld samples=%lld", step, samples);
    return wattlaw_mark("step", "step=%lld samples=%lld loss=%s", step, samples, wattlaw_mark_real(text, loss));
}

/* The job can be resumed from here, without what it has done up to now being lost; step: the last one that is saved. */
static inline int wattlaw_mark_checkpoint(long long step) { return wattlaw_mark("checkpoint", "step=%lld", step); }

/* A phase inside or beside epochs: load, train, validate, checkpoint, input ... */
static inline int wattlaw_mark_phase_begin(const char *name) { return wattlaw_mark("phase-begin", "name=%s", name); }
static inline int wattlaw_mark_phase_end(const char *name) { return wattlaw_mark("phase-end", "name=%s", name); }

/* Seconds in a phase of many short pieces (waiting for input, say), added up over an epoch's training pass. */
static inline int wattlaw_mark_phase_time(const char *name, double time_s, long long epoch)
{
    char text[32];
    if (!wattlaw_mark_on()) return 0;
    return wattlaw_mark("phase", "name=%s time_s=%s epoch=%lld", name, wattlaw_mark_real(text, time_s), epoch);
}

/* A result: train_loss, train_top1, val_loss, val_top1, val_top5, lr ...; epoch 0: of the whole run. */
static inline int wattlaw_mark_metric(const char *name, double value, long long epoch)
{
    char text[32];
    if (!wattlaw_mark_on()) return 0;
    wattlaw_mark_real(text, value);
    if (epoch <= 0) return wattlaw_mark("metric", "name=%s value=%s", name, text);
    return wattlaw_mark("metric", "name=%s value=%s epoch=%lld", name, text, epoch);
}

/* What a metric is, once, before or after its first value: name= and, as far as they are known, unit=, better= (larger
 * or smaller), label= for people ("_" there and in unit= is shown as a blank), main=1 (runs are judged by it),
 * baseline_of= (the metric that this one is the baseline of: a forecast that anybody could make). */
static inline int wattlaw_mark_define(const char *fmt, ...) WATTLAW_MARK_PRINTF(1, 2);
static inline int wattlaw_mark_define(const char *fmt, ...)
{
    va_list ap;
    int rc;
    if (!wattlaw_mark_on()) return 0;
    va_start(ap, fmt);
    rc = wattlaw_mark_line_("define", fmt, ap);
    va_end(ap);
    return rc;
}

/* The job ends: "ok", or one word that says why not. */
static inline int wattlaw_mark_stop(const char *status) { return wattlaw_mark("stop", "status=%s", status); }

#endif
