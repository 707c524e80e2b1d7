#include "nn/graph/input_checks.h"

const int32_t *wl_input_values_of(const struct wl_node *n, const struct wl_input_values *v, int i)
{
    const int32_t *at = v->at[n->in[i]->id];
    WL_CHECK(at && n->in[i]->dtype == WL_I32);
    return at;
}

/* A node on rows reads the counts last. */
int wl_input_count(const struct wl_node *n, const struct wl_input_values *v, enum wl_row_kind kind, int64_t room,
                   int64_t *rows, struct wl_err *e)
{
    int i = WL_MAX_INPUTS - 1;
    while (!n->in[i]) i--;
    *rows = wl_input_values_of(n, v, i)[kind];
    if (*rows >= 0 && *rows <= room) return 0;
    return wl_fail(e, WL_EINVAL, "%lld rows, there is room for %lld", (long long)*rows, (long long)room);
}

int wl_check_indices(const char *what, const int32_t *index, int64_t n, int64_t limit, struct wl_err *e)
{
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= limit)
            return wl_fail(e, WL_EINVAL, "%s: entry %lld is %d, expected 0 to %lld", what, (long long)i, (int)index[i],
                           (long long)limit - 1);
    return 0;
}

int wl_check_starts(const char *what, const int32_t *start, int64_t n, int64_t limit, struct wl_err *e)
{
    int rc = wl_check_indices(what, start, n + 1, limit + 1, e);
    for (int64_t i = 0; i < n && !rc; i++)
        if (start[i] > start[i + 1])
            rc = wl_fail(e, WL_EINVAL, "%s: entry %lld is %d, the next one %d", what, (long long)i, (int)start[i],
                         (int)start[i + 1]);
    return rc;
}

int wl_check_none(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    (void)n, (void)v, (void)e;
    return 0;
}

int wl_check_rows(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    int64_t rows;
    return wl_input_count(n, v, n->rows, n->out->dims.d[0], &rows, e);
}
