/* Reliability diagrams: how much more or less often than stated something became true, in each bin. */
#include "recommend/tally.h"

#include "report/report.h"

#include <math.h>

enum { ENOUGH = 100 }; /* cases of a bin that is drawn */
static const double Z95 = 1.959964;
#define PROMISE_POINTS 3.0        /* percentage points */
static const double DODGE = 0.12; /* of a bin, between series */

struct points {
    double *x, *y, *lo, *hi;
    size_t n;
};

/* A proportion with its 95 % interval (Wilson 1927), less what was stated, in percentage points. */
static void add_bin(struct points *p, const struct bin *b, double x)
{
    const double n = (double)b->n, share = b->kept / n, stated = b->stated / n, z2 = Z95 * Z95,
                 middle = (share + z2 / (2 * n)) / (1 + z2 / n),
                 half = Z95 / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
    p->x[p->n] = x;
    p->y[p->n] = 100 * (share - stated);
    p->lo[p->n] = 100 * (middle - half - stated);
    p->hi[p->n++] = 100 * (middle + half - stated);
}

static struct points points_of(const struct bin *bins, double dodge, struct wl_arena *a)
{
    struct points p = { wl_new_array(a, double, BINS), wl_new_array(a, double, BINS), wl_new_array(a, double, BINS),
                        wl_new_array(a, double, BINS), 0 };
    for (size_t b = 0; b < BINS; b++)
        if (bins[b].n >= ENOUGH) add_bin(&p, &bins[b], (double)b + dodge);
    return p;
}

/* "batch, 3 %: n 210 to 13000": what each point rests on. */
static const char *label_of(const char *variant, const char *what, const struct bin *bins, struct wl_arena *a)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t b = 0; b < BINS; b++) {
        if (bins[b].n < ENOUGH) continue;
        least = bins[b].n < least ? bins[b].n : least;
        most = bins[b].n > most ? bins[b].n : most;
    }
    return wl_strf(a, "%s, %s: n %zu to %zu", variant, what, least, most);
}

static void add_promise(struct wl_figure *f)
{
    static const double ends[] = { -0.5, BINS - 0.5 }, lo[] = { -PROMISE_POINTS, -PROMISE_POINTS },
                        hi[] = { PROMISE_POINTS, PROMISE_POINTS };
    wl_figure_add(f, &(struct wl_figure_series) { .label = "promise: 3 points",
                                                  .style = WL_STYLE_BAND,
                                                  .n = 2,
                                                  .x = ends,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .colour = WL_COLOUR_NEUTRAL });
}

static struct wl_figure_axis axis_of_bins(struct wl_arena *a)
{
    struct wl_figure_axis x = { .label = "probability that was stated", .min = -0.5, .max = BINS - 0.5 };
    x.ticks = (struct wl_reals) { .v = wl_new_array(a, double, BINS), .n = BINS };
    for (size_t b = 0; b < BINS; b++) {
        x.ticks.v[b] = (double)b;
        wl_strs_add(a, &x.names, wl_strf(a, "%g to %g", tally_edges[b], fmin(1, tally_edges[b + 1])));
    }
    return x;
}

static void write_svg(const struct wl_figure *f, const char *folder, struct wl_arena *a)
{
    struct wl_err e;
    struct wl_text script = WL_TEXT(a);
    const char *path = wl_strf(a, "%s/%s.gp", folder, f->id);
    wl_figure_gnuplot(f, &script);
    must(wl_file_write(path, script.s, script.n, &e), &e);
    must(wl_gnuplot_run(path, "svg", wl_strf(a, "%s/%s.svg", folder, f->id), a, &e), &e);
}

struct shown {
    enum tally_kind kind;
    const char *what;
};

static void draw(const struct tally *variants, const char *const *names, size_t n, const struct shown shown[2],
                 struct wl_figure *f, struct wl_arena *a)
{
    f->x = axis_of_bins(a);
    f->y = (struct wl_figure_axis) {
        .label = "share kept less stated", .unit = "points", .zero = true, .min = NAN, .max = NAN
    };
    f->simulated = true;
    add_promise(f);
    for (size_t i = 0; i < 2 * n; i++) {
        const size_t v = i / 2, k = i % 2;
        const struct bin *bins = variants[v].bins[shown[k].kind];
        const struct points p = points_of(bins, DODGE * ((double)i - (double)n + 0.5), a);
        wl_figure_add(f, &(struct wl_figure_series) { .label = label_of(names[v], shown[k].what, bins, a),
                                                      .style = WL_STYLE_POINTS,
                                                      .n = p.n,
                                                      .x = p.x,
                                                      .y = p.y,
                                                      .lo = p.lo,
                                                      .hi = p.hi,
                                                      .colour = (int)v,
                                                      .marker = (int)k });
    }
    wl_figure_finish(f);
}

void tally_draw(const struct tally *variants, const char *const *names, size_t n, const char *folder,
                struct wl_arena *a)
{
    static const struct shown near_best[] = { { WITHIN_1, "1 %" }, { WITHIN_3, "3 %" } },
                              limits[] = { { NEAR_LIMIT, "slowdown" }, { NEAR_BUDGET, "budget" } };
    struct wl_figure *f =
        wl_figure_new(a, "recommend-near-best", "Probability that the choice is within 1 % or 3 % of the best");
    draw(variants, names, n, near_best, f, a);
    write_svg(f, folder, a);
    f = wl_figure_new(a, "recommend-limits", "Probability that a limit next to a setting is kept");
    draw(variants, names, n, limits, f, a);
    write_svg(f, folder, a);
}
