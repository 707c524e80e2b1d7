/* Figures as data: series are collected, then limits, ticks and bar positions are fixed once for all renderers. */
#include "report/figure/figure.h"

#include "report/figure/draw.h"
#include "report/figure/ticks.h"
#include "report/labels.h"

#include <math.h>

struct wl_figure *wl_figure_new(struct wl_arena *a, const char *id, const char *title)
{
    struct wl_figure *f = wl_new(a, struct wl_figure);
    *f = (struct wl_figure) { .id = id, .title = title, .arena = a };
    f->x = f->y = (struct wl_figure_axis) { .label = "", .min = NAN, .max = NAN };
    return f;
}

char *wl_slug(const char *name, struct wl_arena *a)
{
    enum { ROOM = 64 }; /* two of them and an ending fit into the 255 bytes of a file name */
    struct wl_text slug = WL_TEXT(a);
    for (const char *p = name; *p && slug.n < ROOM; p++) {
        char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain)
            wl_text_addn(&slug, &c, 1);
        else if (slug.n && slug.s[slug.n - 1] != '-')
            wl_text_add(&slug, "-");
    }
    while (slug.n && slug.s[slug.n - 1] == '-') slug.s[--slug.n] = '\0';
    return slug.n ? slug.s : wl_strdup(a, "other");
}

struct wl_figure_series *wl_figure_add(struct wl_figure *f, const struct wl_figure_series *s)
{
    WL_CHECK(s->x && (s->style == WL_STYLE_BAND ? s->lo && s->hi : s->y != NULL));
    WL_GROW(f->arena, f->series, f->n_series, f->cap_series);
    f->series[f->n_series] = *s;
    return &f->series[f->n_series++];
}

void wl_figure_option(struct wl_figure *f, size_t k, const char *name, const char *option, bool shown)
{
    struct wl_figure_choice *c = &f->choices[k];
    c->name = name;
    if (shown && c->n_shown < WL_FIGURE_SHOWN) c->shown[c->n_shown++] = c->options.n;
    wl_strs_add(f->arena, &c->options, option);
}

int wl_figure_rank(const struct wl_figure *f, const struct wl_figure_series *s)
{
    int rank = 0;
    for (size_t k = 0; k < WL_FIGURE_CHOICES; k++) {
        const struct wl_figure_choice *c = &f->choices[k];
        size_t at = 0;
        if (!s->option[k]) continue;
        while (at < c->n_shown && c->shown[at] != s->option[k] - 1) at++;
        if (at == c->n_shown) return -1;
        if (k == 0) rank = (int)at;
    }
    return rank;
}

void wl_figure_vline(struct wl_figure *f, double x, const char *label)
{
    WL_GROW(f->arena, f->vlines, f->n_vlines, f->cap_vlines);
    f->vlines[f->n_vlines++] = (struct wl_vline) { x, label };
}

/* Values beyond these are not drawn: ratios and differences of limits and steps of ticks stay finite and positive. */
static const double min_size = 1e-100, max_size = 1e100;

bool wl_figure_on_axis(const struct wl_figure_axis *axis, double v)
{
    return isfinite(v) && fabs(v) <= max_size && (!axis->log || v >= min_size);
}

bool wl_figure_series_empty(const struct wl_figure *f, const struct wl_figure_series *s)
{
    const double *y = s->style == WL_STYLE_BAND ? s->lo : s->y;
    for (size_t k = 0; k < s->n; k++) {
        if (wl_figure_on_axis(&f->x, s->x[k]) && wl_figure_on_axis(&f->y, y[k])) return false;
    }
    return true;
}

bool wl_figure_empty(const struct wl_figure *f)
{
    for (size_t i = 0; i < f->n_series; i++) {
        if (!wl_figure_series_empty(f, &f->series[i])) return false;
    }
    return true;
}

/* The smallest and largest value that an axis can hold. */
struct span {
    double lo, hi;
};

static void widen(struct span *span, const struct wl_figure_axis *axis, const double *values, size_t n)
{
    for (size_t i = 0; values && i < n; i++) {
        if (!wl_figure_on_axis(axis, values[i])) continue;
        span->lo = fmin(span->lo, values[i]);
        span->hi = fmax(span->hi, values[i]);
    }
}

static struct span x_span(const struct wl_figure *f)
{
    struct span span = { INFINITY, -INFINITY };
    for (size_t i = 0; i < f->n_series; i++) widen(&span, &f->x, f->series[i].x, f->series[i].n);
    return span;
}

static struct span y_span(const struct wl_figure *f)
{
    struct span span = { INFINITY, -INFINITY };
    for (size_t i = 0; i < f->n_series; i++) {
        const struct wl_figure_series *s = &f->series[i];
        if (wl_figure_rank(f, s) < 0) continue; /* the page makes room where it is chosen */
        widen(&span, &f->y, s->y, s->n);
        widen(&span, &f->y, s->lo, s->n);
        widen(&span, &f->y, s->hi, s->n);
    }
    return span;
}

/* A margin of 1/20 of the axis at the ends that were not given. */
static void set_limits(struct wl_figure_axis *axis, struct span span, bool margin)
{
    if (!(span.lo <= span.hi)) span = (struct span) { axis->log ? 1 : 0, axis->log ? 10 : 1 };
    if (axis->zero && !axis->log) {
        span.lo = fmin(span.lo, 0);
        span.hi = fmax(span.hi, 0);
    }
    bool flat = axis->log ? !(span.hi > span.lo) : !(span.hi - span.lo > min_size);
    double lo = span.lo, hi = span.hi;
    if (axis->log) {
        double factor = flat ? 2 : margin ? pow(hi / lo, .05) : 1;
        lo /= factor;
        hi *= factor;
    } else {
        double pad = flat ? (fabs(lo) > min_size ? fabs(lo) / 2 : 1) : margin ? (hi - lo) / 20 : 0;
        if (!(axis->zero && span.lo >= 0)) lo -= pad;
        hi += pad;
    }
    if (isnan(axis->min)) axis->min = lo;
    if (isnan(axis->max)) axis->max = hi;
}

/* Round ticks inside the limits; an axis of fewer than two ticks grows to the next ones. */
static void set_ticks(struct wl_figure_axis *axis, struct wl_arena *a)
{
    if (axis->ticks.n) {
        axis->min = fmin(axis->min, axis->ticks.v[0]);
        axis->max = fmax(axis->max, axis->ticks.v[axis->ticks.n - 1]);
        return;
    }
    struct wl_reals all = wl_ticks_round(axis->min, axis->max, axis->log, a), inside = { all.v, 0 };
    double slack = axis->log ? 0 : (axis->max - axis->min) * 1e-9;
    size_t n_inside = 0;
    for (size_t i = 0; i < all.n; i++) n_inside += all.v[i] >= axis->min - slack && all.v[i] <= axis->max + slack;
    if (n_inside < 2 && all.n) {
        axis->min = fmin(axis->min, all.v[0]);
        axis->max = fmax(axis->max, all.v[all.n - 1]);
        slack = INFINITY;
    }
    for (size_t i = 0; i < all.n; i++) {
        if (all.v[i] >= axis->min - slack && all.v[i] <= axis->max + slack) inside.v[inside.n++] = all.v[i];
    }
    axis->ticks = inside;
}

/* The smallest distance between two x of the bars, 1 where all are at one x. */
static double bar_spacing(const struct wl_figure *f)
{
    double spacing = INFINITY;
    for (size_t i = 0; i < f->n_series; i++) {
        const struct wl_figure_series *s = &f->series[i];
        for (size_t k = 1; s->style == WL_STYLE_BARS && k < s->n; k++) {
            double step = fabs(s->x[k] - s->x[k - 1]);
            if (step > 0) spacing = fmin(spacing, step);
        }
    }
    return isfinite(spacing) ? spacing : 1;
}

/* Bars of several series share 4/5 of the room at each x. Returns the room that one x needs. */
static double place_bars(struct wl_figure *f)
{
    size_t bars = 0, at = 0;
    for (size_t i = 0; i < f->n_series; i++)
        bars += f->series[i].style == WL_STYLE_BARS && wl_figure_rank(f, &f->series[i]) >= 0;
    if (bars == 0) return 0;

    double spacing = bar_spacing(f), width = .8 * spacing / (double)bars;
    for (size_t i = 0; i < f->n_series; i++) {
        struct wl_figure_series *s = &f->series[i];
        if (s->style != WL_STYLE_BARS) continue;
        double *x = wl_new_array(f->arena, double, s->n);
        for (size_t k = 0; k < s->n; k++)
            x[k] = wl_figure_rank(f, s) < 0 ? s->x[k] : s->x[k] + ((double)at - ((double)bars - 1) / 2) * width;
        s->x = x;
        s->bar_width = .92 * width;
        if (wl_figure_rank(f, s) >= 0) at++;
    }
    f->y.zero = true;
    return spacing;
}

/* Names of vertical lines are at the top: 1/12 of the axis is kept free of data for them. */
static struct span with_names(const struct wl_figure *f, struct span y)
{
    bool named = false;
    for (size_t i = 0; i < f->n_vlines; i++) named = named || f->vlines[i].label;
    if (named && !f->y.log && y.lo <= y.hi) y.hi += (y.hi - (f->y.zero ? fmin(y.lo, 0) : y.lo)) / 12;
    return y;
}

/* Two series of a figure never have the same legend entry. */
static void make_labels_unique(struct wl_figure *f)
{
    struct wl_strs labels = { 0 };
    for (size_t i = 0; i < f->n_series; i++) {
        struct wl_figure_series *s = &f->series[i];
        if (s->label) s->label = wl_unique_name(&labels, s->label, " (", ")", f->arena);
    }
}

/* ---- points that cover each other ---- */

/* 0 .. cells - 1 along an axis. */
static size_t cell_of(const struct wl_figure_axis *axis, double v, size_t cells)
{
    const double lo = axis->log ? log(axis->min) : axis->min, hi = axis->log ? log(axis->max) : axis->max,
                 at = ((axis->log ? log(v) : v) - lo) / (hi - lo);
    return at > 0 ? at < 1 ? (size_t)(at * (double)cells) : cells - 1 : 0;
}

/* A cell is smaller than a point in any size of figure that people look at: the first point in it covers the others. */
static void hide_covered(struct wl_figure *f, struct wl_figure_series *s)
{
    enum { FEW = 50, ACROSS = 160, UP = 100 };
    if (s->style != WL_STYLE_POINTS || s->n <= FEW || s->lo || s->hi) return;
    bool *taken = wl_new_array(f->arena, bool, ACROSS *UP), *hidden = wl_new_array(f->arena, bool, s->n);
    for (size_t i = 0; i < s->n; i++) {
        if (!wl_figure_on_axis(&f->x, s->x[i]) || !wl_figure_on_axis(&f->y, s->y[i])) continue;
        bool *here = &taken[cell_of(&f->x, s->x[i], ACROSS) * UP + cell_of(&f->y, s->y[i], UP)];
        hidden[i] = *here;
        *here = true;
    }
    s->hidden = hidden;
}

struct wl_figure_thinned wl_figure_thinned(const struct wl_figure *f)
{
    struct wl_figure_thinned t = { 0, 0 };
    for (size_t k = 0; k < f->n_series; k++) {
        const struct wl_figure_series *s = &f->series[k];
        for (size_t i = 0; s->style == WL_STYLE_POINTS && i < s->n; i++) {
            t.all++;
            t.drawn += !(s->hidden && s->hidden[i]);
        }
    }
    return t;
}

void wl_figure_finish(struct wl_figure *f)
{
    make_labels_unique(f);
    double room = place_bars(f);
    struct span x = x_span(f);
    if (room > 0) {
        x = (struct span) { x.lo - room / 2, x.hi + room / 2 };
        WL_CHECK(!f->x.log);
    }
    set_limits(&f->x, x, f->x.log || f->x.ticks.n > 0);
    set_limits(&f->y, with_names(f, y_span(f)), true);
    set_ticks(&f->x, f->arena);
    set_ticks(&f->y, f->arena);
    for (size_t i = 0; i < f->n_series; i++) hide_covered(f, &f->series[i]);
}

char *wl_figure_axis_title(const struct wl_figure_axis *axis, struct wl_arena *a)
{
    return axis->unit ? wl_strf(a, "%s [%s]", axis->label, axis->unit) : wl_strdup(a, axis->label);
}
