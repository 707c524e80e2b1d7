#include "cap/holder.h"

#include "cap/safe_file.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NOT_ALIVE = -1, NOT_SEEN = -2 };

/* If /proc hides processes of other users (hidepid), EPERM from kill() shows that the process exists. */
static bool is_hidden(int64_t pid) { return pid <= INT_MAX && kill((pid_t)pid, 0) < 0 && errno == EPERM; }

/* Field 22 of /proc/PID/stat. NOT_ALIVE: no such process, or a zombie. The command's name may hold any character:
 * fields count from the last ')'. */
static int64_t started_at(int64_t pid, struct wl_arena *a)
{
    char *text;
    if (wl_file_read(wl_strf(a, "/proc/%lld/stat", (long long)pid), 4096, &text, NULL, a, NULL) < 0)
        return is_hidden(pid) ? NOT_SEEN : NOT_ALIVE;
    const char *at = strrchr(text, ')');
    char state = 0;
    long long started = NOT_ALIVE;
    if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld",
                      &state, &started) != 2)
        return NOT_ALIVE;
    return state == 'Z' || state == 'X' ? NOT_ALIVE : started;
}

/* Is `user` its effective user? From a file that all can read: /proc/PID itself belongs to root if the process is not
 * dumpable. */
static bool acts_as(int64_t pid, uid_t user, struct wl_arena *a)
{
    enum { STATUS_MAX = 1 << 16 };
    char *text;
    unsigned effective;
    if (wl_file_read(wl_strf(a, "/proc/%lld/status", (long long)pid), STATUS_MAX, &text, NULL, a, NULL) < 0)
        return false;
    const char *at = strstr(text, "\nUid:");
    return at && sscanf(at, " Uid: %*u %u", &effective) == 1 && effective == user;
}

static const char *link_of(const char *path, struct wl_arena *a)
{
    char to[256];
    ssize_t n = readlink(path, to, sizeof to - 1);
    return wl_strndup(a, n > 0 ? to : "?", n > 0 ? (size_t)n : 1);
}

int wl_holder_self(struct wl_holder *out, struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_holder) { .pid = getpid(),
                                .started = started_at(getpid(), a),
                                .boot_id = wl_host_boot_id(a),
                                .pid_ns = link_of("/proc/self/ns/pid", a),
                                .host = wl_host_name(a) };
    return *out->boot_id ? 0 : wl_fail(e, WL_EIO, "cannot read the machine's boot_id");
}

enum wl_holder_state wl_holder_state_of(const struct wl_holder *h, uid_t owner, const char **why, struct wl_arena *a)
{
    struct wl_holder here;
    struct wl_err e;
    *why = NULL;
    if (wl_holder_self(&here, a, &e) < 0) {
        *why = wl_strdup(a, e.msg);
        return WL_HOLDER_ELSEWHERE;
    }
    bool same_boot = wl_str_eq(h->boot_id, here.boot_id);
    if (!wl_str_eq(h->host, here.host)) { /* a container has a host name of its own */
        *why = wl_strf(a, "it belongs to another %s, %s", same_boot ? "container" : "machine", h->host);
        return same_boot ? WL_HOLDER_ELSEWHERE : WL_HOLDER_OTHER_HOST;
    }
    if (!same_boot) return WL_HOLDER_REBOOTED;
    if (!wl_str_eq(h->pid_ns, here.pid_ns)) {
        *why = wl_strf(a, "process %lld of another container may still run", (long long)h->pid);
        return WL_HOLDER_ELSEWHERE;
    }
    int64_t started = started_at(h->pid, a);
    if (started == NOT_SEEN) {
        *why = wl_strf(a, "process %lld of user %u, not visible to this user, may still run", (long long)h->pid,
                       (unsigned)owner);
        return WL_HOLDER_ELSEWHERE;
    }
    if (started != h->started || !acts_as(h->pid, owner, a)) return WL_HOLDER_DEAD;
    *why = owner == geteuid() ? wl_strf(a, "process %lld holds it", (long long)h->pid)
                              : wl_strf(a, "process %lld of user %u holds it", (long long)h->pid, (unsigned)owner);
    return WL_HOLDER_ALIVE;
}

/* ---- as JSON ---- */

void wl_holder_write(const struct wl_holder *h, struct wl_json *o)
{
    wl_json_add_int(o, "pid", h->pid);
    wl_json_add_int(o, "started", h->started);
    wl_json_add_str(o, "boot_id", h->boot_id);
    wl_json_add_str(o, "pid_ns", h->pid_ns);
    wl_json_add_str(o, "host", h->host);
}

static const char *plain_of(const struct wl_json *o, const char *key)
{
    const char *s = wl_json_str(wl_json_get(o, key));
    return s && wl_is_printable_ascii(s) ? s : NULL;
}

int wl_holder_read(const struct wl_json *o, const char *path, struct wl_holder *out, struct wl_err *e)
{
    *out = (struct wl_holder) { .pid = wl_json_int(wl_json_get(o, "pid"), -1),
                                .started = wl_json_int(wl_json_get(o, "started"), -1),
                                .boot_id = plain_of(o, "boot_id"),
                                .pid_ns = plain_of(o, "pid_ns"),
                                .host = plain_of(o, "host") };
    return out->pid > 0 && out->boot_id && out->host ? 0 : wl_fail(e, WL_EINVAL, "%s: no valid holder", path);
}
