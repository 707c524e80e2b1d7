/* Which of the oracle's kernels the back-end cpu runs: the list in nn/cpu/ref_kernels.c, and no others. */
#include "base/base.h"
#include "nn/cpu/ref_kernels.h"

#include <ctype.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool is_of_kernel(const char *name, const char *kernel)
{
    const size_t n = strlen(kernel);
    return !strncmp(name, kernel, n) && (name[n] == '\0' || wl_str_eq(name + n, "_backward"));
}

/* Marks the kernels of the list that the text of a file calls; fails on others. Comments do not count. */
static void look_for_kernels(const char *file, char *text, bool used[])
{
    for (char *open; (open = strstr(text, "/*"));) {
        char *end = strstr(open, "*/");
        assert_non_null(end);
        memset(open, ' ', (size_t)(end + 2 - open));
    }
    for (char *at = text; (at = strstr(at, "wl_ref_"));) {
        char *end = at, name[64];
        while (isalnum((unsigned char)*end) || *end == '_') end++;
        assert_true(end - at < (ptrdiff_t)sizeof name);
        snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
        const struct wl_cpu_ref_kernel *k = wl_cpu_ref_kernels;
        while (k->name && !is_of_kernel(name, k->name)) k++;
        if (!k->name) fail_msg("%s calls %s, which is not in ref_kernels.c", file, name);
        used[k - wl_cpu_ref_kernels] = true;
        at = end;
    }
}

static void test_list_has_every_kernel_and_no_unused_one(void **state)
{
    (void)state;
    bool used[64] = { false };
    struct wl_arena *a = wl_arena_new(NULL);
    DIR *dir = opendir(WL_CPU_SOURCES);
    assert_non_null(dir);
    for (struct dirent *f; (f = readdir(dir));) {
        const size_t n = strlen(f->d_name);
        if (n < 3 || !wl_str_eq(f->d_name + n - 2, ".c") || wl_str_eq(f->d_name, "ref_kernels.c")) continue;
        struct wl_err e = { 0 };
        char *text;
        size_t size;
        if (wl_file_read(wl_strf(a, "%s/%s", WL_CPU_SOURCES, f->d_name), 1 << 20, &text, &size, a, &e))
            fail_msg("%s", e.msg);
        look_for_kernels(f->d_name, text, used);
    }
    closedir(dir);
    for (const struct wl_cpu_ref_kernel *k = wl_cpu_ref_kernels; k->name; k++) {
        print_message("cpu runs %s %s%s\n", k->name, k->when ? "where " : "always", k->when ? k->when : "");
        if (!used[k - wl_cpu_ref_kernels]) fail_msg("%s is in ref_kernels.c, but no file calls it", k->name);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_has_every_kernel_and_no_unused_one),
    };
    return cmocka_run_group_tests_name("ref_kernels", tests, NULL, NULL);
}
