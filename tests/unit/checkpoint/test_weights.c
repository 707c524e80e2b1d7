/* Safetensors: what the reference package wrote is read, what is written comes back bit by bit, files that lie are
 * refused. */
#include "nn/checkpoint/safetensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct wl_arena *a;
static struct wl_err e;
static char path[64];

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    e = (struct wl_err) { 0 };
    strcpy(path, "/tmp/wl-weights-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    wl_arena_free(a);
    return unlink(path);
}

/* first.weight [3,2], first.bias [3], second.weight [4,3], second.bias [4] */
static struct wl_plan *network(int64_t features)
{
    struct wl_comm *alone;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(1, 2)), *y = wl_input(g, "y", WL_I32, WL_DIMS(1));
    struct wl_tensor *h = wl_linear(g, "second", wl_linear(g, "first", x, features), 4);
    wl_cross_entropy(g, "loss", h, y, (struct wl_loss) { .weight = 1 });
    struct wl_plan_opts how = { .backend = "ref", .threads = 1, .seed = 1, .optim = { .momentum = 0.9 } };
    struct wl_plan *p;
    if (wl_comm_open(&alone, &(struct wl_comm_opts) { .backend = "null" }, a, &e)) fail_msg("%s", e.msg);
    if (wl_plan_new(&p, g, &how, alone, a, &e)) fail_msg("%s", e.msg);
    return p;
}

static const float *values(struct wl_plan *p, const char *name)
{
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        struct wl_state s = wl_plan_state(p, i);
        if (strcmp(s.name, name) != 0) continue;
        float *x = wl_new_array(a, float, s.count);
        if (wl_plan_state_read(p, i, x, &e)) fail_msg("%s", e.msg);
        return x;
    }
    fail_msg("no state %s", name);
    return NULL;
}

/* As the golden file has them: some with "model." in front, "gamma" in place of "bias". */
static void names_of(const char *parameter, struct wl_strs *names, struct wl_arena *arena)
{
    wl_strs_add(arena, names, parameter);
    wl_strs_add(arena, names, wl_strf(arena, "model.%s", parameter));
    if (wl_str_eq(parameter, "first.bias")) wl_strs_add(arena, names, "model.first.gamma");
}

static bool ignored(const char *name) { return wl_str_eq(name, "model.position_ids"); }

static const struct wl_param_naming naming = { .names = names_of, .ignored = ignored };

static const char *golden(void) { return wl_strf(a, "%s/models/weights.safetensors", getenv("WL_GOLDEN")); }

static void test_file_of_the_reference_is_read(void **state)
{
    (void)state;
    struct wl_safetensors s;
    if (wl_safetensors_open(&s, golden(), a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(s.n, 7);
    for (size_t i = 0; i < s.n; i++) {
        float x[12];
        int rc = wl_safetensors_read(&s, &s.v[i], x, &e);
        if (wl_str_eq(s.v[i].dtype, "I64")) {
            assert_int_equal(rc, WL_EINVAL);
            assert_non_null(strstr(e.msg, "position_ids is of I64, not of reals"));
            continue;
        }
        assert_int_equal(rc, 0);
        for (size_t k = 0; k < s.v[i].count; k++) assert_true(x[k] == ((float)k - 5) / 4);
    }
}

static void test_parameters_are_found_by_name(void **state)
{
    (void)state;
    static const char *const parameters[] = { "first.weight", "first.bias", "second.weight", "second.bias" };
    static const size_t counts[] = { 6, 3, 12, 4 };
    struct wl_safetensors s;
    struct wl_plan *p = network(3);
    if (wl_safetensors_open(&s, golden(), a, &e)) fail_msg("%s", e.msg);
    if (wl_safetensors_load(&s, p, &naming, false, a, &e)) fail_msg("%s", e.msg);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < counts[i]; k++) assert_true(values(p, parameters[i])[k] == ((float)k - 5) / 4);
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(s.v[i].used, !strstr("model.position_ids pooler.weight scale", s.v[i].name));
}

static void test_another_shape_is_refused(void **state)
{
    (void)state;
    struct wl_safetensors s;
    if (wl_safetensors_open(&s, golden(), a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(wl_safetensors_load(&s, network(7), &naming, false, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "model.first.weight is [3,2] there and [7,2] in this network"));
}

static void test_saved_weights_are_restored(void **state)
{
    (void)state;
    struct wl_plan *from = network(3), *to = network(3);
    struct wl_safetensors s;
    for (size_t i = 0; i < wl_plan_state_count(from); i++) {
        float x[12];
        for (size_t k = 0; k < 12; k++) x[k] = (float)(i + 1) / (float)(k + 3);
        if (wl_plan_state_write(from, i, x, &e)) fail_msg("%s", e.msg);
    }
    if (wl_safetensors_save(path, from, a, &e)) fail_msg("%s", e.msg);
    if (wl_safetensors_open(&s, path, a, &e)) fail_msg("%s", e.msg);
    if (wl_safetensors_load(&s, to, &naming, false, a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(s.n, 4); /* no optimizer */
    assert_int_equal((uintptr_t)s.v[0].data % 8, 0);
    for (size_t i = 0; i < s.n; i++)
        assert_memory_equal(values(from, s.v[i].name), values(to, s.v[i].name), s.v[i].count * 4);
}

static void other_names(const char *parameter, struct wl_strs *names, struct wl_arena *arena)
{
    wl_strs_add(arena, names, wl_strf(arena, "other.%s", parameter));
}

static void test_file_without_parameters_is_refused(void **state)
{
    (void)state;
    static const struct wl_param_naming other = { .names = other_names, .ignored = ignored };
    struct wl_safetensors s;
    if (wl_safetensors_open(&s, golden(), a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(wl_safetensors_load(&s, network(3), &other, false, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "none of its 7 tensors is of this network; expected first.weight, first.bias"));
}

/* A file with this header and so many bytes of data. */
static void refused(const char *header, size_t data, const char *why)
{
    struct wl_safetensors s;
    struct wl_text text = WL_TEXT(a);
    uint64_t n = strlen(header);
    wl_text_addn(&text, (const char *)&n, sizeof n);
    wl_text_add(&text, header);
    for (size_t i = 0; i < data; i++) wl_text_addn(&text, "", 1);
    assert_int_equal(wl_file_write(path, text.s, text.n, &e), 0);
    int rc = wl_safetensors_open(&s, path, a, &e);
    assert_int_equal(rc, WL_EINVAL);
    if (!strstr(e.msg, why)) fail_msg("'%s' does not say '%s'", e.msg, why);
}

static void test_malformed_headers_are_refused(void **state)
{
    (void)state;
    struct wl_safetensors s;
    static const uint64_t longer = 1000;
    refused("[]", 0, "the header is not a JSON object");
    refused("{\"x\":", 0, "");
    refused("{\"x\":3}", 0, "x has no dtype");
    refused("{\"x\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8,
            "x has no dtype, or one that is not known");
    refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, "x lies outside of the file");
    refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, "x lies outside of the file");
    refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, "a shape that its bytes do not fit");
    refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "a dimension that is not a size");
    refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
            "a shape that its bytes do not fit");
    refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
            "too many dimensions");
    refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
            "\"y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
            12, "y overlaps another one");
    refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "x has a gap before it");
    refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8,
            "4 bytes at its end belong to no tensor");
    assert_int_equal(wl_file_write(path, (const char *)&longer, sizeof longer, &e), 0);
    assert_int_equal(wl_safetensors_open(&s, path, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "not a safetensors file"));
    assert_int_equal(wl_safetensors_open(&s, "/proc/nowhere/x", a, &e), WL_ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_file_of_the_reference_is_read),      TEST(test_parameters_are_found_by_name),
        TEST(test_another_shape_is_refused),           TEST(test_saved_weights_are_restored),
        TEST(test_file_without_parameters_is_refused), TEST(test_malformed_headers_are_refused)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
