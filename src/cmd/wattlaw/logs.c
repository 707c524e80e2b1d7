/* wattlaw logs: what the command of a run has printed. */
#include "campaign/campaign.h"
#include "cmd/wattlaw/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOG_MAX = 1 << 30 };

struct options {
    int64_t lines;
};

static const struct wl_opt rows[] = {
    { .name = "lines",
      .type = WL_INT,
      .offset = offsetof(struct options, lines),
      .def = "0",
      .min = 0,
      .max = 1e6,
      .help = "print the last lines alone, so many of each file; 0: all" },
    WL_OPT_END,
};

/* Where the last n lines begin. */
static const char *last_lines(const char *text, size_t size, int64_t n)
{
    const char *at = text + size;
    if (n == 0) return text;
    if (at > text && at[-1] == '\n') at--;
    while (at > text && (at[-1] != '\n' || --n > 0)) at--;
    return at;
}

static bool print_file(const char *title, const char *path, const struct options *o, struct wl_arena *a)
{
    struct wl_err e;
    size_t n;
    char *text;
    if (!path || !wl_is_file(path)) return false;
    wl_print("==> %s: %s <==\n", title, path);
    if (wl_file_read(path, LOG_MAX, &text, &n, a, &e) < 0) {
        wl_print("%s\n", e.msg);
        return true;
    }
    const char *from = last_lines(text, n, o->lines);
    wl_print_textn(WL_STDOUT, from, n - (size_t)(from - text));
    if (n && text[n - 1] != '\n') wl_print("\n");
    return true;
}

static const struct wl_submission_row *submission_of(const struct wl_submission_rows *all, int64_t run)
{
    const struct wl_submission_row *newest = NULL;
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i].run == run) newest = &all->v[i];
    return newest;
}

/* The log of a run whose job is under way, or whose shard is not taken yet: of its script jobs/NAME.sh in runs/NAME, or
 * where that was taken NAME-2 ..., the last one that the job can have written. NULL: none. */
static const char *log_of_job(const char *folder, const struct wl_submission_row *row, struct wl_arena *a)
{
    static const char before[] = "jobs/", after[] = ".sh";
    const char *found = NULL, *script = row->script ? row->script : "";
    const size_t n = strlen(script);
    if (!wl_str_starts(script, before) || n <= strlen(before) + strlen(after) || strchr(script + strlen(before), '/'))
        return NULL; /* not a name of ours */
    const char *name = wl_strndup(a, script + strlen(before), n - strlen(before) - strlen(after));
    for (int i = 1;; i++) {
        struct stat st;
        const char *log = wl_strf(a, "%s/runs/%s%s/log", folder, name, i == 1 ? "" : wl_strf(a, "-%d", i));
        if (stat(log, &st) != 0) return found;
        if ((int64_t)st.st_mtime >= row->sent_wall_ns / WL_NS_PER_S) found = log;
    }
}

static int print_logs(struct wl_store *s, int64_t run, const struct options *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_run_rows runs;
    struct wl_submission_rows submissions;
    int rc = wl_store_runs(s, &(struct wl_run_filter) { .run = run }, &runs, a, e);
    if (rc == 0) rc = wl_store_submissions(s, 0, &submissions, a, e);
    if (rc < 0) return rc;
    if (runs.n == 0) return wl_fail(e, WL_ENOENT, "%s: no run %lld", wl_store_path(s), (long long)run);
    const struct wl_run_row *r = &runs.v[0];
    const struct wl_submission_row *submission = submission_of(&submissions, run);
    const char *folder = wl_path_dir(a, wl_path_absolute(a, wl_store_path(s)));
    const char *log = r->folder ? wl_path_join(a, wl_path_join(a, folder, r->folder), "log") : NULL;
    if (!log && submission) log = log_of_job(folder, submission, a);
    const char *output = submission ? wl_batch_output_path(folder, submission, a) : NULL;
    const bool command = print_file("the command", log, o, a), job = print_file("the job", output, o, a);
    if (command || job) return WL_EXIT_OK;
    return wl_fail(e, WL_ENOENT, "%s: run %lld (%s) has no log", wl_store_path(s), (long long)run,
                   submission && r->status == WL_RUN_PLANNED ? submission->state : wl_run_status_names[r->status]);
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *s;
    int64_t id;
    char *path;
    if (rest->args.n != 2) return wl_fail(e, WL_EUSAGE, "expected a STORE and the number of a run");
    if (wl_str_to_int(rest->args.v[1], &id) < 0 || id < 1)
        return wl_fail(e, WL_EUSAGE, "%s: expected the number of a run", rest->args.v[1]);
    int rc = wl_store_find(rest->args.v[0], &path, a, e);
    if (rc == 0) rc = wl_store_open(&s, path, WL_STORE_READ, a, e);
    return rc < 0 ? rc : print_logs(s, id, options, a, e);
}

const struct wl_cmd wl_cmd_logs = {
    .name = "logs",
    .usage = "[options] STORE RUN",
    .help = "print what the command of a run, and its job in a batch system, have written",
    .more = "STORE is a .db file or the folder of a campaign; wattlaw show lists the runs.\n"
            "\n"
            "    wattlaw logs lab1 12\n"
            "    wattlaw logs lab1 12 --lines 20",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};
