/* Categories, cases and decompositions come from utf8proc, which has the Unicode of its release. */
#include "data/text/unicode.h"

#include <utf8proc.h>

enum { REPLACEMENT = 0xfffd, LINE_SEPARATOR = 0x2028, PARAGRAPH_SEPARATOR = 0x2029 };

/* The blocks of ideographs of the CJK scripts. The reference starts extension E at U+2B920, 256
 * characters late, and so do we. */
static bool is_ideograph(uint32_t c)
{
    static const uint32_t blocks[][2] = {
        { 0x3400, 0x4dbf },   { 0x4e00, 0x9fff },   { 0xf900, 0xfaff },   { 0x20000, 0x2a6df },
        { 0x2a700, 0x2b73f }, { 0x2b740, 0x2b81f }, { 0x2b920, 0x2ceaf }, { 0x2f800, 0x2fa1f },
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (c >= blocks[i][0] && c <= blocks[i][1]) return true;
    return false;
}

static bool is_space(uint32_t c, utf8proc_category_t category)
{
    return c == '\t' || c == '\n' || c == '\r' || c == LINE_SEPARATOR || c == PARAGRAPH_SEPARATOR ||
           category == UTF8PROC_CATEGORY_ZS;
}

/* Controls, formats (soft hyphens, joiners, marks of direction) and private use. Unassigned characters stay. */
static bool is_dropped(uint32_t c, utf8proc_category_t category)
{
    return c == 0 || c == REPLACEMENT || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_CO || category == UTF8PROC_CATEGORY_CS;
}

struct wl_unicode_folded wl_unicode_fold(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    struct wl_unicode_folded f = { .space = is_space(c, category) };
    if (f.space || is_dropped(c, category)) return f;
    f.ideograph = is_ideograph(c);
    utf8proc_int32_t parts[WL_UNICODE_FOLDED_MAX];
    int boundary = 0;
    utf8proc_ssize_t n =
        utf8proc_decompose_char((utf8proc_int32_t)c, parts, WL_UNICODE_FOLDED_MAX, UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 0; i < n && i < WL_UNICODE_FOLDED_MAX; i++)
        if (utf8proc_category(parts[i]) != UTF8PROC_CATEGORY_MN) f.c[f.n++] = (uint32_t)utf8proc_tolower(parts[i]);
    return f;
}

bool wl_unicode_is_punctuation(uint32_t c)
{
    if (c < 0x80)
        return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

int wl_unicode_combining_class(uint32_t c)
{
    return c < 0x80 ? 0 : (int)utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
}

uint32_t wl_utf8_next(const uint8_t **p, const uint8_t *end)
{
    utf8proc_int32_t c;
    utf8proc_ssize_t n = utf8proc_iterate(*p, end - *p, &c);
    *p += n > 0 ? n : 1;
    return n > 0 ? (uint32_t)c : REPLACEMENT;
}

size_t wl_utf8_put(char *to, uint32_t c)
{
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)c, (utf8proc_uint8_t *)to);
}
