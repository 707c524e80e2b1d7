#include "nn/ref/ref.h"

#include <math.h>

static double largest(int64_t k, const wl_real *x)
{
    double m = (double)x[0];
    for (int64_t j = 1; j < k; j++) m = fmax(m, (double)x[j]);
    return m;
}

/* Sum of exp(x - top): top in front keeps it in range. */
static double partition(int64_t k, const wl_real *x, double top)
{
    double sum = 0;
    for (int64_t j = 0; j < k; j++) sum += exp((double)x[j] - top);
    return sum;
}

/* How many classes rank before the label. Written so that every class ranks before a label whose logit is NAN. */
static int64_t rank_of(int64_t k, const wl_real *x, int64_t label)
{
    int64_t before = 0;
    for (int64_t j = 0; j < k; j++) before += !(x[label] > x[j] || (x[label] == x[j] && label <= j));
    return before;
}

static int64_t count_rows(int64_t n, const int32_t *labels)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < n; i++) rows += labels[i] >= 0;
    return rows;
}

double wl_ref_cross_entropy(int64_t n, int64_t k, const wl_real *x, const int32_t *labels, struct wl_counts *counts)
{
    double sum = 0;
    int64_t rows = count_rows(n, labels);
    for (int64_t i = 0; i < n; i++) {
        const wl_real *row = x + i * k;
        if (labels[i] < 0) continue;
        double top = largest(k, row);
        sum += log(partition(k, row, top)) - ((double)row[labels[i]] - top);
        if (!counts) continue;
        int64_t rank = rank_of(k, row, labels[i]);
        counts->samples++;
        counts->top1 += rank < 1;
        counts->top5 += rank < 5;
    }
    return rows ? sum / (double)rows : 0;
}

void wl_ref_cross_entropy_backward(int64_t n, int64_t k, double weight, const wl_real *x, const int32_t *labels,
                                   wl_real *dx)
{
    int64_t rows = count_rows(n, labels);
    for (int64_t i = 0; i < n; i++) {
        const wl_real *row = x + i * k;
        double top = largest(k, row), sum = partition(k, row, top);
        double scale = labels[i] < 0 ? 0 : weight / (double)rows;
        for (int64_t j = 0; j < k; j++)
            dx[i * k + j] = (wl_real)(scale * (exp((double)row[j] - top) / sum - (j == labels[i] ? 1 : 0)));
    }
}
