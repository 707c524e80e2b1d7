/* The seam between plan and device: every network trains on back-end boxed, whose memory the plan cannot touch, with
 * the bits of ref. A run takes three optimizer steps of two micro-batches, so that boxed replays its recordings; after
 * two of them a checkpoint is written, and a new plan resumes from it and is evaluated twice. Alone, with
 * recomputation, and on two ranks of shared memory or MPI. */
#include "host_touch.h"
#include "nn/checkpoint/checkpoint.h"
#include "nn/graph/graph.h"
#include "ranks.h"
#include "workloads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { UPDATES = 3, PLANS = 2, MICRO_BATCHES = 2, MAX_FLOATS = 1 << 23 };

struct task {
    const struct workload *workload;
    enum wl_dtype precision;
    const char *dir; /* for checkpoints */
    bool recompute;  /* boxed recomputes values */
};

/* What a run left: gradients of each optimizer step, outputs, then every state. */
struct result {
    struct wl_counts train, eval;
    size_t n;
    float x[MAX_FLOATS];
};

static float *append(struct result *r, size_t n)
{
    WL_CHECK(r->n + n <= MAX_FLOATS);
    r->n += n;
    return r->x + r->n - n;
}

static int append_states(struct wl_plan *p, bool gradients, struct result *r, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < wl_plan_state_count(p) && !rc; i++) {
        const struct wl_state s = wl_plan_state(p, i);
        if (gradients && s.kind != WL_STATE_PARAM) continue;
        float *x = append(r, s.count);
        rc = gradients ? wl_plan_gradient_read(p, i, x, e) : wl_plan_state_read(p, i, x, e);
    }
    return rc;
}

static void append_outputs(const struct wl_plan *p, const struct wl_graph *g, struct result *r)
{
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct wl_tensor *t = g->tensors[i];
        const size_t n = (size_t)wl_dims_count(&t->dims);
        if (t->output) memcpy(append(r, n), wl_plan_output(p, t), n * sizeof *r->x);
    }
}

/* Rank 0 writes; all read. */
static int resume(const struct task *t, struct wl_plan *from, struct wl_plan *to, struct wl_comm *c,
                  const char *backend, struct wl_arena *a, struct wl_err *e)
{
    const char *dir = wl_strf(a, "%s/%s-%s", t->dir, backend, t->workload->name);
    struct wl_checkpoint file = { 0 };
    bool found = true;
    int rc = 0;
    if (c->rank == 0) {
        rc = wl_checkpoint_save(dir, UPDATES - 1, 1, wl_json_root_object(a), from, a, e);
        if (!rc) rc = wl_checkpoint_newest(dir, &file, &found, a, e);
        if (!rc && !found) rc = wl_fail(e, WL_ENOENT, "%s: no checkpoint", dir);
    }
    rc = wl_comm_agree(c, rc, e);
    if (!rc) rc = wl_checkpoint_restore(&file, to, c, a, e);
    wl_plan_set_updates(to, UPDATES - 1);
    return rc;
}

static int update(const struct task *t, const struct built *b, struct wl_plan *p, int u, int rank, struct result *r,
                  struct wl_err *e)
{
    int rc = 0;
    for (int m = 0; m < MICRO_BATCHES && !rc; m++) {
        t->workload->fill(b, p, (uint64_t)(1 + u + 10 * m + 100 * rank));
        rc = wl_plan_train(p, m == 0, m == MICRO_BATCHES - 1, &r->train, e);
    }
    if (!rc) rc = append_states(p, true, r, e);
    return rc ? rc : wl_plan_update(p, 0.01, e);
}

static int evaluate(const struct task *t, const struct built *b, struct wl_plan *p, const struct wl_graph *g,
                    struct result *r, struct wl_err *e)
{
    int rc = 0;
    for (uint64_t shard = 50; shard < 52 && !rc; shard++) {
        t->workload->fill(b, p, shard);
        rc = wl_plan_eval(p, &r->eval, e);
        append_outputs(p, g, r);
    }
    return rc;
}

static int train(const struct task *t, const char *backend, bool recompute, struct wl_comm *c, struct result *r,
                 struct wl_arena *a, struct wl_err *e)
{
    struct built b = { .a = a, .workload = t->workload };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_plan_opts opts = { .backend = backend,
                                 .seed = 3,
                                 .precision = t->precision,
                                 .micro_batches = MICRO_BATCHES,
                                 .recompute = recompute,
                                 .optim = { .kind = t->workload->pixels ? "sgd" : "adamw", .momentum = 0.9 } };
    struct wl_plan *p[PLANS];
    int rc = t->workload->build(&b, g, e);
    for (int k = 0; k < PLANS && !rc; k++) {
        opts.seed += (uint64_t)k; /* what is drawn anew must come out of the checkpoint */
        rc = wl_plan_new(&p[k], g, &opts, c, a, e);
    }
    for (int u = 0; u < UPDATES - 1 && !rc; u++) rc = update(t, &b, p[0], u, c->rank, r, e);
    if (!rc) rc = wl_plan_average_statistics(p[0], e);
    if (!rc) rc = resume(t, p[0], p[1], c, backend, a, e);
    if (!rc) rc = update(t, &b, p[1], UPDATES - 1, c->rank, r, e);
    if (!rc) rc = wl_plan_average_statistics(p[1], e);
    if (!rc) rc = evaluate(t, &b, p[1], g, r, e);
    return rc ? rc : append_states(p[1], false, r, e);
}

static int same_bits(const struct result *x, const struct result *y, const char *what, struct wl_err *e)
{
    if (x->n < 1000 || x->n != y->n) return wl_fail(e, WL_EINVAL, "%s: %zu numbers, ref %zu", what, y->n, x->n);
    for (size_t i = 0; i < x->n; i++)
        if (memcmp(&x->x[i], &y->x[i], sizeof(float)))
            return wl_fail(e, WL_EINVAL, "%s: number %zu of %zu is %.9g, ref %.9g", what, i, x->n, (double)y->x[i],
                           (double)x->x[i]);
    if (memcmp(&x->train, &y->train, sizeof x->train) || memcmp(&x->eval, &y->eval, sizeof x->eval))
        return wl_fail(e, WL_EINVAL, "%s: counts differ: loss %.17g, ref %.17g", what, y->train.loss_sum,
                       x->train.loss_sum);
    return 0;
}

/* On every rank: ref, then boxed. */
static int compare(const struct task *t, struct wl_comm *c, struct wl_arena *parent, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(parent);
    struct result *want = wl_new(a, struct result), *got = wl_new(a, struct result);
    int rc = train(t, "ref", false, c, want, a, e);
    if (!rc) rc = train(t, "boxed", t->recompute, c, got, a, e);
    if (!rc) rc = same_bits(want, got, t->recompute ? "boxed, recomputed" : "boxed", e);
    wl_arena_free(a);
    return rc;
}

static int compare_on_rank(const void *task, struct wl_comm *c, void *found, struct wl_arena *a, struct wl_err *e)
{
    (void)found;
    return compare(task, c, a, e);
}

static void compare_on(int ranks, const struct task *t)
{
    struct outcome *o = run_ranks(ranks, compare_on_rank, t, sizeof *o);
    for (int k = 0; k < ranks; k++)
        if (o[k].rc) fail_msg("%s, rank %d: %s", t->workload->name, k, o[k].msg);
    free_found(o, ranks, sizeof *o);
}

static char dir[TEMP_DIR_SIZE];

static void test_same_bits_alone_recomputed(void **state)
{
    compare_on(1, &(struct task) { .workload = *state, .dir = dir, .recompute = true });
}

static void test_same_bits_alone_bf16(void **state)
{
    compare_on(1, &(struct task) { .workload = *state, .precision = WL_BF16, .dir = dir });
}

/* ---- ranks whose communicator sums in the device's memory, in rank order ---- */

static int attach(struct wl_comm *c, struct wl_comm_device *d, struct wl_arena *a, struct wl_err *e)
{
    (void)c, (void)a, (void)e;
    d->sums = wl_new(a, int); /* watched */
    return 0;
}

static int enqueue_sum(struct wl_comm *c, const struct wl_comm_device *d, float *x, size_t n, struct wl_err *e)
{
    const int *watched = d->sums;
    return *watched ? c->ops->all_reduce_sum(c, x, n, e) : wl_fail(e, WL_EINVAL, "nobody watches the ranks");
}

static int watch(struct wl_comm *c, const struct wl_comm_device *d, bool on, struct wl_err *e)
{
    (void)c;
    int *watched = d->sums;
    if (*watched == on) return wl_fail(e, WL_EINVAL, "watched twice, or ended twice");
    *watched = on;
    return 0;
}

static void *no_staging(struct wl_comm *c, size_t bytes, struct wl_err *e)
{
    (void)c;
    wl_fail(e, WL_EINVAL, "%zu bytes of the host are shared, though sums are made in the device's memory", bytes);
    return NULL;
}

static int compare_sums_on_rank(const void *task, struct wl_comm *c, void *found, struct wl_arena *a, struct wl_err *e)
{
    (void)found;
    const struct task *t = task;
    struct result *want = wl_new(a, struct result), *got = wl_new(a, struct result);
    int rc = train(t, "ref", false, c, want, a, e);
    struct wl_comm_ops *ops = wl_new(a, struct wl_comm_ops);
    *ops = *c->ops;
    ops->attach = attach;
    ops->enqueue_sum = enqueue_sum;
    ops->watch = watch;
    ops->alloc_shared = no_staging;
    c->ops = ops;
    if (!rc) rc = train(t, "boxed", false, c, got, a, e);
    return rc ? rc : same_bits(want, got, "boxed, summed in its memory", e);
}

static void test_same_bits_sums(void **state)
{
    const struct task t = { .workload = *state, .dir = dir };
    struct outcome *o = run_ranks(2, compare_sums_on_rank, &t, sizeof *o);
    for (int k = 0; k < 2; k++)
        if (o[k].rc) fail_msg("%s, rank %d: %s", t.workload->name, k, o[k].msg);
    free_found(o, 2, sizeof *o);
}

static void test_same_bits_ranks(void **state) { compare_on(2, &(struct task) { .workload = *state, .dir = dir }); }

/* ---- by ./check long alone ---- */

static void test_same_bits_long_f32(void **state) { compare_on(1, &(struct task) { .workload = *state, .dir = dir }); }

static void test_same_bits_long_ranks(void **state) { test_same_bits_ranks(state); }

static void test_same_bits_long_bf16(void **state) { test_same_bits_alone_bf16(state); }

static void test_same_bits_long_recomputed(void **state) { test_same_bits_alone_recomputed(state); }

static void test_same_bits_long_ranks_bf16(void **state)
{
    compare_on(2, &(struct task) { .workload = *state, .precision = WL_BF16, .dir = dir });
}

/* ---- under mpirun: the test starts itself again --------------------------------------------------------------- */

static char *self;

static int run_as_rank(const char *to)
{
    end_at_host_touch();
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_comm *c;
    int rc = wl_comm_open(&c, &(struct wl_comm_opts) { .backend = "auto", .ranks_per_node = 1 }, a, &e);
    if (!rc && (c->size != 2 || !wl_str_eq(c->ops->name, "mpi")))
        rc = wl_fail(&e, WL_EINVAL, "%d ranks by %s", c->size, c->ops->name);
    if (!rc) rc = compare(&(struct task) { .workload = &workloads[0], .dir = to }, c, a, &e);
    if (rc) fprintf(stderr, "%s\n", e.msg);
    if (rc && c) c->ops->abandon(c, 3, NULL);
    wl_arena_free(a);
    return rc ? 3 : 0;
}

static void test_same_bits_mpi(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_process_result x = { 0 };
    char *version[] = { "mpirun", "--version", NULL }, *text;
    if (wl_process_run(&(struct wl_process_run) { .argv = version, .merge_stderr = true }, NULL, &x, a, &e)) skip();
    static const char *const words[][2] = { { "OMPI_ALLOW_RUN_AS_ROOT", "1" },
                                            { "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
                                            { "OMPI_MCA_rmaps_base_oversubscribe", "1" },
                                            { "OMPI_MCA_hwloc_base_binding_policy", "none" },
                                            { "PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe" },
                                            { "PRTE_MCA_hwloc_default_binding_policy", "none" } };
    for (size_t i = 0; i < WL_COUNT(words); i++) setenv(words[i][0], words[i][1], 1);
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1); /* Open MPI's plug-ins are unloaded before leaks are looked for */
    char *argv[] = { "mpirun", "-np", "2", self, "rank", dir, NULL };
    assert_int_equal(wl_process_run(&(struct wl_process_run) { .argv = argv, .max = 65536, .merge_stderr = true },
                                    &text, &x, a, &e),
                     0);
    if (x.status) fail_msg("%s", text);
    wl_arena_free(a);
}

/* Workload i of the table. */
#define ON(i, test)                                                                     \
    {                                                                                   \
        .name = #test "/" #i, .test_func = test, .initial_state = (void *)&workloads[i] \
    }
#define ON_ALL(test) ON(0, test), ON(1, test), ON(2, test), ON(3, test), ON(4, test), ON(5, test), ON(6, test)

/* The tests whose names begin with the argument. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_same_bits_alone_recomputed),
        ON(3, test_same_bits_alone_bf16),
        ON(0, test_same_bits_ranks), /* images, text, rows of varying number; all others by `long` */
        ON(3, test_same_bits_ranks),
        ON(5, test_same_bits_ranks),
        ON(0, test_same_bits_sums),
        ON(3, test_same_bits_sums),
        ON(0, test_same_bits_mpi),
        ON_ALL(test_same_bits_long_f32),
        ON(7, test_same_bits_long_f32),
        ON_ALL(test_same_bits_long_bf16),
        ON(7, test_same_bits_long_recomputed),
        ON_ALL(test_same_bits_long_ranks),
        ON(3, test_same_bits_long_ranks_bf16),
    };
    self = argv[0];
    if (argc > 2 && wl_str_eq(argv[1], "rank")) return run_as_rank(argv[2]);
    if (!make_temp_dir(dir, "boxed")) return 1;
    if (argc > 1 && !select_cases(tests, WL_COUNT(tests), argv[1])) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
