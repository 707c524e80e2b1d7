/* Molecules are small (QM9: at most 29 atoms), so all pairs are checked. */
#include "data/molecules/molecules.h"

#include <math.h>

/* Rounded as the networks read it, so that the cutoff applies to the same number. */
static float distance(const struct wl_molecule *m, int i, int j)
{
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        double d = (double)m->position[3 * i + c] - (double)m->position[3 * j + c];
        sum += d * d;
    }
    return (float)sqrt(sum);
}

static int degree(const struct wl_molecule *m, int i, double cutoff)
{
    int n = 0;
    for (int j = 0; j < m->atoms; j++) n += j != i && (double)distance(m, i, j) < cutoff;
    return n;
}

struct wl_molecule_graph_size wl_molecule_graph_size(const struct wl_molecule *m, double cutoff)
{
    struct wl_molecule_graph_size s = { .atoms = m->atoms };
    for (int i = 0; i < m->atoms; i++) {
        const int near = degree(m, i, cutoff);
        s.edges += near;
        s.triplets += (int64_t)near * (near - 1);
    }
    s.pairs = s.edges / 2;
    return s;
}

bool wl_molecule_find_overlap(const struct wl_molecule *m, int *i, int *j)
{
    for (*i = 1; *i < m->atoms; ++*i)
        for (*j = 0; *j < *i; ++*j)
            if (distance(m, *i, *j) == 0) return true;
    return false;
}

void wl_pair_batch_add(struct wl_pair_batch *b, const struct wl_molecule *m)
{
    const int32_t first = b->atoms;
    b->atom_start[b->molecules] = first;
    b->pair_start[b->molecules] = b->pairs;
    for (int i = 0; i < m->atoms; i++) {
        b->number[first + i] = m->atomic_number[i];
        for (int j = 0; j < i; j++) {
            const float d = distance(m, i, j);
            if ((double)d >= b->cutoff) continue;
            b->pair[2 * b->pairs] = first + i;
            b->pair[2 * b->pairs + 1] = first + j;
            b->distance[b->pairs++] = d;
        }
    }
    b->atoms += m->atoms;
    b->molecules++;
    b->atom_start[b->molecules] = b->atoms;
    b->pair_start[b->molecules] = b->pairs;
}

/* Cosine of the angle at i between j and k, in [-1, 1]. */
static float cosine(const struct wl_molecule *m, int i, int j, int k)
{
    double dot = 0, one = 0, two = 0;
    for (int c = 0; c < 3; c++) {
        const double a = (double)m->position[3 * j + c] - (double)m->position[3 * i + c];
        const double b = (double)m->position[3 * k + c] - (double)m->position[3 * i + c];
        dot += a * b;
        one += a * a;
        two += b * b;
    }
    return (float)fmax(-1, fmin(1, dot / sqrt(one * two)));
}

/* Adds the edges to atom i of the molecule, whose first atom has index `first` in the batch. */
static void add_edges(struct wl_edge_batch *b, const struct wl_molecule *m, int32_t first, int i)
{
    for (int j = 0; j < m->atoms; j++) {
        const float d = distance(m, i, j);
        if (j == i || (double)d >= b->cutoff) continue;
        b->source[b->edges] = first + j;
        b->distance[b->edges++] = d;
    }
}

/* The edge j->i, which must exist. */
static int32_t find_edge(const struct wl_edge_batch *b, int32_t j, int32_t i)
{
    int32_t q = b->edge_start[i];
    while (b->source[q] != j) q++;
    return q;
}

static void add_triplets(struct wl_edge_batch *b, const struct wl_molecule *m, int32_t first, int32_t j)
{
    for (int32_t q = b->edge_start[j]; q < b->edge_start[j + 1]; q++)
        for (int32_t k = b->edge_start[j]; k < b->edge_start[j + 1]; k++)
            if (k != q) b->cosine[b->triplets++] = cosine(m, b->source[q] - first, j - first, b->source[k] - first);
}

void wl_edge_batch_add(struct wl_edge_batch *b, const struct wl_molecule *m)
{
    const int32_t first = b->atoms;
    b->atom_start[b->molecules++] = first;
    b->edge_start[first] = b->edges;
    b->triplet_start[first] = b->triplets;
    for (int i = 0; i < m->atoms; i++) {
        b->number[first + i] = m->atomic_number[i];
        add_edges(b, m, first, i);
        b->edge_start[first + i + 1] = b->edges;
    }
    for (int32_t i = first; i < first + m->atoms; i++) {
        for (int32_t q = b->edge_start[i]; q < b->edge_start[i + 1]; q++) b->reverse[q] = find_edge(b, i, b->source[q]);
        add_triplets(b, m, first, i);
        b->triplet_start[i + 1] = b->triplets;
    }
    b->atoms += m->atoms;
    b->atom_start[b->molecules] = b->atoms;
}
