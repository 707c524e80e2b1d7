/* What the files of this folder share. */
#ifndef WL_CAMPAIGN_INTERNAL_H
#define WL_CAMPAIGN_INTERNAL_H

#include "campaign/campaign.h"
#include "campaign/template.h"
#include "job/kill.h"

#include <poll.h>

/* ---- axis.c: the axes that have a meaning of their own -------------------------------------------------------- */

struct wl_sweep_axis {
    const char *key;
    enum wl_opt_type type; /* WL_STRS, WL_INTS or WL_REALS */
    size_t list_offset;    /* of the list in struct wl_sweep_keys */
    size_t field_offset;   /* of the value in struct wl_trial */
    int cap;               /* enum wl_cap_kind: wattlaw itself sets it; -1: the command has to */
};

const struct wl_sweep_axis *wl_sweep_axes(void); /* ends with a NULL key */
const struct wl_sweep_axis *wl_sweep_axis_find(const char *key);
size_t wl_sweep_axis_count(const struct wl_sweep_axis *axis, const struct wl_sweep_keys *sweep);
void wl_sweep_axis_take(const struct wl_sweep_axis *axis, const struct wl_sweep_keys *sweep, size_t i,
                        struct wl_trial *t);

/* The trial's value as text, NULL where it has none. */
const char *wl_sweep_axis_text(const struct wl_sweep_axis *axis, const struct wl_trial *t, struct wl_arena *a);

/* ---- achieved.c ---------------------------------------------------------------------------------------------- */

/* The caps of a run on this host as the store has them: [n_caps]. */
struct wl_cap_row *wl_run_cap_rows(const struct wl_run_result *r, struct wl_arena *a);

/* What was measured of the quantity that the cap limits, for people; NULL where it was not measured. */
const char *wl_run_cap_achieved(const struct wl_run_result *r, const struct wl_cap_setting *s, struct wl_arena *a);

/* ---- cooldown.c ---------------------------------------------------------------------------------------------- */

/* Waits as opts say, at once where they ask for nothing, and says how it went: GPUs that stay warm, or do not tell, are
 * no error. Sensors that `power` asks for and that cannot be opened are. A signal ends the wait and is left for others.
 */
int wl_cooldown_wait(const struct wl_cooldown_opts *opts, const struct wl_power_opts *power,
                     const struct wl_signals *signals, struct wl_cooldown *out, struct wl_arena *a, struct wl_err *e);

/* ---- slurm.c ------------------------------------------------------------------------------------------------- */

/* What Slurm says of the steps that this process had started within a run, behind their end: waits for that, seconds at
 * most. Its plugin is NULL outside of a job, where the site has none, and where Slurm cannot be asked; of a Slurm whose
 * programs are there and do not answer `why` tells. */
struct wl_slurm_energy wl_slurm_energy_query(const struct wl_anchor *start, const struct wl_anchor *end,
                                             struct wl_arena *a);

/* ---- told.c --------------------------------------------------------------------------------------------------- */

/* Epochs, metrics and the settings in `actual` of a run from its marks; what is told again counts as told last. */
void wl_derive_from_marks(const struct wl_mark_rows *marks, struct wl_derived *out, struct wl_arena *a);

/* A stored mark; false where its word or fields are not known. */
bool wl_derive_parse_mark(const struct wl_mark_row *row, struct wl_mark *m);

/* ---- variation.c --------------------------------------------------------------------------------------------- */

/* A row for each quantity in % of a run's channels (series parallel to them) between two instants; returns how many. */
size_t wl_derive_variation(const struct wl_channel_rows *channels, const struct wl_time_series *series, int64_t t0_ns,
                           int64_t t1_ns, double period_s, struct wl_variation_row **out, struct wl_arena *a);

/* ---- gaps.c ------------------------------------------------------------------------------------------------------ */

/* A line for each device that could not be read for a while, and why; none: no gaps. */
struct wl_strs wl_gaps_list(const struct wl_sensors *sensors, const struct wl_sampler *sampler, struct wl_arena *a);

/* A sentence where the wall clock did not go on as the monotonic one did; NULL: it did. */
const char *wl_gaps_clock_step(const struct wl_anchor *start, const struct wl_anchor *end, struct wl_arena *a);

/* ---- experiment.c -------------------------------------------------------------------------------------------- */

/* The lines of an expanded experiment that may not change while its store fills. */
const char *wl_experiment_immutable(const char *expanded, struct wl_arena *a);

/* ---- grid.c -------------------------------------------------------------------------------------------------- */

/* A trial with no value at all. */
struct wl_trial wl_trial_empty(const struct wl_experiment *x, struct wl_arena *a);

/* ---- job.c: a command under a guard ------------------------------------------------------------------------- */

struct wl_job_spec {
    char *const *argv;
    const struct wl_strs *env;          /* NAME=value, added to ours; NULL: none */
    const char *cwd;                    /* NULL: ours */
    int stdin_fd, stdout_fd, stderr_fd; /* as in struct wl_process_spawn */
    bool pass_through; /* stays in our process group, so that it can read the terminal; may leave processes behind */
    double grace_s;    /* between SIGTERM and SIGKILL */
};

struct wl_job_exit {
    struct wl_process_result exit;
    int64_t t_ns;  /* when the command ended */
    int leftovers; /* processes that outlived the command and were ended */
    int stuck;     /* processes that SIGKILL did not end within WL_KILL_TIMEOUT_NS; they are left behind */
    char survivors[WL_KILL_TEXT_SIZE]; /* these, and why: wl_kill_describe */
};

struct wl_job;

/* Starts the guard, which waits; the process tree below wl_job_pid is the job's. `spec` is read until wl_job_start has
 * returned. The job is ended, if it still runs, when the arena is freed or this process dies, however it dies. */
int wl_job_prepare(struct wl_job **out, const struct wl_job_spec *spec, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;
pid_t wl_job_pid(const struct wl_job *job);

/* Starts the command. WL_ENOENT, WL_EPERM as wl_process_spawn. */
int wl_job_start(struct wl_job *job, int64_t *started_ns, struct wl_err *e) WL_MUST_CHECK;

/* Readable when the command and everything that it started has ended: then call wl_job_reap, once. WL_EJOB: the guard
 * was killed, so how the command ended is not known; what of the job was left has been ended here. */
int wl_job_fd(const struct wl_job *job);
int wl_job_reap(struct wl_job *job, struct wl_job_exit *out, struct wl_err *e) WL_MUST_CHECK;

void wl_job_signal(struct wl_job *job, int sig); /* to the command itself */
void wl_job_stop(struct wl_job *job, bool now);  /* SIGTERM to all, SIGKILL after the grace time, or at once */

/* ---- pump.c: the job's output through us ------------------------------------------------------------------- */

struct wl_pump;
typedef void wl_pump_line(void *ctx, int64_t t_ns, const char *line, size_t n);

/* A pipe whose bytes are passed on to `to` unchanged; on_line sees each line without its end (at most 64 KiB of it). */
int wl_pump_open(struct wl_pump **out, int to, wl_pump_line *on_line, void *ctx, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;
int wl_pump_write_fd(const struct wl_pump *p); /* the job's end, until wl_pump_close_write_fd */
void wl_pump_close_write_fd(struct wl_pump *p);
struct pollfd wl_pump_pollfd(const struct wl_pump *p); /* fd -1: the output has ended */
void wl_pump_forward(struct wl_pump *p);               /* when poll(2) says so */
void wl_pump_drain(struct wl_pump *p);                 /* the job has ended: what is still in the pipe */

/* ---- record.c: what is measured of a run, into the store --------------------------------------------------------- */

struct wl_recorder {
    struct wl_store *store;
    int64_t run;
    struct wl_arena *a;
    struct wl_sensors *sensors; /* from wl_recorder_start_sampler on */
    struct wl_sampler *sampler;
    int64_t *device_ids, *channel_ids; /* in the store, of device and channel i of the sensors */
    int64_t broken_marks;              /* lines that were no marks */
    int store_rc; /* the first failure of the store, and its message; nothing is written behind it */
    struct wl_err store_err;
    /* its own */
    struct wl_sample *drained;
    struct wl_sample_row *samples; /* that wait to be stored; the first n_spooled lie in the spool */
    size_t n_samples, n_spooled;
    struct wl_mark_tail *tail;
    struct wl_mark *marks;
    struct wl_mark_row *rows;
    size_t n_marks;
    int64_t spooled_ns, stored_ns, store_interval_ns;
};

/* store, run and arena are set; from here on marks are taken in. */
void wl_recorder_open(struct wl_recorder *r, const char *marks_path);

/* Opens the sensors and starts the sampler. */
int wl_recorder_start_sampler(struct wl_recorder *r, const struct wl_power_opts *power, pid_t job,
                              struct wl_err *e) WL_MUST_CHECK;

/* Goes on with a run that a dead wattlaw had begun: its channels get a failed reading here, the end of the gap, and its
 * marks are not stored twice. */
int wl_recorder_resume(struct wl_recorder *r, struct wl_err *e) WL_MUST_CHECK;

/* The run begins in the store, with its devices and channels. */
int wl_recorder_begin(struct wl_recorder *r, const struct wl_run_begin *begin, struct wl_err *e) WL_MUST_CHECK;

wl_mark_sink wl_recorder_mark; /* ctx is the record */
void wl_recorder_broken_mark(void *record, const struct wl_err *why);
void wl_recorder_note(struct wl_recorder *r, const char *level, const char *area, const char *text); /* the run's log */

/* Once a second: what was measured since the last call is made safe. */
void wl_recorder_flush(struct wl_recorder *r);
bool wl_recorder_flush_due(const struct wl_recorder *r); /* it is time for that */

/* The workload is gone, the sampler stopped: everything is stored, in one transaction. */
void wl_recorder_finish(struct wl_recorder *r);

/* Notes the first failure of the store; rc >= 0 is none. */
void wl_recorder_store_failed(struct wl_recorder *r, int rc, const struct wl_err *e);

/* ---- task.c: the command of a run while it runs ------------------------------------------------------------------ */

struct wl_run_command {
    const struct wl_run_opts *how;
    struct wl_arena *a;
    wl_mark_sink *on_mark; /* marks made from the output, and lines that make no sense */
    void (*on_broken)(void *ctx, const struct wl_err *why);
    void *ctx;
    struct wl_job *job; /* from wl_run_command_prepare on */
    const char *dir;    /* that its processes carry in their environment: of a rank one below the run's */
    const char *marks_path, *log_path; /* log_path NULL: the output passes through */
    int64_t start_ns;
    struct wl_job_exit end;
    int stop_signal; /* the first that came; 0: none */
    bool timed_out, abandoned;
    /* its own */
    int log_fd;
    struct wl_pump *pumps[2];
    size_t n_pumps;
    struct wl_mark_regex *regex;
};

/* `how` to `ctx` are set: makes the run's folder, starts the guard. Then the command, codes of wl_job_start. */
int wl_run_command_prepare(struct wl_run_command *t, struct wl_err *e) WL_MUST_CHECK;
int wl_run_command_start(struct wl_run_command *t, struct wl_err *e) WL_MUST_CHECK;

/* Waits until something happens, at most so long, and deals with it; true: the command has ended. Behind its end only
 * signals are waited for. */
bool wl_run_command_wait(struct wl_run_command *t, int most_ms);
double wl_run_command_elapsed_s(const struct wl_run_command *t);

/* Who started it is gone: the command is stopped. */
void wl_run_command_abandon(struct wl_run_command *t);

/* How it ended, into t->end. WL_EJOB: the guard was killed, the command is ended too. */
int wl_run_command_reap(struct wl_run_command *t, struct wl_err *e) WL_MUST_CHECK;

/* What is left of the output; `started`: there was a command. */
void wl_run_command_close(struct wl_run_command *t, bool started);

/* DONE, or why not in *error. */
enum wl_run_status wl_run_command_status(const struct wl_run_command *t, const char **error);

/* ---- rank.c: what a launcher made of this process ---------------------------------------------------------------- */

struct wl_rank {
    const char *job;   /* a name that all its ranks on this node share, of characters for a file name */
    int rank, size;    /* of the whole job */
    int local, locals; /* of this node */
};

/* false: started by no launcher that says all of it. */
bool wl_rank_from_env(struct wl_rank *out, struct wl_arena *a);

/* ---- team.c: the ranks of a node, each under a wattlaw of its own -------------------------------------------------
 */

const struct wl_rank *wl_local_ranks_self(const struct wl_local_ranks *t);
char *wl_local_ranks_env(const struct wl_local_ranks *t,
                         struct wl_arena *a); /* for the command: what it starts is no rank of its own */

/* The leader is ready: from now on the others start their commands. */
int wl_local_ranks_begin_run(struct wl_local_ranks *t, const char *store, const char *dir, int64_t run,
                             struct wl_err *e) WL_MUST_CHECK;

/* Not the leader: true once, when the one before is dead and it is our turn. */
bool wl_local_ranks_take_lead(struct wl_local_ranks *t);

struct wl_local_ranks_run {
    const char *store; /* path */
    int64_t run, start_ns;
    int lost_rank; /* of the leader that died; -1: not known */
};
struct wl_local_ranks_run wl_local_ranks_run(const struct wl_local_ranks *t);

void wl_local_ranks_set_started(struct wl_local_ranks *t, pid_t job, int64_t start_ns);
void wl_local_ranks_set_ended(struct wl_local_ranks *t, const struct wl_job_exit *end);

/* Leader: every rank that came has ended or is dead. Others: the leader has closed the run. */
bool wl_local_ranks_done(const struct wl_local_ranks *t);

struct wl_local_rank {
    int rank;
    pid_t job;            /* first process of its command; 0: not started */
    bool came, ended, us; /* came and not ended, when the team is over: its wattlaw was killed */
    int64_t end_ns;       /* 0: not ended */
    int status, signal;
};
size_t wl_local_ranks_list(const struct wl_local_ranks *t, struct wl_local_rank *out); /* out[locals]; returns locals */

void wl_local_ranks_close(struct wl_local_ranks *t); /* the leader has closed the run */

/* ---- meeting.c: where processes of this user on this node meet ----------------------------------------------------
 */

/* The folder wattlaw-UID, or one of that name with a random end, in $WATTLAW_NODE_DIR, else /dev/shm or /tmp: made
 * here, in which nobody else can write. Returns its descriptor, which lives as long as the arena. WL_EPERM: there is
 * none. */
int wl_runtime_dir_open(const char **folder, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Calls look for each folder of such a name that is ours and not the one of the descriptor. */
typedef void wl_runtime_dir_visit(void *ctx, int dir, const char *folder);
void wl_runtime_dir_others(int ours, wl_runtime_dir_visit *look, void *ctx, struct wl_arena *a);

/* ---- run_folder.c -------------------------------------------------------------------------------------------------
 */

/* Makes a file of output, NAME or NAME-2 ... where that is taken. Returns its descriptor, to append to. */
int wl_run_folder_create_file(const char *dir, const char *name, const char **path, struct wl_arena *a,
                              struct wl_err *e) WL_MUST_CHECK;

/* ---- fleet.c: the nodes of a run --------------------------------------------------------------------------------- */

enum wl_node_state { WL_NODE_JOINED, WL_NODE_READY, WL_NODE_RESTORED, WL_NODE_REFUSED };
struct wl_node_status {
    const char *host;
    enum wl_node_state state;
    int ranks, size; /* on that node, of the job */
    const char *why; /* of a refusal */
};
struct wl_node_statuses {
    struct wl_node_status *v;
    size_t n;
};

/* What the nodes of that run have said so far, in the order of their names. */
struct wl_node_statuses wl_multinode_status(const char *folder, int64_t run, struct wl_arena *a);
const struct wl_node_status *wl_multinode_refusal(const struct wl_node_statuses *said); /* the first; NULL: none */

/* Who came and has said neither that it refuses nor that its caps are put back: "n1, n2"; NULL: nobody. */
char *wl_multinode_unrestored(const struct wl_node_statuses *said, struct wl_arena *a);

/* The caps of this node are put back. */
void wl_multinode_caps_restored(struct wl_multinode *f);

/* The caps of this node stand. Waits until those of all nodes do, at most so long (0: not at all). WL_EJOB: a node
 * refused, or is late; the message names it. WL_EINTR: a signal came. */
int wl_multinode_barrier(struct wl_multinode *f, double wait_s, const struct wl_signals *signals,
                         struct wl_err *e) WL_MUST_CHECK;

/* The sweep says that it lives, with another number each second; half a minute without one, and its nodes know that it
 * is gone. */
int wl_multinode_heartbeat(const char *folder, int64_t beat, struct wl_err *e) WL_MUST_CHECK;
bool wl_multinode_heartbeat_lost(struct wl_multinode *f);

/* ---- shard.c ------------------------------------------------------------------------------------------------------
 */

/* The shards that are in the folder; returns how many ranks they stand for, and in *size how many there are in all. */
int wl_shard_list(const char *folder, struct wl_strs *paths, int *size, struct wl_arena *a);

/* ---- nodes.c: a campaign's run on several nodes -------------------------------------------------------------------
 */

/* As wl_run_measure, by a command whose ranks measure themselves ({measure}): their nodes set caps, sample and store;
 * here the command is looked after, and what the nodes have stored becomes the run. */
int wl_run_multinode(struct wl_store *s, int64_t run, const struct wl_run_opts *how, struct wl_run_result *out,
                     struct wl_arena *a, struct wl_err *e);

/* ---- shared.c: does the job have the node to itself? ----------------------------------------------------------------
 */

struct wl_node_sharing {
    struct wl_arena *a;
    int fd;          /* -1: who else measures cannot be seen */
    const char *why; /* that is so; NULL: it can */
    bool seen;       /* somebody did */
};
void wl_node_sharing_begin(struct wl_node_sharing *s, struct wl_arena *a); /* others see us, until the arena is freed */
void wl_node_sharing_check(struct wl_node_sharing *s);
const char *wl_node_sharing_note(struct wl_node_sharing *s); /* a sentence, NULL: we are alone */

/* ---- mates.c: what the leader does about the other ranks ------------------------------------------------------------
 */

struct wl_peer_ranks {
    struct wl_local_ranks *team;
    struct wl_arena *a;
    struct wl_local_rank *v;       /* [locals] */
    bool *watched;                 /* [locals] the sampler knows its processes */
    struct wl_process_result exit; /* of the run: the first command that failed, ours before others */
};
void wl_peer_ranks_init(struct wl_peer_ranks *m, struct wl_local_ranks *team, struct wl_arena *a);
void wl_peer_ranks_watch(struct wl_peer_ranks *m, struct wl_sampler *sampler); /* commands that have started since */
void wl_peer_ranks_judge(struct wl_peer_ranks *m, struct wl_run_result *out);  /* all have ended */

/* ---- leftover.c --------------------------------------------------------------------------------------------- */

/* Ends the processes that carry one of these run folders in their environment: what is left of a job whose guard was
 * killed too. SIGTERM, then SIGKILL after the grace time; what is not gone WL_KILL_TIMEOUT_NS later is reported and
 * left. Returns how many there were. */
int wl_kill_leftovers(const struct wl_strs *run_dirs, double grace_s);

/* ---- local.c ------------------------------------------------------------------------------------------------- */

/* These variables, and what makes Open MPI start ranks here as we count them. */
struct wl_strs wl_launcher_mpi_env(const struct wl_strs *given, struct wl_arena *a);

/* ---- launcher.c: ways to start a run ------------------------------------------------------------------------ */

struct wl_launcher {
    const char *name, *help;
    const char *unavailable; /* why it cannot be used; NULL: it can */
    bool runs;               /* it starts commands, whose runs need a folder each */
    int (*run)(struct wl_store *s, int64_t run, const struct wl_run_opts *how, struct wl_run_result *out,
               struct wl_arena *a, struct wl_err *e); /* as wl_run_measure */
};
extern const struct wl_launcher wl_launcher_local, wl_launcher_null, wl_launcher_slurm;
extern const struct wl_launcher *const wl_launchers[]; /* NULL-terminated */

/* WL_EINVAL with "did you mean", WL_EUNAVAIL with the reason. */
int wl_launcher_find(const char *name, const struct wl_launcher **out, struct wl_err *e) WL_MUST_CHECK;

/* ---- prepare.c ---------------------------------------------------------------------------------------------- */

/* Are the data of an experiment there, and if not, can the command that makes them be started? The path is absolute,
 * NULL where the experiment names none; codes of wl_prepare_data, which begins with this. */
int wl_prepare_find_data(const struct wl_experiment *x, const char **path, bool *missing, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Makes the data of an experiment where they are missing and it says how; WL_ENOENT where it does not say how. The
 * path is absolute. What the command prints goes to prepare.log in the folder. */
int wl_prepare_data(const struct wl_experiment *x, const char *log_folder, const struct wl_signals *signals,
                    const char **path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
