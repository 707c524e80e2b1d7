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

void wl_ref_batch_norm(struct wl_channels ch, double eps, bool relu, const wl_real *x, const wl_real *mean,
                       const wl_real *var, const wl_real *gamma, const wl_real *beta, wl_real *y)
{
    for (int64_t n = 0; n < ch.n; n++)
        for (int64_t c = 0; c < ch.c; c++) {
            double scale = (double)gamma[c] / sqrt((double)var[c] + eps);
            for (int64_t i = 0; i < ch.area; i++) {
                int64_t at = (n * ch.c + c) * ch.area + i;
                double v = ((double)x[at] - (double)mean[c]) * scale + (double)beta[c];
                y[at] = (wl_real)(relu && v <= 0 ? 0 : v);
            }
        }
}

/* With x^ = (x - mean)/sqrt(var + eps):  dbeta = sum dy,  dgamma = sum dy x^,
 * dx = gamma/sqrt(var + eps) (dy - dbeta/n - x^ dgamma/n), n elements a channel. */
void wl_ref_batch_norm_backward(struct wl_channels ch, double eps, bool relu, const wl_real *x, const wl_real *y,
                                const wl_real *dy, const wl_real *mean, const wl_real *var, const wl_real *gamma,
                                wl_real *dx, wl_real *dgamma, wl_real *dbeta)
{
    double count = (double)ch.n * (double)ch.area;
    for (int64_t c = 0; c < ch.c; c++) {
        double inverse = 1 / sqrt((double)var[c] + eps), sum = 0, sum_hat = 0;
        for (int64_t n = 0; n < ch.n; n++)
            for (int64_t i = 0; i < ch.area; i++) {
                int64_t at = (n * ch.c + c) * ch.area + i;
                double d = relu && y[at] <= 0 ? 0 : (double)dy[at];
                sum += d;
                sum_hat += d * ((double)x[at] - (double)mean[c]) * inverse;
            }
        for (int64_t n = 0; n < ch.n; n++)
            for (int64_t i = 0; i < ch.area; i++) {
                int64_t at = (n * ch.c + c) * ch.area + i;
                double d = relu && y[at] <= 0 ? 0 : (double)dy[at];
                double hat = ((double)x[at] - (double)mean[c]) * inverse;
                dx[at] = (wl_real)((double)gamma[c] * inverse * (d - sum / count - hat * sum_hat / count));
            }
        dgamma[c] = (wl_real)sum_hat;
        dbeta[c] = (wl_real)sum;
    }
}
