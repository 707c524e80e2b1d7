/* Names of jobs and shards, which come from a folder that others may write to. */
#include "campaign/batch.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* 3,000 ids of 60 bytes are more than one argument of a program holds, 128 KiB: each is asked for, and each once. */
static void ids_of_thousands_of_jobs_are_split(void **state)
{
    enum { JOBS = 3000 };
    (void)state;
    struct wl_experiment x = { .launch.batch = { .states_command = "for i in {jobs}; do echo $i running; done" } };
    struct wl_batch_job *v = wl_new_array(a, struct wl_batch_job, JOBS);
    struct wl_strs ids = { 0 };
    struct wl_err e;
    for (size_t i = 0; i < JOBS; i++) {
        v[i] = (struct wl_batch_job) { .id = wl_strf(a, "%zu.a-server-with-a-long-name-on-a-site-with-a-long.name", i),
                                       .token = "t" };
        wl_strs_add(a, &ids, v[i].id);
    }
    if (wl_batch_command.states(&x, v, JOBS, a, &e) < 0) fail_msg("%s", e.msg);
    for (size_t i = 0; i < JOBS; i++) assert_int_equal(v[i].state, WL_BATCH_RUNNING);
    size_t calls = 0;
    for (size_t from = 0, end; from < JOBS; from = end, calls++) {
        end = wl_batch_ids_end(&ids, from);
        assert_true(end > from && end <= JOBS);
    }
    assert_int_equal(calls, 2);
    x.launch.batch.states_command = "echo once >&2; for i in 7; do echo $i done; done"; /* it lists all of a user */
    v[0].id = "7";
    if (wl_batch_command.states(&x, v, JOBS, a, &e) < 0) fail_msg("%s", e.msg);
    assert_int_equal(v[0].state, WL_BATCH_DONE);
    assert_int_equal(v[1].state, WL_BATCH_UNKNOWN);
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
        .x = &x, .trial = &t, .name = "lab.r1.t", .output = "/a %u b/o.%j", .nodes = 2, .time_limit_s = 90061
    };
    assert_string_equal(wl_batch_slurm.directives(&r, a), "#SBATCH --job-name=lab.r1.t\n"
                                                          "#SBATCH --output='/a %%u b/o.%j'\n"
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

/* ---- shards that change while they are read ---- */

enum { SHARD_BYTES = 4 << 20, LOOKS = 30 };

struct shard {
    char path[64];
    struct wl_batch_shard_name name;
    atomic_bool ended;
};

static void make_shard(struct shard *s)
{
    char *bytes = wl_alloc(a, SHARD_BYTES);
    memset(bytes, 7, SHARD_BYTES);
    snprintf(s->path, sizeof s->path, "shard-XXXXXX");
    const int fd = mkstemp(s->path);
    assert_true(fd >= 0 && write(fd, bytes, SHARD_BYTES) == SHARD_BYTES);
    close(fd);
    s->name.crc = wl_crc32c(0, bytes, SHARD_BYTES);
}

static void *cut_off(void *of)
{
    struct shard *s = of;
    while (!s->ended) (void)!(truncate(s->path, 100) || truncate(s->path, SHARD_BYTES));
    return NULL;
}

/* Reading a mapped file past its end would end the process. */
static void a_shard_that_is_cut_off_meanwhile_is_damaged(void **state)
{
    struct shard s = { .ended = false };
    pthread_t other;
    (void)state;
    make_shard(&s);
    assert_null(wl_batch_shard_damage(s.path, &s.name, a));
    assert_int_equal(pthread_create(&other, NULL, cut_off, &s), 0);
    while (wl_batch_shard_damage(s.path, &s.name, a) == NULL) continue;
    for (int i = 0; i < LOOKS; i++)
        assert_non_null(strstr(wl_batch_shard_damage(s.path, &s.name, a), "it is truncated or damaged"));
    s.ended = true;
    pthread_join(other, NULL);
    unlink(s.path);
}

/* The checksum of nothing is 0, which a name may say. */
static void an_empty_shard_is_damaged(void **state)
{
    struct wl_batch_shard_name name = { .crc = wl_crc32c(0, "", 0) };
    char path[] = "shard-XXXXXX";
    (void)state;
    close(mkstemp(path));
    const char *why = wl_batch_shard_damage(path, &name, a);
    unlink(path);
    assert_non_null(why);
}

static void a_shard_is_no_link(void **state)
{
    struct shard s;
    (void)state;
    make_shard(&s);
    assert_int_equal(symlink(s.path, "shard-link"), 0);
    const char *why = wl_batch_shard_damage("shard-link", &s.name, a);
    assert_non_null(why);
    assert_non_null(strstr(why, "shard-link: a symbolic link, which is not followed"));
    unlink("shard-link");
    unlink(s.path);
}

/* Tests of root alone can make a link of somebody else. */
static void folders_of_others_are_not_followed(void **state)
{
    struct wl_err e;
    (void)state;
    if (geteuid() != 0) skip();
    assert_int_equal(symlink("/tmp", "shards"), 0);
    assert_int_equal(wl_batch_folders_check(".", a, &e), 0);
    assert_int_equal(lchown("shards", 12345, 12345), 0);
    assert_int_equal(wl_batch_folders_check(".", a, &e), WL_EPERM);
    assert_non_null(strstr(e.msg, "./shards: a symbolic link of another user, which is not followed"));
    unlink("shards");
}

/* ---- campaigns in which nothing works ---- */

static void causes_are_alike(void **state)
{
    (void)state;
    const char *one = wl_sweep_cause("exit status 127", "/opt/17/x: line 3: toy: not found", a);
    assert_string_equal(one, "exit status 127 line toy: not found");
    assert_string_equal(one, wl_sweep_cause("exit status 127", "/opt/18/x: line 4: toy: not found", a));
    assert_string_not_equal(one, wl_sweep_cause("exit status 1", "/opt/17/x: line 3: toy: not found", a));
    assert_string_not_equal(one, wl_sweep_cause("exit status 127", "/opt/17/x: line 3: top: not found", a));
    assert_string_equal(wl_sweep_cause("job 4711 on n[1-2] failed: NonZeroExitCode", NULL, a),
                        "failed: NonZeroExitCode");
    assert_string_equal(wl_sweep_cause("job 4712_3 failed: NonZeroExitCode", "", a), "failed: NonZeroExitCode");
    assert_string_equal(wl_sweep_cause("exit status 1", "cannot open /scratch/a", a),
                        wl_sweep_cause("exit status 1", "cannot open /scratch/b", a));
    assert_null(wl_sweep_cause("job 4711 on n1 was cancelled", NULL, a));
    assert_null(wl_sweep_cause("cancelled by ann@login1", NULL, a));
    assert_null(wl_sweep_cause("job 4711 on n1 failed: OUT_OF_MEMORY", NULL, a));
    assert_null(wl_sweep_cause("exit status 1", "RuntimeError: CUDA out of memory.", a));
    assert_non_null(wl_sweep_cause(NULL, NULL, a));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_option_is_not_the_id_of_a_job),
        TEST(ids_of_thousands_of_jobs_are_split),
        TEST(a_shard_name_is_read_back),
        TEST(other_names_are_refused),
        TEST(names_of_files_are_plain),
        TEST(tokens_differ),
        TEST(states_have_names),
        TEST(directives_are_what_the_keys_say),
        TEST(a_shard_that_is_cut_off_meanwhile_is_damaged),
        TEST(an_empty_shard_is_damaged),
        TEST(a_shard_is_no_link),
        TEST(folders_of_others_are_not_followed),
        TEST(causes_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
