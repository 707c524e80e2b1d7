/* Preloaded into wattlaw: SIGKILL has no effect, as on processes that are stuck in the kernel. Other signals are sent.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int kill(pid_t pid, int sig) { return sig == SIGKILL ? 0 : (int)syscall(SYS_kill, pid, sig); }
