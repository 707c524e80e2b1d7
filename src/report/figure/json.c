/* A figure as JSON, for ui/charts.js, and as CSV, for every other program. */
#include "report/figure/colour.h"
#include "report/figure/draw.h"
#include "report/labels.h"

#include <math.h>

static const char *const style_names[] = {
    [WL_STYLE_LINE] = "line", [WL_STYLE_POINTS] = "points", [WL_STYLE_BAND] = "band", [WL_STYLE_BARS] = "bars"
};

static void axis_json(const struct wl_figure_axis *axis, struct wl_json *to, struct wl_arena *a)
{
    wl_json_add_str(to, "title", wl_figure_axis_title(axis, a));
    wl_json_add_str(to, "unit", axis->unit);
    wl_json_add_bool(to, "log", axis->log);
    wl_json_add_real(to, "min", axis->min);
    wl_json_add_real(to, "max", axis->max);
    struct wl_json *ticks = wl_json_add_array(to, "ticks");
    for (size_t i = 0; i < axis->ticks.n; i++) {
        struct wl_json *tick = wl_json_add_object(ticks, NULL);
        wl_json_add_real(tick, "value", axis->ticks.v[i]);
        wl_json_add_str(tick, "name", i < axis->names.n ? axis->names.v[i] : wl_strf(a, "%.6g", axis->ticks.v[i]));
    }
}

static bool is_hidden(const struct wl_figure_series *s, size_t i) { return s->hidden && s->hidden[i]; }

/* The numbers as an array; null where one is missing or the axis cannot hold it. */
static void numbers_json(const struct wl_figure_axis *axis, const struct wl_figure_series *s, const double *v,
                         const char *key, struct wl_json *to)
{
    if (!v) return;
    struct wl_json *array = wl_json_add_array(to, key);
    for (size_t i = 0; i < s->n; i++)
        if (!is_hidden(s, i)) wl_json_add_real(array, NULL, wl_figure_on_axis(axis, v[i]) ? v[i] : NAN);
}

static void means_json(const struct wl_figure_series *s, struct wl_json *to)
{
    if (!s->means) return;
    struct wl_json *means = wl_json_add_object(to, "means"), *ln = wl_json_add_array(means, "ln"),
                   *variance = wl_json_add_array(means, "variance"), *runs = wl_json_add_array(means, "runs");
    for (size_t i = 0; i < s->n; i++) {
        wl_json_add_real(ln, NULL, s->means[i].ln);
        wl_json_add_real(variance, NULL, s->means[i].variance);
        wl_json_add_real(runs, NULL, s->means[i].runs);
    }
}

static void series_json(const struct wl_figure *f, const struct wl_figure_series *s, size_t group, struct wl_json *to)
{
    wl_json_add_str(to, "label", s->label);
    wl_json_add_int(to, "group", (int64_t)group);
    wl_json_add_str(to, "style", style_names[s->style]);
    wl_json_add_str(to, "light", wl_colour(s->colour)->light);
    wl_json_add_str(to, "dark", wl_colour(s->colour)->dark);
    wl_json_add_int(to, "marker", s->marker % WL_MARKERS);
    wl_json_add_int(to, "dash", s->dashed ? 1 : s->dash % WL_DASHES);
    if (s->style == WL_STYLE_BARS) wl_json_add_real(to, "width", s->bar_width);
    if (s->option[0] || s->option[1]) {
        struct wl_json *options = wl_json_add_array(to, "option");
        for (size_t k = 0; k < WL_FIGURE_CHOICES; k++) wl_json_add_int(options, NULL, (int64_t)s->option[k] - 1);
        wl_json_add_int(to, "rank", wl_figure_rank(f, s));
    }
    numbers_json(&f->x, s, s->x, "x", to);
    numbers_json(&f->y, s, s->y, "y", to);
    numbers_json(&f->y, s, s->lo, "lo", to);
    numbers_json(&f->y, s, s->hi, "hi", to);
    means_json(s, to);
    if (!s->notes) return;
    struct wl_json *notes = wl_json_add_array(to, "notes");
    for (size_t i = 0; i < s->n; i++)
        if (!is_hidden(s, i)) wl_json_add_str(notes, NULL, s->notes[i]);
}

static void choices_json(const struct wl_figure *f, struct wl_json *object)
{
    if (!f->choices[0].name) return;
    struct wl_json *choices = wl_json_add_array(object, "choices");
    for (size_t k = 0; k < WL_FIGURE_CHOICES && f->choices[k].name; k++) {
        const struct wl_figure_choice *c = &f->choices[k];
        struct wl_json *to = wl_json_add_object(choices, NULL);
        wl_json_add_str(to, "name", c->name);
        struct wl_json *options = wl_json_add_array(to, "options"), *shown = wl_json_add_array(to, "shown");
        for (size_t i = 0; i < c->options.n; i++) wl_json_add_str(options, NULL, c->options.v[i]);
        for (size_t i = 0; i < c->n_shown; i++) wl_json_add_int(shown, NULL, (int64_t)c->shown[i]);
    }
}

static void base_json(const struct wl_figure *f, struct wl_json *object)
{
    if (!f->base.name) return;
    struct wl_json *base = wl_json_add_object(object, "base");
    wl_json_add_str(base, "name", f->base.name);
    wl_json_add_bool(base, "below", f->base.below);
    wl_json_add_bool(base, "groups", f->base.groups);
}

void wl_figure_json(const struct wl_figure *f, struct wl_json *object)
{
    wl_json_add_str(object, "id", f->id);
    wl_json_add_str(object, "title", f->title);
    wl_json_add_str(object, "caption", f->caption);
    wl_json_add_str(object, "source", f->source);
    wl_json_add_bool(object, "estimated", f->estimated);
    wl_json_add_bool(object, "simulated", f->simulated);
    wl_json_add_str(object, "honesty", wl_provenance_note(f->estimated, f->simulated));
    choices_json(f, object);
    base_json(f, object);
    axis_json(&f->x, wl_json_add_object(object, "x"), f->arena);
    axis_json(&f->y, wl_json_add_object(object, "y"), f->arena);

    struct wl_json *series = wl_json_add_array(object, "series");
    size_t group = 0;
    for (size_t i = 0; i < f->n_series; i++) {
        if (f->series[i].label) group = i;
        series_json(f, &f->series[i], group, wl_json_add_object(series, NULL));
    }
    struct wl_json *vlines = wl_json_add_array(object, "vlines");
    for (size_t i = 0; i < f->n_vlines; i++) {
        struct wl_json *line = wl_json_add_object(vlines, NULL);
        wl_json_add_real(line, "x", f->vlines[i].x);
        wl_json_add_str(line, "label", f->vlines[i].label);
    }
}

static void number_csv(const double *v, size_t i, struct wl_text *to)
{
    wl_text_add(to, ",");
    if (v && isfinite(v[i])) wl_text_addf(to, "%.15g", v[i]);
}

void wl_figure_csv(const struct wl_figure *f, struct wl_text *to)
{
    wl_text_add(to, "series,style,x,y,y_lo,y_hi,note\n");
    const char *label = "";
    for (size_t k = 0; k < f->n_series; k++) {
        const struct wl_figure_series *s = &f->series[k];
        if (s->label) label = s->label;
        for (size_t i = 0; i < s->n; i++) {
            wl_csv_put(to, label);
            wl_text_addf(to, ",%s", style_names[s->style]);
            number_csv(s->x, i, to);
            number_csv(s->y, i, to);
            number_csv(s->lo, i, to);
            number_csv(s->hi, i, to);
            wl_text_add(to, ",");
            if (s->notes && s->notes[i]) wl_csv_put(to, s->notes[i]);
            wl_text_add(to, "\n");
        }
    }
}
