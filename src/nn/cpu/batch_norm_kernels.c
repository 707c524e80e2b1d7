/* Whole values: each thread takes blocks of channels by itself, so that the second pass over a block finds it in the
 * cache; remaining blocks are divided by image. */
#include "nn/cpu/batch_norm_kernels.h"

#include "nn/threads.h"

#include <math.h>

/* ---- a block ---- */

static struct wl_batch_norm_row row_of(const struct wl_batch_norm_call *c, int64_t block)
{
    const struct wl_md_rows *r = &c->rows;
    return (struct wl_batch_norm_row) { .pixels = r->area,
                                        .stride = r->pixel_stride,
                                        .lanes = block + 1 < r->blocks ? r->lanes : r->last_lanes };
}

/* The fast kernels take whole vectors. */
static const struct wl_batch_norm_kernels *kernels_for(const struct wl_batch_norm_call *c,
                                                       const struct wl_batch_norm_row *r)
{
    return r->lanes == WL_BATCH_NORM_LANES ? c->kernels : wl_batch_norm_plain(c->rows.type);
}

/* A row's first element; NULL of NULL. */
static void *row_at(const struct wl_batch_norm_call *c, const void *value, int64_t block, int64_t n)
{
    const struct wl_md_rows *r = &c->rows;
    const int64_t at = n * r->image_stride + block * r->block_stride;
    return value ? (char *)value + at * (int64_t)wl_dtype_bytes(r->type) : NULL;
}

static int64_t first_channel(const struct wl_batch_norm_call *c, int64_t block) { return block * c->rows.lanes; }

/* The channels of a block, without those that only pad it. */
static int channels_in(const struct wl_batch_norm_call *c, int64_t block)
{
    int64_t left = c->rows.channels - first_channel(c, block);
    return (int)(left < c->rows.lanes ? left : c->rows.lanes);
}

static double elements(const struct wl_batch_norm_call *c) { return (double)c->rows.n * (double)c->rows.area; }

static double inverse_deviation(const struct wl_batch_norm_call *c, int64_t channel)
{
    return 1 / sqrt((double)c->var[channel] + c->eps);
}

static struct wl_batch_norm_affine line_of(const struct wl_batch_norm_call *c, int64_t block)
{
    struct wl_batch_norm_affine l = { { 0 } };
    for (int i = 0; i < channels_in(c, block); i++) {
        const int64_t at = first_channel(c, block) + i;
        l.mean[i] = c->mean[at];
        l.scale[i] = (float)((double)c->gamma[at] * inverse_deviation(c, at));
        l.beta[i] = c->beta[at];
    }
    return l;
}

/* ---- a pass: sums over a block, what follows of them, and then its elements ---- */

struct known {
    struct wl_batch_norm_affine line;
    struct wl_batch_norm_gradient slope;
};

struct pass {
    void (*prepare)(const struct wl_batch_norm_call *c, int64_t block, struct known *k);
    void (*sum)(const struct wl_batch_norm_call *c, int64_t block, int64_t n, const struct known *k,
                struct wl_batch_norm_sums *out);
    void (*settle)(const struct wl_batch_norm_call *c, int64_t block, const struct wl_batch_norm_sums *s,
                   struct known *k);
    void (*write)(const struct wl_batch_norm_call *c, int64_t block, int64_t n, const struct known *k);
};

static void add(struct wl_batch_norm_sums *to, const struct wl_batch_norm_sums *part)
{
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < WL_BATCH_NORM_LANES; i++) to->v[k][i] += part->v[k][i];
}

/* So many bytes of x fit into a core's cache with everything else that is read and written. */
enum { CACHED = 512 << 10, MAX_GROUP = 16 };

/* Blocks that are taken together: neighbours in memory, so that images of few pixels are still read in long runs. */
static int64_t group_size(const struct wl_batch_norm_call *c)
{
    const int64_t block = c->rows.n * c->rows.area * c->rows.lanes * (int64_t)wl_dtype_bytes(c->rows.type);
    const int64_t size = CACHED / block;
    return size < 1 ? 1 : size > MAX_GROUP ? MAX_GROUP : size;
}

/* The images that were read last are still in the cache, so they are written first. */
static void run_group(const struct wl_batch_norm_call *c, const struct pass *p, int64_t from, int64_t to)
{
    struct wl_batch_norm_sums total[MAX_GROUP] = { 0 }, row;
    struct known k[MAX_GROUP];
    for (int64_t b = from; b < to; b++) p->prepare(c, b, &k[b - from]);
    for (int64_t n = 0; n < c->rows.n; n++)
        for (int64_t b = from; b < to; b++) {
            p->sum(c, b, n, &k[b - from], &row);
            add(&total[b - from], &row);
        }
    for (int64_t b = from; b < to; b++) p->settle(c, b, &total[b - from], &k[b - from]);
    for (int64_t n = c->rows.n; n-- > 0;)
        for (int64_t b = from; b < to; b++) p->write(c, b, n, &k[b - from]);
}

static void run_blocks(const struct wl_batch_norm_call *c, const struct pass *p, int64_t from, int64_t to)
{
    const int64_t size = group_size(c);
    for (; from < to; from += size) run_group(c, p, from, from + size < to ? from + size : to);
}

static void settle_shared(const struct wl_batch_norm_call *c, const struct pass *p, int64_t block,
                          const struct wl_batch_norm_sums *rows, struct known *k)
{
    struct wl_batch_norm_sums total = { { { 0 } } };
    for (int64_t n = 0; n < c->rows.n; n++) add(&total, &rows[n]);
    p->settle(c, block, &total, k);
}

static int64_t left_over(const struct wl_md_rows *rows, int threads) { return rows->blocks % threads; }

size_t wl_batch_norm_scratch_bytes(const struct wl_md_rows *rows, int threads)
{
    return (size_t)left_over(rows, threads) *
           ((size_t)rows->n * sizeof(struct wl_batch_norm_sums) + sizeof(struct known));
}

static void run(const struct wl_batch_norm_call *c, const struct pass *p)
{
    const int threads = omp_get_max_threads();
    const int64_t images = c->rows.n, left = left_over(&c->rows, threads), whole = c->rows.blocks - left;
    const int64_t blocks = whole / threads;
    struct wl_batch_norm_sums *sums = c->scratch;
    struct known *known = (struct known *)(sums + left * images);
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (int t = 0; t < threads; t++) run_blocks(c, p, t * blocks, (t + 1) * blocks);
        if (left) {
#pragma omp for schedule(static)
            for (int64_t b = 0; b < left; b++) p->prepare(c, whole + b, &known[b]);
#pragma omp for schedule(static)
            for (int64_t i = 0; i < left * images; i++)
                p->sum(c, whole + i / images, i % images, &known[i / images], &sums[i]);
#pragma omp for schedule(static)
            for (int64_t b = 0; b < left; b++) settle_shared(c, p, whole + b, sums + b * images, &known[b]);
#pragma omp for schedule(static)
            for (int64_t i = 0; i < left * images; i++) p->write(c, whole + i / images, i % images, &known[i / images]);
        }
    }
}

/* ---- forward ---- */

static void know_nothing(const struct wl_batch_norm_call *c, int64_t block, struct known *k)
{
    (void)c;
    (void)block;
    (void)k;
}

static void sum_moments(const struct wl_batch_norm_call *c, int64_t block, int64_t n, const struct known *k,
                        struct wl_batch_norm_sums *out)
{
    (void)k;
    const struct wl_batch_norm_row r = row_of(c, block);
    kernels_for(c, &r)->moments(&r, row_at(c, c->x, block, n), out);
}

static void settle_moments(const struct wl_batch_norm_call *c, int64_t block, const struct wl_batch_norm_sums *s,
                           struct known *k)
{
    for (int i = 0; i < channels_in(c, block); i++) {
        const double mean = s->v[0][i] / elements(c), var = s->v[1][i] / elements(c) - mean * mean;
        c->mean[first_channel(c, block) + i] = (float)mean;
        c->var[first_channel(c, block) + i] = (float)(var < 0 ? 0 : var); /* NAN stays */
    }
    k->line = line_of(c, block);
}

static void write_result(const struct wl_batch_norm_call *c, int64_t block, int64_t n, const struct known *k)
{
    const struct wl_batch_norm_row r = row_of(c, block);
    kernels_for(c, &r)->apply(&r, &k->line, c->relu, row_at(c, c->x, block, n), row_at(c, c->z, block, n),
                              row_at(c, c->y, block, n));
}

void wl_batch_norm_train(const struct wl_batch_norm_call *c)
{
    run(c, &(struct pass) { know_nothing, sum_moments, settle_moments, write_result });
}

void wl_batch_norm_eval(const struct wl_batch_norm_call *c)
{
    const int64_t images = c->rows.n, rows = c->rows.blocks * images;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        const struct known k = { .line = line_of(c, i / images) };
        write_result(c, i / images, i % images, &k);
    }
}

/* ---- backward ---- */

static void know_line(const struct wl_batch_norm_call *c, int64_t block, struct known *k)
{
    *k = (struct known) { .line = line_of(c, block) };
}

static void sum_gradients(const struct wl_batch_norm_call *c, int64_t block, int64_t n, const struct known *k,
                          struct wl_batch_norm_sums *out)
{
    const struct wl_batch_norm_row r = row_of(c, block);
    kernels_for(c, &r)->reduce(&r, &k->line, c->backward, row_at(c, c->x, block, n), row_at(c, c->y, block, n),
                               row_at(c, c->dy, block, n), row_at(c, c->more, block, n), row_at(c, c->d, block, n),
                               out);
}

/* With x^ = (x - mean)/deviation: dbeta = sum d, dgamma = sum d x^, dx = gamma/deviation (d - (dbeta + x^ dgamma)/n).
 */
static void settle_gradients(const struct wl_batch_norm_call *c, int64_t block, const struct wl_batch_norm_sums *s,
                             struct known *k)
{
    for (int i = 0; i < channels_in(c, block); i++) {
        const int64_t at = first_channel(c, block) + i;
        const double inverse = inverse_deviation(c, at), scale = (double)c->gamma[at] * inverse;
        const double dbeta = s->v[0][i], dgamma = s->v[1][i] * inverse;
        c->dbeta[at] = (float)dbeta;
        c->dgamma[at] = (float)dgamma;
        k->slope.of_d[i] = (float)scale;
        k->slope.of_x[i] = (float)(-scale * inverse * dgamma / elements(c));
        k->slope.shift[i] = (float)(-scale * dbeta / elements(c));
    }
}

static void write_gradient(const struct wl_batch_norm_call *c, int64_t block, int64_t n, const struct known *k)
{
    const struct wl_batch_norm_row r = row_of(c, block);
    const void *d = c->backward == WL_BATCH_NORM_RELU_FROM_Y ? c->d : c->dy;
    kernels_for(c, &r)->spread(&r, &k->line, &k->slope, c->backward, row_at(c, c->x, block, n), row_at(c, d, block, n),
                               row_at(c, c->dx, block, n));
}

void wl_batch_norm_backward(const struct wl_batch_norm_call *c)
{
    run(c, &(struct pass) { know_line, sum_gradients, settle_gradients, write_gradient });
}
