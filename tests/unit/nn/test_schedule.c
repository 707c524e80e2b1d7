#include "nn/nn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct wl_lr_schedule make(struct wl_lr_schedule_opts o)
{
    struct wl_lr_schedule s = { 0 };
    struct wl_err e = { 0 };
    if (wl_lr_schedule_init(&s, &o, &e)) fail_msg("%s", e.msg);
    return s;
}

static void lr_is(const struct wl_lr_schedule *s, double epoch, double want)
{
    double lr = wl_lr_schedule_at(s, epoch);
    if (!(fabs(lr - want) <= 1e-12)) fail_msg("lr(%g) = %.15g, want %.15g", epoch, lr, want);
}

/* Huber's recipe: lr .1 x GBS/256, five epochs of warm-up, halved after five epochs without improvement. */
static void test_warmup_rises_and_plateau_cuts(void **state)
{
    (void)state;
    struct wl_lr_schedule s = make((struct wl_lr_schedule_opts) { .kind = "plateau",
                                                                  .lr = 0.1,
                                                                  .scale = true,
                                                                  .global_batch = 1024,
                                                                  .warmup_epochs = 5,
                                                                  .factor = 0.5,
                                                                  .patience = 5 });
    lr_is(&s, 0, 0.1);
    lr_is(&s, 2.5, 0.25);
    lr_is(&s, 5, 0.4);
    wl_lr_schedule_epoch_end(&s, 2.0);
    for (int i = 0; i < 5; i++) wl_lr_schedule_epoch_end(&s, i % 2 ? 2.0 : NAN);
    lr_is(&s, 11, 0.4);                    /* five are forgiven */
    wl_lr_schedule_epoch_end(&s, 1.99995); /* better by less than the threshold */
    lr_is(&s, 12, 0.2);
    wl_lr_schedule_epoch_end(&s, 1.5);
    assert_int_equal(s.bad, 0);
    for (int i = 0; i < 6; i++) wl_lr_schedule_epoch_end(&s, 1.5);
    lr_is(&s, 19, 0.1);
}

static void test_plateau_stops_at_the_minimum(void **state)
{
    (void)state;
    struct wl_lr_schedule s = make((struct wl_lr_schedule_opts) { .kind = "plateau", .lr = 1, .min_lr = 0.05 });
    for (int i = 0; i < 4; i++) wl_lr_schedule_epoch_end(&s, 1);
    lr_is(&s, 4, 0.05);
}

static void test_step_cuts_at_intervals(void **state)
{
    (void)state;
    struct wl_lr_schedule s = make((struct wl_lr_schedule_opts) { .kind = "step", .lr = 1, .step_epochs = 30 });
    lr_is(&s, 29.99, 1);
    lr_is(&s, 30, 0.1);
    lr_is(&s, 60, 0.01);
}

static void test_cosine_falls_to_the_minimum(void **state)
{
    (void)state;
    struct wl_lr_schedule s = make(
        (struct wl_lr_schedule_opts) { .kind = "cosine", .lr = 2, .epochs = 10, .warmup_epochs = 2, .min_lr = 0.5 });
    lr_is(&s, 0, 0);
    lr_is(&s, 1, 1);
    lr_is(&s, 2, 2);
    lr_is(&s, 6, 1.25);
    lr_is(&s, 10, 0.5);
    lr_is(&s, 12, 0.5);
}

static void test_linear_falls_to_the_minimum(void **state)
{
    (void)state;
    struct wl_lr_schedule s = make(
        (struct wl_lr_schedule_opts) { .kind = "linear", .lr = 2, .epochs = 10, .warmup_epochs = 2, .min_lr = 0.5 });
    lr_is(&s, 1, 1);
    lr_is(&s, 2, 2);
    lr_is(&s, 4, 1.625);
    lr_is(&s, 10, 0.5);
    lr_is(&s, 12, 0.5);
}

static void test_constant_stays(void **state)
{
    (void)state;
    struct wl_lr_schedule s = make((struct wl_lr_schedule_opts) { .lr = 0.3 });
    lr_is(&s, 0, 0.3);
    lr_is(&s, 1e6, 0.3);
    wl_lr_schedule_epoch_end(&s, 5);
    assert_true(isinf(s.best)); /* only plateau looks at losses */
}

static void test_bad_options_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct wl_lr_schedule_opts o;
        const char *says;
    } bad[] = {
        { { .kind = "cosin", .lr = 1 }, "schedule 'cosin' is not known; did you mean 'cosine'?" },
        { { .lr = -1 }, "lr is -1, expected at least 0" },
        { { .lr = NAN }, "lr is nan" },
        { { .lr = 1, .scale = true }, "global_batch is 0" },
        { { .lr = 1, .factor = 1.5 }, "factor is 1.5, expected 0 < factor < 1" },
        { { .lr = 1, .kind = "step" }, "step_epochs is 0" },
        { { .lr = 1, .kind = "cosine", .epochs = 3, .warmup_epochs = 3 },
          "cosine expects more than warmup_epochs (3)" },
        { { .lr = 1, .kind = "linear", .epochs = 1, .warmup_epochs = 2 },
          "linear expects more than warmup_epochs (2)" },
        { { .lr = 1, .patience = -2 }, "patience is -2" },
        { { .lr = 1, .min_lr = -2 }, "min_lr is -2" },
        { { .lr = 1, .warmup_epochs = -2 }, "warmup_epochs is -2" },
    };
    for (size_t i = 0; i < WL_COUNT(bad); i++) {
        struct wl_lr_schedule s;
        struct wl_err e = { 0 };
        assert_int_equal(wl_lr_schedule_init(&s, &bad[i].o, &e), WL_EINVAL);
        if (!strstr(e.msg, bad[i].says)) fail_msg("'%s' does not say '%s'", e.msg, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warmup_rises_and_plateau_cuts), cmocka_unit_test(test_plateau_stops_at_the_minimum),
        cmocka_unit_test(test_step_cuts_at_intervals),        cmocka_unit_test(test_cosine_falls_to_the_minimum),
        cmocka_unit_test(test_linear_falls_to_the_minimum),   cmocka_unit_test(test_constant_stays),
        cmocka_unit_test(test_bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
