/* What the files of this folder share. */
#ifndef WL_CAP_INTERNAL_H
#define WL_CAP_INTERNAL_H

#include "cap/cap.h"

#include <sys/types.h>

/* ---- setters: who can limit what ------------------------------------------------------------------------------ */

struct wl_setter_ops;
struct wl_setter_session;

/* One limit of one device. Texts live as long as the arena it was opened in. */
struct wl_control {
    const struct wl_setter_ops *ops;
    void *state;  /* the setter's own */
    size_t index; /* and which of its devices */
    enum wl_cap_kind kind;
    const char *device, *name;
    struct wl_cap_range range;
    double standard; /* NAN: not known */
    bool blind;                /* there is no getter: get() tells what acts, not what is set; NAN unlocks */
    bool simulated;
    const struct wl_control *inner; /* of a setter that works through another one */
    struct wl_setter_session *opened;    /* patient.c's */
};

struct wl_controls {
    struct wl_control *v;
    size_t n, cap;
};

/* What a setter needs to open. */
struct wl_setter_context {
    const struct wl_cap_opts *opts;
    const struct wl_power_opts *power;
    bool all;                 /* every device of the machine, not only the job's: for putting back */
    struct wl_setter_session *opened; /* patient.c's */
    struct wl_arena *a;
};

struct wl_setter_ops {
    const char *name;
    const char *help;
    bool kinds[WL_CAP_KINDS];

    /* Adds a knob for each device that has this kind of limit; none is an error with the reason and *fix. */
    int (*open)(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out, const char **fix,
                struct wl_err *e);

    /* The value set, and the one that acts (NAN: the same or not known). */
    int (*get)(const struct wl_control *k, double *set, double *acts, struct wl_err *e);

    int (*set)(const struct wl_control *k, double value, struct wl_err *e);

    /* (optional) Puts a found value back where that is another call than set. */
    int (*restore)(const struct wl_control *k, double found, struct wl_err *e);

    /* (optional) Can it be set? Changes nothing. */
    int (*probe)(const struct wl_control *k, const char **fix, struct wl_err *e);

    /* (optional) Why the present state looks as if somebody else holds this limit; NULL: it does not. */
    const char *(*suspect)(const struct wl_control *k, struct wl_arena *a);

    bool observes;    /* sets nothing: there is nothing to put back */
    bool has_own_timeout; /* set and restore give up by themselves behind the options' wait_s */
};

extern const struct wl_setter_ops wl_setter_nvml, wl_setter_rapl, wl_setter_cpufreq, wl_setter_command,
    wl_setter_observe, wl_setter_null;

/* All of them, NULL-terminated. */
extern const struct wl_setter_ops *const wl_setters[];
const struct wl_setter_ops *wl_setter_find(const char *name);

/* Opens the setter that the options name for a kind: "auto" takes the site's command where one is given, nvml where
 * there are GPUs, else rapl and cpufreq. */
int wl_setter_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out, const char **fix,
                   struct wl_err *e);

/* The setter that reads the machine itself: nvml, else rapl or cpufreq. */
int wl_setter_open_direct(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                          const char **fix, struct wl_err *e);

struct wl_control *wl_controls_add(struct wl_controls *list, struct wl_arena *a);


/* Is it the same value as far as drivers round? NAN equals NAN: not limited. */
bool wl_cap_same(enum wl_cap_kind kind, double x, double y);

/* ---- patient.c: the same by threads that can be given up ------------------------------------------------------- */

/* How long one call is waited for. */
#define WL_CAP_WAIT_MAX_S 3600
double wl_cap_wait_s(const struct wl_cap_opts *o);

/* For a setter's open, of one device: describes its knob. One that hangs does not hide the others where caps are put
 * back: it has no range then. */
int wl_control_describe(const struct wl_setter_context *p, struct wl_control *k,
                     int (*describe)(struct wl_control *k, struct wl_arena *a, struct wl_err *e), struct wl_err *e);

/* Opens a setter (NULL: wl_setter_open) and adds its knobs, for the calls below. It is closed with the place's arena. */
int wl_controls_open(const struct wl_setter_context *p, const struct wl_setter_ops *ops, enum wl_cap_kind kind,
                  struct wl_controls *out, const char **fix, struct wl_err *e);

/* The callbacks of the knob's setter. WL_EHUNG: it has not come back, and may still act. Where a callback is optional,
 * restore is set, probe and suspect find nothing. */
int wl_control_get(const struct wl_control *k, double *set, double *acts, struct wl_err *e);
int wl_control_set(const struct wl_control *k, double value, struct wl_err *e);
int wl_control_restore(const struct wl_control *k, double found, struct wl_err *e);
int wl_control_probe(const struct wl_control *k, const char **fix, struct wl_err *e);
int wl_control_suspect(const struct wl_control *k, const char **why, struct wl_arena *a, struct wl_err *e);

/* ---- state.c: the state folder of a machine --------------------------------------------------------------------- */

/* All state folders that may hold journals of ours, the one where new ones go first. */
void wl_state_dirs(const struct wl_cap_opts *opts, struct wl_strs *out, struct wl_arena *a);

/* Makes the state folder; that of the machine is open to all users. WL_EPERM: somebody else could remove or replace what we
 * keep in it. */
int wl_state_make(const char *dir, struct wl_err *e);

/* One process at a time probes, sets and puts back. Returns the lock, to be closed. WL_EHUNG: somebody, who is named,
 * has held it for three times `call_s`. Reading the folder is leave enough. */
int wl_state_lock(const char *dir, double call_s, struct wl_err *e);

/* Our folder in the state folder, which only we can write to and all can read; made where there is none. */
int wl_state_user_dir(const char *dir, char **out, struct wl_arena *a, struct wl_err *e);

/* The files of the state folder and of its users' folders whose names end so, in order, at most `most` of a folder that
 * is not ours. `why`: a line for each folder that cannot be listed, is not its user's or holds too many. Names are any
 * bytes that somebody chose. */
int wl_state_files(const char *dir, const char *ending, size_t most, struct wl_strs *paths, struct wl_strs *why,
                   struct wl_arena *a, struct wl_err *e);

/* Can nobody but us and root replace the file or folder, or one on the path to it? */
bool wl_path_is_ours(const char *path);

/* Opens what another user may have put there: a regular file with one name that only its owner can write to, never
 * through a link, and without waiting. `st` is of what was opened. WL_EINVAL: it is something else. */
struct stat;
int wl_safe_file_open(const char *path, int how, struct stat *st, struct wl_err *e);

/* Writes such a file in a folder of ours, with its folder to the disk before this returns. */
int wl_safe_file_write(const char *path, const char *text, struct wl_err *e);

/* Its text and its owner. */
int wl_safe_file_read(const char *path, size_t max, char **text, uid_t *owner, struct wl_arena *a, struct wl_err *e);

/* Removes a file of this owner from the folder that was looked at, where nobody can turn it into another one, and empties
 * it for those who have it open. */
int wl_safe_file_remove(const char *path, uid_t owner, struct wl_err *e);

/* Printable ASCII alone; and the same text with '?' for all else: names are printed on terminals. */
bool wl_is_printable_ascii(const char *s);
char *wl_printable_ascii(const char *s, struct wl_arena *a);

/* ---- holder.c ------------------------------------------------------------------------------------------------- */

struct wl_holder {
    int64_t pid, started; /* clock ticks after boot: tells a pid that was given again */
    const char *boot_id, *pid_ns, *host;
};

int wl_holder_self(struct wl_holder *out, struct wl_arena *a, struct wl_err *e);
void wl_holder_write(const struct wl_holder *h, struct wl_json *o);
int wl_holder_read(const struct wl_json *o, const char *path, struct wl_holder *out, struct wl_err *e);

/* DEAD, or why it is not: `*why` is set. REBOOTED is dead too; ELSEWHERE is another container, OTHER_HOST another machine.
 * A process of another user than the one who claims it to be the holder is not the holder. */
enum wl_holder_state { WL_HOLDER_DEAD, WL_HOLDER_REBOOTED, WL_HOLDER_ALIVE, WL_HOLDER_ELSEWHERE, WL_HOLDER_OTHER_HOST };
enum wl_holder_state wl_holder_state_of(const struct wl_holder *h, uid_t owner, const char **why, struct wl_arena *a);

/* ---- journal.c: what a holder has set, on disk ---------------------------------------------------------------- */

#define WL_JOURNAL_SUFFIX ".caps"

struct wl_journal_entry {
    const char *setter, *device;
    enum wl_cap_kind kind;
    double found, set; /* NAN found: was not locked */
    bool stuck;        /* of this process, not on disk: the call that sets it has not come back */
};

struct wl_journal {
    const char *path;
    uid_t owner; /* of the file that was read */
    bool obeyed; /* `opts` and `power` are ours: commands, library and tree may be used */
    struct wl_holder holder;
    struct wl_cap_opts opts; /* with which to open the setters again */
    struct wl_power_opts power;
    struct wl_journal_entry *v;
    size_t n;
};

/* Written with its folder to the disk before this returns, for all to read. */
int wl_journal_write(const struct wl_journal *j, struct wl_err *e);

/* From the descriptor whose owner was looked at. */
int wl_journal_read(const char *path, struct wl_journal *out, struct wl_arena *a, struct wl_err *e);

/* The file's text, and back. WL_EINVAL names the path and what is wrong. */
char *wl_journal_text(const struct wl_journal *j, struct wl_arena *a);
int wl_journal_parse(const char *path, const char *text, struct wl_journal *out, struct wl_arena *a, struct wl_err *e);
int wl_journal_remove(const struct wl_journal *j, struct wl_err *e);
char *wl_journal_path(const char *folder, const struct wl_holder *h, struct wl_arena *a);

/* ---- claims.c: all journals of a state folder -------------------------------------------------------------------------- */

struct wl_claim {
    struct wl_journal j;
    enum wl_holder_state life;
    const char *why; /* it is not dead */
    bool settled;    /* put back, or of nobody's concern any more */
};

struct wl_claims {
    struct wl_claim *v; /* the newest holder first: what was set last is put back first */
    size_t n, cap;
    struct wl_restore_result *bad; /* what cannot be read */
    size_t n_bad, bad_cap;
};

int wl_claims_load(const char *dir, struct wl_claims *out, struct wl_arena *a, struct wl_err *e);

/* May the claim's holder still run? */
bool wl_claim_may_be_alive(const struct wl_claim *c);

/* Another holder's entry on the device of `mine`, in claims from *at on, which is moved behind it; NULL: none. */
const struct wl_journal_entry *wl_claims_next(const struct wl_claims *all, const struct wl_journal *self, const struct wl_journal_entry *mine,
                                      size_t *at);

/* What the device had before the first of those who cap it: `found`, or what dead holders found whose value it is.
 * Other users' words count as far as wl_journal_entry_refusal allows. `whose`: the last holder that was believed, or NULL. */
double wl_claims_original(const struct wl_claims *all, const struct wl_journal *self, const struct wl_journal_entry *mine,
                          const struct wl_control *k, const struct wl_claim **whose);

/* Why a device must not be set to what another user's journal says that it had; NULL: it may. Such a word can undo a
 * cap, but neither lower the device nor lift it above its default. `force`: anything that the device takes. */
const char *wl_journal_entry_refusal(const struct wl_journal_entry *entry, const struct wl_control *k, double now, bool force,
                           struct wl_arena *a);

/* ---- restore.c ------------------------------------------------------------------------------------------------ */

struct wl_restore_options {
    const struct wl_cap_opts *opts;    /* how long to wait */
    const struct wl_power_opts *power; /* how root reaches the devices that other users' journals name */
    bool dry_run, force;
    bool reserved; /* the devices are reserved by us: another live holder is believed only where its value is read */
    struct wl_restore_setters *reach; /* restore.c's; NULL */
};

/* Puts back what one journal names and removes it when nothing is left to do; the state folder is locked. `all`: the journals
 * in it, may be NULL. */
int wl_journal_restore(const struct wl_journal *j, const struct wl_claims *all, const struct wl_restore_options *how,
                       bool rebooted, struct wl_restore_results *out, struct wl_arena *a, struct wl_err *e);

/* wl_cap_restore of one state folder under a lock that is held. */
int wl_restore_locked(const char *dir, const struct wl_restore_options *how, struct wl_restore_results *out, struct wl_arena *a,
                      struct wl_err *e);

/* ---- guard.c -------------------------------------------------------------------------------------------------- */

struct wl_guard {
    pid_t pid; /* 0: none */
    int pipe;  /* closed by our death */
};

/* Returns when the guard is ready: from then on our death is noticed. */
int wl_guard_start(struct wl_guard *g, const char *program, const char *journal, struct wl_arena *a, struct wl_err *e);
bool wl_guard_is_alive(struct wl_guard *g);
void wl_guard_dismiss(struct wl_guard *g); /* there is nothing left to guard */
void wl_guard_detach(struct wl_guard *g);   /* it acts when this process ends */

#endif
