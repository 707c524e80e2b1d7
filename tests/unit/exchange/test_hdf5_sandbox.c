/* What a process may do that has confined itself: each try is a process, whose exit status says how it went. */
#include "cmd/hdf5/sandbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DONE = 20, DENIED, OTHERWISE, NOT_CONFINED };

static int outcome(long rc) { return rc >= 0 ? DONE : errno == EPERM ? DENIED : OTHERWISE; }

static int status_of(int (*attempt)(void), bool confined)
{
    struct wl_err e;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (confined && wl_hdf5_confine(1 << 20, &e) < 0) _exit(NOT_CONFINED);
        _exit(attempt());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int open_file(void) { return outcome(open("/proc/self/status", O_RDONLY)); }
static int make_file(void) { return outcome(open("made", O_WRONLY | O_CREAT, 0600)); }
static int remove_file(void) { return outcome(unlink("made")); }
static int connect_out(void) { return outcome(socket(AF_UNIX, SOCK_STREAM, 0)); }
static int signal_parent(void) { return outcome(kill(getppid(), 0)); }

static int execute(void)
{
    char *const argv[] = { (char *)"true", NULL };
    return outcome(execv("/bin/true", argv)); /* 0 where it may */
}

static int make_process(void)
{
    pid_t child = fork();
    if (child == 0) _exit(0);
    return outcome(child);
}

static int make_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
               ? outcome(-1)
               : DONE;
}

static int make_memory_code(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? OTHERWISE : outcome(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}

static int compute(void)
{
    enum { BYTES = 1 << 24 };
    char *p = malloc(BYTES), *q = p ? realloc(p, 2 * (size_t)BYTES) : NULL;
    if (!q) return OTHERWISE;
    for (size_t i = 0; i < 2 * (size_t)BYTES; i += 4096) q[i] = 1;
    free(q);
    return write(STDERR_FILENO, "", 0) == 0 ? DONE : OTHERWISE;
}

static void nothing_but_compute(void **state)
{
    static int (*const tries[])(void) = { open_file, make_file,    remove_file, connect_out,     signal_parent,
                                          execute,   make_process, make_code,   make_memory_code };
    (void)state;
    for (size_t i = 0; i < WL_COUNT(tries); i++) {
        const int freely = status_of(tries[i], false);
        assert_true(freely == DONE || (tries[i] == execute && freely == 0));
        assert_int_equal(status_of(tries[i], true), DENIED);
    }
    assert_int_equal(status_of(compute, true), DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nothing_but_compute) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
