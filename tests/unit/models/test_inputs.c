/* Labels, token ids, atom numbers, indices and counts that are out of range are found before a run, in training, in
 * validation, and by a plan that resumes from a checkpoint: kernels trust them. On every back-end and every network,
 * and on networks whose first reader of an input is of an auxiliary loss, which is not evaluated. */
#include "nn/backends.h"
#include "nn/checkpoint/checkpoint.h"
#include "nn/graph/graph.h"
#include "workloads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 3, ENTRIES = 4, FEATURES = 2, OUT_OF_RANGE = 1 << 30 };

static struct wl_arena *a;
static char dir[TEMP_DIR_SIZE];

static int set_up(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

/* ---- networks with an auxiliary loss, which reads the input first ---- */

static int build_labels(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    (void)b, (void)e;
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(ROWS, FEATURES));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(ROWS));
    wl_cross_entropy(g, "aux", wl_linear(g, "side", x, ENTRIES), labels,
                     (struct wl_loss) { .weight = 0.4, .auxiliary = true });
    wl_cross_entropy(g, "loss", wl_linear(g, "fc", x, ENTRIES), labels, (struct wl_loss) { 0 });
    return 0;
}

static void add_losses(struct wl_graph *g, struct wl_tensor *aside, struct wl_tensor *y)
{
    struct wl_tensor *target = wl_input(g, "target", WL_F32, *wl_tensor_dims(y));
    wl_mean_square(g, "aux", aside, target, (struct wl_loss) { .auxiliary = true });
    wl_mean_square(g, "loss", y, target, (struct wl_loss) { 0 });
}

static int build_two_token_tables(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    (void)b, (void)e;
    const struct wl_token_tables t = { ENTRIES, ROWS, 1, FEATURES, 0.1 };
    struct wl_tensor *tokens = wl_input(g, "tokens", WL_I32, WL_DIMS(1, ROWS));
    struct wl_tensor *aside = wl_embed_tokens(g, "side", tokens, t);
    add_losses(g, aside, wl_embed_tokens(g, "embed", tokens, t));
    return 0;
}

static int build_two_atom_tables(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    (void)e;
    const struct wl_rows atoms = { wl_input(g, "counts", WL_I32, WL_DIMS(WL_ROW_KINDS)), WL_ATOMS };
    b->net.molecules.counts = atoms.counts;
    struct wl_tensor *number = wl_input(g, "number", WL_I32, WL_DIMS(ROWS));
    struct wl_tensor *aside = wl_embed(g, "side", atoms, number, ENTRIES, FEATURES);
    add_losses(g, aside, wl_embed(g, "embed", atoms, number, ENTRIES, FEATURES));
    return 0;
}

static void keep_zeros(const struct built *b, struct wl_plan *p, uint64_t shard)
{
    (void)b, (void)p, (void)shard; /* which are in range */
}

/* Numbers after the count are not read. */
static void fill_counts(const struct built *b, struct wl_plan *p, uint64_t shard)
{
    (void)shard;
    int32_t *counts = wl_plan_input(p, b->net.molecules.counts);
    for (int k = 0; k < WL_ROW_KINDS; k++) counts[k] = ROWS;
}

static const struct workload with_auxiliary_loss[] = {
    { "labels", build_labels, keep_zeros, .seed = 0 },
    { "tokens", build_two_token_tables, keep_zeros, .seed = 0 },
    { "atoms", build_two_atom_tables, fill_counts, .seed = 0 },
};

/* ---- runs ---- */

struct network {
    struct built built;
    struct wl_graph *graph;
    struct wl_comm *comm;
    const char *backend;
};

static struct wl_plan *new_plan(const struct network *n)
{
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    const struct wl_plan_opts o = { .backend = n->backend, .seed = 1, .threads = 1 };
    if (wl_plan_new(&p, n->graph, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    n->built.workload->fill(&n->built, p, 1);
    return p;
}

static void assert_refused(int rc, const struct network *n, const struct wl_tensor *t, const char *run,
                           const struct wl_err *e)
{
    if (rc != WL_EINVAL)
        fail_msg("%s, %s: a %s out of range in %s is not refused (%d, %s)", n->built.workload->name, n->backend,
                 wl_tensor_name(t), run, rc, e->msg);
}

static void fill(int32_t *x, size_t bytes, int32_t value)
{
    for (size_t i = 0; i < bytes / sizeof *x; i++) x[i] = value;
}

/* One input after the other is out of range, in the plan's next training and validation. A length that is larger than
 * the sequence means all of it. */
static void refuses_all(struct wl_plan *p, const struct network *n)
{
    int inputs = 0;
    for (size_t i = 0; i < n->graph->n_tensors; i++) {
        const struct wl_tensor *t = n->graph->tensors[i];
        if (t->role != WL_ROLE_INPUT || t->dtype != WL_I32 || wl_str_eq(t->name, "lengths")) continue;
        int32_t *x = wl_plan_input(p, t);
        const size_t bytes = wl_plan_input_bytes(p, t);
        int32_t *kept = wl_new_array(a, int32_t, bytes / sizeof *x);
        struct wl_err e = { 0 };
        memcpy(kept, x, bytes);
        fill(x, bytes, OUT_OF_RANGE);
        assert_refused(wl_plan_eval(p, NULL, &e), n, t, "validation", &e);
        assert_refused(wl_plan_train(p, true, true, NULL, &e), n, t, "training", &e);
        memcpy(x, kept, bytes);
        inputs++;
    }
    assert_true(inputs > 0);
}

static struct wl_plan *resumed(struct wl_plan *from, const struct network *n)
{
    const char *to = wl_strf(a, "%s/%s-%s", dir, n->backend, n->built.workload->name);
    struct wl_checkpoint file = { 0 };
    struct wl_err e = { 0 };
    bool found = false;
    int rc = wl_checkpoint_save(to, 1, 1, wl_json_root_object(a), from, a, &e);
    if (!rc) rc = wl_checkpoint_newest(to, &file, &found, a, &e);
    struct wl_plan *p = new_plan(n);
    if (!rc) rc = wl_checkpoint_restore(&file, p, n->comm, a, &e);
    if (rc) fail_msg("%s", e.msg);
    return p;
}

static void test_an_index_out_of_range_is_found_before_a_run(void **state)
{
    struct wl_comm *comm = NULL;
    struct wl_err e = { 0 };
    assert_int_equal(wl_comm_open(&comm, &(struct wl_comm_opts) { .backend = "null" }, a, &e), 0);
    for (size_t i = 0; wl_backend_row(i); i++) {
        if (wl_backend_row(i)->unavailable || wl_backend_row(i)->gpus) continue;
        struct network n = { .built = { .a = a, .workload = *state },
                             .graph = wl_graph_new(a),
                             .comm = comm,
                             .backend = wl_backend_row(i)->name };
        if (n.built.workload->build(&n.built, n.graph, &e)) fail_msg("%s", e.msg);
        struct wl_plan *p = new_plan(&n);
        refuses_all(p, &n);
        refuses_all(resumed(p, &n), &n);
    }
}

/* What is refused leaves the plan as it was: it trains and validates afterwards. */
static void test_a_plan_runs_after_a_bad_index(void **state)
{
    (void)state;
    for (size_t i = 0; wl_backend_row(i); i++) {
        if (wl_backend_row(i)->unavailable || wl_backend_row(i)->gpus) continue;
        struct network n = { .built = { .a = a, .workload = &with_auxiliary_loss[0] },
                             .graph = wl_graph_new(a),
                             .backend = wl_backend_row(i)->name };
        assert_int_equal(build_labels(&n.built, n.graph, NULL), 0);
        struct wl_plan *p = new_plan(&n);
        refuses_all(p, &n);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(wl_plan_train(p, true, true, NULL, NULL) | wl_plan_update(p, 0.1, NULL), 0);
            assert_int_equal(wl_plan_eval(p, NULL, NULL), 0);
        }
    }
}

#define ON(workload)                                                                         \
    {                                                                                        \
        .name = "test_an_index_out_of_range_is_found_before_a_run: " #workload,              \
        .test_func = test_an_index_out_of_range_is_found_before_a_run, .setup_func = set_up, \
        .teardown_func = tear_down, .initial_state = (void *)&workload                       \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(with_auxiliary_loss[0]),
        ON(with_auxiliary_loss[1]),
        ON(with_auxiliary_loss[2]),
        ON(workloads[0]),
        ON(workloads[1]),
        ON(workloads[2]),
        ON(workloads[3]),
        ON(workloads[4]),
        ON(workloads[5]),
        cmocka_unit_test_setup_teardown(test_a_plan_runs_after_a_bad_index, set_up, tear_down),
    };
    if (!make_temp_dir(dir, "inputs")) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
