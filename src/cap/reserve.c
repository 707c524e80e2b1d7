/* Devices that a process reserves while it measures: one file per device in the folder of its user, locked by the
 * process, whose end releases the lock. Others only read it. */
#include "cap/control.h"
#include "cap/holder.h"
#include "cap/safe_file.h"
#include "cap/state_dir.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 1, TEXT_MAX = 4096, MAX_DEVICES = 4096 };
static const char suffix[] = ".device";

/* ---- reservations of others ---- */

struct reservation {
    const char *device, *what;
    struct wl_holder holder;
    uid_t owner;
};

static bool read_reservation(const char *path, struct reservation *r, struct wl_arena *a)
{
    char *text;
    struct wl_json *root;
    struct wl_err e;
    if (wl_safe_file_read(path, TEXT_MAX, &text, &r->owner, a, &e) < 0) return false;
    if (wl_json_parse(text, "reservation", &root, a, &e) < 0) return false;
    if (wl_json_int(wl_json_get(root, "wattlaw_device"), -1) != FORMAT) return false;
    const char *what = wl_json_str(wl_json_get(root, "what"));
    r->device = wl_json_str(wl_json_get(root, "device"));
    r->what = wl_printable_ascii(what ? what : "?", a);
    return r->device && wl_holder_read(wl_json_get(root, "holder"), "reservation", &r->holder, &e) == 0;
}

/* A shared lock suffices to detect the holder's lock. */
static bool is_locked(const char *path)
{
    struct stat st;
    struct wl_err none;
    int fd = wl_safe_file_open(path, O_RDONLY, &st, &none);
    bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (fd >= 0) close(fd);
    return locked;
}

/* Machines may share a state folder on a shared disk, and their CPUs have the same names. */
static bool is_of(const struct reservation *r, const struct wl_control *k, const char *boot_id)
{
    return wl_str_eq(r->device, k->device) &&
           (wl_str_starts(k->device, "GPU-") || wl_str_eq(r->holder.boot_id, boot_id));
}

static int refuse(const struct reservation *r, const struct wl_control *k, struct wl_arena *a, struct wl_err *e)
{
    const char *user = r->owner == geteuid() ? "" : wl_strf(a, " of user %u", (unsigned)r->owner);
    return wl_fail(e, WL_EPERM, "%s (%s) is in use by process %lld (%s)%s; wait for it, or use other devices",
                   k->device, k->name, (long long)r->holder.pid, r->what, user);
}

/* A reservation that is not locked, or whose holder is dead, does not count; one of this user is removed. */
static int check_one(const char *path, const struct wl_controls *controls, const struct wl_cap_client *client,
                     struct wl_arena *a, struct wl_err *e)
{
    struct reservation r;
    struct wl_err none;
    const char *why, *boot_id = wl_host_boot_id(a);
    if (!read_reservation(path, &r, a)) return 0;
    if (client && r.holder.pid == client->pid && (int64_t)r.owner == client->user) return 0;
    if (!is_locked(path) || wl_holder_state_of(&r.holder, r.owner, &why, a) == WL_HOLDER_DEAD) {
        if (r.owner == geteuid() && wl_safe_file_remove(path, r.owner, &none) < 0)
            wl_log(WL_DEBUG, "cap", "%s", none.msg);
        return 0;
    }
    for (size_t i = 0; i < controls->n; i++)
        if (is_of(&r, &controls->v[i], boot_id)) return refuse(&r, &controls->v[i], a, e);
    return 0;
}

static int check_all(const char *dir, const struct wl_controls *controls, const struct wl_cap_client *client,
                     struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs paths, why;
    int rc = wl_cap_state_files(dir, suffix, MAX_DEVICES, &paths, &why, a, e);
    for (size_t i = 0; i < paths.n && rc == 0; i++) rc = check_one(paths.v[i], controls, client, a, e);
    return rc;
}

/* ---- own reservations ---- */

struct own {
    int fd;
    const char *path;
    pid_t pid;
};

static void drop(void *what)
{
    struct own *o = what;
    if (o->pid == getpid()) unlink(o->path);
    close(o->fd);
}

static char *file_name(const char *device, struct wl_arena *a)
{
    char *name = wl_strf(a, "%s.%d%s", device, (int)getpid(), suffix);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '_';
    return name;
}

static char *text_of(const char *device, const char *what, const struct wl_holder *h, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_int(root, "wattlaw_device", FORMAT);
    wl_json_add_str(root, "device", device);
    wl_json_add_str(root, "what", what);
    wl_holder_write(h, wl_json_add_object(root, "holder"));
    return wl_json_text(root, 0, a);
}

/* Not readable for others until it is locked: they could lock it too. */
static int reserve_one(const char *folder, const struct wl_control *k, const char *what, const struct wl_holder *h,
                       struct wl_arena *a, struct wl_err *e)
{
    struct own *o = wl_new(a, struct own);
    o->path = wl_path_join(a, folder, file_name(k->device, a));
    o->pid = getpid();
    if (unlink(o->path) && errno != ENOENT)
        return wl_fail_errno(e, "%s: cannot remove", o->path); /* left by a dead process with our pid */
    o->fd = open(o->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (o->fd < 0) return wl_fail_errno(e, "%s: cannot create", o->path);
    wl_defer(a, drop, o);
    const char *text = text_of(k->device, what, h, a);
    bool written = write(o->fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (!written || flock(o->fd, LOCK_EX | LOCK_NB) || fchmod(o->fd, 0644))
        return wl_fail_errno(e, "%s: cannot lock", o->path);
    return 0;
}

/* Several kinds of limits of one device share a reservation. */
static bool seen_before(const struct wl_controls *controls, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (wl_str_eq(controls->v[k].device, controls->v[i].device)) return true;
    return false;
}

static int reserve_locked(const char *dir, const struct wl_controls *controls, const char *what,
                          const struct wl_cap_client *client, struct wl_arena *a, struct wl_err *e)
{
    char *folder;
    struct wl_holder self;
    int rc = wl_cap_state_user_dir(dir, &folder, a, e);
    if (rc == 0) rc = check_all(dir, controls, client, a, e);
    if (rc == 0) rc = wl_holder_self(&self, a, e);
    for (size_t i = 0; i < controls->n && rc == 0; i++)
        if (!seen_before(controls, i)) rc = reserve_one(folder, &controls->v[i], what, &self, a, e);
    return rc;
}

int wl_caps_reserve(const bool kinds[WL_CAP_KINDS], const char *what, const struct wl_cap_opts *opts,
                    const struct wl_power_opts *power, struct wl_arena *a, struct wl_err *e)
{
    struct wl_setter_context context = { .opts = opts, .power = power, .all = opts->client != NULL, .a = a };
    struct wl_controls controls = { 0 };
    const char *dir = wl_cap_state_dir(opts, a), *fix;
    for (int kind = 0; kind < WL_CAP_KINDS; kind++) {
        size_t before = controls.n;
        struct wl_err none;
        if (kinds[kind] && wl_controls_open(&context, NULL, kind, &controls, &fix, &none) < 0) controls.n = before;
    }
    if (controls.n == 0) return 0;
    int rc = wl_cap_state_make(dir, e);
    int lock = rc < 0 ? rc : wl_cap_state_lock(dir, wl_cap_wait_s(opts), e);
    if (lock < 0) return lock;
    rc = reserve_locked(dir, &controls, what, opts->client, a, e);
    close(lock);
    return rc;
}
