/* A command for each workload, and the data sets. */
#include "cmd/train/commands.h"

#include "train/train.h"

#define MORE                                                                                                           \
    "Alone this is one worker; --workers N starts N on this machine, mpirun -np N or srun start them anywhere.\n"      \
    "Each update takes workers x local batch x accumulation samples; what does not fill one at the end of an\n"        \
    "epoch is left out. The order of samples depends on the seed and the epoch alone, not on the workers.\n\n"         \
    "SIGINT, SIGTERM and SIGHUP end the training after the update in progress, with a checkpoint where a folder for\n" \
    "them was named.\n\n"                                                                                              \
    "example\n"

struct subject {
    const struct wl_workload *workload;
    const struct wl_opt *rows;
};

/* Help and errors are the first rank's to print. */
static bool is_other_rank(void) { return wl_comm_launch_rank() > 0; }

static int run(const void *subject, void *options, const struct wl_opts_args *rest, struct wl_arena *a,
               struct wl_err *e)
{
    const struct subject *s = subject;
    struct wl_train_task job = { .workload = s->workload, .rows = s->rows, .opts = options, .arena = a };
    return wl_cmd_train_run(&job, rest, e);
}

static char *more(const struct wl_workload *w, struct wl_arena *a)
{
    struct wl_text text = WL_TEXT(a);
    struct wl_strs lines = wl_str_split(a, w->example, '\n');
    wl_text_add(&text, MORE);
    for (size_t i = 0; i < lines.n; i++) wl_text_addf(&text, "%s  %s", i ? "\n" : "", lines.v[i]);
    return text.s;
}

static const struct wl_cmd *command(const struct wl_workload *w, struct wl_arena *a)
{
    struct subject *s = wl_new(a, struct subject);
    struct wl_cmd *c = wl_new(a, struct wl_cmd);
    *s = (struct subject) { .workload = w, .rows = wl_opts_join(w->rows, wl_train_option_rows, a) };
    *c = (struct wl_cmd) {
        .name = w->name,
        .usage = "--data DIR [options]",
        .help = w->help,
        .more = more(w, a),
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
