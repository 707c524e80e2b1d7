/* A state folder full of what users may leave in it: journals of any content, owner, mode and kind of file, as the
 * input's bytes choose, over a machine with one CPU. `wattlaw restore` ends, names what it cannot read, touches nothing
 * that it does not understand, runs no command of another user, and sets a device only to a value that it takes. Where
 * it runs as root, as in ./check, owners are other users; else only dry runs are made. */
#include "base/base.h"
#include "cap/cap.h"
#include "cap/holder.h"
#include "cap/safe_file.h"
#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw"
#define FREQ  "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"
enum { MOST_JOURNALS = 4, MOST_CAPS = 3, RAW_MAX = 200, MAX_W = 205, MAX_KHZ = 3500000 };
static const uid_t users[] = { 61001, 61002 };

/* ---- the input as a row of choices ---- */

struct input {
    const uint8_t *p;
    size_t n;
};

static unsigned next(struct input *in, unsigned below)
{
    if (in->n == 0) return 0;
    in->n--;
    return *in->p++ % below;
}

#define CHOOSE(in, list) (list)[next(in, WL_COUNT(list))]

/* ---- the machine ---- */

static char *dir, *place, *proof;
static struct wl_holder self;

static void put(const char *path, const char *text)
{
    char full[4096];
    struct wl_err e;
    snprintf(full, sizeof full, "%s/%s", dir, path);
    struct wl_arena *a = wl_arena_new(NULL);
    WL_CHECK(wl_mkdirs(wl_path_dir(a, full), &e) == 0);
    wl_arena_free(a);
    FILE *f = fopen(full, "w");
    WL_CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static double number(const char *path)
{
    char full[4096], text[64] = "";
    snprintf(full, sizeof full, "%s/%s", dir, path);
    FILE *f = fopen(full, "r");
    WL_CHECK(f && fgets(text, sizeof text, f) && fclose(f) == 0);
    return strtod(text, NULL);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void remove_all(void) { nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static void make_machine(void)
{
    static struct wl_arena *a;
    struct wl_err e;
    const char *base = getenv("TMPDIR");
    a = wl_arena_new(NULL);
    dir = wl_strf(a, "%s/wattlaw-fuzz-XXXXXX", base ? base : "/tmp");
    WL_CHECK(mkdtemp(dir) && chmod(dir, 0755) == 0);
    atexit(remove_all);
    place = wl_path_join(a, dir, "place");
    proof = wl_path_join(a, dir, "proof");
    put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put("sys/class/powercap/intel-rapl:0/enabled", "1\n");
    put("sys/class/powercap/intel-rapl:0/constraint_0_name", "long_term\n");
    put("sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "205000000\n");
    put("sys/devices/system/cpu/cpufreq/policy0/cpuinfo_min_freq", "800000\n");
    put("sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "3500000\n");
    WL_CHECK(wl_holder_self(&self, a, &e) == 0);
}

/* ---- what users leave ---- */

static const char *some_text(struct input *in, const char *plain, struct wl_arena *a)
{
    static const char *const odd[] = { "", "\x1b]52;c;x\a", "GPU-1", "../../../etc/passwd", "{uuid}", "\xff\xfe" };
    switch (next(in, 8)) {
    case 0: return CHOOSE(in, odd);
    case 1: {
        size_t n = next(in, 40);
        if (n > in->n) n = in->n;
        const char *s = wl_strndup(a, (const char *)in->p, n);
        in->p += n;
        in->n -= n;
        return s;
    }
    default: return plain;
    }
}

static void add_number(struct wl_json *o, const char *key, struct input *in, double plain)
{
    static const double odd[] = { 0, -1, 1, 1e-300, 1e300, 9999, 204.9, 205, 3500, 800, NAN };
    if (next(in, 16) == 0)
        wl_json_add_str(o, key, "250");
    else
        wl_json_add_real(o, key, next(in, 4) == 0 ? CHOOSE(in, odd) : plain);
}

static void add_cap(struct wl_json *caps, struct input *in, struct wl_arena *a)
{
    static const char *const setters[] = { "rapl", "command", "nvml", "cpufreq", "null", "observe", "rapll" };
    static const double watts[] = { 100, 120, 150, 200, 205 }, mhz[] = { 800, 1500, 2000, 3500 };
    bool cpu = next(in, 3) == 0;
    struct wl_json *o = wl_json_add_object(caps, NULL);
    wl_json_add_str(o, "kind", some_text(in, cpu ? "clock_mhz" : "power_cap_w", a));
    wl_json_add_str(o, "setter", next(in, 2) ? CHOOSE(in, setters) : cpu ? "cpufreq" : "rapl");
    wl_json_add_str(o, "device", some_text(in, cpu ? "cpufreq:policy0" : "rapl:package-0/long_term", a));
    add_number(o, "found", in, cpu ? CHOOSE(in, mhz) : CHOOSE(in, watts));
    add_number(o, "set", in, cpu ? CHOOSE(in, mhz) : CHOOSE(in, watts));
}

static char *some_journal(struct input *in, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    static const int pids[] = { 4194300, 1, 0 };
    int pid = CHOOSE(in, pids);
    wl_json_add_int(root, "wattlaw_caps", next(in, 16) ? 1 : 2);
    struct wl_json *o = wl_json_add_object(root, "holder");
    wl_json_add_int(o, "pid", pid ? pid : self.pid);
    wl_json_add_int(o, "started", pid ? (int64_t)next(in, 3) : self.started);
    wl_json_add_str(o, "boot_id", some_text(in, self.boot_id, a));
    wl_json_add_str(o, "pid_ns", some_text(in, self.pid_ns, a));
    wl_json_add_str(o, "host", some_text(in, self.host, a));
    o = wl_json_add_object(root, "options");
    wl_json_add_str(o, "command", wl_strf(a, "touch %s {uuid} {watts}", proof));
    wl_json_add_str(o, "clock_command", wl_strf(a, "touch %s {mhz}", proof));
    add_number(o, "wait_s", in, 10);
    wl_json_add_str(o, "nvml_library", some_text(in, "/proc/nowhere/libnvidia-ml.so.1", a));
    wl_json_add_str(o, "root", some_text(in, dir, a));
    struct wl_json *caps = wl_json_add_array(root, "caps");
    for (unsigned n = next(in, MOST_CAPS + 1); n > 0; n--) add_cap(caps, in, a);
    return wl_json_text(root, 1, a);
}

/* Its own bytes, for a while, or a journal that is built from them. */
static const char *some_content(struct input *in, size_t *n, struct wl_arena *a)
{
    char *text;
    if (next(in, 6) > 0) {
        text = some_journal(in, a);
        *n = strlen(text);
        if (next(in, 6) == 0) text[next(in, 255) % (*n + 1)] = (char)next(in, 256);
        return text;
    }
    *n = in->n < RAW_MAX ? in->n : RAW_MAX;
    text = (char *)in->p;
    in->p += *n;
    in->n -= *n;
    return text;
}

static void leave_file(const char *path, struct input *in, uid_t owner, struct wl_arena *a)
{
    static const mode_t modes[] = { 0644, 0644, 0644, 0644, 0600, 0, 0666, 0664 };
    size_t n;
    switch (next(in, 12)) {
    case 0: WL_CHECK(mkfifo(path, 0666) == 0); break;
    case 1: WL_CHECK(symlink(CHOOSE(in, ((const char *const[]) { "/dev/zero", "/", "x.caps" })), path) == 0); return;
    case 2: WL_CHECK(mkdir(path, 0755) == 0); break;
    default: {
        const char *text = some_content(in, &n, a);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        WL_CHECK(fd >= 0 && write(fd, text, n) == (ssize_t)n && fchmod(fd, CHOOSE(in, modes)) == 0 && close(fd) == 0);
        if (next(in, 12) == 0) (void)!link(path, wl_strf(a, "%s.other", path));
    }
    }
    if (geteuid() == 0) WL_CHECK(lchown(path, owner, owner) == 0);
}

static void leave(struct input *in, int i, struct wl_arena *a)
{
    uid_t owner = geteuid() == 0 ? CHOOSE(in, users) : geteuid();
    const char *name = wl_strf(a, "%s-%d.caps", next(in, 8) ? "host" : "\x1b[2J", i);
    const char *folder = next(in, 4) ? wl_strf(a, "%s/%u", place, (unsigned)owner) : place;
    if (mkdir(folder, next(in, 16) ? 0755 : 0700) == 0 && geteuid() == 0) WL_CHECK(chown(folder, owner, owner) == 0);
    leave_file(wl_path_join(a, folder, name), in, owner, a);
}

/* ---- one restore ---- */

static void check_rows(const struct wl_restore_results *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct wl_restore_result *l = &rows->v[i];
        WL_CHECK(l->journal && wl_is_printable_ascii(l->journal) && (!l->why || wl_is_printable_ascii(l->why)));
        WL_CHECK(l->state == WL_RESTORE_BAD_JOURNAL ? l->why && !l->device
                                                    : l->device && wl_is_printable_ascii(l->device));
        WL_CHECK((l->state != WL_RESTORE_FAILED && l->state != WL_RESTORE_HELD) || l->why);
    }
}

/* Other users' words lift a device, to what it has by default at most; by force to anything that it takes. */
static void check_device(const char *path, double before, double least, double most, bool dry_run, bool force)
{
    double now = number(path);
    if (now == before) return;
    WL_CHECK(!dry_run);
    WL_CHECK(now >= least && now <= most);
    WL_CHECK(force || now > before);
}

static void one(struct input *in, struct wl_arena *a)
{
    static const int watts[] = { 100, 120, 150, 200, 205 }, mhz[] = { 800, 1500, 2000, 3500 };
    int w = CHOOSE(in, watts), f = CHOOSE(in, mhz);
    bool dry_run = geteuid() != 0 || next(in, 4) == 0, force = next(in, 4) == 0;
    put(LIMIT, wl_strf(a, "%d000000\n", w));
    put(FREQ, wl_strf(a, "%d000\n", f));
    WL_CHECK(mkdir(place, 0755) == 0 && chmod(place, 01777) == 0);
    for (int i = 0, n = 1 + (int)next(in, MOST_JOURNALS); i < n; i++) leave(in, i, a);
    struct wl_cap_opts opts = { .setter = "auto", .state_dir = place };
    struct wl_power_opts power = { .root = dir, .nvml_library = "/proc/nowhere/libnvidia-ml.so.1" };
    struct wl_restore_results rows;
    struct wl_err e;
    WL_CHECK(wl_cap_restore(&opts, &power, (struct wl_cap_restore_flags) { dry_run, force }, &rows, a, &e) == 0);
    check_rows(&rows);
    check_device(LIMIT, w * 1e6, 1e6, MAX_W * 1e6, dry_run, force);
    check_device(FREQ, f * 1e3, 800e3, MAX_KHZ, dry_run, force);
    WL_CHECK(access(proof, F_OK) != 0);
    nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct input in = { data, n };
    if (!dir) make_machine();
    struct wl_arena *a = wl_arena_new(NULL);
    one(&in, a);
    wl_arena_free(a);
    return 0;
}
