#include "nn/host/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20, GAP = 64 << 10 }; /* GAP: a multiple of every page size */

static size_t whole_pages(size_t bytes) { return ((bytes ? bytes : 1) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; }

/* A gap that is never touched follows, so that neighbouring mappings stay apart in smaps. */
int wl_host_map(size_t bytes, const char *what, void **out, struct wl_err *e)
{
    const size_t n = whole_pages(bytes), room = n + 2 * HUGE_PAGE; /* room to start on a huge page */
    char *at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return wl_fail(e, WL_ENOMEM, "%s: no memory for %zu bytes", what, bytes);
    const size_t lead = (HUGE_PAGE - (uintptr_t)at % HUGE_PAGE) % HUGE_PAGE;
    if (lead) munmap(at, lead);
    munmap(at + lead + n + GAP, room - lead - n - GAP);
    madvise(at + lead, n, MADV_HUGEPAGE); /* only an advice: refused means small pages */
    *out = at + lead;
    return 0;
}

void wl_host_unmap(void *at, size_t bytes) { munmap(at, whole_pages(bytes) + GAP); }

struct pages {
    void *at;
    size_t bytes;
};

static void release(void *pages)
{
    struct pages *p = pages;
    wl_host_unmap(p->at, p->bytes);
}

void *wl_host_pages(struct wl_arena *a, size_t bytes, const char *what, struct wl_err *e)
{
    void *at;
    if (wl_host_map(bytes, what, &at, e)) return NULL;
    struct pages *p = wl_new(a, struct pages);
    *p = (struct pages) { at, bytes };
    wl_defer(a, release, p);
    return at;
}

/* The kB of a line of smaps that counts huge pages, private or shared; 0 for other lines. */
static size_t huge_kb(const char *line)
{
    static const char *const keys[] = { "AnonHugePages:", "ShmemPmdMapped:" };
    for (size_t i = 0; i < WL_COUNT(keys); i++)
        if (!strncmp(line, keys[i], strlen(keys[i]))) return strtoull(line + strlen(keys[i]), NULL, 10);
    return 0;
}

size_t wl_host_huge_bytes(const void *at, size_t n)
{
    enum { MAX_SMAPS = 64 << 20 };
    struct wl_arena *scratch = wl_arena_new(NULL);
    const uintptr_t from = (uintptr_t)at, to = from + n;
    size_t total = 0, inside = 0; /* inside: how much of the mapping that the lines are about */
    char *text = NULL;
    if (wl_file_read("/proc/self/smaps", MAX_SMAPS, &text, NULL, scratch, &(struct wl_err) { 0 })) text = NULL;
    for (char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        uintptr_t start, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2) {
            uintptr_t low = start > from ? start : from, high = end < to ? end : to;
            inside = high > low ? high - low : 0;
        } else {
            size_t huge = huge_kb(line) << 10;
            total += huge < inside ? huge : inside;
        }
    }
    wl_arena_free(scratch);
    return total;
}
