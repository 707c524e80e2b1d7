/* A figure as a gnuplot script that carries its data, and the run of gnuplot on it. */
#include "report/escape.h"
#include "report/figure/colour.h"
#include "report/figure/draw.h"
#include "report/labels.h"

#include <math.h>
#include <string.h>

/* gnuplot's numbers of the filled marks, in the order of ui/look.js: disc, square, triangle, diamond, triangle
 * down, cross, star. */
static const int point_types[WL_MARKERS] = { 7, 5, 9, 13, 11, 2, 3 };

static const char *colour_of(const struct wl_figure_series *s) { return wl_colour(s->colour)->light; }

static void put_quoted(struct wl_text *to, const char *before, const char *text, const char *after)
{
    wl_text_add(to, before);
    wl_escape_gnuplot(to, text);
    wl_text_add(to, after);
}

/* One block per series: x and the columns of its style. A row that cannot be drawn becomes an empty line, at which
 * gnuplot interrupts lines and areas; two in a row would begin another data set. */
static void put_data(const struct wl_figure *f, size_t k, struct wl_text *to)
{
    const struct wl_figure_series *s = &f->series[k];
    const double *columns[] = { s->style == WL_STYLE_BAND ? NULL : s->y, s->lo, s->hi };
    bool gap = true;
    wl_text_addf(to, "$data%zu << EOD\n", k + 1);
    for (size_t i = 0; i < s->n; i++) {
        bool ok = wl_figure_on_axis(&f->x, s->x[i]);
        if (s->hidden && s->hidden[i]) continue;
        for (size_t c = 0; c < WL_COUNT(columns); c++) {
            if (columns[c] && (c == 0 || s->style == WL_STYLE_BAND)) ok = ok && wl_figure_on_axis(&f->y, columns[c][i]);
        }
        if (!ok) {
            if (!gap) wl_text_add(to, "\n");
            gap = true;
            continue;
        }
        wl_text_addf(to, "%.10g", s->x[i]);
        for (size_t c = 0; c < WL_COUNT(columns); c++) {
            if (!columns[c]) continue;
            double v =
                wl_figure_on_axis(&f->y, columns[c][i]) ? columns[c][i] : s->y[i]; /* an error bar without an end */
            wl_text_addf(to, " %.10g", v);
        }
        wl_text_add(to, "\n");
        gap = false;
    }
    wl_text_add(to, "EOD\n");
}

static void put_axis(const struct wl_figure_axis *axis, char name, struct wl_arena *a, struct wl_text *to)
{
    wl_text_addf(to, "set %clabel ", name);
    wl_escape_gnuplot(to, wl_figure_axis_title(axis, a));
    if (axis->log) wl_text_addf(to, "\nset logscale %c", name);
    wl_text_addf(to, "\nset %crange [%.10g:%.10g]\nset %ctics nomirror (", name, axis->min, axis->max, name);
    for (size_t i = 0; i < axis->ticks.n; i++) {
        wl_text_add(to, i ? ", " : "");
        if (i < axis->names.n)
            wl_escape_gnuplot(to, axis->names.v[i]);
        else
            wl_text_addf(to, "'%.6g'", axis->ticks.v[i]);
        wl_text_addf(to, " %.10g", axis->ticks.v[i]);
    }
    wl_text_add(to, ")\n");
}

static void put_vlines(const struct wl_figure *f, struct wl_text *to)
{
    for (size_t i = 0; i < f->n_vlines; i++) {
        double x = f->vlines[i].x;
        if (!wl_figure_on_axis(&f->x, x)) continue;
        wl_text_addf(to, "set arrow from %.10g, graph 0 to %.10g, graph 1 nohead lc rgb '#888888' lw 0.8 dt 3\n", x, x);
        if (!f->vlines[i].label) continue;
        put_quoted(to, "set label ", f->vlines[i].label, "");
        wl_text_addf(to, " at %.10g, graph 0.985 offset 0.4,0 left font ',10' tc rgb '#666666'\n", x);
    }
}

/* Areas lie below lines, lines below points. */
static int layer(const struct wl_figure_series *s)
{
    return s->style == WL_STYLE_BAND ? 0 : s->style == WL_STYLE_BARS ? 1 : s->style == WL_STYLE_LINE ? 2 : 3;
}

/* The plot command and its legend: entries are in the order of the series, whatever is drawn first. */
struct plots {
    struct wl_text *to;
    size_t n;
};

static void begin_part(struct plots *p) { wl_text_add(p->to, p->n++ ? ", \\\n     " : "plot "); }

static char *line_style(const struct wl_figure_series *s, struct wl_arena *a)
{
    static const char *const dashes[WL_DASHES] = { "",           " dt 2",
                                                   " dt 3",      " dt (14,5,3,5)",
                                                   " dt (18,6)", " dt (8,4,2,4,2,4)" };
    return wl_strf(a, "lines lc rgb '%s' lw 1.8%s", colour_of(s), dashes[s->dashed ? 1 : s->dash % WL_DASHES]);
}

static char *point_style(const struct wl_figure_series *s, struct wl_arena *a)
{
    return wl_strf(a, "points lc rgb '%s' pt %d ps 0.8", colour_of(s), point_types[s->marker % WL_MARKERS]);
}

static char *style_of(const struct wl_figure_series *s, struct wl_arena *a)
{
    switch (s->style) {
    case WL_STYLE_BAND: return wl_strf(a, "filledcurves fc rgb '%s' fs transparent solid 0.18 noborder", colour_of(s));
    case WL_STYLE_BARS: return wl_strf(a, "boxes fc rgb '%s' fs solid 0.85 noborder", colour_of(s));
    case WL_STYLE_LINE: return line_style(s, a);
    case WL_STYLE_POINTS: break;
    }
    return point_style(s, a);
}

static void put_series(const struct wl_figure_series *s, size_t k, struct plots *p, struct wl_arena *a)
{
    begin_part(p);
    wl_text_addf(p->to, "$data%zu using ", k + 1);
    if (s->style == WL_STYLE_BARS)
        wl_text_addf(p->to, "1:2:(%.6g)", s->bar_width);
    else
        wl_text_add(p->to, s->style == WL_STYLE_BAND ? "1:2:3" : "1:2");
    wl_text_addf(p->to, " with %s notitle", style_of(s, a));
    if (s->style == WL_STYLE_BAND || !s->lo || !s->hi) return;
    begin_part(p);
    wl_text_addf(p->to,
                 "$data%zu using 1:3:(0):($4-$3) with vectors heads size graph 0.006,90 lc rgb '%s' lw 1.2 notitle",
                 k + 1, s->style == WL_STYLE_BARS ? "#333333" : colour_of(s));
}

static void put_legend_entry(const struct wl_figure_series *s, struct plots *p, struct wl_arena *a)
{
    begin_part(p);
    wl_text_addf(p->to, "keyentry with %s title ", style_of(s, a));
    wl_escape_gnuplot(p->to, s->label);
}

/* The legend below the axis, in as many columns as its longest entry leaves room for; the margin grows with its rows.
 */
static void put_legend_place(const struct wl_figure *f, struct wl_text *to)
{
    enum { CHARACTERS_ACROSS = 80, SAMPLE_CHARACTERS = 7, MAX_COLUMNS = 4 };
    size_t n = 0, longest = 1;
    for (size_t i = 0; i < f->n_series; i++) {
        const char *label = f->series[i].label;
        if (!label || wl_figure_rank(f, &f->series[i]) < 0) continue;
        n++;
        if (strlen(label) > longest) longest = strlen(label);
    }
    if (n == 0) {
        wl_text_add(to, "set key off\n");
        return;
    }
    size_t columns = CHARACTERS_ACROSS / (longest + SAMPLE_CHARACTERS);
    columns = columns < 1 ? 1 : columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
    size_t rows = (n + columns - 1) / columns;
    wl_text_addf(to, "set bmargin %.1f\n", 3.7 + 1.1 * (double)rows);
    wl_text_addf(
        to, "set key at screen 0.5, screen 0.015 center bottom horizontal maxcols %zu Left reverse samplen 2 width 1\n",
        columns);
}

void wl_figure_gnuplot(const struct wl_figure *f, struct wl_text *to)
{
    const char *honesty = wl_provenance_note(f->estimated, f->simulated);
    wl_text_addf(to, "# gnuplot %s.gp draws %s.svg; gnuplot -e \"format='pdf'\" %s.gp draws %s.pdf\n", f->id, f->id,
                 f->id, f->id);
    wl_text_add(to, "if (!exists('format')) format = 'svg'\n");
    wl_text_addf(to, "if (!exists('target')) target = '%s.'.format\n", f->id);
    wl_text_add(to, "set encoding utf8\n"
                    "if (format eq 'pdf') {\n"
                    "    set terminal pdfcairo noenhanced size 16cm,10.6cm font 'Helvetica,11'\n"
                    "} else {\n"
                    "    set terminal svg noenhanced size 800,530 font 'Helvetica,Arial,sans-serif,14' "
                    "background '#ffffff'\n"
                    "}\n"
                    "set output target\n");
    for (size_t i = 0; i < f->n_series; i++)
        if (wl_figure_rank(f, &f->series[i]) >= 0) put_data(f, i, to);
    put_quoted(to, "set title ", honesty ? wl_strf(f->arena, "%s (%s)", f->title, honesty) : f->title, "\n");
    put_axis(&f->x, 'x', f->arena, to);
    put_axis(&f->y, 'y', f->arena, to);
    wl_text_add(to, "set border 3 lc rgb '#444444'\nset grid lc rgb '#dddddd' lt 1 lw 0.7\n");
    put_vlines(f, to);
    put_legend_place(f, to);

    struct plots p = { to, 0 };
    for (int at = 0; at <= 3; at++) {
        for (size_t i = 0; i < f->n_series; i++) {
            if (layer(&f->series[i]) == at && wl_figure_rank(f, &f->series[i]) >= 0 &&
                !wl_figure_series_empty(f, &f->series[i]))
                put_series(&f->series[i], i, &p, f->arena);
        }
    }
    for (size_t i = 0; i < f->n_series; i++) {
        if (f->series[i].label && wl_figure_rank(f, &f->series[i]) >= 0) put_legend_entry(&f->series[i], &p, f->arena);
    }
    wl_text_add(to, p.n ? "\n" : "plot NaN notitle\n");
}

static int draw(const char *script_path, const char *format, const char *target, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text set = WL_TEXT(a);
    put_quoted(&set, "format = ", format, "; ");
    put_quoted(&set, "target = ", target, "");
    char *argv[] = { "gnuplot", "-d", "-e", set.s, (char *)script_path, NULL }, *output = NULL;
    struct wl_process_result end;
    int rc = wl_process_run(&(struct wl_process_run) { .argv = argv, .max = 4096, .merge_stderr = true }, &output, &end,
                            a, e);
    if (rc == WL_ENOENT) return wl_fail(e, WL_EUNAVAIL, "gnuplot is not installed (apt-get install gnuplot-nox)");
    if (rc || end.status == 0) return rc;
    return wl_fail(e, WL_ELIB, "gnuplot failed on %s (exit status %d): %s", script_path, end.status,
                   wl_str_strip(a, output));
}

int wl_gnuplot_run(const char *script_path, const char *format, const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct wl_atomic_file to;
    int rc = wl_atomic_file_open(&to, path, WL_ATOMIC_FILE_INTERNAL, e);
    if (rc == 0) rc = draw(script_path, format, to.temporary, a, e); /* gnuplot opens it by its name */
    if (rc == 0) return wl_atomic_file_commit(&to, e);
    wl_atomic_file_discard(&to);
    return rc;
}
