#include "tune/candidates.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_VALUES = 8 };
static const double LEAST_CLOCK = 0.5; /* of the largest: below, a GPU seldom saves energy */

struct wl_reals wl_tune_candidates_between(double least, double greatest, size_t most, struct wl_arena *a)
{
    struct wl_reals out = { .v = wl_new_array(a, double, most) };
    for (size_t i = 0; i < most; i++) {
        double x = least * pow(greatest / least, (double)i / (double)(most - 1));
        x = i + 1 == most ? greatest : i == 0 ? least : round(x);
        if (out.n == 0 || x > out.v[out.n - 1]) out.v[out.n++] = x;
    }
    return out;
}

/* ---- what the devices say ---- */

static int ask_ability(enum wl_cap_kind kind, const struct wl_cap_opts *opts, const struct wl_power_opts *power,
                       struct wl_cap_ability *can, struct wl_arena *a, struct wl_err *e)
{
    wl_cap_probe(kind, opts, power, can, a);
    if (!can->why) return 0;
    return wl_fail(e, WL_EPERM, "%s cannot be set here: %s%s%s", wl_cap_kind_name(kind), can->why,
                   can->fix ? "; to fix it: " : "", can->fix ? can->fix : "");
}

/* The settings that a cap of this value would change, as they are now. */
static int ask_settings(enum wl_cap_kind kind, double value, const struct wl_cap_opts *opts,
                        const struct wl_power_opts *power, const struct wl_cap_setting **out, size_t *n,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_caps *plan;
    struct wl_cap_request all = wl_cap_none;
    all.value[kind] = value;
    int rc = wl_caps_plan(&plan, &all, opts, power, a, e);
    if (rc == 0) *out = wl_caps_settings(plan, n);
    return rc;
}

/* The lowest limit in effect of all devices. */
static double present_limit(const struct wl_cap_setting *v, size_t n, double max)
{
    double least = max;
    for (size_t i = 0; i < n; i++) least = fmin(fmin(least, v[i].found), v[i].in_effect);
    return least;
}

/* A clock that is not locked has no present limit: the clock that is read follows the load. */
static double reference_of(enum wl_cap_kind kind, const struct wl_cap_setting *v, size_t n, double max)
{
    return wl_cap_is_power(kind) ? present_limit(v, n, max) : max;
}

static const char *note_of(const struct wl_tune_candidates *c, const struct wl_cap_setting *v, size_t n,
                           struct wl_arena *a)
{
    double reference = c->value[c->reference];
    for (size_t i = 0; i < n && wl_cap_is_power(c->kind); i++)
        if (v[i].found > reference * 1.001)
            return wl_strf(a, "%s has a limit of %g W; the reference is %g W, the lowest limit in effect", v[i].device,
                           v[i].found, reference);
    return NULL;
}

static size_t count_devices(const struct wl_cap_setting *v, size_t n, struct wl_arena *a)
{
    const char **device = wl_new_array(a, const char *, n);
    for (size_t i = 0; i < n; i++) device[i] = v[i].device;
    return wl_cap_count_devices(device, n);
}

static const char *model_of(const struct wl_cap_setting *v, size_t n, struct wl_arena *a)
{
    if (wl_str_starts(v[0].device, "rapl:") || wl_str_starts(v[0].device, "cpufreq:")) return wl_host_cpu_name(a);
    for (size_t i = 1; i < n; i++)
        if (!wl_str_eq(v[i].name, v[0].name)) return NULL;
    return v[0].name ? wl_strdup(a, v[0].name) : NULL;
}

/* ---- the values ---- */

static int ascending(const void *x, const void *y)
{
    const double *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* Given values, ascending, with the reference as the last one. */
static int take_given(enum wl_cap_kind kind, const struct wl_reals *given, const struct wl_cap_range *range,
                      double reference, struct wl_reals *out, struct wl_arena *a, struct wl_err *e)
{
    const char *unit = wl_cap_kind_unit(kind);
    *out = (struct wl_reals) { .v = wl_new_array(a, double, given->n + 1) };
    for (size_t i = 0; i < given->n; i++) {
        double x = given->v[i];
        const char *why = wl_cap_refusal(range, kind, x, a);
        if (why) return wl_fail(e, WL_EINVAL, "--values: %g %s is out of range: %s", x, unit, why);
        if (x > reference * 1.001)
            return wl_fail(e, WL_EINVAL, "--values: %g %s is above the present limit, %g %s, which tune never raises",
                           x, unit, reference, unit);
        if (x < reference * 0.999) out->v[out->n++] = x;
    }
    if (out->n) qsort(out->v, out->n, sizeof *out->v, ascending);
    size_t kept = 0;
    for (size_t i = 0; i < out->n; i++)
        if (kept == 0 || out->v[i] > out->v[kept - 1]) out->v[kept++] = out->v[i];
    out->n = kept;
    out->v[out->n++] = reference;
    return 0;
}

/* The steps that the devices accept up to the reference; of many, some that are spread over them. */
static struct wl_reals from_steps(const struct wl_reals *steps, double reference, struct wl_arena *a)
{
    struct wl_reals all = { .v = wl_new_array(a, double, steps->n + 1) };
    for (size_t i = steps->n; i-- > 0;)
        if (steps->v[i] <= reference) all.v[all.n++] = steps->v[i];
    if (all.n <= MOST_VALUES) return all;
    struct wl_reals some = { .v = wl_new_array(a, double, MOST_VALUES) };
    for (size_t i = 0; i < MOST_VALUES; i++) some.v[some.n++] = all.v[i * (all.n - 1) / (MOST_VALUES - 1)];
    return some;
}

static struct wl_reals from_range(const struct wl_cap_range *range, double reference, struct wl_arena *a)
{
    if (range->steps.n) return from_steps(&range->steps, reference, a);
    double least = isnan(range->min) ? round(LEAST_CLOCK * reference) : range->min;
    return wl_tune_candidates_between(fmin(fmax(least, 1), reference), reference, MOST_VALUES, a);
}

/* The power limit without a cap: of a clock, the devices' present power limit; 0: not known. */
static double scale_of(const struct wl_tune_candidates *c, const struct wl_cap_setting *v, const struct wl_cap_range *r,
                       const struct wl_cap_opts *opts, const struct wl_power_opts *power, struct wl_arena *a)
{
    struct wl_cap_ability can;
    if (wl_cap_is_power(c->kind))
        return isnan(v[0].default_value) ? r->max : fmax(v[0].default_value, c->value[c->n - 1]);
    wl_cap_probe(WL_CAP_POWER, opts, power, &can, a);
    return isnan(can.present) ? 0 : can.present;
}

int wl_tune_candidates_find(enum wl_cap_kind kind, const struct wl_reals *given, const struct wl_cap_opts *opts,
                            const struct wl_power_opts *power, struct wl_tune_candidates *out, struct wl_arena *a,
                            struct wl_err *e)
{
    struct wl_cap_ability can;
    const struct wl_cap_setting *v = NULL;
    struct wl_reals values;
    size_t n = 0;
    int rc = ask_ability(kind, opts, power, &can, a, e);
    if (rc == 0) rc = ask_settings(kind, can.range.max, opts, power, &v, &n, a, e);
    if (rc < 0) return rc;
    double reference = reference_of(kind, v, n, can.range.max);
    if (given->n)
        rc = take_given(kind, given, &can.range, reference, &values, a, e);
    else
        values = from_range(&can.range, reference, a);
    if (rc < 0) return rc;
    if (values.n < 2)
        return wl_fail(e, WL_EINVAL, "%s: nothing to choose from: the devices take %s, and %g %s is in effect",
                       wl_cap_kind_name(kind), wl_cap_range_text(&can.range, kind, a), reference,
                       wl_cap_kind_unit(kind));
    *out = (struct wl_tune_candidates) { .kind = kind,
                                         .value = values.v,
                                         .n = values.n,
                                         .reference = values.n - 1,
                                         .refused = wl_new_array(a, const char *, values.n),
                                         .n_devices = count_devices(v, n, a),
                                         .devices = can.devices,
                                         .model = model_of(v, n, a),
                                         .simulated = can.simulated };
    out->scale_w = scale_of(out, v, &can.range, opts, power, a);
    out->note = note_of(out, v, n, a);
    return 0;
}
