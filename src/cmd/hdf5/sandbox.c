#include "cmd/hdf5/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* ---- limits ---- */

/* A copy of the file is held by the caller, by the property list, by its copy and by the driver of files in memory. */
enum { COPIES = 6 };
static const rlim_t ROOM = (rlim_t)1 << 30, SECONDS = 20, BYTES_PER_SECOND = 1 << 20;

static int limit(int what, rlim_t most, struct wl_err *e)
{
    struct rlimit now;
    if (getrlimit(what, &now) < 0) return wl_fail_errno(e, "cannot read a limit of the process");
    if (now.rlim_max < most) most = now.rlim_max;
    if (setrlimit(what, &(struct rlimit) { most, most + (most < now.rlim_max) }) < 0) /* SIGXCPU before SIGKILL */
        return wl_fail_errno(e, "cannot set a limit of the process");
    return 0;
}

static int set_limits(size_t bytes, struct wl_err *e)
{
    int rc = limit(RLIMIT_CORE, 0, e);
    if (rc == 0) rc = limit(RLIMIT_CPU, SECONDS + bytes / BYTES_PER_SECOND, e);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* their shadow memory is of terabytes */
    if (rc == 0) rc = limit(RLIMIT_AS, ROOM + COPIES * (rlim_t)bytes, e);
#endif
    return rc;
}

/* ---- system calls ---- */

#ifdef ARCHITECTURE
#define LOAD(member)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ANSWER(what)       BPF_STMT(BPF_RET | BPF_K, what)
#define IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define PERMIT(call)       IF(__NR_##call, 0, 1), ANSWER(SECCOMP_RET_ALLOW)

/* Without memory that can be executed: low half of the third argument (little-endian on both architectures). */
#define PERMIT_UNLESS_EXECUTABLE(call)                                                           \
    IF(__NR_##call, 0, 4), LOAD(args[2]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0), \
        ANSWER(SECCOMP_RET_ALLOW), ANSWER(SECCOMP_RET_ERRNO | EPERM)

static int filter_calls(struct wl_err *e)
{
    struct sock_filter filter[] = {
        LOAD(arch),
        IF(ARCHITECTURE, 1, 0),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        PERMIT(write),
        PERMIT(brk),
        PERMIT(munmap),
        PERMIT(mremap),
        PERMIT(madvise),
        PERMIT(futex),
        PERMIT(clock_gettime),
        PERMIT(rt_sigreturn),
        PERMIT(exit),
        PERMIT(exit_group),
#ifdef __SANITIZE_ADDRESS__
        PERMIT(sigaltstack), /* which it asks for before each call that does not return */
#endif
        PERMIT_UNLESS_EXECUTABLE(mmap),
        PERMIT_UNLESS_EXECUTABLE(mprotect),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = { .len = WL_COUNT(filter), .filter = filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return wl_fail(e, WL_EUNAVAIL, "the kernel does not confine the process that reads HDF5 (seccomp filters): %s",
                       strerror(errno));
    return 0;
}
#else
static int filter_calls(struct wl_err *e)
{
    return wl_fail(e, WL_EUNAVAIL,
                   "HDF5 files are read on x86-64 and AArch64 only: the filter of system calls for "
                   "this processor has not been written");
}
#endif

int wl_hdf5_confine(size_t bytes, struct wl_err *e)
{
    int rc = set_limits(bytes, e);
    return rc < 0 ? rc : filter_calls(e);
}
