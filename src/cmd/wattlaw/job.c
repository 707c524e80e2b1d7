/* wattlaw job: the part of a campaign that a job of a batch system does. */
#include "campaign/campaign.h"
#include "cmd/cmd.h"

struct options {
    const char *folder, *experiment, *trial;
    int64_t repeat;
    bool salvage;
};

static const struct wl_opt rows[] = {
    { .name = "folder",
      .type = WL_STR,
      .offset = offsetof(struct options, folder),
      .unit = "FOLDER",
      .required = true,
      .help = "folder of the campaign" },
    { .name = "experiment",
      .type = WL_STR,
      .offset = offsetof(struct options, experiment),
      .unit = "FILE",
      .required = true,
      .help = "expanded experiment file that has the trial" },
    { .name = "trial",
      .type = WL_STR,
      .offset = offsetof(struct options, trial),
      .unit = "HASH",
      .required = true,
      .help = "hash of the trial's settings" },
    { .name = "repeat",
      .type = WL_INT,
      .offset = offsetof(struct options, repeat),
      .def = "1",
      .min = 1,
      .max = 10000,
      .help = "number of the repeat" },
    { .name = "salvage",
      .type = WL_FLAG,
      .offset = offsetof(struct options, salvage),
      .help = "store what jobs of this user on this node had measured when their wattlaw was killed; run nothing" },
    WL_OPT_END,
};

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    struct wl_batch_job_opts job = {
        .folder = wl_path_absolute(a, o->folder), .experiment = o->experiment, .trial = o->trial, .repeat = o->repeat
    };
    struct wl_batch_job_result r;
    struct wl_signals *signals;
    if (rest->args.n) return wl_fail(e, WL_EUSAGE, "unexpected argument %s", rest->args.v[0]);
    if (o->salvage) {
        const int n = wl_batch_job_salvage(&job, a);
        wl_print("%d measurement%s salvaged\n", n, n == 1 ? "" : "s");
        return WL_EXIT_OK;
    }
    int rc = wl_signals_open(&signals, true, a, e);
    if (rc < 0) return rc;
    job.signals = signals;
    rc = wl_batch_job_run(&job, &r, a, e);
    if (rc < 0) return rc;
    if (r.finished) {
        wl_print("this run is done already, and is not repeated: %s\n", r.finished);
        return WL_EXIT_OK;
    }
    if (r.error) wl_print("%s\n", r.error);
    wl_print("%s: %s\n", wl_run_status_names[r.status], r.shard);
    return r.status == WL_RUN_DONE ? WL_EXIT_OK : WL_EXIT_FAILED;
}

const struct wl_cmd wl_cmd_job = {
    .name = "job",
    .usage = "[options]",
    .help = "run one run of a campaign inside a job of a batch system; its scripts call this",
    .more = "wattlaw sweep writes scripts with this command for launcher = slurm or command. The run is measured in a "
            "store\n"
            "on the node's disk, which is then copied into FOLDER/shards. A run that is done is not repeated.\n"
            "Exit status: 0 the run is done, 1 it failed or was stopped.\n",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};
