#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct wl_text *t, size_t more)
{
    if (t->cap == 0) t->s = NULL; /* was the constant "" */
    t->s = wl_grow(t->arena, t->s, t->n, &t->cap, t->n + more + 1, 1);
}

void wl_text_addn(struct wl_text *t, const char *s, size_t n)
{
    reserve(t, n);
    if (n) memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = '\0';
}

void wl_text_add(struct wl_text *t, const char *s) { wl_text_addn(t, s, strlen(s)); }

void wl_text_addf(struct wl_text *t, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    const size_t room = t->cap - t->n;
    int n = vsnprintf(room ? t->s + t->n : NULL, room, fmt, again);
    va_end(again);
    WL_CHECK(n >= 0);
    if ((size_t)n >= room) {
        reserve(t, (size_t)n);
        vsnprintf(t->s + t->n, (size_t)n + 1, fmt, ap);
    }
    va_end(ap);
    t->n += (size_t)n;
}

void wl_text_clear(struct wl_text *t)
{
    t->n = 0;
    if (t->cap) t->s[0] = '\0'; /* without room it is the constant "" */
}

void wl_strs_add(struct wl_arena *a, struct wl_strs *list, const char *s)
{
    WL_GROW(a, list->v, list->n, list->cap);
    list->v[list->n++] = wl_strdup(a, s);
}

void wl_strs_addf(struct wl_arena *a, struct wl_strs *list, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    wl_strs_add(a, list, wl_strfv(a, fmt, ap));
    va_end(ap);
}

static char *strip_n(struct wl_arena *a, const char *s, size_t n)
{
    while (n && isspace((unsigned char)*s)) s++, n--;
    while (n && isspace((unsigned char)s[n - 1])) n--;
    return wl_strndup(a, s, n);
}

char *wl_str_strip(struct wl_arena *a, const char *s) { return strip_n(a, s, strlen(s)); }

struct wl_strs wl_str_split(struct wl_arena *a, const char *s, char sep)
{
    struct wl_strs out = { 0 };
    if (!*wl_str_strip(a, s)) return out;
    for (;;) {
        const char *end = strchr(s, sep);
        size_t n = end ? (size_t)(end - s) : strlen(s);
        WL_GROW(a, out.v, out.n, out.cap);
        out.v[out.n++] = strip_n(a, s, n);
        if (!end) return out;
        s = end + 1;
    }
}

const char *wl_str_last_line(struct wl_arena *a, const char *s)
{
    const char *found = NULL;
    size_t length = 0;
    while (*s) {
        const size_t n = strcspn(s, "\r\n"), blank = strspn(s, " \t\v\f");
        if (blank < n) found = s, length = n;
        s += n + (s[n] != '\0');
    }
    return found ? strip_n(a, found, length) : NULL;
}

bool wl_str_eq(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

bool wl_str_starts(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

int wl_str_to_int(const char *s, int64_t *out)
{
    if (!*s || isspace((unsigned char)*s)) return -1;
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (errno || *end) return -1;
    *out = v;
    return 0;
}

/* The usual case, faster: an optional minus, digits and at most one point. Both the digits as an integer below 2^53 and
 * the power of ten are exact, so that their quotient is rounded as strtod does. Source: Clinger 1990. */
static bool plain_decimal(const char *s, double *out)
{
    static const double powers[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    const bool negative = *s == '-';
    uint64_t digits = 0;
    size_t n = 0, after = 0;
    bool point = false;
    for (s += negative; *s; s++) {
        if (*s == '.' && !point) {
            point = true;
            continue;
        }
        if (*s < '0' || *s > '9' || ++n >= WL_COUNT(powers)) return false;
        digits = 10 * digits + (uint64_t)(*s - '0');
        after += point;
    }
    if (!n) return false;
    *out = (negative ? -1. : 1.) * ((double)digits / powers[after]);
    return true;
}

/* strtod follows the locale; nothing here calls setlocale, so the decimal point is a point. */
int wl_str_to_real(const char *s, double *out)
{
    if (plain_decimal(s, out)) return 0;
    if (!*s || isspace((unsigned char)*s)) return -1;
    char *end;
    double v = strtod(s, &end);
    if (*end || !isfinite(v) || strpbrk(s, "xX")) return -1; /* strtod takes hexadecimal */
    *out = v;
    return 0;
}

int wl_str_to_duration(const char *s, double *seconds)
{
    static const struct {
        const char *unit;
        double s;
    } units[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 }, { "m", 60 }, { "min", 60 }, { "h", 3600 } };
    if (!*s || isspace((unsigned char)*s)) return -1;
    char *end;
    double v = strtod(s, &end);
    if (end == s || !isfinite(v) || v < 0 || strpbrk(s, "xX")) return -1;
    for (size_t i = 0; i < WL_COUNT(units); i++)
        if (strcmp(end, units[i].unit) == 0) {
            *seconds = v * units[i].s;
            return isfinite(*seconds) ? 0 : -1;
        }
    return -1;
}

/* The only name that begins with the word; NULL: none or several. */
static const char *completed(const char *word, const char *const *names, size_t n)
{
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!wl_str_starts(names[i], word)) continue;
        if (found) return NULL;
        found = names[i];
    }
    return found;
}

/* Damerau-Levenshtein distance (optimal string alignment); words longer than 63 bytes never match. */
static size_t distance(const char *a, const char *b)
{
    enum { MAX = 64 };
    size_t n = strlen(a), m = strlen(b), d[3][MAX];
    if (n >= MAX || m >= MAX) return SIZE_MAX;
    for (size_t j = 0; j <= m; j++) d[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < best) best = up[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            now[j] = best;
        }
    }
    return d[n % 3][m];
}

const char *wl_str_closest(const char *word, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t best_d = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, names[i]);
        if (d < best_d) best_d = d, best = names[i];
    }
    size_t len = strlen(word);
    if (len >= 3 && completed(word, names, n)) return completed(word, names, n);
    return best && best_d <= (len < 6 ? 2 : len / 3) && best_d < len ? best : NULL;
}

char *wl_human(struct wl_arena *a, double v, const char *unit)
{
    static const char *const prefix[] = { "n", "µ", "m", "", "k", "M", "G", "T", "P" };
    if (!isfinite(v)) return wl_strdup(a, "-");
    int k = 3;
    double x = fabs(v);
    /* 999.5 would print as 1e+03 with three digits: the next prefix starts there */
    while (x >= 999.5 && k < 8) x /= 1000, k++;
    while (x > 0 && x < 0.9995 && k > 0) x *= 1000, k--;
    if (x < 0.005) v = 0, k = 3; /* prints as 0.00: the rounding of a difference: not -0.00 nJ */
    int decimals = x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2;
    if (v == 0) decimals = 0;
    return wl_strf(a, "%s%.*f %s%s", v < 0 ? "-" : "", decimals, x, prefix[k], unit);
}

char *wl_human_time(struct wl_arena *a, double s)
{
    if (!isfinite(s)) return wl_strdup(a, "-");
    if (s < 99.5) return wl_human(a, s, "s");
    const double EXACT_S = 0x1p53; /* whole seconds are exact below */
    if (s >= EXACT_S) return wl_strf(a, "%.3gh", s / 3600);
    const int64_t n = llround(s);
    if (n < 3600) return wl_strf(a, "%dm%02ds", (int)(n / 60), (int)(n % 60));
    return wl_strf(a, "%lldh%02dm", (long long)(n / 3600), (int)(n % 3600 / 60));
}

char *wl_human_bytes(struct wl_arena *a, double bytes) { return wl_human(a, bytes, "B"); }
