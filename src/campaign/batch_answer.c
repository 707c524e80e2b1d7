/* What a job asks its batch system. No answer is not an error of the run, and a controller that does not answer must
 * not hold the nodes. What is the same for all jobs is asked once in a campaign, and kept in a file of its folder
 * jobs/. */
#include "campaign/batch.h"

#include <string.h>

enum { OUTPUT_MAX = 4 << 20, KEPT_MAX = 16 << 20 };
static const double TIMEOUT_S = 20;

char *wl_batch_answer(char *const *argv, const char *without, struct wl_arena *a)
{
    struct wl_process_result end;
    struct wl_err e;
    char *text;
    if (!wl_process_find_program(argv[0], a)) return NULL;
    int rc = wl_process_run(
        &(struct wl_process_run) { .argv = argv, .max = OUTPUT_MAX, .merge_stderr = true, .timeout_s = TIMEOUT_S },
        &text, &end, a, &e);
    if (rc == 0 && end.status == 0) return text;
    wl_log(WL_WARN, "campaign", "%s: %s: %s", without, argv[0], rc < 0 ? e.msg : wl_str_strip(a, text));
    return NULL;
}

static const char *path_of(const char *folder, const char *name, struct wl_arena *a)
{
    return wl_strf(a, "%s/%s/%s", folder, WL_BATCH_JOBS_FOLDER, name);
}

void wl_batch_answer_keep(const char *folder, const char *name, const char *text, struct wl_arena *a)
{
    struct wl_err e;
    if (wl_batch_script_store(path_of(folder, name, a), text, &e) < 0) wl_log(WL_WARN, "campaign", "%s", e.msg);
}

const char *wl_batch_answer_once(const char *folder, const char *name, char *const *argv, const char *without,
                                 struct wl_arena *a)
{
    struct wl_err e;
    char *text;
    if (wl_file_read(path_of(folder, name, a), KEPT_MAX, &text, NULL, a, &e) == 0) return text;
    text = wl_batch_answer(argv, without, a);
    if (text) wl_batch_answer_keep(folder, name, text, a);
    return text;
}
