#include "molecules.h"

#include <math.h>

static const uint8_t elements[] = { 1, 6, 7, 8, 9 };

struct wl_molecule deterministic_molecule(uint64_t seed, uint64_t m, struct wl_arena *a)
{
    enum { SIDE = 3, MAX_ATOMS = 29 };
    const uint64_t moves = wl_hash_fnv1a(wl_strf(a, "molecule %llu", (unsigned long long)m));
    const double apart = m % 2 ? 3.2 : 1.4;
    const int n = 1 + (int)wl_random_below(seed, wl_hash_fnv1a("atoms"), m, MAX_ATOMS);
    uint8_t *number = wl_new_array(a, uint8_t, (size_t)n);
    float *at = wl_new_array(a, float, (size_t)n * 3);
    for (int i = 0; i < n; i++) {
        const int cell[3] = { i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE };
        number[i] =
            elements[wl_random_below(seed, wl_hash_fnv1a("elements"), m * MAX_ATOMS + (uint64_t)i, WL_COUNT(elements))];
        for (int c = 0; c < 3; c++)
            at[3 * i + c] =
                (float)(apart * cell[c] + 0.35 * (2 * wl_random_uniform(seed, moves, (uint64_t)(3 * i + c)) - 1));
    }
    return (struct wl_molecule) { n, number, at };
}

struct wl_molecule *rule_molecules(uint64_t seed, size_t n, struct wl_arena *a)
{
    struct wl_molecule *m = wl_new_array(a, struct wl_molecule, n);
    for (size_t i = 0; i < n; i++) m[i] = deterministic_molecule(seed, i, a);
    return m;
}

struct wl_molecule_capacity capacity_for(const struct wl_molecule_model *model, const char *size,
                                         const struct wl_molecule *m, size_t n, double spare)
{
    struct wl_molecule_capacity r = { .molecules = (int64_t)n };
    for (size_t i = 0; i < n; i++) {
        const struct wl_molecule_graph_size s = wl_molecule_graph_size(&m[i], model->cutoff(size));
        r.atoms += s.atoms;
        r.edges += model == &wl_schnet ? s.pairs : s.edges;
        r.triplets += s.triplets;
    }
    r.molecules += (int64_t)(spare * (double)r.molecules);
    r.atoms += (int64_t)(spare * (double)r.atoms);
    r.edges += (int64_t)(spare * (double)r.edges) + 1;
    r.triplets += (int64_t)(spare * (double)r.triplets) + 1;
    return r;
}

static void fill_pairs(struct wl_plan *p, const struct wl_molecule_model_io *net, double cutoff,
                       const struct wl_molecule *m, size_t n, int32_t *counts)
{
    struct wl_pair_batch b = { .cutoff = cutoff,
                               .atom_start = wl_plan_input(p, net->atom_start),
                               .number = wl_plan_input(p, net->number),
                               .pair_start = wl_plan_input(p, net->pair_start),
                               .pair = wl_plan_input(p, net->pair),
                               .distance = wl_plan_input(p, net->distance) };
    for (size_t i = 0; i < n; i++) wl_pair_batch_add(&b, &m[i]);
    counts[WL_MOLECULES] = b.molecules;
    counts[WL_ATOMS] = b.atoms;
    counts[WL_EDGES] = b.pairs;
    counts[WL_TRIPLETS] = 0;
}

static void fill_edges(struct wl_plan *p, const struct wl_molecule_model_io *net, double cutoff,
                       const struct wl_molecule *m, size_t n, int32_t *counts)
{
    struct wl_edge_batch b = { .cutoff = cutoff,
                               .atom_start = wl_plan_input(p, net->atom_start),
                               .number = wl_plan_input(p, net->number),
                               .edge_start = wl_plan_input(p, net->edge_start),
                               .triplet_start = wl_plan_input(p, net->triplet_start),
                               .source = wl_plan_input(p, net->source),
                               .reverse = wl_plan_input(p, net->reverse),
                               .distance = wl_plan_input(p, net->distance),
                               .cosine = wl_plan_input(p, net->cosine) };
    for (size_t i = 0; i < n; i++) wl_edge_batch_add(&b, &m[i]);
    counts[WL_MOLECULES] = b.molecules;
    counts[WL_ATOMS] = b.atoms;
    counts[WL_EDGES] = b.edges;
    counts[WL_TRIPLETS] = b.triplets;
}

void fill_molecule_inputs(struct wl_plan *p, const struct wl_molecule_model_io *net, double cutoff,
                          const struct wl_molecule *m, size_t n, uint64_t seed)
{
    int32_t *counts = wl_plan_input(p, net->counts);
    if (net->pair)
        fill_pairs(p, net, cutoff, m, n, counts);
    else
        fill_edges(p, net, cutoff, m, n, counts);
    float *target = wl_plan_input(p, net->target);
    for (int64_t i = 0; i < wl_tensor_dims(net->target)->d[0]; i++)
        target[i] = i < (int64_t)n ? (float)wl_random_normal(seed, wl_hash_fnv1a("targets"), (uint64_t)i) : NAN;
}
