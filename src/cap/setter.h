/* A setter: what sets power caps and clock locks of some kind of device. */
#ifndef WL_CAP_SETTER_H
#define WL_CAP_SETTER_H

#include "cap/cap.h"

struct wl_setter_ops;
struct wl_hold; /* limits that another process holds for us */
struct wl_setter_session;

/* One limit of one device. Texts live as long as the arena it was opened in. */
struct wl_control {
    const struct wl_setter_ops *ops;
    void *state;  /* the setter's own */
    size_t index; /* of the device within the setter */
    enum wl_cap_kind kind;
    const char *device, *name;
    struct wl_cap_range range;
    double default_value; /* NAN: not known */
    bool write_only;      /* the limit cannot be read: get() has the enforced value only; NAN unlocks */
    bool simulated;
    const struct wl_control *target;   /* of a setter that works through another one */
    struct wl_setter_session *session; /* private to control.c */
};

struct wl_controls {
    struct wl_control *v;
    size_t n, cap;
};
struct wl_control *wl_controls_add(struct wl_controls *list, struct wl_arena *a);

/* What a setter needs to open. */
struct wl_setter_context {
    const struct wl_cap_opts *opts;
    const struct wl_power_opts *power;
    bool all;                          /* every device of the machine, not only the job's: for restoring */
    struct wl_setter_session *session; /* private to control.c */
    struct wl_arena *a;
};

struct wl_setter_ops {
    const char *name;
    const char *help;
    bool kinds[WL_CAP_KINDS];

    /* Adds a control for each device that has this kind of limit; none is an error with the reason and *fix. */
    int (*open)(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out, const char **fix,
                struct wl_err *e);

    /* The value set, and the enforced one (NAN: the same or not known). */
    int (*get)(const struct wl_control *k, double *set, double *enforced, struct wl_err *e);

    /* Missing if the setter has hold(). */
    int (*set)(const struct wl_control *k, double value, struct wl_err *e);

    /* (optional) Restores a found value, where that is not a plain set. */
    int (*restore)(const struct wl_control *k, double found, struct wl_err *e);

    /* (optional) Can it be set? Changes nothing. */
    int (*probe)(const struct wl_control *k, const char **fix, struct wl_err *e);

    /* (optional) Why this limit seems to be locked by somebody else; NULL: it does not. */
    const char *(*locked_by_other)(const struct wl_control *k, struct wl_arena *a);

    /* (optional, all three) Another process sets these limits, all or none, keeps their journal and restores them: when
     * it is asked to, or when this process dies. hold() fills in the values that will be restored; keep() says that
     * this process still runs and fails if they were restored meanwhile; release() returns when they are restored. */
    int (*hold)(struct wl_hold **out, const struct wl_cap_opts *opts, struct wl_cap_setting *const *v, size_t n,
                struct wl_arena *a, struct wl_err *e);
    int (*keep)(struct wl_hold *h, struct wl_err *e);
    int (*release)(struct wl_hold *h, struct wl_err *e);

    bool observes;        /* sets nothing: there is nothing to restore */
    bool watches;         /* another program sets it when the job starts: it is read back while the job runs */
    bool has_own_timeout; /* set and restore return by themselves after opts->wait_s */
};

extern const struct wl_setter_ops wl_setter_nvml, wl_setter_rapl, wl_setter_cpufreq, wl_setter_service,
    wl_setter_command, wl_setter_slurm, wl_setter_observe, wl_setter_null;

/* All of them, NULL-terminated. */
extern const struct wl_setter_ops *const wl_setters[];
const struct wl_setter_ops *wl_setter_find(const char *name);

/* Opens the setter that the options name for a kind: "auto" takes the site's command if there is one, nvml if there are
 * GPUs, else rapl or cpufreq; the cap service instead of these if it runs here and this user may not set them. */
int wl_setter_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out, const char **fix,
                   struct wl_err *e);

/* The setter that reads the machine itself: nvml, else rapl or cpufreq. */
int wl_setter_open_direct(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                          const char **fix, struct wl_err *e);

/* Equal within the rounding of drivers? NAN equals NAN: not limited. */
bool wl_cap_same(enum wl_cap_kind kind, double x, double y);

#endif
