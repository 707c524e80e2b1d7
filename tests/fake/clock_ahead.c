/* Preloaded: the wall clock is CLOCK_AHEAD_S seconds ahead of the machine's, for the process alone. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int (*const real)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))(intptr_t)dlsym(RTLD_NEXT, "clock_gettime");
    const char *ahead = getenv("CLOCK_AHEAD_S");
    int rc = real(clock, t);
    if (rc == 0 && clock == CLOCK_REALTIME && ahead) t->tv_sec += atol(ahead);
    return rc;
}
