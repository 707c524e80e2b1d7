/* The batch search: published worked example, and what must hold whatever the data. */
#include "near.h"

#include "advise/advise.h"

static struct wl_advise_batch *new_search(const struct wl_advise_batch_opts *o, struct wl_arena *a)
{
    struct wl_advise_batch *s = NULL;
    struct wl_err e;
    if (wl_advise_batch_new(&s, o, a, &e)) fail_msg("%s", e.msg);
    return s;
}

static void add(struct wl_advise_batch *s, size_t i, enum wl_advise_batch_outcome outcome, double cost)
{
    struct wl_err e;
    if (wl_advise_batch_add(s, &(struct wl_advise_batch_trial) { i, outcome, cost }, &e)) fail_msg("%s", e.msg);
}

/* docs/adr/116 */
static void worked_example(void **state)
{
    static const double batch[] = { 32, 64, 128, 256, 512 };
    static const double mean[] = { 5.6685076, 5.2242551, 4.7857613, 4.8079975, 5.0989398 };
    static const double sd[] = { .483928, .2160821, .1566211, .1553388, .4309053 };
    static const double gain[] = { .01175919, 0, .0256522, .02486252, .07108372 };
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_batch_opts o = wl_advise_batch_defaults(batch, 5, 2);
    struct wl_advise_batch *s = new_search(&o, a);
    (void)state;
    add(s, 2, WL_ADVISE_BATCH_REACHED, 100);
    add(s, 3, WL_ADVISE_BATCH_REACHED, 130);
    add(s, 1, WL_ADVISE_BATCH_STOPPED, 200);
    const struct wl_advise_batch_estimate *v = wl_advise_batch_estimates(s);
    for (size_t i = 0; i < 5; i++) {
        near(v[i].ln_cost, mean[i], 1e-7);
        near(v[i].sd, sd[i], 1e-7);
        near(v[i].gain, gain[i], 1e-8);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(worked_example) };
    return cmocka_run_group_tests_name("advise-batch", tests, NULL, NULL);
}
