/* What the fakes of NVIDIA's libraries share: work on the fake libcuda's streams, whose argument lives until the
 * library is closed, since a graph may run it many times; and refusals, whose reason goes to stderr. */
#ifndef WL_TESTS_GPU_FAKE_ENQUEUE_H
#define WL_TESTS_GPU_FAKE_ENQUEUE_H

#include "cuda/api.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

typedef CUresult fake_enqueue_fn(CUstream, void (*)(void *), void *);
typedef void fake_spend_fn(int64_t);

struct fake_job {
    struct fake_job *next;
    _Alignas(16) char arg[];
};
static struct fake_job *fake_jobs;

__attribute__((destructor)) static void fake_free_jobs(void)
{
    while (fake_jobs) {
        struct fake_job *job = fake_jobs;
        fake_jobs = job->next;
        free(job);
    }
}

/* A function of the libcuda that the program has opened; NULL: it is not a fake. */
static inline void *fake_driver(const char *function)
{
    const char *path = getenv("CUDA_DRIVER_LIBRARY");
    void *driver = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    void *found = driver ? dlsym(driver, function) : NULL;
    if (driver) dlclose(driver);
    return found;
}

/* Of work that runs: it takes that much of the GPU's time. */
static inline void fake_spend(int64_t ns)
{
    fake_spend_fn *spend = NULL;
    void *found = fake_driver("wl_fake_spend");
    memcpy(&spend, &found, sizeof spend);
    if (spend) spend(ns);
}

/* Enqueues f on a copy of arg. 0, or -1 where no fake libcuda is loaded or it refuses. */
static inline int fake_enqueue(CUstream s, void (*f)(void *), const void *arg, size_t bytes)
{
    fake_enqueue_fn *enqueue = NULL;
    void *found = fake_driver("wl_fake_enqueue");
    memcpy(&enqueue, &found, sizeof enqueue);
    struct fake_job *job = enqueue ? malloc(sizeof *job + bytes) : NULL;
    if (!job) return -1;
    memcpy(job->arg, arg, bytes);
    job->next = fake_jobs;
    fake_jobs = job;
    return enqueue(s, f, job->arg) == CUDA_SUCCESS ? 0 : -1;
}

/* Says why a call is refused, and returns its code. */
__attribute__((format(printf, 2, 3))) static inline int fake_refuse_call(int code, const char *why, ...)
{
    va_list ap;
    va_start(ap, why);
    fputs("fake library: ", stderr);
    vfprintf(stderr, why, ap);
    fputc('\n', stderr);
    va_end(ap);
    return code;
}

static inline bool fake_aligned(const void *at, size_t to) { return at && (uintptr_t)at % to == 0; }

static inline bool fake_overlap(const void *a, size_t n, const void *b, size_t m)
{
    const char *x = a, *y = b;
    return n && m && x < y + m && y < x + n;
}

#endif
