/* Masked samples: how many, of what kinds, and what they depend on. */
#include "base/base.h"
#include "temp_dir.h"

#include <math.h>

enum { S = 32, P = 5 };

struct sample {
    int32_t tokens[S], length, positions[P], labels[P];
};

static const struct wl_dataset *open_set(const struct temp_dir *p, bool train)
{
    struct wl_wikitext_synth_opts text = {
        .dir = p->dir, .words = 20000, .vocabulary = 400, .sequence = S, .seed = 1, .threads = 2
    };
    struct wl_mlm_opts o = { .dir = p->dir, .train = train, .sequence = S, .predictions = P };
    struct wl_mlm *m;
    struct wl_err e = { 0 };
    int64_t written;
    if (wl_wikitext_synth(&text, &written, p->arena, &e)) fail_msg("%s", e.msg);
    if (wl_mlm_open(&m, &o, p->arena, &e)) fail_msg("%s", e.msg);
    return wl_mlm_dataset(m);
}

static struct wl_token_file tokens_of(const struct temp_dir *p, const char *name)
{
    struct wl_token_file t;
    struct wl_err e = { 0 };
    if (wl_token_file_open(&t, temp_dir_path(p, name), p->arena, &e)) fail_msg("%s", e.msg);
    return t;
}

static struct sample get(const struct wl_dataset *set, struct wl_epoch_key pass, int64_t index)
{
    struct sample s;
    struct wl_err e = { 0 };
    memset(&s, 0xee, sizeof s);
    assert_int_equal(set->ops->write_sample(set, NULL, &pass, index,
                                            (void *[]) { s.tokens, &s.length, s.positions, s.labels }, &e),
                     0);
    return s;
}

/* Labels are the tokens of the file, other positions are unchanged, and their number is right. */
static void check_sample(const struct wl_token_file *t, const struct sample *s, int64_t index)
{
    int candidates = 0, wanted;
    int32_t want[S];
    for (int i = 0; i < S; i++) {
        want[i] = (int32_t)wl_le_read(t->data + (index * S + i) * t->width, t->width);
        candidates += (uint32_t)want[i] != t->special[WL_TOKEN_CLS] && (uint32_t)want[i] != t->special[WL_TOKEN_SEP];
    }
    wanted = (int)(0.15 * candidates + 0.5);
    if (wanted < 1) wanted = 1;
    if (wanted > P) wanted = P;
    assert_int_equal(s->length, S);
    for (int i = 0, last = -1; i < P; i++) {
        if (i >= wanted) {
            assert_int_equal(s->labels[i], -1);
            continue;
        }
        assert_true(s->positions[i] > last && s->positions[i] < S);
        last = s->positions[i];
        assert_int_equal(s->labels[i], want[last]);
        assert_true((uint32_t)want[last] != t->special[WL_TOKEN_CLS] &&
                    (uint32_t)want[last] != t->special[WL_TOKEN_SEP]);
        want[last] = s->tokens[last]; /* may be anything */
    }
    assert_memory_equal(s->tokens, want, sizeof want);
}

static void labels_are_the_tokens_of_the_file(void **state)
{
    struct temp_dir *p = *state;
    const struct wl_dataset *set = open_set(p, true);
    const struct wl_token_file t = tokens_of(p, WL_TRAIN_TOKENS);
    assert_int_equal(set->samples, t.n / S);
    for (int64_t i = 0; i < set->samples; i++) {
        struct sample s = get(set, (struct wl_epoch_key) { .seed = 3, .epoch = 1, .training = true }, i);
        check_sample(&t, &s, i);
    }
}

/* 80 % [MASK], 10 % any token, 10 % unchanged (any token may also be the same one): within five deviations. */
static void masks_have_80_10_10_proportions(void **state)
{
    struct temp_dir *p = *state;
    const struct wl_dataset *set = open_set(p, true);
    const struct wl_token_file t = tokens_of(p, WL_TRAIN_TOKENS);
    double n = 0, masked = 0, same = 0;
    for (int64_t epoch = 1; epoch <= 10; epoch++)
        for (int64_t i = 0; i < set->samples; i++) {
            struct sample s = get(set, (struct wl_epoch_key) { .seed = 3, .epoch = epoch, .training = true }, i);
            for (int k = 0; k < P && s.labels[k] >= 0; k++) {
                n++;
                masked += (uint32_t)s.tokens[s.positions[k]] == t.special[WL_TOKEN_MASK];
                same += s.tokens[s.positions[k]] == s.labels[k];
            }
        }
    assert_true(n > 30000);
    assert_float_equal(masked / n, 0.8 + 0.1 / 400, 5 * sqrt(0.8 * 0.2 / n));
    assert_float_equal(same / n, 0.1 + 0.1 / 400, 5 * sqrt(0.1 * 0.9 / n));
}

static bool equal(const struct sample *a, const struct sample *b) { return memcmp(a, b, sizeof *a) == 0; }

static void masks_depend_on_seed_epoch_and_sample(void **state)
{
    struct temp_dir *p = *state;
    const struct wl_dataset *train = open_set(p, true), *val = open_set(p, false);
    struct wl_epoch_key pass = { .seed = 3, .epoch = 1, .training = true };
    struct sample first = get(train, pass, 7), other = get(train, pass, 7);
    assert_true(equal(&first, &other));
    pass.epoch = 2;
    other = get(train, pass, 7);
    assert_false(equal(&first, &other));
    pass = (struct wl_epoch_key) { .seed = 4, .epoch = 1, .training = true };
    other = get(train, pass, 7);
    assert_false(equal(&first, &other));

    pass = (struct wl_epoch_key) { .seed = 3 }; /* evaluation: one choice for good */
    first = get(val, pass, 7);
    pass.epoch = 5;
    other = get(val, pass, 7);
    assert_true(equal(&first, &other));
}

/* The samples of `rank` of `ranks` in an epoch, in the order of the global batches. */
static void collect(const struct temp_dir *p, const struct wl_dataset *set, int64_t rank, int64_t ranks,
                    struct sample *out)
{
    enum { B = 3 };
    int32_t tokens[B][S], lengths[B], positions[B][P], labels[B][P];
    struct wl_loader_opts o = {
        .batch = B, .rank = rank, .ranks = ranks, .threads = 2, .seed = 3, .training = true, .drop_last = true
    };
    struct wl_loader *f;
    struct wl_err e = { 0 };
    int64_t n;
    assert_int_equal(wl_loader_open(&f, set, &o, p->arena, &e), 0);
    assert_int_equal(wl_loader_start_epoch(f, 1, 0, &e), 0);
    for (int64_t step = 0; wl_loader_next(f, (void *[]) { tokens, lengths, positions, labels }, &n, &e) == 1; step++)
        for (int64_t i = 0; i < n; i++) {
            struct sample *s = &out[(step * ranks + rank) * B + i];
            memcpy(s->tokens, tokens[i], sizeof s->tokens);
            memcpy(s->positions, positions[i], sizeof s->positions);
            memcpy(s->labels, labels[i], sizeof s->labels);
            s->length = lengths[i];
        }
}

static void ranks_together_equal_one_rank(void **state)
{
    struct temp_dir *p = *state;
    const struct wl_dataset *set = open_set(p, true);
    const size_t n = (size_t)set->samples / 6 * 6;
    struct sample *one = wl_new_array(p->arena, struct sample, (size_t)set->samples);
    struct sample *two = wl_new_array(p->arena, struct sample, (size_t)set->samples);
    collect(p, set, 0, 1, one);
    collect(p, set, 0, 2, two);
    collect(p, set, 1, 2, two);
    assert_memory_equal(one, two, n * sizeof *one);
}

static void padding_and_limits(void **state)
{
    struct temp_dir *p = *state;
    const struct wl_dataset *set = open_set(p, true);
    struct wl_mlm_opts o = { .dir = p->dir, .train = true, .sequence = S, .predictions = P, .samples = 1 << 20 };
    struct wl_mlm *m;
    struct wl_err e = { 0 };
    struct sample s;
    memset(&s, 0xee, sizeof s);
    set->ops->pad(set, (void *[]) { s.tokens, &s.length, s.positions, s.labels });
    assert_int_equal(s.length, 0);
    for (int i = 0; i < S; i++) assert_int_equal(s.tokens[i], 0);
    for (int i = 0; i < P; i++) assert_true(s.labels[i] == -1 && s.positions[i] == 0);
    assert_int_equal(wl_mlm_open(&m, &o, p->arena, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "sequences of 32 tokens; 1048576 requested"));
    o.samples = 9;
    assert_int_equal(wl_mlm_open(&m, &o, p->arena, &e), 0);
    assert_int_equal(wl_mlm_dataset(m)->samples, 9);
    o.dir = "/proc/nowhere";
    assert_int_equal(wl_mlm_open(&m, &o, p->arena, &e), WL_ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(labels_are_the_tokens_of_the_file), TEST(masks_have_80_10_10_proportions),
                                        TEST(masks_depend_on_seed_epoch_and_sample),
                                        TEST(ranks_together_equal_one_rank), TEST(padding_and_limits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
