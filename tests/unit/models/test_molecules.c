/* Networks of molecules: against PyTorch Geometric in double at full size (golden files of tools/oracle/molecules.py),
 * against nn/ref, and what must not change the result: the number of threads, the contents of a batch's unused
 * capacity, rotation, translation and the order of atoms. */
#include "molecules.h"
#include "nn/graph/graph.h"
#include "oracle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 6, MOLECULES = 12 };

struct subject {
    struct wl_arena *a;
    const struct wl_molecule_model *model;
    const char *size;
    struct wl_graph *g;
    struct wl_molecule_model_io net;
    struct wl_plan *plan;
    struct wl_counts counts;
};

static struct subject open_subject(struct wl_arena *a, const struct wl_molecule_model *model, const char *size,
                                   struct wl_molecule_capacity capacity, struct wl_plan_opts opts)
{
    struct subject s = { .a = a, .model = model, .size = size, .g = wl_graph_new(a) };
    struct wl_err e = { 0 };
    opts.seed = SEED;
    opts.keep_values = true;
    opts.slow_bf16 = true;
    int rc = model->build(s.g, &(struct wl_molecule_model_opts) { size, capacity }, &s.net, &e);
    if (!rc) rc = wl_plan_new(&s.plan, s.g, &opts, NULL, a, &e);
    if (rc) fail_msg("%s: %s", model->name, e.msg);
    return s;
}

static void train(struct subject *s)
{
    struct wl_err e = { 0 };
    s->counts = (struct wl_counts) { 0 };
    if (wl_plan_train(s->plan, true, true, &s->counts, &e)) fail_msg("%s: %s", s->model->name, e.msg);
}

static const float *predictions(struct subject *s)
{
    float *y = wl_new_array(s->a, float, (size_t)wl_tensor_dims(s->net.prediction)->d[0]);
    assert_int_equal(wl_plan_value(s->plan, s->net.prediction, y, NULL), 0);
    return y;
}

/* What starts at 0 would hide what multiplies it: biases, and the last layers of DimeNet. */
static void move_zeros(struct subject *s)
{
    for (size_t i = 0; i < wl_plan_state_count(s->plan); i++) {
        struct wl_state state = wl_plan_state(s->plan, i);
        if (state.kind != WL_STATE_PARAM || (state.dims.n > 1 && state.dims.d[0] > 1) ||
            wl_str_eq(state.name, "rbf.freq"))
            continue;
        float *v = wl_new_array(s->a, float, state.count);
        for (size_t k = 0; k < state.count; k++)
            v[k] = (float)(0.1 * wl_random_normal(SEED, wl_hash_fnv1a(state.name), k));
        assert_int_equal(wl_plan_state_write(s->plan, i, v, NULL), 0);
    }
}

/* All gradients, concatenated. */
static float *gradients(struct subject *s, size_t *n)
{
    size_t at = 0;
    *n = (size_t)wl_plan_info(s->plan).parameters;
    float *to = wl_new_array(s->a, float, *n);
    for (size_t i = 0; i < wl_plan_state_count(s->plan); i++) {
        if (wl_plan_state(s->plan, i).kind != WL_STATE_PARAM) continue;
        assert_int_equal(wl_plan_gradient_read(s->plan, i, to + at, NULL), 0);
        at += wl_plan_state(s->plan, i).count;
    }
    assert_int_equal(at, *n);
    return to;
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

/* ---- against PyTorch Geometric ----------------------------------------------------------------------------------- */

static void check_energies(struct subject *s, const struct wl_json *golden)
{
    const struct wl_json *want = wl_json_get(golden, "energies");
    const float *got = predictions(s);
    double size = 0;
    for (size_t i = 0; i < wl_json_size(want); i++) size = fmax(size, fabs(wl_json_real(wl_json_at(want, i))));
    for (size_t i = 0; i < wl_json_size(want); i++) {
        double w = wl_json_real(wl_json_at(want, i));
        if (!(fabs(got[i] - w) <= 1e-5 * (fabs(w) + 0.01 * size)))
            fail_msg("%s: energy %zu is %.8g, PyTorch %.8g", s->model->name, i, (double)got[i], w);
    }
    double loss = oracle_real(golden, "loss"), ours = s->counts.loss_sum / (double)s->counts.samples;
    if (!(fabs(ours - loss) <= 1e-5 * loss)) fail_msg("%s: loss %.9g, PyTorch %.9g", s->model->name, ours, loss);
}

static size_t state_named(const struct subject *s, const char *name)
{
    for (size_t i = 0; i < wl_plan_state_count(s->plan); i++)
        if (wl_str_eq(wl_plan_state(s->plan, i).name, name)) return i;
    fail_msg("%s has no parameter %s", s->model->name, name);
    return 0;
}

static void check_gradients(struct subject *s, const struct wl_json *golden)
{
    const struct wl_json *rows = wl_json_get(golden, "parameters");
    for (size_t i = 0; i < wl_json_size(rows); i++) {
        const struct wl_json *row = wl_json_at(rows, i), *want = wl_json_get(row, "gradient");
        const char *name = wl_json_str(wl_json_get(row, "name"));
        const size_t at = state_named(s, name), n = wl_plan_state(s->plan, at).count;
        float *v = wl_new_array(s->a, float, n);
        assert_int_equal(wl_plan_gradient_read(s->plan, at, v, NULL), 0);
        double off = oracle_distance(name, v, n, want) / wl_json_real(wl_json_at(want, 0));
        if (!(off <= 1e-4)) fail_msg("%s: the gradient of %s is %.2e off", s->model->name, name, off);
    }
}

static void test_gradients_equal_the_oracle(void **state)
{
    const struct wl_molecule_model *model = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_json *golden = oracle_open(model->name, a);
    const size_t n = (size_t)oracle_real(golden, "molecules");
    assert_int_equal(oracle_real(golden, "seed"), SEED);
    const struct wl_molecule *m = rule_molecules(SEED, n, a);
    struct subject s = open_subject(a, model, "full", capacity_for(model, "full", m, n, 0.5),
                                    (struct wl_plan_opts) { .backend = oracle_backend(), .threads = 1 });
    assert_int_equal(wl_plan_info(s.plan).parameters, oracle_real(golden, "parameter_count"));
    move_zeros(&s);
    fill_molecule_inputs(s.plan, &s.net, model->cutoff("full"), m, n, SEED);
    train(&s);
    assert_int_equal(s.counts.samples, n);
    check_energies(&s, golden);
    check_gradients(&s, golden);
    wl_arena_free(a);
}

/* ---- against nn/ref, and other threads --------------------------------------------------------------------------- */

static struct subject trained(struct wl_arena *a, const struct wl_molecule_model *model, const struct wl_molecule *m,
                              size_t n, double spare, struct wl_plan_opts opts)
{
    struct subject s = open_subject(a, model, "tiny", capacity_for(model, "tiny", m, n, spare), opts);
    move_zeros(&s);
    fill_molecule_inputs(s.plan, &s.net, model->cutoff("tiny"), m, n, SEED);
    train(&s);
    return s;
}

static void same_bits(struct subject *x, struct subject *y)
{
    size_t n;
    const float *mine = gradients(x, &n), *theirs = gradients(y, &n);
    assert_memory_equal(mine, theirs, n * sizeof *mine);
    assert_true(x->counts.loss_sum == y->counts.loss_sum);
}

static void test_ref_and_threads_agree(void **state)
{
    const struct wl_molecule_model *model = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_molecule *m = rule_molecules(SEED, MOLECULES, a);
    struct subject ref = trained(a, model, m, MOLECULES, 0, (struct wl_plan_opts) { .backend = "ref" });
    struct subject one = trained(a, model, m, MOLECULES, 0, (struct wl_plan_opts) { .threads = 1 });
    struct subject three = trained(a, model, m, MOLECULES, 0, (struct wl_plan_opts) { .threads = 3 });
    size_t n;
    const float *want = gradients(&ref, &n), *got = gradients(&one, &n);
    if (!(distance(got, want, n) < 1e-4)) fail_msg("%s: gradients are %.2e off", model->name, distance(got, want, n));
    assert_true(fabs(one.counts.loss_sum / ref.counts.loss_sum - 1) < 1e-4);
    same_bits(&three, &one);
    wl_arena_free(a);
}

/* In bf16 values between operations have 8 bits; the kernels still compute in f32. */
static void test_bf16_is_near_f32(void **state)
{
    const struct wl_molecule_model *model = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_molecule *m = rule_molecules(SEED, MOLECULES, a);
    struct subject ref =
        trained(a, model, m, MOLECULES, 0.3, (struct wl_plan_opts) { .backend = "ref", .precision = WL_BF16 });
    struct subject exact = trained(a, model, m, MOLECULES, 0.3, (struct wl_plan_opts) { .threads = 1 });
    size_t n;
    const float *want = gradients(&exact, &n), *got = gradients(&ref, &n);
    assert_in_range((int)(1e4 * distance(got, want, n)), 1, 500);
    wl_arena_free(a);
}

/* ---- what must not matter ---------------------------------------------------------------------------------------- */

/* Unused capacity is filled with values that would do harm if they were read: NAN, and atoms that do not exist. */
static void spoil(struct subject *s)
{
    for (size_t i = 0; i < s->g->n_tensors; i++) {
        const struct wl_tensor *t = s->g->tensors[i];
        if (t->role == WL_ROLE_INPUT) memset(wl_plan_input(s->plan, t), 0xff, (size_t)wl_dims_count(&t->dims) * 4);
    }
}

static void test_padding_changes_nothing(void **state)
{
    const struct wl_molecule_model *model = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_molecule *m = rule_molecules(SEED, MOLECULES, a);
    struct subject tight = trained(a, model, m, MOLECULES / 2, 0, (struct wl_plan_opts) { .threads = 1 });
    struct subject wide = open_subject(a, model, "tiny", capacity_for(model, "tiny", m, MOLECULES, 1),
                                       (struct wl_plan_opts) { .threads = 1 });
    move_zeros(&wide);
    fill_molecule_inputs(wide.plan, &wide.net, model->cutoff("tiny"), m, MOLECULES,
                         SEED); /* leaves other values everywhere */
    train(&wide);
    spoil(&wide);
    fill_molecule_inputs(wide.plan, &wide.net, model->cutoff("tiny"), m, MOLECULES / 2, SEED);
    train(&wide);
    assert_int_equal(wide.counts.samples, MOLECULES / 2);
    same_bits(&wide, &tight);
    struct wl_counts none = { 0 };
    fill_molecule_inputs(wide.plan, &wide.net, model->cutoff("tiny"), m, 0, SEED);
    assert_int_equal(wl_plan_eval(wide.plan, &none, NULL), 0);
    assert_int_equal(none.samples, 0);
    assert_true(none.loss_sum == 0);
    wl_arena_free(a);
}

/* Turned by three angles, moved, and its atoms in another order. */
static struct wl_molecule moved(const struct wl_molecule *m, struct wl_arena *a)
{
    const double by[3] = { 3, -1, 2 };
    uint8_t *number = wl_new_array(a, uint8_t, (size_t)m->atoms);
    float *at = wl_new_array(a, float, (size_t)m->atoms * 3);
    for (int i = 0; i < m->atoms; i++) {
        const int to = m->atoms - 1 - i;
        double p[3] = { m->position[3 * i], m->position[3 * i + 1], m->position[3 * i + 2] };
        for (int c = 0; c < 3; c++) {
            const double angle = 0.7 + c, x = p[c], y = p[(c + 1) % 3];
            p[c] = cos(angle) * x - sin(angle) * y;
            p[(c + 1) % 3] = sin(angle) * x + cos(angle) * y;
        }
        for (int c = 0; c < 3; c++) at[3 * to + c] = (float)(p[c] + by[c]);
        number[to] = m->atomic_number[i];
    }
    return (struct wl_molecule) { m->atoms, number, at };
}

static void test_energy_is_invariant(void **state)
{
    const struct wl_molecule_model *model = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_molecule *m = rule_molecules(SEED, MOLECULES, a), *other = wl_new_array(a, struct wl_molecule, MOLECULES);
    for (int i = 0; i < MOLECULES; i++) other[i] = moved(&m[i], a);
    struct subject x = trained(a, model, m, MOLECULES, 0, (struct wl_plan_opts) { .threads = 1 });
    struct subject y = trained(a, model, other, MOLECULES, 0, (struct wl_plan_opts) { .threads = 1 });
    if (!(distance(predictions(&y), predictions(&x), MOLECULES) < 1e-5))
        fail_msg("%s: energies move by %.2e", model->name, distance(predictions(&y), predictions(&x), MOLECULES));
    wl_arena_free(a);
}

/* Along the gradient the loss changes as it says. */
static void test_gradients_equal_finite_differences(void **state)
{
    const struct wl_molecule_model *model = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_molecule *m = rule_molecules(SEED, 6, a);
    struct subject s = trained(a, model, m, 6, 0, (struct wl_plan_opts) { .backend = "ref" });
    size_t n, at = 0;
    const float *g = gradients(&s, &n);
    double size = 0, loss[2];
    for (size_t i = 0; i < n; i++) size += (double)g[i] * g[i];
    const double h = 3e-3 * s.counts.loss_sum / 6 / size;
    for (int sign = 0; sign < 2; sign++, at = 0) {
        for (size_t i = 0; i < wl_plan_state_count(s.plan); i++) {
            struct wl_state state_i = wl_plan_state(s.plan, i);
            if (state_i.kind != WL_STATE_PARAM) continue;
            float *w = wl_new_array(a, float, state_i.count);
            assert_int_equal(wl_plan_state_read(s.plan, i, w, NULL), 0);
            for (size_t k = 0; k < state_i.count; k++) w[k] += (float)((sign ? -2 * h : h) * g[at++]);
            assert_int_equal(wl_plan_state_write(s.plan, i, w, NULL), 0);
        }
        struct wl_counts c = { 0 };
        assert_int_equal(wl_plan_eval(s.plan, &c, NULL), 0);
        loss[sign] = c.loss_sum / 6;
    }
    double ratio = (loss[0] - loss[1]) / (2 * h * size);
    if (!(fabs(ratio - 1) < 1e-2)) fail_msg("%s: the loss changes %.5g times as the gradient says", model->name, ratio);
    wl_arena_free(a);
}

/* ---- the ends ---------------------------------------------------------------------------------------------------- */

/* One atom, and two out of reach: no pair. */
static void test_atoms_without_pairs(void **state)
{
    const struct wl_molecule_model *model = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    const uint8_t number[] = { 6, 1 };
    const float at[] = { 0, 0, 0, 0, 0, 50 };
    const struct wl_molecule m[] = { { 1, number, at }, { 2, number, at } };
    struct subject s = trained(a, model, m, 2, 0, (struct wl_plan_opts) { .threads = 2 });
    size_t n;
    const float *g = gradients(&s, &n), *y = predictions(&s);
    for (size_t i = 0; i < n; i++) assert_true(isfinite(g[i]));
    assert_true(isfinite(y[0]) && isfinite(y[1]));
    wl_arena_free(a);
}

static void expect_error(struct subject *s, const char *text)
{
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_train(s->plan, true, true, &s->counts, &e), WL_EINVAL);
    if (!strstr(e.msg, text)) fail_msg("%s: '%s' lacks '%s'", s->model->name, e.msg, text);
}

static void test_bad_inputs_are_refused(void **state)
{
    const struct wl_molecule_model *model = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_molecule *m = rule_molecules(SEED, 6, a);
    struct subject s = trained(a, model, m, 6, 0, (struct wl_plan_opts) { .threads = 1 });
    int32_t *number = wl_plan_input(s.plan, s.net.number), *counts = wl_plan_input(s.plan, s.net.counts);
    number[3] = 100;
    expect_error(&s, "number: entry 3 is 100, expected 0 to");
    number[3] = 6;
    counts[WL_ATOMS]++;
    expect_error(&s, "there is room for");
    counts[WL_ATOMS]--;
    if (s.net.pair)
        ((int32_t *)wl_plan_input(s.plan, s.net.atom_start))[2]--;
    else
        ((int32_t *)wl_plan_input(s.plan, s.net.reverse))[2]++;
    expect_error(&s, s.net.pair ? "which is not of molecule" : "has no edge back");
    wl_arena_free(a);
}

#define TESTS_OF(model)                                                            \
    cmocka_unit_test_prestate(test_gradients_equal_the_oracle, model),             \
        cmocka_unit_test_prestate(test_ref_and_threads_agree, model),              \
        cmocka_unit_test_prestate(test_bf16_is_near_f32, model),                   \
        cmocka_unit_test_prestate(test_padding_changes_nothing, model),            \
        cmocka_unit_test_prestate(test_energy_is_invariant, model),                \
        cmocka_unit_test_prestate(test_gradients_equal_finite_differences, model), \
        cmocka_unit_test_prestate(test_atoms_without_pairs, model),                \
        cmocka_unit_test_prestate(test_bad_inputs_are_refused, model)

/* Two molecules of five atoms and ten pairs each, counted by hand; without such means there is no count. */
static void test_flops_equal_hand_computation(void **state)
{
    static const double rows[WL_ROW_KINDS] = { 2, 10, 20, 0 };
    const struct wl_molecule_model_opts opts = { "tiny", { 2, 40, 200, 1 } };
    enum { A = 10, P = 20, F = 32, GAUSSIANS = 25, INTERACTIONS = 2 };
    const double dense = 2.0 * A * F * F, layer = 2.0 * P * GAUSSIANS * F, filter = layer + 2.0 * P * (F * F + 2 * F);
    const double out = 2.0 * A * (F * F / 2 + F / 2), forward = INTERACTIONS * (3 * dense + filter) + out;
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_graph *g = wl_graph_new(a);
        struct wl_molecule_model_io net;
        struct wl_plan *plan;
        struct wl_err e = { 0 };
        assert_int_equal(wl_schnet.build(g, &opts, &net, &e), 0);
        if (known) wl_mean_rows(g, rows);
        assert_int_equal(wl_plan_new(&plan, g, &(struct wl_plan_opts) { .seed = SEED, .batch = 2 }, NULL, a, &e), 0);
        const struct wl_plan_info f = wl_plan_info(plan);
        double steps = 0;
        for (size_t i = 0; i < wl_plan_step_count(plan); i++) {
            const struct wl_plan_step step = wl_plan_step(plan, i, a);
            if (step.training) steps += step.flops;
        }
        if (known) {
            assert_true(f.batch == 2 && f.forward_flops == forward / 2);
            assert_true(f.train_flops == (3 * forward - INTERACTIONS * layer) / 2);
            assert_true(fabs(steps - f.train_flops) < 1);
        } else {
            assert_true(isnan(f.forward_flops) && isnan(f.train_flops));
        }
        wl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS_OF((void *)&wl_schnet), TESTS_OF((void *)&wl_dimenet),
                                        cmocka_unit_test(test_flops_equal_hand_computation) };
    const struct CMUnitTest gradients[] = {
        cmocka_unit_test_prestate(test_gradients_equal_the_oracle, (void *)&wl_schnet),
        cmocka_unit_test_prestate(test_gradients_equal_the_oracle, (void *)&wl_dimenet),
    };
    return oracle_backend() ? cmocka_run_group_tests(gradients, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
