/* Which GPUs a job may use, as an environment variable names them. */
#include "power/visible_devices.h"

#include <stdlib.h>
#include <string.h>

/* The GPU that a word of the list names, or -1. */
static ptrdiff_t find_visible(const char *word, size_t length, char *const *uuids, size_t n, bool *by_index)
{
    char *end;
    long index = strtol(word, &end, 10);
    if (length > 0 && end == word + length) {
        *by_index = true;
        return index >= 0 && (size_t)index < n ? index : -1;
    }
    ptrdiff_t found = -1;
    for (size_t i = 0; i < n; i++) {
        if (length < strlen("GPU-") || strncmp(uuids[i], word, length) != 0) continue;
        if (found >= 0) return -1;
        found = (ptrdiff_t)i;
    }
    return found;
}

size_t wl_visible_devices(const char *words, char *const *uuids, size_t n, bool *keep, bool *by_index)
{
    size_t kept = 0;
    *by_index = false;
    for (size_t i = 0; i < n; i++) keep[i] = words == NULL;
    if (!words) return n;
    for (const char *at = words;;) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ","), bare = length;
        while (bare > 0 && at[bare - 1] == ' ') bare--;
        ptrdiff_t i = find_visible(at, bare, uuids, n, by_index);
        if (i < 0) return kept;
        kept += keep[i] ? 0 : 1;
        keep[i] = true;
        if (at[length] == '\0') return kept;
        at += length + 1;
    }
}
