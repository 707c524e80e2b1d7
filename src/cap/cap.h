/* Power caps and clock locks: set, verified, and always restored.
 *
 *     wl_caps_reserve  reserves the devices for all that follows
 *     wl_caps_set      restores what dead runs left, probes every device, writes the found values to a journal on
 *                      disk, starts a guard process, then sets the values and reads them back
 *     wl_caps_poll     periodically while the job runs: replaces a guard that was killed
 *     wl_caps_check    reads back: has somebody else changed a value?
 *     wl_caps_release  restores the found values, verifies them, removes the journal
 *
 * Drivers may hang: no call takes longer than opts->wait_s, and a cap whose call hangs stays in the journal
 * (docs/adr/093).
 *
 * If this process is killed by any signal, the guard restores the values. If the guard is killed too, the journal
 * stays, and `wattlaw restore` or the next run that sets caps restores them. docs/adr/090. Units: W, MHz.
 */
#ifndef WL_CAP_CAP_H
#define WL_CAP_CAP_H

#include "base/base.h"
#include "cap/service.h"
#include "power/power.h"
#include "settings/settings.h"

const char *wl_cap_kind_name(enum wl_cap_kind k); /* of its setting: "power_cap_w", "clock_mhz" ... */
const char *wl_cap_kind_unit(enum wl_cap_kind k); /* "W", "MHz" */
bool wl_cap_is_power(enum wl_cap_kind k);         /* in W; such a limit can always be read */

/* How many devices these names of limited devices are of: the limits "rapl:package-0/long_term" and
 * "rapl:package-0/short_term" are of one. Names of several hosts begin with that of the host. */
size_t wl_cap_count_devices(const char *const *device, size_t n);

/* The value of each kind for every device of the job; NAN: not requested. */
struct wl_cap_request {
    double value[WL_CAP_KINDS];
};
extern const struct wl_cap_request wl_cap_none;
bool wl_cap_is_requested(const struct wl_cap_request *r);

/* Root's cap service acts for another process: it sets only the limits that were asked for, on any device of the
 * machine and by the machine's own drivers, does not take that process's reservations for another's, and takes nothing
 * from the journals of other users' dead processes. docs/adr/145 */
struct wl_cap_target {
    enum wl_cap_kind kind;
    const char *device;
};
struct wl_cap_client {
    int64_t pid, user;
    const struct wl_cap_target *v;
    size_t n; /* 0: every limit */
};

struct wl_cap_opts {
    const char *setter;                 /* auto, nvml, rapl, cpufreq, service, command, slurm, observe or null */
    const char *command;                /* words with {watts}: sets a power limit, also of a module if it has {scope};
                                         * NULL: wattlaw sets it */
    const char *restore;                /* words that restore it; NULL: `command` with the found watts */
    const char *clock_command;          /* words with {mhz}: locks the clock */
    const char *clock_restore;          /* words that unlock it; required with clock_command */
    double wait_s;                      /* timeout for a driver call or a site's command; 0: 10 s */
    const char *state_dir;              /* folder for cap journals; NULL: see wl_cap_state_dir */
    const char *program;                /* the wattlaw program of the guard; NULL: this one */
    const struct wl_cap_client *client; /* NULL: this process sets caps for itself */
};

/* Rows for a struct that holds a struct wl_cap_opts as member `at`; `prefix` begins the names. */
/* clang-format off */
#define WL_CAP_OPT_ROWS(holder, at, prefix)                                                                            \
    { .name = prefix "setter", .type = WL_CHOICE, .offset = offsetof(holder, at.setter), .def = "auto",                \
      .choices = "auto|nvml|rapl|cpufreq|service|command|slurm|observe|null", .help = "setter of caps; slurm: Slurm sets clocks for the job, observe: the site has set the caps; both are verified" }, \
    { .name = prefix "command", .type = WL_STR, .offset = offsetof(holder, at.command),                                \
      .unit = "COMMAND", .help = "site command that sets a power cap: words with {uuid} and {watts}, for modules {scope} (default: none)" },                         \
    { .name = prefix "restore", .type = WL_STR, .offset = offsetof(holder, at.restore),                                \
      .unit = "COMMAND", .help = "site command that restores a power cap (default: --cap-command with the found watts)" },                      \
    { .name = prefix "clock-command", .type = WL_STR, .offset = offsetof(holder, at.clock_command),                    \
      .unit = "COMMAND", .help = "site command that locks the clock: words with {uuid} and {mhz} (default: none)" },                            \
    { .name = prefix "clock-restore", .type = WL_STR, .offset = offsetof(holder, at.clock_restore),                    \
      .unit = "COMMAND", .help = "site command that unlocks the clock, required with --cap-clock-command (default: none)" },                                                                          \
    { .name = prefix "wait", .type = WL_DURATION, .offset = offsetof(holder, at.wait_s), .def = "10s", .min = 0.01,     \
      .max = 3600, .unit = "s", .help = "timeout for a driver call or site command that sets a cap" },            \
    { .name = prefix "state-dir", .type = WL_STR, .offset = offsetof(holder, at.state_dir),                            \
      .unit = "FOLDER", .help = "folder for cap journals (default: $WATTLAW_STATE_DIR, /run/wattlaw, else ~/.local/state/wattlaw)" }
/* clang-format on */

/* The state folder for journals and reservations on this machine, with a folder per user: opts->state_dir,
 * $WATTLAW_STATE_DIR, /run/wattlaw (created by root), else that of wl_state_dir, which other users do not see.
 * Absolute; not created here. docs/adr/094 */
char *wl_cap_state_dir(const struct wl_cap_opts *opts, struct wl_arena *a);

/* ---- what can be set here ---- */

/* The values that a device, or each of several, accepts. */
struct wl_cap_range {
    double min, max;       /* NAN: not known */
    struct wl_reals steps; /* the only accepted values, highest first; empty: any between min and max */
};

/* "100 to 400 W", "1215, 810 MHz"; NULL: not known. */
char *wl_cap_range_text(const struct wl_cap_range *r, enum wl_cap_kind kind, struct wl_arena *a);

/* Why a device with that range rejects a value: "it takes 100 to 400 W"; NULL: it does not. */
char *wl_cap_refusal(const struct wl_cap_range *r, enum wl_cap_kind kind, double value, struct wl_arena *a);

struct wl_cap_ability {
    const char *setter;        /* the one that would be used; NULL: none */
    const char *devices;       /* "2 x NVIDIA A100 ..."; NULL: none */
    struct wl_cap_range range; /* of all devices together */
    double present;            /* limit of the first device; NAN: not known */
    const char *why;           /* why it cannot be set; NULL: it can */
    const char *fix;           /* what would change that, or NULL */
    bool simulated;
};

/* Tests without changing anything (a power limit is set to its present value). Never fails. */
void wl_cap_probe(enum wl_cap_kind kind, const struct wl_cap_opts *opts, const struct wl_power_opts *power,
                  struct wl_cap_ability *out, struct wl_arena *a);

/* ---- power limits as they are ---- */

/* One power limit of one device; NAN: not known. */
struct wl_cap_present {
    enum wl_cap_kind kind;
    const char *device, *name; /* as of struct wl_cap_setting */
    double set, enforced, default_value;
    bool simulated;
    const char *why; /* why `set` is NAN; NULL: it is known */
};
struct wl_cap_reader;

/* Every power limit of this machine that its drivers show, whoever set it. Sets nothing. WL_EUNAVAIL: there is none,
 * with the reasons; WL_EHUNG. Opened and read with opts->wait_s; closed with the arena. */
int wl_cap_reader_open(struct wl_cap_reader **out, const struct wl_cap_opts *opts, const struct wl_power_opts *power,
                       struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Reads them; valid until the next call. A driver that has not answered once is not asked again. */
const struct wl_cap_present *wl_cap_reader_read(struct wl_cap_reader *r, size_t *n);

/* ---- reserving devices ---- */

/* Reserves the devices on which these kinds of limits would be set until the arena is freed, also between two runs: two
 * campaigns that took turns would disturb each other. `what` ("campaign demo") is shown to a second campaign. WL_EPERM:
 * another process has one of them, which is named. Kinds that cannot be set here are ignored. */
int wl_caps_reserve(const bool kinds[WL_CAP_KINDS], const char *what, const struct wl_cap_opts *opts,
                    const struct wl_power_opts *power, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- a transaction ---- */

/* One limit of one device, as it was found and as it is. NAN: not known, or not limited. */
struct wl_cap_setting {
    enum wl_cap_kind kind;
    const char *setter, *device, *name; /* device: uuid, "rapl:package-0/long_term", "cpufreq:policy0" */
    double requested, found, enforced, at_end;
    double in_effect;          /* when found: the lowest of all limits, which another one may set; NAN: as `found` */
    struct wl_cap_range range; /* what the device accepts */
    double default_value;      /* its default */
    bool simulated;
};

struct wl_caps;

/* Sets the request on every device of the job, or nothing. WL_EINVAL: a value is out of a device's range (both named).
 * WL_EPERM: no permission, or another live wattlaw holds a device, or clocks seem to be locked by somebody.
 * WL_EUNAVAIL: no setter for this kind. WL_EIO: the journal cannot be written, or a device does not follow: everything
 * is restored before this returns. WL_EHUNG: a driver call timed out: what can be restored is, the rest stays in the
 * journal, and the guard tries again when this process ends. The values are restored at the latest when the arena is
 * freed. */
int wl_caps_set(struct wl_caps **out, const struct wl_cap_request *request, const struct wl_cap_opts *opts,
                const struct wl_power_opts *power, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A dry run: finds what would be set. Nothing is written or set. */
int wl_caps_plan(struct wl_caps **out, const struct wl_cap_request *request, const struct wl_cap_opts *opts,
                 const struct wl_power_opts *power, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

const struct wl_cap_setting *wl_caps_settings(const struct wl_caps *c, size_t *n);

/* One setting as text: "GPU-5f0a: power_cap_w 250 W asked, 250 W enforced, 400 W found (takes 100 to 400 W)". */
char *wl_cap_describe(const struct wl_cap_setting *s, struct wl_arena *a);

void wl_caps_poll(struct wl_caps *c);

/* Fills at_end. NULL: unchanged; else why the run's numbers must not be used, in the arena of wl_caps_set. */
const char *wl_caps_check(struct wl_caps *c);

/* Restores the found values and verifies them. A value that somebody else has set meanwhile is left unchanged. WL_EIO
 * and others: something could not be restored: the journal stays for the guard, when this process ends, and for
 * `wattlaw restore`. A second call does nothing. */
int wl_caps_release(struct wl_caps *c, struct wl_err *e) WL_MUST_CHECK;

/* ---- what dead runs left ---- */

enum wl_restore_state {
    WL_RESTORE_DONE,             /* restored (with dry_run: would be) */
    WL_RESTORE_NOT_NEEDED,       /* had its found value already */
    WL_RESTORE_CHANGED_BY_OTHER, /* somebody else has set another value since: left unchanged */
    WL_RESTORE_FAILED,           /* could not be restored: why */
    WL_RESTORE_HELD,             /* its holder lives or may live, or a later cap has to be restored first: why */
    WL_RESTORE_HANDED_OVER,      /* a later holder restores it: why */
    WL_RESTORE_BAD_JOURNAL,      /* the journal cannot be used: why; it has no device */
};
extern const char *const wl_restore_state_names[];

struct wl_restore_result {
    enum wl_restore_state state;
    const char *journal; /* path, printable */
    int64_t pid;         /* of the wattlaw that set it */
    int64_t user;        /* whose journal it is; -1: not known */
    bool other_host;     /* of another machine that shares the folder */
    bool rebooted;       /* the machine was rebooted since */
    bool blocks;         /* no other cap of this device may be set now */
    const char *device, *setter;
    enum wl_cap_kind kind;
    double found, set, now; /* NAN: not locked or not known */
    const char *why;        /* FAILED, HELD, HANDED, BAD; else NULL */
};
struct wl_restore_results {
    struct wl_restore_result *v;
    size_t n, cap;
};

/* Restores what the journals of dead processes name; a journal is removed when all of it is done. Root does so for all
 * users: from their journals it takes device, kind and found value, which must undo a cap within the device's range,
 * and accesses the devices by `power` (NULL: the machine's own drivers). `force`: a holder that may live in another
 * container counts as dead, and values that others have set since are overwritten. An unusable journal and a value that
 * cannot be restored are rows, not errors. WL_ENOENT: the state folder does not exist, so nothing is known. WL_EPERM,
 * WL_EIO: it cannot be read. */
struct wl_cap_restore_flags {
    bool dry_run, force;
};
int wl_cap_restore(const struct wl_cap_opts *opts, const struct wl_power_opts *power, struct wl_cap_restore_flags flags,
                   struct wl_restore_results *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#define WL_CAPS_GUARD_NAME "wattlaw-caps" /* name of its process, which is not killed with the job */

/* The guard's main function: reads the journal at this path, then waits on stdin. A byte ends it; end of file means
 * that the parent is dead: then it restores what the journal names, even if its folder was removed meanwhile. Returns
 * 0, or the code of what could not be restored. WL_EPERM: the journal is not ours. */
int wl_cap_guard(const char *journal, struct wl_err *e) WL_MUST_CHECK;

#endif
