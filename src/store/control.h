/* Requests to a campaign: pause, resume, cancel a run, retry failed ones. They are rows of its store, which the sweep
 * that runs it reads between two runs and once a second during one. docs/adr/177 */
#ifndef WL_STORE_CONTROL_H
#define WL_STORE_CONTROL_H

#include "store/open.h"
#include "store/records.h"

enum wl_control_action {
    WL_CONTROL_PAUSE,  /* no run begins; one that runs goes on to its end */
    WL_CONTROL_RESUME, /* runs begin again */
    WL_CONTROL_CANCEL, /* a run is not begun, or its job is stopped; it counts as failed */
    WL_CONTROL_RETRY,  /* a failed run gets another attempt; its own row and files stay */
    WL_CONTROL_ACTIONS
};
extern const char *const wl_control_names[WL_CONTROL_ACTIONS]; /* "pause" ... */

/* ---- asking ------------------------------------------------------------------------------------------------- */

struct wl_control_request {
    enum wl_control_action action;
    const char *campaign; /* NULL: that of the run, else the only one that a sweep made */
    int64_t run;          /* of cancel; of retry: 0 is every failed run of the campaign */
    const char *asked_by; /* "lab@n1": stored, at most WL_CONTROL_BY_MAX bytes of it */
};
enum { WL_CONTROL_BY_MAX = 200 };

struct wl_control_answer {
    const char *campaign;
    size_t runs;      /* that are cancelled or retried; of pause and resume 1 if something changed */
    int sweep;        /* does a sweep run the campaign: 1 yes, 0 no, negative: cannot be seen from here */
    const char *text; /* what happens now, a sentence */
};

/* Opens the store for writing, stores the request durably, does what no process has to be asked for (a planned run is
 * closed, an attempt is planned), and closes it; all in one transaction. Asking twice changes nothing. It starts no
 * program and sends no signal. WL_ENOENT: no such campaign or run. WL_EINVAL: the request names too much or too little.
 * WL_EPERM: the state of the run does not allow it, or the store cannot be written. */
int wl_store_control(const char *path, const struct wl_control_request *request, struct wl_control_answer *out,
                     struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* action, campaign, runs, sweep (null: cannot be seen from here) and text, as docs/formats.md has them. */
void wl_control_answer_json(enum wl_control_action action, const struct wl_control_answer *v, struct wl_json *o);

/* ---- reading ------------------------------------------------------------------------------------------------ */

struct wl_control_row {
    int64_t id, campaign;
    const char *action;
    int64_t run; /* 0: none */
    int64_t asked_wall_ns;
    const char *asked_by;
    int64_t acted_wall_ns; /* when the sweep acted upon it; WL_NO_NS: not yet */
    const char *outcome;   /* of cancel the status with which the run was closed, of retry "run 20"; NULL: none */
};
struct wl_control_rows {
    struct wl_control_row *v;
    size_t n;
};

/* The newest `most` of a campaign, the newest first. */
int wl_store_controls(struct wl_store *s, int64_t campaign, int64_t most, struct wl_control_rows *out,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

struct wl_control_state {
    bool paused;
    const char *by; /* who paused it; NULL: it is not paused */
    int64_t since_wall_ns;
    int sweep;    /* as of struct wl_control_answer */
    int64_t last; /* number of the newest request; 0: there is none */
};
int wl_store_control_state(struct wl_store *s, int64_t campaign, struct wl_control_state *out, struct wl_arena *a,
                           struct wl_err *e) WL_MUST_CHECK;

/* Of all campaigns: changes with every request and when one is acted upon. */
int wl_store_control_stamp(struct wl_store *s, int64_t *stamp, struct wl_err *e) WL_MUST_CHECK;

/* ---- acting: for the process that runs the campaign ---------------------------------------------------------- */

/* Pauses and resumes up to number `last` are known now. */
int wl_store_control_noticed(struct wl_store *s, int64_t campaign, int64_t last, struct wl_err *e) WL_MUST_CHECK;

/* "cancelled by lab@n1": the error of a run that somebody has cancelled, whether it has been closed yet or not; NULL:
 * nobody has, or the store cannot be read now. */
const char *wl_store_cancelled(struct wl_store *s, int64_t run, struct wl_arena *a);

/* Runs with a cancel request that has not been acted upon. */
int wl_store_to_cancel(struct wl_store *s, int64_t campaign, int64_t **runs, size_t *n, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* Is the run still to begin? 1 yes, 0 no. */
int wl_store_run_is_planned(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;

/* Inside of the transaction that closes a run. */
int wl_store_control_run_closed(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;

#endif
