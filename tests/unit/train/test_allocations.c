/* A pass over the training set, its updates and the evaluation after it allocate nothing, in every workload, from files
 * to metrics. Our objects are linked so that their calls of the allocator go through the counters below. oneDNN
 * allocates small blocks in each call (an argument map) and frees them, as HDF5 does when it reads: so the heap must
 * not have grown after more passes. meson.build disables malloc's caches of freed blocks, which count as used. */
#include "cmd/train/commands.h"
#include "temp_dir.h"
#include "train/internal.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

static atomic_int calls;

#define COUNTED(name, result, parameters, arguments) \
    result __real_##name parameters;                 \
    result __wrap_##name parameters;                 \
    result __wrap_##name parameters                  \
    {                                                \
        calls++;                                     \
        return __real_##name arguments;              \
    }

COUNTED(malloc, void *, (size_t n), (n))
COUNTED(calloc, void *, (size_t n, size_t size), (n, size))
COUNTED(realloc, void *, (void *p, size_t n), (p, n))
COUNTED(aligned_alloc, void *, (size_t align, size_t n), (align, n))
COUNTED(posix_memalign, int, (void **p, size_t align, size_t n), (p, align, n))
COUNTED(mmap, void *, (void *at, size_t n, int prot, int flags, int fd, off_t offset), (at, n, prot, flags, fd, offset))

static size_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* ---- the data, made once ---- */

static const struct {
    const struct wl_cmd *cmd;
    const char *options; /* after --synthetic DIR/NAME */
    const char *name;
} sets[] = {
    { &wl_cmd_data_imagenet, "--classes 2 --images 4 --val-images 3 --image-size 40 --threads 1 --quiet", "folders" },
    { &wl_cmd_data_imagenet,
      "--classes 2 --images 4 --val-images 3 --image-size 40 --threads 1 --quiet --format tfrecord", "shards" },
    { &wl_cmd_data_qm9, "--molecules 20 --quiet", "molecules" },
    { &wl_cmd_data_wikitext, "--words 1000 --val-words 200 --train-vocab 150 --sequence 16 --threads 1 --quiet",
      "text" },
    { &wl_cmd_data_era5, "--height 8 --width 16 --channels 2 --years 1 --times 6 --quiet", "weather" },
};

static int set_up(void **state)
{
    if (temp_dir_setup(state)) return -1;
    struct temp_dir *p = *state;
    if (setenv("XDG_CACHE_HOME", p->dir, 1)) return -1;
    for (size_t i = 0; i < WL_COUNT(sets); i++) {
        const char *line = wl_strf(p->arena, "%s --synthetic %s/%s", sets[i].options, p->dir, sets[i].name);
        struct wl_strs words = wl_str_split(p->arena, line, ' ');
        if (wl_cmd_main("wattlaw-train data", sets[i].cmd, (int)words.n, (char **)words.v)) return -1;
    }
    return 0;
}

/* ---- a training ---- */

static const struct wl_workload *workload_of(const char *name)
{
    size_t i = 0;
    while (!wl_str_eq(wl_workloads[i]->name, name)) i++;
    return wl_workloads[i];
}

/* WL_EUNAVAIL: this machine cannot compute as the options say. */
static int open_training(struct wl_trainer *t, const char *workload, const char *options, struct wl_arena *a,
                         struct wl_err *e)
{
    struct wl_strs words = wl_str_split(a, options, ' ');
    struct wl_opts_args rest;
    struct wl_train_task *j = wl_new(a, struct wl_train_task);
    j->workload = workload_of(workload);
    j->rows = wl_train_options(j->workload, a);
    j->arena = a;
    j->opts = wl_alloc(a, j->workload->options_size);
    const struct wl_opts_line line = { .rows = j->rows, .argc = (int)words.n, .argv = (char **)words.v };
    int rc = wl_opts_parse(&line, j->opts, &rest, a, e);
    if (!rc) rc = wl_train_options_complete(j, e);
    *t = (struct wl_trainer) { .task = j, .opts = j->opts, .arena = a };
    if (!rc) rc = wl_comm_open(&t->comm, &(struct wl_comm_opts) { .backend = "null" }, a, e);
    t->global_batch = j->opts->local_batch * j->opts->accumulation;
    return rc ? rc : wl_train_setup(t, e);
}

/* As train/loop.c and train/evaluate.c do, without their work once per epoch: marks, agreement with other ranks. */
static int train(struct wl_trainer *t, int64_t epoch, struct wl_counts *counts, struct wl_err *e)
{
    const int64_t last = t->opts->accumulation - 1;
    int64_t n;
    int rc = wl_loader_start_epoch(t->train_feed, epoch, 0, e);
    for (int64_t i = 0; !rc && i < t->epoch_updates * (last + 1); i++) {
        const int64_t m = i % (last + 1);
        if (wl_loader_next(t->train_feed, t->inputs, &n, e) < 0) return e->code;
        rc = wl_plan_train(t->plan, m == 0, m == last, counts, e);
        if (!rc && m == last) rc = wl_plan_update(t->plan, 1e-4, e);
    }
    return rc;
}

static int evaluate(struct wl_trainer *t, struct wl_counts *counts, struct wl_err *e)
{
    const struct wl_workload *w = t->task->workload;
    double sums[WL_MAX_SUMS] = { 0 };
    int64_t n;
    int got, rc = wl_plan_average_statistics(t->plan, e);
    if (!rc) rc = wl_loader_start_epoch(t->val_feed, 0, 0, e);
    while (!rc && (got = wl_loader_next(t->val_feed, t->inputs, &n, e)) != 0) {
        rc = got < 0 ? got : wl_plan_eval(t->plan, counts, e);
        if (!rc && w->add_metrics) w->add_metrics(t->task, t->plan, n, sums);
    }
    return rc;
}

static void pass(struct wl_trainer *t, int64_t epoch)
{
    struct wl_counts trained = { 0 }, evaluated = { 0 };
    struct wl_err e = { 0 };
    int rc = train(t, epoch, &trained, &e);
    if (!rc) rc = evaluate(t, &evaluated, &e);
    if (rc) fail_msg("%s", e.msg);
    assert_true(trained.samples > 0 && evaluated.samples > 0);
}

static void no_allocations(void **state, const char *workload, const char *data, const char *options)
{
    struct temp_dir *p = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_trainer t;
    /* Without loader threads nothing else runs while we count. */
    options = wl_strf(a,
                      "--data %s/%s --size tiny --local-batch 2 --accumulation 2 --threads 2 --loader-threads 0 "
                      "--conv winograd --allow-slow-bf16 --quiet %s",
                      p->dir, data, options);
    if (open_training(&t, workload, options, a, &e)) {
        if (e.code == WL_EUNAVAIL) print_message("SKIP: %s\n", e.msg);
        if (e.code == WL_EUNAVAIL) skip();
        fail_msg("%s: %s", options, e.msg);
    }
    assert_true(calls > 0); /* the counters count */
    /* OpenMP starts its threads, buffers grow to the largest sample. */
    pass(&t, 1);
    pass(&t, 2);
    const int before = calls;
    const size_t heap = heap_bytes();
    pass(&t, 3);
    if (calls != before || heap_bytes() != heap)
        fail_msg("%s %s: %d allocations, %lld bytes more", workload, options, calls - before,
                 (long long)(heap_bytes() - heap));
    wl_arena_free(a);
}

/* ---- tests ---- */

static const struct {
    const char *workload, *data, *options;
} rows[] = {
    { "resnet50", "folders", "--image-size 32" },
    { "vgg16", "shards", "--image-size 32" },
    { "inception3", "folders", "--image-size 91" },
    { "bert", "text", "--sequence 16 --train-samples 8 --val-samples 3" },
    { "schnet", "molecules", "" },
    { "dimenet", "molecules", "" },
    { "fourcastnet", "weather", "--steps 2" },
};

static void every_workload(void **state, const char *more)
{
    struct temp_dir *p = *state;
    for (size_t i = 0; i < WL_COUNT(rows); i++)
        no_allocations(state, rows[i].workload, rows[i].data, wl_strf(p->arena, "%s %s", rows[i].options, more));
}

static void f32_allocates_nothing(void **state) { every_workload(state, "--backend cpu --precision f32"); }

static void bf16_allocates_nothing(void **state) { every_workload(state, "--backend cpu --precision bf16"); }

/* Recomputed activations have their own steps. */
static void recompute_allocates_nothing(void **state)
{
    no_allocations(state, "resnet50", "folders", "--recompute yes --image-size 32");
    no_allocations(state, "bert", "text", "--recompute yes --sequence 16 --train-samples 8 --val-samples 3");
}

static void ref_allocates_nothing(void **state)
{
    no_allocations(state, "resnet50", "folders", "--backend ref --image-size 32");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(f32_allocates_nothing),
                                        cmocka_unit_test(bf16_allocates_nothing),
                                        cmocka_unit_test(recompute_allocates_nothing),
                                        cmocka_unit_test(ref_allocates_nothing) };
    return cmocka_run_group_tests(tests, set_up, temp_dir_teardown);
}
