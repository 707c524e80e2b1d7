/* Ends the process at the first access of the host to memory that it may not touch, with a line that says which.
 * cmocka's own handler would go on with the next case, in whatever state threads and ranks are left. */
#ifndef WL_TESTS_UNIT_NN_HOST_TOUCH_H
#define WL_TESTS_UNIT_NN_HOST_TOUCH_H

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

/* The instruction, and whether it writes; where this is not known, 0 and "touched". */
static inline uintptr_t instruction_of(const ucontext_t *u, const char **access)
{
    *access = "touched";
#if defined __x86_64__
    *access = u->uc_mcontext.gregs[REG_ERR] & 2 ? "wrote" : "read"; /* bit 1 of the page fault's error code */
    return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return (uintptr_t)u->uc_mcontext.pc;
#else
    (void)u;
    return 0;
#endif
}

static inline void report_touch(int number, siginfo_t *s, void *context)
{
    const char *access;
    const uintptr_t at = instruction_of(context, &access);
    Dl_info where = { 0 };
    (void)number;
    if (!dladdr((void *)at, &where)) where.dli_fname = "?";
    char line[256];
    const int n =
        snprintf(line, sizeof line, "the host %s %p, memory that it may not touch: %s+0x%zx (addr2line -fe)\n", access,
                 s->si_addr, where.dli_fname, (size_t)(at - (uintptr_t)where.dli_fbase));
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0) _exit(1);
} /* the access is made again, and SIGSEGV ends the process */

/* For the process that calls it, after cmocka has set its handlers: in the test, or in a process of its own. */
static inline void end_at_host_touch(void)
{
    static const int others[] = { SIGBUS, SIGFPE, SIGILL, SIGSYS };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) signal(others[i], SIG_DFL);
    struct sigaction how = { .sa_sigaction = report_touch, .sa_flags = SA_SIGINFO | SA_RESETHAND };
    sigaction(SIGSEGV, &how, NULL);
}

#endif
