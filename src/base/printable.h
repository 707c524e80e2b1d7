/* Foreign text (stores, command lines, logs of programs, file names) made safe for a terminal.
 *
 * A terminal interprets its input: ESC sequences set its title and the clipboard, C1 controls do the same in one
 * character, bidirectional controls reorder text, and a line end inside a name looks like a line of ours. Each such
 * character is printed as a visible escape instead:
 *
 *   \n \t \r \x1b \x7f      C0 controls and DEL
 *   \x9b                    a byte that is not part of a UTF-8 character (raw C1 controls among them)
 *   \u{9b} \u{202e}         C1 controls, bidirectional controls (U+061C, U+200E-F, U+202A-E, U+2066-9), line and
 *                           paragraph separators (U+2028-9), zero-width characters (U+00AD, U+034F, U+180E, U+200B-D,
 *                           U+2060-5, U+206A-F, U+FEFF, U+FFF0-B, fillers of Hangul and the like), tags and further
 *                           variation selectors (U+E0000-FFF)
 *
 * Not lossless: a backslash itself is not escaped. Idempotent: escaping twice gives the same text.
 */
#ifndef WL_BASE_PRINTABLE_H
#define WL_BASE_PRINTABLE_H

#include "base/arena.h"

enum wl_printable_mode {
    WL_PRINTABLE_LINE = 0,
    WL_PRINTABLE_TEXT = 1, /* \n and \t stay: our own text of several lines */
};

enum { WL_ESCAPE_MAX = 12 }; /* bytes of the longest escape, with its NUL */

/* One character of s, of which n >= 1 bytes may be read: returns its length in bytes (at least 1) and sets `escape` to
 * its escape; "": the character is printable. A character cut by n is escaped byte by byte. */
size_t wl_printable_next(const char *s, size_t n, enum wl_printable_mode mode, char escape[WL_ESCAPE_MAX]);

/* The whole text; `s` itself if nothing has to be escaped. */
const char *wl_printable(struct wl_arena *a, const char *s, enum wl_printable_mode mode);

/* True if the character may be sent to a terminal. */
bool wl_is_printable(uint32_t code_point);

#endif
