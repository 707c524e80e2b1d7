/* bench_molecules schnet|dimenet FILE THREADS [BACKEND [times]]: training steps of a network at full size on all
 * molecules of a packed file (wattlaw-train data qm9), one for each line "step" on stdin. Answers with lines of JSON:
 * "ready", then for each step its wall-clock time and that of each operation (with `times` of each step of the plan
 * too). bench/molecules.py runs it in turns with PyTorch Geometric. */
#include "data/data.h"
#include "models/models.h"
#include "step_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    struct wl_arena *arena;
    const struct wl_molecule_model *model;
    struct wl_qm9 data;
    struct wl_molecule_model_io net;
    struct wl_plan *plan;
    const char *backend; /* NULL: the best on processors */
    bool times;
};

static bool has_triplets(const struct bench *b) { return b->model == &wl_dimenet; }

/* The capacity that the molecules need. */
static struct wl_molecule_capacity room(const struct bench *b)
{
    struct wl_molecule_capacity r = { b->data.molecules, b->data.atoms, 0, 1 };
    for (int64_t i = 0; i < b->data.molecules; i++) {
        const struct wl_molecule m = wl_qm9_molecule(&b->data, i);
        const struct wl_molecule_graph_size s = wl_molecule_graph_size(&m, b->model->cutoff("full"));
        r.edges += has_triplets(b) ? s.edges : s.pairs;
        r.triplets += s.triplets;
    }
    return r;
}

static void fill_pairs(const struct bench *b, int32_t *counts)
{
    struct wl_pair_batch to = { .cutoff = b->model->cutoff("full"),
                                .atom_start = wl_plan_input(b->plan, b->net.atom_start),
                                .number = wl_plan_input(b->plan, b->net.number),
                                .pair_start = wl_plan_input(b->plan, b->net.pair_start),
                                .pair = wl_plan_input(b->plan, b->net.pair),
                                .distance = wl_plan_input(b->plan, b->net.distance) };
    for (int64_t i = 0; i < b->data.molecules; i++) {
        const struct wl_molecule m = wl_qm9_molecule(&b->data, i);
        wl_pair_batch_add(&to, &m);
    }
    counts[WL_EDGES] = to.pairs;
}

static void fill_edges(const struct bench *b, int32_t *counts)
{
    struct wl_edge_batch to = { .cutoff = b->model->cutoff("full"),
                                .atom_start = wl_plan_input(b->plan, b->net.atom_start),
                                .number = wl_plan_input(b->plan, b->net.number),
                                .edge_start = wl_plan_input(b->plan, b->net.edge_start),
                                .source = wl_plan_input(b->plan, b->net.source),
                                .reverse = wl_plan_input(b->plan, b->net.reverse),
                                .triplet_start = wl_plan_input(b->plan, b->net.triplet_start),
                                .distance = wl_plan_input(b->plan, b->net.distance),
                                .cosine = wl_plan_input(b->plan, b->net.cosine) };
    for (int64_t i = 0; i < b->data.molecules; i++) {
        const struct wl_molecule m = wl_qm9_molecule(&b->data, i);
        wl_edge_batch_add(&to, &m);
    }
    counts[WL_EDGES] = to.edges;
    counts[WL_TRIPLETS] = to.triplets;
}

static int make_plan(struct bench *b, int threads, struct wl_err *e)
{
    struct wl_graph *g = wl_graph_new(b->arena);
    const struct wl_plan_opts how = {
        .backend = b->backend, .threads = threads, .batch = b->data.molecules, .optim = { .kind = "adam" }
    };
    int rc = b->model->build(g, &(struct wl_molecule_model_opts) { "full", room(b) }, &b->net, e);
    if (!rc) rc = wl_plan_new(&b->plan, g, &how, NULL, b->arena, e);
    if (rc) return rc;
    int32_t *counts = wl_plan_input(b->plan, b->net.counts);
    counts[WL_MOLECULES] = (int32_t)b->data.molecules;
    counts[WL_ATOMS] = (int32_t)b->data.atoms;
    (has_triplets(b) ? fill_edges : fill_pairs)(b, counts);
    float *target = wl_plan_input(b->plan, b->net.target);
    for (int64_t i = 0; i < b->data.molecules; i++) target[i] = (float)wl_random_normal(1, 1, (uint64_t)i);
    if (b->times || !wl_backend_on_gpus(b->backend)) /* where times of steps would keep it from replaying a graph */
        b->plan->step_time = wl_new_array(b->arena, struct wl_step_time, b->plan->program.n_steps);
    return 0;
}

/* Seconds by operation and pass. */
static void add_kinds(const struct bench *b, struct wl_json *answer, struct wl_arena *a)
{
    const struct wl_program *p = &b->plan->program;
    struct wl_json *kinds = wl_json_add_object(answer, "kinds_s");
    struct wl_strs names = { 0 };
    double *sum = wl_new_array(a, double, p->n_steps);
    for (size_t i = 0, k; i < p->n_steps; i++) {
        const char *name = wl_strf(a, "%s %s", wl_op_name(p->steps[i]->node->op), p->steps[i]->pass);
        for (k = 0; k < names.n && !wl_str_eq(names.v[k], name);) k++;
        if (k == names.n) wl_strs_add(a, &names, name);
        sum[k] += b->plan->step_time[i].wall_s;
    }
    for (size_t k = 0; k < names.n; k++) wl_json_add_real(kinds, names.v[k], sum[k]);
}

static int step(struct bench *b, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(b->arena);
    struct wl_counts counts = { 0 };
    if (b->plan->step_time) memset(b->plan->step_time, 0, b->plan->program.n_steps * sizeof *b->plan->step_time);
    const int64_t start_ns = wl_now_ns();
    int rc = wl_plan_train(b->plan, true, true, &counts, e);
    if (!rc) rc = wl_plan_update(b->plan, 1e-3, e);
    if (!rc) rc = wait_for_update(b->plan, e);
    struct wl_json *answer = wl_json_root_object(a);
    wl_json_add_real(answer, "wall_s", (double)(wl_now_ns() - start_ns) / (double)WL_NS_PER_S);
    if (b->plan->step_time) add_kinds(b, answer, a);
    if (b->times) add_step_times(b->plan, answer, a);
    if (!rc) puts(wl_json_text(answer, 0, a));
    fflush(stdout);
    wl_arena_free(a);
    return rc;
}

static int run(struct bench *b, char **argv, struct wl_err *e)
{
    b->backend = argv[4];
    b->times = argv[4] && argv[5] && wl_str_eq(argv[5], "times");
    b->model = wl_str_eq(argv[1], wl_schnet.name) ? &wl_schnet : &wl_dimenet;
    int rc = wl_qm9_open(&b->data, argv[2], b->arena, e);
    if (!rc) rc = make_plan(b, atoi(argv[3]), e);
    if (!rc)
        printf("{\"ready\": true, \"parameters\": %lld, \"samples\": %lld}\n",
               (long long)wl_plan_info(b->plan).parameters, (long long)b->data.molecules);
    fflush(stdout);
    for (char line[16]; !rc && fgets(line, sizeof line, stdin);) rc = step(b, e);
    return rc;
}

int main(int argc, char **argv)
{
    struct bench b = { .arena = wl_arena_new(NULL) };
    struct wl_err e = { 0 };
    if (argc < 4 || argc > 6) {
        fprintf(stderr, "usage: %s schnet|dimenet FILE THREADS [BACKEND [times]]\n", argv[0]);
        return 2;
    }
    int rc = run(&b, argv, &e);
    if (rc) fprintf(stderr, "bench_molecules: %s\n", e.msg);
    wl_arena_free(b.arena);
    return rc ? 1 : 0;
}
