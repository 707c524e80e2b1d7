#include "cmd/train/report.h"

#include <math.h>

struct totals {
    int64_t samples, updates, skipped;
    double time_s, input_wait_s;
};

static struct totals sum_up(const struct wl_trainer *t)
{
    struct totals s = { 0 };
    for (size_t i = 0; i < t->n_epochs; i++) {
        s.samples += t->epochs[i].samples;
        s.updates += t->epochs[i].updates;
        s.skipped += t->epochs[i].skipped;
        s.time_s += t->epochs[i].time_s;
        s.input_wait_s += t->epochs[i].input_wait_s;
    }
    return s;
}

static double rate(double samples, double time_s) { return time_s > 0 ? samples / time_s : NAN; }

/* "12.5 samples/s, 6400 tokens/s" */
static const char *speed(const struct wl_train_task *j, double samples, double time_s, struct wl_arena *a)
{
    const double per_s = rate(samples, time_s);
    const char *text = wl_strf(a, "%.1f samples/s", per_s);
    return j->throughput_unit ? wl_strf(a, "%s, %.0f %s/s", text, per_s * j->units_per_sample, j->throughput_unit)
                              : text;
}

/* ---- for people ------------------------------------------------------------------------------------------------- */

/* Prefixes of column heads. */
static const char *const part_heads[WL_PHASES] = {
    [WL_PHASE_TRAIN] = "", [WL_PHASE_VAL] = "val ", [WL_PHASE_EVAL_TRAIN] = "train set "
};

static const char *sign_of(const struct wl_train_metric *m) { return m->display_unit ? m->display_unit : ""; }

static double shown(const struct wl_train_metric *m, double value)
{
    return m->display_scale ? m->display_scale * value : value;
}

static void add_heads(struct wl_table *table, const struct wl_train_task *j, enum wl_train_phase part)
{
    for (size_t i = 0; i < j->n_metrics; i++) {
        const struct wl_train_metric *m = &j->metrics[i];
        if (!m->display_name) continue;
        wl_table_column(table,
                        wl_strf(table->arena, "%s%s%s%s", part_heads[part], m->display_name, m->display_unit ? " " : "",
                                sign_of(m)),
                        true);
    }
}

static void add_cells(struct wl_table *table, const struct wl_train_task *j, const double *values)
{
    for (size_t i = 0; i < j->n_metrics; i++)
        if (j->metrics[i].display_name) wl_table_real(table, shown(&j->metrics[i], values[i]), 4);
}

static void print_table(const struct wl_trainer *t)
{
    static const char *const ends[] = { "lr", "time s", "samples/s" };
    const struct wl_train_task *j = t->task;
    struct wl_table table = wl_table_new(t->arena);
    wl_table_column(&table, "epoch", true);
    add_heads(&table, j, WL_PHASE_TRAIN);
    add_heads(&table, j, WL_PHASE_VAL);
    for (size_t i = 0; i < WL_COUNT(ends); i++) wl_table_column(&table, ends[i], true);
    if (j->throughput_unit) wl_table_column(&table, wl_strf(t->arena, "%s/s", j->throughput_unit), true);
    wl_table_column(&table, "input wait s", true);
    add_heads(&table, j, WL_PHASE_EVAL_TRAIN);
    for (size_t i = 0; i < t->n_epochs; i++) {
        const struct wl_train_epoch *r = &t->epochs[i];
        const double speed = rate((double)r->samples, r->time_s);
        wl_table_cellf(&table, "%lld%s", (long long)r->epoch, r->complete ? "" : "*");
        add_cells(&table, j, r->metric[WL_PHASE_TRAIN]);
        add_cells(&table, j, r->metric[WL_PHASE_VAL]);
        const double cells[] = { r->lr, r->time_s, speed };
        for (size_t k = 0; k < WL_COUNT(cells); k++) wl_table_real(&table, cells[k], 4);
        if (j->throughput_unit) wl_table_real(&table, speed * j->units_per_sample, 4);
        wl_table_real(&table, r->input_wait_s, 4);
        add_cells(&table, j, r->metric[WL_PHASE_EVAL_TRAIN]);
        wl_table_row(&table);
    }
    wl_table_print(&table, WL_STDOUT, wl_out_width(WL_STDOUT)); /* columns without a number are omitted */
}

/* The metrics of a phase that have a value: "BEFORE loss 2.1, top-1 30 %". */
static void add_values(struct wl_text *text, const char *before, const struct wl_train_task *j, const double *values)
{
    for (size_t i = 0; i < j->n_metrics; i++) {
        const struct wl_train_metric *m = &j->metrics[i];
        if (!m->display_name || isnan(values[i])) continue;
        wl_text_addf(text, "%s %s %.4g%s%s", before, m->display_name, shown(m, values[i]), m->display_unit ? " " : "",
                     sign_of(m));
        before = ",";
    }
}

void wl_cmd_train_log_epoch(const struct wl_trainer *t, const struct wl_train_epoch *r)
{
    struct wl_arena *once = wl_arena_new(NULL);
    struct wl_text text = WL_TEXT(once);
    add_values(&text, ":", t->task, r->metric[WL_PHASE_TRAIN]);
    add_values(&text, "; validation", t->task, r->metric[WL_PHASE_VAL]);
    if (r->skipped)
        wl_text_addf(&text, "; %lld of %lld updates skipped (loss scale %g)", (long long)r->skipped,
                     (long long)r->updates, wl_plan_loss_scale(t->plan).scale);
    wl_log(WL_INFO, "train", "epoch %lld/%lld%s; %.2f s, %s", (long long)r->epoch, (long long)t->opts->epochs, text.s,
           r->time_s, speed(t->task, (double)r->samples, r->time_s, once));
    wl_arena_free(once);
}

/* Optimizer and schedule with their final values. */
static char *optimizer(const struct wl_trainer *t)
{
    const struct wl_train_opts *o = t->opts;
    const struct wl_lr_schedule_opts *s = &t->schedule.opts;
    struct wl_text text = WL_TEXT(t->arena);
    if (o->recipe) wl_text_addf(&text, "recipe %s: ", o->recipe);
    wl_text_addf(&text, "%s, learning rate %g", o->optimizer, s->lr);
    if (s->scale) wl_text_addf(&text, " x global batch/256 = %g", s->lr * (double)t->global_batch / 256);
    if (o->warmup_updates)
        wl_text_addf(&text, ", warm-up over %lld updates", (long long)o->warmup_updates);
    else if (s->warmup_epochs > 0)
        wl_text_addf(&text, ", warm-up over %g epochs", s->warmup_epochs);
    wl_text_addf(&text, ", schedule %s", o->lr_schedule);
    if (t->schedule.kind == WL_LR_PLATEAU)
        wl_text_addf(&text, " (x %g after %d epochs without improvement)", s->factor, s->patience);
    if (t->schedule.kind == WL_LR_STEP) wl_text_addf(&text, " (x %g every %g epochs)", s->factor, s->step_epochs);
    if (wl_str_eq(o->optimizer, "sgd"))
        wl_text_addf(&text, ", momentum %g", o->momentum);
    else
        wl_text_addf(&text, ", betas %g and %g, eps %g", o->beta1, o->beta2, o->eps);
    wl_text_addf(&text, ", weight decay %g%s", o->weight_decay, o->decay_weights_only ? " of weights only" : "");
    return text.s;
}

void wl_cmd_train_log_settings(const struct wl_trainer *t)
{
    const struct wl_train_opts *o = t->opts;
    int64_t samples = t->task->train->samples, left_out = samples - t->epoch_updates * t->global_batch;
    wl_log(WL_INFO, "train", "%s", optimizer(t));
    wl_log(WL_INFO, "train", "%lld epoch%s of %lld updates of %lld %ss (%lld of %lld dropped), %s; evaluated on %s",
           (long long)o->epochs, o->epochs == 1 ? "" : "s", (long long)t->epoch_updates, (long long)t->global_batch,
           t->task->workload->noun, (long long)left_out, (long long)samples, o->precision,
           t->val_feed && t->eval_train_feed ? "the validation and the training set"
           : t->val_feed                     ? "the validation set"
           : t->eval_train_feed              ? "the training set"
                                             : "nothing");
}

static void print_text(const struct wl_trainer *t, bool interrupted)
{
    struct wl_plan_info info = wl_plan_info(t->plan);
    struct totals s = sum_up(t);
    const struct wl_train_task *j = t->task;
    wl_print("%s (%s, %.3g million parameters, %s) on %s\n", j->workload->name, t->opts->size,
             (double)info.parameters * 1e-6, t->opts->precision, j->data);
    wl_print("%d worker%s x local batch %lld x accumulation %lld = global batch %lld; %s\n", t->comm->size,
             t->comm->size > 1 ? "s" : "", (long long)t->opts->local_batch, (long long)t->opts->accumulation,
             (long long)t->global_batch, j->data_text);
    wl_print("%s\n\n", optimizer(t));
    if (t->n_epochs == 0 && !interrupted) {
        wl_print("nothing left to do: the checkpoint is of epoch %lld of %lld\n", (long long)t->position.epoch - 1,
                 (long long)t->opts->epochs);
        return;
    }
    if (t->n_epochs) print_table(t);
    bool part = t->n_epochs && !t->epochs[0].complete;
    if (part) wl_print("* resumed within the epoch: time and samples cover the rest of it\n");
    wl_print("\n%s %zu epoch%s: %lld updates, %lld samples in %s, %s\n", interrupted ? "interrupted after" : "trained",
             t->n_epochs, t->n_epochs == 1 ? "" : "s", (long long)s.updates, (long long)s.samples,
             wl_human_time(t->arena, s.time_s), speed(j, (double)s.samples, s.time_s, t->arena));
    if (wl_plan_scales_loss(t->plan))
        wl_print("loss scale %g; %lld of %lld updates skipped: gradients were not finite\n",
                 wl_plan_loss_scale(t->plan).scale, (long long)s.skipped, (long long)s.updates);
    wl_print("memory %s per worker, %s of it in huge pages\n", wl_human_bytes(t->arena, (double)info.total_bytes),
             wl_human_bytes(t->arena, (double)wl_plan_huge_bytes(t->plan)));
    if (info.segments)
        wl_print("activations of %d segment%s of the forward pass were recomputed in the backward pass; keeping all "
                 "would take "
                 "%s\n",
                 info.segments, info.segments == 1 ? "" : "s", wl_human_bytes(t->arena, (double)info.keeping_bytes));
    int64_t bad = wl_loader_bad_samples(t->train_feed);
    if (bad) wl_print("%lld %s%s could not be read\n", (long long)bad, j->workload->noun, bad == 1 ? "" : "s");
}

/* ---- for programs ----------------------------------------------------------------------------------------------- */

static void add_epoch(struct wl_json *list, const struct wl_train_task *j, const struct wl_train_epoch *r,
                      struct wl_arena *a)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_int(o, "epoch", r->epoch);
    wl_json_add_bool(o, "whole", r->complete);
    wl_json_add_int(o, "samples", r->samples);
    wl_json_add_int(o, "updates", r->updates);
    wl_json_add_int(o, "skipped_updates", r->skipped);
    wl_json_add_real(o, "time_s", r->time_s);
    wl_json_add_real(o, "input_wait_s", r->input_wait_s);
    wl_json_add_real(o, "lr", r->lr);
    for (int part = 0; part < WL_PHASES; part++)
        for (size_t i = 0; i < j->n_metrics; i++)
            wl_json_add_real(o, wl_strf(a, "%s_%s", wl_train_phase_names[part], j->metrics[i].name),
                             r->metric[part][i]);
}

static void add_attrs(struct wl_json *o, const struct wl_train_task *j)
{
    for (int i = 0; i < j->n_attrs; i++) {
        const struct wl_train_attr *f = &j->attrs[i];
        if (f->text)
            wl_json_add_str(o, f->name, f->text);
        else
            wl_json_add_int(o, f->name, f->value);
    }
}

/* Describes the metrics of the epochs. */
static void add_metrics(struct wl_json *o, const struct wl_train_task *j)
{
    struct wl_json *list = wl_json_add_array(o, "metrics");
    for (size_t i = 0; i < j->n_metrics; i++) {
        struct wl_json *m = wl_json_add_object(list, NULL);
        wl_json_add_str(m, "name", j->metrics[i].name);
        wl_json_add_str(m, "unit", j->metrics[i].unit);
        wl_json_add_str(m, "better", j->metrics[i].larger_is_better ? "larger" : "smaller");
    }
}

static void print_json(const struct wl_trainer *t, bool interrupted)
{
    struct wl_plan_info info = wl_plan_info(t->plan);
    struct wl_plan_times times = wl_plan_times(t->plan);
    struct totals s = sum_up(t);
    struct wl_json *o = wl_json_root_object(t->arena);
    const struct wl_train_task *j = t->task;
    wl_json_add_str(o, "model", j->workload->name);
    wl_json_add_str(o, "status", interrupted ? "interrupted" : "ok");
    wl_json_add_str(o, "wattlaw", WL_VERSION);
    wl_json_add_str(o, "backend", info.backend);
    wl_json_add_str(o, "library", info.library);
    wl_json_add_str(o, "precision", t->opts->precision);
    wl_json_add_str(o, "comm", t->comm->ops->name);
    wl_json_add_int(o, "workers", t->comm->size);
    wl_json_add_int(o, "nodes", t->comm->nodes);
    wl_json_add_int(o, "global_batch", t->global_batch);
    add_attrs(o, j);
    wl_json_add_int(o, "train_samples", j->train->samples);
    wl_json_add_int(o, "parameters", info.parameters);
    wl_json_add_real(o, "train_flops_per_sample", info.train_flops);
    wl_json_add_int(o, "memory_bytes", (int64_t)info.total_bytes);
    wl_json_add_int(o, "keeping_bytes", (int64_t)info.keeping_bytes);
    wl_json_add_real(o, "again_flops_per_sample", info.recompute_flops);
    wl_json_add_int(o, "huge_page_bytes", (int64_t)wl_plan_huge_bytes(t->plan));
    wl_opts_json(j->rows, t->opts, wl_json_add_object(o, "options"));
    add_metrics(o, j);
    struct wl_json *list = wl_json_add_array(o, "epochs");
    for (size_t i = 0; i < t->n_epochs; i++) add_epoch(list, j, &t->epochs[i], t->arena);
    wl_json_add_int(o, "updates", s.updates);
    wl_json_add_int(o, "skipped_updates", s.skipped);
    if (wl_plan_scales_loss(t->plan)) wl_json_add_real(o, "loss_scale", wl_plan_loss_scale(t->plan).scale);
    wl_json_add_int(o, "samples", s.samples);
    wl_json_add_real(o, "time_s", s.time_s);
    wl_json_add_real(o, "samples_per_s", rate((double)s.samples, s.time_s));
    if (j->throughput_unit)
        wl_json_add_real(o, wl_strf(t->arena, "%s_per_s", j->throughput_unit),
                         rate((double)s.samples * j->units_per_sample, s.time_s));
    wl_json_add_real(o, "input_wait_s", s.input_wait_s);
    wl_json_add_real(o, "compute_s", wl_plan_compute_s(t->plan));
    wl_json_add_real(o, "reduce_s", times.reduce_s);
    wl_json_add_real(o, "update_s", times.update_s);
    wl_json_add_real(o, "validate_s", times.eval_s);
    wl_json_add_int(o, wl_strf(t->arena, "bad_%ss", j->workload->noun), wl_loader_bad_samples(t->train_feed));
    wl_json_print(o);
}

void wl_cmd_train_report(const struct wl_trainer *t, bool interrupted)
{
    if (t->opts->json)
        print_json(t, interrupted);
    else
        print_text(t, interrupted);
}
