/* QM9: the original files and what is wrong with them, archives, the packed file, the split, batches. */
#include "temp_dir.h"

#include "data/molecules/qm9_xyz.h"

#include <math.h>

/* Methane as in the first file of QM9, and water with exponents in Mathematica's form. */
static const char methane[] =
    "5\n"
    "gdb 1\t157.7118\t157.70997\t157.70699\t0.\t13.21\t-0.3877\t0.1171\t0.5048\t35.3641\t0.044749\t-40.47893\t"
    "-40.476062\t-40.475117\t-40.498597\t6.469\t\n"
    "C\t-0.0126981359\t 1.0858041578\t 0.0080009958\t-0.535689\n"
    "H\t 0.002150416\t-0.0060313176\t 0.0019761204\t 0.133921\n"
    "H\t 1.0117308433\t 1.4637511618\t 2.0*^-4\t 0.133922\n"
    "H\t-0.540815069\t 1.4475266138\t-0.8766437152\t 0.133923\n"
    "H\t-0.5238136345\t 1.4379326443\t 0.9063972942\t 1.33923*^-1\n"
    "1341.307\t1341.3284\t1341.365\nC\tC\t\nInChI=1S/CH4/h1H4\tInChI=1S/CH4/h1H4\n";

static void xyz_files_are_parsed(void **state)
{
    (void)state;
    struct wl_qm9_record r = { 0 };
    struct wl_err e = { 0 };
    if (wl_qm9_parse(methane, sizeof methane - 1, "one.xyz", &r, &e)) fail_msg("%s", e.msg);
    assert_int_equal(r.id, 1);
    assert_int_equal(r.molecule.atoms, 5);
    assert_int_equal(r.molecule.atomic_number[0], 6);
    assert_true(r.property[wl_qm9_property("U0", &e)] == -40.47893);
    assert_true(r.property[wl_qm9_property("Cv", &e)] == 6.469);
    assert_true(r.molecule.position[2][2] == 2e-4f);
    assert_true(wl_qm9_property("U1", &e) < 0);
    assert_non_null(strstr(e.msg, "did you mean 'U"));
}

/* For each case: a piece of the file above, its replacement, and words of the message. */
static const struct {
    const char *from, *to, *words;
} bad[] = {
    { "5\n", "6\n", "one.xyz:8: '1341.307'; expected an element" },
    { "5\n", "30\n", "one.xyz:1: '30'; expected the number of atoms, 1 to 29" },
    { "5\n", "five\n", "one.xyz:1: 'five'; expected the number of atoms" },
    { "gdb 1\t", "gdb9 1\t", "one.xyz:2: 'gdb9'; expected 'gdb'" },
    { "gdb 1\t", "gdb x\t", "'x'; expected the molecule's number" },
    { "-40.47893\t", "nan\t", "one.xyz:2: 'nan' is not a number; expected U0" },
    { "6.469\t", "", "one.xyz:2: the line ends; expected Cv" },
    { "C\t-0.01", "Xx\t-0.01", "one.xyz:3: 'Xx'; expected an element: H, C, N, O or F" },
    { "1.0858041578", "1.08*5", "one.xyz:3: '1.08*5' is not a number; expected y" },
    { "1.0858041578", "1e300", "one.xyz:3: y is out of range: 1e+300 angstrom" },
    { "\t 0.0080009958\t-0.535689", "", "one.xyz:3: the line ends; expected z" },
    { "InChI=1S/CH4/h1H4\tInChI=1S/CH4/h1H4\n", "", "one.xyz:10: the file ends; expected the line of InChI" },
    { "H\t 0.002150416\t-0.0060313176\t 0.0019761204", "H\t-0.0126981359\t 1.0858041578\t 0.0080009958",
      "one.xyz:4: atoms 1 and 2 are at the same position" },
};

static void malformed_files_are_refused(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(bad); i++) {
        const char *at = strstr(methane, bad[i].from);
        assert_non_null(at);
        const char *text = wl_strf(a, "%.*s%s%s", (int)(at - methane), methane, bad[i].to, at + strlen(bad[i].from));
        struct wl_qm9_record r = { 0 };
        struct wl_err e = { 0 };
        assert_int_equal(wl_qm9_parse(text, strlen(text), "one.xyz", &r, &e), WL_EINVAL);
        if (!strstr(e.msg, bad[i].words)) fail_msg("'%s' lacks '%s'", e.msg, bad[i].words);
    }
    for (size_t n = 0; n < sizeof methane - 60; n++) { /* cut off anywhere */
        struct wl_qm9_record r = { 0 };
        struct wl_err e = { 0 };
        assert_int_equal(wl_qm9_parse(methane, n, "one.xyz", &r, &e), WL_EINVAL);
    }
    wl_arena_free(a);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void pack(const struct temp_dir *p, const char *from, const char *exclude, const char *to, int rc,
                 const char *words, struct wl_qm9_pack_stats *done)
{
    struct wl_err e = { 0 };
    const struct wl_qm9_pack_opts o = { .from = from, .exclude = exclude, .to = to };
    assert_int_equal(wl_qm9_pack(&o, done, p->arena, &e), rc);
    if (rc && !strstr(e.msg, words)) fail_msg("'%s' lacks '%s'", e.msg, words);
}

static void put(const struct temp_dir *p, const char *name, const char *text)
{
    assert_int_equal(wl_file_write(wl_path_join(p->arena, p->dir, name), text, strlen(text), NULL), 0);
}

static void folder_is_packed_without_excluded(void **state)
{
    const struct temp_dir *p = *state;
    struct wl_err e = { 0 };
    struct wl_qm9_pack_stats done;
    struct wl_qm9 q;
    const char *to = wl_path_join(p->arena, p->dir, "qm9.molecules");
    if (wl_qm9_synth(p->dir, 30, 3, false, &e)) fail_msg("%s", e.msg);
    put(p, "list.txt", "numbers that failed\n-------\n  Index  SMILES\n     4  CC\n    30  CN\n  2 molecules\n");
    put(p, "note.txt", "no molecule");
    pack(p, p->dir, wl_path_join(p->arena, p->dir, "list.txt"), to, 0, NULL, &done);
    assert_int_equal(done.molecules, 27); /* 2, 4 and 30 */
    assert_int_equal(done.excluded, 3);
    if (wl_qm9_open(&q, p->dir, p->arena, &e)) fail_msg("%s", e.msg);
    assert_int_equal(q.molecules, 27);
    assert_int_equal(q.id[1], 3);
    struct wl_molecule_synth m;
    wl_molecule_synth(3, 2, &m);
    const struct wl_molecule third = wl_qm9_molecule(&q, 1);
    assert_int_equal(third.atoms, m.atoms);
    assert_memory_equal(third.atomic_number, m.atomic_number, (size_t)m.atoms);
    for (int i = 0; i < 3 * m.atoms; i++) assert_true(fabsf(third.position[i] - (&m.position[0][0])[i]) < 1e-6f);
    put(p, "copy.xyz", methane); /* number 1 a second time */
    pack(p, p->dir, NULL, to, WL_EINVAL, "two files have molecule 1", &done);
    put(p, "empty.txt", "nothing\n");
    pack(p, p->dir, wl_path_join(p->arena, p->dir, "empty.txt"), to, WL_EINVAL, "no line begins with", &done);
}

static void molecules_of_the_user_are_kept(void **state)
{
    const struct temp_dir *p = *state;
    struct wl_err e = { 0 };
    char *text;
    size_t n;
    const char *real = wl_path_join(p->arena, p->dir, "dsgdb9nsd_000002.xyz");
    assert_int_equal(wl_mkdirs(p->dir, &e), 0);
    put(p, "dsgdb9nsd_000002.xyz", methane);
    assert_int_equal(wl_qm9_synth(p->dir, 3, 3, false, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "a different molecule exists already"));
    assert_int_equal(wl_file_read(real, 1 << 16, &text, &n, p->arena, &e), 0);
    assert_string_equal(text, methane);
    assert_int_equal(unlink(real), 0);
    assert_int_equal(wl_qm9_synth(p->dir, 3, 3, false, &e), 0); /* and the first one is the same */
}

static void tar_archive_is_packed(void **state)
{
    const struct temp_dir *p = *state;
    struct wl_err e = { 0 };
    struct wl_qm9_pack_stats done;
    if (wl_qm9_synth(p->dir, 5, 3, false, &e)) fail_msg("%s", e.msg);
    const char *tar = wl_strf(p->arena, "%s.tar", p->dir), *to = wl_strf(p->arena, "%s.molecules", p->dir);
    assert_int_equal(system(wl_strf(p->arena, "tar -C %s -cf %s .", p->dir, tar)), 0);
    pack(p, tar, NULL, to, 0, NULL, &done);
    assert_int_equal(done.molecules, 5);
    assert_int_equal(truncate(tar, 1500), 0);
    pack(p, tar, NULL, to, WL_EINVAL, "truncated at byte 1500", &done);
    assert_int_equal(system(wl_strf(p->arena, "printf 'BZh91AY%%0600d' 1 > %s", tar)), 0);
    pack(p, tar, NULL, to, WL_EINVAL, "expected an uncompressed tar archive", &done);
    pack(p, wl_strf(p->arena, "%s/none", p->dir), NULL, to, WL_ENOENT, "none", &done);
}

static void damaged_packed_file_is_refused(void **state)
{
    const struct temp_dir *p = *state;
    struct wl_err e = { 0 };
    struct wl_qm9_pack_stats done;
    struct wl_qm9 q;
    char *text;
    size_t n;
    const char *to = wl_strf(p->arena, "%s.molecules", p->dir);
    if (wl_qm9_synth(p->dir, 5, 3, false, &e)) fail_msg("%s", e.msg);
    pack(p, p->dir, NULL, to, 0, NULL, &done);
    assert_int_equal(wl_file_read(to, 1 << 20, &text, &n, p->arena, &e), 0);
    for (size_t i = 0; i < n; i += 7) {
        text[i] ^= 1;
        assert_int_equal(wl_file_write(to, text, n, &e), 0);
        assert_true(wl_qm9_open(&q, to, p->arena, &e) < 0);
        text[i] ^= 1;
    }
    assert_int_equal(wl_file_write(to, text, n - 8, &e), 0);
    assert_int_equal(wl_qm9_open(&q, to, p->arena, &e), WL_EIO);
    assert_non_null(strstr(e.msg, "do not match the header"));
}

/* ---- split and batches ------------------------------------------------------------------------------------------ */

enum { MOLECULES = 200, BATCH = 16 };

static struct wl_qm9_splits split(const struct temp_dir *p, struct wl_qm9 *q, uint64_t seed, bool triplets)
{
    struct wl_err e = { 0 };
    struct wl_qm9_splits part;
    const struct wl_qm9_split_opts o = {
        .seed = seed, .property = wl_qm9_property("U0", NULL), .cutoff = 5, .triplets = triplets, .batch = BATCH
    };
    if (wl_qm9_split(&part, q, &o, p->arena, &e)) fail_msg("%s", e.msg);
    return part;
}

static void open_synthetic(const struct temp_dir *p, struct wl_qm9 *q)
{
    struct wl_err e = { 0 };
    struct wl_qm9_pack_stats done;
    const char *to = wl_path_join(p->arena, p->dir, "qm9.molecules");
    if (wl_qm9_synth(p->dir, MOLECULES, 3, false, &e)) fail_msg("%s", e.msg);
    pack(p, p->dir, NULL, to, 0, NULL, &done);
    if (wl_qm9_open(q, to, p->arena, &e)) fail_msg("%s", e.msg);
}

/* The buffers of a batch, filled with garbage, then with the batch. */
static void fill(const struct wl_dataset *s, const struct temp_dir *p, int64_t from, int64_t n, void **buffer)
{
    int64_t index[BATCH];
    for (int64_t i = 0; i < n; i++) index[i] = from + i;
    for (int k = 0; k < s->buffers; k++) {
        buffer[k] = wl_alloc(p->arena, s->bytes[k]);
        memset(buffer[k], 0xff, s->bytes[k]);
    }
    assert_int_equal(s->ops->write_batch(s, NULL, &(struct wl_epoch_key) { 0 }, index, n, buffer, NULL), 0);
}

/* The targets of all training molecules: mean 0, deviation 1. */
static void targets_have_mean_0_and_deviation_1(void **state)
{
    const struct temp_dir *p = *state;
    struct wl_qm9 q;
    open_synthetic(p, &q);
    struct wl_qm9_splits part = split(p, &q, 1, false), same = split(p, &q, 1, false), other = split(p, &q, 2, false);
    assert_int_equal(part.train.samples, 168);
    assert_int_equal(part.val.samples, 15);
    assert_int_equal(part.unused, 17);
    assert_true(part.scale == same.scale && part.scale != other.scale);
    double sum = 0, squares = 0;
    for (int64_t at = 0; at < part.train.samples; at += BATCH) {
        const int64_t n = part.train.samples - at < BATCH ? part.train.samples - at : BATCH;
        void *buffer[WL_DATASET_MAX_BUFFERS];
        fill(&part.train, p, at, n, buffer);
        const float *target = buffer[part.train.buffers - 1];
        assert_int_equal(((int32_t *)buffer[0])[0], n);
        for (int64_t i = 0; i < BATCH; i++) assert_true(i < n ? isfinite(target[i]) : isnan(target[i]));
        for (int64_t i = 0; i < n; i++) {
            sum += (double)target[i];
            squares += (double)target[i] * (double)target[i];
        }
    }
    assert_true(fabs(sum / 168) < 1e-4);
    assert_true(fabs(squares / 168 - 1) < 1e-4);
}

/* Edges have their reverse, distances and angles match the positions, and the largest molecules fit. */
static void edges_match_the_positions(void **state)
{
    const struct temp_dir *p = *state;
    struct wl_qm9 q;
    void *b[WL_DATASET_MAX_BUFFERS];
    open_synthetic(p, &q);
    struct wl_qm9_splits part = split(p, &q, 1, true);
    fill(&part.train, p, 0, BATCH, b);
    const int32_t *counts = b[0], *start = b[3], *source = b[4], *reverse = b[5], *triplets = b[6];
    const float *distance = b[7], *cosine = b[8];
    for (int k = 0; k < 4; k++) assert_true(counts[k] > 0 && counts[k] <= part.capacity[k]);
    assert_int_equal(start[counts[1]], counts[2]);
    assert_int_equal(triplets[counts[1]], counts[3]);
    for (int32_t i = 0; i < counts[1]; i++)
        for (int32_t e = start[i]; e < start[i + 1]; e++) {
            assert_int_equal(source[reverse[e]], i);
            assert_int_equal(reverse[reverse[e]], e);
            assert_true(distance[e] == distance[reverse[e]] && distance[e] > 0 && distance[e] < 5);
        }
    for (int32_t t = 0; t < counts[3]; t++) assert_true(fabsf(cosine[t]) <= 1);
}

/* At the corner of a right triangle of sides 3, 4 and 5 the cosine is 0, at the others 4/5 and 3/5. */
static void angles_of_a_right_triangle(void **state)
{
    (void)state;
    const uint8_t number[] = { 6, 1, 8 };
    const float at[] = { 0, 0, 0, 3, 0, 0, 0, 4, 0 };
    const struct wl_molecule m = { 3, number, at };
    int32_t atom_start[2], numbers[3], start[4], triplet_start[4], source[6], reverse[6];
    float distance[6], cosine[6];
    struct wl_edge_batch b = { .cutoff = 5.5,
                               .atom_start = atom_start,
                               .number = numbers,
                               .edge_start = start,
                               .triplet_start = triplet_start,
                               .source = source,
                               .reverse = reverse,
                               .distance = distance,
                               .cosine = cosine };
    wl_edge_batch_add(&b, &m);
    assert_int_equal(b.edges, 6);
    assert_int_equal(b.triplets, 6);
    /* Around atom 0: i = 1 with k = 2, then i = 2 with k = 1. */
    const float want[] = { 0.6f, 0.8f, 0, 0.8f, 0, 0.6f };
    for (int t = 0; t < 6; t++) assert_true(fabsf(cosine[t] - want[t]) < 1e-6f);
    const struct wl_molecule_graph_size far = wl_molecule_graph_size(&m, 4.5), near = wl_molecule_graph_size(&m, 5.5);
    assert_int_equal(far.pairs, 2);
    assert_int_equal(far.triplets, 2);
    assert_int_equal(near.triplets, 6);
}

static void too_few_molecules_are_refused(void **state)
{
    const struct temp_dir *p = *state;
    struct wl_qm9 q;
    struct wl_err e = { 0 };
    struct wl_qm9_splits part;
    open_synthetic(p, &q);
    const struct wl_qm9_split_opts o = { .train_molecules = 150, .val_molecules = 51, .cutoff = 5, .batch = BATCH };
    assert_int_equal(wl_qm9_split(&part, &q, &o, p->arena, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "has 200 molecules, but 150 for training"));
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, temp_dir_setup, temp_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xyz_files_are_parsed),       cmocka_unit_test(malformed_files_are_refused),
        IN_PLACE(folder_is_packed_without_excluded),  IN_PLACE(tar_archive_is_packed),
        IN_PLACE(damaged_packed_file_is_refused),     IN_PLACE(targets_have_mean_0_and_deviation_1),
        IN_PLACE(molecules_of_the_user_are_kept),     IN_PLACE(edges_match_the_positions),
        cmocka_unit_test(angles_of_a_right_triangle), IN_PLACE(too_few_molecules_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
