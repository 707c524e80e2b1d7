/* A back-end for tests, which proves the seam: the rules of nn/ref over memory that nobody may read or write outside of
 * the callbacks of its device. A plan that touches it by itself dies by SIGSEGV. Inputs and outputs are staged, and
 * gradients reduced through copies, or by a communicator that can in that memory, as on a GPU; the bits are those of
 * ref.
 *
 * The first run of a variant is recorded. In later ones the plan's calls are compared with the recorded ones, and those
 * are run: a call that differs is WL_EINVAL. Steps read what changes from run to run from a block in that memory, which
 * begin fills. Calls in the wrong order and buffers that are not aligned are WL_EINVAL too. */
#include "nn/host/host.h"
#include "nn/ref/backend/backend.h"

#include <string.h>
#include <sys/mman.h>

enum { MAX_BOXES = 4, ALIGN = 256 }; /* a GPU's */

/* A call between begin and end. */
struct call {
    enum { STEP, ADD, ROUND, GET, SUM, JOIN } kind;
    const struct wl_step *step;
    void *to;
    const void *from;
    enum wl_dtype type; /* of a rounding */
    size_t n;           /* floats; bytes of a copy */
    size_t event;       /* of a copy */
    wl_device_sum_fn *sum;
    void *sum_of;
};

struct recording {
    struct call *calls;
    size_t n, cap;
    bool complete;
};

/* A copy to the host: it arrives when the plan waits for it. */
struct copy {
    void *to;
    char *bytes;
    size_t n, room;
    bool enqueued; /* in this run */
};

/* Gradients that are being summed: taken when the sum is enqueued, made at the join; in between there are NANs. */
struct sum {
    struct call call;
    char *bytes;
    size_t room; /* bytes */
};

struct boxed {
    struct wl_host host;
    struct wl_arena *arena;
    struct box {
        void *at;
        size_t bytes;
    } boxes[MAX_BOXES];
    int n_boxes;
    struct wl_run *block; /* what steps read of a run; in a box */
    bool running;         /* between begin and end */
    struct recording recordings[WL_RUN_VARIANTS];
    struct recording *recording; /* of the plan's calls now; NULL: it may make none */
    bool replays;                /* they are compared with those of the recording */
    size_t next;                 /* to be compared */
    struct copy *copies;         /* by event */
    size_t n_copies, cap_copies;
    struct sum *sums; /* n_sums of them to be joined */
    size_t n_sums, cap_sums, made_sums;
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

/* ---- a run ---- */

static int check_alignment(const void *at, const char *what, struct wl_err *e)
{
    if ((uintptr_t)at % ALIGN == 0) return 0;
    return wl_fail(e, WL_EINVAL, "%s is %zu bytes after a multiple of the device's alignment, %d", what,
                   (size_t)((uintptr_t)at % ALIGN), (int)ALIGN);
}

static int check_uses(const struct wl_step *s, struct wl_err *e)
{
    int rc = 0;
    for (int i = 0; i < s->n_uses && !rc; i++) {
        const struct wl_use *u = &s->uses[i];
        rc = check_alignment(u->buf->at, "a buffer", e);
        if (!rc && u->partial) rc = check_alignment(u->partial->at, "a part of a gradient", e);
    }
    return rc;
}

static int check_io(const struct wl_device_io *io, struct wl_err *e)
{
    int rc = check_alignment(io->input.at, "the input", e);
    if (!rc) rc = check_alignment(io->landing, "the uploaded input", e);
    if (!rc) rc = check_alignment(io->output.at, "the output", e);
    return rc ? rc : check_alignment(io->counts, "the block of counts", e);
}

static int upload(void *device, const struct wl_device_io *io, struct wl_err *e)
{
    return put(device, io->landing, io->input.host, io->input.bytes, e);
}

static int wait_upload(void *device, int slot, struct wl_err *e)
{
    (void)device, (void)slot, (void)e;
    return 0;
}

static int begin(void *device, const struct wl_run *r, const struct wl_device_io *io, const struct wl_counts *counts,
                 struct wl_err *e)
{
    struct boxed *b = device;
    if (b->running) return wl_fail(e, WL_EINVAL, "a run begins before the one before it has ended");
    int rc = check_io(io, e);
    if (rc) return rc;
    b->running = true;
    for (size_t i = 0; i < b->n_copies; i++) b->copies[i].enqueued = false;
    unlock(b);
    *b->block = *r;
    struct wl_device_io landed = *io;
    landed.input.host = io->landing;
    return locked(b, wl_host_device.begin(device, r, &landed, counts, e));
}

/* Calls of one variant are the same only if `training` and `first` are. */
static int check_variant(const struct wl_run *r, enum wl_variant v, struct wl_err *e)
{
    const bool first = v == WL_RUN_FIRST || v == WL_RUN_FIRST_LAST;
    if (r->training == (v != WL_RUN_EVAL) && (!r->training || r->first == first)) return 0;
    return wl_fail(e, WL_EINVAL, "a run of %s%s micro-batch as variant %d", r->training ? "training, " : "evaluation, ",
                   r->first ? "the first" : "a later", (int)v);
}

static struct copy *copy_of(struct boxed *b, const struct call *c)
{
    while (b->n_copies <= c->event) {
        WL_GROW(b->arena, b->copies, b->n_copies, b->cap_copies);
        b->copies[b->n_copies++] = (struct copy) { 0 };
    }
    struct copy *copy = &b->copies[c->event];
    if (copy->room < c->n) copy->bytes = wl_new_array(b->arena, char, copy->room = c->n);
    return copy;
}

/* Until the copy arrives the host finds NANs. */
static int enqueue_copy(struct boxed *b, const struct call *c, struct wl_err *e)
{
    struct copy *copy = copy_of(b, c);
    if (copy->enqueued) return wl_fail(e, WL_EINVAL, "copy %zu is enqueued twice in a run", c->event);
    copy->to = c->to;
    copy->n = c->n;
    copy->enqueued = true;
    memset(c->to, 0xff, c->n);
    return wl_host_device.get(b, copy->bytes, c->from, c->n, e);
}

static void enqueue_sum(struct boxed *b, const struct call *c)
{
    const size_t bytes = c->n * sizeof(float);
    while (b->made_sums <= b->n_sums) {
        WL_GROW(b->arena, b->sums, b->made_sums, b->cap_sums);
        b->sums[b->made_sums++] = (struct sum) { .room = 0 };
    }
    struct sum *s = &b->sums[b->n_sums++];
    if (s->room < bytes) s->bytes = wl_new_array(b->arena, char, s->room = bytes);
    s->call = *c;
    memcpy(s->bytes, c->to, bytes);
    memset(c->to, 0xff, bytes);
}

static int join(struct boxed *b, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < b->n_sums && !rc; i++) {
        const struct sum *s = &b->sums[i];
        memcpy(s->call.to, s->bytes, s->call.n * sizeof(float));
        rc = s->call.sum(s->call.sum_of, s->call.to, s->call.n, e);
    }
    b->n_sums = 0;
    return rc;
}

static int execute(struct boxed *b, const struct call *c, struct wl_err *e)
{
    switch (c->kind) {
    case STEP: {
        int rc = check_uses(c->step, e);
        return rc ? rc : c->step->run(c->step, b->block, e);
    }
    case ADD: return wl_host_device.add(b, c->to, c->from, c->n, e);
    case ROUND: return wl_host_device.round(b, c->to, c->n, c->type, e);
    case GET: return enqueue_copy(b, c, e);
    case SUM: return enqueue_sum(b, c), 0;
    case JOIN: return join(b, e);
    }
    return 0;
}

static bool same_call(const struct call *x, const struct call *y)
{
    return x->kind == y->kind && x->step == y->step && x->to == y->to && x->from == y->from && x->n == y->n &&
           x->type == y->type && x->event == y->event && x->sum == y->sum && x->sum_of == y->sum_of;
}

static int compare(struct boxed *b, const struct call *c, struct wl_err *e)
{
    const size_t i = b->next++;
    if (i < b->recording->n && same_call(&b->recording->calls[i], c)) return 0;
    return wl_fail(e, WL_EINVAL, "call %zu of the run differs from that of the recorded run, which has %zu", i,
                   b->recording->n);
}

static int enqueue(struct boxed *b, struct call c, struct wl_err *e)
{
    struct recording *r = b->recording;
    if (!r) return wl_fail(e, WL_EINVAL, "a call that belongs into a run, outside of one");
    if (b->replays) return compare(b, &c, e);
    WL_GROW(b->arena, r->calls, r->n, r->cap);
    r->calls[r->n++] = c;
    unlock(b);
    return locked(b, execute(b, &c, e));
}

static int record(struct recording *r, wl_enqueue_fn *all, void *of, struct wl_err *e)
{
    r->n = 0;
    int rc = all(of, e);
    r->complete = !rc;
    return rc;
}

static int replay(struct boxed *b, const struct recording *r, wl_enqueue_fn *all, void *of, struct wl_err *e)
{
    b->next = 0;
    int rc = all(of, e);
    if (!rc && b->next != r->n)
        rc = wl_fail(e, WL_EINVAL, "%zu calls in the run, %zu in the recorded run", b->next, r->n);
    unlock(b);
    for (size_t i = 0; i < r->n && !rc; i++) {
        const struct call *c = &r->calls[i];
        rc = execute(b, c, e);
        if (rc && c->kind == STEP) rc = wl_err_prefix(e, "%s (%s)", c->step->node->name, c->step->pass);
    }
    return locked(b, rc);
}

static int run(void *device, enum wl_variant v, wl_enqueue_fn *all, void *of, struct wl_err *e)
{
    struct boxed *b = device;
    struct recording *r = &b->recordings[v];
    if (!b->running) return wl_fail(e, WL_EINVAL, "a run that has not begun");
    int rc = check_variant(&b->host.run, v, e);
    if (rc) return rc;
    b->recording = r;
    b->replays = r->complete;
    rc = b->replays ? replay(b, r, all, of, e) : record(r, all, of, e);
    b->recording = NULL;
    return rc;
}

static int end(void *device, const struct wl_device_io *io, struct wl_counts *counts, struct wl_err *e)
{
    struct boxed *b = device;
    if (!b->running) return wl_fail(e, WL_EINVAL, "the end of a run that has not begun");
    b->running = false;
    unlock(b);
    return locked(b, wl_host_device.end(device, io, counts, e));
}

static int step(void *device, const struct wl_step *s, struct wl_err *e)
{
    return enqueue(device, (struct call) { .kind = STEP, .step = s }, e);
}

static int add(void *device, float *to, const float *part, size_t n, struct wl_err *e)
{
    return enqueue(device, (struct call) { .kind = ADD, .to = to, .from = part, .n = n }, e);
}

static int round_floats(void *device, float *v, size_t n, enum wl_dtype type, struct wl_err *e)
{
    return enqueue(device, (struct call) { .kind = ROUND, .to = v, .n = n, .type = type }, e);
}

static int get_async(void *device, void *to, const void *from, size_t bytes, size_t event, struct wl_err *e)
{
    return enqueue(device, (struct call) { .kind = GET, .to = to, .from = from, .n = bytes, .event = event }, e);
}

static int wait(void *device, size_t event, struct wl_err *e)
{
    const struct boxed *b = device;
    if (!b->running || event >= b->n_copies || !b->copies[event].enqueued)
        return wl_fail(e, WL_EINVAL, "copy %zu is not part of the run", event);
    memcpy(b->copies[event].to, b->copies[event].bytes, b->copies[event].n);
    return 0;
}

static void *sum_stream(void *device) { return device; }

static int sum(void *device, wl_device_sum_fn *make, void *of, float *at, size_t n, struct wl_err *e)
{
    return enqueue(device, (struct call) { .kind = SUM, .to = at, .n = n, .sum = make, .sum_of = of }, e);
}

static int join_sums(void *device, struct wl_err *e) { return enqueue(device, (struct call) { .kind = JOIN }, e); }

static int check_finite(void *device, const float *v, size_t n, const struct wl_device_io *io, struct wl_err *e)
{
    const struct boxed *b = device;
    if (!b->running || b->recording) return wl_fail(e, WL_EINVAL, "gradients are checked outside of a run");
    unlock(b);
    return locked(b, wl_host_device.check_finite(device, v, n, io, e));
}

static void lap(void *device, struct wl_step_time *time) { wl_host_device.lap(device, time); }

static int sum_moments(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    return wl_host_device.sum_moments(s, r, e); /* a step: `execute` runs it */
}

/* ---- between runs ---- */

static int check_span(const struct wl_optim_span *s, struct wl_err *e)
{
    int rc = check_alignment(s->w, "a span of parameters", e);
    if (!rc) rc = check_alignment(s->g, "a span of gradients", e);
    for (int k = 0; k < 2 && !rc; k++) rc = check_alignment(s->slot[k], "a span of the optimizer's memory", e);
    return rc;
}

static int check_ended(const struct boxed *b, struct wl_err *e)
{
    return b->running ? wl_fail(e, WL_EINVAL, "an update within a run") : 0;
}

static int update(void *device, const struct wl_optim_ops *kind, const struct wl_optim *o,
                  const struct wl_optim_span *s, size_t n, double lr, struct wl_err *e)
{
    int rc = check_ended(device, e);
    for (size_t i = 0; i < n && !rc; i++) rc = check_span(&s[i], e);
    if (rc) return rc;
    unlock(device);
    return locked(device, wl_host_device.update(device, kind, o, s, n, lr, e));
}

static int update_statistics(void *device, const struct wl_statistic *s, size_t n, int micro_batches, struct wl_err *e)
{
    int rc = check_ended(device, e);
    if (rc) return rc;
    unlock(device);
    return locked(device, wl_host_device.update_statistics(device, s, n, micro_batches, e));
}

/* ---- facts ---- */

static int threads(void *device) { return wl_host_device.threads(device); }

static const char *machine(void *device, const char *library, struct wl_arena *a)
{
    return wl_host_device.machine(device, library, a);
}

static const struct wl_device_ops device = {
    .align = ALIGN,
    .host_addressable = false,
    .bucket_bytes = 4u << 20,
    .memory = memory,
    .host_memory = host_memory,
    .release = release,
    .huge_bytes = huge_bytes,
    .put = put,
    .get = get,
    .upload = upload,
    .wait_upload = wait_upload,
    .begin = begin,
    .run = run,
    .end = end,
    .step = step,
    .add = add,
    .round = round_floats,
    .get_async = get_async,
    .wait = wait,
    .sum_stream = sum_stream,
    .sum = sum,
    .join_sums = join_sums,
    .check_finite = check_finite,
    .lap = lap,
    .sum_moments = sum_moments,
    .update = update,
    .update_statistics = update_statistics,
    .threads = threads,
    .machine = machine,
};

static void release_block(void *of)
{
    struct boxed *b = of;
    release(b, b->block, sizeof *b->block);
}

static int open_boxed(struct wl_program *p, int n, struct wl_err *e)
{
    struct boxed *b = wl_new(p->arena, struct boxed);
    wl_host_init(&b->host, n);
    b->arena = p->arena;
    p->device = b;
    int rc = memory(b, sizeof *b->block, "what changes from run to run", (void **)&b->block, e);
    if (!rc) wl_defer(p->arena, release_block, b);
    return rc;
}

static const char *library(struct wl_arena *a)
{
    (void)a;
    return "plain C";
}

const struct wl_backend wl_backend_boxed = {
    .row = { .name = "boxed", .help = "ref over memory that the host cannot touch, for tests", .by_name = true },
    .library = library,
    .device = &device,
    .open = open_boxed,
    .rules = wl_ref_rules,
    .emulates_16_bits = true,
    .sum = wl_ref_sum,
    .reorder = wl_ref_reorder,
};
