#include "train/plan.h"

#include <math.h>

/* Was the kernel chosen by measurement? A recomputed step has the choice of the first time. */
static bool is_chosen(const struct wl_plan_step *s) { return s->choice && !s->recompute; }

const char *wl_train_backend(const struct wl_train_opts *o)
{
    return wl_str_eq(o->backend, "auto") ? NULL : o->backend;
}

/* Of TF32 the values. */
static enum wl_dtype precision_of(const char *name)
{
    if (wl_str_eq(name, "tf32")) return WL_F32;
    static const enum wl_dtype types[] = { WL_F32, WL_BF16, WL_F16 };
    for (size_t i = 0; i < WL_COUNT(types); i++)
        if (wl_str_eq(name, wl_dtype_name(types[i]))) return types[i];
    WL_CHECK(false); /* a row of options has checked it */
    return WL_F32;
}

/* The options of one rank. */
static struct wl_plan_opts plan_opts(const struct wl_train_opts *o)
{
    return (struct wl_plan_opts) {
        .backend = wl_train_backend(o),
        .batch = o->local_batch,
        .threads = (int)o->threads,
        .precision = precision_of(o->precision),
        .tf32 = wl_str_eq(o->precision, "tf32"),
        .slow_bf16 = o->allow_slow_bf16,
        .seed = (uint64_t)o->seed,
        .micro_batches = (int)o->accumulation,
        .recompute = wl_str_eq(o->recompute, "yes"),
        .memory_bytes = isnan(o->memory_gb) ? 0 : (size_t)(o->memory_gb * 1e9),
        .optim = { .kind = o->optimizer,
                   .momentum = o->momentum,
                   .weight_decay = o->weight_decay,
                   .nesterov = o->nesterov,
                   .beta1 = o->beta1,
                   .beta2 = o->beta2,
                   .eps = o->eps,
                   .decay_weights_only = o->decay_weights_only },
    };
}

int wl_train_check_backend(const struct wl_train_opts *o, struct wl_err *e)
{
    const struct wl_plan_opts p = plan_opts(o);
    int rc = wl_backend_precision(p.backend, WL_F32, false, e);
    if (rc) return wl_err_prefix(e, "--backend %s", o->backend);
    rc = p.tf32 ? wl_backend_tf32(p.backend, e) : wl_backend_precision(p.backend, p.precision, p.slow_bf16, e);
    if (!rc) return 0;
    bool slow_runs = !p.tf32 && !wl_backend_precision(p.backend, p.precision, true, NULL);
    return wl_err_prefix(e, "--precision %s%s", o->precision, slow_runs ? " without --allow-slow-bf16" : "");
}

/* ---- autotuning cache -------------------------------------------------------------------------------------------- */

/* Without a cache each run measures for itself. */
static void cache_load(struct wl_choices *c, const char *path)
{
    struct wl_err e;
    if (path && wl_choices_load(c, path, &e))
        wl_log(WL_WARN, "train", "autotuning results of earlier runs are not used: %s", e.msg);
}

static void cache_save(struct wl_choices *c, const char *path, double took_s)
{
    struct wl_err e = { 0 };
    size_t added = c->added;
    if (!added) return;
    if (!path)
        wl_fail(&e, WL_ENOENT, "there is no cache folder (neither XDG_CACHE_HOME nor HOME is set)");
    else if (wl_choices_save(c, path, &e) == 0)
        wl_log(WL_INFO, "train", "%zu shapes measured in %.1f s; results saved in %s", added, took_s, path);
    if (e.code)
        wl_log(WL_WARN, "train", "%zu shapes measured in %.1f s; results not saved for later runs: %s", added, took_s,
               e.msg);
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
        wl_log(WL_INFO, "train", "convolutions: %d of %d autotuned passes use Winograd's algorithm", winograd, chosen);
}

int wl_train_plan(struct wl_plan **plan, const struct wl_graph *g, const struct wl_train_plan_opts *o,
                  struct wl_arena *a, struct wl_err *e)
{
    const bool is_root = !o->comm || o->comm->rank == 0;
    struct wl_plan_opts p = plan_opts(o->train);
    p.dry = o->dry;
    p.room = o->room;
    p.conv = wl_conv_algorithm_of(o->train->conv);
    p.choices = wl_choices_new(a);
    if (o->autotune_cache) p.choices->folder = wl_path_dir(a, o->autotune_cache);
    if (is_root && p.conv == WL_CONV_AUTO) {
        cache_load(p.choices, o->autotune_cache);
        p.choices->progress = o->tuning;
        p.choices->context = o->data;
        if (o->tuning) o->tuning(o->data, 0, 0);
    }
    int64_t start_ns = wl_now_ns();
    int rc = wl_plan_new(plan, g, &p, o->comm, a, e);
    double took_s = (double)(wl_now_ns() - start_ns) / (double)WL_NS_PER_S;
    p.choices->progress = NULL;
    if (rc || !is_root) return rc;
    cache_save(p.choices, o->autotune_cache, took_s);
    if (!o->dry) log_summary(*plan, a);
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
    const struct wl_json *saved = wl_json_get(head, "choices");
    size_t known = 0, same = 0;
    for (size_t i = 0; saved && i < wl_plan_step_count(plan); i++) {
        struct wl_plan_step s = wl_plan_step(plan, i, a);
        const char *answer =
            is_chosen(&s) ? wl_json_str(wl_json_get(saved, wl_strf(a, "%s, %s", s.name, s.pass))) : NULL;
        known += answer != NULL;
        same += answer && wl_str_eq(answer, s.choice->answer);
    }
    if (same < known)
        wl_log(
            WL_WARN, "train",
            "%zu passes use another algorithm than before the checkpoint (another machine, another library, or a new "
            "measurement): results agree up to rounding, not bit for bit",
            known - same);
}
