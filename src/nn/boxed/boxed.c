/* A back-end for tests, which proves the seam: the rules of nn/ref over memory that nobody may read or write outside of
 * the callbacks of its device. A plan that touches it by itself dies by SIGSEGV. Inputs and outputs are staged, and
 * gradients reduced through copies, as on a GPU; the bits are those of ref. */
#include "nn/host/host.h"
#include "nn/ref/backend/backend.h"

#include <sys/mman.h>

enum { MAX_BOXES = 4 };

struct boxed {
    struct wl_host host;
    struct box {
        void *at;
        size_t bytes;
    } boxes[MAX_BOXES];
    int n_boxes;
};

static void protect(const struct boxed *b, int protection)
{
    for (int i = 0; i < b->n_boxes; i++) WL_CHECK(mprotect(b->boxes[i].at, b->boxes[i].bytes, protection) == 0);
}

static void unlock(const struct boxed *b) { protect(b, PROT_READ | PROT_WRITE); }

static int locked(const struct boxed *b, int rc)
{
    protect(b, PROT_NONE);
    return rc;
}

static int memory(void *device, size_t bytes, const char *what, void **at, struct wl_err *e)
{
    struct boxed *b = device;
    WL_CHECK(b->n_boxes < MAX_BOXES);
    int rc = wl_host_map(bytes, what, at, e);
    if (rc) return rc;
    b->boxes[b->n_boxes++] = (struct box) { *at, bytes };
    return locked(b, 0);
}

static int host_memory(void *device, size_t bytes, const char *what, void **at, struct wl_err *e)
{
    (void)device;
    return wl_host_map(bytes, what, at, e);
}

static void release(void *device, void *at, size_t bytes)
{
    struct boxed *b = device;
    for (int i = 0; i < b->n_boxes; i++)
        if (b->boxes[i].at == at) b->boxes[i] = b->boxes[--b->n_boxes];
    wl_host_unmap(at, bytes);
}

static size_t huge_bytes(void *device, const void *at, size_t bytes)
{
    (void)device;
    return wl_host_huge_bytes(at, bytes);
}

static int put(void *device, void *to, const void *from, size_t bytes, struct wl_err *e)
{
    unlock(device);
    return locked(device, wl_host_device.put(device, to, from, bytes, e));
}

static int get(void *device, void *to, const void *from, size_t bytes, struct wl_err *e)
{
    unlock(device);
    return locked(device, wl_host_device.get(device, to, from, bytes, e));
}

static int begin(void *device, const struct wl_run *r, const struct wl_device_io *io, const struct wl_counts *counts,
                 struct wl_err *e)
{
    unlock(device);
    return locked(device, wl_host_device.begin(device, r, io, counts, e));
}

static int run(void *device, enum wl_variant v, wl_enqueue_fn *all, void *of, struct wl_err *e)
{
    return wl_host_device.run(device, v, all, of, e);
}

static int end(void *device, const struct wl_run *r, const struct wl_device_io *io, struct wl_counts *counts,
               struct wl_err *e)
{
    unlock(device);
    return locked(device, wl_host_device.end(device, r, io, counts, e));
}

static int step(void *device, const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    unlock(device);
    return locked(device, wl_host_device.step(device, s, r, e));
}

static int add(void *device, float *to, const float *part, size_t n, struct wl_err *e)
{
    unlock(device);
    return locked(device, wl_host_device.add(device, to, part, n, e));
}

static int round_to_bf16(void *device, float *v, size_t n, struct wl_err *e)
{
    unlock(device);
    return locked(device, wl_host_device.round_to_bf16(device, v, n, e));
}

static void lap(void *device, double *seconds) { wl_host_device.lap(device, seconds); }

static int sum_moments(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    return wl_host_device.sum_moments(s, r, e); /* a step: `step` has unlocked */
}

static int update(void *device, const struct wl_optim_ops *kind, const struct wl_optim *o,
                  const struct wl_optim_span *s, double lr, struct wl_err *e)
{
    unlock(device);
    return locked(device, wl_host_device.update(device, kind, o, s, lr, e));
}

static int update_statistics(void *device, const struct wl_statistic *s, size_t n, int micro_batches, struct wl_err *e)
{
    unlock(device);
    return locked(device, wl_host_device.update_statistics(device, s, n, micro_batches, e));
}

static int threads(void *device) { return wl_host_device.threads(device); }

static const char *machine(void *device, const char *library, struct wl_arena *a)
{
    return wl_host_device.machine(device, library, a);
}

static const struct wl_device_ops device = {
    .align = 256, /* a GPU's */
    .host_addressable = false,
    .memory = memory,
    .host_memory = host_memory,
    .release = release,
    .huge_bytes = huge_bytes,
    .put = put,
    .get = get,
    .begin = begin,
    .run = run,
    .end = end,
    .step = step,
    .add = add,
    .round_to_bf16 = round_to_bf16,
    .lap = lap,
    .sum_moments = sum_moments,
    .update = update,
    .update_statistics = update_statistics,
    .threads = threads,
    .machine = machine,
};

static int open_boxed(struct wl_program *p, int n, struct wl_err *e)
{
    (void)e;
    struct boxed *b = wl_new(p->arena, struct boxed);
    wl_host_init(&b->host, n);
    p->device = b;
    return 0;
}

static const char *library(struct wl_arena *a)
{
    (void)a;
    return "plain C";
}

const struct wl_backend wl_backend_boxed = {
    .row = { .name = "boxed", .help = "ref over memory that the host cannot touch, for tests", .test_only = true },
    .library = library,
    .device = &device,
    .open = open_boxed,
    .rules = wl_ref_rules,
    .emulates_bf16 = true,
    .sum = wl_ref_sum,
    .reorder = wl_ref_reorder,
};
