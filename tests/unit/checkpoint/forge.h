/* Checkpoints whose checksum fits, with other values in the header. */
#ifndef WL_TESTS_CHECKPOINT_FORGE_H
#define WL_TESTS_CHECKPOINT_FORGE_H

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { FORGE_PREFIX = 12 /* bytes before the header */ };

/* `text` with its value of "key" replaced, at the same length: the header ends with blanks. */
static inline void forge_value(char *text, size_t n, const char *key, const char *value)
{
    char *at = strstr(text, key);
    if (!at) fail_msg("%s is not in %s", key, text);
    at += strlen(key);
    at += strspn(at, ": ");
    const size_t old = strcspn(at, ",}"), new = strlen(value);
    const char *end = text + n;
    memmove(at + new, at + old, (size_t)(end - at) - (old > new ? old : new));
    if (new < old) memset(text + n - (old - new), ' ', old - new);
    memcpy(at, value, new);
}

/* Writes the file with another value and a checksum that fits. */
static inline void forge(const char *path, const char *from, const char *key, const char *value, struct wl_arena *a)
{
    char *raw;
    size_t n;
    uint32_t head, crc;
    struct wl_err e;
    assert_int_equal(wl_file_read(from, 1 << 24, &raw, &n, a, &e), 0);
    memcpy(&head, raw + 8, sizeof head);
    char *text = wl_strndup(a, raw + FORGE_PREFIX, head);
    forge_value(text, head, key, value);
    memcpy(raw + FORGE_PREFIX, text, head);
    crc = wl_crc32c(0, raw, n - sizeof crc);
    memcpy(raw + n - sizeof crc, &crc, sizeof crc);
    assert_int_equal(wl_file_write(path, raw, n, &e), 0);
}

#endif
