#include "base/print.h"

#include "base/fold.h"
#include "base/printable.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

static FILE *stream(enum wl_out to) { return to == WL_STDERR ? stderr : stdout; }

/* ---- output is collected on the stack, so that errors can be printed without memory ---- */

struct line {
    enum wl_out to;
    size_t width; /* to which lines are folded; 0: they are not */
    size_t n;
    char bytes[4096];
};

/* Where the line of each stream is, between calls; guarded by the lock of the stream. */
static struct wl_fold folds[2];
static size_t lines[2]; /* that have ended */

static void flush(struct line *l)
{
    if (l->n) fwrite(l->bytes, 1, l->n, stream(l->to)); /* wl_out_flush reports errors */
    l->n = 0;
}

static void put_now(void *to, const char *s, size_t n)
{
    struct line *l = to;
    for (const char *end = s; (end = memchr(end, '\n', n - (size_t)(end - s))); end++) lines[l->to]++;
    if (n > sizeof l->bytes - l->n) flush(l);
    if (n > sizeof l->bytes) {
        fwrite(s, 1, n, stream(l->to));
        return;
    }
    memcpy(l->bytes + l->n, s, n);
    l->n += n;
}

static void put(struct line *l, const char *s, size_t n)
{
    if (l->width)
        wl_fold_add(&folds[l->to], s, n, l->width, put_now, l);
    else
        put_now(l, s, n);
}

static void pad(struct line *l, size_t n)
{
    while (n--) put(l, " ", 1);
}

/* n bytes of foreign text, or of our own in several lines. */
static void put_printable(struct line *l, const char *s, size_t n, enum wl_printable_mode mode)
{
    char escape[WL_ESCAPE_MAX];
    for (size_t step; n; s += step, n -= step) {
        step = wl_printable_next(s, n, mode, escape);
        put(l, *escape ? escape : s, *escape ? strlen(escape) : step);
    }
}

/* ---- formats ---- */

/* One conversion, "%-12.3s", without its '*'. */
struct conversion {
    char spec[48]; /* flags, width, precision, length and letter, for snprintf */
    bool left;
    int width, precision; /* -1: none */
    char length;          /* 'H' for hh, 'q' for ll, 0: none */
    char letter;
};

struct arguments {
    va_list ap;
};

/* A number in the format, or from the arguments for "*". */
static int number(const char **f, struct arguments *args)
{
    int n = 0;
    if (**f == '*') {
        (*f)++;
        return va_arg(args->ap, int);
    }
    for (; **f >= '0' && **f <= '9'; (*f)++) n = n < 1000 ? 10 * n + (**f - '0') : n;
    return n;
}

static char length_of(const char **f)
{
    static const char lengths[] = "hlqjztL";
    const char c = **f;
    if (!c || !strchr(lengths, c)) return 0;
    (*f)++;
    if (**f != c) return c;
    (*f)++;
    return c == 'h' ? 'H' : 'q';
}

/* Parses the conversion after a '%' and moves *f past it. */
static struct conversion conversion(const char **f, struct arguments *args)
{
    struct conversion c = { .width = -1, .precision = -1 };
    char flags[8] = "";
    size_t n = 0;
    for (; **f && strchr("-+ #0'", **f); (*f)++)
        if (n < sizeof flags - 1 && !strchr(flags, **f)) flags[n++] = **f;
    if (**f == '*' || (**f >= '1' && **f <= '9')) c.width = number(f, args);
    if (c.width < -1) { /* a negative width from the arguments means left-justified */
        c.width = -c.width;
        if (!strchr(flags, '-')) flags[n++] = '-';
    }
    if (**f == '.') {
        (*f)++;
        c.precision = number(f, args);
    }
    c.left = strchr(flags, '-') != NULL;
    c.length = length_of(f);
    c.letter = **f;
    WL_CHECK(c.letter);
    (*f)++;
    const char length[3] = { c.length == 'H'   ? 'h'
                             : c.length == 'q' ? 'l'
                                               : c.length,
                             c.length == 'H'   ? 'h'
                             : c.length == 'q' ? 'l'
                                               : 0 };
    char width[16] = "", precision[16] = "";
    if (c.width >= 0) snprintf(width, sizeof width, "%d", c.width);
    if (c.precision >= 0) snprintf(precision, sizeof precision, ".%d", c.precision);
    snprintf(c.spec, sizeof c.spec, "%%%s%s%s%s%c", flags, width, precision, length, c.letter);
    return c;
}

/* Width of n bytes in columns. */
static size_t columns(const char *s, size_t n)
{
    char escape[WL_ESCAPE_MAX];
    size_t sum = 0;
    for (size_t step; n; s += step, n -= step) {
        step = wl_printable_next(s, n, WL_PRINTABLE_LINE, escape);
        sum += *escape ? strlen(escape) : wl_utf8_columns(s, step);
    }
    return sum;
}

/* The bytes within the precision, without a partial character. */
static size_t bytes_within(const char *s, int precision)
{
    if (precision < 0) return strlen(s);
    const size_t n = strnlen(s, (size_t)precision);
    size_t head = n;
    while (head && ((unsigned char)s[head - 1] & 0xc0) == 0x80) head--;
    if (!head || n < (size_t)precision) return n;
    const unsigned char lead = (unsigned char)s[head - 1];
    const size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return n - (head - 1) < wanted ? head - 1 : n;
}

static void put_bytes(struct line *l, const struct conversion *c, const char *s, size_t n)
{
    const size_t used = c->width > 0 ? columns(s, n) : 0;
    const size_t blanks = c->width > 0 && (size_t)c->width > used ? (size_t)c->width - used : 0;
    if (!c->left) pad(l, blanks);
    put_printable(l, s, n, WL_PRINTABLE_LINE);
    if (c->left) pad(l, blanks);
}

static void put_string(struct line *l, const struct conversion *c, const char *s)
{
    if (!s) s = "(null)";
    put_bytes(l, c, s, bytes_within(s, c->precision));
}

/* snprintf with one argument; the longest doubles lose digits. */
#define PUT_VALUE(type_)                                                                \
    do {                                                                                \
        const int n = snprintf(value, sizeof value, c.spec, va_arg(args->ap, type_));   \
        if (n > 0) put(l, value, n < (int)sizeof value ? (size_t)n : sizeof value - 1); \
    } while (0)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* spec is a conversion of a literal format, which was checked */
static void put_integer(struct line *l, const struct conversion conv, struct arguments *args)
{
    const struct conversion c = conv;
    char value[512];
    switch (c.length) {
    case 'l': PUT_VALUE(long); break;
    case 'q': PUT_VALUE(long long); break;
    case 'j': PUT_VALUE(intmax_t); break;
    case 'z':
    case 't': PUT_VALUE(size_t); break;
    default: PUT_VALUE(int);
    }
}

static void put_real(struct line *l, const struct conversion c, struct arguments *args)
{
    char value[512];
    if (c.length == 'L')
        PUT_VALUE(long double);
    else
        PUT_VALUE(double);
}

static void put_pointer(struct line *l, const struct conversion c, struct arguments *args)
{
    char value[64];
    PUT_VALUE(void *);
}
#pragma GCC diagnostic pop

static void put_conversion(struct line *l, const struct conversion *c, struct arguments *args)
{
    switch (c->letter) {
    case '%': put(l, "%", 1); break;
    case 's': put_string(l, c, va_arg(args->ap, const char *)); break;
    case 'c': {
        const char byte = (char)va_arg(args->ap, int);
        put_bytes(l, c, &byte, 1);
        break;
    }
    case 'p': put_pointer(l, *c, args); break;
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X': put_integer(l, *c, args); break;
    default: WL_CHECK(strchr("aAeEfFgG", c->letter)); put_real(l, *c, args);
    }
}

static void put_format(struct line *l, const char *fmt, va_list ap)
{
    struct arguments args;
    va_copy(args.ap, ap);
    while (*fmt) {
        const size_t plain = strcspn(fmt, "%");
        put(l, fmt, plain);
        fmt += plain;
        if (!*fmt) break;
        fmt++;
        const struct conversion c = conversion(&fmt, &args);
        put_conversion(l, &c, &args);
    }
    va_end(args.ap);
}

/* Formats and prints. SGR sequences around the text have no blanks and are part of words. */
static void print_in(enum wl_out to, enum wl_style style, const char *fmt, va_list ap)
{
    static const char *const begin[] = { "", "\033[1m", "\033[32m", "\033[33m", "\033[31m" };
    const int en = errno; /* a message is often printed before errno is read */
    const bool colored = style != WL_PLAIN && wl_out_has_color(to);
    struct line l = { .to = to, .width = *fmt == '\r' ? 0 : (size_t)wl_out_width(to) };
    flockfile(stream(to));
    if (colored) put(&l, begin[style], strlen(begin[style]));
    put_format(&l, fmt, ap);
    if (colored) put(&l, "\033[0m", strlen("\033[0m"));
    flush(&l);
    funlockfile(stream(to));
    errno = en;
}

void wl_fprintv(enum wl_out to, const char *fmt, va_list ap) { print_in(to, WL_PLAIN, fmt, ap); }

void wl_fprint_in(enum wl_out to, enum wl_style style, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_in(to, style, fmt, ap);
    va_end(ap);
}

void wl_print_flush(enum wl_out to)
{
    const int width = wl_out_width(to);
    struct line l = { .to = to };
    flockfile(stream(to));
    wl_fold_flush(&folds[to], width ? (size_t)width : (size_t)-1, put_now, &l);
    flush(&l);
    funlockfile(stream(to));
}

size_t wl_print_lines(enum wl_out to)
{
    flockfile(stream(to));
    const size_t n = lines[to];
    funlockfile(stream(to));
    return n;
}

void wl_fprint(enum wl_out to, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    wl_fprintv(to, fmt, ap);
    va_end(ap);
}

void wl_print(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    wl_fprintv(WL_STDOUT, fmt, ap);
    va_end(ap);
}

void wl_eprint(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    wl_fprintv(WL_STDERR, fmt, ap);
    va_end(ap);
}

void wl_print_textn(enum wl_out to, const char *text, size_t n)
{
    struct line l = { .to = to };
    put_printable(&l, text, n, WL_PRINTABLE_TEXT);
    flush(&l);
}

void wl_print_text(enum wl_out to, const char *text) { wl_print_textn(to, text, strlen(text)); }
