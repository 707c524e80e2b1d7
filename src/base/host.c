#include "base/host.h"

#include "base/file.h"
#include "base/str.h"
#include "base/trust.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
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

char *wl_host_boot_id(struct wl_arena *a)
{
    char *text;
    if (wl_file_read("/proc/sys/kernel/random/boot_id", 256, &text, NULL, a, NULL) < 0) return wl_strdup(a, "");
    return wl_str_strip(a, text);
}

char *wl_host_cpu_name(struct wl_arena *a)
{
    enum { MAX_BYTES = 16 << 20 }; /* some kilobytes per core */
    char *text;
    struct utsname u;
    if (wl_file_read("/proc/cpuinfo", MAX_BYTES, &text, NULL, a, NULL) == 0) {
        const char *at = strstr(text, "model name");
        const char *colon = at ? strchr(at, ':') : NULL;
        if (colon) return wl_str_strip(a, wl_strndup(a, colon + 1, strcspn(colon + 1, "\n")));
    }
    return wl_strdup(a, uname(&u) == 0 ? u.machine : "unknown");
}

static const char *set_variable(const char *name)
{
    const char *v = getenv(name);
    return v && *v ? v : NULL;
}

/* In /tmp anybody may have made it first: then it is nowhere. */
static char *state_dir_without_home(struct wl_arena *a)
{
    char *dir = wl_strf(a, "/tmp/wattlaw-state-%ld", (long)geteuid());
    struct stat st;
    const bool there = lstat(dir, &st) == 0;
    const bool ours = there && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !wl_is_open_to_others(&st);
    return there && !ours ? wl_strdup(a, "/nonexistent/wattlaw") : dir;
}

char *wl_state_dir(const char *given, struct wl_arena *a)
{
    const char *state = set_variable("XDG_STATE_HOME"), *home = set_variable("HOME");
    if (!given) given = set_variable("WATTLAW_STATE_DIR");
    if (given) return wl_path_absolute(a, given);
    if (geteuid() == 0) return wl_strdup(a, "/var/lib/wattlaw");
    if (state) return wl_path_join(a, state, "wattlaw");
    return home ? wl_path_join(a, home, ".local/state/wattlaw") : state_dir_without_home(a);
}
