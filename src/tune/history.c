#include "tune/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A usable row. */
struct point {
    const char *group, *device; /* device: its model; NULL: not known */
    double value, ln_t, ln_p;
    bool first_epoch;
};

static const char *text_of(const char *s) { return s ? s : ""; }

/* Settings other than the cap: everything that a canonical or an extra column says. */
static const char *group_of(const struct wl_observations *obs, size_t i, enum wl_cap_kind kind, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    double other = kind == WL_CAP_CLOCK ? obs->power_cap_w[i] : obs->clock_mhz[i];
    wl_text_addf(&t, "%s %s nodes=%g workers=%g local_batch=%g global_batch=%g other=%g", text_of(obs->workload[i]),
                 text_of(obs->hardware[i]), obs->nodes[i], obs->workers[i], obs->local_batch[i], obs->global_batch[i],
                 other);
    for (size_t k = 0; k < obs->n_extra; k++)
        if (obs->extra[k].setting && !wl_str_eq(obs->extra[k].name, wl_setting_of_cap(kind)->name))
            wl_text_addf(&t, " %s=%s", obs->extra[k].name, wl_obs_text(&obs->extra[k], i, a));
    return t.s;
}

/* The column of the cap; NULL: the table has none. */
static const double *column_of(const struct wl_observations *obs, enum wl_cap_kind kind)
{
    struct wl_obs_column c;
    return wl_obs_find(obs, wl_setting_of_cap(kind)->name, &c, NULL) == 0 ? c.real : NULL;
}

static size_t usable(const struct wl_observations *obs, enum wl_cap_kind kind, struct point *out, struct wl_arena *a)
{
    const double *value = column_of(obs, kind);
    size_t n = 0;
    for (size_t i = 0; value && i < obs->n; i++) {
        double workers = isnan(obs->workers[i]) ? 1 : obs->workers[i];
        if (!(value[i] > 0 && obs->time_s[i] > 0 && obs->energy_j[i] > 0)) continue;
        double work = obs->samples[i] > 0 ? obs->samples[i] : 1;
        out[n++] = (struct point) { .group = group_of(obs, i, kind, a),
                                    .device = obs->hardware[i],
                                    .value = value[i],
                                    .ln_t = log(obs->time_s[i] / work),
                                    .ln_p = log(obs->energy_j[i] / obs->time_s[i] / workers),
                                    .first_epoch = obs->epoch[i] == 1 };
    }
    return n;
}

/* By group, value, and first epochs last. */
static int order(const void *x, const void *y)
{
    const struct point *a = x, *b = y;
    int by = strcmp(a->group, b->group);
    if (by) return by;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    return a->first_epoch - b->first_epoch;
}

/* The mean of the points from `from` on that have its value; returns how many there are. */
static size_t mean_of_value(const struct point *v, size_t n, double *value, double *ln_t, double *ln_p)
{
    size_t used = 0, k = 0;
    *value = v[0].value;
    *ln_t = *ln_p = 0;
    for (; k < n && v[k].value == v[0].value && wl_str_eq(v[k].group, v[0].group); k++) {
        if (v[k].first_epoch && used > 0 && !v[0].first_epoch) continue;
        *ln_t += v[k].ln_t;
        *ln_p += v[k].ln_p;
        used++;
    }
    *ln_t /= (double)used;
    *ln_p /= (double)used;
    return k;
}

/* A cap's scale is the largest cap; a clock's is not in a table of observations: the power at the largest clock is
 * taken for .9 of it. */
static double scale_of(enum wl_cap_kind kind, double top, double ln_p)
{
    static const double USED = 0.9;
    return wl_setting_of_cap(kind)->domain ? exp(ln_p) / USED : top;
}

/* The curve of the group that begins at v[0]; returns how many points it has. */
static size_t curve_of(const struct point *v, size_t n, enum wl_cap_kind kind, struct wl_advise_cap_curve *out,
                       struct wl_arena *a)
{
    size_t size = 0, k = 0, m = 0;
    while (size < n && wl_str_eq(v[size].group, v[0].group)) size++;
    double *value = wl_new_array(a, double, size), *t = wl_new_array(a, double, size),
           *p = wl_new_array(a, double, size);
    while (k < size) {
        k += mean_of_value(v + k, size - k, &value[m], &t[m], &p[m]);
        m += m < WL_ADVISE_CAP_MAX;
    }
    *out = (struct wl_advise_cap_curve) {
        .value = value, .ln_t = t, .ln_p = p, .n = m, .group = v[0].group, .device = v[0].device
    };
    if (m) out->scale_w = scale_of(kind, value[m - 1], p[m - 1]);
    return size;
}

int wl_tune_history(const struct wl_observations *obs, enum wl_cap_kind kind, struct wl_advise_cap_curve **out,
                    size_t *n, struct wl_arena *a, struct wl_err *e)
{
    struct point *v = wl_new_array(a, struct point, obs->n);
    size_t points = usable(obs, kind, v, a);
    *out = wl_new_array(a, struct wl_advise_cap_curve, points);
    *n = 0;
    if (points) qsort(v, points, sizeof *v, order);
    for (size_t i = 0; i < points;) {
        struct wl_advise_cap_curve *c = &(*out)[*n];
        i += curve_of(v + i, points - i, kind, c, a);
        c->kind = wl_setting_of_cap(kind)->domain ? WL_ADVISE_CLOCK : WL_ADVISE_POWER_CAP;
        *n += c->n >= 2;
    }
    if (*n) return 0;
    return wl_fail(e, WL_EINVAL, "%s: no group of runs has two values of %s with time and energy", obs->source,
                   wl_setting_of_cap(kind)->name);
}
