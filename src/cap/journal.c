/* Journals: what a process has set and what it found, on the disk before anything is set. One JSON file a holder. */
#include "cap/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 1, JOURNAL_MAX = 1 << 20 };
static const char ending[] = ".caps";

/* ---- places ---- */

char *wl_cap_state_dir(const struct wl_cap_opts *opts, struct wl_arena *a) { return wl_state_dir(opts->state_dir, a); }

char *wl_journal_path(const char *dir, const struct wl_holder *h, struct wl_arena *a)
{
    return wl_strf(a, "%s/%s-%lld-%lld%s", dir, h->host, (long long)h->pid, (long long)h->started, ending);
}

int wl_journal_list(const char *dir, struct wl_strs *paths, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs names;
    *paths = (struct wl_strs) { 0 };
    if (!wl_is_dir(dir)) return 0;
    int rc = wl_dir_list(dir, &names, a, e);
    for (size_t i = 0; i < names.n && rc == 0; i++) {
        size_t n = strlen(names.v[i]), end = strlen(ending);
        if (n > end && wl_streq(names.v[i] + n - end, ending)) wl_strs_add(a, paths, wl_path_join(a, dir, names.v[i]));
    }
    return rc;
}

int wl_state_lock(const char *dir, struct wl_err *e)
{
    char path[4096];
    int rc = wl_mkdirs(dir, e);
    if (rc < 0) return wl_prefix(e, "the journal of caps (--cap-state-dir or WATTLAW_STATE_DIR takes another place)");
    if (snprintf(path, sizeof path, "%s/lock", dir) >= (int)sizeof path)
        return wl_fail(e, WL_EINVAL, "%s: the path is too long", dir);
    int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0666); /* reading is enough: others may lock root's */
    if (fd < 0) return wl_fail_errno(e, "%s: cannot lock", path);
    while (flock(fd, LOCK_EX)) {
        if (errno == EINTR) continue;
        rc = wl_fail_errno(e, "%s: cannot lock", path);
        close(fd);
        return rc;
    }
    return fd;
}

/* ---- holders ---- */

/* Field 22 of /proc/PID/stat; -1: no such process, or one that is dead and not yet waited for. The command's name may
 * hold anything: fields count from the last ')'. */
static int64_t started_at(int64_t pid, struct wl_arena *a)
{
    char *text;
    if (wl_file_read(wl_strf(a, "/proc/%lld/stat", (long long)pid), 4096, &text, NULL, a, NULL) < 0) return -1;
    const char *at = strrchr(text, ')');
    char state = 0;
    long long started = -1;
    if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld",
                      &state, &started) != 2)
        return -1;
    return state == 'Z' || state == 'X' ? -1 : started;
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
                                .boot_id = wl_boot_id(a),
                                .pid_ns = link_of("/proc/self/ns/pid", a),
                                .host = wl_host_name(a) };
    return *out->boot_id ? 0 : wl_fail(e, WL_EIO, "this boot of the machine has no number (boot_id cannot be read)");
}

enum wl_life wl_holder_life(const struct wl_holder *h, const char **why, struct wl_arena *a)
{
    struct wl_holder here;
    struct wl_err e;
    *why = NULL;
    if (wl_holder_self(&here, a, &e) < 0) {
        *why = wl_strdup(a, e.msg);
        return WL_LIFE_ELSEWHERE;
    }
    bool same_boot = wl_streq(h->boot_id, here.boot_id);
    if (!wl_streq(h->host, here.host)) { /* a container has a name of its own */
        *why = wl_strf(a, "it belongs to another %s, %s", same_boot ? "container" : "machine", h->host);
        return same_boot ? WL_LIFE_ELSEWHERE : WL_LIFE_OTHER_HOST;
    }
    if (!same_boot) return WL_LIFE_REBOOTED;
    if (!wl_streq(h->pid_ns, here.pid_ns)) {
        *why = wl_strf(a, "process %lld of another container may still run", (long long)h->pid);
        return WL_LIFE_ELSEWHERE;
    }
    if (started_at(h->pid, a) != h->started) return WL_LIFE_DEAD;
    *why = wl_strf(a, "process %lld holds it", (long long)h->pid);
    return WL_LIFE_ALIVE;
}

/* ---- writing ---- */

static int sync_folder(const char *path, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *dir = wl_path_dir(a, path);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? wl_fail_errno(e, "%s: cannot sync the folder", dir) : 0;
    if (fd >= 0) close(fd);
    wl_arena_free(a);
    return rc;
}

static struct wl_json *journal_json(const struct wl_journal *j, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a), *o;
    wl_json_add_int(root, "wattlaw_caps", FORMAT);
    o = wl_json_add_object(root, "holder");
    wl_json_add_int(o, "pid", j->holder.pid);
    wl_json_add_int(o, "started", j->holder.started);
    wl_json_add_str(o, "boot_id", j->holder.boot_id);
    wl_json_add_str(o, "pid_ns", j->holder.pid_ns);
    wl_json_add_str(o, "host", j->holder.host);
    o = wl_json_add_object(root, "options");
    wl_json_add_str(o, "command", j->opts.command);
    wl_json_add_str(o, "restore", j->opts.restore);
    wl_json_add_str(o, "clock_command", j->opts.clock_command);
    wl_json_add_str(o, "clock_restore", j->opts.clock_restore);
    wl_json_add_real(o, "wait_s", wl_cap_wait_s(&j->opts));
    wl_json_add_str(o, "nvml_library", j->power.nvml_library ? j->power.nvml_library : getenv("NVML_LIBRARY"));
    wl_json_add_str(o, "root", j->power.root);
    struct wl_json *caps = wl_json_add_array(root, "caps");
    for (size_t i = 0; i < j->n; i++) {
        o = wl_json_add_object(caps, NULL);
        wl_json_add_str(o, "kind", wl_cap_kind_name(j->v[i].kind));
        wl_json_add_str(o, "setter", j->v[i].setter);
        wl_json_add_str(o, "device", j->v[i].device);
        wl_json_add_real(o, "found", j->v[i].found);
        wl_json_add_real(o, "set", j->v[i].set);
    }
    return root;
}

char *wl_journal_text(const struct wl_journal *j, struct wl_arena *a)
{
    return wl_strf(a, "%s\n", wl_json_text(journal_json(j, a), 1, a));
}

int wl_journal_write(const struct wl_journal *j, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *text = wl_journal_text(j, a);
    int rc = wl_file_write(j->path, text, strlen(text), e);
    if (rc == 0) rc = sync_folder(j->path, e);
    wl_arena_free(a);
    return rc;
}

int wl_journal_remove(const char *path, struct wl_err *e)
{
    if (unlink(path) && errno != ENOENT) return wl_fail_errno(e, "%s: cannot remove", path);
    return sync_folder(path, e);
}

/* ---- reading ---- */

static int kind_from(const char *name)
{
    for (int k = 0; k < WL_CAP_KINDS; k++)
        if (wl_streq(wl_cap_kind_name(k), name)) return k;
    return -1;
}

static const char *text_of(const struct wl_json *o, const char *key) { return wl_json_str(wl_json_get(o, key)); }

static int read_entry(const struct wl_json *o, const char *path, struct wl_entry *out, struct wl_err *e)
{
    int kind = kind_from(text_of(o, "kind"));
    *out = (struct wl_entry) { .setter = text_of(o, "setter"),
                               .device = text_of(o, "device"),
                               .kind = kind < 0 ? 0 : (enum wl_cap_kind)kind,
                               .found = wl_json_real(wl_json_get(o, "found")),
                               .set = wl_json_real(wl_json_get(o, "set")) };
    if (kind < 0 || !out->device || !out->setter || !wl_setter_find(out->setter))
        return wl_fail(e, WL_EINVAL, "%s: a cap without a known kind, setter and device", path);
    /* a lock that was not there is found as nothing; a limit always has a value */
    bool found = out->found > 0 || (isnan(out->found) && !wl_cap_is_power(out->kind));
    if (found && out->set > 0 && isfinite(out->set)) return 0;
    return wl_fail(e, WL_EINVAL, "%s: %s of %s: expected the value found and the value set, both above 0", path,
                   wl_cap_kind_name(out->kind), out->device);
}

/* Its commands and library would run as us: only what we have written ourselves is obeyed. */
int wl_journal_check_owner(const char *path, struct wl_err *e)
{
    struct stat st;
    if (stat(path, &st)) return wl_fail_errno(e, "%s", path);
    if (st.st_uid == geteuid()) return 0;
    return wl_fail(e, WL_EPERM, "%s: belongs to user %u, who must put it back: wattlaw restore", path,
                   (unsigned)st.st_uid);
}

int wl_journal_parse(const char *path, const char *text, struct wl_journal *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *root;
    *out = (struct wl_journal) { .path = wl_strdup(a, path) };
    int rc = wl_json_parse(text, path, &root, a, e);
    if (rc < 0) return rc;
    if (wl_json_int(wl_json_get(root, "wattlaw_caps"), -1) != FORMAT)
        return wl_fail(e, WL_EINVAL, "%s: is not a journal of caps of format %d", path, FORMAT);
    const struct wl_json *h = wl_json_get(root, "holder"), *o = wl_json_get(root, "options");
    out->holder = (struct wl_holder) { .pid = wl_json_int(wl_json_get(h, "pid"), -1),
                                       .started = wl_json_int(wl_json_get(h, "started"), -1),
                                       .boot_id = text_of(h, "boot_id"),
                                       .pid_ns = text_of(h, "pid_ns"),
                                       .host = text_of(h, "host") };
    if (out->holder.pid <= 0 || !out->holder.boot_id || !out->holder.host)
        return wl_fail(e, WL_EINVAL, "%s: a journal of caps without its holder", path);
    out->opts = (struct wl_cap_opts) { .setter = "auto",
                                       .command = text_of(o, "command"),
                                       .restore = text_of(o, "restore"),
                                       .clock_command = text_of(o, "clock_command"),
                                       .clock_restore = text_of(o, "clock_restore"),
                                       .wait_s = wl_json_real(wl_json_get(o, "wait_s")) };
    out->power = (struct wl_power_opts) { .nvml_library = text_of(o, "nvml_library"),
                                          .root = text_of(o, "root") ? text_of(o, "root") : "" };
    const struct wl_json *caps = wl_json_get(root, "caps");
    out->n = wl_json_size(caps);
    out->v = wl_new_array(a, struct wl_entry, out->n);
    for (size_t i = 0; i < out->n && rc == 0; i++) rc = read_entry(wl_json_at(caps, i), path, &out->v[i], e);
    return rc;
}

int wl_journal_read(const char *path, struct wl_journal *out, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    int rc = wl_file_read(path, JOURNAL_MAX, &text, NULL, a, e);
    return rc < 0 ? rc : wl_journal_parse(path, text, out, a, e);
}
