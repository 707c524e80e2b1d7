#include "ranks.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void be_job(const struct wl_comm_opts *how, rank_fn *fn, struct report *reports)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_comm *c;
    int rc = wl_comm_open(&c, how, a, &e);
    if (rc) _exit(1);
    struct report *r = &reports[c->rank];
    r->rc = fn(c, r, &e);
    memcpy(r->msg, e.msg, sizeof r->msg - 1);
    wl_arena_free(a);
    r->came_back = true;
    _exit(0);
}

struct report *run_ranks(int n, rank_fn *fn)
{
    return run_ranks_as(n, &(struct wl_comm_opts) { .backend = n > 1 ? "shm" : "auto" }, fn);
}

struct report *run_ranks_as(int n, const struct wl_comm_opts *opts, rank_fn *fn)
{
    static struct report *reports;
    size_t bytes = MAX_RANKS * sizeof *reports;
    if (!reports) reports = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    WL_CHECK(reports != MAP_FAILED && n <= MAX_RANKS);
    memset(reports, 0, bytes);
    struct wl_comm_opts how = *opts;
    how.workers = n;
    pid_t pid = fork();
    WL_CHECK(pid >= 0);
    if (pid == 0) be_job(&how, fn, reports);
    WL_CHECK(waitpid(pid, NULL, 0) == pid);
    return reports;
}

float number(int rank, size_t i)
{
    uint32_t h = (uint32_t)i * 2654435761u + (uint32_t)rank * 40503u + 12345u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    return (float)(int32_t)h / 2147483648.0f;
}

float sum_of(int ranks, size_t i)
{
    float sum = number(0, i);
    for (int r = 1; r < ranks; r++) sum += number(r, i);
    return sum;
}
