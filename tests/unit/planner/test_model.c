/* The planner's formulas against an independent evaluation, and ten properties that any such model has. */
#include "check.h"
#include "planner/planner.h"

/* A job whose parts a test may change. */
struct job {
    struct wl_planner_machine machine;
    struct wl_planner_framework framework;
    struct wl_planner_workload workload;
    struct wl_planner_setting at;
};

static struct job plain(double workers)
{
    return (struct job) {
        .machine = { .name = "m",
                     .collective = "ring",
                     .devices_per_node = 4,
                     .latency_s = 1e-5,
                     .network_gb_s = 10,
                     .node_gb_s = 50,
                     .storage_gb_s = 5,
                     .node_input_gb_s = NAN,
                     .straggler_cv = .05,
                     .input_exponent = 2,
                     .idle_w = 40,
                     .max_w = 300,
                     .min_cap_w = NAN,
                     .clock_mhz = 1400,
                     .lowest_clock_mhz = 200,
                     .power_exponent = 2.4,
                     .spin_share = .5,
                     .host_w = 300,
                     .network_w = NAN },
        .framework = { .name = "f", .epoch_s = 3, .negotiation_s = 1e-6, .bucket_mb = 25 },
        .workload = { .name = "w",
                      .dtype = "f32",
                      .sharding = "none",
                      .accumulation = 1,
                      .tensor_parallel = 1,
                      .pipeline_stages = 1,
                      .pipeline_chunks = 1,
                      .layers = NAN,
                      .activation_mb = NAN,
                      .samples = 1e6,
                      .local_batch = 32,
                      .step_s = .1,
                      .step_batch = 32,
                      .gflop = NAN,
                      .traffic_mb = NAN,
                      .parameters = 25e6,
                      .gradient_bytes = 4,
                      .tensors = 100,
                      .sample_kb = 100,
                      .memory_share = .3,
                      .load = .9,
                      .fixed_memory_gb = NAN,
                      .sample_memory_mb = NAN },
        .at = { workers, NAN, NAN, NAN, NAN, NAN },
    };
}

static struct wl_planner_point evaluate(const struct job *j)
{
    const struct wl_planner_case c = { &j->machine, &j->framework, &j->workload, NULL };
    return wl_planner_evaluate(&c, &j->at);
}

/* ---- against tests/golden/make_planner_golden.py ---- */

static const char *text(const struct wl_csv *csv, const char *column) { return csv->row[wl_csv_column(csv, column)]; }

static struct job golden_job(const struct wl_csv *csv)
{
    struct job j = plain(golden_real(csv, "workers"));
    const struct {
        const char *column;
        double *to;
    } fields[] = {
        { "latency_s", &j.machine.latency_s },
        { "network_gb_s", &j.machine.network_gb_s },
        { "node_gb_s", &j.machine.node_gb_s },
        { "straggler_cv", &j.machine.straggler_cv },
        { "input_exponent", &j.machine.input_exponent },
        { "storage_gb_s", &j.machine.storage_gb_s },
        { "node_input_gb_s", &j.machine.node_input_gb_s },
        { "idle_w", &j.machine.idle_w },
        { "max_w", &j.machine.max_w },
        { "power_exponent", &j.machine.power_exponent },
        { "spin_share", &j.machine.spin_share },
        { "host_w", &j.machine.host_w },
        { "network_w", &j.machine.network_w },
        { "clock_mhz", &j.machine.clock_mhz },
        { "lowest_mhz", &j.machine.lowest_clock_mhz },
        { "epoch_overhead_s", &j.framework.epoch_s },
        { "negotiation_s", &j.framework.negotiation_s },
        { "bucket_mb", &j.framework.bucket_mb },
        { "samples", &j.workload.samples },
        { "local_batch", &j.workload.local_batch },
        { "step_time_s", &j.workload.step_s },
        { "step_batch", &j.workload.step_batch },
        { "parameters", &j.workload.parameters },
        { "gradient_bytes", &j.workload.gradient_bytes },
        { "tensors", &j.workload.tensors },
        { "sample_kb", &j.workload.sample_kb },
        { "layers", &j.workload.layers },
        { "activation_mb", &j.workload.activation_mb },
        { "memory_share", &j.workload.memory_share },
        { "load", &j.workload.load },
        { "validation_samples", &j.workload.validation_samples },
        { "checkpoint_gb", &j.workload.checkpoint_gb },
        { "cap_w", &j.at.cap_w },
        { "lock_mhz", &j.at.clock_mhz },
    };
    for (size_t i = 0; i < WL_COUNT(fields); i++) *fields[i].to = golden_real(csv, fields[i].column);
    j.machine.devices_per_node = (int64_t)golden_real(csv, "per_node");
    j.workload.accumulation = (int64_t)golden_real(csv, "accumulation");
    j.workload.tensor_parallel = (int64_t)golden_real(csv, "tensor_parallel");
    j.workload.pipeline_stages = (int64_t)golden_real(csv, "pipeline_stages");
    j.workload.pipeline_chunks = (int64_t)golden_real(csv, "pipeline_chunks");
    j.workload.drop_last = golden_real(csv, "drop_last") == 1;
    return j;
}

static void formulas_match_an_independent_evaluation(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_csv csv;
    size_t n = 0;
    golden_open(&csv, "planner_values.csv", a);
    for (; golden_next(&csv); n++) {
        struct job j = golden_job(&csv);
        j.machine.collective = text(&csv, "collective");
        j.workload.sharding = text(&csv, "sharding");
        const struct wl_planner_point p = evaluate(&j);
        const char *row = wl_strf(a, "line %d", csv.line);
        agree(row, p.at.phi, golden_real(&csv, "want_phi"), 12);
        agree(row, p.at.enforceable, golden_real(&csv, "want_enforceable"), 12);
        agree(row, p.steps, golden_real(&csv, "want_steps"), 12);
        agree(row, p.step_s, golden_real(&csv, "want_step_s"), 8);
        agree(row, p.tensor_s, golden_real(&csv, "want_tensor_s"), 10);
        agree(row, p.pipeline_s, golden_real(&csv, "want_pipeline_s"), 10);
        agree(row, p.exposed_s, golden_real(&csv, "want_exposed_s"), 8);
        agree(row, p.epoch_s, golden_real(&csv, "want_epoch_s"), 8);
        agree(row, p.energy_j, golden_real(&csv, "want_energy_j"), 8);
        agree(row, p.power_w, golden_real(&csv, "want_power_w"), 8);
    }
    assert_int_equal(n, 120);
    wl_arena_free(a);
}

/* Worked by hand: 2 workers of a node, nothing but computing and an all-reduce of one bucket. */
static void a_step_worked_by_hand(void **state)
{
    (void)state;
    struct job j = plain(2);
    j.machine.straggler_cv = 0;
    j.framework = (struct wl_planner_framework) { "f", 0, 0, 0, 200 };
    j.workload.sample_kb = 0;
    j.workload.samples = 640;
    j.machine.host_w = NAN;
    const struct wl_planner_point p = evaluate(&j);
    assert_float_equal(p.steps, 10, 0);
    assert_float_equal(p.exposed_s, 2 * 1e-5 + 1e8 / 50e9, 1e-15);
    assert_float_equal(p.step_s, .1 + .00202, 1e-12);
    assert_float_equal(p.epoch_s, 1.0202, 1e-9);
    /* 40 W for the whole time; 234 W more while computing, half of that while it waits for the other one */
    assert_float_equal(p.energy_j, 2 * (40 * 1.0202 + 234 * (1 + .5 * .0202)), 1e-9);
}

/* ---- ten properties ---- */

enum { COUNTS = 9 };
static const double counts[COUNTS] = { 1, 2, 4, 16, 64, 256, 1024, 8192, 100000 };

/* 1. A better machine is never slower; a worse constant is never faster. */
static void time_falls_with_bandwidth_and_grows_with_each_overhead(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNTS; i++) {
        const struct job base = plain(counts[i]);
        const double t = evaluate(&base).epoch_s;
        struct job j = base;
        j.machine.network_gb_s *= 2;
        assert_true(evaluate(&j).epoch_s <= t);
        j = base, j.machine.storage_gb_s *= 2;
        assert_true(evaluate(&j).epoch_s <= t);
        j = base, j.machine.latency_s *= 2;
        assert_true(evaluate(&j).epoch_s >= t);
        j = base, j.machine.straggler_cv *= 2;
        assert_true(evaluate(&j).epoch_s >= t);
        j = base, j.framework.negotiation_s *= 2;
        assert_true(evaluate(&j).epoch_s >= t);
        j = base, j.framework.epoch_s += 1;
        assert_float_equal(evaluate(&j).epoch_s, t + 1, 1e-9 * t);
    }
}

/* 2. No speed-up beyond the number of workers. */
static void speed_up_is_at_most_the_workers(void **state)
{
    (void)state;
    struct job one = plain(1);
    one.workload.samples = 32e6; /* a whole number of steps at each count but the largest */
    const double t1 = evaluate(&one).epoch_s;
    for (size_t i = 0; i < COUNTS; i++) {
        struct job j = one;
        j.at.workers = counts[i];
        assert_true(t1 / evaluate(&j).epoch_s <= counts[i] * (1 + 1e-12));
    }
}

/* 3. Units: a clock that runs half as fast (seconds twice as long in every constant) doubles time and energy. */
static void time_scales_with_its_unit(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNTS; i++) {
        struct job j = plain(counts[i]), k = j;
        k.workload.step_s *= 2, k.machine.latency_s *= 2, k.framework.epoch_s *= 2, k.framework.negotiation_s *= 2;
        k.machine.network_gb_s /= 2, k.machine.node_gb_s /= 2, k.machine.storage_gb_s /= 2;
        const struct wl_planner_point p = evaluate(&j), q = evaluate(&k);
        assert_float_equal(q.epoch_s / p.epoch_s, 2, 1e-12);
        assert_float_equal(q.energy_j / p.energy_j, 2, 1e-12);
        assert_float_equal(q.power_w / p.power_w, 1, 1e-12);
    }
}

/* 4. Units: watts twice as small double power and energy, not time. */
static void energy_scales_with_its_unit(void **state)
{
    (void)state;
    struct job j = plain(64), k = j;
    k.machine.idle_w *= 2, k.machine.max_w *= 2, k.machine.host_w *= 2;
    j.at.cap_w = 150, k.at.cap_w = 300;
    const struct wl_planner_point p = evaluate(&j), q = evaluate(&k);
    assert_float_equal(q.epoch_s, p.epoch_s, 1e-12);
    assert_float_equal(q.energy_j / p.energy_j, 2, 1e-12);
}

/* 5. Bytes: a network with twice the bandwidth carries gradients of twice the size in the same time. */
static void traffic_scales_with_its_unit(void **state)
{
    (void)state;
    struct job j = plain(64), k = j;
    k.workload.gradient_bytes *= 2, k.framework.bucket_mb *= 2;
    k.machine.network_gb_s *= 2, k.machine.node_gb_s *= 2;
    assert_float_equal(evaluate(&k).epoch_s, evaluate(&j).epoch_s, 1e-12);
}

/* 6. A lower cap is never faster and never draws more; above what the job draws it does nothing. */
static void caps_slow_down_and_save_power(void **state)
{
    (void)state;
    struct job j = plain(16);
    double t = evaluate(&j).epoch_s, w = evaluate(&j).power_w;
    for (double cap_w = 300; cap_w >= 50; cap_w -= 5) {
        j.at.cap_w = cap_w;
        const struct wl_planner_point p = evaluate(&j);
        if (cap_w >= 40 + .9 * 260) assert_true(p.at.phi == 1);
        assert_true(p.epoch_s >= t && p.power_w <= w);
        assert_true(!p.at.enforceable || p.at.active_w <= cap_w * (1 + 1e-12));
        t = p.epoch_s, w = p.power_w;
    }
    j.at.cap_w = 41; /* below what the lowest clock draws: the clock stays there */
    assert_false(evaluate(&j).at.enforceable);
    assert_float_equal(evaluate(&j).at.phi, 200. / 1400, 1e-12);
}

/* 7. The same for locks; a job that waits for memory alone does not notice them. */
static void clocks_slow_down_what_computes(void **state)
{
    (void)state;
    struct job j = plain(16);
    double t = evaluate(&j).epoch_s;
    for (double mhz = 1400; mhz >= 200; mhz -= 50) {
        j.at.clock_mhz = mhz;
        assert_true(evaluate(&j).epoch_s >= t);
        t = evaluate(&j).epoch_s;
    }
    struct job memory = plain(16);
    memory.workload.memory_share = 1;
    t = evaluate(&memory).epoch_s;
    memory.at.clock_mhz = 300;
    assert_float_equal(evaluate(&memory).epoch_s, t, 1e-12);
}

/* 8. Steps cover the samples: whole steps, at least one; drop_last never takes more. */
static void steps_cover_the_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNTS; i++) {
        struct job j = plain(counts[i]);
        const struct wl_planner_point p = evaluate(&j);
        assert_true(p.steps == floor(p.steps) && p.steps >= 1);
        assert_true(p.steps * p.global_batch >= j.workload.samples);
        assert_true((p.steps - 1) * p.global_batch < j.workload.samples);
        j.workload.drop_last = true;
        assert_true(evaluate(&j).steps <= p.steps);
    }
    struct job qm9 = plain(416); /* 110,000 molecules in batches of 128: 3 steps, not 2.07 */
    qm9.workload.samples = 110000, qm9.workload.local_batch = 128;
    assert_float_equal(evaluate(&qm9).steps, 3, 0);
}

/* 9. The energy identity, whose sides are summed apart, and its bounds: idle to maximum power. */
static void the_energy_identity_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNTS; i++)
        for (size_t k = 0; k < COUNTS; k++) {
            struct job j = plain(counts[i]), l = plain(counts[k]);
            j.at.cap_w = 120;
            const struct wl_planner_point p = evaluate(&j), q = evaluate(&l);
            assert_true(fabs(wl_planner_identity(&j.at, &p, &l.at, &q)) < 1e-12);
            l.machine.host_w = NAN;
            assert_in_range((int)evaluate(&l).power_w, 40, 300);
        }
}

/* 10. Amdahl: an overhead linear in the workers per step is a constant per epoch, and an exponent without overhead
 * is 1. */
static void linear_overheads_are_constants_of_an_epoch(void **state)
{
    (void)state;
    double epoch_s[3], workers[3] = { 64, 256, 1024 };
    for (size_t i = 0; i < 3; i++) {
        struct job j = plain(workers[i]), k = j;
        j.workload.samples = k.workload.samples = 32 * 1024 * 100;
        k.framework.negotiation_s += 1e-5;
        const double constant_s = 1e-5 * 100 * 1024 * 100; /* kappa x tensors x samples / local batch */
        assert_float_equal(evaluate(&k).epoch_s - evaluate(&j).epoch_s, constant_s, 1e-9);
        struct job free_of_overhead = j;
        free_of_overhead.framework = (struct wl_planner_framework) { "f", 0, 0, 0, 25 };
        free_of_overhead.machine.network_gb_s = free_of_overhead.machine.node_gb_s = 1e12;
        free_of_overhead.machine.latency_s = free_of_overhead.machine.straggler_cv = 0;
        free_of_overhead.machine.storage_gb_s = NAN;
        epoch_s[i] = evaluate(&free_of_overhead).epoch_s;
    }
    assert_float_equal(wl_planner_exponent_of(workers, epoch_s, 3).beta, 1, 1e-6);
}

/* ---- replicas of several workers ---- */

/* A network that needs 4 nodes of 8: 8 workers share each layer, 4 nodes have a quarter of the layers each. */
static struct job split(double workers)
{
    struct job j = plain(workers);
    j.machine.devices_per_node = 8, j.machine.collective = "ring", j.machine.straggler_cv = 0;
    j.machine.storage_gb_s = NAN;
    j.framework = (struct wl_planner_framework) { "f", 0, 0, 0, 1e6 };
    j.workload.tensor_parallel = 8, j.workload.pipeline_stages = 4, j.workload.accumulation = 12;
    j.workload.layers = 40, j.workload.activation_mb = 10;
    j.workload.local_batch = j.workload.step_batch = 2, j.workload.step_s = 32;
    j.workload.samples = 24000;
    return j;
}

static void a_split_network_worked_by_hand(void **state)
{
    (void)state;
    struct job j = split(32);
    const struct wl_planner_point p = evaluate(&j);
    assert_float_equal(p.replicas, 1, 0);
    assert_float_equal(p.global_batch, 24, 0);
    assert_float_equal(p.steps, 1000, 0);
    assert_float_equal(p.device_s, 12, 1e-12); /* 12 micro-steps of 32 s / 32 */
    /* 10 layers of a stage with 4 all-reduces each, of 20 MB over 8 workers at 50 GB/s */
    const double tensor_s = 40 * 2 * 7 * (1e-5 + 20e6 / 8 / 50e9);
    assert_float_equal(p.tensor_s, 12 * tensor_s, 1e-12);
    /* 3 stages' wait of 1 s each, and 15 transfers forth and back of 20 MB from node to node at 10 GB/s */
    assert_float_equal(p.pipeline_s, 3 * (1 + tensor_s) + 2 * 15 * (1e-5 + 20e6 / 10e9), 1e-12);
    assert_float_equal(p.exposed_s, 0, 0); /* one replica has nothing to reduce */
    /* 2 replicas: each worker reduces 1/32 of 100 MB with its like in the other replica, 8 of them over a node's link
     */
    j.at.workers = 64;
    assert_float_equal(evaluate(&j).exposed_s, 2 * (1e-5 + 100e6 / 32 / 2 / (10e9 / 8)), 1e-12);
    assert_float_equal(evaluate(&j).steps, 500, 0);
    j.at.workers = 48; /* one and a half replicas */
    const struct wl_planner_case c = { &j.machine, &j.framework, &j.workload, NULL };
    assert_false(wl_planner_divides(&c, &j.at));
    assert_true(isnan(evaluate(&j).epoch_s) && isnan(evaluate(&j).energy_j));
}

/* Narayanan et al. 2021, section 2.2: the bubble takes (p - 1)/(v m) of the time of m micro-steps. */
static void the_bubble_is_that_of_the_schedule(void **state)
{
    (void)state;
    const struct wl_planner_links l = { 8, 0, INFINITY, INFINITY };
    for (double stages = 1; stages <= 64; stages *= 2)
        for (double chunks = 1; chunks <= 4; chunks++) {
            const struct wl_planner_layout p = wl_planner_layout_of(8 * stages, 8, stages, chunks);
            const double micro = 96, wait_s = wl_planner_pipeline_s(&l, &p, micro, .25, 1e6);
            assert_float_equal(wait_s / (micro * .25), (stages - 1) / (chunks * micro), 1e-12);
        }
}

static void splitting_obeys_its_limits(void **state)
{
    (void)state;
    struct job j = split(1024);
    const struct wl_planner_point p = evaluate(&j);
    struct job k = j;
    k.machine.node_gb_s *= 2;
    assert_true(evaluate(&k).tensor_s < p.tensor_s && evaluate(&k).epoch_s < p.epoch_s);
    k = j, k.machine.network_gb_s *= 2;
    assert_true(evaluate(&k).pipeline_s < p.pipeline_s && evaluate(&k).exposed_s < p.exposed_s);
    k = j, k.workload.activation_mb *= 2;
    assert_true(evaluate(&k).epoch_s > p.epoch_s);
    k = j, k.workload.pipeline_chunks = 2; /* waits less, sends more */
    assert_true(evaluate(&k).pipeline_s < p.pipeline_s);
    /* links and schedule that cost nothing: a step of the split network is that of as many workers with whole ones */
    k = j, k.machine.latency_s = 0, k.machine.node_gb_s = k.machine.network_gb_s = 1e15;
    k.workload.accumulation = 100000000;
    const double ideal_s = 32. / 32 * 1e8;
    assert_float_equal(evaluate(&k).step_s / ideal_s, 1, 1e-6);
    struct job far = j;
    far.at.workers = 4096;
    const struct wl_planner_point q = evaluate(&far);
    assert_true(fabs(wl_planner_identity(&j.at, &p, &far.at, &q)) < 1e-12);
}

static void memory_is_shared_as_the_network_is(void **state)
{
    (void)state;
    struct job j = split(64);
    j.workload.fixed_memory_gb = 320, j.workload.sample_memory_mb = 3200;
    /* 1/32 of the parameters; of the 12 micro-batches of 2 samples 4 are in flight, 1/32 of each */
    assert_float_equal(evaluate(&j).memory_b, 10e9 + 3200e6 / 32 * 2 * 4, 1);
    j.workload.sharding = "full"; /* over the two replicas */
    assert_float_equal(evaluate(&j).memory_b, 5e9 + 3200e6 / 32 * 2 * 4, 1);
    j = plain(8);
    j.workload.fixed_memory_gb = 8, j.workload.sample_memory_mb = 10;
    assert_float_equal(evaluate(&j).memory_b, 8e9 + 320e6, 1);
    j.workload.sharding = "full";
    assert_float_equal(evaluate(&j).memory_b, 1e9 + 320e6, 1);
}

/* ---- limits ---- */

static void what_a_device_cannot_do_is_marked(void **state)
{
    (void)state;
    struct job j = plain(16);
    j.at.clock_mhz = 1400;
    assert_true(evaluate(&j).at.enforceable);
    j.at.clock_mhz = 1401; /* above the highest clock */
    assert_false(evaluate(&j).at.enforceable);
    assert_float_equal(evaluate(&j).at.phi, 1, 0);
    struct wl_hardware_card boosts = { .name = "b", .clock_mhz = 1500, .memory_b = NAN };
    j.machine.card = &boosts; /* which the job does not reach without a lock */
    assert_true(evaluate(&j).at.enforceable);
    j.at.clock_mhz = 199;
    assert_false(evaluate(&j).at.enforceable);
    j.at.clock_mhz = NAN;
    j.machine.min_cap_w = 100;
    const double caps[] = { 99, 100, 300, 301 };
    for (size_t i = 0; i < WL_COUNT(caps); i++) {
        j.at.cap_w = caps[i];
        assert_int_equal(evaluate(&j).at.enforceable, i == 1 || i == 2);
    }
    j.machine.lowest_clock_mhz = NAN;
    j.at.cap_w = 40; /* nothing is left for computing, and the clock that stays is unknown */
    const struct wl_planner_point p = evaluate(&j);
    assert_true(!p.at.enforceable && isnan(p.epoch_s) && isnan(p.energy_j) && isnan(p.busy));
}

static void a_batch_beyond_the_data_is_noticed(void **state)
{
    (void)state;
    struct job j = plain(10);
    j.workload.samples = 640;
    const struct wl_planner_case c = { &j.machine, &j.framework, &j.workload, NULL };
    j.at.workers = 20;
    assert_false(wl_planner_exceeds_data(&c, &j.at));
    j.at.workers = 21;
    assert_true(wl_planner_exceeds_data(&c, &j.at));
    j.at.samples = 10000;
    assert_false(wl_planner_exceeds_data(&c, &j.at));
}

static void collectives_choose_and_refuse(void **state)
{
    (void)state;
    struct wl_planner_links l = { 4, 1e-5, 100e9, 10e9 };
    for (size_t i = 0; i < COUNTS; i++) {
        const double ring = wl_planner_all_reduce(&l, WL_PLANNER_RING, counts[i], 1e8),
                     tree = wl_planner_all_reduce(&l, WL_PLANNER_TREE, counts[i], 1e8),
                     both = wl_planner_all_reduce(&l, WL_PLANNER_HIERARCHICAL, counts[i], 1e8);
        assert_float_equal(wl_planner_all_reduce(&l, WL_PLANNER_BEST, counts[i], 1e8), fmin(fmin(ring, tree), both), 0);
    }
    l.net_b_s = NAN;
    assert_true(isnan(wl_planner_all_reduce(&l, WL_PLANNER_BEST, 64, 1e8)));
    assert_false(isnan(wl_planner_all_reduce(&l, WL_PLANNER_BEST, 4, 1e8)));
    assert_float_equal(wl_planner_exposed(1, 4, 100), 1, 0); /* the last bucket */
    assert_float_equal(wl_planner_exposed(1, 4, 0), 4, 0);   /* nothing to hide it */
    assert_float_equal(wl_planner_exposed(1, 4, 2), 2.5, 1e-15);
}

/* Exact E[max] of N normals: 0.56419 (2), 1.53875 (10), 2.50759 (100). Source: Harter 1961. */
static void stragglers_follow_order_statistics(void **state)
{
    (void)state;
    assert_float_equal(wl_planner_straggle(.1, 1), 1, 0);
    assert_float_equal(wl_planner_straggle(1, 2), 1.56419, .03);
    assert_float_equal(wl_planner_straggle(1, 10), 2.53875, .01);
    assert_float_equal(wl_planner_straggle(1, 100), 3.50759, .01);
}

static void what_is_missing_has_a_name(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct job j = plain(64);
    const struct wl_planner_case c = { &j.machine, &j.framework, &j.workload, NULL };
    assert_null(wl_planner_missing(&c, &j.at, true, a));
    j.machine.idle_w = NAN;
    assert_null(wl_planner_missing(&c, &j.at, false, a));
    assert_string_equal(wl_planner_missing(&c, &j.at, true, a), "idle_power of [machine m]");
    assert_true(isnan(evaluate(&j).energy_j) && !isnan(evaluate(&j).epoch_s));
    j.machine.network_gb_s = NAN;
    assert_string_equal(wl_planner_missing(&c, &j.at, false, a), "network_bandwidth of [machine m]");
    assert_true(isnan(evaluate(&j).epoch_s));
    j = split(64);
    j.workload.activation_mb = NAN;
    assert_string_equal(wl_planner_missing(&c, &j.at, false, a), "activation of [workload w]");
    j.workload.layers = NAN, j.workload.activation_mb = 1;
    assert_string_equal(wl_planner_missing(&c, &j.at, false, a), "layers of [workload w]");
    j = plain(64);
    j.workload.step_s = NAN;
    assert_string_equal(wl_planner_missing(&c, &j.at, false, a), "step_time, or flops, of [workload w]");
    wl_arena_free(a);
}

/* Roofline: max(flop / peak, bytes / bandwidth), and its ratio between machines. */
static void steps_that_were_not_measured_follow_the_roofline(void **state)
{
    (void)state;
    struct wl_hardware_card slow = { .name = "slow", .peak_f32 = 1e13, .memory_b_s = 1e12, .memory_b = NAN },
                            fast = { .name = "fast", .peak_f32 = 4e13, .memory_b_s = 2e12, .memory_b = NAN };
    struct job j = plain(1);
    struct wl_planner_machine other = j.machine;
    j.machine.card = &slow, other.card = &fast;
    j.machine.flops_efficiency = other.flops_efficiency = .5;
    j.machine.memory_efficiency = other.memory_efficiency = .5;
    j.workload.step_s = NAN, j.workload.gflop = 10, j.workload.step_mb = 0;
    struct wl_planner_case c = { &j.machine, &j.framework, &j.workload, NULL };
    assert_float_equal(wl_planner_device_step(&c, 32), 32 * 1e10 / 5e12, 1e-12);
    j.workload.traffic_mb = 2000;
    assert_float_equal(wl_planner_device_step(&c, 32), 32 * 2e9 / 5e11, 1e-12);
    j.workload.step_s = .2;
    c.machine = &other, c.step_machine = &j.machine;
    assert_float_equal(wl_planner_device_step(&c, 32), .1, 1e-12); /* bound by memory: twice as fast, not four times */
}

static void a_hundred_thousand_workers_take_less_than_a_second(void **state)
{
    (void)state;
    const int64_t begin_ns = wl_clock_process_cpu_ns();
    double sum = 0;
    for (double workers = 1; workers <= 100000; workers++) {
        const struct job j = plain(workers);
        sum += evaluate(&j).epoch_s;
    }
    assert_true(isfinite(sum));
    const double s = (double)(wl_clock_process_cpu_ns() - begin_ns) / 1e9;
    if (s > 1) fail_msg("all counts to 100000 took %.2f s of CPU time", s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_match_an_independent_evaluation),
        cmocka_unit_test(a_step_worked_by_hand),
        cmocka_unit_test(time_falls_with_bandwidth_and_grows_with_each_overhead),
        cmocka_unit_test(speed_up_is_at_most_the_workers),
        cmocka_unit_test(time_scales_with_its_unit),
        cmocka_unit_test(energy_scales_with_its_unit),
        cmocka_unit_test(traffic_scales_with_its_unit),
        cmocka_unit_test(caps_slow_down_and_save_power),
        cmocka_unit_test(clocks_slow_down_what_computes),
        cmocka_unit_test(steps_cover_the_samples),
        cmocka_unit_test(the_energy_identity_holds),
        cmocka_unit_test(linear_overheads_are_constants_of_an_epoch),
        cmocka_unit_test(a_split_network_worked_by_hand),
        cmocka_unit_test(the_bubble_is_that_of_the_schedule),
        cmocka_unit_test(splitting_obeys_its_limits),
        cmocka_unit_test(memory_is_shared_as_the_network_is),
        cmocka_unit_test(what_a_device_cannot_do_is_marked),
        cmocka_unit_test(a_batch_beyond_the_data_is_noticed),
        cmocka_unit_test(collectives_choose_and_refuse),
        cmocka_unit_test(stragglers_follow_order_statistics),
        cmocka_unit_test(what_is_missing_has_a_name),
        cmocka_unit_test(steps_that_were_not_measured_follow_the_roofline),
        cmocka_unit_test(a_hundred_thousand_workers_take_less_than_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
