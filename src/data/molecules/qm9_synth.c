/* The properties are functions of the positions, so that they can be learned: energies are those of free atoms plus a
 * Morse potential between each two atoms that fades out at 5 angstrom. */
#include "data/molecules/qm9_xyz.h"

#include <math.h>
#include <string.h>

enum { A, B, C, MU, ALPHA, HOMO, LUMO, GAP, R2, ZPVE, U0, U, H, G, CV };

struct atom {
    uint8_t number;
    double energy, mass, charge, alpha, radius; /* Ha, u, e, a0^3, angstrom */
};
/* Energies: B3LYP/6-31G(2df,p) of free atoms, from QM9, to three decimals. */
static const struct atom atoms[] = { { 1, -0.500, 1.008, 0.1, 2.5, 0.31 },
                                     { 6, -37.847, 12.011, -0.05, 9, 0.76 },
                                     { 7, -54.584, 14.007, -0.2, 6, 0.71 },
                                     { 8, -75.065, 15.999, -0.3, 4.5, 0.66 },
                                     { 9, -99.719, 18.998, -0.25, 3, 0.57 } };

static const struct atom *atom_of(uint8_t number)
{
    size_t i = 0;
    while (atoms[i].number != number) i++;
    return &atoms[i];
}

static double distance(const struct wl_molecule_synth *m, int i, int j)
{
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        const double d = (double)m->position[i][c] - (double)m->position[j][c];
        sum += d * d;
    }
    return sqrt(sum);
}

/* Depth 0.05 Ha at 1.4 times the sum of the radii, width 1.2 angstrom. */
static double pair_energy(const struct atom *a, const struct atom *b, double d)
{
    enum { REACH = 5 };
    const double bond = exp(-(d - 1.4 * (a->radius + b->radius)) / 1.2);
    return d < REACH ? 0.05 * (bond * bond / 4 - bond) * pow(1 - d / REACH, 2) : 0;
}

/* Energies, and sums over atoms. */
static void sum_up(const struct wl_molecule_synth *m, double x[WL_QM9_PROPERTIES])
{
    double dipole[3] = { 0 };
    for (int i = 0; i < m->atoms; i++) {
        const struct atom *a = atom_of(m->atomic_number[i]);
        x[U0] += a->energy;
        x[ALPHA] += a->alpha;
        for (int c = 0; c < 3; c++) dipole[c] += a->charge * (double)m->position[i][c];
        for (int j = 0; j < i; j++) {
            const double d = distance(m, i, j);
            x[U0] += pair_energy(a, atom_of(m->atomic_number[j]), d);
            x[R2] += d * d / (0.529177 * 0.529177 * m->atoms);
        }
    }
    x[MU] = 4.80320 * sqrt(dipole[0] * dipole[0] + dipole[1] * dipole[1] + dipole[2] * dipole[2]);
}

/* The other properties are smooth functions of those. */
static void finish(int n, double x[WL_QM9_PROPERTIES])
{
    const double size = sqrt(x[R2] / n);
    x[A] = 400 / (size * size);
    x[B] = x[A] / 2;
    x[C] = x[A] / 3;
    x[HOMO] = -0.25 + 0.02 / size;
    x[LUMO] = 0.05 - 0.2 / size;
    x[GAP] = x[LUMO] - x[HOMO];
    x[ZPVE] = 0.008 * n;
    x[CV] = 5 + 1.5 * n;
    x[U] = x[U0] + 0.0005 * n;
    x[H] = x[U] + 0.000944;
    x[G] = x[H] - 0.03 - 0.001 * n;
}

static char *text_of(const struct wl_molecule_synth *m, int64_t id, struct wl_arena *a)
{
    double x[WL_QM9_PROPERTIES] = { 0 };
    struct wl_text t = WL_TEXT(a);
    sum_up(m, x);
    finish(m->atoms, x);
    wl_text_addf(&t, "%d\ngdb %lld\t", m->atoms, (long long)id);
    for (int i = 0; i < WL_QM9_PROPERTIES; i++) wl_text_addf(&t, "%.8g\t", x[i]);
    wl_text_add(&t, "\n");
    for (int i = 0; i < m->atoms; i++)
        wl_text_addf(&t, "%s\t%.10f\t%.10f\t%.10f\t%.6f\n", wl_qm9_symbol(m->atomic_number[i]),
                     (double)m->position[i][0], (double)m->position[i][1], (double)m->position[i][2],
                     atom_of(m->atomic_number[i])->charge);
    for (int i = 0; i < 3 * m->atoms - 6 || i == 0; i++) wl_text_addf(&t, "%d.0\t", 500 + 50 * i);
    wl_text_add(&t, "\nsynthetic\tsynthetic\nsynthetic\tsynthetic\n");
    return t.s;
}

/* An existing file may be a real molecule: it must have the same content, and stays. */
static int write_molecule(const char *path, const char *text, struct wl_arena *a, struct wl_err *e)
{
    struct wl_atomic_file to;
    char *existing;
    if (wl_is_file(path)) {
        int rc = wl_file_read(path, 2 * strlen(text), &existing, NULL, a, e);
        if (rc == 0 && wl_str_eq(existing, text)) return 0;
        return wl_fail(e, WL_EINVAL, "%s: a different molecule exists already; choose another folder", path);
    }
    int rc = wl_atomic_file_open(&to, path, WL_ATOMIC_FILE_INTERNAL_MANY, e);
    if (rc == 0) rc = wl_atomic_file_write(&to, text, strlen(text), e);
    if (rc == 0) return wl_atomic_file_commit(&to, e);
    wl_atomic_file_discard(&to);
    return rc;
}

int wl_qm9_synth(const char *dir, int64_t molecules, uint64_t seed, bool progress, struct wl_err *e)
{
    struct wl_progress bar;
    int rc = wl_mkdirs(dir, e);
    if (!rc) wl_tempfile_clean(dir);
    wl_progress_start(&bar, "writing molecules");
    for (int64_t i = 0; i < molecules && !rc; i++) {
        struct wl_arena *scratch = wl_arena_new(NULL);
        struct wl_molecule_synth m;
        wl_molecule_synth(seed, (uint64_t)i, &m);
        const char *text = text_of(&m, i + 1, scratch);
        const char *name = wl_strf(scratch, "dsgdb9nsd_%06lld.xyz", (long long)i + 1);
        rc = write_molecule(wl_path_join(scratch, dir, name), text, scratch, e);
        wl_arena_free(scratch);
        if (progress) wl_progress_update(&bar, (double)i + 1, (double)molecules, -1, NULL);
    }
    wl_progress_clear(&bar);
    return rc;
}
