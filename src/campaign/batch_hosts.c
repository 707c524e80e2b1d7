/* Lists of nodes as Slurm writes them: "n[1-4,07],login". */
#include "campaign/batch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 18 };

/* Is the text of n digits in "1-4" or "07"? Where the list pads numbers with zeros, it has to be as wide. */
static bool in_range(const char *digits, size_t n, const char *range)
{
    const size_t width = strspn(range, "0123456789");
    if (width == 0 || width > DIGITS_MAX || n > DIGITS_MAX) return false;
    const long long lo = atoll(range), hi = range[width] == '-' ? atoll(range + width + 1) : lo, at = atoll(digits);
    const bool padded = width > 1 && *range == '0', leading = n > 1 && *digits == '0';
    return at >= lo && at <= hi && (padded ? n == width : !leading);
}

/* One element, "n[1-4,7]-ib"; brackets in more than one dimension are not read. */
static bool element_has(const char *element, size_t length, const char *name)
{
    const char *open = memchr(element, '[', length), *close = memchr(element, ']', length);
    if (!open || !close || close < open) return strlen(name) == length && memcmp(element, name, length) == 0;
    const size_t before = (size_t)(open - element), after = (size_t)(element + length - close - 1);
    if (strlen(name) <= before + after || memcmp(element, name, before) != 0) return false;
    const char *digits = name + before;
    const size_t n = strlen(digits) - after;
    if (strspn(digits, "0123456789") < n || memcmp(digits + n, close + 1, after) != 0) return false;
    for (const char *range = open + 1; range < close; range += strcspn(range, ",]") + 1)
        if (in_range(digits, n, range)) return true;
    return false;
}

bool wl_batch_hosts_have(const char *list, const char *name)
{
    for (const char *at = list; *at;) {
        size_t n = 0;
        for (bool inside = false; at[n] && (inside || at[n] != ','); n++) {
            if (at[n] == '[') inside = true;
            if (at[n] == ']') inside = false;
        }
        if (element_has(at, n, name)) return true;
        at += n + (at[n] == ',');
    }
    return false;
}
