/* Molecules are small (QM9: at most 29 atoms), so all pairs are looked at. */
#include "data/molecules.h"

#include <math.h>

/* Rounded as networks read it, so that what is near is decided by the same number. */
static float distance(const struct wl_molecule *m, int i, int j)
{
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        double d = (double)m->at[3 * i + c] - (double)m->at[3 * j + c];
        sum += d * d;
    }
    return (float)sqrt(sum);
}

static int degree(const struct wl_molecule *m, int i, double cutoff)
{
    int n = 0;
    for (int j = 0; j < m->n; j++) n += j != i && (double)distance(m, i, j) < cutoff;
    return n;
}

struct wl_molecule_size wl_molecule_size(const struct wl_molecule *m, double cutoff)
{
    struct wl_molecule_size s = { .atoms = m->n };
    for (int i = 0; i < m->n; i++) {
        const int near = degree(m, i, cutoff);
        s.edges += near;
        s.triplets += (int64_t)near * (near - 1);
    }
    s.pairs = s.edges / 2;
    return s;
}

bool wl_molecule_coincidence(const struct wl_molecule *m, int *i, int *j)
{
    for (*i = 1; *i < m->n; ++*i)
        for (*j = 0; *j < *i; ++*j)
            if (distance(m, *i, *j) == 0) return true;
    return false;
}

void wl_pair_batch_add(struct wl_pair_batch *b, const struct wl_molecule *m)
{
    const int32_t first = b->atoms;
    b->atom_start[b->molecules] = first;
    b->pair_start[b->molecules] = b->pairs;
    for (int i = 0; i < m->n; i++) {
        b->number[first + i] = m->number[i];
        for (int j = 0; j < i; j++) {
            const float d = distance(m, i, j);
            if ((double)d >= b->cutoff) continue;
            b->pair[2 * b->pairs] = first + i;
            b->pair[2 * b->pairs + 1] = first + j;
            b->distance[b->pairs++] = d;
        }
    }
    b->atoms += m->n;
    b->molecules++;
    b->atom_start[b->molecules] = b->atoms;
    b->pair_start[b->molecules] = b->pairs;
}
