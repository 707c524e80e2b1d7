/* From the facts of a run to its epochs, energies, metrics and means. docs/metrics.md has the formulas. */
#include "campaign/internal.h"

#include <math.h>

/* The window of an epoch or of the whole run. */
struct window {
    double epoch; /* NAN: the run */
    int64_t t0_ns, t1_ns;
};

struct derivation {
    struct wl_store *store;
    int64_t run, max_gap_ns;
    double idle_s;          /* rest before and behind the job; NAN: none */
    struct window *windows; /* the run first */
    size_t n_windows;
    struct wl_mark_rows marks;
    struct wl_channel_rows channels;
    struct wl_time_series *series; /* [channel] */
    struct wl_energy *energy;      /* [channel][window], of power and energy channels */
    struct wl_derived *out;
    struct wl_arena *a;
};

/* ---- energy ---- */

static void set_windows(struct derivation *d, int64_t start_ns, int64_t end_ns)
{
    d->windows = wl_new_array(d->a, struct window, d->out->n_epochs + 1);
    d->windows[d->n_windows++] = (struct window) { NAN, start_ns, end_ns };
    for (size_t i = 0; i < d->out->n_epochs; i++) {
        const struct wl_epoch_row *e = &d->out->epochs[i];
        d->windows[d->n_windows++] = (struct window) { (double)e->epoch, e->begin_ns, e->end_ns };
    }
}

static int quantity_of(const struct derivation *d, size_t channel)
{
    return wl_quantity_from(d->channels.v[channel].quantity);
}

/* The power series of the same device and scope; NULL: there is none. */
static const struct wl_time_series *power_beside(const struct derivation *d, size_t c)
{
    for (size_t k = 0; k < d->channels.n; k++)
        if (quantity_of(d, k) == WL_POWER && d->channels.v[k].device == d->channels.v[c].device &&
            wl_streq(d->channels.v[k].scope, d->channels.v[c].scope))
            return &d->series[k];
    return NULL;
}

static struct wl_gauge gauge_of(const struct wl_channel_row *row)
{
    return (struct wl_gauge) { row->update_s, row->window_s, row->delay_s, row->most_w };
}

/* Of the readings of power of a GPU or, where the driver also gives a mean whose length is known, of those: what leaves
 * less open. */
static struct wl_energy integral_between(const struct derivation *d, size_t c, int64_t t0_ns, int64_t t1_ns)
{
    const struct wl_channel_row *row = &d->channels.v[c];
    struct wl_gauge g = gauge_of(row), of_mean;
    struct wl_energy best = wl_energy_of_power(&d->series[c], t0_ns, t1_ns, d->max_gap_ns, &g);
    for (size_t k = 0; k < d->channels.n; k++) {
        const struct wl_channel_row *mean = &d->channels.v[k];
        bool beside = mean->device == row->device && wl_streq(mean->scope, row->scope);
        if (!beside || quantity_of(d, k) != WL_POWER_AVERAGE) continue;
        of_mean = gauge_of(mean);
        struct wl_energy e = wl_energy_of_mean(&d->series[k], &d->series[c], t0_ns, t1_ns, d->max_gap_ns, &of_mean, &g);
        if (e.hi_j - e.lo_j < best.hi_j - best.lo_j) best = e;
    }
    return best;
}

static struct wl_energy read_between(const struct derivation *d, size_t c, int64_t t0_ns, int64_t t1_ns)
{
    struct wl_gauge g = gauge_of(&d->channels.v[c]);
    if (quantity_of(d, c) == WL_POWER) return integral_between(d, c, t0_ns, t1_ns);
    return wl_energy_of_counter(&d->series[c], power_beside(d, c), t0_ns, t1_ns, d->max_gap_ns, &g);
}

/* Of a channel of power or energy. What a model says is off by the same share in every window, so that the ends of epochs
 * and runs may be added. */
static struct wl_energy energy_between(const struct derivation *d, size_t c, int64_t t0_ns, int64_t t1_ns)
{
    struct wl_energy e = read_between(d, c, t0_ns, t1_ns);
    if (!d->channels.v[c].estimated) return e;
    e.lo_j -= WL_MODEL_ERROR * e.energy_j;
    e.hi_j += WL_MODEL_ERROR * e.energy_j;
    return e;
}

static bool is_energetic(const struct derivation *d, size_t c)
{
    return quantity_of(d, c) == WL_POWER || quantity_of(d, c) == WL_ENERGY;
}

static void compute_energies(struct derivation *d)
{
    d->energy = wl_new_array(d->a, struct wl_energy, d->channels.n * d->n_windows);
    for (size_t c = 0; c < d->channels.n; c++)
        for (size_t w = 0; w < d->n_windows && is_energetic(d, c); w++)
            d->energy[c * d->n_windows + w] = energy_between(d, c, d->windows[w].t0_ns, d->windows[w].t1_ns);
}

/* ---- at rest ---- */

struct rest {
    double before_w, after_w;
};

/* Mean power at rest. Behind the job the first quarter is left out: clocks and fans come down. */
static struct rest rest_of(const struct derivation *d, size_t c)
{
    struct rest r = { NAN, NAN };
    if (!(d->idle_s > 0)) return r;
    int64_t idle_ns = (int64_t)(d->idle_s * WL_NS_PER_S), start = d->windows[0].t0_ns, end = d->windows[0].t1_ns;
    r.before_w = energy_between(d, c, start - idle_ns, start).mean_w;
    r.after_w = energy_between(d, c, end + idle_ns / 4, end + idle_ns).mean_w;
    return r;
}

/* What a device at rest would have drawn; where one end is not known, as at the other. */
static double idle_j(const struct rest *r, const struct window *w)
{
    double mean_w = isnan(r->before_w) ? r->after_w : isnan(r->after_w) ? r->before_w : (r->before_w + r->after_w) / 2;
    return mean_w * (double)(w->t1_ns - w->t0_ns) / WL_NS_PER_S;
}

/* Is the channel's energy known in every window? */
static bool complete(const struct derivation *d, int channel)
{
    if (channel < 0) return false;
    for (size_t w = 0; w < d->n_windows; w++)
        if (isnan(d->energy[(size_t)channel * d->n_windows + w].energy_j)) return false;
    return true;
}

/* One method for all windows of a device: the counter where it has an answer for all of them, else the integral of
 * power, else the counter with its holes. */
static int choose(const struct derivation *d, const struct wl_energy_source *s)
{
    if (complete(d, s->counter) || s->power < 0) return s->counter;
    return s->power;
}

/* The channels as power.h knows them; a device is numbered by its first channel. */
static struct wl_channel *plain_channels(const struct derivation *d)
{
    struct wl_channel *v = wl_new_array(d->a, struct wl_channel, d->channels.n);
    for (size_t c = 0; c < d->channels.n; c++) {
        const struct wl_channel_row *row = &d->channels.v[c];
        size_t first = 0;
        while (d->channels.v[first].device != row->device) first++;
        v[c] = (struct wl_channel) { .device = (int)first,
                                     .quantity = (enum wl_quantity)wl_quantity_from(row->quantity),
                                     .scope = (enum wl_scope)wl_scope_from(row->scope),
                                     .variant = (enum wl_variant)wl_variant_from(row->variant),
                                     .estimated = row->estimated,
                                     .simulated = row->simulated };
    }
    return v;
}

static const char *choose_all(const struct derivation *d, bool *chosen)
{
    const char *label = NULL;
    struct wl_energy_source *sources = wl_new_array(d->a, struct wl_energy_source, d->channels.n);
    size_t n = wl_energy_sources(plain_channels(d), d->channels.n, sources, &label);
    for (size_t i = 0; i < n; i++) {
        int c = choose(d, &sources[i]);
        if (c >= 0) chosen[c] = true;
    }
    return n ? label : NULL;
}

/* A device and scope may have power in several variants: the row of the one that power.h prefers, or the first. */
static bool is_row(const struct derivation *d, size_t c, const bool *chosen)
{
    int q = quantity_of(d, c);
    if (!is_energetic(d, c)) return false;
    for (size_t k = 0; k < d->channels.n; k++) {
        const struct wl_channel_row *a = &d->channels.v[c], *b = &d->channels.v[k];
        bool same = k != c && a->device == b->device && wl_streq(a->scope, b->scope) && quantity_of(d, k) == q;
        if (same && !chosen[c] && (chosen[k] || k < c)) return false;
    }
    return true;
}

/* ---- phases ---- */

/* Adds the span to the row of its phase and device. */
static void add_span(struct derivation *d, struct wl_phase_row *rows, size_t *n, const char *phase, size_t c,
                     const struct window *w)
{
    const struct wl_channel_row *channel = &d->channels.v[c];
    struct wl_energy e = energy_between(d, c, w->t0_ns, w->t1_ns);
    size_t i = 0;
    while (i < *n && !(wl_streq(rows[i].phase, phase) && rows[i].device == channel->device &&
                       wl_streq(rows[i].scope, channel->scope)))
        i++;
    if (i == *n)
        rows[(*n)++] = (struct wl_phase_row) { .phase = phase,
                                               .device = channel->device,
                                               .scope = channel->scope,
                                               .method = quantity_of(d, c) == WL_ENERGY ? "counter" : "integral",
                                               .estimated = channel->estimated,
                                               .simulated = channel->simulated };
    rows[i].spans++;
    rows[i].time_s += (double)(w->t1_ns - w->t0_ns) / WL_NS_PER_S;
    rows[i].energy_j += e.energy_j;
    rows[i].energy_lo_j += e.lo_j;
    rows[i].energy_hi_j += e.hi_j;
}

/* Rank 0's pairs of phase marks; phases may nest, one of a name is open at a time. */
static void find_phases(struct derivation *d, const bool *chosen)
{
    struct wl_phase_row *rows = wl_new_array(d->a, struct wl_phase_row, d->marks.n * d->channels.n);
    size_t n = 0;
    struct wl_mark begin, end;
    for (size_t i = 0; i < d->marks.n; i++) {
        if (d->marks.v[i].rank != 0 || !wl_mark_of_row(&d->marks.v[i], &begin) || begin.word != WL_MARK_PHASE_BEGIN)
            continue;
        const char *name = wl_strdup(d->a, wl_mark_str(&begin, "name"));
        for (size_t k = i + 1; k < d->marks.n; k++) {
            if (d->marks.v[k].rank != 0 || !wl_mark_of_row(&d->marks.v[k], &end) ||
                !wl_streq(wl_mark_str(&end, "name"), name))
                continue;
            if (end.word != WL_MARK_PHASE_END) continue;
            struct window w = { NAN, begin.t_ns, end.t_ns };
            for (size_t c = 0; c < d->channels.n; c++)
                if (chosen[c]) add_span(d, rows, &n, name, c, &w);
            break;
        }
    }
    d->out->phases = rows;
    d->out->n_phases = n;
}

static const char *find_energies(struct derivation *d)
{
    bool *chosen = wl_new_array(d->a, bool, d->channels.n);
    const char *label = choose_all(d, chosen);
    struct wl_energy_row *rows = wl_new_array(d->a, struct wl_energy_row, d->channels.n * d->n_windows);
    size_t n = 0;
    for (size_t c = 0; c < d->channels.n; c++) {
        if (!is_row(d, c, chosen)) continue;
        const struct wl_channel_row *row = &d->channels.v[c];
        struct rest rest = rest_of(d, c);
        for (size_t w = 0; w < d->n_windows; w++) {
            const struct wl_energy *e = &d->energy[c * d->n_windows + w];
            rows[n++] = (struct wl_energy_row) { .epoch = d->windows[w].epoch,
                                                 .device = row->device,
                                                 .scope = row->scope,
                                                 .method = quantity_of(d, c) == WL_ENERGY ? "counter" : "integral",
                                                 .energy_j = e->energy_j,
                                                 .energy_lo_j = e->lo_j,
                                                 .energy_hi_j = e->hi_j,
                                                 .idle_before_w = rest.before_w,
                                                 .idle_after_w = rest.after_w,
                                                 .idle_j = idle_j(&rest, &d->windows[w]),
                                                 .mean_power_w = e->mean_w,
                                                 .coverage = e->coverage,
                                                 .estimated = row->estimated,
                                                 .simulated = row->simulated,
                                                 .chosen = chosen[c] };
        }
    }
    d->out->energies = rows;
    d->out->n_energies = n;
    find_phases(d, chosen);
    return label;
}

/* ---- means, and rates of counters ---- */

/* What is bridged: as of a series that is read at the quantity's own pace, and of counters five of its periods, for a
 * machine that is busy. */
static int64_t gap_of(const struct derivation *d, size_t c)
{
    int quantity = quantity_of(d, c);
    double pace_s = quantity < 0 ? 0 : wl_pace_s(wl_quantity_pace(quantity));
    int64_t own_ns = d->channels.v[c].counter ? (int64_t)(5 * pace_s * WL_NS_PER_S) : wl_max_gap_ns(pace_s);
    return own_ns > d->max_gap_ns ? own_ns : d->max_gap_ns;
}

static struct wl_stat_row stat_of(const struct derivation *d, size_t c, const struct window *w)
{
    const struct wl_time_series *s = &d->series[c];
    struct wl_stat_row row = { .channel = d->channels.v[c].id, .epoch = w->epoch, .sd = NAN, .min = NAN, .max = NAN };
    double mean = 0, m2 = 0; /* Welford 1962 */
    for (size_t i = wl_time_series_from(s, w->t0_ns); i < s->n && s->t_ns[i] <= w->t1_ns; i++) {
        double v = s->value[i];
        if (isnan(v)) continue;
        double delta = v - mean;
        mean += delta / (double)++row.readings;
        m2 += delta * (v - mean);
        row.min = fmin(row.min, v);
        row.max = fmax(row.max, v);
    }
    if (row.readings > 1) row.sd = sqrt(m2 / (double)(row.readings - 1));
    row.mean = wl_window_mean(s, w->t0_ns, w->t1_ns, gap_of(d, c));
    return row;
}

/* Of a counter: its rate. */
static struct wl_stat_row rate_of(const struct derivation *d, size_t c, const struct window *w)
{
    const struct wl_time_series *s = &d->series[c];
    struct wl_stat_row row = { .channel = d->channels.v[c].id, .epoch = w->epoch, .sd = NAN, .min = NAN, .max = NAN };
    for (size_t i = wl_time_series_from(s, w->t0_ns); i < s->n && s->t_ns[i] <= w->t1_ns; i++)
        row.readings += !isnan(s->value[i]);
    row.mean = wl_window_rate(s, w->t0_ns, w->t1_ns, gap_of(d, c));
    return row;
}

static void find_stats(struct derivation *d)
{
    struct wl_stat_row *rows = wl_new_array(d->a, struct wl_stat_row, d->channels.n * d->n_windows);
    size_t n = 0;
    for (size_t c = 0; c < d->channels.n; c++) {
        bool counter = d->channels.v[c].counter;
        if (quantity_of(d, c) == WL_ENERGY) continue; /* it has rows of its own */
        for (size_t w = 0; w < d->n_windows; w++) {
            rows[n] = counter ? rate_of(d, c, &d->windows[w]) : stat_of(d, c, &d->windows[w]);
            if ((!counter && rows[n].readings > 0) || !isnan(rows[n].mean)) n++;
        }
    }
    d->out->stats = rows;
    d->out->n_stats = n;
}

/* ---- variation of utilisation: while training, not while starting up ---- */

static void find_variations(struct derivation *d, double period_s)
{
    const struct wl_epoch_row *epochs = d->out->epochs;
    int64_t t0_ns = d->windows[0].t0_ns, t1_ns = d->windows[0].t1_ns;
    for (size_t i = 0; i < d->out->n_epochs; i++) {
        t0_ns = i == 0 || epochs[i].begin_ns < t0_ns ? epochs[i].begin_ns : t0_ns;
        t1_ns = i == 0 || epochs[i].end_ns > t1_ns ? epochs[i].end_ns : t1_ns;
    }
    struct wl_variation_row *rows;
    d->out->n_variations = wl_derive_variations(&d->channels, d->series, t0_ns, t1_ns, period_s, &rows, d->a);
    d->out->variations = rows;
}

static int read_facts(struct derivation *d, struct wl_err *e)
{
    int rc = wl_store_read_marks(d->store, d->run, &d->marks, d->a, e);
    if (rc == 0) rc = wl_store_channels(d->store, d->run, &d->channels, d->a, e);
    d->series = wl_new_array(d->a, struct wl_time_series, d->channels.n);
    for (size_t c = 0; c < d->channels.n && rc == 0; c++) {
        struct wl_readings r;
        rc = wl_store_series(d->store, d->channels.v[c].id, INT64_MIN, INT64_MAX, &r, d->a, e);
        if (rc == 0) d->series[c] = (struct wl_time_series) { .t_ns = r.t_ns, .value = r.value, .n = r.n };
    }
    return rc;
}

int wl_derive(struct wl_store *s, int64_t run, int64_t start_ns, int64_t end_ns, double period_s, double idle_s,
              struct wl_derived *out, const char **label, struct wl_arena *a, struct wl_err *e)
{
    struct derivation d = {
        .store = s, .run = run, .max_gap_ns = wl_max_gap_ns(period_s), .idle_s = idle_s, .out = out, .a = a
    };
    *out = (struct wl_derived) { 0 };
    int rc = read_facts(&d, e);
    if (rc < 0) return rc;
    wl_derive_told(&d.marks, out, a);
    set_windows(&d, start_ns, end_ns);
    compute_energies(&d);
    const char *chosen = find_energies(&d);
    if (label) *label = chosen;
    find_stats(&d);
    find_variations(&d, period_s);
    return 0;
}
