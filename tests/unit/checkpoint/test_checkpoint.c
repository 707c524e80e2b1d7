/* Checkpoints: what is written comes back bit by bit, damage is found, other networks are refused. */
#include "nn/checkpoint/checkpoint.h"

#include "forge.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct wl_arena *a;
static struct wl_err e;
static struct wl_comm *alone;
static char dir[64];

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    memset(&e, 0, sizeof e);
    strcpy(dir, "/tmp/wl-checkpoint-XXXXXX");
    if (!mkdtemp(dir)) return -1;
    return wl_comm_open(&alone, &(struct wl_comm_opts) { .backend = "null" }, a, &e);
}

static int teardown(void **state)
{
    (void)state;
    char *rm[] = { "rm", "-rf", dir, NULL };
    struct wl_process_result x;
    int rc = wl_process_run(&(struct wl_process_run) { .argv = rm }, NULL, &x, a, &e);
    wl_arena_free(a);
    return rc;
}

/* A small network with every kind of state. */
static struct wl_plan *network_of(int64_t channels, const char *name, struct wl_optim optim)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(2, 3, 4, 4)), *y = wl_input(g, "y", WL_I32, WL_DIMS(2));
    struct wl_conv conv = { .channels = channels, .kernel = { 3, 3 }, .pad = { 1, 1 } };
    struct wl_tensor *h =
        wl_batch_norm(g, "norm", wl_conv2d(g, name, x, conv), (struct wl_batch_norm_opts) { .relu = true });
    wl_cross_entropy(g, "loss", wl_linear(g, "fc", h, 5), y, (struct wl_loss) { .weight = 1 });
    struct wl_plan_opts how = { .backend = "ref", .threads = 1, .seed = 1, .optim = optim };
    struct wl_plan *p;
    if (wl_plan_new(&p, g, &how, alone, a, &e)) fail_msg("%s", e.msg);
    return p;
}

static struct wl_plan *network(int64_t channels, const char *name)
{
    return network_of(channels, name, (struct wl_optim) { .momentum = 0.9 });
}

/* Gives state i of a plan values that tell i, `salt` and the place. */
static float value(size_t i, size_t k, int salt) { return (float)(1000 * (int)i + salt) + (float)k / 1024; }

static void fill(struct wl_plan *p, int salt)
{
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        size_t n = wl_plan_state(p, i).count;
        float *x = wl_new_array(a, float, n);
        for (size_t k = 0; k < n; k++) x[k] = value(i, k, salt);
        assert_int_equal(wl_plan_state_write(p, i, x, &e), 0);
    }
}

static void check_filled(struct wl_plan *p, int salt)
{
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        size_t n = wl_plan_state(p, i).count;
        float *x = wl_new_array(a, float, n);
        assert_int_equal(wl_plan_state_read(p, i, x, &e), 0);
        for (size_t k = 0; k < n; k++) assert_true(x[k] == value(i, k, salt));
    }
}

static void save(struct wl_plan *p, int64_t update, int64_t keep)
{
    struct wl_json *head = wl_json_root_object(a);
    wl_json_add_str(head, "model", "test");
    wl_json_add_int(head, "update", update);
    fill(p, (int)update);
    if (wl_checkpoint_save(dir, update, keep, head, p, a, &e)) fail_msg("%s", e.msg);
}

static char *file(int64_t update) { return wl_strf(a, "%s/checkpoint-%010lld.wlc", dir, (long long)update); }

static int64_t newest(void)
{
    struct wl_checkpoint c;
    bool found;
    assert_int_equal(wl_checkpoint_newest(dir, &c, &found, a, &e), 0);
    return found ? wl_json_int(wl_json_get(c.head, "update"), -1) : -1;
}

static void test_saved_training_is_restored(void **state)
{
    (void)state;
    struct wl_plan *p = network(8, "conv"), *q = network(8, "conv");
    assert_int_equal(newest(), -1);
    save(p, 12, 2);
    struct wl_checkpoint c;
    bool found;
    assert_int_equal(wl_checkpoint_newest(dir, &c, &found, a, &e), 0);
    assert_true(found);
    assert_string_equal(wl_json_str(wl_json_get(c.head, "model")), "test");
    fill(q, 99);
    if (wl_checkpoint_restore(&c, q, alone, a, &e)) fail_msg("%s", e.msg);
    check_filled(q, 12);
}

static float *values(struct wl_plan *p, size_t i)
{
    float *x = wl_new_array(a, float, wl_plan_state(p, i).count);
    assert_int_equal(wl_plan_state_read(p, i, x, &e), 0);
    return x;
}

/* A network of another optimizer takes what was learnt, and keeps its own optimizer's memory. */
static void test_weights_start_another_training(void **state)
{
    (void)state;
    struct wl_plan *p = network(8, "conv"), *q = network_of(8, "conv", (struct wl_optim) { .kind = "adam" });
    save(p, 12, 2);
    fill(q, 99);
    struct wl_checkpoint c;
    assert_int_equal(wl_checkpoint_open(file(12), &c, a, &e), 0);
    if (wl_checkpoint_load_weights(&c, q, a, &e)) fail_msg("%s", e.msg);
    size_t from = 0;
    for (size_t i = 0; i < wl_plan_state_count(q); i++) {
        const struct wl_state s = wl_plan_state(q, i);
        if (s.kind == WL_STATE_OPTIM) {
            assert_true(values(q, i)[0] == value(i, 0, 99));
            continue;
        }
        while (strcmp(wl_plan_state(p, from).name, s.name)) from++;
        assert_memory_equal(values(q, i), values(p, from), s.count * sizeof(float));
    }
}

static void test_weights_of_another_network_are_refused(void **state)
{
    (void)state;
    struct wl_checkpoint c;
    save(network(8, "conv"), 12, 2);
    assert_int_equal(wl_checkpoint_open(file(12), &c, a, &e), 0);
    assert_int_equal(wl_checkpoint_load_weights(&c, network(9, "conv"), a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "conv.weight is [8,3,3,3] there and [9,3,3,3] in this network"));
    assert_int_equal(wl_checkpoint_load_weights(&c, network(8, "other"), a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "holds conv.weight where this network has other.weight"));
    assert_int_equal(wl_checkpoint_check_text(&c, "model", "test", &e), 0);
    assert_int_equal(wl_checkpoint_check_int(&c, "update", 12, 13, &e), 0);
    assert_int_equal(wl_checkpoint_check_int(&c, "update", 13, 13, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "was made with update 12, this is 13"));
    assert_int_equal(wl_checkpoint_check_int(&c, "unheard_of", 1, 1, &e), 0);
    assert_int_equal(wl_checkpoint_check_int(&c, "unheard_of", 2, 1, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "was made with unheard_of 1, this is 2"));
    assert_int_equal(wl_checkpoint_check_int(&c, "unheard_of", 1, -1, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "does not say its unheard_of, this is 1"));
    assert_int_equal(truncate(file(12), (off_t)c.data + 100), 0); /* truncated after it was opened */
    assert_int_equal(wl_checkpoint_load_weights(&c, network(8, "conv"), a, &e), WL_EIO);
}

static void test_newest_checkpoints_are_kept(void **state)
{
    (void)state;
    struct wl_plan *p = network(8, "conv");
    wl_log_init(WL_ERROR, -1);
    char *theirs = wl_path_join(a, dir, "checkpoint.tmp"), *other = wl_path_join(a, dir, "checkpoint-x.wlc"),
         *not_one = file(6000000000), torn[WL_TEMPFILE_PATH];
    assert_int_equal(wl_file_write(theirs, "half", 4, &e), 0);
    assert_int_equal(wl_file_write(other, "mine", 4, &e), 0);
    assert_int_equal(wl_file_write(not_one, "a name of ours, not a checkpoint", 32, &e), 0);
    int fd = wl_tempfile(torn, file(2500000000), 0666, &e);
    assert_true(fd >= 0);
    close(fd);                                                   /* as if its writer had been killed */
    for (int64_t u = 1; u <= 5; u++) save(p, u * 2500000000, 3); /* past ten digits: order by number */
    assert_false(wl_is_file(file(2500000000)) || wl_is_file(file(5000000000)));
    assert_true(wl_is_file(file(7500000000)) && wl_is_file(file(10000000000)) && wl_is_file(file(12500000000)));
    assert_false(wl_is_file(torn));
    assert_true(wl_is_file(theirs) && wl_is_file(other) && wl_is_file(not_one));
    assert_int_equal(newest(), 12500000000);
}

static void flip(const char *path, off_t at)
{
    int fd = open(path, O_RDWR);
    unsigned char byte = 0;
    assert_true(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 0x10;
    assert_true(pwrite(fd, &byte, 1, at) == 1);
    close(fd);
}

/* One bit anywhere, or a lost end: the file is passed over and the one before it taken. */
static void test_damaged_file_is_skipped(void **state)
{
    (void)state;
    struct wl_plan *p = network(8, "conv");
    wl_log_init(WL_ERROR, -1);
    save(p, 1, 9);
    save(p, 2, 9);
    struct stat st;
    assert_int_equal(stat(file(2), &st), 0);
    const off_t places[] = { 0, 7, 8, 9, 12, 100, 1000, st.st_size / 2, st.st_size - 5, st.st_size - 1 };
    for (size_t i = 0; i < WL_COUNT(places); i++) {
        flip(file(2), places[i]);
        if (newest() != 1) fail_msg("a flipped bit at byte %lld was not seen", (long long)places[i]);
        flip(file(2), places[i]);
        assert_int_equal(newest(), 2);
    }
    const off_t lengths[] = { st.st_size - 1, st.st_size / 2, 64, 13, 12, 8, 3, 0 };
    for (size_t i = 0; i < WL_COUNT(lengths); i++) {
        assert_int_equal(truncate(file(2), lengths[i]), 0);
        if (newest() != 1) fail_msg("a file of %lld bytes was taken", (long long)lengths[i]);
    }
    struct wl_checkpoint c;
    assert_int_not_equal(wl_checkpoint_open(file(2), &c, a, &e), 0);
    assert_non_null(strstr(e.msg, file(2)));
}

static void refuse(struct wl_plan *q, const char *one, const char *other)
{
    struct wl_checkpoint c;
    bool found;
    assert_int_equal(wl_checkpoint_newest(dir, &c, &found, a, &e), 0);
    assert_int_equal(wl_checkpoint_restore(&c, q, alone, a, &e), WL_EINVAL);
    if (!strstr(e.msg, one) || !strstr(e.msg, other)) fail_msg("%s", e.msg);
}

static void test_other_networks_are_refused(void **state)
{
    (void)state;
    save(network(8, "conv"), 1, 2);
    refuse(network(16, "conv"), "[8,3,3,3]", "[16,3,3,3]");
    refuse(network(8, "stem"), "conv.weight", "stem.weight");
}

/* The list of tensors is what a writer makes: each after the one before, to the end of the file. */
static void test_forged_lists_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *message;
    } forgeries[] = {
        { "\"offset\"", "7", "tensor conv.weight: offset is 7, expected 0, after the tensors before it" },
        { "\"offset\"", "-64", "tensor conv.weight: offset is -64, expected 0" },
        { "\"offset\"", "9223372036854775807", "tensor conv.weight: offset is 9223372036854775807, expected 0" },
        { "\"kind\"", "\"other\"",
          "tensor conv.weight: kind is \"other\", expected parameter, optimizer or statistic" },
        { "\"kind\"", "\"statistic\"", "conv.weight has kind statistic there and parameter in this network" },
        { "\"dims\"", "[0", "tensor conv.weight: dims is [0, 3, 3, 3], expected a list of sizes" },
        { "\"dims\"", "[4611686018427387904", "expected a list of sizes" },
        { "\"dims\"", "[9", "tensor conv.weight.momentum: offset is 896, expected 1024" },
        { "\"tensors\"", "[], \"x\": [{\"name\": \"y\"", "bytes of tensors, expected 0 as its header lists them" },
    };
    struct wl_plan *p = network(8, "conv");
    char *path = wl_path_join(a, dir, "forged");
    save(p, 1, 2);
    for (size_t i = 0; i < WL_COUNT(forgeries); i++) {
        struct wl_checkpoint c;
        forge(path, file(1), forgeries[i].key, forgeries[i].value, a);
        int rc = wl_checkpoint_open(path, &c, a, &e);
        if (!rc) rc = wl_checkpoint_restore(&c, p, alone, a, &e);
        if (rc != WL_EINVAL || !strstr(e.msg, path) || !strstr(e.msg, forgeries[i].message))
            fail_msg("%s set to %s: %d, %s", forgeries[i].key, forgeries[i].value, rc, e.msg);
    }
}

static void refuse_value(const char *state_name, float bad, const char *message)
{
    struct wl_plan *p = network_of(8, "conv", (struct wl_optim) { .kind = "adam" });
    size_t i = 0;
    while (strcmp(wl_plan_state(p, i).name, state_name)) i++;
    float *x = values(p, i);
    x[1] = bad;
    assert_int_equal(wl_plan_state_write(p, i, x, &e), 0);
    assert_int_equal(wl_checkpoint_save(dir, 1, 2, wl_json_root_object(a), p, a, &e), 0);
    struct wl_checkpoint c;
    assert_int_equal(wl_checkpoint_open(file(1), &c, a, &e), 0);
    const int rc = wl_checkpoint_restore(&c, p, alone, a, &e);
    if (!message && rc) fail_msg("%s", e.msg);
    if (message && (rc != WL_EINVAL || !strstr(e.msg, file(1)) || !strstr(e.msg, message)))
        fail_msg("%d, %s", rc, e.msg);
    if (message && wl_plan_state(p, i).kind != WL_STATE_OPTIM)
        assert_int_equal(wl_checkpoint_load_weights(&c, p, a, &e), WL_EINVAL);
}

/* With which the next loss would not be a number. */
static void test_values_that_cannot_train_are_refused(void **state)
{
    (void)state;
    refuse_value("fc.weight", NAN, "fc.weight: element 1 is nan, expected a finite number");
    refuse_value("fc.bias.exp_avg", INFINITY, "fc.bias.exp_avg: element 1 is inf, expected a finite number");
    refuse_value("fc.bias.exp_avg_sq", -1, "fc.bias.exp_avg_sq: element 1 is -1, expected at least 0");
    refuse_value("norm.running_var", -1, "norm.running_var: element 1 is -1, expected at least 0");
    refuse_value("fc.bias.exp_avg_sq", INFINITY, NULL);
}

static void test_folder_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    struct wl_plan *p = network(8, "conv");
    char *path = wl_path_join(a, dir, "file");
    assert_int_equal(wl_file_write(path, "x", 1, &e), 0);
    assert_int_not_equal(wl_checkpoint_save(path, 1, 2, wl_json_root_object(a), p, a, &e), 0);
    assert_non_null(strstr(e.msg, path));
}

/* As on a full disk: the write fails, what was there stays, nothing half-written is left. */
static void test_full_disk_leaves_the_old_checkpoint(void **state)
{
    (void)state;
    struct wl_plan *p = network(8, "conv");
    save(p, 1, 2);
    struct rlimit whole, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
    little = whole;
    little.rlim_cur = 2000;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN); /* an error instead of a signal */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    int rc = wl_checkpoint_save(dir, 2, 2, wl_json_root_object(a), p, a, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
    signal(SIGXFSZ, before);
    assert_int_equal(rc, WL_EIO);
    assert_non_null(strstr(e.msg, dir));
    struct wl_strs names = { 0 };
    assert_int_equal(wl_dir_list(dir, &names, a, &e), 0);
    assert_int_equal(names.n, 1);
    assert_int_equal(newest(), 1);
}

static void test_crc32c_equals_known_values(void **state)
{
    (void)state;
    assert_int_equal(wl_crc32c(0, "123456789", 9), 0xe3069283); /* the check value of the polynomial */
    unsigned char zeros[32] = { 0 };
    assert_int_equal(wl_crc32c(0, zeros, 32), 0x8a9136aa); /* RFC 3720, B.4 */
    assert_int_equal(wl_crc32c(wl_crc32c(0, "12345", 5), "6789", 4), 0xe3069283);
    assert_int_equal(wl_crc32c(0, "", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_saved_training_is_restored, setup, teardown),
        cmocka_unit_test_setup_teardown(test_weights_start_another_training, setup, teardown),
        cmocka_unit_test_setup_teardown(test_weights_of_another_network_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newest_checkpoints_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_file_is_skipped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_networks_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forged_lists_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values_that_cannot_train_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folder_that_cannot_be_written_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full_disk_leaves_the_old_checkpoint, setup, teardown),
        cmocka_unit_test(test_crc32c_equals_known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
