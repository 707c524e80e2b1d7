#include "base/printable.h"

#include "base/str.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* Characters that move, hide or reorder their neighbours, or have zero width (Unicode 15: general categories Cc, Zl and
 * Zp; Cf except the visible signs before Arabic, Syriac and Kaithi numbers; Default_Ignorable_Code_Point), in order.
 * Variation selectors in common use stay: those of Mongolian and of emoji. */
static const struct range {
    uint32_t first, last;
} unsafe[] = {
    { 0x00, 0x1f },       { 0x7f, 0x9f },       { 0xad, 0xad },       { 0x34f, 0x34f },     { 0x61c, 0x61c },
    { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180e, 0x180e },   { 0x200b, 0x200f },   { 0x2028, 0x202e },
    { 0x2060, 0x206f },   { 0x3164, 0x3164 },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
    { 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

bool wl_is_printable(uint32_t code_point)
{
    for (size_t i = 0; i < WL_COUNT(unsafe) && code_point >= unsafe[i].first; i++)
        if (code_point <= unsafe[i].last) return false;
    return true;
}

static void escape_byte(unsigned char c, char escape[WL_ESCAPE_MAX])
{
    const char letter = c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : 0;
    if (letter)
        snprintf(escape, WL_ESCAPE_MAX, "\\%c", letter);
    else
        snprintf(escape, WL_ESCAPE_MAX, "\\x%02x", c);
}

/* Printable ASCII. */
static bool plain(char c) { return (unsigned char)c >= ' ' && (unsigned char)c < 0x7f; }

size_t wl_printable_next(const char *s, size_t n, enum wl_printable_mode mode, char escape[WL_ESCAPE_MAX])
{
    const unsigned char first = (unsigned char)*s;
    escape[0] = '\0';
    if (first < 0x80) {
        if (!plain(*s) && !(mode == WL_PRINTABLE_TEXT && (first == '\n' || first == '\t'))) escape_byte(first, escape);
        return 1;
    }
    char character[5] = { 0 }; /* ends where n ends */
    memcpy(character, s, n < 4 ? n : 4);
    const size_t length = wl_utf8_length(character);
    if (length == 0) {
        escape_byte(first, escape);
        return 1;
    }
    const uint32_t c = wl_utf8_decode(s, length);
    if (!wl_is_printable(c)) snprintf(escape, WL_ESCAPE_MAX, "\\u{%x}", (unsigned)c);
    return length;
}

static bool all_plain(const char *s)
{
    while (plain(*s)) s++;
    return *s == '\0';
}

const char *wl_printable(struct wl_arena *a, const char *s, enum wl_printable_mode mode)
{
    if (all_plain(s)) return s;
    struct wl_text t = WL_TEXT(a);
    char escape[WL_ESCAPE_MAX];
    for (size_t left = strlen(s), n; left; s += n, left -= n) {
        n = wl_printable_next(s, left, mode, escape);
        wl_text_addn(&t, *escape ? escape : s, *escape ? strlen(escape) : n);
    }
    return t.s;
}
