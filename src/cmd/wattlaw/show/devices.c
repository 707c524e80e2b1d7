/* Tables of the devices of a run. With more than MANY devices, those of one product share a row. */
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/screen.h"
#include "cmd/wattlaw/show/show.h"
#include "power/power.h"

#include <math.h>

enum { MANY = 16 };

/* Identifies a row; devices of one product have the same key. */
struct device_key {
    const char *device; /* its product, or product and uuid */
    const char *sensor, *what, *scope, *unit;
    enum wl_provenance from;
    bool chosen;
};

static bool same_label(const struct device_key *x, const struct device_key *y)
{
    return wl_str_eq(x->device, y->device) && wl_str_eq(x->sensor, y->sensor) && wl_str_eq(x->what, y->what) &&
           wl_str_eq(x->scope, y->scope) && wl_str_eq(x->unit, y->unit) && x->from == y->from && x->chosen == y->chosen;
}

struct device_row {
    struct device_key label;
    size_t devices;
    double energy_j, lo_j, hi_j, idle_j, power_w, coverage; /* sums, and the lowest */
    double mean, sd, min, max;                              /* mean of means; sd of a single device */
    double readings, update_s;                              /* update period of the slowest sensor; NAN: unknown */
    double period_s;                                        /* reading period of the slowest sensor; NAN: unknown */
    const char *why;   /* why the energy is unknown, from the first device without one */
    const char *shows; /* response of the sensor; NULL: unknown */
};
struct device_rows {
    struct device_row *v;
    size_t n, cap;
};

/* The row to add to: a new one, or that of the same product. */
static struct device_row *line_for(struct device_rows *lines, const struct device_key *label, bool merge,
                                   struct wl_arena *a)
{
    for (size_t i = 0; merge && i < lines->n; i++)
        if (same_label(&lines->v[i].label, label)) return &lines->v[i];
    WL_GROW(a, lines->v, lines->n, lines->cap);
    lines->v[lines->n] = (struct device_row) { .label = *label, .update_s = NAN, .period_s = NAN };
    return &lines->v[lines->n++];
}

static const char *device_label(const struct wl_device_row *v, bool merge, struct wl_arena *a)
{
    if (!v) return NULL;
    if (merge) return v->name ? v->name : v->sensor;
    return v->name && !wl_str_eq(v->name, v->uuid) ? wl_strf(a, "%s %s", v->name, v->uuid) : v->uuid;
}

static void device_cell(struct wl_table *t, const struct device_row *v)
{
    if (v->devices > 1)
        wl_table_cellf(t, "%zu x %s", v->devices, v->label.device);
    else
        wl_table_cell(t, v->label.device);
}

/* An empty name is the provenance column. */
static struct wl_table table_with(const struct wl_table_head *head, size_t n, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    for (size_t i = 0; i < n; i++) {
        if (*head[i].name)
            wl_table_column(&t, head[i].name, head[i].right);
        else
            wl_table_provenance_column(&t);
    }
    return t;
}

static void amount_cell(struct wl_table *t, double value, const char *unit, int digits, enum wl_provenance from)
{
    const struct wl_amount q = wl_amount_of(value, unit, from);
    wl_table_amount(t, &q, digits);
}

/* An energy and the ends of its interval. */
static void joules_cells(struct wl_table *t, double energy_j, double lo_j, double hi_j, enum wl_provenance from)
{
    amount_cell(t, energy_j, "J", 5, from);
    amount_cell(t, lo_j, "J", 5, from);
    amount_cell(t, hi_j, "J", 5, from);
}

static void print_table(struct wl_table *t, bool all)
{
    if (wl_table_rows(t) == 0) return;
    wl_table_keep(t, "method");
    wl_table_keep(t, "quantity");
    wl_print("\n");
    wl_screen_table(t, all);
}

/* ---- energy ---- */

static void add_energy(struct device_row *to, const struct wl_energy_row *v)
{
    to->energy_j += v->energy_j;
    to->lo_j += v->energy_lo_j;
    to->hi_j += v->energy_hi_j;
    to->idle_j += v->idle_j;
    to->power_w += v->mean_power_w;
    if (!to->why && isnan(v->energy_j)) to->why = v->why;
    to->coverage = to->devices++ ? fmin(to->coverage, v->coverage) : v->coverage;
}

/* Why the energy is unknown; for a counter, its ratio to the integral over the same devices (for a model both are the
 * same). */
static const char *energy_note(const struct device_rows *lines, const struct device_row *v, struct wl_arena *a)
{
    if (v->why) return v->why;
    if ((v->label.from & WL_ESTIMATED) || !wl_str_eq(v->label.what, "counter")) return "";
    for (size_t i = 0; i < lines->n; i++) {
        const struct device_row *o = &lines->v[i];
        if (!wl_str_eq(o->label.what, "integral") || !wl_str_eq(o->label.device, v->label.device) ||
            !wl_str_eq(o->label.scope, v->label.scope) || o->devices != v->devices)
            continue;
        const char *ratio = wl_format_counter_ratio(v->energy_j, o->energy_j, a);
        if (*ratio) return wl_strf(a, "counter over integral%s", ratio + 1);
    }
    return "";
}

void wl_show_energies(const struct wl_show_details *d, struct wl_arena *a)
{
    static const struct wl_table_head head[] = { { "device", false },   { "scope", false },       { "method", false },
                                                 { "", false },         { "energy J", true },     { "from", true },
                                                 { "to (95 %)", true }, { "above idle J", true }, { "mean W", true },
                                                 { "covered %", true }, { "counted", false },     { "note", false } };
    bool merge = d->devices.n > MANY;
    struct device_rows lines = { 0 };
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        if (!isnan(v->epoch)) continue;
        struct device_key label = { .device = device_label(wl_show_device(d, v->device), merge, a),
                                    .what = v->method,
                                    .scope = v->scope,
                                    .from = wl_provenance_of(v->estimated, v->simulated),
                                    .chosen = v->chosen };
        add_energy(line_for(&lines, &label, merge, a), v);
    }
    struct wl_table t = table_with(head, WL_COUNT(head), a);
    for (size_t i = 0; i < lines.n; i++) {
        const struct device_row *v = &lines.v[i];
        device_cell(&t, v);
        wl_table_cell(&t, v->label.scope);
        wl_table_cell(&t, v->label.what);
        wl_table_provenance(&t, v->label.from);
        joules_cells(&t, v->energy_j, v->lo_j, v->hi_j, v->label.from);
        amount_cell(&t, v->energy_j - v->idle_j, "J", 5, v->label.from);
        amount_cell(&t, v->power_w, "W", 4, v->label.from);
        wl_table_real(&t, 100 * v->coverage, 3);
        wl_table_cell(&t, v->label.chosen ? "yes" : "no");
        wl_table_cell(&t, energy_note(&lines, v, a));
        wl_table_row(&t);
    }
    print_table(&t, d->all);
}

/* ---- phases ---- */

/* The sum over the chosen devices of a phase, which do not overlap. */
static void phase_row(struct wl_table *t, const struct wl_show_details *d, size_t i)
{
    struct wl_phase_row sum = d->phases.v[i];
    enum wl_provenance from = wl_provenance_of(sum.estimated, sum.simulated);
    for (size_t k = i + 1; k < d->phases.n && wl_str_eq(d->phases.v[k].phase, sum.phase); k++) {
        const struct wl_phase_row *v = &d->phases.v[k];
        sum.energy_j += v->energy_j;
        sum.energy_lo_j += v->energy_lo_j;
        sum.energy_hi_j += v->energy_hi_j;
        from |= wl_provenance_of(v->estimated, v->simulated);
    }
    wl_table_cell(t, sum.phase);
    wl_table_int(t, (double)sum.spans);
    wl_table_real(t, sum.time_s, 5);
    wl_table_provenance(t, from);
    joules_cells(t, sum.energy_j, sum.energy_lo_j, sum.energy_hi_j, from);
    wl_table_row(t);
}

void wl_show_phases(const struct wl_show_details *d, struct wl_arena *a)
{
    static const struct wl_table_head head[] = { { "phase", false },   { "spans", true },    { "time s", true },
                                                 { "", false },        { "energy J", true }, { "from", true },
                                                 { "to (95 %)", true } };
    struct wl_table t = table_with(head, WL_COUNT(head), a);
    for (size_t i = 0; i < d->phases.n; i++)
        if (i == 0 || !wl_str_eq(d->phases.v[i].phase, d->phases.v[i - 1].phase)) phase_row(&t, d, i);
    print_table(&t, d->all);
}

/* ---- channels ---- */

static void add_stat(struct device_row *to, const struct wl_stat_row *v)
{
    size_t n = to->devices++;
    to->mean += (v->mean - to->mean) / (double)(n + 1);
    to->sd = n ? NAN : v->sd;
    to->min = n ? fmin(to->min, v->min) : v->min;
    to->max = n ? fmax(to->max, v->max) : v->max;
    to->readings += (double)v->readings;
    to->period_s = fmax(to->period_s, v->period_s);
}

static const char *channel_note(const struct device_row *v, struct wl_arena *a)
{
    struct wl_text note = WL_TEXT(a);
    if (!isnan(v->period_s)) wl_text_addf(&note, "%sread every %s", note.n ? ", " : "", wl_human(a, v->period_s, "s"));
    if (!isnan(v->update_s))
        wl_text_addf(&note, "%supdated every %s", note.n ? ", " : "", wl_human(a, v->update_s, "s"));
    if (v->shows) wl_text_addf(&note, "%s%s", note.n ? ", " : "", v->shows);
    return note.s;
}

void wl_show_channels(const struct wl_show_details *d, struct wl_arena *a)
{
    static const struct wl_table_head head[] = { { "device", false }, { "sensor", false },  { "quantity", false },
                                                 { "scope", false },  { "", false },        { "mean", true },
                                                 { "sd", true },      { "min", true },      { "max", true },
                                                 { "unit", false },   { "readings", true }, { "note", false } };
    bool merge = d->devices.n > MANY;
    struct device_rows lines = { 0 };
    for (size_t i = 0; i < d->stats.n; i++) {
        const struct wl_stat_row *v = &d->stats.v[i];
        const struct wl_channel_row *c = wl_show_channel(d, v->channel);
        const struct wl_device_row *device = c ? wl_show_device(d, c->device) : NULL;
        if (!isnan(v->epoch) || !device) continue;
        struct device_key label = { .device = device_label(device, merge, a),
                                    .sensor = device->sensor,
                                    .scope = c->scope,
                                    .unit = c->counter ? wl_strf(a, "%s/s", c->unit) : c->unit,
                                    .from = wl_provenance_of(c->estimated, c->simulated) };
        label.what = *c->variant ? wl_strf(a, "%s (%s)", c->quantity, c->variant) : c->quantity;
        struct device_row *to = line_for(&lines, &label, merge, a);
        add_stat(to, v);
        to->update_s = fmax(to->update_s, c->update_s);
        to->shows = wl_sensor_response_text(&(struct wl_sensor_response) { c->update_s, c->window_s, c->delay_s,
                                                                           c->power_limit_w },
                                            c->calibrated, a);
    }
    struct wl_table t = table_with(head, WL_COUNT(head), a);
    for (size_t i = 0; i < lines.n; i++) {
        const struct device_row *v = &lines.v[i];
        device_cell(&t, v);
        wl_table_cell(&t, v->label.sensor);
        wl_table_cell(&t, v->label.what);
        wl_table_cell(&t, v->label.scope);
        wl_table_provenance(&t, v->label.from);
        amount_cell(&t, v->mean, v->label.unit, 4, v->label.from);
        amount_cell(&t, v->sd, v->label.unit, 3, v->label.from);
        amount_cell(&t, v->min, v->label.unit, 4, v->label.from);
        amount_cell(&t, v->max, v->label.unit, 4, v->label.from);
        wl_table_cell(&t, v->label.unit);
        wl_table_int(&t, v->readings);
        wl_table_cell(&t, channel_note(v, a));
        wl_table_row(&t);
    }
    print_table(&t, d->all);
}
