/* Runs kernels of sim.h: fibers, barriers, warps that meet. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WL_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WL_SIM_ASAN 1
#endif
#endif
#ifdef WL_SIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{

enum { STACK = 128 << 10, MAX_THREADS = 1024, LANES = 32 };

enum state { READY, AT_BARRIER, IN_WARP, DONE };

/* Where a fiber goes on. */
#ifdef __x86_64__
typedef void *context;
#else
typedef ucontext_t context;
#endif

struct fiber {
    context at;
    char *stack;
    enum state state;
    dim3 id;
    const char *file; /* where it waits */
    int line;
    void *fake_stack; /* AddressSanitizer's */
};

/* Two sets of slots: lanes may bring the next values while others still read the last ones. */
struct warp {
    unsigned char slot[2][LANES][WL_SIM_SLOT];
    int arrived, set;
};

enum order { FORWARD, BACKWARD, RANDOM };

struct {
    struct fiber fibers[MAX_THREADS];
    struct warp warps[MAX_THREADS / LANES];
    struct fiber *now;
    int n, done;
    context outside;
    void *fake_stack;
    const void *bottom; /* of the stack outside */
    size_t size;
    const struct wl_sim_launch *launch;
    void *dynamic;
    enum order order;
    uint64_t random;
} sim;

[[noreturn]] void die(const char *what)
{
    fprintf(stderr, "simulated kernel %s: %s\n", sim.launch->kernel->name, what);
    abort();
}

[[noreturn]] void die_at(const char *what, const struct fiber *a, const struct fiber *b)
{
    fprintf(stderr, "simulated kernel %s: %s: %s:%d (thread %d) and %s:%d (thread %d)\n", sim.launch->kernel->name,
            what, a->file, a->line, (int)(a - sim.fibers), b->file, b->line, (int)(b - sim.fibers));
    abort();
}

/* ---- switching ---- */

#ifdef __x86_64__
extern "C" void wl_sim_switch(void **save, void *to);
__asm__(".text\n.type wl_sim_switch,@function\nwl_sim_switch:\n"
        " push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        " mov %rsp,(%rdi)\n mov %rsi,%rsp\n"
        " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");

void go(context *from, context *to) { wl_sim_switch(from, *to); }

void prepare(struct fiber *f, void (*entry)())
{
    void **top = (void **)(f->stack + STACK) - 1;
    *--top = (void *)entry;
    for (int i = 0; i < 6; i++) *--top = NULL;
    f->at = top;
}
#else
void go(context *from, context *to) { swapcontext(from, to); }

void prepare(struct fiber *f, void (*entry)())
{
    getcontext(&f->at);
    f->at.uc_stack.ss_sp = f->stack;
    f->at.uc_stack.ss_size = STACK;
    f->at.uc_link = NULL;
    makecontext(&f->at, entry, 0);
}
#endif

void leave()
{
    struct fiber *f = sim.now;
#ifdef WL_SIM_ASAN
    __sanitizer_start_switch_fiber(f->state == DONE ? NULL : &f->fake_stack, sim.bottom, sim.size);
#endif
    go(&f->at, &sim.outside);
#ifdef WL_SIM_ASAN
    __sanitizer_finish_switch_fiber(f->fake_stack, &sim.bottom, &sim.size);
#endif
    threadIdx = f->id;
}

void begin()
{
#ifdef WL_SIM_ASAN
    __sanitizer_finish_switch_fiber(NULL, &sim.bottom, &sim.size);
#endif
    sim.launch->kernel->call(sim.launch->args);
    sim.now->state = DONE;
    sim.done++;
    leave();
    abort();
}

void resume(struct fiber *f)
{
    sim.now = f;
    threadIdx = f->id;
#ifdef WL_SIM_ASAN
    __sanitizer_start_switch_fiber(&sim.fake_stack, f->stack, STACK);
#endif
    go(&sim.outside, &f->at);
#ifdef WL_SIM_ASAN
    __sanitizer_finish_switch_fiber(sim.fake_stack, NULL, NULL);
#endif
}

/* ---- a block ---- */

unsigned random_below(int n)
{
    sim.random ^= sim.random << 13;
    sim.random ^= sim.random >> 7;
    sim.random ^= sim.random << 17;
    return (unsigned)(sim.random % (uint64_t)n);
}

/* The next fiber that can go on, of those after `last` in this order; NULL: all wait or are done. */
struct fiber *pick(int last)
{
    const int step = sim.order == BACKWARD ? -1 : 1;
    const int start = sim.order == RANDOM ? (int)random_below(sim.n) : last + step;
    for (int k = 0; k < sim.n; k++) {
        struct fiber *f = &sim.fibers[((start + step * k) % sim.n + sim.n) % sim.n];
        if (f->state == READY) return f;
    }
    return NULL;
}

/* All that are left wait. CUDA lets threads that have ended count as arrived; we are stricter. */
void release_barrier()
{
    struct fiber *first = &sim.fibers[0];
    for (int i = 0; i < sim.n; i++) {
        struct fiber *f = &sim.fibers[i];
        if (f->state == IN_WARP) die_at("lanes wait for their warp, others somewhere else", f, first);
        if (f->state == DONE) die("some threads have ended, others wait at a barrier");
        if (f->line != first->line || strcmp(f->file, first->file) != 0)
            die_at("threads wait at two barriers", f, first);
    }
    for (int i = 0; i < sim.n; i++) sim.fibers[i].state = READY;
}

void prepare_block()
{
    sim.done = 0;
    for (int i = 0; i < sim.n; i++) {
        struct fiber *f = &sim.fibers[i];
        if (!f->stack) f->stack = (char *)mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (f->stack == (char *)MAP_FAILED) die("no memory for fibers");
        prepare(f, begin);
        f->state = READY;
        f->fake_stack = NULL;
        f->id = dim3 { (unsigned)i, 0, 0 };
    }
    for (int i = 0; i < (sim.n + LANES - 1) / LANES; i++) sim.warps[i].arrived = 0;
}

void run_block()
{
    int last = sim.order == BACKWARD ? 0 : -1;
    prepare_block();
    while (sim.done < sim.n) {
        struct fiber *f = pick(last);
        if (f) {
            last = (int)(f - sim.fibers);
            resume(f);
        } else {
            release_barrier();
        }
    }
}

/* Shared memory starts as NANs; AddressSanitizer's red zones stay as they are. */
#ifdef WL_SIM_ASAN
__attribute__((no_sanitize("address"), noinline)) void fill(char *at, char *end)
{
    for (; at + 4 <= end; at += 4)
        if (!__asan_address_is_poisoned(at)) *(volatile unsigned *)at = ~0u;
}
#else
void fill(char *at, char *end) { memset(at, 0xff, (size_t)(end - at)); }
#endif

enum order order_of_environment()
{
    const char *o = getenv("WATTLAW_SIM_ORDER");
    if (!o || !strcmp(o, "forward")) return FORWARD;
    if (!strcmp(o, "backward")) return BACKWARD;
    if (!strcmp(o, "random")) return RANDOM;
    die("$WATTLAW_SIM_ORDER is not forward, backward or random");
}

void run_one(unsigned x, unsigned y, unsigned z)
{
    const struct wl_sim_launch *l = sim.launch;
    blockIdx = dim3 { x, y, z };
    sim.dynamic = NULL;
    if (l->shared_bytes && posix_memalign(&sim.dynamic, 128, l->shared_bytes)) die("no memory");
    if (sim.dynamic) memset(sim.dynamic, 0xff, l->shared_bytes); /* of this very size: an access beyond is found */
    if (l->kernel->shared) fill(l->kernel->shared, l->kernel->shared_end);
    run_block();
    free(sim.dynamic);
}

} // namespace

void *wl_sim_dynamic(void) { return sim.dynamic; }

void wl_sim_barrier(const char *file, int line)
{
    sim.now->state = AT_BARRIER;
    sim.now->file = file;
    sim.now->line = line;
    leave();
}

const unsigned char *wl_sim_meet(unsigned mask, const void *mine, size_t n, const char *file, int line)
{
    const int at = (int)(sim.now - sim.fibers);
    struct warp *w = &sim.warps[at / LANES];
    const int set = w->set;
    if (mask != 0xffffffffu) die("parts of a warp are not simulated: the mask must be 0xffffffff");
    memcpy(w->slot[set][at % LANES], mine, n);
    sim.now->file = file;
    sim.now->line = line;
    if (++w->arrived < LANES) {
        sim.now->state = IN_WARP;
        leave();
        return w->slot[set][0];
    }
    w->arrived = 0;
    w->set = !set;
    struct fiber *lane = &sim.fibers[at / LANES * LANES];
    for (int i = 0; i < LANES; i++) {
        if (lane[i].line != line || strcmp(lane[i].file, file) != 0) die_at("lanes of a warp meet", sim.now, &lane[i]);
        lane[i].state = READY;
    }
    return w->slot[set][0];
}

extern "C" __attribute__((visibility("default"))) void wl_sim_launch(const struct wl_sim_launch *l)
{
    sim.launch = l;
    sim.order = order_of_environment();
    sim.random = 88172645463325252u;
    sim.n = (int)l->threads;
    blockDim = dim3 { l->threads, 1, 1 };
    gridDim = dim3 { l->grid[0], l->grid[1], l->grid[2] };
    for (unsigned z = 0; z < l->grid[2]; z++)
        for (unsigned y = 0; y < l->grid[1]; y++)
            for (unsigned x = 0; x < l->grid[0]; x++) run_one(x, y, z);
}
