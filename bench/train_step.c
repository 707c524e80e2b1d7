/* bench_train_step [--by-op[=all]] MODEL PRECISION BATCH THREADS RANKS [auto|direct|winograd [keep|again [BACKEND
 * [times]]]]: training steps of a network at full size on random images, tokens (bert128: sequences of 128) or fields
 * (fourcastnet360: 20 channels of 360 x 720 points), one for each line "step" on stdin; finally the convolution
 * algorithm, whether activations are kept for the backward pass or recomputed, and the back-end (default: the best on
 * processors). With `times` an answer has each step of the plan, on a GPU too, which then does not replay a graph.
 *
 * Answers with lines of JSON: first the network, then for each step its wall-clock and processor time (of all
 * ranks), the time that convolutions and matrix products take of it, and where the rest goes. The ranks are forked, or
 * those of mpirun. bench/train_step.py runs it in turns with PyTorch; the ratios are what counts.
 *
 * With --by-op it runs a few steps by itself, of which it drops the first, and prints the time of each class of
 * operations beside its bound, by ceilings that it measures first; with --by-op=all of each operation, the furthest
 * from its bound first.
 */
#include "nn/plan/by_op.h"
#include "step_times.h"
#include "train_networks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BY_OP_ROUNDS = 8 };

struct bench {
    struct train_network net;
    struct wl_arena *arena;
    struct wl_comm *comm;
    struct wl_plan *plan;
    int threads;
    enum wl_dtype precision;
    bool tf32;
    enum wl_conv_algorithm conv;
    bool again;
    const char *backend; /* NULL: the best on processors */
    bool times;
    const char *by_op; /* NULL, "" or "=all" */
};

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / (double)WL_NS_PER_S; }

/* What was measured before, in the file that $WATTLAW_BENCH_CHOICES names, beside which cuDNN's plans are kept. */
static struct wl_choices *load_choices(const struct bench *b, const char *path, struct wl_err *e)
{
    struct wl_choices *c = wl_choices_new(b->arena);
    if (!path) return c;
    c->folder = wl_path_dir(b->arena, path);
    return wl_choices_load(c, path, e) ? NULL : c;
}

static int make_plan(struct bench *b, struct wl_err *e)
{
    const char *path = getenv("WATTLAW_BENCH_CHOICES");
    struct wl_choices *choices = load_choices(b, path, e);
    if (!choices) return e->code;
    struct wl_graph *g = wl_graph_new(b->arena);
    struct wl_plan_opts opts = { .backend = b->backend,
                                 .threads = b->threads,
                                 .precision = b->precision,
                                 .tf32 = b->tf32,
                                 .conv = b->conv,
                                 .recompute = b->again,
                                 .choices = choices,
                                 .optim = b->net.kind->optim };
    int rc = b->net.kind->build(&b->net, g, e);
    if (!rc) rc = wl_plan_new(&b->plan, g, &opts, b->comm, b->arena, e);
    if (!rc && path && b->comm->rank == 0) rc = wl_choices_save(choices, path, e);
    if (rc) return rc;
    b->net.kind->fill(&b->net, b->plan, (uint64_t)b->comm->rank);
    if (b->times || !wl_backend_on_gpus(b->backend)) /* where times of steps would keep it from replaying a graph */
        b->plan->step_time = wl_new_array(b->arena, struct wl_step_time, b->plan->program.n_steps);
    return 0;
}

static void describe(const struct bench *b)
{
    struct wl_plan_info f = wl_plan_info(b->plan);
    struct wl_json *j = wl_json_root_object(b->arena);
    wl_json_add_str(j, "library", f.library);
    wl_json_add_int(j, "parameters", f.parameters);
    wl_json_add_int(j, "samples", b->net.batch);
    wl_json_add_real(j, "plan_bytes", (double)f.total_bytes * b->comm->size);
    wl_json_add_real(j, "again_flop", f.recompute_flops * (double)b->net.batch * b->comm->size);
    wl_json_add_real(j, "train_flop", f.train_flops * (double)b->net.batch * b->comm->size);
    puts(wl_json_text(j, 0, b->arena));
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

/* Attention is one step that includes its products, and counts as such. */
static bool has_products(const struct wl_step *s)
{
    static const enum wl_op ops[] = { WL_OP_CONV,    WL_OP_LINEAR,    WL_OP_PROJECT,
                                      WL_OP_DECODER, WL_OP_ATTENTION, WL_OP_COMPLEX_LINEAR };
    for (size_t i = 0; i < WL_COUNT(ops); i++)
        if (s->node->op == ops[i]) return true;
    return false;
}

static bool is_matrix(const struct wl_step *s)
{
    return has_products(s) &&
           (wl_str_starts(s->pass, "forward") || wl_str_starts(s->pass, "backward") || wl_str_starts(s->pass, "tiles"));
}

/* Passes of convolutions and matrix products, and their copies and sums, are kinds of their own. */
static const char *kind_of(const struct wl_step *s, struct wl_arena *a)
{
    const char *operation = wl_op_name(s->node->op);
    return has_products(s) ? wl_strf(a, "%s %s", operation, s->pass) : operation;
}

struct kind {
    const char *name;
    double s;
};

static void add_step(struct kind *kinds, size_t *n, const char *name, double s)
{
    size_t i = 0;
    while (i < *n && !wl_str_eq(kinds[i].name, name)) i++;
    if (i == *n) kinds[(*n)++] = (struct kind) { .name = name };
    kinds[i].s += s;
}

static void add_kinds(const struct bench *b, const struct wl_plan_times *before, struct wl_json *answer,
                      struct wl_arena *a)
{
    const struct wl_program *p = &b->plan->program;
    struct kind *list = wl_new_array(a, struct kind, p->n_steps);
    double matrix_s = 0;
    size_t n = 0;
    for (size_t i = 0; i < p->n_steps; i++) {
        const double s = b->plan->step_time[i].wall_s;
        if (s > 0) add_step(list, &n, kind_of(p->steps[i], a), s);
        if (is_matrix(p->steps[i])) matrix_s += s;
    }
    wl_json_add_real(answer, "matrix_s", matrix_s);
    struct wl_json *kinds = wl_json_add_object(answer, "kinds_s");
    for (size_t i = 0; i < n; i++) wl_json_add_real(kinds, list[i].name, list[i].s);
    struct wl_plan_times now = wl_plan_times(b->plan);
    wl_json_add_real(kinds, "all-reduce", now.reduce_s - before->reduce_s);
    wl_json_add_real(kinds, "optimizer", now.update_s - before->update_s);
}

static int update(struct bench *b, struct wl_counts *counts, struct wl_err *e)
{
    int rc = wl_plan_train(b->plan, true, true, counts, e);
    if (!rc) rc = wl_plan_update(b->plan, b->net.kind->lr, e);
    return rc ? rc : wait_for_update(b->plan, e);
}

/* Collective. Ends when the last rank is done, as the next step of a training would begin then. */
static int step(struct bench *b, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(b->arena);
    struct wl_counts counts = { 0 };
    struct wl_plan_times before = wl_plan_times(b->plan);
    if (b->plan->step_time) memset(b->plan->step_time, 0, b->plan->program.n_steps * sizeof *b->plan->step_time);
    int64_t start_ns = wl_now_ns(), start_cpu_ns = wl_clock_process_cpu_ns();
    int rc = update(b, &counts, e);
    double cpu_s = (double)(wl_clock_process_cpu_ns() - start_cpu_ns) / (double)WL_NS_PER_S;
    if (!rc) rc = b->comm->ops->all_reduce_sum_f64(b->comm, &cpu_s, 1, e);
    double wall_s = seconds_since(start_ns);
    if (!rc && b->comm->rank == 0) {
        struct wl_json *answer = wl_json_root_object(a);
        wl_json_add_real(answer, "wall_s", wall_s);
        wl_json_add_real(answer, "cpu_s", cpu_s);
        wl_json_add_real(answer, "loss", counts.loss_sum / (double)counts.samples);
        if (b->plan->step_time) add_kinds(b, &before, answer, a);
        if (b->times) add_step_times(b->plan, answer, a);
        puts(wl_json_text(answer, 0, a));
        fflush(stdout);
    }
    wl_arena_free(a);
    return rc;
}

/* Rank 0 reads the lines and broadcasts whether there is another step. */
static int serve(struct bench *b, struct wl_err *e)
{
    for (;;) {
        char line[16];
        int go = b->comm->rank == 0 && fgets(line, sizeof line, stdin) && wl_str_eq(line, "step\n");
        int rc = b->comm->ops->broadcast(b->comm, &go, sizeof go, 0, e);
        if (rc || !go) return rc;
        rc = step(b, e);
        if (rc) return rc;
    }
}

/* Collective; rank 0 prints its own times. */
static int print_by_op(struct bench *b, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(b->arena);
    const bool all = wl_str_eq(b->by_op, "=all");
    struct wl_by_op_rows rows;
    int rc = wl_plan_measure_peaks(b->plan, e);
    struct wl_by_op *t = wl_by_op_new(b->plan, BY_OP_ROUNDS, a);
    for (int round = 0; round < BY_OP_ROUNDS && !rc; round++) {
        struct wl_counts counts = { 0 };
        rc = b->comm->ops->barrier(b->comm, e);
        wl_by_op_begin(t);
        if (!rc) rc = update(b, &counts, e);
        wl_by_op_end(t);
    }
    if (!rc && b->comm->rank == 0) {
        wl_by_op_rows(t, all, &rows, a);
        const struct wl_table table = wl_by_op_table(&rows, 0, a);
        printf("%s\n%s\n\n", wl_by_op_ceilings(b->plan, a), wl_by_op_step(&rows, a));
        wl_table_print(&table, WL_STDOUT, 0);
    }
    wl_arena_free(a);
    return rc;
}

static int run(struct bench *b, char **argv, struct wl_err *e)
{
    const int64_t ranks = atoll(argv[5]);
    b->precision = wl_str_eq(argv[2], "bf16") ? WL_BF16 : WL_F32;
    b->tf32 = wl_str_eq(argv[2], "tf32");
    b->net.batch = atoll(argv[3]);
    b->threads = atoi(argv[4]);
    b->conv = wl_conv_algorithm_of(argv[6] ? argv[6] : "auto");
    b->again = argv[6] && argv[7] && wl_str_eq(argv[7], "again");
    b->backend = argv[6] && argv[7] ? argv[8] : NULL;
    b->times = b->backend && argv[9] && wl_str_eq(argv[9], "times");
    int rc = train_network_find(&b->net, argv[1], e);
    if (rc) return rc;
    const struct wl_comm_opts comm = { .backend = "auto", .workers = ranks, .on_gpus = wl_backend_on_gpus(b->backend) };
    rc = wl_comm_open(&b->comm, &comm, b->arena, e);
    if (!rc) rc = make_plan(b, e);
    if (rc) return rc;
    if (b->by_op) return print_by_op(b, e);
    if (b->comm->rank == 0) {
        describe(b);
        fflush(stdout);
    }
    return serve(b, e);
}

/* Takes --by-op out of the arguments; NULL: it is not there. */
static const char *take_by_op(int *argc, char ***argv)
{
    static const char option[] = "--by-op";
    if (*argc < 2 || !wl_str_starts((*argv)[1], option)) return NULL;
    const char *of = (*argv)[1] + strlen(option);
    (*argc)--;
    (*argv)++;
    return of;
}

int main(int argc, char **argv)
{
    struct bench b = { .by_op = take_by_op(&argc, &argv) };
    const bool known = !b.by_op || !*b.by_op || wl_str_eq(b.by_op, "=all");
    if (argc < 6 || argc > 10 || !known) {
        fputs("usage: bench_train_step [--by-op[=all]] MODEL f32|tf32|bf16 BATCH THREADS RANKS "
              "[auto|direct|winograd [keep|again [BACKEND [times]]]]    (RANKS 1 under mpirun)\n",
              stderr);
        return 2;
    }
    b.arena = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    int rc = run(&b, argv, &e);
    if (rc) fprintf(stderr, "bench_train_step: %s\n", e.msg);
    wl_arena_free(b.arena);
    return rc ? 1 : 0;
}
