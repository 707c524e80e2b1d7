#include "exchange/import/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- blocks ---- */

enum { BLOCK = 1 << 18 };

static void close_fd(void *fd) { close(*(int *)fd); }

void wl_lines_of_fd(struct wl_lines *r, const char *name, int fd, struct wl_arena *a)
{
    *r = (struct wl_lines) { .path = name, .fd = fd, .whole = true, .cap = WL_LINE_MAX + BLOCK + 1 };
    r->buf = wl_alloc(a, r->cap);
}

int wl_lines_open(struct wl_lines *r, const char *path, struct wl_arena *a, struct wl_err *e)
{
    int fd = wl_file_open(path, e);
    if (fd < 0) return fd;
    int *held = wl_new(a, int);
    *held = fd;
    wl_defer(a, close_fd, held);
    wl_lines_of_fd(r, path, fd, a);
    return 0;
}

/* Makes room after what is not returned yet and reads there. */
static int fill(struct wl_lines *r, struct wl_err *e)
{
    if (r->from > 0) memmove(r->buf, r->buf + r->from, r->to - r->from);
    r->to -= r->from;
    r->from = 0;
    size_t room = r->cap - 1 - r->to;
    ssize_t n;
    while ((n = read(r->fd, r->buf + r->to, room < BLOCK ? room : BLOCK)) < 0 && errno == EINTR) {
    }
    if (n < 0) return wl_fail_errno(e, "%s: cannot read", r->path);
    r->crc = wl_crc32c(r->crc, r->buf + r->to, (size_t)n);
    if (r->on_block) r->on_block(r->ctx, (size_t)n);
    bool first = r->bytes == 0 && r->to == 0;
    r->bytes += n;
    r->to += (size_t)n;
    r->eof = n == 0;
    if (first && r->to >= 3 && memcmp(r->buf, "\xef\xbb\xbf", 3) == 0) r->from = 3;
    return 0;
}

int wl_lines_peek(struct wl_lines *r, size_t n, struct wl_slice *head, struct wl_err *e)
{
    int rc = 0;
    while (rc == 0 && r->to - r->from < n && !r->eof && r->to + 1 < r->cap) rc = fill(r, e);
    *head = (struct wl_slice) { r->buf + r->from, r->to - r->from < n ? r->to - r->from : n };
    return rc;
}

int wl_lines_next(struct wl_lines *r, struct wl_slice *line, struct wl_err *e)
{
    size_t seen = 0;
    for (;;) {
        const char *s = r->buf + r->from;
        size_t have = r->to - r->from;
        const char *end = memchr(s + seen, '\n', have - seen);
        if (!end && !r->eof && have <= WL_LINE_MAX) {
            seen = have;
            int rc = fill(r, e);
            if (rc < 0) return rc;
            continue;
        }
        if (!end && have == 0) return 0;
        r->line++;
        size_t n = end ? (size_t)(end - s) : have;
        if (n > WL_LINE_MAX)
            return wl_fail(e, WL_EINVAL, "%s:%lld: the line is longer than %d bytes: not a text file of lines", r->path,
                           (long long)r->line, WL_LINE_MAX);
        r->whole = end;
        r->from += n + (end != NULL);
        if (n && s[n - 1] == '\r') n--;
        r->nul = memchr(s, 0, n);
        *line = (struct wl_slice) { s, n };
        return 1;
    }
}

int wl_lines_rest(struct wl_lines *r, size_t max, struct wl_slice *text, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text all = WL_TEXT(a);
    int rc = 0;
    for (;;) {
        wl_text_addn(&all, r->buf + r->from, r->to - r->from);
        r->from = r->to;
        if (r->eof || rc < 0) break;
        if (all.n > max) return wl_fail(e, WL_EINVAL, "%s: larger than %zu bytes", r->path, max);
        rc = fill(r, e);
    }
    r->line = r->line ? r->line : 1;
    *text = (struct wl_slice) { all.s, all.n };
    return rc;
}

/* ---- slices ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

struct wl_slice wl_slice_of(const char *text) { return (struct wl_slice) { text, strlen(text) }; }

struct wl_slice wl_slice_trim(struct wl_slice s)
{
    while (s.n && is_blank(s.s[0])) s.s++, s.n--;
    while (s.n && is_blank(s.s[s.n - 1])) s.n--;
    return s;
}

bool wl_slice_eq(struct wl_slice s, const char *text) { return strlen(text) == s.n && memcmp(s.s, text, s.n) == 0; }

bool wl_slice_starts(struct wl_slice s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && memcmp(s.s, prefix, n) == 0;
}

char *wl_slice_text(struct wl_slice s, struct wl_arena *a) { return wl_strndup(a, s.s, s.n); }

/* The field that begins at *p, which moves after its separator, or to NULL after the last one; false: an open quote. */
static bool next_field(const char **p, const char *end, char separator, struct wl_slice *out)
{
    const char *s = *p;
    while (s < end && is_blank(*s) && *s != separator) s++;
    if (s < end && *s == '"') {
        const char *from = ++s;
        while (s < end && (*s != '"' || (s + 1 < end && s[1] == '"'))) s += *s == '"' ? 2 : 1;
        if (s >= end) return false;
        *out = (struct wl_slice) { from, (size_t)(s - from) };
        s = memchr(s, separator, (size_t)(end - s));
    } else {
        const char *from = s;
        s = s < end ? memchr(s, separator, (size_t)(end - s)) : NULL;
        *out = wl_slice_trim((struct wl_slice) { from, (size_t)((s ? s : end) - from) });
    }
    *p = s ? s + 1 : NULL;
    return true;
}

int wl_slice_split(struct wl_slice line, char separator, struct wl_slice *v, int max)
{
    const char *p = line.s, *end = line.s + line.n;
    int n = 0;
    for (; p; n++) {
        struct wl_slice field;
        if (!next_field(&p, end, separator, &field)) return -1;
        if (n < max) v[n] = field;
    }
    return n;
}

int wl_slice_words(struct wl_slice line, struct wl_slice *v, int max)
{
    const char *p = line.s, *end = line.s + line.n;
    for (int n = 0;; n++) {
        while (p < end && is_blank(*p)) p++;
        if (p == end) return n;
        const char *from = p;
        while (p < end && !is_blank(*p)) p++;
        if (n < max) v[n] = (struct wl_slice) { from, (size_t)(p - from) };
    }
}

/* ---- numbers ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool wl_slice_uint(struct wl_slice s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.n == 0 || s.n > 20) return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.s[i]) || __builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.s[i] - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

/* Up to 2^53 and 10^22 both factors are exact, so that one division or product rounds once (Clinger 1990); else the C
 * library's conversion of a copy. */
static bool convert(struct wl_slice s, uint64_t digits, int exponent, bool exact, double *out)
{
    static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    enum { MOST = WL_COUNT(powers) - 1 };
    if (exact && digits <= (UINT64_C(1) << 53) && exponent >= -MOST && exponent <= MOST) {
        double v = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
        *out = s.s[0] == '-' ? -v : v;
        return true;
    }
    char copy[400];
    if (s.n >= sizeof copy) return false;
    memcpy(copy, s.s, s.n);
    copy[s.n] = '\0';
    return wl_str_to_real(copy, out) == 0;
}

/* The length of the number that begins the slice, 0: none; and its value. */
static size_t scan_real(struct wl_slice s, double *out)
{
    const char *p = s.s, *end = s.s + s.n;
    uint64_t digits = 0;
    int kept = 0, exponent = 0, seen = 0;
    if (p < end && (*p == '-' || *p == '+')) p++;
    for (bool point = false; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        seen++;
        if (digits || *p != '0') kept++;
        if (kept <= 18) digits = digits * 10 + (uint64_t)(*p - '0');
        exponent -= point;
    }
    if (seen == 0) return 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        bool negative = q < end && *q == '-';
        int more = 0;
        if (q < end && (*q == '-' || *q == '+')) q++;
        if (q < end && is_digit(*q)) {
            for (; q < end && is_digit(*q); q++) more = more < 10000 ? more * 10 + *q - '0' : more;
            exponent += negative ? -more : more;
            p = q;
        }
    }
    size_t n = (size_t)(p - s.s);
    return convert((struct wl_slice) { s.s, n }, digits, exponent, kept <= 18, out) ? n : 0;
}

bool wl_slice_real(struct wl_slice s, double *out) { return s.n && scan_real(s, out) == s.n; }

bool wl_slice_real_then(struct wl_slice s, double *out, struct wl_slice *rest)
{
    size_t n = scan_real(s, out);
    if (n == 0) return false;
    *rest = wl_slice_trim((struct wl_slice) { s.s + n, s.n - n });
    return true;
}
