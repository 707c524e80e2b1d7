/* Similar to QM9's molecules: up to nine heavy atoms of C, N, O and F in a random tree, hydrogens on the valences that
 * rings and double bonds leave free, bond lengths from covalent radii, and a minimum distance between other atoms. */
#include "data/molecules/synth.h"

#include <math.h>

enum { HEAVY = 9, TRIES = 40 };

struct element {
    uint8_t number;
    int valence;
    double radius; /* covalent, angstrom */
    double share;  /* of heavy atoms */
};
static const struct element hydrogen = { 1, 1, 0.31, 0 };
static const struct element heavy[] = {
    { 6, 4, 0.76, 0.72 }, { 7, 3, 0.71, 0.12 }, { 8, 2, 0.66, 0.155 }, { 9, 1, 0.57, 1 }
};

/* A molecule under construction, and its random numbers. */
struct maker {
    uint64_t seed, stream, drawn;
    struct wl_molecule_synth *m;
    const struct element *element[WL_MOLECULE_MAX_ATOMS];
    int free[WL_MOLECULE_MAX_ATOMS]; /* valences */
};

static double draw(struct maker *k) { return wl_random_uniform(k->seed, k->stream, k->drawn++); }

static int draw_below(struct maker *k, int n) { return (int)(draw(k) * n); }

static const struct element *draw_heavy(struct maker *k)
{
    double x = draw(k);
    size_t i = 0;
    while (i + 1 < WL_COUNT(heavy) && x >= heavy[i].share) x -= heavy[i++].share;
    return &heavy[i];
}

/* A random atom with a free valence, or -1. */
static int draw_free(struct maker *k, int among)
{
    int open = 0;
    for (int i = 0; i < among; i++) open += k->free[i] > 0;
    if (!open) return -1;
    int which = draw_below(k, open);
    for (int i = 0;; i++)
        if (k->free[i] > 0 && which-- == 0) return i;
}

/* The smallest distance to other atoms, relative to the desired minimum. */
static double fits_at(const struct maker *k, const struct element *e, int bonded, const double at[3])
{
    double least = INFINITY;
    for (int i = 0; i < k->m->atoms; i++) {
        double sum = 0;
        for (int c = 0; c < 3; c++)
            sum += (at[c] - (double)k->m->position[i][c]) * (at[c] - (double)k->m->position[i][c]);
        if (i != bonded) least = fmin(least, sqrt(sum) / (1 + e->radius + k->element[i]->radius));
    }
    return least;
}

/* A position at bond length in a random direction, uniform on the sphere. */
static void draw_position(struct maker *k, const struct element *e, int bonded, double to[3])
{
    const double z = 2 * draw(k) - 1, angle = 2 * M_PI * draw(k), flat = sqrt(1 - z * z);
    const double unit[3] = { flat * cos(angle), flat * sin(angle), z }, length = e->radius + k->element[bonded]->radius;
    for (int c = 0; c < 3; c++) to[c] = (double)k->m->position[bonded][c] + length * unit[c];
}

/* Takes the first direction with enough distance, else the best of TRIES. */
static void add_atom(struct maker *k, const struct element *e, int bonded)
{
    double best[3] = { 0 }, most = -1;
    for (int t = 0; bonded >= 0 && t < TRIES && most < 1; t++) {
        double at[3];
        draw_position(k, e, bonded, at);
        const double room = fits_at(k, e, bonded, at);
        if (room <= most) continue;
        most = room;
        for (int c = 0; c < 3; c++) best[c] = at[c];
    }
    struct wl_molecule_synth *m = k->m;
    k->element[m->atoms] = e;
    k->free[m->atoms] = e->valence - (bonded >= 0);
    if (bonded >= 0) k->free[bonded]--;
    m->atomic_number[m->atoms] = e->number;
    for (int c = 0; c < 3; c++) m->position[m->atoms][c] = (float)best[c];
    m->atoms++;
}

void wl_molecule_synth(uint64_t seed, uint64_t index, struct wl_molecule_synth *m)
{
    struct maker k = { .seed = seed, .stream = wl_hash_fnv1a("molecule") + index, .m = m };
    m->atoms = 0;
    const int atoms = draw(&k) < 0.85 ? HEAVY : 2 + draw_below(&k, HEAVY - 2);
    add_atom(&k, &heavy[0], -1);
    for (int bonded; m->atoms < atoms && (bonded = draw_free(&k, m->atoms)) >= 0;) add_atom(&k, draw_heavy(&k), bonded);
    const int bonds = 2 + draw_below(&k, 4); /* rings and double bonds, each with one hydrogen less at both ends */
    for (int i = 0; i < bonds; i++) {
        const int one = draw_free(&k, m->atoms);
        if (one >= 0) k.free[one]--;
        const int two = draw_free(&k, m->atoms);
        if (two >= 0) k.free[two]--;
    }
    const int skeleton = m->atoms;
    for (int bonded; m->atoms < WL_MOLECULE_MAX_ATOMS && (bonded = draw_free(&k, skeleton)) >= 0;)
        add_atom(&k, &hydrogen, bonded);
}
