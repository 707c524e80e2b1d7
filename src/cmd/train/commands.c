/* A command for each workload, and the data sets. */
#include "cmd/train/commands.h"

#include "cmd/train/run.h"

#define MORE                                                                                                        \
    "Trains with one worker by default; --workers N starts N on this machine, mpirun -np N or srun on any nodes.\n" \
    "An update takes workers x local batch x accumulation samples; the last incomplete global batch of an epoch\n"  \
    "is dropped. The order of samples depends on the seed and the epoch, not on the number of workers.\n\n"         \
    "SIGINT, SIGTERM, SIGHUP and SIGUSR1 end the training after the current update, with a checkpoint if\n"         \
    "--checkpoint-dir is given.\n\n"                                                                                \
    "example\n"

struct command_context {
    const struct wl_workload *workload;
    const struct wl_opt *rows;
};

/* The first rank prints help and errors. */
static bool is_other_rank(void) { return wl_comm_launch_rank() > 0; }

static int run(const void *context, void *options, const struct wl_opts_args *rest, struct wl_arena *a,
               struct wl_err *e)
{
    const struct command_context *s = context;
    struct wl_train_task task = { .workload = s->workload, .rows = s->rows, .opts = options, .arena = a };
    return wl_cmd_train_run(&task, rest, e);
}

static char *details(const struct wl_workload *w, struct wl_arena *a)
{
    struct wl_text text = WL_TEXT(a);
    struct wl_strs lines = wl_str_split(a, w->example, '\n');
    wl_text_add(&text, MORE);
    for (size_t i = 0; i < lines.n; i++) wl_text_addf(&text, "%s  %s", i ? "\n" : "", lines.v[i]);
    return text.s;
}

static const struct wl_cmd *command(const struct wl_workload *w, struct wl_arena *a)
{
    struct command_context *s = wl_new(a, struct command_context);
    struct wl_cmd *c = wl_new(a, struct wl_cmd);
    *s = (struct command_context) { .workload = w, .rows = wl_train_options(w, a) };
    *c = (struct wl_cmd) {
        .name = w->name,
        .usage = "--data PATH [options]",
        .help = w->help,
        .more = details(w, a),
        .options = s->rows,
        .options_size = w->options_size,
        .subject = s,
        .run_subject = run,
        .silent = is_other_rank,
    };
    return c;
}

const struct wl_cmd *const *wl_cmd_train_commands(struct wl_arena *a)
{
    size_t n = 0;
    while (wl_workloads[n]) n++;
    const struct wl_cmd **commands = wl_new_array(a, const struct wl_cmd *, n + 2);
    for (size_t i = 0; i < n; i++) commands[i] = command(wl_workloads[i], a);
    commands[n] = &wl_cmd_train_data;
    return commands;
}
