/* Tar archives are read if they are POSIX ustar, or as GNU tar and Python write regular files with short names; other
 * entries are skipped. */
#include "data/molecules/qm9_archive.h"

#include <string.h>

typedef int each_fn(void *data, double done, const char *name, const char *text, size_t n, struct wl_err *e);

static bool is_xyz(const char *name)
{
    const size_t n = strlen(name);
    return n > 4 && wl_str_eq(name + n - 4, ".xyz");
}

enum { MAX_BYTES = 1 << 20 }; /* of one molecule's file */

static int for_each_in_folder(const char *dir, each_fn *each, void *data, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs names = { 0 };
    int rc = wl_dir_list(dir, &names, a, e);
    for (size_t i = 0; i < names.n && !rc; i++) {
        struct wl_arena *scratch = wl_arena_new(a);
        char *text;
        size_t n;
        if (is_xyz(names.v[i])) {
            const char *path = wl_path_join(scratch, dir, names.v[i]);
            rc = wl_file_read(path, MAX_BYTES, &text, &n, scratch, e);
            if (!rc) rc = each(data, (double)i / (double)names.n, path, text, n, e);
        }
        wl_arena_free(scratch);
    }
    return rc;
}

/* ---- tar --------------------------------------------------------------------------------------------------------- */

enum { TAR_BLOCK = 512, NAME_BYTES = 100, SIZE_AT = 124, SIZE_BYTES = 12, SUM_AT = 148, SUM_BYTES = 8, TYPE_AT = 156 };

/* An octal number, which ends with a NUL or a space. */
static uint64_t octal(const char *p, int n)
{
    uint64_t x = 0;
    int i = 0;
    while (i < n && p[i] == ' ') i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) x = x << 3 | (uint64_t)(p[i] - '0');
    return x;
}

/* The checksum is the sum of the header's bytes, with those of the checksum itself as spaces. */
static bool checksum_matches(const char *p)
{
    uint64_t sum = 0;
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : (uint64_t)(unsigned char)p[i];
    return sum == octal(p + SUM_AT, SUM_BYTES);
}

static int for_each_in_tar(const char *path, const char *p, size_t bytes, each_fn *each, void *data, struct wl_err *e)
{
    for (size_t at = 0; at + TAR_BLOCK <= bytes && p[at];) {
        const char *head = p + at;
        if (!checksum_matches(head))
            return wl_fail(e, WL_EINVAL, "%s: not a tar header at byte %zu%s", path, at,
                           at ? "" : "; expected an uncompressed tar archive");
        const uint64_t n = octal(head + SIZE_AT, SIZE_BYTES);
        at += TAR_BLOCK;
        if (n > bytes - at)
            return wl_fail(e, WL_EINVAL, "%s: truncated at byte %zu of %llu", path, bytes,
                           (unsigned long long)(at + n));
        char name[NAME_BYTES + 1] = { 0 };
        memcpy(name, head, NAME_BYTES);
        const bool plain = head[TYPE_AT] == '0' || head[TYPE_AT] == 0;
        int rc = plain && is_xyz(name) ? each(data, (double)at / (double)bytes, name, p + at, (size_t)n, e) : 0;
        if (rc) return wl_err_prefix(e, "%s", path);
        at += (size_t)((n + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK);
    }
    return 0;
}

static int for_each_of_tar_file(const char *path, each_fn *each, void *data, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_file_mapping m;
    int rc = wl_file_map(path, "", &m, scratch, e);
    if (!rc && m.n < TAR_BLOCK) rc = wl_fail(e, WL_EINVAL, "%s: not a tar archive (%zu bytes)", path, m.n);
    if (!rc) rc = for_each_in_tar(path, (const char *)m.p, m.n, each, data, e);
    wl_arena_free(scratch);
    return rc;
}

int wl_qm9_for_each_xyz(const char *from, each_fn *each, void *data, struct wl_arena *a, struct wl_err *e)
{
    return wl_is_dir(from) ? for_each_in_folder(from, each, data, a, e) : for_each_of_tar_file(from, each, data, a, e);
}
