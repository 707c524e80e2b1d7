/* Job arrays: equal jobs that the batch system is asked for in one call. Each task is the script of its run, which can
 * also be submitted alone. */
#include "campaign/batch.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

bool wl_batch_array_parse(const char *text, int64_t *most)
{
    *most = 0;
    if (wl_str_eq(text, "no")) return true;
    *most = INT64_MAX;
    if (wl_str_eq(text, "yes")) return true;
    return wl_str_to_int(text, most) == 0 && *most >= 2;
}

/* ---- which jobs ---- */

/* Limits of one class differ by a factor below two; the site's default has a class of its own. */
static int limit_class(double limit_s)
{
    int exponent = INT32_MIN;
    if (limit_s > 0) frexp(limit_s, &exponent);
    return exponent;
}

static bool is_equal(const struct wl_batch_item *x, const struct wl_batch_item *y)
{
    return x->repeat == y->repeat && limit_class(x->time_limit_s) == limit_class(y->time_limit_s) &&
           wl_str_eq(x->needs, y->needs);
}

size_t wl_batch_array_split(const struct wl_batch_item *v, size_t n, size_t most, size_t *group, struct wl_arena *a)
{
    size_t groups = 0, *first = wl_new_array(a, size_t, n), *members = wl_new_array(a, size_t, n); /* [group] */
    for (size_t i = 0; i < n; i++) {
        size_t g = groups; /* g - 1: the newest one of equal jobs; 0: there is none */
        while (g > 0 && !is_equal(&v[first[g - 1]], &v[i])) g--;
        if (g == 0 || members[g - 1] >= most) {
            first[groups] = i;
            members[groups] = 0;
            g = ++groups;
        }
        members[g - 1]++;
        group[i] = g - 1;
    }
    return groups;
}

const char *wl_batch_needs(const struct wl_batch *batch, const struct wl_batch_request *r, struct wl_arena *a)
{
    struct wl_batch_request bare = *r;
    bare.name = bare.output = "";
    bare.time_limit_s = 0;
    bare.tasks = NULL;
    return batch->directives ? batch->directives(&bare, a) : "";
}

/* ---- the script ---- */

const char *wl_batch_task(const char *token_or_id)
{
    const char *bar = token_or_id ? strrchr(token_or_id, '_') : NULL;
    return bar ? bar + 1 : NULL;
}

static const char *array_text(const struct wl_batch_scripts *s, const struct wl_batch_request *v, size_t n,
                              int64_t repeat, const struct wl_batch_request *array, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    const char *path = wl_shell_quote(a, (char *[]) { (char *)array->script, NULL });
    wl_text_addf(&t, "#!/bin/bash\n%s", s->batch->directives(array, a));
    wl_text_addf(
        &t, "# campaign %s, repeat %lld: each task is the script of a run. One of them again, any number of times:\n",
        s->x->campaign.name, (long long)repeat);
    wl_text_addf(&t, "#     sbatch --array=TASK %s\n", path);
    wl_text_addf(&t, "cd %s || exit 1\n",
                 wl_shell_quote(a, (char *[]) { wl_path_join(a, s->folder, WL_BATCH_JOBS_FOLDER), NULL }));
    wl_text_add(&t, "scripts=(\n");
    for (size_t i = 0; i < n; i++)
        wl_text_addf(&t, "    %s # %zu: %s\n",
                     wl_shell_quote(a, (char *[]) { (char *)wl_path_base(v[i].script), NULL }), i, v[i].trial->label);
    wl_text_add(&t, ")\nscript=\n[ -z \"$SLURM_ARRAY_TASK_ID\" ] || script=${scripts[$SLURM_ARRAY_TASK_ID]}\n");
    wl_text_addf(&t,
                 "[ -n \"$script\" ] || { echo \"not a task of this array: sbatch --array=0-%zu \"%s >&2; exit 1; }\n",
                 n - 1, path);
    wl_text_add(&t, "exec bash \"$script\"\n");
    return t.s;
}

int wl_batch_array_write(const struct wl_batch_scripts *s, const struct wl_batch_request *v, size_t n, int64_t repeat,
                         const char *token, struct wl_batch_request *out, struct wl_arena *a, struct wl_err *e)
{
    const char *name = wl_strf(a, "array.r%lld.%s", (long long)repeat, token);
    const char *base = wl_path_join(a, wl_path_join(a, s->folder, WL_BATCH_JOBS_FOLDER), name);
    *out = v[0];
    for (size_t i = 1; i < n; i++) {
        if (v[i].time_limit_s <= out->time_limit_s) continue;
        out->time_limit_s = v[i].time_limit_s;
        out->why_limit = v[i].why_limit;
    }
    out->name = wl_strf(a, "%s.%s", s->x->campaign.name, name);
    out->script = wl_strf(a, "%s.sh", base);
    out->output = wl_strf(a, "%s.%%A_%%a.out", base);
    out->tasks = wl_strf(a, "0-%zu%%%lld", n - 1, (long long)s->x->launch.batch.max_in_queue);
    return wl_batch_script_store(out->script, array_text(s, v, n, repeat, out, a), e);
}
