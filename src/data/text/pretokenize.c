/* The steps of the reference (clean, space ideographs, lower case, strip accents, split) in one pass: each character is
 * dropped, separates words, is a word by itself, or is added to the word. ASCII uses a table, the rest goes through
 * wl_unicode_fold. */
#include "data/text/pretokenize.h"

#include <string.h>

const char *const wl_special_token_names[WL_SPECIAL_TOKENS] = {
    [WL_TOKEN_PAD] = "[PAD]", [WL_TOKEN_UNK] = "[UNK]",   [WL_TOKEN_CLS] = "[CLS]",
    [WL_TOKEN_SEP] = "[SEP]", [WL_TOKEN_MASK] = "[MASK]",
};

/* ASCII: 0 is dropped, a space separates words, '!' is a word by itself, letters and digits are added in lower case. */
static const char ascii[] = "\0\0\0\0\0\0\0\0\0  \0\0 \0\0"    /* 00 */
                            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" /* 10 */
                            " !!!!!!!!!!!!!!!"                 /* 20 */
                            "0123456789!!!!!!"                 /* 30 */
                            "!abcdefghijklmno"                 /* 40 */
                            "pqrstuvwxyz!!!!!"                 /* 50 */
                            "!abcdefghijklmno"                 /* 60 */
                            "pqrstuvwxyz!!!!";                 /* 70, and the final 0 */
_Static_assert(sizeof ascii == 128, "one entry per ASCII character");

/* Puts combining marks into canonical order: by ascending class. */
static void add(struct wl_pretokenizer *w, uint32_t c)
{
    size_t at = w->n++;
    if (at >= WL_WORD_MAX) return;
    int class = wl_unicode_combining_class(c);
    for (; class && at > 0 && wl_unicode_combining_class(w->c[at - 1]) > class; at--) w->c[at] = w->c[at - 1];
    w->c[at] = c;
}

/* Special tokens are matched literally, before any cleaning. */
static int special_at(const struct wl_pretokenizer *w)
{
    for (int i = 0; i < WL_SPECIAL_TOKENS; i++) {
        size_t n = strlen(wl_special_token_names[i]);
        if ((size_t)(w->end - w->p) >= n && memcmp(w->p, wl_special_token_names[i], n) == 0) return i;
    }
    return -1;
}

/* Adds the parts of a folded character; true: the word ends here. */
static bool take_pending(struct wl_pretokenizer *w)
{
    while (w->pending_used < w->pending.n) {
        uint32_t c = w->pending.c[w->pending_used];
        bool alone = w->pending.ideograph || wl_unicode_is_punctuation(c);
        if (alone && w->n) return true;
        w->pending_used++;
        add(w, c);
        if (alone) return true;
    }
    return false;
}

/* One character that is not ASCII; true: the word ends here. */
static bool take_non_ascii(struct wl_pretokenizer *w)
{
    w->pending = wl_unicode_fold(wl_utf8_next(&w->p, w->end));
    w->pending_used = 0;
    return w->pending.space ? w->n > 0 : take_pending(w);
}

/* ASCII punctuation; a word before it is returned first. */
static void take_punctuation(struct wl_pretokenizer *w)
{
    if (w->n) return;
    w->special = *w->p == '[' ? special_at(w) : -1;
    if (w->special >= 0)
        w->p += strlen(wl_special_token_names[w->special]);
    else
        w->c[w->n++] = *w->p++;
}

bool wl_pretokenizer_next(struct wl_pretokenizer *w)
{
    w->n = 0;
    w->special = -1;
    if (take_pending(w)) return true;
    while (w->p < w->end) {
        if (*w->p >= 0x80) {
            if (take_non_ascii(w)) return true;
            continue;
        }
        char kind = ascii[*w->p];
        if (kind == '!') {
            take_punctuation(w);
            return true;
        }
        w->p++;
        if (kind == ' ' && w->n) return true;
        if (kind > ' ') {
            if (w->n < WL_WORD_MAX) w->c[w->n] = (uint8_t)kind;
            w->n++;
        }
    }
    return w->n > 0;
}
