/* Format versions 1.0 to 3.0: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#include "data/era5/npy.h"

#include <stdlib.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { PREFIX = 6 + 2, LARGEST_HEADER = 1 << 16, ALIGNED = 64 };

/* The text after 'key': in the header. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    return at + strspn(at, ": ");
}

/* The number of elements of a shape such as "(1, 20, 1, 1)". -1: malformed, or too many. */
static int64_t product(const char *shape)
{
    int64_t n = 1;
    if (!shape || *shape++ != '(') return -1;
    while (*shape && *shape != ')') {
        char *end;
        const long long d = strtoll(shape, &end, 10);
        if (end == shape || d < 1 || d > INT32_MAX || n > INT64_MAX / d) return -1;
        n *= d;
        shape = end + strspn(end, ", ");
    }
    return *shape == ')' ? n : -1;
}

int wl_npy_read(const char *path, int64_t count, float *to, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    size_t n;
    int rc = wl_file_read(path, (size_t)count * sizeof(double) + LARGEST_HEADER, &text, &n, a, e);
    if (rc) return rc;
    const unsigned char *p = (const unsigned char *)text;
    if (n < PREFIX + 4 || memcmp(text, magic, sizeof magic - 1))
        return wl_fail(e, WL_EINVAL, "%s: not a NumPy array (.npy)", path);
    const size_t length = p[6] == 1 ? 2 : 4;
    size_t size = (size_t)p[8] | (size_t)p[9] << 8;
    if (length == 4) size |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (size > LARGEST_HEADER || n < PREFIX + length + size)
        return wl_fail(e, WL_EINVAL, "%s: the header of the array is truncated", path);
    const char *header = wl_strndup(a, text + PREFIX + length, size), *type = value_of(header, "'descr'"),
               *order = value_of(header, "'fortran_order'");
    const bool is_float = type && wl_str_starts(type, "'<f4'"), is_double = type && wl_str_starts(type, "'<f8'");
    if ((!is_float && !is_double) || !order || !wl_str_starts(order, "False"))
        return wl_fail(e, WL_EINVAL, "%s: the header is %s; expected '<f4' or '<f8' in C order", path, header);
    const int64_t found = product(value_of(header, "'shape'"));
    if (found != count)
        return wl_fail(e, WL_EINVAL, "%s: the array has %lld elements, expected %lld", path, (long long)found,
                       (long long)count);
    const char *data = text + PREFIX + length + size;
    if (n - (PREFIX + length + size) < (size_t)count * (is_float ? sizeof(float) : sizeof(double)))
        return wl_fail(e, WL_EINVAL, "%s: the data of the array are truncated", path);
    for (int64_t i = 0; i < count; i++) {
        double d;
        if (is_float) {
            memcpy(&to[i], data + i * (int64_t)sizeof(float), sizeof(float));
        } else {
            memcpy(&d, data + i * (int64_t)sizeof d, sizeof d);
            to[i] = (float)d;
        }
    }
    return 0;
}

int wl_npy_write(const char *path, const struct wl_era5_grid *shape, bool whole, const float *from, struct wl_arena *a,
                 struct wl_err *e)
{
    const long long h = whole ? shape->height : 1, w = whole ? shape->width : 1;
    struct wl_text head = WL_TEXT(a), all = WL_TEXT(a);
    wl_text_addf(&head, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, %lld, %lld, %lld), }",
                 (long long)shape->channels, h, w);
    while ((PREFIX + 2 + head.n + 1) % ALIGNED) wl_text_add(&head, " ");
    wl_text_add(&head, "\n");
    const char prefix[] = { 1, 0, (char)(head.n & 0xff), (char)(head.n >> 8) };
    wl_text_addn(&all, magic, sizeof magic - 1);
    wl_text_addn(&all, prefix, sizeof prefix);
    wl_text_addn(&all, head.s, head.n);
    wl_text_addn(&all, (const char *)from, (size_t)(shape->channels * h * w) * sizeof *from);
    return wl_file_write(path, all.s, all.n, e);
}
