/* Ioffe and Szegedy 2015, arXiv:1502.03167, algorithm 1 and its gradients. */
#include "nn/ref/ref.h"

#include <math.h>

void wl_ref_mean_var(struct wl_channels ch, const wl_real *x, wl_real *mean, wl_real *var)
{
    double count = (double)ch.n * (double)ch.area;
    for (int64_t c = 0; c < ch.c; c++) {
        double sum = 0, squares = 0;
        for (int64_t n = 0; n < ch.n; n++)
            for (int64_t i = 0; i < ch.area; i++) sum += (double)x[(n * ch.c + c) * ch.area + i];
        double m = sum / count;
        for (int64_t n = 0; n < ch.n; n++)
            for (int64_t i = 0; i < ch.area; i++) {
                double d = (double)x[(n * ch.c + c) * ch.area + i] - m;
                squares += d * d;
            }
        mean[c] = (wl_real)m;
        var[c] = (wl_real)(squares / count);
    }
}

void wl_ref_batch_norm(const struct wl_ref_batch_norm *b)
{
    const struct wl_channels ch = b->channels;
    for (int64_t n = 0; n < ch.n; n++)
        for (int64_t c = 0; c < ch.c; c++) {
            double scale = (double)b->gamma[c] / sqrt((double)b->var[c] + b->eps);
            for (int64_t i = 0; i < ch.area; i++) {
                int64_t at = (n * ch.c + c) * ch.area + i;
                double v = ((double)b->x[at] - (double)b->mean[c]) * scale + (double)b->beta[c];
                b->y[at] = (wl_real)(b->relu && v <= 0 ? 0 : v);
            }
        }
}

/* With x^ = (x - mean)/sqrt(var + eps):  dbeta = sum dy,  dgamma = sum dy x^,
 * dx = gamma/sqrt(var + eps) (dy - dbeta/n - x^ dgamma/n), n elements a channel. */
void wl_ref_batch_norm_backward(const struct wl_ref_batch_norm_grad *g)
{
    const struct wl_ref_batch_norm *b = &g->of;
    const struct wl_channels ch = b->channels;
    double count = (double)ch.n * (double)ch.area;
    for (int64_t c = 0; c < ch.c; c++) {
        double inverse = 1 / sqrt((double)b->var[c] + b->eps), sum = 0, sum_hat = 0;
        for (int64_t n = 0; n < ch.n; n++)
            for (int64_t i = 0; i < ch.area; i++) {
                int64_t at = (n * ch.c + c) * ch.area + i;
                double d = b->relu && b->y[at] <= 0 ? 0 : (double)g->dy[at];
                sum += d;
                sum_hat += d * ((double)b->x[at] - (double)b->mean[c]) * inverse;
            }
        for (int64_t n = 0; n < ch.n; n++)
            for (int64_t i = 0; i < ch.area; i++) {
                int64_t at = (n * ch.c + c) * ch.area + i;
                double d = b->relu && b->y[at] <= 0 ? 0 : (double)g->dy[at];
                double hat = ((double)b->x[at] - (double)b->mean[c]) * inverse;
                g->dx[at] = (wl_real)((double)b->gamma[c] * inverse * (d - sum / count - hat * sum_hat / count));
            }
        g->dgamma[c] = (wl_real)sum_hat;
        g->dbeta[c] = (wl_real)sum;
    }
}
