/* Runs that were handed to a batch system. docs/adr/158 */
#ifndef WL_STORE_SUBMISSION_H
#define WL_STORE_SUBMISSION_H

#include "store/open.h"
#include "store/records.h"

/* Values of wl_submission_row.state. */
#define WL_SUBMISSION_SENT    "sent" /* is being submitted: the batch system's answer is not known */
#define WL_SUBMISSION_WAITING "waiting"
#define WL_SUBMISSION_RUNNING "running"
#define WL_SUBMISSION_ENDED   "ended"
#define WL_SUBMISSION_REFUSED "refused" /* the batch system did not take it, or has never seen it */

struct wl_submission_row {
    int64_t id, run;
    const char *launcher, *token;
    const char *job; /* id in the batch system; NULL: not known */
    const char *state;
    const char *outcome, *why, *nodes; /* as in schema.sql; NULL: none */
    int64_t n_nodes;
    double time_limit_s;         /* NAN: the site's default */
    const char *script, *output; /* relative to the store's folder; NULL: written by hand */
    bool cancelled;
    const char *shard; /* that was taken; NULL: none */
    int64_t sent_wall_ns, ended_wall_ns;
};
struct wl_submission_rows {
    struct wl_submission_row *v;
    size_t n;
};

/* Of all runs of a campaign (0: of the store), in the order in which they were added. */
int wl_store_submissions(struct wl_store *s, int64_t campaign, struct wl_submission_rows *out, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Adds a row; its `id` is not read. */
int wl_store_add_submission(struct wl_store *s, const struct wl_submission_row *row, int64_t *id,
                            struct wl_err *e) WL_MUST_CHECK;

/* Stores job, state, outcome, why, nodes, shard and ended_wall_ns of a row. */
int wl_store_update_submission(struct wl_store *s, const struct wl_submission_row *row, struct wl_err *e) WL_MUST_CHECK;

/* The user cancels it: another process may be following it. */
int wl_store_cancel_submission(struct wl_store *s, int64_t id, struct wl_err *e) WL_MUST_CHECK;

#endif
