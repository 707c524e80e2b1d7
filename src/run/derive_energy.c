/* Energies of windows and phases: of each device by each of its methods, and which of them counts. */
#include "run/derive.h"

#include <math.h>

/* The energy of a device in a window, and the method. */
struct method_energy {
    enum wl_energy_method method;
    struct wl_energy e;
};

struct energies {
    const struct wl_derivation *d;
    struct wl_energy *of;             /* [channel][window], of power and energy channels */
    struct wl_energy_source *sources; /* the devices that count */
    size_t n_sources;
    struct method_energy *chosen; /* [source][window] */
};

/* ---- a channel ---- */

/* The power series of the same device and scope; -1: there is none. */
static ptrdiff_t power_of_same_device(const struct wl_derivation *d, size_t c)
{
    for (size_t k = 0; k < d->channels.n; k++)
        if (wl_derive_quantity(d, k) == WL_POWER && d->channels.v[k].device == d->channels.v[c].device &&
            wl_str_eq(d->channels.v[k].scope, d->channels.v[c].scope))
            return (ptrdiff_t)k;
    return -1;
}

static struct wl_sensor_response response_of(const struct wl_channel_row *row)
{
    return (struct wl_sensor_response) { row->update_s, row->window_s, row->delay_s, row->power_limit_w };
}

/* From the readings of power or, where the driver also gives a mean over a known window, from those: the one with the
 * narrower interval. */
static struct wl_energy integral_between(const struct wl_derivation *d, size_t c, int64_t t0_ns, int64_t t1_ns)
{
    const struct wl_channel_row *row = &d->channels.v[c];
    struct wl_sensor_response g = response_of(row), of_mean;
    struct wl_energy best = wl_energy_of_power(&d->series[c], t0_ns, t1_ns, d->max_gap_ns, &g);
    for (size_t k = 0; k < d->channels.n; k++) {
        const struct wl_channel_row *mean = &d->channels.v[k];
        bool same = mean->device == row->device && wl_str_eq(mean->scope, row->scope);
        if (!same || wl_derive_quantity(d, k) != WL_POWER_AVERAGE) continue;
        of_mean = response_of(mean);
        struct wl_energy e = wl_energy_of_mean(&d->series[k], &d->series[c], t0_ns, t1_ns, d->max_gap_ns, &of_mean, &g);
        if (isnan(best.energy_j) || e.hi_j - e.lo_j < best.hi_j - best.lo_j) best = isnan(e.energy_j) ? best : e;
    }
    return best;
}

static struct wl_energy counter_between(const struct wl_derivation *d, size_t c, int64_t t0_ns, int64_t t1_ns)
{
    struct wl_sensor_response g = response_of(&d->channels.v[c]);
    ptrdiff_t power = power_of_same_device(d, c);
    if (power >= 0) g.max_w = d->channels.v[power].power_limit_w;
    return wl_energy_of_counter(&d->series[c], power < 0 ? NULL : &d->series[power], t0_ns, t1_ns, d->max_gap_ns, &g);
}

static struct wl_energy energy_between(const struct wl_derivation *d, size_t c, int64_t t0_ns, int64_t t1_ns)
{
    bool power = wl_derive_quantity(d, c) == WL_POWER;
    return power ? integral_between(d, c, t0_ns, t1_ns) : counter_between(d, c, t0_ns, t1_ns);
}

double wl_derive_power_between(const struct wl_derivation *d, size_t c, int64_t t0_ns, int64_t t1_ns)
{
    return energy_between(d, c, t0_ns, t1_ns).mean_w;
}

static bool is_energetic(const struct wl_derivation *d, size_t c)
{
    return wl_derive_quantity(d, c) == WL_POWER || wl_derive_quantity(d, c) == WL_ENERGY;
}

/* ---- the method of a window ---- */

static struct wl_energy combined_between(const struct wl_derivation *d, const struct wl_energy_source *s, int64_t t0_ns,
                                         int64_t t1_ns)
{
    struct wl_sensor_response g = response_of(&d->channels.v[s->counter]),
                              of_power = response_of(&d->channels.v[s->power]);
    g.max_w = of_power.max_w;
    return wl_energy_combined(&d->series[s->counter], &d->series[s->power], t0_ns, t1_ns, d->max_gap_ns, &g, &of_power);
}

/* Counter and integral are combined only where the counter has gaps. */
static struct method_energy choose(const struct wl_derivation *d, const struct wl_energy_source *s, int64_t t0_ns,
                                   int64_t t1_ns, const struct wl_energy *counter, const struct wl_energy *integral)
{
    bool has_both = counter && integral && !(counter->coverage == 1);
    struct wl_energy both;
    if (has_both) both = combined_between(d, s, t0_ns, t1_ns);
    enum wl_energy_method method = wl_energy_choose(counter, integral, has_both ? &both : NULL);
    return (struct method_energy) { method, method == WL_ENERGY_BY_COUNTER    ? *counter
                                            : method == WL_ENERGY_BY_INTEGRAL ? *integral
                                                                              : both };
}

static struct method_energy chosen_between(const struct wl_derivation *d, const struct wl_energy_source *s,
                                           int64_t t0_ns, int64_t t1_ns)
{
    struct wl_energy counter, integral;
    if (s->counter >= 0) counter = energy_between(d, (size_t)s->counter, t0_ns, t1_ns);
    if (s->power >= 0) integral = energy_between(d, (size_t)s->power, t0_ns, t1_ns);
    return choose(d, s, t0_ns, t1_ns, s->counter >= 0 ? &counter : NULL, s->power >= 0 ? &integral : NULL);
}

static void compute_energies(struct energies *x)
{
    const struct wl_derivation *d = x->d;
    size_t n = d->n_windows;
    x->of = wl_new_array(d->a, struct wl_energy, d->channels.n * n);
    x->chosen = wl_new_array(d->a, struct method_energy, x->n_sources * n);
    for (size_t c = 0; c < d->channels.n; c++) {
        for (size_t w = 0; w < n && is_energetic(d, c); w++)
            x->of[c * n + w] = energy_between(d, c, d->windows[w].t0_ns, d->windows[w].t1_ns);
        wl_derive_rest(d, c);
    }
    for (size_t i = 0; i < x->n_sources; i++) {
        const struct wl_energy_source *s = &x->sources[i];
        for (size_t w = 0; w < n; w++)
            x->chosen[i * n + w] = choose(d, s, d->windows[w].t0_ns, d->windows[w].t1_ns,
                                          s->counter < 0 ? NULL : &x->of[(size_t)s->counter * n + w],
                                          s->power < 0 ? NULL : &x->of[(size_t)s->power * n + w]);
    }
}

/* ---- idle ---- */

struct idle_power {
    double before_w, after_w;
    bool was_idle_before, was_idle_after; /* others did not use the machine much */
};

/* The machine whose CPUs a channel's energy depends on; NULL: that of a GPU does not. */
static const struct wl_derive_machine *machine_of(const struct wl_derivation *d, size_t c)
{
    const struct wl_device_row *device = wl_derive_device(d, d->channels.v[c].device);
    size_t n;
    const struct wl_derive_machine *v = wl_derive_machines(d, &n);
    for (size_t i = 0; device && i < n && !wl_str_eq(d->channels.v[c].scope, wl_scope_name(WL_SCOPE_GPU)); i++)
        if (wl_str_eq(v[i].host, device->host)) return &v[i];
    return NULL;
}

/* Mean power of the idle device. After the job the first quarter is excluded: clocks and fans are still slowing down.
 */
static struct idle_power idle_power_of(const struct wl_derivation *d, size_t c)
{
    struct idle_power r = { NAN, NAN, true, true };
    if (!(d->idle_s > 0)) return r;
    int64_t idle_ns = (int64_t)(d->idle_s * WL_NS_PER_S), start = d->windows[0].t0_ns, end = d->windows[0].t1_ns;
    r.before_w = energy_between(d, c, start - idle_ns, start).mean_w;
    r.after_w = energy_between(d, c, end + idle_ns / 4, end + idle_ns).mean_w;
    const struct wl_derive_machine *m = machine_of(d, c);
    r.was_idle_before = !wl_derive_was_busy(d, m, start - idle_ns, start);
    r.was_idle_after = !wl_derive_was_busy(d, m, end, end + idle_ns);
    return r;
}

/* What the idle device would have drawn; if the power before or after is unknown, or was measured while others used the
 * machine, from the other one. */
static double idle_j(const struct idle_power *r, const struct wl_run_window *w)
{
    const double before_w = r->was_idle_before ? r->before_w : NAN, after_w = r->was_idle_after ? r->after_w : NAN;
    const double mean_w = isnan(before_w) ? after_w : isnan(after_w) ? before_w : (before_w + after_w) / 2;
    return mean_w * (double)(w->t1_ns - w->t0_ns) / WL_NS_PER_S;
}

/* ---- rows ---- */

/* The reported interval of an energy: a model's is widened by the error of the model, the same share in every window,
 * so that the bounds of epochs, devices and runs may be added. Methods are compared without it: it is common to them.
 */
static struct wl_energy with_model_error(const struct wl_channel_row *channel, struct wl_energy e)
{
    if (!channel->estimated || isnan(e.energy_j)) return e;
    e.lo_j = fmax(0, e.lo_j - WL_MODEL_ERROR * e.energy_j);
    e.hi_j += WL_MODEL_ERROR * e.energy_j;
    return e;
}

/* The channels as power/ has them; a device is numbered by its first channel. */
static struct wl_channel *plain_channels(const struct wl_derivation *d)
{
    struct wl_channel *v = wl_new_array(d->a, struct wl_channel, d->channels.n);
    for (size_t c = 0; c < d->channels.n; c++) {
        const struct wl_channel_row *row = &d->channels.v[c];
        size_t first = 0;
        while (d->channels.v[first].device != row->device) first++;
        v[c] = (struct wl_channel) { .device = (int)first,
                                     .quantity = (enum wl_quantity)wl_quantity_from(row->quantity),
                                     .scope = (enum wl_scope)wl_scope_from(row->scope),
                                     .variant = (enum wl_power_variant)wl_variant_from(row->variant),
                                     .estimated = row->estimated,
                                     .simulated = row->simulated };
    }
    return v;
}

/* The source whose counter or power the channel is; -1: it does not count. */
static ptrdiff_t source_of(const struct energies *x, size_t c)
{
    for (size_t i = 0; i < x->n_sources; i++)
        if (x->sources[i].counter == (int)c || x->sources[i].power == (int)c) return (ptrdiff_t)i;
    return -1;
}

/* A device and scope may have power in several variants: only the one that power/ prefers gets a row, or the first. */
static bool has_row(const struct energies *x, size_t c)
{
    const struct wl_derivation *d = x->d;
    if (!is_energetic(d, c)) return false;
    if (source_of(x, c) >= 0) return true;
    int q = wl_derive_quantity(d, c);
    for (size_t k = 0; k < d->channels.n; k++) {
        const struct wl_channel_row *a = &d->channels.v[c], *b = &d->channels.v[k];
        bool same = k != c && a->device == b->device && wl_str_eq(a->scope, b->scope) && wl_derive_quantity(d, k) == q;
        if (same && (k < c || source_of(x, k) >= 0)) return false;
    }
    return true;
}

/* Why the energy is not known, with the share of the window that is covered; NULL if it is known. */
static const char *reason_of(const struct wl_derivation *d, const struct wl_energy *e)
{
    if (!isnan(e->energy_j) || !e->why) return NULL;
    return e->coverage > 0 ? wl_strf(d->a, "%s (%.3g %% are covered)", e->why, 100 * e->coverage) : e->why;
}

static struct wl_energy_row row_of(const struct wl_derivation *d, size_t c, const struct wl_run_window *w,
                                   const struct method_energy *energy, const struct idle_power *idle, bool chosen)
{
    const struct wl_channel_row *channel = &d->channels.v[c];
    const struct wl_energy e = with_model_error(channel, energy->e);
    return (struct wl_energy_row) { .epoch = w->epoch,
                                    .device = channel->device,
                                    .scope = channel->scope,
                                    .method = wl_energy_method_name(energy->method),
                                    .energy_j = e.energy_j,
                                    .energy_lo_j = e.lo_j,
                                    .energy_hi_j = e.hi_j,
                                    .idle_before_w = idle->before_w,
                                    .idle_after_w = idle->after_w,
                                    .idle_j = idle_j(idle, w),
                                    .mean_power_w = e.mean_w,
                                    .coverage = e.coverage,
                                    .estimated = channel->estimated,
                                    .simulated = channel->simulated,
                                    .chosen = chosen,
                                    .why = reason_of(d, &e) };
}

/* The rows of a channel and, for a counter, of the combination with power where that was chosen. */
static size_t add_rows(const struct energies *x, size_t c, struct wl_energy_row *out)
{
    const struct wl_derivation *d = x->d;
    struct idle_power idle = idle_power_of(d, c);
    enum wl_energy_method method = wl_derive_quantity(d, c) == WL_ENERGY ? WL_ENERGY_BY_COUNTER : WL_ENERGY_BY_INTEGRAL;
    ptrdiff_t source = source_of(x, c);
    size_t n = 0;
    for (size_t w = 0; w < d->n_windows; w++) {
        const struct method_energy own = { method, x->of[c * d->n_windows + w] };
        const struct method_energy *chosen = source < 0 ? NULL : &x->chosen[(size_t)source * d->n_windows + w];
        out[n++] = row_of(d, c, &d->windows[w], &own, &idle, chosen && chosen->method == method);
        if (method == WL_ENERGY_BY_COUNTER && chosen && chosen->method == WL_ENERGY_COMBINED)
            out[n++] = row_of(d, c, &d->windows[w], chosen, &idle, true);
    }
    return n;
}

/* ---- phases ---- */

/* Adds the span of a source, whose device no other source has, to the row of its phase. */
static void add_span(const struct energies *x, struct wl_phase_row *row, const char *phase,
                     const struct wl_energy_source *s, const struct wl_run_window *w)
{
    const struct wl_channel_row *channel = &x->d->channels.v[s->counter >= 0 ? s->counter : s->power];
    struct method_energy span = chosen_between(x->d, s, w->t0_ns, w->t1_ns);
    span.e = with_model_error(channel, span.e);
    const char *method = wl_energy_method_name(span.method);
    if (row->spans == 0)
        *row = (struct wl_phase_row) { .phase = phase,
                                       .device = channel->device,
                                       .scope = channel->scope,
                                       .method = method,
                                       .estimated = channel->estimated,
                                       .simulated = channel->simulated };
    if (!wl_str_eq(row->method, method)) row->method = wl_energy_method_name(WL_ENERGY_COMBINED);
    row->spans++;
    row->time_s += (double)(w->t1_ns - w->t0_ns) / WL_NS_PER_S;
    row->energy_j += span.e.energy_j;
    row->energy_lo_j += span.e.lo_j;
    row->energy_hi_j += span.e.hi_j;
    if (!row->why) row->why = reason_of(x->d, &span.e);
}

/* Rank 0's marks that begin a phase, and how each ends: at the next mark that ends one of its name. Phases may nest. */
struct phases {
    struct wl_numbering names;
    struct {
        size_t name;
        int64_t begin_ns, end_ns;
        bool ended;
        size_t before; /* + 1: the begin of the same name before it that has not ended either; 0: none */
    } * v;             /* in the order of their begins */
    size_t n;
};

static struct phases pair_phases(const struct wl_derivation *d)
{
    struct phases p = { .names = wl_numbering_new(d->marks.n, d->a),
                        .v = wl_alloc_array(d->a, d->marks.n, sizeof *p.v) };
    size_t *open = wl_new_array(d->a, size_t, d->marks.n); /* of each name: its last begin + 1 */
    struct wl_mark m;
    for (size_t i = 0; i < d->marks.n; i++) {
        if (d->marks.v[i].rank != 0 || !wl_derive_parse_mark(&d->marks.v[i], &m)) continue;
        if (m.word != WL_MARK_PHASE_BEGIN && m.word != WL_MARK_PHASE_END) continue;
        const size_t name = wl_numbering_of(&p.names, wl_strdup(d->a, wl_mark_str(&m, "name")));
        if (m.word == WL_MARK_PHASE_BEGIN) {
            p.v[p.n].name = name;
            p.v[p.n].begin_ns = m.t_ns;
            p.v[p.n].before = open[name];
            open[name] = ++p.n;
            continue;
        }
        for (size_t k = open[name]; k; k = p.v[k - 1].before) {
            p.v[k - 1].end_ns = m.t_ns;
            p.v[k - 1].ended = true;
        }
        open[name] = 0;
    }
    return p;
}

static void find_phases(const struct energies *x)
{
    const struct wl_derivation *d = x->d;
    const struct phases p = pair_phases(d);
    struct wl_phase_row *rows = wl_new_array(d->a, struct wl_phase_row, p.names.n * x->n_sources); /* [name][source] */
    for (size_t i = 0; i < p.n; i++) {
        const struct wl_run_window w = { NAN, p.v[i].begin_ns, p.v[i].end_ns };
        for (size_t s = 0; s < x->n_sources && p.v[i].ended; s++)
            add_span(x, &rows[p.v[i].name * x->n_sources + s], p.names.text[p.v[i].name], &x->sources[s], &w);
    }
    d->out->phases = rows;
    for (size_t i = 0; i < p.names.n * x->n_sources; i++)
        if (rows[i].spans) rows[d->out->n_phases++] = rows[i];
}

/* ---- spans ---- */

/* The sum over the devices that count; missing as soon as one of them is. */
static void fill_span(const struct energies *x, struct wl_span_row *span)
{
    double sum = 0, lo = 0, hi = 0;
    for (size_t i = 0; i < x->n_sources; i++) {
        const struct wl_energy_source *s = &x->sources[i];
        const struct wl_channel_row *channel = &x->d->channels.v[s->counter >= 0 ? s->counter : s->power];
        const struct wl_energy e = with_model_error(channel, chosen_between(x->d, s, span->begin_ns, span->end_ns).e);
        sum += e.energy_j;
        lo += e.lo_j;
        hi += e.hi_j;
        span->estimated |= channel->estimated;
        span->simulated |= channel->simulated;
        if (!span->why) span->why = reason_of(x->d, &e);
    }
    if (!x->n_sources) return;
    span->energy_j = sum;
    span->energy_lo_j = lo;
    span->energy_hi_j = hi;
}

const char *wl_derive_energy(struct wl_derivation *d)
{
    const char *label = NULL;
    struct energies x = { .d = d, .sources = wl_new_array(d->a, struct wl_energy_source, d->channels.n) };
    x.n_sources = wl_energy_sources(plain_channels(d), d->channels.n, x.sources, &label);
    x.n_sources = wl_derive_keep_named(d, x.sources, x.n_sources);
    compute_energies(&x);
    size_t n = 0;
    for (size_t c = 0; c < d->channels.n; c++) n += has_row(&x, c);
    struct wl_energy_row *rows = wl_new_array(d->a, struct wl_energy_row, 2 * n * d->n_windows);
    n = 0;
    for (size_t c = 0; c < d->channels.n; c++)
        if (has_row(&x, c)) n += add_rows(&x, c, rows + n);
    d->out->energies = rows;
    d->out->n_energies = n;
    find_phases(&x);
    for (size_t i = 0; i < d->out->n_spans; i++) fill_span(&x, &d->out->spans[i]);
    return x.n_sources ? label : NULL;
}
