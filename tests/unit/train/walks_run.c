#include "walks_run.h"

#include "cmd/train/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* In a process of its own, whose other ranks are its children: returns the exit status. */
static int train(char **argv, int argc, const char *out)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_opts_args rest;
    if (!freopen(out, "w", stdout)) return 1;
    struct wl_train_task task = { .workload = &walks_workload,
                                  .rows = wl_train_options(&walks_workload, a),
                                  .arena = a };
    task.opts = wl_alloc(a, sizeof(struct walks_options));
    const struct wl_opts_line line = { .rows = task.rows, .argc = argc, .argv = argv };
    int rc = wl_opts_parse(&line, task.opts, &rest, a, &e);
    if (!rc) rc = wl_cmd_train_run(&task, &rest, &e);
    if (rc < 0) printf("%s\n", e.msg);
    wl_arena_free(a); /* waits for the other ranks */
    fflush(stdout);
    return rc < 0 ? 1 : rc;
}

const char *walks_run(struct temp_dir *p, const char *options, int status)
{
    struct wl_strs words = wl_str_split(p->arena, options, ' ');
    const char *out = wl_path_join(p->arena, p->dir, "out");
    int wait_status;
    char *text;
    struct wl_err e;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(train((char **)words.v, (int)words.n, out));
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    assert_int_equal(wl_file_read(out, 1 << 20, &text, NULL, p->arena, &e), 0);
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != status)
        fail_msg("%s: status %x: %s", options, wait_status, text);
    return text;
}

const struct wl_json *walks_results(struct temp_dir *p, const char *options)
{
    struct wl_json *j = NULL;
    struct wl_err e;
    const char *text = walks_run(p, wl_strf(p->arena, "--data here --quiet --json %s", options), 0);
    if (wl_json_parse(text, "results", &j, p->arena, &e)) fail_msg("%s", e.msg);
    return j;
}

double walks_of_epoch(const struct wl_json *r, size_t epoch, const char *name)
{
    return wl_json_real(wl_json_get(wl_json_at(wl_json_get(r, "epochs"), epoch), name));
}
