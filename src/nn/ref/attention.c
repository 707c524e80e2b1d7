#include "nn/ref/ref.h"

#include <math.h>

/* One head of one sample: rows of q, k and v in x, of y, and of their gradients, each `step` apart. */
struct head {
    int64_t s, f, length, sample, number;
    int64_t x_step, y_step;
    const wl_real *q, *k, *v;
};

static struct head head_of(struct wl_heads h, const wl_real *x, const int32_t *lengths, int64_t sample, int64_t number)
{
    const int64_t width = h.heads * h.f;
    const wl_real *q = x + sample * h.s * 3 * width + number * h.f;
    int64_t length = lengths[sample] < h.s ? lengths[sample] : h.s;
    return (struct head) { .s = h.s,
                           .f = h.f,
                           .length = length,
                           .sample = sample,
                           .number = number,
                           .x_step = 3 * width,
                           .y_step = width,
                           .q = q,
                           .k = q + width,
                           .v = q + 2 * width };
}

/* p [S,S] = softmax(q k'/sqrt(f)) over the positions that count; 0 beyond. */
static void probabilities(const struct head *h, wl_real *p)
{
    for (int64_t i = 0; i < h->s; i++) {
        double largest = -INFINITY, sum = 0;
        wl_real *row = p + i * h->s;
        for (int64_t j = 0; j < h->s; j++) {
            double score = 0;
            for (int64_t c = 0; c < h->f; c++)
                score += (double)h->q[i * h->x_step + c] * (double)h->k[j * h->x_step + c];
            row[j] = (wl_real)(score / sqrt((double)h->f));
            if (j < h->length) largest = fmax(largest, (double)row[j]);
        }
        for (int64_t j = 0; j < h->length; j++) sum += exp((double)row[j] - largest);
        for (int64_t j = 0; j < h->s; j++) row[j] = j < h->length ? (wl_real)(exp((double)row[j] - largest) / sum) : 0;
    }
}

/* What dropout multiplies the probability of (i, j) with. */
static double kept(const struct head *h, const struct wl_dropout *d, int64_t i, int64_t j)
{
    if (wl_ref_dropped(d, d->sample + h->sample, (h->number * h->s + i) * h->s + j)) return 0;
    return (double)WL_DROP_STEPS / (double)(WL_DROP_STEPS - d->drop);
}

static void drop(const struct head *h, const struct wl_dropout *d, wl_real *p)
{
    for (int64_t i = 0; i < h->s; i++)
        for (int64_t j = 0; j < h->s; j++) p[i * h->s + j] = (wl_real)((double)p[i * h->s + j] * kept(h, d, i, j));
}

static void forward(const struct head *h, const struct wl_dropout *d, wl_real *y, wl_real *p)
{
    probabilities(h, p);
    drop(h, d, p);
    for (int64_t i = 0; i < h->s; i++)
        for (int64_t c = 0; c < h->f; c++) {
            double sum = 0;
            for (int64_t j = 0; j < h->length; j++) sum += (double)p[i * h->s + j] * (double)h->v[j * h->x_step + c];
            y[i * h->y_step + c] = (wl_real)sum;
        }
}

/* ds [S,S] = gradient by q k'. */
static void scores_backward(const struct head *h, const struct wl_dropout *d, const wl_real *dy, const wl_real *p,
                            wl_real *ds)
{
    for (int64_t i = 0; i < h->s; i++) {
        double along = 0;
        const wl_real *row = p + i * h->s;
        wl_real *to = ds + i * h->s;
        for (int64_t j = 0; j < h->s; j++) {
            double sum = 0;
            for (int64_t c = 0; c < h->f; c++) sum += (double)dy[i * h->y_step + c] * (double)h->v[j * h->x_step + c];
            sum *= kept(h, d, i, j);
            to[j] = (wl_real)sum;
            along += (double)row[j] * sum;
        }
        for (int64_t j = 0; j < h->s; j++)
            to[j] = (wl_real)((double)row[j] * ((double)to[j] - along) / sqrt((double)h->f));
    }
}

static void backward(const struct head *h, const struct wl_dropout *d, const wl_real *dy, wl_real *dq, wl_real *p,
                     wl_real *ds)
{
    wl_real *dk = dq + (h->k - h->q), *dv = dq + (h->v - h->q);
    probabilities(h, p);
    scores_backward(h, d, dy, p, ds);
    drop(h, d, p);
    for (int64_t i = 0; i < h->s; i++)
        for (int64_t c = 0; c < h->f; c++) {
            double q = 0, k = 0, v = 0;
            for (int64_t j = 0; j < h->s; j++) {
                q += (double)ds[i * h->s + j] * (double)h->k[j * h->x_step + c];
                k += (double)ds[j * h->s + i] * (double)h->q[j * h->x_step + c];
                v += (double)p[j * h->s + i] * (double)dy[j * h->y_step + c];
            }
            dq[i * h->x_step + c] = (wl_real)q;
            dk[i * h->x_step + c] = (wl_real)k;
            dv[i * h->x_step + c] = (wl_real)v;
        }
}

void wl_ref_attention(struct wl_heads h, const struct wl_dropout *d, const wl_real *x, const int32_t *lengths,
                      wl_real *y, wl_real *scratch)
{
    for (int64_t i = 0; i < h.n * h.heads; i++) {
        struct head one = head_of(h, x, lengths, i / h.heads, i % h.heads);
        forward(&one, d, y + one.sample * h.s * one.y_step + one.number * h.f, scratch);
    }
}

void wl_ref_attention_backward(struct wl_heads h, const struct wl_dropout *d, const wl_real *x, const int32_t *lengths,
                               const wl_real *dy, wl_real *dx, wl_real *scratch)
{
    for (int64_t i = 0; i < h.n * h.heads; i++) {
        struct head one = head_of(h, x, lengths, i / h.heads, i % h.heads);
        backward(&one, d, dy + one.sample * h.s * one.y_step + one.number * h.f, dx + (one.q - x), scratch,
                 scratch + h.s * h.s);
    }
}
