#include "cmd/train/explain.h"

#include "cmd/cmd.h"
#include "cmd/train/events.h"

#include <math.h>
#include <stddef.h>

struct explain {
    const struct wl_train_task *task;
    struct wl_arena *arena;
    struct wl_plan *plan;
    struct wl_plan_info info;
};

/* Classes of memory, in the order in which they are listed. */
static const struct class
{
    const char *name, *key;
    size_t offset;
} classes[] = {
    { "parameters", "parameter_bytes", offsetof(struct wl_plan_info, param_bytes) },
    { "gradients", "gradient_bytes", offsetof(struct wl_plan_info, gradient_bytes) },
    { "optimizer", "optimizer_bytes", offsetof(struct wl_plan_info, optim_bytes) },
    { "statistics", "statistic_bytes", offsetof(struct wl_plan_info, statistic_bytes) },
    { "input", "input_bytes", offsetof(struct wl_plan_info, input_bytes) },
    { "output", "output_bytes", offsetof(struct wl_plan_info, output_bytes) },
    { "copies", "copy_bytes", offsetof(struct wl_plan_info, copy_bytes) },
    { "values", "value_bytes", offsetof(struct wl_plan_info, value_bytes) },
    { "total", "total_bytes", offsetof(struct wl_plan_info, total_bytes) },
};

static size_t bytes_of(const struct explain *x, const struct class *c)
{
    return *(const size_t *)((const char *)&x->info + c->offset);
}

/* The main result of a step: the largest tensor that it writes, preferring what others read to scratch memory, and
 * tensors of several dimensions to vectors of statistics. */
static int rank_of(const struct wl_plan_buffer *b) { return 2 * !b->scratch + (b->dims.n > 1); }

static const struct wl_plan_buffer *result(const struct wl_plan_step *s)
{
    const struct wl_plan_buffer *best = NULL;
    for (size_t i = 0; i < s->n_buffers; i++) {
        const struct wl_plan_buffer *b = &s->buffers[i];
        if (!b->written) continue;
        const int more = best ? rank_of(b) - rank_of(best) : 1;
        if (more > 0 || (!more && b->dims.n > 1 && b->bytes > best->bytes)) best = b;
    }
    return best;
}

static double scratch_bytes(const struct wl_plan_step *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n_buffers; i++)
        if (s->buffers[i].scratch) sum += (double)s->buffers[i].bytes;
    return sum;
}

static const char *when(const struct wl_plan_step *s)
{
    return s->training && s->evaluation ? "both" : s->training ? "train" : "eval";
}

static const char *bound_by(const struct wl_plan_step *s) { return s->bound_by_flops ? "flop" : "memory"; }

/* The shortest times of an optimizer step of one micro-batch, s, by what bounds them; NAN: not known. */
struct bound {
    double memory_s, flops_s;
};

static struct bound bound(const struct explain *x)
{
    struct bound sum = { .memory_s = x->info.update_bound_s };
    for (size_t i = 0; i < wl_plan_step_count(x->plan); i++) {
        const struct wl_plan_step s = wl_plan_step(x->plan, i, x->arena);
        if (s.training) *(s.bound_by_flops ? &sum.flops_s : &sum.memory_s) += s.bound_s;
    }
    return sum;
}

/* Multiplications of a step relative to one without recomputation; NAN: the network's are not counted. */
static double work_ratio(const struct wl_plan_info *f)
{
    return f->train_flops > 0 ? 1 + f->recompute_flops / f->train_flops : NAN;
}

/* ---- for people ------------------------------------------------------------------------------------------------- */

/* Times of the kernel and of its runner-up when they were measured. */
static void print_choice(struct wl_table *t, const struct wl_choice *c)
{
    wl_table_real(t, c ? c->answer_s * 1e3 : NAN, 3);
    if (c)
        wl_table_cellf(t, "%s %.3g", c->runner_up, c->runner_up_s * 1e3);
    else
        wl_table_cell(t, NULL);
}

static void print_bound(struct wl_table *t, const struct wl_plan_step *s)
{
    const bool known = !isnan(s->bound_s);
    const double scratch = scratch_bytes(s);
    wl_table_aligned(t, known && scratch > 0 ? scratch * 1e-6 : NAN);
    wl_table_aligned(t, known ? s->moved_bytes * 1e-6 : NAN);
    wl_table_aligned(t, s->bound_s * 1e6);
    wl_table_cell(t, known ? bound_by(s) : NULL);
}

static void print_steps(const struct explain *x)
{
    struct wl_table t = wl_table_new(x->arena);
    wl_table_column(&t, "step", true);
    static const char *const texts[] = { "in", "operation", "name", "pass", "kernel", "result", "layout" };
    for (size_t i = 0; i < WL_COUNT(texts); i++) wl_table_column(&t, texts[i], false);
    wl_table_column(&t, "bytes", true);
    static const char *const numbers[] = { "Mflop/sample", "ms/sample" };
    for (size_t i = 0; i < WL_COUNT(numbers); i++) wl_table_column(&t, numbers[i], true);
    wl_table_column(&t, "chosen before", false);
    static const char *const bounds[] = { "scratch MB", "moved MB", "at least us" };
    for (size_t i = 0; i < WL_COUNT(bounds); i++) wl_table_real_column(&t, bounds[i], 4);
    wl_table_column(&t, "bound by", false);
    for (size_t i = 0; i < wl_plan_step_count(x->plan); i++) {
        struct wl_plan_step s = wl_plan_step(x->plan, i, x->arena);
        const struct wl_plan_buffer *b = result(&s);
        wl_table_cellf(&t, "%zu", i);
        const char *const cells[] = { s.recompute ? "again" : when(&s), s.operation, s.name, s.pass, s.implementation };
        for (size_t k = 0; k < WL_COUNT(cells); k++) wl_table_cell(&t, cells[k]);
        if (b) {
            wl_table_cellf(&t, "%s %s", wl_dtype_name(b->dtype), wl_dims_text(x->arena, &b->dims));
            wl_table_cell(&t, b->layout);
            wl_table_cellf(&t, "%zu", b->bytes);
            wl_table_real(&t, s.flops > 0 ? s.flops * 1e-6 : NAN, 4);
            print_choice(&t, s.choice);
            print_bound(&t, &s);
        }
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static bool is_first_of_kernel(const struct explain *x, size_t i, const char *kernel)
{
    while (i > 0)
        if (wl_str_eq(wl_plan_step(x->plan, --i, x->arena).implementation, kernel)) return false;
    return true;
}

/* Kernels that do not compute the operation as it is written: what they do instead, and how exactly. */
static void print_numerics(const struct explain *x)
{
    for (size_t i = 0; i < wl_plan_step_count(x->plan); i++) {
        const struct wl_plan_step s = wl_plan_step(x->plan, i, x->arena);
        if (!s.numerics || !is_first_of_kernel(x, i, s.implementation)) continue;
        wl_print("\n%s: %s;\n    %.3g multiplications for each one that Mflop/sample counts%s\n", s.implementation,
                 s.numerics, s.computed_flops / s.flops, isnan(s.bound_s) ? "" : ", and the bound is theirs");
    }
}

/* The roofline of the whole step. */
static void print_bound_of_step(const struct explain *x)
{
    const struct wl_device_peaks *p = &x->info.peaks;
    const struct bound b = bound(x);
    const double s = b.memory_s + b.flops_s;
    if (isnan(s)) return;
    const char *tf32 = isnan(p->flop_per_s_tf32) ? "" : wl_strf(x->arena, ", of TF32 %.3g", p->flop_per_s_tf32 * 1e-12);
    wl_print(
        "\na step and its update take at least %.4g ms (%s samples/s), %.4g ms for memory and %.4g ms for products\n"
        "estimated of %s: %.3g TB/s, products of 16 bits %.3g%s and of f32 %.3g TFLOP/s\n",
        s * 1e3, wl_number_text(round((double)x->task->opts->local_batch / s), x->arena), b.memory_s * 1e3,
        b.flops_s * 1e3, p->device, p->bytes_per_s_read * 1e-12, p->flop_per_s_16bit * 1e-12, tf32,
        p->flop_per_s_f32 * 1e-12);
}

static void print_memory(const struct explain *x)
{
    struct wl_table t = wl_table_new(x->arena);
    wl_table_column(&t, "memory", false);
    wl_table_column(&t, "bytes", true);
    for (size_t i = 0; i < WL_COUNT(classes); i++) {
        wl_table_cell(&t, classes[i].name);
        wl_table_cellf(&t, "%zu", bytes_of(x, &classes[i]));
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    wl_print("activations share memory by live range: %zu bytes are live at once; without sharing they would take %zu\n"
             "%d steps work in place, which saves %zu more bytes\n",
             x->info.live_bytes, x->info.unshared_bytes, x->info.in_place, x->info.in_place_bytes);
}

/* What recomputation saves and costs. */
static void print_recompute(const struct explain *x)
{
    const struct wl_plan_info *f = &x->info;
    if (!f->segments) return;
    wl_print("\nactivations of %d segment%s are recomputed in the backward pass: %s instead of %s", f->segments,
             f->segments == 1 ? "" : "s", wl_human_bytes(x->arena, (double)f->total_bytes),
             wl_human_bytes(x->arena, (double)f->keeping_bytes));
    if (f->train_flops > 0) wl_print(", for %.3g times the multiplications", work_ratio(f));
    wl_print("\n");
    struct wl_table t = wl_table_new(x->arena);
    wl_table_column(&t, "recomputed from", false);
    wl_table_column(&t, "to", false);
    static const char *const numbers[] = { "steps", "bytes", "Mflop/sample" };
    for (size_t i = 0; i < WL_COUNT(numbers); i++) wl_table_column(&t, numbers[i], true);
    for (int i = 0; i < f->segments; i++) {
        const struct wl_plan_segment s = wl_plan_segment(x->plan, (size_t)i);
        wl_table_cell(&t, s.first);
        wl_table_cell(&t, s.last);
        wl_table_cellf(&t, "%zu", s.steps);
        wl_table_cellf(&t, "%zu", s.bytes);
        wl_table_real(&t, s.flops > 0 ? s.flops * 1e-6 : NAN, 4);
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void print_buckets(const struct explain *x)
{
    struct wl_table t = wl_table_new(x->arena);
    wl_table_column(&t, "bucket", true);
    wl_table_column(&t, "bytes", true);
    wl_table_column(&t, "reduced after step", true);
    for (int i = 0; i < x->info.buckets; i++) {
        struct wl_plan_bucket b = wl_plan_bucket(x->plan, (size_t)i);
        wl_table_cellf(&t, "%d", i);
        wl_table_cellf(&t, "%zu", b.bytes);
        wl_table_cellf(&t, "%zu", b.step);
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void print_text(const struct explain *x)
{
    const struct wl_plan_info *f = &x->info;
    wl_print("%s (%s), local batch %lld, %s: %lld parameters\n", x->task->workload->name, x->task->opts->size,
             (long long)x->task->opts->local_batch, x->task->sample_text, (long long)f->parameters);
    wl_print("%s, %s, %d thread%s; %d operations in %d steps, %d of them reorders\n", f->library, f->precision_name,
             f->threads, f->threads == 1 ? "" : "s", f->operations, f->steps, f->reorders);
    if (isnan(f->train_flops))
        wl_print("the flop count of a %s depends on its size: train with data and --json to see it\n\n",
                 x->task->workload->noun);
    else
        wl_print("a sample takes %.4g Gflop forward, %.4g Gflop in training\n\n", f->forward_flops * 1e-9,
                 f->train_flops * 1e-9);
    print_steps(x);
    print_numerics(x);
    print_bound_of_step(x);
    wl_print("\n");
    print_memory(x);
    print_recompute(x);
    wl_print("\n");
    print_buckets(x);
}

/* ---- for programs ----------------------------------------------------------------------------------------------- */

static void add_buffer(struct wl_json *list, const struct wl_plan_buffer *b)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "memory", b->memory);
    wl_json_add_str(o, "dtype", wl_dtype_name(b->dtype));
    struct wl_json *dims = wl_json_add_array(o, "dims");
    for (int i = 0; i < b->dims.n; i++) wl_json_add_int(dims, NULL, b->dims.d[i]);
    wl_json_add_str(o, "layout", b->layout);
    wl_json_add_int(o, "bytes", (int64_t)b->bytes);
    wl_json_add_bool(o, "written", b->written);
    wl_json_add_bool(o, "scratch", b->scratch);
}

static void add_choice(struct wl_json *o, const struct wl_choice *c)
{
    wl_json_add_str(o, "algorithm", c->answer);
    wl_json_add_real(o, "s_per_sample", c->answer_s);
    wl_json_add_str(o, "runner_up", c->runner_up);
    wl_json_add_real(o, "runner_up_s_per_sample", c->runner_up_s);
}

static void add_step(struct wl_json *list, const struct wl_plan_step *s)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "operation", s->operation);
    wl_json_add_str(o, "name", s->name);
    wl_json_add_str(o, "pass", s->pass);
    wl_json_add_str(o, "kernel", s->implementation);
    wl_json_add_bool(o, "training", s->training);
    wl_json_add_bool(o, "evaluation", s->evaluation);
    wl_json_add_bool(o, "again", s->recompute);
    wl_json_add_real(o, "flops_per_sample", s->flops);
    wl_json_add_real(o, "computed_flops_per_sample", s->computed_flops);
    wl_json_add_str(o, "arithmetic", s->algorithm);
    wl_json_add_str(o, "multiplies", s->numbers);
    wl_json_add_str(o, "numerics", s->numerics);
    wl_json_add_real(o, "moved_bytes", s->moved_bytes);
    wl_json_add_real(o, "bound_s", s->bound_s);
    wl_json_add_str(o, "bound_by", isnan(s->bound_s) ? NULL : bound_by(s));
    if (s->choice) add_choice(wl_json_add_object(o, "choice"), s->choice);
    struct wl_json *buffers = wl_json_add_array(o, "buffers");
    for (size_t i = 0; i < s->n_buffers; i++) add_buffer(buffers, &s->buffers[i]);
}

static void add_bound(struct wl_json *o, const struct explain *x)
{
    const struct wl_device_peaks *p = &x->info.peaks;
    const struct bound b = bound(x);
    wl_json_add_str(o, "device", p->device);
    wl_json_add_real(o, "bytes_per_s", p->bytes_per_s_read);
    wl_json_add_real(o, "flops_per_s_16bit", p->flop_per_s_16bit);
    wl_json_add_real(o, "flops_per_s_tf32", p->flop_per_s_tf32);
    wl_json_add_real(o, "flops_per_s_f32", p->flop_per_s_f32);
    wl_json_add_real(o, "memory_s", b.memory_s);
    wl_json_add_real(o, "flops_s", b.flops_s);
    wl_json_add_real(o, "update_bytes", x->info.update_bytes);
    wl_json_add_real(o, "update_s", x->info.update_bound_s);
}

static void add_recompute(struct wl_json *o, const struct explain *x)
{
    const struct wl_plan_info *f = &x->info;
    wl_json_add_real(o, "flops_per_sample", f->recompute_flops);
    wl_json_add_real(o, "work_ratio", work_ratio(f));
    struct wl_json *segments = wl_json_add_array(o, "segments");
    for (int i = 0; i < f->segments; i++) {
        const struct wl_plan_segment s = wl_plan_segment(x->plan, (size_t)i);
        struct wl_json *row = wl_json_add_object(segments, NULL);
        wl_json_add_str(row, "from", s.first);
        wl_json_add_str(row, "to", s.last);
        wl_json_add_int(row, "steps", (int64_t)s.steps);
        wl_json_add_int(row, "bytes", (int64_t)s.bytes);
        wl_json_add_real(row, "flops_per_sample", s.flops);
    }
}

static void print_json(const struct explain *x)
{
    const struct wl_plan_info *f = &x->info;
    struct wl_json *o = wl_json_root_object(x->arena);
    wl_json_add_str(o, "model", x->task->workload->name);
    wl_json_add_str(o, "wattlaw", WL_VERSION);
    wl_json_add_str(o, "backend", f->backend);
    wl_json_add_str(o, "library", f->library);
    wl_json_add_str(o, "precision", f->precision_name);
    wl_opts_json(x->task->rows, x->task->opts, wl_json_add_object(o, "options"));
    wl_json_add_int(o, "parameters", f->parameters);
    wl_json_add_int(o, "operations", f->operations);
    wl_json_add_int(o, "reorders", f->reorders);
    wl_json_add_real(o, "forward_flops_per_sample", f->forward_flops);
    wl_json_add_real(o, "train_flops_per_sample", f->train_flops);
    struct wl_json *memory = wl_json_add_object(o, "memory");
    for (size_t i = 0; i < WL_COUNT(classes); i++)
        wl_json_add_int(memory, classes[i].key, (int64_t)bytes_of(x, &classes[i]));
    wl_json_add_int(memory, "live_value_bytes", (int64_t)f->live_bytes);
    wl_json_add_int(memory, "unshared_value_bytes", (int64_t)f->unshared_bytes);
    wl_json_add_int(memory, "in_place_bytes", (int64_t)f->in_place_bytes);
    wl_json_add_int(memory, "keeping_bytes", (int64_t)f->keeping_bytes);
    add_recompute(wl_json_add_object(o, "recompute"), x);
    if (f->peaks.device) add_bound(wl_json_add_object(o, "bound"), x);
    struct wl_json *steps = wl_json_add_array(o, "steps");
    for (size_t i = 0; i < wl_plan_step_count(x->plan); i++) {
        struct wl_plan_step s = wl_plan_step(x->plan, i, x->arena);
        add_step(steps, &s);
    }
    struct wl_json *buckets = wl_json_add_array(o, "buckets");
    for (int i = 0; i < f->buckets; i++) {
        struct wl_plan_bucket b = wl_plan_bucket(x->plan, (size_t)i);
        struct wl_json *row = wl_json_add_object(buckets, NULL);
        wl_json_add_int(row, "bytes", (int64_t)b.bytes);
        wl_json_add_int(row, "step", (int64_t)b.step);
    }
    wl_json_print(o);
}

static int plan(struct wl_plan **plan, const struct wl_graph *g, const struct wl_train_task *j, struct wl_err *e)
{
    const struct wl_train_events *events = wl_cmd_train_events(j->opts->quiet);
    struct wl_cmd_train_progress progress = { 0 };
    const struct wl_train_plan_opts o = { .train = j->opts,
                                          .dry = true,
                                          .autotune_cache = wl_cmd_train_autotune_cache(j->arena),
                                          .tuning = events->tuning,
                                          .data = &progress };
    int rc = wl_train_plan(plan, g, &o, j->arena, e);
    if (events->planned) events->planned(&progress);
    return rc;
}

int wl_cmd_train_explain(struct wl_train_task *j, struct wl_err *e)
{
    struct explain x = { .task = j, .arena = j->arena };
    struct wl_graph *g = wl_graph_new(j->arena);
    j->workload->assume_data(j);
    int rc = wl_train_check_backend(j->opts, e);
    if (!rc) rc = j->workload->build(j, g, e);
    if (!rc) rc = plan(&x.plan, g, j, e);
    if (rc) return rc;
    x.info = wl_plan_info(x.plan);
    if (j->opts->json)
        print_json(&x);
    else
        print_text(&x);
    return WL_EXIT_OK;
}
