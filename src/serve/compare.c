/* Two runs next to each other: what their measurements say, and what the repeats of their settings do. */
#include "serve/site.h"

#include "law/law.h"

#include <math.h>
#include <string.h>

enum side { A, B, SIDES };

struct pair {
    struct wl_site_run run[SIDES];
    const char *id[SIDES]; /* "1-12" */
    struct wl_arena *a;
};

/* ---- settings ---- */

static void add_setting(struct wl_json *list, const char *name, const struct wl_settings_value *a,
                        const struct wl_settings_value *b)
{
    const struct wl_settings_value *const values[] = { a, b };
    static const char *const keys[] = { "a", "b" };
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "name", name);
    for (size_t i = 0; i < WL_COUNT(values); i++) {
        double number;
        if (values[i] && values[i]->number && wl_str_to_real(values[i]->value, &number) == 0)
            wl_json_add_number(o, keys[i], number);
        else
            wl_json_add_str(o, keys[i], values[i] ? values[i]->value : NULL);
    }
}

static const struct wl_settings_value *find(const struct wl_settings_values *v, const char *name)
{
    for (size_t i = 0; i < v->n; i++)
        if (wl_str_eq(v->v[i].name, name)) return &v->v[i];
    return NULL;
}

static void add_settings(struct wl_json *list, const struct pair *p)
{
    const struct wl_settings_values va = wl_settings_values(&p->run[A].row->set, p->a),
                                    vb = wl_settings_values(&p->run[B].row->set, p->a);
    for (size_t i = 0; i < va.n; i++) {
        const struct wl_settings_value *other = find(&vb, va.v[i].name);
        if (!other || !wl_str_eq(other->value, va.v[i].value)) add_setting(list, va.v[i].name, &va.v[i], other);
    }
    for (size_t i = 0; i < vb.n; i++)
        if (!find(&va, vb.v[i].name)) add_setting(list, vb.v[i].name, NULL, &vb.v[i]);
}

/* ---- the two runs ---- */

/* Whose interval of its measurement the store has: of energies, and of the powers that these are made of. */
enum measured { WITHOUT, OF_ENERGY };

static const struct value {
    const char *name, *label, *unit;
    size_t at;
    enum measured measured;
} values[] = {
    { "time_s", "time of the run", "s", offsetof(struct wl_run_row, time_s), WITHOUT },
    { "epoch_time_s", "mean time of an epoch", "s", offsetof(struct wl_run_row, epoch_time_s), WITHOUT },
    { "epochs", "epochs", NULL, offsetof(struct wl_run_row, epochs_seen), WITHOUT },
    { "energy_j", "energy", "J", offsetof(struct wl_run_row, energy_j), OF_ENERGY },
    { "idle_j", "energy that idle devices would have drawn", "J", offsetof(struct wl_run_row, idle_j), WITHOUT },
    { "mean_power_w", "mean power", "W", offsetof(struct wl_run_row, mean_power_w), OF_ENERGY },
    { "util_pct", "utilisation", "%", offsetof(struct wl_run_row, util_pct), WITHOUT },
    { "input_pct", "time waiting for input", "%", offsetof(struct wl_run_row, input_pct), WITHOUT },
    { "power_capped_pct", "time limited by power", "%", offsetof(struct wl_run_row, power_capped_pct), WITHOUT },
    { "thermal_capped_pct", "time limited by temperature", "%", offsetof(struct wl_run_row, thermal_capped_pct),
      WITHOUT },
};

static double value_of(const struct wl_run_row *r, const struct value *v)
{
    double out;
    memcpy(&out, (const char *)r + v->at, sizeof out);
    return out;
}

static bool has_interval(const struct wl_run_row *r)
{
    return r->energy_j > 0 && r->energy_lo_j > 0 && r->energy_hi_j >= r->energy_lo_j;
}

/* A value with the relative interval of the run's energy. */
static struct wl_estimate estimate_of(const struct wl_run_row *r, double value)
{
    return (struct wl_estimate) { value, value * (r->energy_lo_j / r->energy_j),
                                  value * (r->energy_hi_j / r->energy_j) };
}

/* Why a ratio has no interval of the measurements; NULL: it has one. */
static const char *why_none(const struct pair *p, enum measured measured, double ratio)
{
    if (isnan(ratio)) return "there is no ratio";
    if (measured == WITHOUT) return "the store has intervals of energies and powers only";
    if (p->run[A].served == p->run[B].served && p->run[A].row->id == p->run[B].row->id) return "it is the same run";
    for (int i = A; i < SIDES; i++)
        if (!has_interval(p->run[i].row)) return wl_strf(p->a, "run %s has no interval of its energy", p->id[i]);
    return NULL;
}

static void add_value(struct wl_json *list, const char *name, const char *label, const char *unit, double a, double b,
                      enum measured measured, const struct pair *p)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    struct wl_estimate ratio = { a != 0 ? b / a : NAN, NAN, NAN };
    const char *why = why_none(p, measured, ratio.value);
    if (!why) {
        const struct wl_estimate below = estimate_of(p->run[A].row, a), above = estimate_of(p->run[B].row, b);
        ratio = wl_ratio_interval(&above, &below);
    }
    wl_json_add_str(o, "name", name);
    wl_json_add_str(o, "label", label);
    wl_json_add_str(o, "unit", unit);
    wl_json_add_number(o, "a", a);
    wl_json_add_number(o, "b", b);
    wl_json_add_real(o, "ratio", ratio.value);
    wl_json_add_real(o, "ratio_lo", ratio.lo);
    wl_json_add_real(o, "ratio_hi", ratio.hi);
    wl_json_add_str(o, "no_interval", why);
}

static void add_values(struct wl_json *list, const struct pair *p)
{
    const struct wl_run_row *a = p->run[A].row, *b = p->run[B].row;
    for (size_t i = 0; i < WL_COUNT(values); i++) {
        const struct value *v = &values[i];
        if (isnan(value_of(a, v)) && isnan(value_of(b, v))) continue;
        add_value(list, v->name, v->label, v->unit, value_of(a, v), value_of(b, v), v->measured, p);
    }
    if (a->metric && wl_str_eq(a->metric, b->metric))
        add_value(list, "metric_value", a->metric, a->metric_unit, a->metric_value, b->metric_value, WITHOUT, p);
}

/* ---- the repeats of their settings ---- */

static const char *const repeated[] = { "time_s", "epoch_time_s", "energy_j", "mean_power_w" };

static const struct value *value_named(const char *name)
{
    const struct value *v = values;
    while (!wl_str_eq(v->name, name)) v++;
    return v;
}

static const char *settings_of(const struct wl_site_run *run)
{
    return run->snapshot->settings[wl_snapshot_index(run->snapshot, run->row)];
}

/* Of the campaign and with the settings of that run, done and not flagged. */
static bool is_repeat(const struct wl_site_run *of, size_t i)
{
    const struct wl_run_row *r = &of->snapshot->runs.v[i];
    return r->status == WL_RUN_DONE && !r->flag && r->campaign == of->row->campaign &&
           wl_str_eq(of->snapshot->settings[i], settings_of(of));
}

static size_t count_repeats(const struct wl_site_run *of)
{
    size_t n = 0;
    for (size_t i = 0; i < of->snapshot->runs.n; i++) n += is_repeat(of, i);
    return n;
}

/* Of the logarithm, over the repeats that have the value. */
static struct wl_law_mean mean_of(const struct wl_site_run *of, const struct value *v, struct wl_arena *a)
{
    const struct wl_run_rows *runs = &of->snapshot->runs;
    double *ln = wl_new_array(a, double, runs->n);
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        if (is_repeat(of, i) && value_of(&runs->v[i], v) > 0) ln[n++] = log(value_of(&runs->v[i], v));
    const double sd = wl_sd(ln, n);
    return (struct wl_law_mean) { wl_mean(ln, n), sd * sd / (double)n, (double)n };
}

/* "4.1", "12": of the distance from 1. */
static const char *percent_text(double ratio, struct wl_arena *a)
{
    const double v = 100 * fabs(ratio - 1);
    return wl_strf(a, v < 9.95 ? "%.1f" : "%.0f", v);
}

/* "4.1 to 6.2", "4.1" where both are. */
static const char *range_text(const char *from, const char *to, struct wl_arena *a)
{
    return wl_str_eq(from, to) ? from : wl_strf(a, "%s to %s", from, to);
}

/* "4.1 to 6.2 % more": what the interval of a ratio allows. */
static const char *change_text(const struct wl_estimate *ratio, struct wl_arena *a)
{
    const char *const lo = percent_text(ratio->lo, a), *const hi = percent_text(ratio->hi, a);
    if (wl_str_eq(lo, "0.0") && wl_str_eq(hi, "0.0")) return "a difference of less than 0.1 %";
    if (ratio->lo > 1) return wl_strf(a, "%s %% more", range_text(lo, hi, a));
    if (ratio->hi < 1) return wl_strf(a, "%s %% less", range_text(hi, lo, a));
    return wl_strf(a, "no difference is shown: from %s %% less to %s %% more", lo, hi);
}

static const char *why_no_interval(const struct pair *p, const struct wl_law_mean mean[SIDES])
{
    for (int i = A; i < SIDES; i++)
        if (mean[i].runs < 2)
            return wl_strf(p->a, "it needs two runs of each that are done, and with the settings of run %s there %s",
                           p->id[i], mean[i].runs > 0 ? "is one" : "is none");
    return NULL;
}

/* Which of these energies are not measurements. */
static void add_provenance(struct wl_json *o, const struct pair *p)
{
    bool estimated = false, simulated = false;
    for (int k = A; k < SIDES; k++)
        for (size_t i = 0; i < p->run[k].snapshot->runs.n; i++) {
            const struct wl_run_row *r = &p->run[k].snapshot->runs.v[i];
            if (!is_repeat(&p->run[k], i)) continue;
            estimated |= r->estimated;
            simulated |= r->simulated;
        }
    wl_json_add_bool(o, "estimated", estimated);
    wl_json_add_bool(o, "simulated", simulated);
}

static void add_measure(struct wl_json *list, const struct value *v, const struct pair *p)
{
    const struct wl_law_mean mean[SIDES] = { mean_of(&p->run[A], v, p->a), mean_of(&p->run[B], v, p->a) };
    if (mean[A].runs == 0 && mean[B].runs == 0) return;
    const struct wl_law_ratio over = wl_law_ratio_of_means(&mean[B], &mean[A]);
    const struct wl_estimate ratio = wl_law_ratio_estimate(&over);
    const char *why = why_no_interval(p, mean);
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "name", v->name);
    wl_json_add_str(o, "label", v->label);
    wl_json_add_number(o, "runs_a", mean[A].runs);
    wl_json_add_number(o, "runs_b", mean[B].runs);
    wl_json_add_real(o, "ratio", ratio.value);
    wl_json_add_real(o, "ratio_lo", ratio.lo);
    wl_json_add_real(o, "ratio_hi", ratio.hi);
    wl_json_add_str(o, "no_interval", why);
    wl_json_add_str(o, "change", why ? NULL : change_text(&ratio, p->a));
}

static void add_repeats(struct wl_json *o, const struct pair *p)
{
    const struct wl_site_run *a = &p->run[A], *b = &p->run[B];
    const bool same =
        a->served == b->served && a->row->campaign == b->row->campaign && wl_str_eq(settings_of(a), settings_of(b));
    wl_json_add_bool(o, "same_settings", same);
    wl_json_add_int(o, "runs_a", (int64_t)count_repeats(a));
    wl_json_add_int(o, "runs_b", (int64_t)count_repeats(b));
    add_provenance(o, p);
    struct wl_json *list = wl_json_add_array(o, "measures");
    for (size_t i = 0; !same && i < WL_COUNT(repeated); i++) add_measure(list, value_named(repeated[i]), p);
}

/* ---- the answer ---- */

static void answer_both(const struct pair *p, struct wl_http_answer *out)
{
    struct wl_json *root = wl_json_root_object(p->a), *runs = wl_json_add_array(root, "runs");
    for (int i = A; i < SIDES; i++)
        wl_site_run_json(wl_json_add_object(runs, NULL), p->run[i].served, p->run[i].snapshot,
                         wl_snapshot_index(p->run[i].snapshot, p->run[i].row));
    add_values(wl_json_add_array(root, "values"), p);
    add_settings(wl_json_add_array(root, "settings"), p);
    add_repeats(wl_json_add_object(root, "repeats"), p);
    wl_http_answer_json(out, root, p->a);
}

void wl_site_compare(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                     struct wl_http_answer *out)
{
    static const char *const names[] = { "a", "b", NULL };
    struct pair p = { .id = { wl_http_param(r, "a"), wl_http_param(r, "b") }, .a = r->a };
    struct wl_err e;
    (void)parts;
    int rc = wl_http_check_params(r, names, &e);
    if (rc == 0 && (!p.id[A] || !p.id[B])) rc = wl_fail(&e, WL_EINVAL, "expected two runs: a=1-12&b=1-17");
    if (rc) {
        wl_http_answer_failure(out, r->a, &e);
        return;
    }
    p.run[A] = wl_site_run(site, p.id[A], r, out);
    if (!p.run[A].row) return;
    p.run[B] = wl_site_run(site, p.id[B], r, out);
    if (p.run[B].row) {
        answer_both(&p, out);
        wl_snapshot_release(p.run[B].snapshot);
    }
    wl_snapshot_release(p.run[A].snapshot);
}
