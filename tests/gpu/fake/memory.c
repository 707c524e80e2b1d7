/* Memory. Of the device: PROT_NONE unless work runs, so that a host that touches it dies by SIGSEGV; NANs at first;
 * between pages that nobody may touch, its end at the upper one. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ALIGN = 256, MAX_PIECES = 4096 };

struct piece {
    char *at, *map;
    size_t n, mapped;
};

static struct pieces {
    struct piece of[MAX_PIECES];
    size_t n;
} device, host;

static size_t used(void)
{
    size_t n = 0;
    for (size_t i = 0; i < device.n; i++) n += device.of[i].n;
    return n;
}

static size_t total(void) { return (size_t)fake_key("memory_mb", 4096) << 20; }

static size_t available(void)
{
    const size_t others = (size_t)fake_key("used_mb", 0) << 20, taken = used() + others;
    return taken < total() ? total() - taken : 0;
}

static char *inner(const struct piece *p) { return p->map + PAGE; }

void fake_open_memory(bool open)
{
    for (size_t i = 0; i < device.n; i++)
        mprotect(inner(&device.of[i]), device.of[i].mapped - 2 * PAGE, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static bool within(const struct pieces *p, const void *at, size_t n)
{
    for (size_t i = 0; i < p->n; i++) {
        const char *from = p->of[i].at, *end = from + p->of[i].n;
        if ((const char *)at >= from && (const char *)at + n <= end) return true;
    }
    return false;
}

bool fake_on_device(const void *at, size_t n) { return within(&device, at, n); }
bool fake_page_locked(const void *at, size_t n) { return within(&host, at, n); }

/* FNV-1a. */
uint64_t fake_hash(const void *at, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const unsigned char *)at)[i]) * 0x100000001b3u;
    return hash | 1;
}

/* n bytes that end at a page nobody may touch; filled with NANs. */
static CUresult take(struct pieces *p, size_t n, void **out)
{
    const size_t room = (n + ALIGN - 1) / ALIGN * ALIGN, pages = (room + PAGE - 1) / PAGE * PAGE;
    if (p->n == MAX_PIECES) return fake_refuse(CUDA_ERROR_OUT_OF_MEMORY, "over %d allocations", MAX_PIECES);
    char *map = mmap(NULL, pages + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    mprotect(map + PAGE, pages, PROT_READ | PROT_WRITE);
    memset(map + PAGE, 0xff, pages);
    *out = map + PAGE + (pages - room);
    p->of[p->n++] = (struct piece) { .at = *out, .map = map, .n = n, .mapped = pages + 2 * PAGE };
    return CUDA_SUCCESS;
}

static CUresult give_back(struct pieces *p, const void *at)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->of[i].at != at) continue;
        munmap(p->of[i].map, p->of[i].mapped);
        p->of[i] = p->of[--p->n];
        return CUDA_SUCCESS;
    }
    return fake_refuse(CUDA_ERROR_INVALID_VALUE, "memory at %p was not allocated", at);
}

static CUresult allocate(struct pieces *p, size_t n, void **out)
{
    const CUresult rc = fake_usable();
    if (rc) return rc;
    if (fake_capturing()) return fake_invalidate_captures("an allocation");
    if (!n) return fake_refuse(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
    fake_counts.allocations++;
    return take(p, n, out);
}

FAKE_API CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t n)
{
    void *at = NULL;
    if (n > available()) return fake_usable() ? fake_usable() : CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult rc = allocate(&device, n, &at);
    if (rc) return rc;
    mprotect(inner(&device.of[device.n - 1]), device.of[device.n - 1].mapped - 2 * PAGE, PROT_NONE);
    *out = (CUdeviceptr)(uintptr_t)at;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemHostAlloc(void **out, size_t n, unsigned flags)
{
    (void)flags;
    return allocate(&host, n, out);
}

static CUresult end_of(struct pieces *p, const void *at)
{
    if (fake_capturing()) return fake_invalidate_captures("memory that is given back");
    return give_back(p, at);
}

FAKE_API CUresult cuMemFree_v2(CUdeviceptr at) { return end_of(&device, (void *)(uintptr_t)at); }
FAKE_API CUresult cuMemFreeHost(void *at) { return end_of(&host, at); }

FAKE_API CUresult cuMemGetInfo_v2(size_t *out_free, size_t *out_total)
{
    *out_free = available();
    *out_total = total();
    return fake_usable();
}

FAKE_API CUresult cuDeviceTotalMem_v2(size_t *out, CUdevice d)
{
    (void)d;
    *out = total();
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemHostRegister_v2(void *at, size_t n, unsigned flags)
{
    (void)flags;
    if (host.n == MAX_PIECES) return CUDA_ERROR_OUT_OF_MEMORY;
    host.of[host.n++] = (struct piece) { .at = at, .n = n };
    return fake_usable();
}

FAKE_API CUresult cuMemHostUnregister(void *at)
{
    for (size_t i = 0; i < host.n; i++) {
        if (host.of[i].at != at || host.of[i].map) continue;
        host.of[i] = host.of[--host.n];
        return CUDA_SUCCESS;
    }
    return fake_refuse(CUDA_ERROR_INVALID_VALUE, "memory at %p was not registered", at);
}
