#include "base/err.h"

#include "base/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message that was cut may end inside a UTF-8 sequence: drop the torn character. */
static void trim_torn_utf8(char *s)
{
    size_t n = strlen(s), i = n;
    while (i > 0 && ((unsigned char)s[i - 1] & 0xc0) == 0x80) i--;
    if (i == 0) return;
    unsigned char lead = (unsigned char)s[i - 1];
    size_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (n - (i - 1) < want) s[i - 1] = '\0';
}

int wl_failv(struct wl_err *e, int code, const char *fmt, va_list ap)
{
    if (!e) return code;
    /* Built aside: the arguments may point into the old message. */
    char msg[sizeof e->msg];
    vsnprintf(msg, sizeof msg, fmt, ap);
    trim_torn_utf8(msg);
    memcpy(e->msg, msg, sizeof msg);
    e->code = code;
    return code;
}

int wl_fail(struct wl_err *e, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    wl_failv(e, code, fmt, ap);
    va_end(ap);
    return code;
}

static int code_of_errno(int en)
{
    switch (en) {
    case ENOENT: return WL_ENOENT;
    case EACCES:
    case EPERM: return WL_EPERM;
    case ENOMEM: return WL_ENOMEM;
    case EINTR: return WL_EINTR;
    default: return WL_EIO;
    }
}

int wl_fail_errno(struct wl_err *e, const char *fmt, ...)
{
    int en = errno;
    char what[sizeof e->msg];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return wl_fail(e, code_of_errno(en), "%s: %s", what, strerror(en));
}

int wl_err_prefix(struct wl_err *e, const char *fmt, ...)
{
    if (!e) return WL_EINVAL;
    char what[sizeof e->msg];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return wl_fail(e, e->code, "%s: %s", what, e->msg);
}

_Noreturn void wl_check_failed(const char *cond, const char *file, int line)
{
    wl_eprint("wattlaw: internal error at %s:%d: check failed: %s\n", file, line, cond);
    abort();
}
