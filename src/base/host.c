#include "base/host.h"

#include "base/file.h"
#include "base/str.h"

#include <stdlib.h>
#include <unistd.h>

char *wl_host_name(struct wl_arena *a)
{
    char name[256];
    const char *given = getenv("WATTLAW_HOST");
    if (given && *given) return wl_strdup(a, given);
    if (gethostname(name, sizeof name)) return wl_strdup(a, "unknown");
    name[sizeof name - 1] = '\0';
    return wl_strdup(a, name);
}

char *wl_boot_id(struct wl_arena *a)
{
    char *text;
    if (wl_file_read("/proc/sys/kernel/random/boot_id", 256, &text, NULL, a, NULL) < 0) return wl_strdup(a, "");
    return wl_strip(a, text);
}
