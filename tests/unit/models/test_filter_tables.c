/* SchNet with its filters by a table (docs/adr/155) in trainings: several micro-batches, several ranks, a checkpoint in
 * between. The table follows from parameters and batch alone, so a resumed training has the bits of one that was not
 * interrupted, and ranks give what one gives that accumulates their shards. A molecule's energy and its slope by a
 * distance are continuous across nodes. With `long` as the argument: at full size predictions and gradients are those
 * of exact filters, at first and after 2,000 updates. */
#include "molecules.h"
#include "nn/checkpoint/checkpoint.h"
#include "ranks.h"
#include "workloads.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 6, MOLECULES = 8, SHARDS = 4, UPDATES = 3, MOST = 1 << 18 };

/* A network, its plan, and the molecules of all shards. */
struct net {
    struct wl_arena *a;
    const char *size;
    struct wl_molecule_model_io io;
    struct wl_molecule *molecules;
    struct wl_graph *g;
    struct wl_plan *plan;
};

static int open_net(struct net *n, const char *size, bool exact, struct wl_plan_opts opts, struct wl_comm *c,
                    struct wl_arena *a, struct wl_err *e)
{
    *n = (struct net) { .a = a, .size = size, .g = wl_graph_new(a) };
    n->molecules = rule_molecules(SEED, SHARDS * MOLECULES, a);
    struct wl_molecule_model_opts o = { .size = size, .exact_filters = exact };
    o.capacity = capacity_for(&wl_schnet, size, n->molecules, SHARDS * MOLECULES, 0);
    opts.optim = (struct wl_optim) { .kind = "adam" };
    int rc = wl_schnet.build(n->g, &o, &n->io, e);
    return rc ? rc : wl_plan_new(&n->plan, n->g, &opts, c, a, e);
}

static void fill(struct net *n, int shard)
{
    fill_molecule_inputs(n->plan, &n->io, wl_schnet.cutoff(n->size), n->molecules + shard * MOLECULES, MOLECULES,
                         SEED + (uint64_t)shard);
}

/* ---- small trainings ---- */

/* What each rank does. */
struct task {
    bool exact;
    float rougher;      /* by which the first layers of filters are multiplied */
    const char *resume; /* a folder: of a checkpoint before the last update, from which another plan goes on; NULL */
};

/* The gradients of the first update, then every state. */
struct result {
    struct outcome outcome;
    size_t n;
    float x[MOST];
};

static int append(struct wl_plan *p, bool gradients, struct result *r, struct wl_err *e)
{
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        const struct wl_state s = wl_plan_state(p, i);
        if (gradients && s.kind != WL_STATE_PARAM) continue;
        WL_CHECK(r->n + s.count <= MOST);
        int rc = gradients ? wl_plan_gradient_read(p, i, r->x + r->n, e) : wl_plan_state_read(p, i, r->x + r->n, e);
        if (rc) return rc;
        r->n += s.count;
    }
    return 0;
}

static int make_rougher(struct net *n, float by, struct wl_err *e)
{
    for (size_t i = 0; i < wl_plan_state_count(n->plan); i++) {
        const struct wl_state s = wl_plan_state(n->plan, i);
        if (s.kind != WL_STATE_PARAM || !strstr(s.name, "mlp.0.weight")) continue;
        float *v = wl_new_array(n->a, float, s.count);
        int rc = wl_plan_state_read(n->plan, i, v, e);
        for (size_t k = 0; k < s.count; k++) v[k] *= by;
        if (!rc) rc = wl_plan_state_write(n->plan, i, v, e);
        if (rc) return rc;
    }
    return 0;
}

/* Another plan takes n's place, which has other first weights. */
static int resume(const struct task *t, struct net *n, struct wl_plan_opts opts, struct wl_comm *c, struct wl_err *e)
{
    struct wl_checkpoint file = { 0 };
    struct net next;
    bool found;
    opts.seed++;
    int rc = wl_checkpoint_save(t->resume, UPDATES - 1, 1, wl_json_root_object(n->a), n->plan, n->a, e);
    if (!rc) rc = wl_checkpoint_newest(t->resume, &file, &found, n->a, e);
    if (!rc) rc = open_net(&next, n->size, t->exact, opts, c, n->a, e);
    if (!rc) rc = wl_checkpoint_restore(&file, next.plan, c, n->a, e);
    if (rc) return rc;
    wl_plan_set_updates(next.plan, UPDATES - 1);
    *n = next;
    return 0;
}

static int train(const void *task, struct wl_comm *c, void *found, struct wl_arena *a, struct wl_err *e)
{
    const struct task *t = task;
    const int parts = SHARDS / c->size;
    const struct wl_plan_opts opts = { .threads = 1, .seed = SEED, .micro_batches = parts };
    struct net n;
    int rc = open_net(&n, "tiny", t->exact, opts, c, a, e);
    if (!rc) rc = make_rougher(&n, t->rougher, e);
    for (int u = 0; u < UPDATES && !rc; u++) {
        struct wl_counts counts = { 0 };
        if (t->resume && u == UPDATES - 1) rc = resume(t, &n, opts, c, e);
        for (int m = 0; m < parts && !rc; m++) {
            fill(&n, m * c->size + c->rank);
            rc = wl_plan_train(n.plan, m == 0, m == parts - 1, &counts, e);
        }
        if (!rc && u == 0) rc = append(n.plan, true, found, e);
        if (!rc) rc = wl_plan_update(n.plan, 1e-3, e);
    }
    return rc ? rc : append(n.plan, false, found, e);
}

static struct result *run(int workers, struct task t)
{
    struct result *r = run_ranks(workers, train, &t, sizeof *r);
    for (int k = 0; k < workers; k++)
        if (r[k].outcome.rc) fail_msg("rank %d of %d: %s", k, workers, r[k].outcome.msg);
    return r;
}

static double distance(const float *x, const float *y, size_t n)
{
    double d = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        d += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
        size += (double)y[i] * y[i];
    }
    return sqrt(d / size);
}

/* The coarsest table, and a finer one. Exact filters have other bits: there is a table. */
static void test_ranks_equal_one_that_accumulates(void **state)
{
    (void)state;
    static const float rougher[] = { 1, 4 };
    for (size_t i = 0; i < WL_COUNT(rougher); i++) {
        struct result *one = run(1, (struct task) { .rougher = rougher[i] });
        struct result *exact = run(1, (struct task) { .rougher = rougher[i], .exact = true });
        struct result *two = run(2, (struct task) { .rougher = rougher[i] });
        assert_true(one->n > 10000 && one->n == two->n && one->n == exact->n);
        assert_true(memcmp(one->x, exact->x, one->n * sizeof(float)) != 0);
        const double apart = distance(two->x, one->x, one->n), from_exact = distance(one->x, exact->x, one->n);
        if (!(apart < 1e-5 && from_exact < 1e-5))
            fail_msg("rougher by %g: two ranks are %g from one, which is %g from exact filters", (double)rougher[i],
                     apart, from_exact);
        assert_memory_equal(two[0].x, two[1].x, two->n * sizeof(float));
        free_found(one, 1, sizeof *one);
        free_found(exact, 1, sizeof *exact);
        free_found(two, 2, sizeof *two);
    }
}

static char folder[TEMP_DIR_SIZE];

static void test_resumed_has_the_same_bits(void **state)
{
    (void)state;
    struct result *whole = run(1, (struct task) { .rougher = 4 });
    struct result *resumed = run(1, (struct task) { .rougher = 4, .resume = folder });
    assert_int_equal(whole->n, resumed->n);
    assert_memory_equal(whole->x, resumed->x, whole->n * sizeof(float));
    free_found(whole, 1, sizeof *whole);
    free_found(resumed, 1, sizeof *resumed);
}

/* ---- predictions ---- */

static struct net predicting(const char *size, bool exact, struct wl_arena *a)
{
    struct net n;
    struct wl_err e = { 0 };
    const struct wl_plan_opts opts = { .threads = 2, .seed = SEED, .keep_values = true };
    if (open_net(&n, size, exact, opts, NULL, a, &e)) fail_msg("%s", e.msg);
    return n;
}

static void train_once(struct net *n)
{
    struct wl_err e = { 0 };
    if (wl_plan_train(n->plan, true, true, NULL, &e)) fail_msg("%s", e.msg);
}

static float *energies(struct net *n)
{
    float *y = wl_new_array(n->a, float, (size_t)wl_tensor_dims(n->io.prediction)->d[0]);
    assert_int_equal(wl_plan_value(n->plan, n->io.prediction, y, NULL), 0);
    return y;
}

/* Of the first molecule, with its first pair at distance d. */
static double energy_at(struct net *n, float d)
{
    float *distance = wl_plan_input(n->plan, n->io.distance);
    distance[0] = d;
    train_once(n);
    return (double)energies(n)[0];
}

/* Around a node, where one polynomial ends and the next begins. */
struct crossing {
    double energy, step;  /* its step is over two units in the last place of the distance */
    double before, after; /* slope of the energy by the distance: the force along it */
};

static const float BY = .012f; /* angstrom; a cell is .026 */

static struct crossing cross(struct net *n, float node)
{
    const float below = nextafterf(node, 0), above = nextafterf(node, INFINITY);
    const double e[] = { energy_at(n, node - BY), energy_at(n, below), energy_at(n, above), energy_at(n, node + BY) };
    return (struct crossing) { e[1], e[2] - e[1], (e[1] - e[0]) / (double)(below - (node - BY)),
                               (e[3] - e[2]) / (double)(node + BY - above) };
}

/* But for the rounding of energies, which are sums over atoms. */
static void test_energies_and_forces_are_continuous(void **state)
{
    (void)state;
    enum { FIRST = 40, LAST = 150, CELLS = 8 * 24 }; /* 25 Gaussians */
    struct wl_arena *a = wl_arena_new(NULL);
    struct net n[] = { predicting("tiny", false, a), predicting("tiny", true, a) };
    double rounding = 0, largest = 0, jump = 0, off = 0;
    for (int i = 0; i < 2; i++) fill(&n[i], 0);
    assert_true(energy_at(&n[0], 1) != energy_at(&n[1], 1) || energy_at(&n[0], 2) != energy_at(&n[1], 2));
    for (int k = FIRST; k < LAST; k += 7) {
        const float node = (float)(k * wl_schnet.cutoff("tiny") / CELLS);
        const struct crossing table = cross(&n[0], node), exact = cross(&n[1], node);
        rounding = fmax(rounding, fabs(exact.energy) * (double)FLT_EPSILON);
        largest = fmax(largest, fabs(exact.before));
        jump = fmax(jump, fabs(table.step));
        off = fmax(off, fabs((table.after - table.before) - (exact.after - exact.before)));
    }
    print_message("energies step by %.1e (rounding %.1e), forces by %.1e of %.1e\n", jump, rounding, off, largest);
    if (!(largest > .1 && jump <= 8 * rounding && off <= 16 * rounding / (double)BY))
        fail_msg("across nodes energies step by %g, and forces by %g of %g", jump, off, largest);
    wl_arena_free(a);
}

/* ---- full size ---- */

/* On molecules and targets that the training has not seen. */
static void compare_full(struct net *table, struct net *exact, int updates)
{
    struct wl_err e = { 0 };
    struct net *nets[] = { table, exact };
    for (size_t i = 0; i < wl_plan_state_count(table->plan); i++) {
        float *v = wl_new_array(table->a, float, wl_plan_state(table->plan, i).count);
        assert_int_equal(wl_plan_state_read(table->plan, i, v, &e), 0);
        assert_int_equal(wl_plan_state_write(exact->plan, i, v, &e), 0);
    }
    for (int i = 0; i < 2; i++) {
        fill(nets[i], SHARDS - 1);
        train_once(nets[i]);
    }
    const double y = distance(energies(table), energies(exact), MOLECULES);
    double worst = 0;
    const char *where = "";
    for (size_t i = 0; i < wl_plan_state_count(table->plan); i++) {
        const struct wl_state s = wl_plan_state(table->plan, i);
        if (s.kind != WL_STATE_PARAM) continue;
        float *v = wl_new_array(table->a, float, s.count), *w = wl_new_array(table->a, float, s.count);
        assert_int_equal(wl_plan_gradient_read(table->plan, i, v, &e), 0);
        assert_int_equal(wl_plan_gradient_read(exact->plan, i, w, &e), 0);
        const double off = distance(v, w, s.count);
        if (off > worst) worst = off, where = s.name;
    }
    print_message("after %d updates: energies %.1e, gradients %.1e (%s) from exact filters\n", updates, y, worst,
                  where);
    if (!(y <= 1e-6 && worst <= 1e-6))
        fail_msg("after %d updates: energies are %.2e off, the gradient of %s %.2e", updates, y, where, worst);
}

static void test_full_size_is_near_exact_filters(void **state)
{
    (void)state;
    enum { LONG = 2000 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct net table = predicting("full", false, a), exact = predicting("full", true, a);
    compare_full(&table, &exact, 0);
    for (int u = 0; u < LONG; u++) {
        fill(&table, u % (SHARDS - 1));
        train_once(&table);
        assert_int_equal(wl_plan_update(table.plan, 1e-3, NULL), 0);
    }
    compare_full(&table, &exact, LONG);
    wl_arena_free(a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ranks_equal_one_that_accumulates),
                                        cmocka_unit_test(test_resumed_has_the_same_bits),
                                        cmocka_unit_test(test_energies_and_forces_are_continuous) };
    const struct CMUnitTest long_tests[] = { cmocka_unit_test(test_full_size_is_near_exact_filters) };
    if (!make_temp_dir(folder, "filter-tables")) return 1;
    if (argc > 1 && !strcmp(argv[1], "long")) return cmocka_run_group_tests(long_tests, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
