/* Power caps and clock locks: set, verified, and always put back.
 *
 *     wl_caps_reserve  the devices are ours for all that follows
 *     wl_caps_set      what dead runs left is put back; every device is probed; the found values are written to a
 *                      journal on disk; a guard process starts; then the values are set and read back
 *     wl_caps_poll     now and then while the job runs: a guard that was killed gets a successor
 *     wl_caps_check    reads back: did somebody else change a value?
 *     wl_caps_release  puts the found values back, verifies, removes the journal
 *
 * Drivers may hang: no call takes longer than opts->wait_s, and what hangs stays in the journal (docs/adr/093).
 *
 * When this process dies by any signal the guard puts the values back; when the guard dies with it, the journal stays
 * and `wattlaw restore`, or the next start that sets caps, does it. docs/adr/090. Units: W, MHz.
 */
#ifndef WL_CAP_CAP_H
#define WL_CAP_CAP_H

#include "base/base.h"
#include "power/power.h"
#include "settings/settings.h"

const char *wl_cap_kind_name(enum wl_cap_kind k); /* "power_cap_w", "module_cap_w", "clock_mhz", "mem_clock_mhz" */
const char *wl_cap_kind_unit(enum wl_cap_kind k); /* "W", "MHz" */
bool wl_cap_is_power(enum wl_cap_kind k);         /* in W; such a limit always has a value that can be read */

/* The value of each kind for every device of the job; NAN: not asked for. */
struct wl_cap_request {
    double value[WL_CAP_KINDS];
};
extern const struct wl_cap_request wl_cap_none;
bool wl_cap_is_requested(const struct wl_cap_request *r);

struct wl_cap_opts {
    const char *setter;        /* who sets: auto, nvml, rapl, cpufreq, command, observe, null */
    const char *command;       /* words with {watts}: sets a power limit, of a module too if it has {scope};
                                * NULL: we set it */
    const char *restore;       /* words that undo it; NULL: `command` with the found watts */
    const char *clock_command; /* words with {mhz}: locks the clock */
    const char *clock_restore; /* words that undo it; must be given with clock_command */
    double wait_s;             /* how long a call or a site's command is waited for; 0: 10 s */
    const char *state_dir;     /* folder of the journals; NULL: see wl_cap_state_dir */
    const char *program;       /* the wattlaw that the guard runs; NULL: this program */
};

/* Rows for a struct that holds a struct wl_cap_opts as member `at`; `prefix` stands before the names. */
/* clang-format off */
#define WL_CAP_OPT_ROWS(holder, at, prefix)                                                                            \
    { .name = prefix "setter", .type = WL_CHOICE, .offset = offsetof(holder, at.setter), .def = "auto",                \
      .choices = "auto|nvml|rapl|cpufreq|command|observe|null", .help = "who sets caps; observe: the site has set them" }, \
    { .name = prefix "command", .type = WL_STR, .offset = offsetof(holder, at.command),                                \
      .help = "the site's command that sets a power cap: words with {uuid} {watts}, for modules {scope}" },                         \
    { .name = prefix "restore", .type = WL_STR, .offset = offsetof(holder, at.restore),                                \
      .help = "the command that undoes it; the same with the watts found before, if not given" },                      \
    { .name = prefix "clock-command", .type = WL_STR, .offset = offsetof(holder, at.clock_command),                    \
      .help = "the site's command that locks the clock: words with {uuid} {mhz}" },                            \
    { .name = prefix "clock-restore", .type = WL_STR, .offset = offsetof(holder, at.clock_restore),                    \
      .help = "the command that undoes it" },                                                                          \
    { .name = prefix "wait", .type = WL_DURATION, .offset = offsetof(holder, at.wait_s), .def = "10s", .min = 0.01,     \
      .max = 3600, .unit = "s", .help = "how long a driver or a site's command that sets a cap may take" },            \
    { .name = prefix "state-dir", .type = WL_STR, .offset = offsetof(holder, at.state_dir),                            \
      .help = "folder of the journals of caps; $WATTLAW_STATE_DIR, /run/wattlaw, else ~/.local/state/wattlaw" }
/* clang-format on */

/* The state folder, where the wattlaws of this machine keep journals and reservations, a folder for each user:
 * opts->state_dir, $WATTLAW_STATE_DIR, /run/wattlaw (root makes it), and where there is none that of wl_state_dir,
 * which other users do not see. Absolute; not made here. docs/adr/094 */
char *wl_cap_state_dir(const struct wl_cap_opts *opts, struct wl_arena *a);

/* ---- what can be set here ---- */

/* The values that a device takes, or that all of several do. */
struct wl_cap_range {
    double min, max;       /* NAN: not known */
    struct wl_reals steps; /* the only ones that it takes, highest first; none: any between min and max */
};

/* "100 to 400 W", "1215, 810 MHz"; NULL: not known. */
char *wl_cap_range_text(const struct wl_cap_range *r, enum wl_cap_kind kind, struct wl_arena *a);

/* Why a device of that range does not take a value: "it takes 100 to 400 W"; NULL: it does. */
char *wl_cap_refusal(const struct wl_cap_range *r, enum wl_cap_kind kind, double value, struct wl_arena *a);

struct wl_cap_ability {
    const char *setter;        /* that would be used; NULL: none */
    const char *devices;       /* "2 x NVIDIA A100 ..."; NULL: none */
    struct wl_cap_range range; /* of all devices together */
    double present;            /* limit of the first device; NAN: not known */
    const char *why;           /* why it cannot be set; NULL: it can */
    const char *fix;           /* what would change that, or NULL */
    bool simulated;
};

/* Tries without changing anything (a power limit is set to the value that it has). Never fails. */
void wl_cap_probe(enum wl_cap_kind kind, const struct wl_cap_opts *opts, const struct wl_power_opts *power,
                  struct wl_cap_ability *out, struct wl_arena *a);

/* ---- devices of ours ---- */

/* The devices on which these kinds of limits would be set are ours until the arena is freed, also between two runs: two
 * campaigns that took turns would measure each other. `what` ("campaign demo") is told to who comes second. WL_EPERM:
 * another process has one of them, which is named. Kinds that cannot be set here are left out. */
int wl_caps_reserve(const bool kinds[WL_CAP_KINDS], const char *what, const struct wl_cap_opts *opts,
                    const struct wl_power_opts *power, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- a transaction ---- */

/* One limit of one device, as it was found and as it is. NAN: not known, or not limited. */
struct wl_cap_setting {
    enum wl_cap_kind kind;
    const char *setter, *device, *name; /* device: uuid, "rapl:package-0/long_term", "cpufreq:policy0" */
    double requested, found, enforced, at_end;
    struct wl_cap_range range; /* what the device takes */
    double default_value;      /* its default */
    bool simulated;
};

struct wl_caps;

/* Sets what is asked for on every device of the job, or nothing. WL_EINVAL: a value outside what a device takes (both
 * named). WL_EPERM: no leave to set, or another live wattlaw holds a device, or clocks look locked by somebody.
 * WL_EUNAVAIL: no setter for this kind. WL_EIO: the journal cannot be written, or a device does not follow: everything
 * is put back before this returns. WL_EHUNG: a driver did not come back in its time: what can be put back is, the rest
 * stays in the journal, and the guard tries again when this process ends. The values are put back at the latest when
 * the arena is freed. */
int wl_caps_set(struct wl_caps **out, const struct wl_cap_request *request, const struct wl_cap_opts *opts,
                const struct wl_power_opts *power, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The same up to the journal, which it names: what would be set. Nothing is written or set. */
int wl_caps_plan(struct wl_caps **out, const struct wl_cap_request *request, const struct wl_cap_opts *opts,
                 const struct wl_power_opts *power, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

const struct wl_cap_setting *wl_caps_settings(const struct wl_caps *c, size_t *n);

/* One setting for people: "GPU-5f0a: power_cap_w 250 W asked, 250 W enforced, 400 W found (takes 100 to 400 W)". */
char *wl_cap_describe(const struct wl_cap_setting *s, struct wl_arena *a);

void wl_caps_poll(struct wl_caps *c);

/* Fills at_end. NULL: all as set; else why the run's numbers must not be used: text in the arena of wl_caps_set. */
const char *wl_caps_check(struct wl_caps *c);

/* Puts the found values back and verifies. A value that somebody else has set in between is theirs and stays. WL_EIO
 * and others: something could not be put back: the journal stays for the guard, when this process ends, and for
 * `wattlaw restore`. Calling it again does nothing. */
int wl_caps_release(struct wl_caps *c, struct wl_err *e) WL_MUST_CHECK;

/* ---- what dead runs left ---- */

enum wl_restore_state {
    WL_RESTORE_DONE,             /* put back (with dry_run: would be) */
    WL_RESTORE_NOT_NEEDED,       /* had its found value already */
    WL_RESTORE_CHANGED_BY_OTHER, /* somebody else has set another value since: left as it is */
    WL_RESTORE_FAILED,           /* could not be put back: why */
    WL_RESTORE_HELD,             /* its holder lives, or may live, or a later one has to be put back first: why */
    WL_RESTORE_HANDED_OVER,      /* a later holder puts it back: why */
    WL_RESTORE_BAD_JOURNAL,      /* the journal cannot be used: why; it has no device */
};
extern const char *const wl_restore_state_names[];

struct wl_restore_result {
    enum wl_restore_state state;
    const char *journal; /* path, printable */
    int64_t pid;         /* of the wattlaw that set it */
    int64_t user;        /* whose journal it is; -1: not known */
    bool other_host;     /* it belongs to another machine, which shares the folder */
    bool rebooted;       /* the machine was started anew since */
    bool blocks;         /* nobody should set another cap of this device now */
    const char *device, *setter;
    enum wl_cap_kind kind;
    double found, set, now; /* NAN: not locked or not known */
    const char *why;        /* FAILED, HELD, HANDED, BAD; else NULL */
};
struct wl_restore_results {
    struct wl_restore_result *v;
    size_t n, cap;
};

/* Puts back what journals of dead processes name; a journal goes when all of it was dealt with. Root does so for all
 * users: of their journals it takes device, kind and found value, which must undo a cap within what the device takes,
 * and reaches the devices by `power` (NULL: the machine's own drivers). `force`: what may live in another container
 * counts as dead, and what others have set since is overwritten. A journal that cannot be used and a value that fails
 * are rows, not errors. WL_ENOENT: the state folder does not exist, so nothing is known. WL_EPERM, WL_EIO: it cannot be
 * read. */
int wl_cap_restore(const struct wl_cap_opts *opts, const struct wl_power_opts *power, bool dry_run, bool force,
                   struct wl_restore_results *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#define WL_CAPS_GUARD_NAME "wattlaw-caps" /* of its process: the end of a job leaves it alone */

/* The guard's whole life: reads the journal at this path, then waits on stdin; a byte ends it, the end of the file
 * means that the parent is dead: puts back what the journal names, also where its folder was removed meanwhile. Returns
 * 0, or the code of what could not be put back. WL_EPERM: the journal is not ours. */
int wl_cap_guard(const char *journal, struct wl_err *e) WL_MUST_CHECK;

#endif
