/* How long the ranks of a run computed, by their marks `phase name=compute`, for the comparison of units. */
#include "report/rank_readings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a rank said about itself when it started. */
struct start {
    int64_t rank;
    const char *host, *gpu; /* NULL: not said */
};

/* How long a rank computed in an epoch; NAN: of no epoch. */
struct piece {
    int64_t rank;
    double epoch, time_s;
    size_t order;
};

struct run {
    struct start *starts;
    struct piece *pieces;
    size_t n_starts, n_pieces;
};

static int by_rank(const void *a, const void *b)
{
    const int64_t x = ((const struct start *)a)->rank, y = ((const struct start *)b)->rank;
    return (x > y) - (x < y);
}

/* By epoch (none first), rank, and the order in which they were written. */
static int by_epoch(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    const double p = isnan(x->epoch) ? 0 : x->epoch, q = isnan(y->epoch) ? 0 : y->epoch;
    if (p != q) return (p > q) - (p < q);
    if (x->rank != y->rank) return (x->rank > y->rank) - (x->rank < y->rank);
    return (x->order > y->order) - (x->order < y->order);
}

static const struct start *start_of(const struct run *r, int64_t rank)
{
    static const struct start unknown = { 0 };
    const struct start *found =
        bsearch(&(struct start) { .rank = rank }, r->starts, r->n_starts, sizeof *r->starts, by_rank);
    return found ? found : &unknown;
}

static void read_mark(struct run *r, const struct wl_rank_mark_row *row)
{
    if (row->is_start)
        r->starts[r->n_starts++] = (struct start) { row->rank, row->host, row->gpu };
    else if (row->compute_s > 0) {
        r->pieces[r->n_pieces] = (struct piece) { row->rank, row->epoch, row->compute_s, r->n_pieces };
        r->n_pieces++;
    }
}

/* Of an epoch that a rank has marked twice (by a job that resumed within the run) the last one counts. */
static void keep_last(struct run *r)
{
    size_t n = 0;
    qsort(r->pieces, r->n_pieces, sizeof *r->pieces, by_epoch);
    for (size_t i = 0; i < r->n_pieces; i++) {
        const struct piece *p = &r->pieces[i], *next = i + 1 < r->n_pieces ? p + 1 : NULL;
        const bool same = next && next->rank == p->rank && !isnan(p->epoch) && next->epoch == p->epoch;
        if (!same) r->pieces[n++] = *p;
    }
    r->n_pieces = n;
}

static struct wl_units_reading reading(const struct run *r, const char *name, double epoch, int64_t rank, double s)
{
    const struct start *of = start_of(r, rank);
    return (struct wl_units_reading) { .run = name,
                                       .epoch = epoch,
                                       .node = of->host,
                                       .uuid = of->gpu,
                                       .number = NAN,
                                       .rank = (double)rank,
                                       .compute_s = s,
                                       .energy_j = NAN,
                                       .clock_mhz = NAN,
                                       .power_capped_pct = NAN,
                                       .thermal_capped_pct = NAN };
}

/* The mean of each rank over the epochs after the warm-up, or over all where none is left; then the epochs. */
static size_t add_run(const struct run *r, const char *name, int64_t drop_epochs, struct wl_units_reading *to,
                      struct wl_arena *a)
{
    const double last = r->n_pieces ? r->pieces[r->n_pieces - 1].epoch : NAN;
    const double dropped = last > (double)drop_epochs ? (double)drop_epochs : 0;
    struct piece *v = wl_new_array(a, struct piece, r->n_pieces);
    size_t kept = 0, n = 0;
    for (size_t i = 0; i < r->n_pieces; i++)
        if (isnan(last) || r->pieces[i].epoch > dropped) {
            v[kept] = r->pieces[i];
            v[kept++].epoch = NAN;
        }
    qsort(v, kept, sizeof *v, by_epoch);
    for (size_t i = 0, end; i < kept; i = end) {
        double sum = 0;
        for (end = i; end < kept && v[end].rank == v[i].rank; end++) sum += v[end].time_s;
        to[n++] = reading(r, name, NAN, v[i].rank, sum / (double)(end - i));
    }
    for (size_t i = 0; i < r->n_pieces; i++)
        if (!isnan(r->pieces[i].epoch))
            to[n++] = reading(r, name, r->pieces[i].epoch, r->pieces[i].rank, r->pieces[i].time_s);
    return n;
}

/* The rank on each GPU of the run; a GPU that several share is none's. */
static void set_ranks(const struct run *r, struct wl_units_reading *of, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0, found = 0; k < r->n_starts; k++) {
            if (!wl_str_eq(r->starts[k].gpu, of[i].uuid)) continue;
            of[i].rank = found++ ? NAN : (double)r->starts[k].rank;
        }
}

int wl_report_add_rank_readings(struct wl_store *s, struct wl_units_input *in, struct wl_arena *a, struct wl_err *e)
{
    struct wl_rank_mark_rows marks;
    int rc = wl_store_rank_marks(s, &marks, a, e);
    if (rc < 0 || marks.n == 0) return rc;
    struct wl_units_reading *v = wl_new_array(a, struct wl_units_reading, in->n + 2 * marks.n);
    size_t n = in->n, gpu = 0;
    if (n) memcpy(v, in->readings, n * sizeof *v);
    for (size_t i = 0, end; i < marks.n; i = end) {
        const char *name = wl_strf(a, "%lld", (long long)marks.v[i].run);
        for (end = i; end < marks.n && marks.v[end].run == marks.v[i].run;) end++;
        struct run r = { .starts = wl_new_array(a, struct start, end - i),
                         .pieces = wl_new_array(a, struct piece, end - i) };
        for (size_t k = i; k < end; k++) read_mark(&r, &marks.v[k]);
        qsort(r.starts, r.n_starts, sizeof *r.starts, by_rank);
        keep_last(&r);
        while (gpu < in->n && atoll(v[gpu].run) < marks.v[i].run) gpu++;
        size_t of_run = 0;
        while (gpu + of_run < in->n && wl_str_eq(v[gpu + of_run].run, name)) of_run++;
        set_ranks(&r, v + gpu, of_run);
        n += add_run(&r, name, in->drop_epochs, v + n, a);
    }
    in->readings = v;
    in->n = n;
    return 0;
}
