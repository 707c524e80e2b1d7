/* Names of jobs and shards, which come from a folder that others may write to. */
#include "campaign/batch.h"

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

/* A store from somebody else may hold any id. */
static void an_option_is_not_the_id_of_a_job(void **state)
{
    static const char *const ids[] = { "", "--user=root", "4711 --user=root", "n1", "4711;x" };
    (void)state;
    for (size_t i = 0; i < WL_COUNT(ids); i++) {
        struct wl_strs jobs = { 0 };
        struct wl_err e;
        wl_strs_add(a, &jobs, ids[i]);
        assert_int_equal(wl_batch_slurm.cancel(NULL, &jobs, a, &e), WL_EINVAL);
        assert_non_null(strstr(e.msg, "expected the id of a job of Slurm"));
    }
}

static void a_shard_name_is_read_back(void **state)
{
    (void)state;
    struct wl_batch_shard_name out;
    const struct wl_batch_shard_name n = {
        .trial = "0123456789abcdef", .repeat = 12, .job = "4711_site", .status = WL_RUN_INTERRUPTED, .crc = 0xdeadbeef
    };
    const char *name = wl_batch_shard_name(&n, a);
    assert_string_equal(name, "0123456789abcdef.r12.4711_site.interrupted.deadbeef.db");
    assert_true(wl_batch_shard_parse(name, &out, a));
    assert_string_equal(out.trial, n.trial);
    assert_string_equal(out.job, n.job);
    assert_int_equal(out.repeat, 12);
    assert_int_equal(out.status, WL_RUN_INTERRUPTED);
    assert_int_equal(out.crc, 0xdeadbeef);
}

static void other_names_are_refused(void **state)
{
    static const char *const names[] = { "",
                                         "db",
                                         "0123456789abcdef.r1.1.done.deadbeef",
                                         "0123456789abcdef.r1.1.done.deadbeef.db.old",
                                         "0123456789abcdeF.r1.1.done.deadbeef.db",
                                         "0123456789abcde.r1.1.done.deadbeef.db",
                                         "0123456789abcdef.1.1.done.deadbeef.db",
                                         "0123456789abcdef.r0.1.done.deadbeef.db",
                                         "0123456789abcdef.r-1.1.done.deadbeef.db",
                                         "0123456789abcdef.r99999999999999999999.1.done.deadbeef.db",
                                         "0123456789abcdef.r1..done.deadbeef.db",
                                         "0123456789abcdef.r1.1.planned.deadbeef.db",
                                         "0123456789abcdef.r1.1.running.deadbeef.db",
                                         "0123456789abcdef.r1.1.done.deadbee.db",
                                         "0123456789abcdef.r1.1.done.deadbeef0.db",
                                         "../../etc/passwd.r1.1.done.deadbeef.db" };
    struct wl_batch_shard_name out;
    (void)state;
    for (size_t i = 0; i < WL_COUNT(names); i++)
        if (wl_batch_shard_parse(names[i], &out, a)) fail_msg("'%s' was taken for a shard", names[i]);
}

static void names_of_files_are_plain(void **state)
{
    (void)state;
    const struct wl_trial t = { .label = "workers=4 note=a/b;$(x) local_batch=16 lr=0.1 and much more than that" };
    assert_string_equal(wl_batch_file_id("12[3].pbs-1", a), "12_3__pbs-1");
    const char *name = wl_batch_run_name(&t, "0123456789abcdef", 2, a);
    assert_string_equal(name, "workers-4_note-a_b___x__local_batch-16_lr-0_1_an.0123456789abcdef.r2");
    assert_string_equal(wl_batch_run_name(&(struct wl_trial) { .label = "a" }, NULL, 1, a), "a.r1");
}

static void tokens_differ(void **state)
{
    (void)state;
    const char *first = wl_batch_token(a), *second = wl_batch_token(a);
    assert_int_equal(strlen(first), 12);
    assert_string_not_equal(first, second);
}

static void states_have_names(void **state)
{
    (void)state;
    for (int i = WL_BATCH_UNKNOWN; i <= WL_BATCH_CANCELLED; i++)
        assert_int_equal(wl_batch_state_find(wl_batch_state_names[i]), i);
    assert_int_equal(wl_batch_state_find("exploded"), WL_BATCH_UNKNOWN);
    assert_int_equal(wl_batch_state_find(NULL), WL_BATCH_UNKNOWN);
}

/* What a script asks Slurm for. */
static void directives_are_what_the_keys_say(void **state)
{
    (void)state;
    struct wl_experiment x = { .launch.batch = { .partition = "gpu",
                                                 .gpus_per_node = 4,
                                                 .exclusive = true,
                                                 .sbatch_options = "--mem=0 --hint=nomultithread" } };
    const struct wl_trial t = { .workers = 8, .threads = 2 };
    const struct wl_batch_request r = {
        .x = &x, .trial = &t, .name = "lab.r1.t", .output = "/a b/o.%j", .nodes = 2, .time_limit_s = 90061
    };
    assert_string_equal(wl_batch_slurm.directives(&r, a), "#SBATCH --job-name=lab.r1.t\n"
                                                          "#SBATCH --output='/a b/o.%j'\n"
                                                          "#SBATCH --open-mode=append\n"
                                                          "#SBATCH --no-requeue\n"
                                                          "#SBATCH --partition=gpu\n"
                                                          "#SBATCH --nodes=2\n"
                                                          "#SBATCH --ntasks=8\n"
                                                          "#SBATCH --cpus-per-task=2\n"
                                                          "#SBATCH --gpus-per-node=4\n"
                                                          "#SBATCH --time=1-01:02:00\n"
                                                          "#SBATCH --exclusive\n"
                                                          "#SBATCH --mem=0 --hint=nomultithread\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_option_is_not_the_id_of_a_job),
        TEST(a_shard_name_is_read_back),
        TEST(other_names_are_refused),
        TEST(names_of_files_are_plain),
        TEST(tokens_differ),
        TEST(states_have_names),
        TEST(directives_are_what_the_keys_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
