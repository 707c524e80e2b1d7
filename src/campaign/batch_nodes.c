/* Nodes under which jobs of the campaign have failed, from the lists that Slurm gives: "n[1-4,07],login". */
#include "campaign/batch.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 9, NODES_MAX = 100000 };

/* "07" or "1-4" of n characters, between what is before and after the brackets. */
static void add_range(const char *range, size_t n, const char *before, const char *after, struct wl_strs *out,
                      struct wl_arena *a)
{
    const size_t width = strspn(range, "0123456789");
    if (width == 0 || width > DIGITS_MAX || width > n) return;
    const long lo = strtol(range, NULL, 10),
               hi = width < n && range[width] == '-' ? strtol(range + width + 1, NULL, 10) : lo;
    for (long at = lo; at <= hi && out->n < NODES_MAX; at++)
        wl_strs_add(a, out, wl_strf(a, "%s%0*ld%s", before, (int)width, at, after));
}

/* "login" or "n[1-4,07]-ib"; brackets in a second dimension are not read. */
static void add_element(const char *element, struct wl_strs *out, struct wl_arena *a)
{
    const char *open = strchr(element, '['), *close = open ? strchr(open, ']') : NULL;
    if (!close) {
        if (*element) wl_strs_add(a, out, element);
        return;
    }
    const char *before = wl_strndup(a, element, (size_t)(open - element));
    for (const char *range = open + 1; range < close;) {
        const size_t n = strcspn(range, ",]");
        add_range(range, n, before, close + 1, out, a);
        range += n + 1;
    }
}

struct wl_strs wl_batch_nodes_expand(const char *list, struct wl_arena *a)
{
    struct wl_strs out = { 0 };
    while (*list) {
        size_t n = 0;
        for (bool inside = false; list[n] && (inside || list[n] != ','); n++)
            inside = (inside || list[n] == '[') && list[n] != ']';
        add_element(wl_strndup(a, list, n), &out, a);
        list += n + (list[n] == ',');
    }
    return out;
}

static bool is_in(const struct wl_strs *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (wl_str_eq(list->v[i], name)) return true;
    return false;
}

/* The only node of both; NULL: there is none, or there are several. */
static const char *only_common(const struct wl_strs *x, const struct wl_strs *y)
{
    const char *common = NULL;
    for (size_t i = 0; i < x->n; i++) {
        if (!is_in(y, x->v[i])) continue;
        if (common) return NULL;
        common = x->v[i];
    }
    return common;
}

const char *wl_batch_failed_nodes(const struct wl_submission_rows *rows, struct wl_arena *a)
{
    struct wl_strs *failed = wl_new_array(a, struct wl_strs, rows->n), excluded = { 0 };
    struct wl_text list = WL_TEXT(a);
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct wl_submission_row *row = &rows->v[i];
        if (!row->nodes || !row->why || !strstr(row->why, "_FAIL")) continue;
        failed[n] = wl_batch_nodes_expand(row->nodes, a);
        for (size_t k = 0; k < n; k++) {
            const char *node = only_common(&failed[k], &failed[n]);
            if (!node || is_in(&excluded, node)) continue;
            wl_strs_add(a, &excluded, node);
            wl_text_addf(&list, "%s%s", list.n ? "," : "", node);
        }
        n++;
    }
    return list.n ? list.s : NULL;
}
