/* Jobs that run a script, in a folder where scripts write their pids. */
#ifndef WL_TESTS_JOB_FIXTURE_H
#define WL_TESTS_JOB_FIXTURE_H

#include "job/job.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct wl_arena *a;
static struct wl_err e;
enum { POLLS_MAX = 6000 }; /* a hundredth of a second apart */
static char dir[] = "/tmp/wattlaw-job-XXXXXX";

static inline int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    e = (struct wl_err) { 0 };
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

static inline int start(struct wl_job **job, const char *script, bool pass_through, double grace_s)
{
    static char *argv[] = { (char *)"sh", (char *)"-c", NULL, NULL };
    argv[2] = (char *)script;
    struct wl_job_spec spec = {
        .argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .pass_through = pass_through, .grace_s = grace_s
    };
    int64_t t;
    assert_int_equal(wl_job_prepare(job, &spec, a, &e), 0);
    return wl_job_start(*job, &t, &e);
}

static inline struct wl_job_exit end_of(struct wl_job *job)
{
    struct wl_job_exit out;
    struct pollfd fd = { .fd = wl_job_fd(job), .events = POLLIN };
    if (poll(&fd, 1, POLLS_MAX * 10) != 1) fail_msg("the job did not end");
    if (wl_job_reap(job, &out, &e) < 0) fail_msg("%s", e.msg);
    return out;
}

static inline struct wl_job_exit run(const char *script)
{
    struct wl_job *job;
    assert_int_equal(start(&job, script, false, 5), 0);
    return end_of(job);
}

/* The pid that a script wrote into dir/name. */
static inline pid_t wait_for_pid(const char *name)
{
    const char *path = wl_path_join(a, dir, name);
    for (int i = 0; i < POLLS_MAX; i++) {
        char *text = wl_file_tail(path, 64, a);
        if (strchr(text, '\n')) return (pid_t)atol(text);
        usleep(10000);
    }
    fail_msg("%s was not written", path);
    return 0;
}

static inline bool wait_gone(pid_t pid)
{
    for (int i = 0; i < POLLS_MAX; i++) {
        if (kill(pid, 0) < 0) return true;
        usleep(10000);
    }
    return false;
}

static inline const char *script_with_stray(const char *name, const char *rest)
{
    /* a child in its own session, whose parent exits at once, and that ignores SIGTERM */
    return wl_strf(a,
                   "(setsid sh -c 'trap \"\" TERM; echo $$ > %s/%s; exec sleep 60' &) ; "
                   "while [ ! -s %s/%s ]; do sleep 0.01; done; %s",
                   dir, name, dir, name, rest);
}

/* The folder with what the scripts wrote. */
static inline int remove_dir(void)
{
    struct wl_process_result end;
    char *rm[] = { (char *)"rm", (char *)"-r", dir, NULL };
    struct wl_arena *own = wl_arena_new(NULL);
    int rc = wl_process_run(&(struct wl_process_run) { .argv = rm }, NULL, &end, own, NULL);
    wl_arena_free(own);
    return rc < 0 ? rc : end.status;
}

#endif
