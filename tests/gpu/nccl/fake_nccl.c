/* A fake libnccl.so.2: ranks are processes of this machine that sum through a file that all map, on the streams of
 * whoever exports wl_fake_enqueue (the fake libcuda, or the test itself). Stricter than the real one: where ranks give
 * other sizes or not the same GPUs, that is an error on all of them and the sums are NANs, not a hang; a communicator
 * that was aborted must not be used, nor destroyed or aborted for good while a captured graph holds its sums: NCCL
 * waits for the end of these graphs (init.cc, commDestroySync), which is said here after some seconds. Sums are not taken in rank order, as the real one's are not. A rank that is
 * missing makes the others wait until they are aborted, as the real one does.
 *
 * Keys in $WATTLAW_FAKE_NCCL, words separated by ';':
 *     version=20805       what ncclGetVersion says
 *     fail_at=3           the sum with that number, from 1, fails when it is enqueued
 *     slow_at=3           ... takes a second to be enqueued
 *     async_at=3          ... when it runs: an asynchronous error
 *     dies_joining=1      the rank with that number is killed in ncclCommInitRank
 *     hangs_joining=1     ... waits there for ever */
#include "nn/comm/nccl_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Marks this library as a simulation. */
const char wattlaw_simulated[] = "simulated";

enum { MAX_RANKS = 16, PIECE = 4096, JOIN_S = 15, HUNG_S = 15, GRAPHS_S = 5, LOOK_NS = 50 * 1000 };

struct call {
    size_t number, n;
};

struct slot {
    _Atomic int joined;
    char gpu[32];
    struct call call; /* the sum in progress */
    float piece[PIECE];
};

struct shared {
    _Atomic unsigned arrived, generation;
    _Atomic int error; /* ncclResult_t */
    struct slot slot[MAX_RANKS];
};

struct ncclComm {
    struct shared *shared;
    int rank, size;
    size_t enqueued, executed;
    _Atomic int aborted, state; /* state: what ncclCommGetAsyncError says */
    _Atomic int captured;       /* sums that graphs hold */
    _Atomic int in_call;
    char path[NCCL_UNIQUE_ID_BYTES];
    struct ncclComm *next; /* of those that were aborted */
};

struct work {
    struct work *next;
    ncclComm_t comm;
    const float *from;
    float *to;
    size_t n;
};

static struct work *works; /* kept until the library is closed: a graph may hold them */

static struct ncclComm *_Atomic aborted; /* likewise: a later use is seen */

static void unmap(struct ncclComm *c)
{
    munmap(c->shared, sizeof *c->shared);
    free(c);
}

__attribute__((destructor)) static void free_all(void)
{
    for (struct ncclComm *c = aborted, *next; c; c = next) {
        next = c->next;
        unmap(c);
    }
    while (works) {
        struct work *w = works;
        works = w->next;
        free(w);
    }
}

static char last_error[256];

static long key(const char *name, long fallback)
{
    const char *script = getenv("WATTLAW_FAKE_NCCL"), *at = script ? strstr(script, name) : NULL;
    return at ? atol(at + strlen(name)) : fallback;
}

static ncclResult_t fail(ncclResult_t rc, const char *why)
{
    snprintf(last_error, sizeof last_error, "%s", why);
    return rc;
}

static _Noreturn void die(const char *why)
{
    fprintf(stderr, "fake NCCL: %s\n", why);
    abort();
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void nap(void)
{
    const struct timespec t = { .tv_nsec = LOOK_NS };
    nanosleep(&t, NULL);
}

/* A function of the fake driver, or of the test. */
static void *driver(const char *name)
{
    const char *path = getenv("CUDA_DRIVER_LIBRARY");
    void *found = dlsym(RTLD_DEFAULT, name), *library;
    if (found || !path || !(library = dlopen(path, RTLD_NOW | RTLD_NOLOAD))) return found;
    found = dlsym(library, name);
    dlclose(library);
    return found;
}

/* ---- joining ---- */

ncclResult_t ncclGetVersion(int *version)
{
    *version = (int)key("version=", 22705);
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    const char *folder = getenv("TMPDIR");
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "%s/fake-nccl-XXXXXX", folder ? folder : "/tmp");
    const int fd = mkstemp(id->internal);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared))) return fail(ncclSystemError, "no file to share");
    close(fd);
    return ncclSuccess;
}

/* Returns false when the communicator was aborted or another rank failed. */
static bool meet(struct ncclComm *c)
{
    struct shared *s = c->shared;
    const unsigned generation = atomic_load(&s->generation);
    const double start_s = now_s();
    if (atomic_fetch_add(&s->arrived, 1) + 1 == (unsigned)c->size) {
        atomic_store(&s->arrived, 0);
        atomic_store(&s->generation, generation + 1);
        return true;
    }
    while (atomic_load(&s->generation) == generation) {
        if (atomic_load(&c->aborted)) return false;
        if (now_s() - start_s > HUNG_S) die("a rank does not take part, and nobody has aborted the communicator");
        nap();
    }
    return true;
}

/* The GPU of the context that is current. */
static void name_gpu(char *name, size_t room)
{
    int (*device)(int *) = driver("cuCtxGetDevice");
    int (*bus)(char *, int, int) = driver("cuDeviceGetPCIBusId");
    int d = -1;
    *name = '\0';
    if (!device || !bus) die("there is no fake driver");
    if (device(&d) || bus(name, (int)room, d)) *name = '\0';
}

static bool all_joined(const struct ncclComm *c)
{
    const double start_s = now_s();
    for (int r = 0; r < c->size; r++)
        while (!atomic_load(&c->shared->slot[r].joined)) {
            if (now_s() - start_s > JOIN_S) return false;
            nap();
        }
    return true;
}

static bool same_gpu(const struct ncclComm *c)
{
    for (int r = 0; r < c->size; r++)
        for (int q = 0; q < r; q++)
            if (!strcmp(c->shared->slot[r].gpu, c->shared->slot[q].gpu)) return true;
    return false;
}

static ncclResult_t join(struct ncclComm *c)
{
    struct slot *own = &c->shared->slot[c->rank];
    name_gpu(own->gpu, sizeof own->gpu);
    if (!*own->gpu) return fail(ncclUnhandledCudaError, "no CUDA context is current");
    if (atomic_exchange(&own->joined, 1)) return fail(ncclInvalidUsage, "two ranks have one number");
    if (!all_joined(c)) return fail(ncclSystemError, "a rank does not join");
    meet(c);
    if (c->rank == 0) unlink(c->path);
    return same_gpu(c) ? fail(ncclInvalidUsage, "Duplicate GPU detected") : ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int size, ncclUniqueId id, int rank)
{
    if (size < 1 || size > MAX_RANKS || rank < 0 || rank >= size) return fail(ncclInvalidArgument, "rank or size");
    if (rank == key("dies_joining=", -1)) raise(SIGKILL);
    while (rank == key("hangs_joining=", -1)) pause();
    const int fd = open(id.internal, O_RDWR | O_CLOEXEC);
    if (fd < 0) return fail(ncclInvalidArgument, "an id that ncclGetUniqueId has not made");
    struct ncclComm *c = calloc(1, sizeof *c);
    *c = (struct ncclComm) { .rank = rank, .size = size };
    memcpy(c->path, id.internal, sizeof c->path);
    c->shared = mmap(NULL, sizeof *c->shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (c->shared == MAP_FAILED) die("mmap");
    *out = c;
    return join(c);
}

static void check(const struct ncclComm *c, const char *call)
{
    char text[128];
    snprintf(text, sizeof text, "%s on a communicator that was aborted or never made", call);
    if (!c || c->aborted) die(text);
}

static void wait_for_graphs(const struct ncclComm *c, const char *call)
{
    const double start_s = now_s();
    while (atomic_load(&c->captured)) {
        if (now_s() - start_s > GRAPHS_S) die(call);
        nap();
    }
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    check(c, "ncclCommDestroy");
    wait_for_graphs(c, "ncclCommDestroy hangs: graphs that captured its sums are not destroyed");
    if (c->executed < c->enqueued && !c->state) die("ncclCommDestroy before its sums have ended");
    unmap(c);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t c)
{
    check(c, "ncclCommAbort");
    if (atomic_load(&c->in_call)) die("ncclCommAbort within another call: it frees what that works on");
    atomic_store(&c->aborted, 1);
    wait_for_graphs(c, "ncclCommAbort hangs: graphs that captured its sums are not destroyed");
    c->next = aborted;
    while (!atomic_compare_exchange_weak(&aborted, &c->next, c)) {
    }
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *out)
{
    check(c, "ncclCommGetAsyncError");
    *out = (ncclResult_t)c->state;
    return ncclSuccess;
}

/* ---- sums ---- */

static bool in_step(const struct ncclComm *c)
{
    for (int r = 1; r < c->size; r++)
        if (memcmp(&c->shared->slot[r].call, &c->shared->slot[0].call, sizeof(struct call))) return false;
    return true;
}

/* The last rank first. */
static void sum_piece(const struct ncclComm *c, float *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (int r = c->size - 1; r >= 0; r--) sum += c->shared->slot[r].piece[i];
        to[i] = sum;
    }
}

static ncclResult_t all_reduce(const struct work *w, size_t number)
{
    struct ncclComm *c = w->comm;
    struct slot *own = &c->shared->slot[c->rank];
    own->call = (struct call) { .number = number, .n = w->n };
    if (!meet(c)) return ncclSystemError;
    if (!in_step(c)) return fail(ncclInvalidUsage, "ranks give sums of other sizes");
    for (size_t at = 0; at < w->n; at += PIECE) {
        const size_t n = w->n - at < PIECE ? w->n - at : PIECE;
        memcpy(own->piece, w->from + at, n * sizeof(float));
        if (!meet(c)) return ncclSystemError;
        sum_piece(c, w->to + at, n);
        if (!meet(c)) return ncclSystemError;
    }
    return ncclSuccess;
}

/* Runs when the stream does; a graph may run it more than once. */
static void run(void *work)
{
    const struct work *w = work;
    struct ncclComm *c = w->comm;
    const size_t number = ++c->executed;
    ncclResult_t rc = c->aborted ? ncclSystemError : c->state ? (ncclResult_t)c->state : all_reduce(w, number);
    if (!rc && (long)number == key("async_at=", -1)) rc = fail(ncclRemoteError, "a fake network error");
    if (!rc) return;
    for (size_t i = 0; i < w->n; i++) w->to[i] = NAN;
    c->state = (int)rc;
}

static void released(void *comm) { atomic_fetch_sub(&((ncclComm_t)comm)->captured, 1); }

/* Does a graph hold the sum from now on? */
static void retain(struct ncclComm *c, struct CUstream_st *stream)
{
    int (*hold)(struct CUstream_st *, void (*)(void *), void *) = driver("wl_fake_retain");
    atomic_fetch_add(&c->captured, 1);
    if (!hold || !hold(stream, released, c)) released(c);
}

static const char *invalid(const struct work *w, ncclDataType_t type, ncclRedOp_t operation, const void *stream)
{
    if (type != ncclFloat32 || operation != ncclSum) return "only sums of f32 are made here";
    if (!stream) return "the default stream, which waits for all others";
    if (!w->from || !w->to || (uintptr_t)w->from % 16 || (uintptr_t)w->to % 16) return "addresses are not aligned";
    return w->n && w->from != w->to ? "not in place" : NULL;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t n, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, struct CUstream_st *stream)
{
    int (*enqueue)(struct CUstream_st *, void (*)(void *), void *) = driver("wl_fake_enqueue");
    check(comm, "ncclAllReduce");
    struct work *w = malloc(sizeof *w);
    *w = (struct work) { .next = works, .comm = comm, .from = from, .to = to, .n = n };
    works = w;
    const char *why = invalid(w, type, operation, stream);
    if (why) return fail(ncclInvalidArgument, why);
    if (!enqueue) die("there is no fake driver");
    if ((long)comm->enqueued + 1 == key("fail_at=", -1)) return fail(ncclUnhandledCudaError, "a fake failure");
    atomic_store(&comm->in_call, 1);
    if ((long)comm->enqueued + 1 == key("slow_at=", -1)) sleep(1);
    atomic_store(&comm->in_call, 0);
    comm->enqueued++;
    retain(comm, stream);
    return enqueue(stream, run, w) ? ncclUnhandledCudaError : ncclSuccess;
}

/* ---- texts ---- */

const char *ncclGetErrorString(ncclResult_t rc)
{
    switch (rc) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    }
    return "unknown result code";
}

const char *ncclGetLastError(ncclComm_t c)
{
    (void)c;
    return last_error;
}
