/* How convolutions are computed: the choices that earlier runs made by measurement, and those of this one. */
#include "train/train.h"

#include <stdlib.h>

/* Was the kernel chosen by measurement? A step that runs again has the choice of the first time. */
static bool is_chosen(const struct wl_plan_step *s) { return s->choice && !s->again; }

/* In the user's cache; NULL where no folder is known. */
static char *file_path(struct wl_arena *a)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache) return wl_strf(a, "%s/wattlaw/choices.txt", cache);
    return home && *home ? wl_strf(a, "%s/.cache/wattlaw/choices.txt", home) : NULL;
}

static void show(void *bar, size_t done, size_t total)
{
    wl_progress_update(bar, (double)done, (double)total, -1, "convolutions measured");
}

/* What cannot be read is measured again, what cannot be kept is measured by the next run too. */
static void load(struct wl_choices *c, const char *path)
{
    struct wl_err e;
    if (path && wl_choices_load(c, path, &e))
        wl_log(WL_WARN, "train", "choices of earlier runs are not used: %s", e.msg);
}

static void save(struct wl_choices *c, const char *path, double took_s)
{
    struct wl_err e = { 0 };
    size_t added = c->added;
    if (!added) return;
    if (!path)
        wl_fail(&e, WL_ENOENT, "neither XDG_CACHE_HOME nor HOME is set");
    else if (wl_choices_save(c, path, &e) == 0)
        wl_log(WL_INFO, "train", "%zu kinds of convolution measured in %.1f s; remembered in %s", added, took_s, path);
    if (e.code)
        wl_log(WL_WARN, "train", "%zu kinds of convolution measured in %.1f s, but not kept for later runs: %s", added,
               took_s, e.msg);
}

static bool is_winograd(const struct wl_plan_step *s)
{
    return wl_str_starts(s->choice->answer, wl_conv_algorithm_name(WL_CONV_WINOGRAD)); /* or "... in f32" */
}

static void log_summary(const struct wl_plan *plan, struct wl_arena *a)
{
    int chosen = 0, winograd = 0;
    struct wl_arena *once = wl_arena_new(a);
    for (size_t i = 0; i < wl_plan_step_count(plan); i++) {
        struct wl_plan_step s = wl_plan_step(plan, i, once);
        chosen += is_chosen(&s);
        winograd += is_chosen(&s) && is_winograd(&s);
    }
    wl_arena_free(once);
    if (chosen)
        wl_log(WL_INFO, "train", "convolutions: %d of %d passes with a choice are computed by Winograd's algorithm",
               winograd, chosen);
}

int wl_train_plan(struct wl_plan **plan, const struct wl_graph *g, const struct wl_train_opts *o, bool dry,
                  struct wl_comm *comm, struct wl_arena *a, struct wl_err *e)
{
    struct wl_progress bar;
    const bool leads = !comm || comm->rank == 0;
    struct wl_plan_opts p = wl_train_plan_opts(o);
    p.dry = dry;
    p.conv = wl_conv_algorithm_of(o->conv);
    p.choices = wl_choices_new(a);
    char *path = file_path(a);
    if (leads && p.conv == WL_CONV_AUTO) {
        load(p.choices, path);
        if (!o->quiet) {
            wl_progress_start(&bar, "planning");
            p.choices->progress = show;
            p.choices->context = &bar;
        }
    }
    int64_t start_ns = wl_now_ns();
    int rc = wl_plan_new(plan, g, &p, comm, a, e);
    double took_s = (double)(wl_now_ns() - start_ns) / (double)WL_NS_PER_S;
    if (p.choices->progress) wl_progress_clear(&bar);
    p.choices->progress = NULL;
    if (rc || !leads) return rc;
    save(p.choices, path, took_s);
    if (!dry) log_summary(*plan, a);
    return 0;
}

/* ---- in a checkpoint -------------------------------------------------------------------------------------------- */

void wl_train_autotune_describe(const struct wl_plan *plan, struct wl_json *head, struct wl_arena *a)
{
    struct wl_json *list = wl_json_add_object(head, "choices");
    for (size_t i = 0; i < wl_plan_step_count(plan); i++) {
        struct wl_plan_step s = wl_plan_step(plan, i, a);
        if (is_chosen(&s)) wl_json_add_str(list, wl_strf(a, "%s, %s", s.name, s.pass), s.choice->answer);
    }
}

void wl_train_autotune_compare(const struct wl_plan *plan, const struct wl_json *head, struct wl_arena *a)
{
    const struct wl_json *then = wl_json_get(head, "choices");
    size_t known = 0, same = 0;
    for (size_t i = 0; then && i < wl_plan_step_count(plan); i++) {
        struct wl_plan_step s = wl_plan_step(plan, i, a);
        const char *answer =
            is_chosen(&s) ? wl_json_str(wl_json_get(then, wl_strf(a, "%s, %s", s.name, s.pass))) : NULL;
        known += answer != NULL;
        same += answer && wl_str_eq(answer, s.choice->answer);
    }
    if (same < known)
        wl_log(WL_WARN, "train",
               "%zu passes of convolutions use another algorithm than before the checkpoint (another machine, another "
               "oneDNN, or measured anew): the training goes on to rounding, not to the bit",
               known - same);
}
