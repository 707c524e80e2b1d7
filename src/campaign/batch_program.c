/* The programs of a batch system, which may be slow to answer, or not answer. */
#include "campaign/batch.h"

#include <string.h>

enum { OUTPUT_MAX = 64 << 20 };
static const double TIMEOUT_S = 90; /* Slurm's own, MessageTimeout, is often raised to a minute */

/* What Slurm's programs, and those of others, print when nobody answers. */
static const char *const unreachable[] = { "Unable to contact slurm controller",
                                           "Connection refused",
                                           "Connection timed out",
                                           "Socket timed out",
                                           "Zero Bytes were transmitted or received",
                                           "Slurm temporarily unable to accept job",
                                           "slurm_persist_conn_open",
                                           "Resource temporarily unavailable",
                                           "Communication connection failure",
                                           "cannot connect to server",
                                           "Primary controller not responding",
                                           "Slurm controller not responding",
                                           "Transport endpoint is not connected" };

static bool is_unreachable(const char *text)
{
    for (size_t i = 0; i < WL_COUNT(unreachable); i++)
        if (strcasestr(text, unreachable[i])) return true;
    return false;
}

bool wl_batch_may_be_sent(const struct wl_err *e)
{
    static const char *const never_connected[] = { "connect failure", "Connection refused",
                                                   "cannot connect to server" };
    for (size_t i = 0; i < WL_COUNT(never_connected); i++)
        if (strcasestr(e->msg, never_connected[i])) return false;
    return true;
}

size_t wl_batch_ids_end(const struct wl_strs *ids, size_t from)
{
    enum { IDS_BYTES = 96 << 10 };
    size_t bytes = 0, end = from;
    while (end < ids->n && (end == from || bytes + strlen(ids->v[end]) + 1 <= IDS_BYTES))
        bytes += strlen(ids->v[end++]) + 1;
    return end;
}

/* sbatch.c of Slurm: "Slurm job queue full, sleeping and retrying" at MaxJobCount, and then up to 15 more attempts. */
static const char sleeping[] = "sleeping and retrying";

static int run_program(char *const *argv, const char *until, char **text, struct wl_arena *a, struct wl_err *e)
{
    struct wl_process_result end;
    if (!wl_process_find_program(argv[0], a))
        return wl_fail(e, WL_ENOENT, "%s: command not found: is the batch system's software in PATH?", argv[0]);
    const struct wl_process_run run = {
        .argv = argv, .max = OUTPUT_MAX, .merge_stderr = true, .timeout_s = TIMEOUT_S, .until = until
    };
    int rc = wl_process_run(&run, text, &end, a, e);
    if (rc == WL_EINTR) return wl_fail(e, WL_EPERM, "%s", wl_str_strip(a, *text));
    if (rc < 0) return wl_fail(e, WL_EUNAVAIL, "%s: no answer (%s)", argv[0], wl_strdup(a, e->msg));
    if (end.status == 0) return 0;
    const char *said = wl_str_strip(a, *text);
    return wl_fail(e, is_unreachable(said) ? WL_EUNAVAIL : WL_EINVAL, "%s: exit status %d: %s", argv[0], end.status,
                   *said ? said : "no message");
}

int wl_batch_program(char *const *argv, char **text, struct wl_arena *a, struct wl_err *e)
{
    return run_program(argv, NULL, text, a, e);
}

int wl_batch_program_submit(char *const *argv, char **text, struct wl_arena *a, struct wl_err *e)
{
    /* A limit on submitted jobs is reached, which sbatch names: later the same job is accepted. */
    static const char *const limits[] = { "MaxSubmitJob", "SubmitJobs", "MaxJobCount", "job queue full" };
    int rc = run_program(argv, sleeping, text, a, e);
    for (size_t i = 0; i < WL_COUNT(limits) && rc == WL_EINVAL; i++)
        if (strcasestr(e->msg, limits[i])) rc = e->code = WL_EPERM;
    return rc;
}
