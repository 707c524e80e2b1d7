#include "ranks.h"

#include "host_touch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static _Noreturn void run_as_job(int n, rank_fn *fn, const void *task, char *found, size_t bytes)
{
    end_at_host_touch();
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_comm *c;
    if (wl_comm_open(&c, &(struct wl_comm_opts) { .backend = "auto", .workers = n }, a, &e)) _exit(1);
    struct outcome *o = (struct outcome *)(void *)(found + (size_t)c->rank * bytes);
    o->rc = fn(task, c, o, a, &e);
    memcpy(o->msg, e.msg, sizeof o->msg - 1);
    wl_arena_free(a);
    _exit(0);
}

void *run_ranks(int n, rank_fn *fn, const void *task, size_t bytes)
{
    void *found = mmap(NULL, (size_t)n * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    WL_CHECK(found != MAP_FAILED);
    const pid_t pid = fork();
    WL_CHECK(pid >= 0);
    if (pid == 0) run_as_job(n, fn, task, found, bytes);
    int status;
    WL_CHECK(waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status)) fail_msg("ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    assert_int_equal(status, 0);
    return found;
}

void free_found(void *found, int n, size_t bytes) { munmap(found, (size_t)n * bytes); }
