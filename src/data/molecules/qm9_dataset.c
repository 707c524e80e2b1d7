/* The split of packed molecules, their targets, and their batches. */
#include "data/loader/partition.h"
#include "data/molecules/qm9_target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ENERGY(name)                       \
    {                                      \
        name, "Ha", 27211.386245988, "meV" \
    } /* CODATA 2018 */
const struct wl_qm9_property wl_qm9_properties[WL_QM9_PROPERTIES] = {
    { "A", "GHz", 1, "GHz" },
    { "B", "GHz", 1, "GHz" },
    { "C", "GHz", 1, "GHz" },
    { "mu", "D", 1, "D" },
    { "alpha", "a0^3", 1, "a0^3" },
    ENERGY("homo"),
    ENERGY("lumo"),
    ENERGY("gap"),
    { "r2", "a0^2", 1, "a0^2" },
    ENERGY("zpve"),
    ENERGY("U0"),
    ENERGY("U"),
    ENERGY("H"),
    ENERGY("G"),
    { "Cv", "cal/(mol K)", 1, "cal/(mol K)" },
};

int wl_qm9_property(const char *name, struct wl_err *e)
{
    const char *names[WL_QM9_PROPERTIES];
    for (int i = 0; i < WL_QM9_PROPERTIES; i++) {
        names[i] = wl_qm9_properties[i].name;
        if (wl_str_eq(names[i], name)) return i;
    }
    const char *near = wl_str_closest(name, names, WL_COUNT(names));
    wl_fail(e, WL_EUSAGE, "unknown property '%s'%s%s%s", name, near ? "; did you mean '" : "", near ? near : "",
            near ? "'?" : "; expected one of A B C mu alpha homo lumo gap r2 zpve U0 U H G Cv");
    return -1;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

struct part {
    const struct wl_qm9 *q;
    const uint32_t *order; /* sample i is molecule order[i] */
    struct wl_qm9_target target;
    int property;
    int64_t batch;
    double cutoff;
    bool triplets;
};

static void put_pairs(const struct part *p, const int64_t *index, int64_t n, void *const *buffers)
{
    struct wl_pair_batch b = { .cutoff = p->cutoff,
                               .atom_start = buffers[1],
                               .number = buffers[2],
                               .pair_start = buffers[3],
                               .pair = buffers[4],
                               .distance = buffers[5] };
    for (int64_t i = 0; i < n; i++) {
        const struct wl_molecule m = wl_qm9_molecule(p->q, p->order[index[i]]);
        wl_pair_batch_add(&b, &m);
    }
    const int32_t counts[4] = { b.molecules, b.atoms, b.pairs, 0 };
    memcpy(buffers[0], counts, sizeof counts);
}

static void put_edges(const struct part *p, const int64_t *index, int64_t n, void *const *buffers)
{
    struct wl_edge_batch b = { .cutoff = p->cutoff,
                               .atom_start = buffers[1],
                               .number = buffers[2],
                               .edge_start = buffers[3],
                               .source = buffers[4],
                               .reverse = buffers[5],
                               .triplet_start = buffers[6],
                               .distance = buffers[7],
                               .cosine = buffers[8] };
    for (int64_t i = 0; i < n; i++) {
        const struct wl_molecule m = wl_qm9_molecule(p->q, p->order[index[i]]);
        wl_edge_batch_add(&b, &m);
    }
    const int32_t counts[4] = { b.molecules, b.atoms, b.edges, b.triplets };
    memcpy(buffers[0], counts, sizeof counts);
}

static int write_batch(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *key, const int64_t *index,
                       int64_t n, void *const *buffers, struct wl_err *e)
{
    const struct part *p = s->data;
    (void)thread;
    (void)key;
    (void)e;
    if (p->triplets)
        put_edges(p, index, n, buffers);
    else
        put_pairs(p, index, n, buffers);
    float *target = buffers[s->buffers - 1];
    for (int64_t i = 0; i < p->batch; i++) {
        target[i] = NAN;
        if (i >= n) continue;
        const int64_t k = p->order[index[i]];
        const struct wl_molecule m = wl_qm9_molecule(p->q, k);
        target[i] =
            (float)(wl_qm9_target_residual(&p->target, &m, wl_qm9_value(p->q, p->property, k)) / p->target.scale);
    }
    return 0;
}

static const struct wl_dataset_ops ops = { .noun = "molecule", .write_batch = write_batch };

/* ---- capacity---------------------------------------------------------------------------------------------------- */

static int largest_first(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x > y ? -1 : x < y;
}

/* The maximum total of `batch` molecules: that of the largest ones. */
static int64_t largest_sum(int64_t *sizes, int64_t n, int64_t batch)
{
    qsort(sizes, (size_t)n, sizeof *sizes, largest_first);
    int64_t sum = 0;
    for (int64_t i = 0; i < n && i < batch; i++) sum += sizes[i];
    return sum > 0 ? sum : 1;
}

static double mean_of(const int64_t *sizes, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)sizes[i];
    return sum / (double)n;
}

static int find_batch_capacity(struct wl_qm9_splits *p, const struct wl_qm9 *q, const struct wl_qm9_split_opts *o,
                               struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(NULL);
    int64_t *size[3];
    for (int k = 0; k < 3; k++) size[k] = wl_new_array(scratch, int64_t, (size_t)q->molecules);
    for (int64_t i = 0; i < q->molecules; i++) {
        const struct wl_molecule m = wl_qm9_molecule(q, i);
        const struct wl_molecule_graph_size s = wl_molecule_graph_size(&m, o->cutoff);
        size[0][i] = s.atoms;
        size[1][i] = o->triplets ? s.edges : s.pairs;
        size[2][i] = s.triplets;
    }
    p->capacity[0] = o->batch;
    p->mean_batch[0] = (double)o->batch;
    for (int k = 0; k < 3; k++) {
        p->capacity[1 + k] = largest_sum(size[k], q->molecules, o->batch);
        p->mean_batch[1 + k] = (double)o->batch * mean_of(size[k], q->molecules);
    }
    wl_arena_free(scratch);
    if (p->capacity[3] <= INT32_MAX / 4) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%lld molecules may have %lld triplets, too many for one batch; give a smaller --local-batch",
                   (long long)o->batch, (long long)p->capacity[3]);
}

static void set_bytes(struct wl_dataset *s, const int64_t room[4], bool triplets)
{
    const size_t starts = (size_t)(room[0] + 1) * 4, atoms = (size_t)room[1] * 4, edges = (size_t)room[2] * 4;
    const size_t pairs[] = { 16, starts, atoms, starts, 2 * edges, edges, (size_t)room[0] * 4 };
    const size_t both[] = { 16,    starts,    atoms, atoms + 4,           edges,
                            edges, atoms + 4, edges, (size_t)room[3] * 4, (size_t)room[0] * 4 };
    s->buffers = triplets ? WL_COUNT(both) : WL_COUNT(pairs);
    memcpy(s->bytes, triplets ? both : pairs, triplets ? sizeof both : sizeof pairs);
}

/* ---- the split --------------------------------------------------------------------------------------------------- */

static int64_t in_proportion(int64_t n, int64_t of_all)
{
    enum { ALL = 130831 }; /* molecules of QM9 that are not excluded */
    const int64_t share = (n * of_all + ALL / 2) / ALL;
    return share > 0 ? share : 1;
}

int wl_qm9_split(struct wl_qm9_splits *p, const struct wl_qm9 *q, const struct wl_qm9_split_opts *o, struct wl_arena *a,
                 struct wl_err *e)
{
    const int64_t train = o->train_molecules ? o->train_molecules : in_proportion(q->molecules, 110000);
    const int64_t val = o->val_molecules ? o->val_molecules : in_proportion(q->molecules, 10000);
    if (train + val > q->molecules)
        return wl_fail(e, WL_EINVAL,
                       "%s: has %lld molecules, but %lld for training and %lld for validation were requested", q->path,
                       (long long)q->molecules, (long long)train, (long long)val);
    *p = (struct wl_qm9_splits) { .unused = q->molecules - train - val };
    int rc = find_batch_capacity(p, q, o, e);
    if (rc) return rc;
    uint32_t *order = wl_new_array(a, uint32_t, (size_t)q->molecules);
    wl_partition_shuffle(order, q->molecules, o->seed, 0);
    struct part *parts = wl_new_array(a, struct part, 2);
    for (int i = 0; i < 2; i++)
        parts[i] = (struct part) { .q = q,
                                   .order = order + (i ? train : 0),
                                   .target = wl_qm9_target_fit(q, o->property, order, train),
                                   .property = o->property,
                                   .batch = o->batch,
                                   .cutoff = o->cutoff,
                                   .triplets = o->triplets };
    p->scale = parts[0].target.scale;
    p->train = (struct wl_dataset) { &ops, "molecules/train", .samples = train, .data = &parts[0] };
    p->val = (struct wl_dataset) { &ops, "molecules/val", .samples = val, .data = &parts[1] };
    set_bytes(&p->train, p->capacity, o->triplets);
    set_bytes(&p->val, p->capacity, o->triplets);
    return 0;
}
