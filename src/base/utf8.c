#include "base/utf8.h"

#include "base/str.h"

#include <string.h>
#include <utf8proc.h>

size_t wl_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) return s[0] != 0;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0; /* also stops at the final NUL */
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
    if (s[0] == 0xed && s[1] > 0x9f) return 0;
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0;
    return n;
}

uint32_t wl_utf8_decode(const char *s, size_t length)
{
    static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t c = (unsigned char)s[0] & mask[length];
    for (size_t i = 1; i < length; i++) c = c << 6 | ((unsigned char)s[i] & 0x3f);
    return c;
}

size_t wl_utf8_columns(const char *s, size_t n)
{
    size_t sum = 0;
    while (n) {
        char character[5] = { 0 }; /* ends where n ends */
        memcpy(character, s, n < 4 ? n : 4);
        const size_t length = wl_utf8_length(character), step = length ? length : 1;
        sum += length > 1 ? (size_t)utf8proc_charwidth((utf8proc_int32_t)wl_utf8_decode(s, length)) : 1;
        s += step, n -= step;
    }
    return sum;
}

/* The first invalid byte, or the end of the text. */
static const char *end_of_utf8(const char *s)
{
    for (size_t n; (n = wl_utf8_length(s)) > 0;) s += n;
    return s;
}

const char *wl_utf8_sanitize(struct wl_arena *a, const char *s)
{
    const char *bad = end_of_utf8(s);
    if (!*bad) return s;
    struct wl_text t = WL_TEXT(a);
    for (; *bad; s = bad + 1, bad = end_of_utf8(s)) {
        wl_text_addn(&t, s, (size_t)(bad - s));
        wl_text_addf(&t, "\\x%02x", (unsigned char)*bad);
    }
    wl_text_add(&t, s);
    return t.s;
}
