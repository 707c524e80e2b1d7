/* The policy: the published example, the beta distribution as a limit, choices. */
#include "near.h"

#include "advise/advise.h"

/* docs/adr/115 */
static void worked_example(void **state)
{
    double p[17];
    (void)state;
    for (size_t i = 0; i < 16; i++) p[i] = 1;
    p[16] = 0.3;
    const struct wl_advise_policy_share v = wl_advise_policy_share(p, 17, 1, 20, 0.9);
    near(v.mean, .93333333, 1e-8);
    near(v.lo, 0.8, 1e-12);
    near(v.hi, 1, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(worked_example) };
    return cmocka_run_group_tests_name("advise-policy", tests, NULL, NULL);
}
