#include "cmd/train/by_op.h"

#include "cmd/cmd.h"
#include "cmd/train/events.h"

enum { ROUNDS = 8, LONGEST = 40 /* of single operations, for people */ };

static void print_text(const struct wl_trainer *t, const struct wl_by_op_rows *rows)
{
    const struct wl_plan_info f = wl_plan_info(t->plan);
    const struct wl_train_task *j = t->task;
    const char *ceilings = wl_by_op_ceilings(t->plan, t->arena);
    const size_t limit = wl_str_eq(j->opts->by_op, "all") ? LONGEST : 0;
    const struct wl_table table = wl_by_op_table(rows, limit, t->arena);
    wl_print("%s (%s), local batch %lld, %s, %s, %s, %d thread%s: one worker, %d steps on one batch\n",
             j->workload->name, j->opts->size, (long long)j->opts->local_batch, j->sample_text, f.precision_name,
             f.library, f.threads, f.threads == 1 ? "" : "s", ROUNDS);
    if (*ceilings) wl_print("%s\n", ceilings);
    wl_print("%s\n\n", wl_by_op_step(rows, t->arena));
    wl_table_print(&table, WL_STDOUT, wl_out_width(WL_STDOUT));
    if (limit && rows->n > limit)
        wl_print("%zu more operations are nearer to their bounds: --json has them\n", rows->n - limit);
}

static void print_json(const struct wl_trainer *t, const struct wl_by_op_rows *rows)
{
    const struct wl_plan_info f = wl_plan_info(t->plan);
    struct wl_json *o = wl_json_root_object(t->arena);
    wl_json_add_str(o, "model", t->task->workload->name);
    wl_json_add_str(o, "wattlaw", WL_VERSION);
    wl_json_add_str(o, "backend", f.backend);
    wl_json_add_str(o, "library", f.library);
    wl_json_add_str(o, "precision", f.precision_name);
    wl_opts_json(t->task->rows, t->task->opts, wl_json_add_object(o, "options"));
    wl_by_op_json(t->plan, rows, o);
    wl_json_print(o);
}

int wl_cmd_train_by_op(struct wl_train_task *j, struct wl_err *e)
{
    struct wl_cmd_train_progress progress = { 0 };
    struct wl_trainer t = { .task = j,
                            .arena = j->arena,
                            .events = wl_cmd_train_events(j->opts->quiet),
                            .events_data = &progress,
                            .autotune_cache = wl_cmd_train_autotune_cache(j->arena) };
    struct wl_by_op *times;
    struct wl_by_op_rows rows;
    j->opts->checkpoint_dir = NULL; /* nothing is trained */
    int rc = wl_comm_open(&t.comm, &(struct wl_comm_opts) { .backend = "null", .workers = 1 }, j->arena, e);
    if (!rc) rc = wl_train_time_steps(&t, ROUNDS, &times, e);
    if (rc) return rc;
    wl_by_op_rows(times, wl_str_eq(j->opts->by_op, "all"), &rows, j->arena);
    if (j->opts->json)
        print_json(&t, &rows);
    else
        print_text(&t, &rows);
    return WL_EXIT_OK;
}
