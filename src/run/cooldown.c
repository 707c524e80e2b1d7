/* A hot GPU leaks more current and reaches its limits sooner, so that the order of a sweep would influence its numbers:
 * a run can wait until the job's GPUs have cooled down. */
#include "run/internal.h"

#include <math.h>

enum { POLL_INTERVAL_MS = 100, DRAIN = 256 };
static const double SAMPLING_HZ = 2; /* drivers are asked for temperatures once a second */

struct cooling {
    const struct wl_cooldown_opts *opts;
    struct wl_sensors *sensors;
    struct wl_sampler *sampler;
    double *latest;      /* [n_channels] NAN: not read */
    const char *unknown; /* why a temperature is not known; NULL: all GPUs report theirs */
    struct wl_arena *a;
};

static bool is_temperature(const struct wl_channel *c)
{
    return c->quantity == WL_TEMPERATURE && c->scope == WL_SCOPE_GPU;
}

static const char *name_of(const struct cooling *c, int device)
{
    const struct wl_device *d = &c->sensors->devices[device];
    return wl_strf(c->a, "%s (%s)", d->uuid, d->name);
}

/* Names a measured GPU that reports no temperature, or says that no GPU does. */
static const char *why_unknown(const struct cooling *c)
{
    const struct wl_sensors *s = c->sensors;
    bool any = false;
    for (size_t i = 0; i < s->n_channels; i++) {
        bool reports = false;
        if (s->channels[i].scope != WL_SCOPE_GPU) continue;
        for (size_t k = 0; k < s->n_channels; k++)
            reports = reports || (is_temperature(&s->channels[k]) && s->channels[k].device == s->channels[i].device);
        if (!reports) return wl_strf(c->a, "%s reports no temperature", name_of(c, s->channels[i].device));
        any = true;
    }
    return any ? NULL : "no GPU reports its temperature";
}

static void drain_readings(struct cooling *c)
{
    struct wl_sample v[DRAIN];
    size_t n;
    while ((n = wl_sampler_drain(c->sampler, v, DRAIN)) > 0)
        for (size_t i = 0; i < n; i++) c->latest[v[i].channel] = v[i].value;
}

/* The channel of the hottest GPU, or of the first whose latest reading is missing; -1: there is none. */
static int hottest(const struct cooling *c)
{
    int found = -1;
    for (size_t i = 0; i < c->sensors->n_channels; i++) {
        if (!is_temperature(&c->sensors->channels[i])) continue;
        if (isnan(c->latest[i])) return (int)i;
        if (found < 0 || c->latest[i] > c->latest[found]) found = (int)i;
    }
    return found;
}

static bool is_cool(const struct cooling *c)
{
    int k = hottest(c);
    return k >= 0 && c->latest[k] <= c->opts->below_c;
}

static const char *why_still_warm(const struct cooling *c, bool stopped)
{
    int k = hottest(c);
    const char *device = name_of(c, c->sensors->channels[k].device);
    if (isnan(c->latest[k])) return wl_strf(c->a, "%s does not report its temperature now", device);
    return wl_strf(c->a, "%s is at %.0f C%s, above the limit of %.0f C", device, c->latest[k],
                   stopped ? "" : wl_strf(c->a, " after %s", wl_human_time(c->a, c->opts->wait_s)), c->opts->below_c);
}

/* Until all are cool, the time is up or a signal is pending, which it leaves pending. */
static const char *wait_for_all(struct cooling *c, const struct wl_signals *signals)
{
    struct pollfd pending = { .fd = signals ? wl_signals_fd(signals) : -1, .events = POLLIN };
    int64_t end_ns = wl_now_ns() + (int64_t)(c->opts->wait_s * WL_NS_PER_S);
    bool logged = false;
    for (;;) {
        drain_readings(c);
        if (is_cool(c)) return NULL;
        if (wl_now_ns() >= end_ns) return why_still_warm(c, false);
        if (!logged && hottest(c) >= 0 && !isnan(c->latest[hottest(c)]))
            wl_log(WL_INFO, "campaign", "waiting for GPUs to cool down: %s", why_still_warm(c, true)), logged = true;
        if (poll(&pending, 1, POLL_INTERVAL_MS) > 0) return why_still_warm(c, true);
    }
}

static int poll_until_cool(struct cooling *c, const struct wl_power_opts *power, const struct wl_signals *signals,
                           struct wl_cooldown *out, struct wl_err *e)
{
    int rc = wl_sensors_open(&c->sensors, power, c->a, e);
    if (rc < 0) return rc;
    c->unknown = why_unknown(c);
    c->latest = wl_new_array(c->a, double, c->sensors->n_channels);
    for (size_t i = 0; i < c->sensors->n_channels; i++) c->latest[i] = NAN;
    if (hottest(c) < 0) {
        out->why = c->unknown;
        return 0;
    }
    rc = wl_sampler_start(&c->sampler, c->sensors, SAMPLING_HZ, c->a, e);
    if (rc < 0) return rc;
    out->why = wait_for_all(c, signals);
    if (!out->why) out->why = c->unknown;
    out->begin_c = c->latest[hottest(c)];
    wl_sampler_stop(c->sampler);
    return 0;
}

int wl_cooldown_wait(const struct wl_cooldown_opts *opts, const struct wl_power_opts *power,
                     const struct wl_signals *signals, struct wl_cooldown *out, struct wl_arena *a, struct wl_err *e)
{
    *out = wl_cooldown_none;
    if (isnan(opts->below_c)) return 0;
    struct wl_arena *own = wl_arena_new(NULL);
    struct cooling c = { .opts = opts, .a = own };
    int64_t begin_ns = wl_now_ns();
    int rc = poll_until_cool(&c, power, signals, out, e);
    out->asked_c = opts->below_c;
    out->waited_s = (double)(wl_now_ns() - begin_ns) / WL_NS_PER_S;
    if (out->why) out->why = wl_strdup(a, out->why);
    wl_arena_free(own);
    return rc;
}
