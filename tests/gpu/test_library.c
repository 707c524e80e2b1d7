/* Where NVIDIA's libraries are found: argv[1] and argv[2] are built as versions 13.1.2 and 12.0.0 of one. */
#include "base/base.h"
#include "cuda/library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct functions {
    int (*version)(void);
    int (*missing)(void);
};

static const struct wl_gpu_file files[] = {
    { "libwlfake.so.13", 13, "fake", 130100 },
    { "libwlfake.so.12", 12, "fake-cu12", 120000 },
    { 0 },
};
static const struct wl_symbol symbols[] = { { offsetof(struct functions, version), "wl_fake_version", NULL, true },
                                            { offsetof(struct functions, missing), "wl_no_such", NULL, true } };
static const struct wl_gpu_library spec = { "cuFAKE", files, symbols, 1 }, lacks = { "cuFAKE", files, symbols, 2 };

static const char *versions[2]; /* paths of the two libraries */
static struct wl_arena *a;
static char *dir;
static struct wl_err e;

static int setup(void **state)
{
    (void)state;
    char template[] = "/tmp/wl-library-XXXXXX";
    a = wl_arena_new(NULL);
    dir = wl_strdup(a, mkdtemp(template));
    setenv("WATTLAW_CUDA_PATH", dir, 1);
    return 0;
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

/* Puts library `which` into a folder below `dir`. */
static void put(const char *folder, const char *name, int which)
{
    char *to = wl_path_join(a, dir, folder);
    assert_int_equal(wl_mkdirs(to, &e), 0);
    assert_int_equal(symlink(versions[which], wl_path_join(a, to, name)), 0);
}

static int open_library(int cuda, int *version)
{
    struct wl_library l;
    struct functions f;
    int rc = wl_gpu_library_open(&l, &spec, cuda, &f, a, &e);
    if (rc) return rc;
    *version = f.version();
    return wl_gpu_library_check(&spec, &l, *version, &e);
}

static void opens(const char *folder)
{
    int version = 0;
    put(folder, "libwlfake.so.13", 0);
    assert_int_equal(open_library(0, &version), 0);
    assert_int_equal(version, 130102);
}

static void of_cuda_s_folder(void **state)
{
    (void)state;
    opens("lib64");
}

static void of_a_virtual_environment(void **state)
{
    (void)state;
    opens("lib/python3.11/site-packages/nvidia/cu13/lib");
}

static void of_site_packages(void **state)
{
    (void)state;
    opens("nvidia/cu13/lib");
}

static void the_driver_decides_which_version(void **state)
{
    (void)state;
    int version;
    put("lib", "libwlfake.so.13", 0);
    put("lib", "libwlfake.so.12", 1);
    assert_int_equal(open_library(13, &version), 0);
    assert_int_equal(version, 130102);
    assert_int_equal(open_library(12, &version), 0);
    assert_int_equal(version, 120000);
    assert_int_equal(open_library(11, &version), WL_EUNAVAIL);
    assert_string_equal(e.msg, "cuFAKE: the driver serves CUDA 11, and the oldest library that is known, "
                               "libwlfake.so.12, needs 12");
}

static void message(int rc, const char *has)
{
    if (!strstr(e.msg, has)) fail_msg("%d, '%s' lacks '%s'", rc, e.msg, has);
}

static void a_missing_one_is_named(void **state)
{
    (void)state;
    int version, rc = open_library(0, &version);
    assert_int_equal(rc, WL_EUNAVAIL);
    message(rc, "cuFAKE (libwlfake.so.13): libwlfake.so.13: ");
    message(rc, "; pip install fake, and name its virtual environment in WATTLAW_CUDA_PATH");
    put("lib", "libwlfake.so.13", 0);
    unlink(wl_path_join(a, dir, "lib/libwlfake.so.13"));
    rc = open_library(12, &version);
    assert_int_equal(rc, WL_EUNAVAIL);
    message(rc, "pip install fake-cu12,");
}

static void a_file_that_cannot_be_loaded_is_named(void **state)
{
    (void)state;
    int version;
    const char *path = wl_path_join(a, dir, "libwlfake.so.13");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("text", f);
    fclose(f);
    int rc = open_library(0, &version);
    assert_int_equal(rc, WL_EUNAVAIL);
    message(rc, path);
}

static void another_version_than_its_name_says_is_refused(void **state)
{
    (void)state;
    int version, rc;
    put("lib", "libwlfake.so.13", 1);
    rc = open_library(0, &version);
    assert_int_equal(rc, WL_ELIB);
    message(rc, "libwlfake.so.13 says it is version 12.0.0; 13.1 or a later 13.x is needed: pip install fake");
}

static void a_missing_function_is_named(void **state)
{
    (void)state;
    struct wl_library l;
    struct functions f;
    put("lib", "libwlfake.so.13", 0);
    int rc = wl_gpu_library_open(&l, &lacks, 0, &f, a, &e);
    assert_int_equal(rc, WL_ELIB);
    message(rc, "libwlfake.so.13 has no wl_no_such");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(of_cuda_s_folder),
        TEST(of_a_virtual_environment),
        TEST(of_site_packages),
        TEST(the_driver_decides_which_version),
        TEST(a_missing_one_is_named),
        TEST(a_file_that_cannot_be_loaded_is_named),
        TEST(another_version_than_its_name_says_is_refused),
        TEST(a_missing_function_is_named),
    };
    if (argc != 3) return 2;
    for (int i = 0; i < 2; i++) versions[i] = realpath(argv[1 + i], NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
