/* Processes that SIGKILL does not end are described: stuck in the kernel, another user's, or forked faster than killed.
 * The states come from a stand-in for /proc; the processes are real. */
#include "job/job.h"
#include "job/kill.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include <cmocka.h>

enum { SETTLED_US = 1100000, OTHER_UID = 65534 };
static struct wl_arena *a;
static struct wl_err e;
static char proc[] = "/tmp/wattlaw-kill-XXXXXX";

static pid_t sleeper(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (;;) pause();
    }
    return pid;
}

static void write_proc_file(pid_t pid, const char *file, const char *text)
{
    const char *folder = wl_strf(a, "%s/%ld", proc, (long)pid);
    assert_int_equal(wl_mkdirs(wl_path_join(a, folder, "task/1"), &e), 0);
    assert_int_equal(wl_file_write(wl_path_join(a, folder, file), text, strlen(text), &e), 0);
}

/* A child of ours in that state, as /proc shows it. */
static void write_stat(pid_t pid, const char *name, char state)
{
    write_proc_file(pid, "stat",
                    wl_strf(a, "%ld (%s) %c %ld 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %ld 0 0", (long)pid, name, state,
                            (long)getpid(), 1000 + (long)pid));
}

static void kill_and_wait(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void a_process_stuck_in_the_kernel_is_described(void **state)
{
    (void)state;
    struct wl_kill k = { 0 };
    struct wl_kill_set v = { .root = getpid(), .proc = proc };
    char text[WL_KILL_TEXT_SIZE];
    pid_t stuck = sleeper(), slow = sleeper();
    write_stat(stuck, "dd (of) x", 'D');
    write_proc_file(stuck, "wchan", "nfs_wait_bit_killable");
    write_stat(slow, "toy", 'S');
    write_proc_file(slow, "wchan", "0");
    assert_int_equal(wl_kill_round(&k, &v), 2);
    usleep(SETTLED_US);
    assert_int_equal(wl_kill_round(&k, &v), 2);
    assert_false(wl_kill_timed_out(&k));
    wl_kill_describe(&k, &v, text, sizeof text);
    const char *want =
        wl_strf(a, "%ld (dd (of) x) is stuck in the kernel (uninterruptible sleep in nfs_wait_bit_killable)",
                (long)stuck);
    if (!strstr(text, want)) fail_msg("%s", text);
    if (!strstr(text, wl_strf(a, "%ld (toy) has not ended (state S)", (long)slow))) fail_msg("%s", text);
    if (strstr(text, "fork faster")) fail_msg("%s", text);
    wl_kill_free(&k);
    kill_and_wait(stuck);
    kill_and_wait(slow);
}

/* Each round finds another process: nothing is stuck. */
static void a_fork_chain_is_described(void **state)
{
    (void)state;
    struct wl_kill k = { 0 };
    struct wl_kill_set v = { .root = getpid(), .proc = proc };
    char text[WL_KILL_TEXT_SIZE];
    pid_t link = 0;
    for (int i = 0; i < 3; i++) {
        if (link) {
            assert_int_equal(unlink(wl_strf(a, "%s/%ld/stat", proc, (long)link)), 0);
            kill_and_wait(link);
        }
        link = sleeper();
        write_stat(link, "bomb", 'D');
        assert_int_equal(wl_kill_round(&k, &v), 1);
    }
    wl_kill_describe(&k, &v, text, sizeof text);
    if (!strstr(text, wl_strf(a, "processes fork faster than they are killed, the last one seen is %ld", (long)link)) ||
        strstr(text, "stuck"))
        fail_msg("%s", text);
    wl_kill_free(&k);
    kill_and_wait(link);
}

/* Each scan of a round finds another process, as with a chain that forks during the scans. */
struct chain {
    int links;
    pid_t link;
};

static void next_link(void *ctx)
{
    enum { LINKS = 20, POLLS_MAX = 10, POLL_US = 1000 }; /* a killed process takes a moment to end */
    struct chain *c = ctx;
    for (int i = 0; c->link && i < POLLS_MAX; i++) {
        if (waitpid(c->link, NULL, WNOHANG) == c->link)
            c->link = 0;
        else
            usleep(POLL_US);
    }
    if (c->link) return;
    if (c->links == LINKS) return;
    c->links++;
    c->link = sleeper();
}

static void a_round_continues_until_it_finds_no_new_process(void **state)
{
    (void)state;
    enum { ROUNDS = 6 }; /* one on an idle machine */
    struct chain c = { 0 };
    struct wl_kill k = { 0 };
    struct wl_kill_set v = { .root = getpid(), .collect = next_link, .ctx = &c };
    next_link(&c);
    int rounds = 0;
    while (rounds++ < ROUNDS && (wl_kill_round(&k, &v) > 0 || c.link)) next_link(&c);
    if (c.link) kill_and_wait(c.link);
    wl_kill_free(&k);
    if (rounds > ROUNDS) fail_msg("%d links in %d rounds", c.links, ROUNDS);
}

/* A zombie has ended, except one whose other threads still run. */
static void a_zombie_has_ended(void **state)
{
    (void)state;
    struct wl_kill_set v = { .root = getpid(), .proc = proc };
    pid_t *pids, zombie = sleeper(), half = sleeper();
    write_stat(zombie, "zombie", 'Z');
    write_stat(half, "half", 'Z');
    write_proc_file(half, "task/1/comm", "a");
    write_proc_file(half, "comm", "a");
    assert_int_equal(wl_mkdirs(wl_strf(a, "%s/%ld/task/2", proc, (long)half), &e), 0);
    assert_int_equal(wl_kill_set_list(&v, &pids, a), 1);
    assert_int_equal(pids[0], half);
    kill_and_wait(zombie);
    kill_and_wait(half);
}

/* Root without CAP_KILL, like a user with sudo: it may not end a process of another user, which is reported at once. */
static void another_users_process_is_described(void **state)
{
    (void)state;
    if (geteuid() != 0) skip();
    pid_t pid = fork();
    if (pid == 0) {
        struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct cap[2];
        char text[WL_KILL_TEXT_SIZE] = "";
        struct wl_kill k = { 0 };
        struct wl_kill_set v = { .root = getpid() };
        int alive[2]; /* closed when this process ends: the other one then ends too */
        if (pipe(alive)) _exit(1);
        pid_t other = fork();
        if (other == 0) {
            char none;
            close(alive[1]);
            if (setresuid(OTHER_UID, OTHER_UID, OTHER_UID)) _exit(1);
            _exit(read(alive[0], &none, 1) != 0);
        }
        if (syscall(SYS_capget, &head, cap)) _exit(2);
        cap[0].effective &= ~(1u << CAP_KILL);
        cap[0].permitted &= ~(1u << CAP_KILL);
        if (syscall(SYS_capset, &head, cap)) _exit(3);
        while (kill(other, 0) == 0) usleep(1000); /* it is still root */
        if (wl_kill_round(&k, &v) != 1) _exit(4);
        if (wl_kill_set_signal(&v, SIGTERM) != 1) _exit(5); /* it counts, though no signal reaches it */
        wl_kill_describe(&k, &v, text, sizeof text);
        bool described = strstr(text, "runs as user 65534, and user 0 may not end it") && !strstr(text, "stuck");
        if (!described) fprintf(stderr, "%s\n", text);
        _exit(described ? 0 : 6);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return mkdtemp(strcpy(proc, "/tmp/wattlaw-kill-XXXXXX")) ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    char *argv[] = { (char *)"rm", (char *)"-r", proc, NULL };
    struct wl_process_result end;
    int rc = wl_process_run(&(struct wl_process_run) { .argv = argv }, NULL, &end, a, &e);
    wl_arena_free(a);
    return rc;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_process_stuck_in_the_kernel_is_described),
        TEST(a_fork_chain_is_described),
        TEST(a_round_continues_until_it_finds_no_new_process),
        TEST(a_zombie_has_ended),
        TEST(another_users_process_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
