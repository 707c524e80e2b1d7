#include "base/machine.h"

#include "base/file.h"

#include <string.h>
#include <sys/utsname.h>

char *wl_cpu_name(struct wl_arena *a)
{
    enum { MAX_BYTES = 16 << 20 }; /* some kilobytes a core */
    char *text;
    struct utsname u;
    if (wl_file_read("/proc/cpuinfo", MAX_BYTES, &text, NULL, a, NULL) == 0) {
        const char *at = strstr(text, "model name");
        const char *colon = at ? strchr(at, ':') : NULL;
        if (colon) return wl_strip(a, wl_strndup(a, colon + 1, strcspn(colon + 1, "\n")));
    }
    return wl_strdup(a, uname(&u) == 0 ? u.machine : "unknown");
}
