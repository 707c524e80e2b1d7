/* What SIGKILL does not end is described as it is: stuck in the kernel, another user's, or forked faster than killed.
 * The states come from a folder that stands for /proc; the processes are real. */
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

static void put(pid_t pid, const char *file, const char *text)
{
    const char *folder = wl_strf(a, "%s/%ld", proc, (long)pid);
    assert_int_equal(wl_mkdirs(wl_path_join(a, folder, "task/1"), &e), 0);
    assert_int_equal(wl_file_write(wl_path_join(a, folder, file), text, strlen(text), &e), 0);
}

/* A child of ours in that state, as /proc shows it. */
static void put_status(pid_t pid, const char *name, char state)
{
    put(pid, "stat",
        wl_strf(a, "%ld (%s) %c %ld 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %ld 0 0", (long)pid, name, state,
                (long)getpid(), 1000 + (long)pid));
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void the_kernel_is_named(void **state)
{
    (void)state;
    struct wl_kill k = { 0 };
    struct wl_kill_set v = { .root = getpid(), .proc = proc };
    char text[WL_KILL_TEXT_SIZE];
    pid_t stuck = sleeper(), slow = sleeper();
    put_status(stuck, "dd (of) x", 'D');
    put(stuck, "wchan", "nfs_wait_bit_killable");
    put_status(slow, "toy", 'S');
    put(slow, "wchan", "0");
    assert_int_equal(wl_kill_round(&k, &v), 2);
    usleep(SETTLED_US);
    assert_int_equal(wl_kill_round(&k, &v), 2);
    assert_false(wl_kill_timed_out(&k));
    wl_kill_describe(&k, &v, text, sizeof text);
    const char *want =
        wl_strf(a, "%ld (dd (of) x) is stuck in the kernel (uninterruptible sleep in nfs_wait_bit_killable)",
                (long)stuck);
    if (!strstr(text, want)) fail_msg("%s", text);
    if (!strstr(text, wl_strf(a, "%ld (toy) did not take SIGKILL (state S)", (long)slow))) fail_msg("%s", text);
    if (strstr(text, "fork faster")) fail_msg("%s", text);
    wl_kill_free(&k);
    end(stuck);
    end(slow);
}

/* Each round meets another process: nothing is stuck. */
static void a_chain_is_named(void **state)
{
    (void)state;
    struct wl_kill k = { 0 };
    struct wl_kill_set v = { .root = getpid(), .proc = proc };
    char text[WL_KILL_TEXT_SIZE];
    pid_t link = 0;
    for (int i = 0; i < 3; i++) {
        if (link) {
            assert_int_equal(unlink(wl_strf(a, "%s/%ld/stat", proc, (long)link)), 0);
            end(link);
        }
        link = sleeper();
        put_status(link, "bomb", 'D');
        assert_int_equal(wl_kill_round(&k, &v), 1);
    }
    wl_kill_describe(&k, &v, text, sizeof text);
    if (!strstr(text, wl_strf(a, "processes fork faster than they are killed, the last one seen is %ld", (long)link)) ||
        strstr(text, "stuck"))
        fail_msg("%s", text);
    wl_kill_free(&k);
    end(link);
}

/* Each look of a round meets another process, as of a chain that forks while we look. */
struct chain {
    int links;
    pid_t link;
};

static void next_link(void *ctx)
{
    enum { LINKS = 20, LOOKS = 10, LOOK_US = 1000 }; /* what was killed takes a moment to end */
    struct chain *c = ctx;
    for (int i = 0; c->link && i < LOOKS; i++) {
        if (waitpid(c->link, NULL, WNOHANG) == c->link)
            c->link = 0;
        else
            usleep(LOOK_US);
    }
    if (c->link) return;
    if (c->links == LINKS) return;
    c->links++;
    c->link = sleeper();
}

static void a_round_goes_on_until_nobody_new_is_met(void **state)
{
    (void)state;
    enum { ROUNDS = 6 }; /* one where nothing else runs */
    struct chain c = { 0 };
    struct wl_kill k = { 0 };
    struct wl_kill_set v = { .root = getpid(), .collect = next_link, .ctx = &c };
    next_link(&c);
    int rounds = 0;
    while (rounds++ < ROUNDS && (wl_kill_round(&k, &v) > 0 || c.link)) next_link(&c);
    if (c.link) end(c.link);
    wl_kill_free(&k);
    if (rounds > ROUNDS) fail_msg("%d links in %d rounds", c.links, ROUNDS);
}

/* A zombie has ended; one whose threads go on has not. */
static void a_zombie_has_ended(void **state)
{
    (void)state;
    struct wl_kill_set v = { .root = getpid(), .proc = proc };
    pid_t *pids, zombie = sleeper(), half = sleeper();
    put_status(zombie, "zombie", 'Z');
    put_status(half, "half", 'Z');
    put(half, "task/1/comm", "a");
    put(half, "comm", "a");
    assert_int_equal(wl_mkdirs(wl_strf(a, "%s/%ld/task/2", proc, (long)half), &e), 0);
    assert_int_equal(wl_kill_set_list(&v, &pids, a), 1);
    assert_int_equal(pids[0], half);
    end(zombie);
    end(half);
}

/* Root without CAP_KILL, as a user beside sudo: who became another user may not be ended, which is said at once. */
static void another_users_process_is_named(void **state)
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
        int alive[2]; /* its end is ours */
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
        if (wl_kill_set_signal(&v, SIGTERM) != 1) _exit(5); /* it is there, though no signal reaches it */
        wl_kill_describe(&k, &v, text, sizeof text);
        bool told = strstr(text, "runs as user 65534, and user 0 may not end it") && !strstr(text, "stuck");
        if (!told) fprintf(stderr, "%s\n", text);
        _exit(told ? 0 : 6);
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
    int rc = wl_process_run(argv, 0, false, NULL, &end, a, &e);
    wl_arena_free(a);
    return rc;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_kernel_is_named),
        TEST(a_chain_is_named),
        TEST(a_round_goes_on_until_nobody_new_is_met),
        TEST(a_zombie_has_ended),
        TEST(another_users_process_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
