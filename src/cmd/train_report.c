/* The results of a training: a table for people, JSON for programs. */
#include "cmd/train.h"

#include <math.h>

struct totals {
    int64_t samples, updates;
    double time_s, input_wait_s;
};

static struct totals sum_up(const struct wl_train *t)
{
    struct totals s = { 0 };
    for (size_t i = 0; i < t->n_epochs; i++) {
        s.samples += t->epochs[i].samples;
        s.updates += t->epochs[i].updates;
        s.time_s += t->epochs[i].time_s;
        s.input_wait_s += t->epochs[i].input_wait_s;
    }
    return s;
}

static double rate(double samples, double time_s) { return time_s > 0 ? samples / time_s : NAN; }

/* ---- for people ------------------------------------------------------------------------------------------------- */

static void print_table(const struct wl_train *t)
{
    static const char *const heads[] = { "epoch",       "loss", "top-1 %", "top-5 %",   "val loss",    "val top-1 %",
                                         "val top-5 %", "lr",   "time s",  "samples/s", "input wait s" };
    static const char *const again[] = { "train set loss", "train set top-1 %" };
    struct wl_table table = wl_table_new(t->arena);
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&table, heads[i], true);
    for (size_t i = 0; t->eval_train && i < WL_COUNT(again); i++) wl_table_column(&table, again[i], true);
    for (size_t i = 0; i < t->n_epochs; i++) {
        const struct wl_train_epoch *r = &t->epochs[i];
        wl_table_cellf(&table, "%lld%s", (long long)r->epoch, r->whole ? "" : "*");
        const double cells[] = { r->train_loss,  100 * r->train_top1, 100 * r->train_top5,
                                 r->val_loss,    100 * r->val_top1,   100 * r->val_top5,
                                 r->lr,          r->time_s,           rate((double)r->samples, r->time_s),
                                 r->input_wait_s };
        for (size_t k = 0; k < WL_COUNT(cells); k++) wl_table_real(&table, cells[k], 4);
        if (t->eval_train) wl_table_real(&table, r->eval_train_loss, 4);
        if (t->eval_train) wl_table_real(&table, 100 * r->eval_train_top1, 4);
        wl_table_row(&table);
    }
    wl_table_print(&table, stdout, 0);
}

/* How the learning rate comes about, with the values that count in the end. */
static char *optimiser(const struct wl_train *t)
{
    const struct wl_train_opts *o = t->opts;
    const struct wl_schedule_opts *s = &t->schedule.opts;
    struct wl_text text = WL_TEXT(t->arena);
    if (o->recipe) wl_text_addf(&text, "recipe %s: ", o->recipe);
    wl_text_addf(&text, "SGD, learning rate %g", s->lr);
    if (s->scale) wl_text_addf(&text, " x global batch/256 = %g", s->lr * (double)t->global_batch / 256);
    if (s->warmup_epochs > 0) wl_text_addf(&text, ", warm-up over %g epochs", s->warmup_epochs);
    wl_text_addf(&text, ", schedule %s", o->lr_schedule);
    if (t->schedule.kind == WL_LR_PLATEAU)
        wl_text_addf(&text, " (x %g after %d epochs without gain)", s->factor, s->patience);
    if (t->schedule.kind == WL_LR_STEP) wl_text_addf(&text, " (x %g every %g epochs)", s->factor, s->step_epochs);
    wl_text_addf(&text, ", momentum %g, weight decay %g", o->momentum, o->weight_decay);
    return text.s;
}

void wl_train_announce(const struct wl_train *t)
{
    const struct wl_train_opts *o = t->opts;
    int64_t images = wl_loader_samples(t->train), left_out = images - t->epoch_updates * t->global_batch;
    wl_log(WL_INFO, "train", "%s", optimiser(t));
    wl_log(WL_INFO, "train", "%lld epoch%s of %lld updates of %lld images (%lld of %lld left out), %s; evaluated on %s",
           (long long)o->epochs, o->epochs == 1 ? "" : "s", (long long)t->epoch_updates, (long long)t->global_batch,
           (long long)left_out, (long long)images, o->precision,
           t->val && t->eval_train ? "the validation and the training set"
           : t->val                ? "the validation set"
           : t->eval_train         ? "the training set"
                                   : "nothing");
}

static void print_text(const struct wl_train *t, bool interrupted)
{
    struct wl_plan_info info = wl_plan_info(t->plan);
    struct totals s = sum_up(t);
    printf("%s (%s, %.3g million parameters, %s) on %s\n", t->model->name, t->opts->size,
           (double)info.parameters * 1e-6, t->opts->precision, t->opts->data);
    printf("%d worker%s x local batch %lld x accumulation %lld = global batch %lld; %lld classes, %lld training "
           "images in %s\n",
           t->comm->size, t->comm->size > 1 ? "s" : "", (long long)t->opts->local_batch,
           (long long)t->opts->accumulation, (long long)t->global_batch, (long long)t->classes,
           (long long)wl_loader_samples(t->train), wl_loader_format(t->train));
    printf("%s\n\n", optimiser(t));
    if (t->n_epochs == 0 && !interrupted) {
        printf("nothing left to do: the checkpoint is of epoch %lld of %lld\n", (long long)t->at.epoch - 1,
               (long long)t->opts->epochs);
        return;
    }
    if (t->n_epochs) print_table(t);
    bool part = t->n_epochs && !t->epochs[0].whole;
    if (part) puts("* from where it was resumed: time and samples are of a part of the epoch");
    printf("\n%s %zu epoch%s: %lld updates, %lld samples in %s, %.1f samples/s\n",
           interrupted ? "interrupted after" : "trained", t->n_epochs, t->n_epochs == 1 ? "" : "s",
           (long long)s.updates, (long long)s.samples, wl_human_time(t->arena, s.time_s),
           rate((double)s.samples, s.time_s));
    printf("memory %s a worker, %s of it in huge pages\n", wl_human_bytes(t->arena, (double)info.total_bytes),
           wl_human_bytes(t->arena, (double)wl_plan_huge_bytes(t->plan)));
    int64_t bad = wl_loader_bad(t->train);
    if (bad) printf("%lld image%s could not be read\n", (long long)bad, bad == 1 ? "" : "s");
}

/* ---- for programs ----------------------------------------------------------------------------------------------- */

static void add_epoch(struct wl_json *list, const struct wl_train_epoch *r)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_int(o, "epoch", r->epoch);
    wl_json_add_bool(o, "whole", r->whole);
    wl_json_add_int(o, "samples", r->samples);
    wl_json_add_int(o, "updates", r->updates);
    wl_json_add_real(o, "time_s", r->time_s);
    wl_json_add_real(o, "input_wait_s", r->input_wait_s);
    wl_json_add_real(o, "lr", r->lr);
    wl_json_add_real(o, "train_loss", r->train_loss);
    wl_json_add_real(o, "train_top1", r->train_top1);
    wl_json_add_real(o, "train_top5", r->train_top5);
    wl_json_add_real(o, "val_loss", r->val_loss);
    wl_json_add_real(o, "val_top1", r->val_top1);
    wl_json_add_real(o, "val_top5", r->val_top5);
    wl_json_add_real(o, "eval_train_loss", r->eval_train_loss);
    wl_json_add_real(o, "eval_train_top1", r->eval_train_top1);
    wl_json_add_real(o, "eval_train_top5", r->eval_train_top5);
}

static void print_json(const struct wl_train *t, bool interrupted)
{
    struct wl_plan_info info = wl_plan_info(t->plan);
    struct wl_plan_times times = wl_plan_times(t->plan);
    struct totals s = sum_up(t);
    struct wl_json *o = wl_json_root_object(t->arena);
    wl_json_add_str(o, "model", t->model->name);
    wl_json_add_str(o, "status", interrupted ? "interrupted" : "ok");
    wl_json_add_str(o, "wattlaw", WL_VERSION);
    wl_json_add_str(o, "backend", info.backend);
    wl_json_add_str(o, "library", info.library);
    wl_json_add_str(o, "precision", t->opts->precision);
    wl_json_add_str(o, "comm", t->comm->ops->name);
    wl_json_add_int(o, "workers", t->comm->size);
    wl_json_add_int(o, "nodes", t->comm->nodes);
    wl_json_add_int(o, "global_batch", t->global_batch);
    wl_json_add_int(o, "classes", t->classes);
    wl_json_add_str(o, "data_format", wl_loader_format(t->train));
    wl_json_add_int(o, "train_samples", wl_loader_samples(t->train));
    wl_json_add_int(o, "parameters", info.parameters);
    wl_json_add_real(o, "train_flops_per_sample", info.train_flops);
    wl_json_add_int(o, "memory_bytes", (int64_t)info.total_bytes);
    wl_json_add_int(o, "huge_page_bytes", (int64_t)wl_plan_huge_bytes(t->plan));
    wl_opts_json(wl_train_rows, t->opts, wl_json_add_object(o, "options"));
    struct wl_json *list = wl_json_add_array(o, "epochs");
    for (size_t i = 0; i < t->n_epochs; i++) add_epoch(list, &t->epochs[i]);
    wl_json_add_int(o, "updates", s.updates);
    wl_json_add_int(o, "samples", s.samples);
    wl_json_add_real(o, "time_s", s.time_s);
    wl_json_add_real(o, "samples_per_s", rate((double)s.samples, s.time_s));
    wl_json_add_real(o, "input_wait_s", s.input_wait_s);
    wl_json_add_real(o, "compute_s", times.train_s - times.reduce_s);
    wl_json_add_real(o, "reduce_s", times.reduce_s);
    wl_json_add_real(o, "update_s", times.update_s);
    wl_json_add_real(o, "validate_s", times.eval_s);
    wl_json_add_int(o, "bad_images", wl_loader_bad(t->train));
    wl_json_print(o, stdout);
}

void wl_train_report(const struct wl_train *t, bool interrupted)
{
    if (t->opts->json)
        print_json(t, interrupted);
    else
        print_text(t, interrupted);
}
