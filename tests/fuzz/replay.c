/* replay COUNT SEED_FILE...: runs a fuzz target on each seed file, on each of its prefixes, and on COUNT mutations of
 * it, the same ones each time. */
#include "fuzz.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEED = 1 << 20, MAX_EDITS = 8 };

/* xorshift64*: the mutations need to repeat, not to be good. */
static uint64_t next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

/* The digits after a place, replaced by a number at which arithmetic ends. */
static size_t edit_number(uint8_t *data, size_t n, size_t at, uint64_t *state)
{
    static const char *const numbers[] = {
        "0", "-1", "7", "2147483648", "4611686018427387904", "9223372036854775807", "1e308"
    };
    const char *number = numbers[next(state) % WL_COUNT(numbers)];
    while (at < n && !(data[at] >= '0' && data[at] <= '9')) at++;
    size_t end = at, len = strlen(number);
    while (end < n && data[end] >= '0' && data[end] <= '9') end++;
    if (at == n) return n;
    memmove(data + at + len, data + end, n - end);
    memcpy(data + at, number, len);
    return n - (end - at) + len;
}

/* One edit in place: another byte, a byte that means something to parsers, another number, a range repeated, a range
 * dropped. */
static size_t edit(uint8_t *data, size_t n, uint64_t *state)
{
    static const char special[] = "\n\r\t\",;=[]{}#\\ -+.eE0123456789\0\xff\xc3";
    size_t at = n ? next(state) % n : 0, len = n > at ? next(state) % (n - at) % 32 : 0;
    if (n == 0) return 0;
    switch (next(state) % 5) {
    case 0: data[at] = (uint8_t)next(state); return n;
    case 1: data[at] = (uint8_t)special[next(state) % (sizeof special - 1)]; return n;
    case 2: return edit_number(data, n, at, state);
    case 3: memmove(data + at + len, data + at, n - at); return n + len;
    default: memmove(data + at, data + at + len, n - at - len); return n - len;
    }
}

static void run(const uint8_t *data, size_t n)
{
    uint8_t *exact = malloc(n ? n : 1); /* so that AddressSanitizer sees the end */
    WL_CHECK(exact);
    memcpy(exact, data, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

static void run_seed(const char *text, size_t n, long count, uint64_t *state)
{
    uint8_t *data = malloc(n + 32 * MAX_EDITS + 1);
    WL_CHECK(data);
    for (size_t cut = 0; cut <= n && cut < 4096; cut++) run((const uint8_t *)text, cut);
    for (long i = 0; i < count; i++) {
        size_t m = n;
        memcpy(data, text, n);
        for (uint64_t edits = 1 + next(state) % MAX_EDITS; edits--;) m = edit(data, m, state);
        run(data, m);
    }
    free(data);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s COUNT SEED_FILE...\n", argv[0]);
        return 2;
    }
    struct wl_arena *a = wl_arena_new(NULL);
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (int i = 2; i < argc; i++) {
        struct wl_err e;
        char *text;
        size_t n;
        if (wl_file_read(argv[i], MAX_SEED, &text, &n, a, &e)) {
            fprintf(stderr, "%s\n", e.msg);
            return 1;
        }
        run_seed(text, n, atol(argv[1]), &state);
    }
    wl_arena_free(a);
    return 0;
}
