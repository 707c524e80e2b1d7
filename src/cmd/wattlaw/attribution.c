#include "cmd/wattlaw/attribution.h"

#include <math.h>
#include <string.h>

static struct wl_amount amount(double value, double lo, double hi, const struct wl_attribution_row *row)
{
    return wl_amount_between(value, lo, hi, "J", wl_provenance_of(true, row->simulated));
}

/* "cpu-time, sole-user": each once. */
static void add_method(struct wl_text *t, const char *method)
{
    if (!t->n || !strstr(t->s, method)) wl_text_addf(t, "%s%s", t->n ? ", " : "", method);
}

static void widen(struct wl_job_share *r, double v)
{
    r->lo = fmin(r->lo, v); /* fmin and fmax skip what is not known */
    r->hi = fmax(r->hi, v);
}

/* "40 %", "40 to 100 %" */
static const char *share_text(const struct wl_job_share *r, struct wl_arena *a)
{
    const char *lo = wl_strf(a, "%.3g", 100 * r->lo), *hi = wl_strf(a, "%.3g", 100 * r->hi);
    return wl_str_eq(lo, hi) ? wl_strf(a, "%s %%", lo) : wl_strf(a, "%s to %s %%", lo, hi);
}

struct wl_job_energy wl_job_energy_of(const struct wl_attribution_row *rows, size_t n, struct wl_arena *a)
{
    struct wl_job_energy r = { .use_share = { NAN, NAN }, .reserved = { NAN, NAN } };
    bool bounded = true; /* those so far */
    struct wl_text method = WL_TEXT(a);
    for (size_t i = 0; i < n; i++) {
        const struct wl_attribution_row *v = &rows[i];
        const struct wl_amount parts[] = { amount(v->energy_j, v->energy_lo_j, v->energy_hi_j, v),
                                           amount(v->above_j, v->above_lo_j, v->above_hi_j, v),
                                           amount(v->idle_j, NAN, NAN, v), amount(v->energy_lo_j, NAN, NAN, v),
                                           amount(v->energy_hi_j, NAN, NAN, v) };
        struct wl_amount *sums[] = { &r.energy, &r.above, &r.idle, &r.least, &r.most };
        for (size_t k = 0; k < WL_COUNT(sums); k++) {
            if (i == 0) *sums[k] = parts[k];
            if (i > 0) wl_amount_add(sums[k], &parts[k]);
        }
        add_method(&method, v->method);
        widen(&r.use_share, v->use_share);
        widen(&r.reserved, v->reserved);
        const bool has_bounds = !isnan(v->energy_lo_j) && !isnan(v->energy_hi_j);
        if (!r.why || (bounded && !has_bounds)) r.why = v->why;
        bounded = bounded && has_bounds;
    }
    r.method = n ? method.s : NULL;
    return r;
}

struct wl_strs wl_job_energy_lines(const struct wl_job_energy *job, struct wl_arena *a)
{
    struct wl_strs lines = { 0 };
    if (!job->method) return lines;
    if (!isnan(job->energy.value)) {
        wl_strs_add(a, &lines, wl_strf(a, "%s", wl_amount_text(&job->energy, a)));
        wl_strs_add(a, &lines,
                    wl_strf(a, "%s above idle, by %s (%s of the use)", wl_amount_text(&job->above, a), job->method,
                            share_text(&job->use_share, a)));
        wl_strs_add(a, &lines,
                    wl_strf(a, "%s idle, for the %s that it reserved", wl_amount_text(&job->idle, a),
                            share_text(&job->reserved, a)));
    } else if (!isnan(job->least.value) && !isnan(job->most.value)) {
        wl_strs_add(a, &lines,
                    wl_strf(a, "between %s and %s, by %s (%s of the use)", wl_amount_text(&job->least, a),
                            wl_amount_text(&job->most, a), job->method, share_text(&job->use_share, a)));
        wl_strs_add(a, &lines, job->why);
    } else {
        wl_strs_add(a, &lines, wl_strf(a, "unknown: %s", job->why ? job->why : "the reason was not recorded"));
    }
    return lines;
}

static void add_device(struct wl_json *o, const struct wl_attribution_row *v, const char *uuid)
{
    wl_json_add_str(o, "device", uuid);
    wl_json_add_str(o, "scope", v->scope);
    wl_json_add_str(o, "method", v->method);
    wl_json_add_real(o, "use_share", v->use_share);
    wl_json_add_real(o, "reserved", v->reserved);
    wl_json_add_real(o, "energy_j", v->energy_j);
    wl_json_add_real(o, "energy_lo_j", v->energy_lo_j);
    wl_json_add_real(o, "energy_hi_j", v->energy_hi_j);
    wl_json_add_real(o, "above_j", v->above_j);
    wl_json_add_real(o, "above_lo_j", v->above_lo_j);
    wl_json_add_real(o, "above_hi_j", v->above_hi_j);
    wl_json_add_real(o, "idle_j", v->idle_j);
    wl_json_add_str(o, "why", v->why);
}

void wl_job_energy_json(const struct wl_attribution_row *rows, size_t n,
                        const char *(*uuid)(const void *ctx, int64_t device), const void *ctx, struct wl_json *object,
                        struct wl_arena *a)
{
    const struct wl_job_energy job = wl_job_energy_of(rows, n, a);
    struct wl_json *o = wl_json_add_object(object, "job");
    bool simulated = false;
    for (size_t i = 0; i < n; i++) simulated |= rows[i].simulated;
    wl_json_add_str(o, "method", job.method);
    wl_json_add_bool(o, "estimated", n > 0); /* whatever the meter: the part is the method's */
    wl_json_add_bool(o, "simulated", simulated);
    wl_json_add_real(o, "energy_j", n ? job.energy.value : NAN);
    wl_json_add_real(o, "energy_lo_j", n ? job.least.value : NAN);
    wl_json_add_real(o, "energy_hi_j", n ? job.most.value : NAN);
    wl_json_add_real(o, "above_j", n ? job.above.value : NAN);
    wl_json_add_real(o, "idle_j", n ? job.idle.value : NAN);
    wl_json_add_str(o, "why", n ? job.why : "not derived (see wattlaw rebuild), or no energy was measured");
    struct wl_json *list = wl_json_add_array(o, "devices");
    for (size_t i = 0; i < n; i++) add_device(wl_json_add_object(list, NULL), &rows[i], uuid(ctx, rows[i].device));
}
