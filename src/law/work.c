#include "law/work.h"

#include <math.h>
#include <stdlib.h>

double *wl_law_work_of_rows(const struct wl_observations *obs, struct wl_arena *a)
{
    struct {
        double sum[2], n[2]; /* of epochs, of totals */
    } *runs = wl_alloc_array(a, obs->runs, sizeof *runs);
    double *out = wl_new_array(a, double, obs->n);
    for (size_t i = 0; i < obs->n; i++) {
        if (!(obs->samples[i] > 0)) continue;
        const size_t run = obs->run_index[i], total = isnan(obs->epoch[i]);
        runs[run].sum[total] += obs->samples[i];
        runs[run].n[total]++;
    }
    for (size_t i = 0; i < obs->n; i++) {
        const size_t run = obs->run_index[i], total = !(runs[run].n[0] > 0);
        out[i] = runs[run].n[total] > 0 ? runs[run].sum[total] / runs[run].n[total] : NAN;
    }
    return out;
}

struct row {
    size_t part, at;
    double work;
};

static int by_part_and_work(const void *a, const void *b)
{
    const struct row *p = a, *q = b;
    if (p->part != q->part) return p->part < q->part ? -1 : 1;
    return (p->work > q->work) - (p->work < q->work);
}

const char **wl_law_work_classes(const double *work, const size_t *part, size_t n, size_t parts, size_t *classes,
                                 struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct row *v = wl_new_array(scratch, struct row, n);
    const char **out = wl_new_array(a, const char *, n), *name = NULL;
    size_t known = 0;
    double smallest = 0;
    for (size_t p = 0; p < parts; p++) classes[p] = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = "";
        if (work[i] > 0 && isfinite(work[i])) v[known++] = (struct row) { part[i], i, work[i] };
    }
    qsort(v, known, sizeof *v, by_part_and_work);
    for (size_t i = 0; i < known; i++) {
        if (!i || v[i].part != v[i - 1].part || v[i].work > WL_LAW_SAME_WORK * smallest) {
            smallest = v[i].work;
            name = wl_strf(a, smallest < 1e5 ? "%.6g" : "%.0f", smallest);
            classes[v[i].part]++;
        }
        out[v[i].at] = name;
    }
    wl_arena_free(scratch);
    return out;
}

bool wl_law_work_is_key(const char *column)
{
    static const char *const columns[] = { "samples", "samples_per_worker", "metric", "unit" };
    for (size_t i = 0; i < WL_COUNT(columns); i++)
        if (wl_str_eq(column, columns[i])) return true;
    return false;
}
