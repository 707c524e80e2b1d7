/* Errors: a negative code and a message built where the facts are known.
 *
 * A function that can fail returns 0 or one of the codes below and takes a `struct wl_err *` as its last
 * argument. The message is left alone on success. Nothing here prints or exits: only src/cmd does.
 */
#ifndef WL_BASE_ERR_H
#define WL_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wl_code {
    WL_OK = 0,
    WL_EINVAL = -1, /* the input is wrong: file, option, shape */
    WL_EUSAGE = -2, /* the command line is wrong: exit status 2 */
    WL_ENOENT = -3, /* a named file, column, run or device does not exist */
    WL_EPERM = -4,  /* not allowed; the message says what would allow it */
    WL_EIO = -5,    /* reading or writing failed, disk full included */
    WL_ENOMEM = -6,
    WL_ELIB = -7,     /* a foreign library refused; the message carries its text */
    WL_EUNAVAIL = -8, /* not built in, or not present on this machine */
    WL_EJOB = -9,     /* a workload failed */
    WL_EINTR = -10,   /* the user asked to stop */
    WL_EHUNG = -11,   /* a driver does not answer: its call was abandoned and may still be running */
};

/* One error. `msg` is a sentence without a final newline, at most 1023 bytes, cut at a character of UTF-8. */
struct wl_err {
    int code; /* enum wl_code */
    char msg[1024];
};

#define WL_PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))
#define WL_MUST_CHECK              __attribute__((warn_unused_result))
#define WL_COUNT(array)            (sizeof(array) / sizeof((array)[0]))

/* Fills *e (NULL is allowed: the caller wants the code only) and returns code. */
int wl_fail(struct wl_err *e, int code, const char *fmt, ...) WL_PRINTF(3, 4);
int wl_failv(struct wl_err *e, int code, const char *fmt, va_list ap) WL_PRINTF(3, 0);

/* As wl_fail, with ": " and the text of errno appended; the code follows errno (ENOENT, EACCES/EPERM, ENOMEM, otherwise
 * WL_EIO). */
int wl_fail_errno(struct wl_err *e, const char *fmt, ...) WL_PRINTF(2, 3);

/* Prefixes a callee's message with "context: "; returns e->code. */
int wl_err_prefix(struct wl_err *e, const char *fmt, ...) WL_PRINTF(2, 3);

/* For our own bugs, also in release builds: prints file and line and aborts. Never for bad input. */
#define WL_CHECK(cond)                                           \
    do {                                                         \
        if (!(cond)) wl_check_failed(#cond, __FILE__, __LINE__); \
    } while (0)
_Noreturn void wl_check_failed(const char *cond, const char *file, int line);

#endif
