/* Checks of what the caller filled in. */
#include "nn/lowering/lowering.h"

int wl_lower_check_index(const char *what, const char *of, const int32_t *index, int64_t n, int64_t samples,
                         int64_t limit, struct wl_err *e)
{
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= limit)
            return wl_fail(e, WL_EINVAL, "%s %d of sample %lld is not among the %lld %s", what, (int)index[i],
                           (long long)(i / (n / samples)), (long long)limit, of);
    return 0;
}

int wl_lower_check_labels(const struct wl_node *n, const int32_t *labels, struct wl_err *e)
{
    int64_t rows = n->in[0]->dims.d[0], k = n->in[0]->dims.d[1];
    for (int64_t i = 0; i < rows; i++)
        if (labels[i] >= k)
            return wl_fail(e, WL_EINVAL, "label %d of sample %lld is beyond the %lld classes", (int)labels[i],
                           (long long)i, (long long)k);
    return 0;
}
