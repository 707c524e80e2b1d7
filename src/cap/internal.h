/* What the files of this folder share. */
#ifndef WL_CAP_INTERNAL_H
#define WL_CAP_INTERNAL_H

#include "cap/cap.h"

/* ---- setters: who can limit what ------------------------------------------------------------------------------ */

struct wl_setter_ops;
struct wl_opened;

/* One limit of one device. Texts live as long as the arena it was opened in. */
struct wl_knob {
    const struct wl_setter_ops *ops;
    void *state;  /* the setter's own */
    size_t index; /* and which of its devices */
    enum wl_cap_kind kind;
    const char *device, *name;
    struct wl_cap_range range;
    double standard; /* NAN: not known */
    bool blind;                /* there is no getter: get() tells what acts, not what is set; NAN unlocks */
    bool simulated;
    const struct wl_knob *inner; /* of a setter that works through another one */
    struct wl_opened *opened;    /* patient.c's */
};

struct wl_knobs {
    struct wl_knob *v;
    size_t n, cap;
};

/* What a setter needs to open. */
struct wl_setting_place {
    const struct wl_cap_opts *opts;
    const struct wl_power_opts *power;
    bool all;                 /* every device of the machine, not only the job's: for putting back */
    struct wl_opened *opened; /* patient.c's */
    struct wl_arena *a;
};

struct wl_setter_ops {
    const char *name;
    const char *help;
    bool kinds[WL_CAP_KINDS];

    /* Adds a knob for each device that has this kind of limit; none is an error with the reason and *fix. */
    int (*open)(const struct wl_setting_place *p, enum wl_cap_kind kind, struct wl_knobs *out, const char **fix,
                struct wl_err *e);

    /* The value set, and the one that acts (NAN: the same or not known). */
    int (*get)(const struct wl_knob *k, double *set, double *acts, struct wl_err *e);

    int (*set)(const struct wl_knob *k, double value, struct wl_err *e);

    /* (optional) Puts a found value back where that is another call than set. */
    int (*restore)(const struct wl_knob *k, double found, struct wl_err *e);

    /* (optional) Can it be set? Changes nothing. */
    int (*probe)(const struct wl_knob *k, const char **fix, struct wl_err *e);

    /* (optional) Why the present state looks as if somebody else holds this limit; NULL: it does not. */
    const char *(*suspect)(const struct wl_knob *k, struct wl_arena *a);

    bool observes;    /* sets nothing: there is nothing to put back */
    bool ends_itself; /* set and restore give up by themselves behind the options' wait_s */
};

extern const struct wl_setter_ops wl_setter_nvml, wl_setter_rapl, wl_setter_cpufreq, wl_setter_command,
    wl_setter_observe, wl_setter_null;

/* All of them, NULL-terminated. */
extern const struct wl_setter_ops *const wl_setters[];
const struct wl_setter_ops *wl_setter_find(const char *name);

/* Opens the setter that the options name for a kind: "auto" takes the site's command where one is given, nvml where
 * there are GPUs, else rapl and cpufreq. */
int wl_setter_open(const struct wl_setting_place *p, enum wl_cap_kind kind, struct wl_knobs *out, const char **fix,
                   struct wl_err *e);

/* The setter that reads the machine itself: nvml, else rapl or cpufreq. */
int wl_setter_open_direct(const struct wl_setting_place *p, enum wl_cap_kind kind, struct wl_knobs *out,
                          const char **fix, struct wl_err *e);

struct wl_knob *wl_knob_add(struct wl_knobs *list, struct wl_arena *a);


/* Is it the same value as far as drivers round? NAN equals NAN: not limited. */
bool wl_cap_same(enum wl_cap_kind kind, double x, double y);

/* ---- patient.c: the same by threads that can be given up ------------------------------------------------------- */

/* How long one call is waited for. */
double wl_cap_wait_s(const struct wl_cap_opts *o);

/* For a setter's open, of one device: describes its knob. One that hangs does not hide the others where caps are put
 * back: it has no range then. */
int wl_knob_describe(const struct wl_setting_place *p, struct wl_knob *k,
                     int (*describe)(struct wl_knob *k, struct wl_arena *a, struct wl_err *e), struct wl_err *e);

/* Opens a setter (NULL: wl_setter_open) and adds its knobs, for the calls below. It is closed with the place's arena. */
int wl_knobs_open(const struct wl_setting_place *p, const struct wl_setter_ops *ops, enum wl_cap_kind kind,
                  struct wl_knobs *out, const char **fix, struct wl_err *e);

/* The callbacks of the knob's setter. WL_EHUNG: it has not come back, and may still act. Where a callback is optional,
 * restore is set, probe and suspect find nothing. */
int wl_knob_get(const struct wl_knob *k, double *set, double *acts, struct wl_err *e);
int wl_knob_set(const struct wl_knob *k, double value, struct wl_err *e);
int wl_knob_restore(const struct wl_knob *k, double found, struct wl_err *e);
int wl_knob_probe(const struct wl_knob *k, const char **fix, struct wl_err *e);
int wl_knob_suspect(const struct wl_knob *k, const char **why, struct wl_arena *a, struct wl_err *e);

/* ---- journal.c: what a holder has set, on disk ---------------------------------------------------------------- */

struct wl_holder {
    int64_t pid, started; /* clock ticks after boot: tells a pid that was given again */
    const char *boot_id, *pid_ns, *host;
};

struct wl_entry {
    const char *setter, *device;
    enum wl_cap_kind kind;
    double found, set; /* NAN found: was not locked */
    bool stuck;        /* of this process, not on disk: the call that sets it has not come back */
};

struct wl_journal {
    const char *path;
    struct wl_holder holder;
    struct wl_cap_opts opts; /* with which to open the setters again */
    struct wl_power_opts power;
    struct wl_entry *v;
    size_t n;
};

int wl_holder_self(struct wl_holder *out, struct wl_arena *a, struct wl_err *e);

/* DEAD, or why it is not: `*why` is set. REBOOTED is dead too; ELSEWHERE is another container, OTHER_HOST another machine. */
enum wl_life { WL_LIFE_DEAD, WL_LIFE_REBOOTED, WL_LIFE_ALIVE, WL_LIFE_ELSEWHERE, WL_LIFE_OTHER_HOST };
enum wl_life wl_holder_life(const struct wl_holder *h, const char **why, struct wl_arena *a);

/* Written with its folder to the disk before this returns. */
int wl_journal_write(const struct wl_journal *j, struct wl_err *e);
int wl_journal_read(const char *path, struct wl_journal *out, struct wl_arena *a, struct wl_err *e);

/* The file's text, and back. WL_EINVAL names the path and what is wrong. */
char *wl_journal_text(const struct wl_journal *j, struct wl_arena *a);
int wl_journal_parse(const char *path, const char *text, struct wl_journal *out, struct wl_arena *a, struct wl_err *e);
int wl_journal_check_owner(const char *path, struct wl_err *e); /* WL_EPERM: somebody else's */
int wl_journal_remove(const char *path, struct wl_err *e);
char *wl_journal_path(const char *dir, const struct wl_holder *h, struct wl_arena *a);

/* The journals of a folder; no folder, no journals. */
int wl_journal_list(const char *dir, struct wl_strs *paths, struct wl_arena *a, struct wl_err *e);

/* One process at a time probes, sets and puts back. Makes the folder. Returns the lock, to be closed. */
int wl_state_lock(const char *dir, struct wl_err *e);

/* ---- restore.c ------------------------------------------------------------------------------------------------ */

/* Puts back what one journal names and removes it when nothing is left to do; the state is locked. */
int wl_journal_restore(const struct wl_journal *j, bool rebooted, bool dry_run, bool force, struct wl_lefts *out,
                       struct wl_arena *a, struct wl_err *e);

/* wl_cap_restore under a lock that is held. */
int wl_restore_locked(const char *dir, bool dry_run, bool force, struct wl_lefts *out, struct wl_arena *a,
                      struct wl_err *e);

/* ---- guard.c -------------------------------------------------------------------------------------------------- */

struct wl_guard {
    pid_t pid; /* 0: none */
    int pipe;  /* closed by our death */
};

/* Returns when the guard is ready: from then on our death is noticed. */
int wl_guard_start(struct wl_guard *g, const char *program, const char *journal, struct wl_arena *a, struct wl_err *e);
bool wl_guard_lives(struct wl_guard *g);
void wl_guard_dismiss(struct wl_guard *g); /* there is nothing left to guard */
void wl_guard_leave(struct wl_guard *g);   /* it acts when this process ends */

#endif
