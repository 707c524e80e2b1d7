/* {measure}: the words that make each rank of a command measure its node, as the experiment says. */
#include "campaign/internal.h"

#include <math.h>
#include <unistd.h>

/* The options of `wattlaw measure` that an experiment has as keys. */
static const struct wl_opt measure_rows[] = {
    WL_POWER_OPT_ROWS(struct wl_measure_keys, power),
    WL_MARK_REGEX_OPT_ROWS(struct wl_measure_keys, regex),
    WL_COOLDOWN_OPT_ROWS(struct wl_measure_keys, cooldown),
    WL_NODE_WAIT_ROW(struct wl_measure_keys, node_wait_s),
    WL_OPT_END,
};
static const struct wl_opt cap_rows[] = {
    WL_CAP_OPT_ROWS(struct wl_cap_keys, opts, "cap-"),
    WL_OPT_END,
};

static void add(struct wl_strs *to, struct wl_arena *a, const char *name, const char *value)
{
    wl_strs_add(a, to, name);
    if (value) wl_strs_add(a, to, value);
}

static void add_caps(struct wl_strs *to, const struct wl_cap_request *caps, struct wl_arena *a)
{
    for (int k = 0; k < WL_CAP_KINDS; k++) {
        char *name = wl_strf(a, "--%s", wl_cap_kind_name(k));
        for (char *c = name; *c; c++)
            if (*c == '_') *c = '-';
        if (!isnan(caps->value[k])) add(to, a, name, wl_strf(a, "%.17g", caps->value[k]));
    }
}

/* The path of this program, which must be the same on other nodes. */
static const char *own_path(struct wl_arena *a)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    return n > 0 ? wl_strndup(a, self, (size_t)n) : "wattlaw";
}

void wl_placeholder_measure(const struct wl_placeholder_values *f, struct wl_strs *to, struct wl_arena *a)
{
    const struct wl_experiment *x = f->x;
    add(to, a, f->run_dir ? own_path(a) : "wattlaw", "measure");
    add(to, a, "--quiet", NULL);
    add(to, a, "--node-of", f->run_dir ? f->run_dir : "RUN_DIR");
    if (x->launch.batch.local_dir) add(to, a, "--local-dir", x->launch.batch.local_dir);
    wl_opts_argv(measure_rows, &x->measure, to, a);
    add_caps(to, &f->trial->cap, a);
    wl_opts_argv(cap_rows, &x->cap, to, a);
    add(to, a, "--grace", wl_strf(a, "%gs", x->launch.grace_s));
    if (f->cap_dry_run) add(to, a, "--cap-dry-run", NULL);
    add(to, a, "--", NULL);
}

int wl_trial_cap_dry_run(const struct wl_experiment *x, const struct wl_trial *t, struct wl_arena *a, struct wl_err *e)
{
    struct wl_placeholder_values fill = {
        .x = x, .trial = t, .repeat = 1, .run_dir = "/", .data = x->data.path, .cap_dry_run = true
    };
    struct wl_strs argv, env;
    struct wl_process_spawn opts = { .stdout_fd = -1, .stderr_fd = -1, .stdin_fd = -1, .die_with_parent = true };
    struct wl_process_result end = { 0 };
    pid_t pid;
    bool done;
    int rc = wl_placeholder_command(&fill, "[launch] command", &argv, a, e);
    if (rc == 0) rc = wl_placeholder_env(&fill, "[launch] env", &env, a, e);
    if (rc == 0 && x->launch.cwd)
        rc = wl_template_expand(x->launch.cwd, wl_placeholder_value, &fill, "[launch] cwd", &opts.dir, a, e);
    if (rc < 0) return rc;
    struct wl_strs with_local = wl_launcher_mpi_env(&env, a);
    opts.argv = wl_strs_argv(&argv, a);
    opts.env = &with_local;
    rc = wl_process_spawn(&opts, &pid, e);
    if (rc == 0) rc = wl_process_wait(pid, true, &done, &end, e);
    if (rc < 0 || end.status == 0) return rc;
    return wl_fail(e, WL_EJOB, "%s: exit status %d", wl_shell_quote(a, opts.argv), end.status);
}
