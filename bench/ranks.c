/* bench_ranks [MODEL [f32|bf16 [BATCH [ROUNDS]]]]: the cost of data parallelism.
 *
 * Ranks of one thread, each on a core of its own: two that the program forks, or those of `mpirun -np N bench_ranks
 * ...`. Every rank has two plans of the same network: one that trains with the other ranks, and one alone with memory
 * and parameters of its own. The two train in turns. While they train alone, the ranks are independent processes on
 * their own cores at the same time, so both sides share caches and memory alike, and what differs is the communication.
 * Efficiency = time of a step alone / time of a step together, each the mean over the ranks of one round.
 * Prints its median with the spread over the rounds, and of both kinds of step how long forward and backward passes,
 * reductions and optimizer took on rank 0. */
#include "models/models.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP = 1, CLASSES = 1000 };

struct bench {
    struct wl_arena *arena;
    struct wl_comm *comm;
    const struct wl_image_model *model;
    enum wl_dtype precision;
    int64_t batch;
    int rounds;
    struct wl_plan *plan[2];        /* alone, together */
    struct wl_choices *choices;     /* of both plans */
    struct wl_plan_times warm[2];   /* after the first steps, which touch the memory */
    double *efficiency, *step_s[2]; /* of each round; alone, together */
};

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / (double)WL_NS_PER_S; }

static int make_plan(struct bench *b, struct wl_comm *comm, struct wl_plan **p, struct wl_err *e)
{
    const int64_t pixels = b->model->image_size;
    const uint64_t rank = (uint64_t)b->comm->rank;
    struct wl_graph *g = wl_graph_new(b->arena);
    struct wl_image_model_io net;
    struct wl_image_model_opts size = { .size = "full", .batch = b->batch, .image_size = pixels, .classes = CLASSES };
    struct wl_plan_opts opts = { .threads = 1,
                                 .precision = b->precision,
                                 .conv = WL_CONV_AUTO,
                                 .choices = b->choices,
                                 .optim = { .momentum = 0.9, .weight_decay = 1e-4 } };
    int rc = b->model->build(g, &size, &net, e);
    if (!rc) rc = wl_plan_new(p, g, &opts, comm, b->arena, e);
    if (rc) return rc;
    float *images = wl_plan_input(*p, net.images);
    int32_t *labels = wl_plan_input(*p, net.labels);
    for (uint64_t i = 0; i < (uint64_t)(b->batch * 3 * pixels * pixels); i++)
        images[i] = (float)wl_random_normal(1, rank, i);
    for (int64_t i = 0; i < b->batch; i++) labels[i] = (int32_t)wl_random_below(2, rank, (uint64_t)i, CLASSES);
    return 0;
}

/* The mean over the ranks of the time of a step; they start together. */
static int timed_step(struct bench *b, struct wl_plan *p, double *step_s, struct wl_err *e)
{
    struct wl_counts counts = { 0 };
    int rc = b->comm->ops->barrier(b->comm, e);
    int64_t start_ns = wl_now_ns();
    if (!rc) rc = wl_plan_train(p, true, true, &counts, e);
    if (!rc) rc = wl_plan_update(p, 1e-3, e);
    *step_s = seconds_since(start_ns) / b->comm->size;
    return rc ? rc : b->comm->ops->all_reduce_sum_f64(b->comm, step_s, 1, e);
}

/* Alternates the order, so that drift favours neither. */
static int round_of_steps(struct bench *b, int at, struct wl_err *e)
{
    double s[2];
    int rc = 0;
    for (int k = 0; k < 2 && !rc; k++) {
        int which = (k + at) & 1;
        rc = timed_step(b, b->plan[which], &s[which], e);
    }
    for (int k = 0; k < 2 && at < 0; k++) b->warm[k] = wl_plan_times(b->plan[k]);
    if (rc || at < 0) return rc;
    for (int k = 0; k < 2; k++) b->step_s[k][at] = s[k];
    b->efficiency[at] = s[0] / s[1];
    return 0;
}

static void report(struct bench *b)
{
    static const char *const names[] = { "alone", "together" };
    double efficiency = median(b->efficiency, (size_t)b->rounds), steps = b->rounds;
    printf("%s, %s, batch %lld, %d ranks by %s: efficiency %.3f (%.3f to %.3f in %d rounds)\n", b->model->name,
           wl_dtype_name(b->precision), (long long)b->batch, b->comm->size, b->comm->ops->name, efficiency,
           b->efficiency[0], b->efficiency[b->rounds - 1], b->rounds);
    for (int k = 0; k < 2; k++) {
        struct wl_plan_times t = wl_plan_times(b->plan[k]), w = b->warm[k];
        double reduce_s = t.reduce_s - w.reduce_s, passes_s = t.train_s - w.train_s - reduce_s;
        printf("  %-8s  step %7.1f ms, median; mean: passes %7.1f, reducing %5.1f, optimizer %5.1f\n", names[k],
               1e3 * median(b->step_s[k], (size_t)b->rounds), 1e3 * passes_s / steps, 1e3 * reduce_s / steps,
               1e3 * (t.update_s - w.update_s) / steps);
    }
}

static int run(struct bench *b, struct wl_err *e)
{
    const struct wl_comm_opts how = { .backend = "auto", .workers = wl_comm_launched() ? 0 : 2 };
    int rc = wl_comm_open(&b->comm, &how, b->arena, e);
    if (rc) return rc;
    wl_log_init(WL_INFO, b->comm->rank);
    wl_comm_pin(b->comm, 1);
    b->choices = wl_choices_new(b->arena);
    for (int k = 0; k < 2 && !rc; k++) rc = make_plan(b, k ? b->comm : NULL, &b->plan[k], e);
    for (int i = -WARM_UP; i < b->rounds && !rc; i++) rc = round_of_steps(b, i, e);
    if (!rc && b->comm->rank == 0) report(b);
    return rc;
}

int main(int argc, char **argv)
{
    struct bench b = { .arena = wl_arena_new(NULL), .batch = argc > 3 ? atoll(argv[3]) : 16 };
    const char *name = argc > 1 ? argv[1] : "resnet50";
    struct wl_err e = { 0 };
    b.model = wl_image_model_find(name);
    b.precision = argc > 2 && wl_str_eq(argv[2], "bf16") ? WL_BF16 : WL_F32;
    b.rounds = argc > 4 ? atoi(argv[4]) : 5;
    double **const lists[] = { &b.efficiency, &b.step_s[0], &b.step_s[1] };
    for (size_t i = 0; i < WL_COUNT(lists); i++) *lists[i] = wl_new_array(b.arena, double, (size_t)b.rounds);
    int rc = b.model ? run(&b, &e) : wl_fail(&e, WL_EINVAL, "no model %s", name);
    if (rc) fprintf(stderr, "bench_ranks: %s\n", e.msg);
    if (rc && b.comm) b.comm->ops->abandon(b.comm, 1, NULL);
    wl_arena_free(b.arena);
    return rc ? 1 : 0;
}
