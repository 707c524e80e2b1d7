/* Preloaded into wattlaw: SIGKILL reaches nobody, as if every process sat in the kernel. All else is passed on. */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int kill(pid_t pid, int sig) { return sig == SIGKILL ? 0 : (int)syscall(SYS_kill, pid, sig); }
