/* Where a job is: what Slurm's programs print. */
#include "campaign/batch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct wl_arena *a;

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

static void nodes_in_lists(void **state)
{
    (void)state;
    static const struct {
        const char *list, *name;
        bool has;
    } v[] = {
        { "n1", "n1", true },
        { "n1", "n10", false },
        { "n10", "n1", false },
        { "n[1-4]", "n3", true },
        { "n[1-4]", "n5", false },
        { "n[1-4]", "n03", false }, /* another node */
        { "n[1-4]", "n", false },
        { "n[001-128]", "n017", true },
        { "n[001-128]", "n17", false },
        { "n[001-128]", "n0017", false },
        { "n[08,10-12],login", "n11", true },
        { "n[08,10-12],login", "n09", false },
        { "n[08,10-12],login", "login", true },
        { "gpu-[1,3]-ib,n[7-9]", "gpu-3-ib", true },
        { "gpu-[1,3]-ib,n[7-9]", "gpu-3", false },
        { "gpu-[1,3]-ib,n[7-9]", "n8", true },
        { "r[1-2]n[1-4]", "r1n1", false }, /* not read, and so in no switch */
        { "n[1-", "n1", false },
        { "n]1[", "n1", false },
        { "n[]", "n", false },
        { "n[999999999999999999999]", "n999999999999999999999", false },
        { "", "n1", false },
    };
    for (size_t i = 0; i < WL_COUNT(v); i++)
        if (wl_batch_hosts_have(v[i].list, v[i].name) != v[i].has) fail_msg("%s in %s", v[i].name, v[i].list);
}

static struct wl_strs list(const char *text) { return wl_str_split(a, text, ','); }

static void switches_of_nodes(void **state)
{
    (void)state;
    static const char topology[] = "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=s[1-3]\n"
                                   "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-4]\n"
                                   "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[5-7]\n"
                                   "SwitchName=s3 Level=0 LinkSpeed=1 Nodes=n8\n";
    struct wl_strs nodes = list("n3");
    assert_string_equal(wl_batch_switches(topology, &nodes, a), "s1");
    nodes = list("n8,n1,n2");
    assert_string_equal(wl_batch_switches(topology, &nodes, a), "s1,s3");
    nodes = list("n1,n9");
    assert_null(wl_batch_switches(topology, &nodes, a));
    nodes = list("n1");
    assert_null(wl_batch_switches("No topology information available\n", &nodes, a));
    assert_null(wl_batch_switches("", &nodes, a));
}

static void the_queue_of_its_nodes(void **state)
{
    (void)state;
    struct wl_placement_row row = { .queue_wait_s = NAN };
    wl_batch_placement_read("47|1700000000|1700000012\n", "47", &row, a);
    assert_string_equal(row.other_jobs, "");
    assert_true(row.queue_wait_s == 12);
    wl_batch_placement_read("12|1700000001|1700000002\n47|N/A|1700000012\n470|1|2\nslurm_load_jobs error\n\n", "47",
                            &row, a);
    assert_string_equal(row.other_jobs, "12,470");
    assert_true(row.queue_wait_s == 12);
    wl_batch_placement_read("470|1|2\n13|1|2\n", "47", &row, a);
    assert_string_equal(row.other_jobs, "12,470,13");
    row = (struct wl_placement_row) { .queue_wait_s = NAN };
    wl_batch_placement_read("47|1700000012|1700000000\n", "47", &row, a); /* a clock that was set back */
    assert_true(isnan(row.queue_wait_s));
}

static void clocks_that_slurm_is_asked_for(void **state)
{
    (void)state;
    struct wl_experiment x = { .launch.batch.gpus_per_node = 1, .cap.opts.setter = "slurm" };
    struct wl_trial t = { .workers = 1, .cap = wl_cap_none };
    const struct wl_batch_request r = { .x = &x, .trial = &t, .name = "j", .output = "o", .nodes = 1 };
    assert_null(strstr(wl_batch_slurm.directives(&r, a), "freq"));
    t.cap.value[WL_CAP_CLOCK] = 1005;
    assert_non_null(strstr(wl_batch_slurm.directives(&r, a), "#SBATCH --gpu-freq=1005\n"));
    t.cap.value[WL_CAP_MEM_CLOCK] = 1215;
    assert_non_null(strstr(wl_batch_slurm.directives(&r, a), "#SBATCH --gpu-freq=1005,memory=1215\n"));
    x.launch.batch.gpus_per_node = 0;
    t.cap.value[WL_CAP_MEM_CLOCK] = NAN;
    assert_non_null(strstr(wl_batch_slurm.directives(&r, a), "#SBATCH --cpu-freq=low-1005000\n"));
    x.cap.opts.setter = "nvml";
    assert_null(strstr(wl_batch_slurm.directives(&r, a), "freq"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(nodes_in_lists),
        TEST(switches_of_nodes),
        TEST(the_queue_of_its_nodes),
        TEST(clocks_that_slurm_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
