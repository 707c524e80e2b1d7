/* Resuming: what a checkpoint may say, and what a failed validation leaves behind. */
#include "../checkpoint/forge.h"
#include "walks_run.h"

#include <math.h>

/* ---- forged checkpoints ---- */

/* The checkpoint of a training whose validation failed: it has all updates of the first of two epochs. */
static const char *validation_failed(struct temp_dir *p)
{
    walks_run(p,
              wl_strf(p->arena,
                      "--data here --quiet --epochs 2 --local-batch 8 --checkpoint-keep 1 --checkpoint-dir %s/c "
                      "--bad-val 26",
                      p->dir),
              1);
    return wl_strf(p->arena, "%s/c/checkpoint-%010d.wlc", p->dir, WALKS_TRAIN / 8);
}

struct forgery {
    const char *key, *value;
    const char *expected; /* in the message */
};

static void refuse(struct temp_dir *p, const char *file, const struct forgery *f)
{
    const char *dir = wl_path_join(p->arena, p->dir, "forged"), *path = wl_strf(p->arena, "%s/checkpoint-8.wlc", dir);
    struct wl_err e;
    assert_int_equal(wl_mkdirs(dir, &e), 0);
    forge(path, file, f->key, f->value, p->arena);
    const char *said =
        walks_run(p,
                  wl_strf(p->arena, "--data here --quiet --epochs 3 --local-batch 8 --resume --checkpoint-dir %s", dir),
                  1);
    if (!strstr(said, path) || !strstr(said, f->expected))
        fail_msg("%s set to %s: expected '%s' in\n%s", f->key, f->value, f->expected, said);
}

/* Every number is checked against what this training makes of it. */
static void forged_numbers_are_refused(void **state)
{
    struct temp_dir *p = *state;
    static const struct forgery forgeries[] = {
        { "\"epoch\"", "0", "at.epoch is 0, expected 1 to 1000001" },
        { "\"epoch\"", "4611686018427387904", "at.epoch is 4611686018427387904, expected" },
        { "\"epoch\"", "1.5", "at.epoch is 1.5, expected" },
        { "\"epoch_updates\"", "-1", "at.epoch_updates is -1, expected 0 to 8" },
        { "\"epoch_updates\"", "9", "at.epoch_updates is 9, expected 0 to 8" },
        { "\"epoch_updates\"", "4611686018427387904", "at.epoch_updates is 4611686018427387904, expected 0 to 8" },
        { "\"updates\"", "9223372036854775807", "at.updates is 9223372036854775807, expected 8 to 8" },
        { "\"updates\"", "7", "at.updates is 7, expected 8 to 8" },
        { "\"samples\"", "0", "at.samples is 0, expected 1 to 320" },
        { "\"samples\"", "321", "at.samples is 321, expected 1 to 320" },
        { "\"top1\"", "65", "at.top1 is 65, expected 0 to 64" },
        { "\"top5\"", "-1", "at.top5 is -1, expected 0 to 64" },
        { "\"loss_sum\"", "null", "at.loss_sum is null, expected a number from" },
        { "\"cut\"", "1.5", "schedule.cut is 1.5, expected a number from 0 to 1" },
        { "\"cut\"", "-1", "schedule.cut is -1, expected" },
        { "\"best\"", "\"x\"", "schedule.best is \"x\", expected a number from" },
        { "\"bad\"", "1099511627776", "schedule.bad is 1099511627776, expected 0 to 0" },
        { "\"bad\"", "-1", "schedule.bad is -1, expected 0 to 0" },
        { "\"global_batch\"", "16", "was made with global_batch 16, this is 8" },
        { "\"seed\"", "9", "was made with seed 9, this is 1" },
    };
    const char *file = validation_failed(p);
    for (size_t i = 0; i < WL_COUNT(forgeries); i++) refuse(p, file, &forgeries[i]);
}

/* An epoch that has not begun has counted nothing. */
static void counts_before_an_epoch_are_refused(void **state)
{
    struct temp_dir *p = *state;
    const char *file = wl_strf(p->arena, "%s/c/checkpoint-%010d.wlc", p->dir, WALKS_TRAIN / 8);
    walks_run(p, wl_strf(p->arena, "--data here --quiet --epochs 1 --local-batch 8 --checkpoint-dir %s/c", p->dir), 0);
    refuse(p, file, &(struct forgery) { "\"samples\"", "1", "at.samples is 1, expected 0 to 0" });
    refuse(p, file, &(struct forgery) { "\"loss_sum\"", "3.5", "at.loss_sum is 3.5, expected a number from" });
    refuse(p, file, &(struct forgery) { "\"updates\"", "65", "at.updates is 65, expected 1 to 64" });
}

/* ---- a failed validation ---- */

/* The updates of the epoch are in a checkpoint; resumed, the numbers are those of a training whose validation never
 * failed. */
static void failed_validation_keeps_the_epoch(void **state)
{
    struct temp_dir *p = *state;
    static const char *const workers[] = { "--local-batch 8", "--local-batch 4 --workers 2" };
    for (size_t k = 0; k < WL_COUNT(workers); k++) {
        const char *options = wl_strf(p->arena, "--epochs 3 --lr-schedule plateau %s", workers[k]);
        const char *kept = wl_strf(p->arena, "%s --checkpoint-dir %s/kept%zu", options, p->dir, k);
        const struct wl_json *whole = walks_results(p, options);
        const char *said = walks_run(p, wl_strf(p->arena, "--data here --quiet --bad-val 20 %s", kept), 1);
        if (!strstr(said, "walks/val: walk 20 cannot be read; a checkpoint in ") ||
            !strstr(said, "has the updates of epoch 1: --resume continues after them"))
            fail_msg("%s", said);
        const struct wl_json *rest = walks_results(p, wl_strf(p->arena, "%s --resume", kept));
        static const char *const names[] = { "train_loss", "val_loss", "val_mae", "lr" };
        assert_int_equal(walks_of_epoch(rest, 0, "updates"), 0);
        for (size_t i = 0; i < 3; i++)
            for (size_t m = 0; m < WL_COUNT(names); m++)
                if (walks_of_epoch(rest, i, names[m]) != walks_of_epoch(whole, i, names[m]))
                    fail_msg("epoch %zu, %s: %.17g after resuming, %.17g in one run", i + 1, names[m],
                             walks_of_epoch(rest, i, names[m]), walks_of_epoch(whole, i, names[m]));
    }
}

/* Files that cannot be read are not a reason to begin again. */
static void unreadable_checkpoints_are_refused(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e;
    const char *dir = wl_path_join(p->arena, p->dir, "torn");
    assert_int_equal(wl_mkdirs(dir, &e), 0);
    assert_int_equal(wl_file_write(wl_path_join(p->arena, dir, "checkpoint-8.wlc"), "WLCKPT1", 7, &e), 0);
    const char *said =
        walks_run(p, wl_strf(p->arena, "--data here --quiet --epochs 1 --resume --checkpoint-dir %s", dir), 1);
    assert_non_null(strstr(said, "none of its checkpoints can be read"));
}

/* ---- loss scaling ---- */

#define F16 "--backend ref --precision f16 --far 5"

static double number(const struct wl_json *results, const char *key) { return wl_json_real(wl_json_get(results, key)); }

/* Once an epoch at least the loss is not finite, on one rank where there are two: that update is skipped, and counts
 * nowhere else. */
static void updates_are_skipped_and_counted(void **state)
{
    struct temp_dir *p = *state;
    static const char *const batches[] = { "--local-batch 8", "--local-batch 4 --workers 2",
                                           "--local-batch 4 --accumulation 2" };
    for (size_t k = 0; k < WL_COUNT(batches); k++) {
        const struct wl_json *r = walks_results(p, wl_strf(p->arena, F16 " --epochs 2 %s", batches[k]));
        double skipped = 0;
        for (size_t i = 0; i < 2; i++) {
            const double of_epoch = walks_of_epoch(r, i, "skipped_updates"), loss = walks_of_epoch(r, i, "train_loss");
            assert_true(of_epoch >= 1 && of_epoch <= 2);
            assert_true(loss > 0 && loss < 10);
            skipped += of_epoch;
        }
        assert_true(number(r, "updates") == 2 * WALKS_TRAIN / 8 && number(r, "skipped_updates") == skipped);
        assert_true(number(r, "loss_scale") == ldexp(WL_LOSS_SCALE_FIRST, -(int)skipped));
    }
}

/* Through f32 and back; a training that began in f32 starts with the first scale. */
static void the_loss_scale_goes_on(void **state)
{
    struct temp_dir *p = *state;
    const char *kept = wl_strf(p->arena, "--resume --local-batch 8 --checkpoint-dir %s/kept", p->dir);
    static const double scale[] = { 2, NAN, 4, NAN, 8 }, other[] = { NAN, 2 };
    for (size_t i = 0; i < WL_COUNT(scale); i++) {
        const struct wl_json *r = walks_results(p, wl_strf(p->arena, "%s --epochs %zu %s",
                                                           isnan(scale[i]) ? "--backend ref" : F16, i + 1, kept));
        assert_true(isnan(scale[i]) || number(r, "loss_scale") == WL_LOSS_SCALE_FIRST / scale[i]);
        assert_true(number(r, "skipped_updates") == !isnan(scale[i]));
    }
    kept = wl_strf(p->arena, "--resume --local-batch 8 --checkpoint-dir %s/other", p->dir);
    for (size_t i = 0; i < WL_COUNT(other); i++) {
        const struct wl_json *r = walks_results(p, wl_strf(p->arena, "%s --epochs %zu %s",
                                                           isnan(other[i]) ? "--backend ref" : F16, i + 1, kept));
        assert_true(isnan(other[i]) || number(r, "loss_scale") == WL_LOSS_SCALE_FIRST / other[i]);
    }
}

static void forged_loss_scales_are_refused(void **state)
{
    struct temp_dir *p = *state;
    static const struct forgery forgeries[] = {
        { "\"scale\"", "0", "loss_scale.scale is 0, expected a number from 1 to 1.67772e+07" },
        { "\"scale\"", "0.5", "loss_scale.scale is 0.5, expected a number from 1" },
        { "\"scale\"", "-2", "loss_scale.scale is -2, expected a number from 1" },
        { "\"scale\"", "3", "loss_scale.scale is 3, expected a power of two" },
        { "\"scale\"", "33554432", "loss_scale.scale is 33554432, expected a number from 1" },
        { "\"scale\"", "1e300", "expected a number from 1" },
        { "\"scale\"", "null", "loss_scale.scale is null, expected a number from 1" },
        { "\"good\"", "-1", "loss_scale.good is -1, expected 0 to 1999" },
        { "\"good\"", "2000", "loss_scale.good is 2000, expected 0 to 1999" },
        { "\"skipped\"", "-1", "loss_scale.skipped is -1, expected 0 to 8" },
        { "\"skipped\"", "9", "loss_scale.skipped is 9, expected 0 to 8" },
        { "\"loss_scale\"", "5, \"x\": { \"y\": 1", "loss_scale.scale is missing, expected a number from 1" },
    };
    const char *file = wl_strf(p->arena, "%s/c/checkpoint-%010d.wlc", p->dir, WALKS_TRAIN / 8);
    walks_run(p, wl_strf(p->arena, F16 " --data here --quiet --epochs 1 --local-batch 8 --checkpoint-dir %s/c", p->dir),
              0);
    for (size_t i = 0; i < WL_COUNT(forgeries); i++) refuse(p, file, &forgeries[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(forged_numbers_are_refused, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(counts_before_an_epoch_are_refused, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(failed_validation_keeps_the_epoch, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(unreadable_checkpoints_are_refused, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(updates_are_skipped_and_counted, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(the_loss_scale_goes_on, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(forged_loss_scales_are_refused, temp_dir_setup, temp_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
