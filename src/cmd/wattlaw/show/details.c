#include "cmd/wattlaw/show/show.h"

#include <math.h>
#include <string.h>

/* Rules are checked for runs that have ended. */
static int read_rules(struct wl_store *s, struct wl_show_details *d, struct wl_arena *a, struct wl_err *e)
{
    const char *rules;
    d->rules = NULL;
    int rc = wl_rules_of_campaign(s, d->run->campaign, &rules, a, e);
    if (rc < 0 || !rules || d->run->stop.wall_ns == WL_NO_NS) return rc;
    struct wl_rule_checks *checks = wl_new(a, struct wl_rule_checks);
    rc = wl_rules_mlperf(s, d->run->id, checks, a, e);
    d->rules = checks;
    return rc;
}

int wl_show_read(struct wl_store *s, int64_t id, struct wl_show_details *d, struct wl_arena *a, struct wl_err *e)
{
    struct wl_run_rows runs;
    int rc = wl_store_runs(s, &(struct wl_run_filter) { .run = id }, &runs, a, e);
    if (rc) return rc;
    if (runs.n == 0) return wl_fail(e, WL_ENOENT, "%s: no run %lld", wl_store_path(s), (long long)id);
    d->run = runs.v;
    rc = wl_store_epochs(s, id, &d->epochs, a, e);
    if (rc == 0) rc = wl_store_spans(s, id, &d->spans, a, e);
    if (rc == 0) rc = wl_store_energies(s, id, &d->energies, a, e);
    if (rc == 0) rc = wl_store_attributions(s, id, &d->attributions, a, e);
    if (rc == 0) rc = wl_store_phases(s, id, &d->phases, a, e);
    if (rc == 0) rc = wl_store_metrics(s, id, &d->metrics, a, e);
    if (rc == 0) rc = wl_store_metric_defs(s, 0, id, &d->metric_defs, a, e);
    if (rc == 0) rc = wl_store_stats(s, id, &d->stats, a, e);
    if (rc == 0) rc = wl_store_devices(s, id, &d->devices, a, e);
    if (rc == 0) rc = wl_store_channels(s, id, &d->channels, a, e);
    if (rc == 0) rc = wl_store_read_log(s, id, &d->log, a, e);
    if (rc == 0) rc = wl_store_nodes(s, id, &d->nodes, a, e);
    if (rc == 0) rc = wl_store_caps(s, id, &d->caps, a, e);
    if (rc == 0) rc = wl_store_placements(s, id, &d->placement, a, e);
    return rc ? rc : read_rules(s, d, a, e);
}

/* The row with this id, by binary search; rows are in order of their ids, and id is the first member. */
static const void *find(const void *rows, size_t n, size_t size, int64_t id)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const int64_t *row = (const int64_t *)((const char *)rows + mid * size);
        if (*row == id) return row;
        if (*row < id)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}
_Static_assert(offsetof(struct wl_device_row, id) == 0 && offsetof(struct wl_channel_row, id) == 0,
               "id is the first member");

const struct wl_device_row *wl_show_device(const struct wl_show_details *d, int64_t id)
{
    return find(d->devices.v, d->devices.n, sizeof *d->devices.v, id);
}

const struct wl_channel_row *wl_show_channel(const struct wl_show_details *d, int64_t id)
{
    return find(d->channels.v, d->channels.n, sizeof *d->channels.v, id);
}

enum wl_provenance wl_show_provenance(const struct wl_show_details *d, const char *device)
{
    const size_t n = strcspn(device, "/");
    enum wl_provenance from = WL_MEASURED;
    for (size_t i = 0; i < d->channels.n; i++) {
        const struct wl_channel_row *c = &d->channels.v[i];
        const struct wl_device_row *of = wl_show_device(d, c->device);
        if (of && strlen(of->uuid) == n && memcmp(of->uuid, device, n) == 0)
            from |= wl_provenance_of(c->estimated, c->simulated);
    }
    return from;
}

const char *wl_show_energy_why(const struct wl_show_details *d, double epoch)
{
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        bool same = v->epoch == epoch || (isnan(v->epoch) && isnan(epoch));
        if (v->chosen && same && isnan(v->energy_j)) return v->why;
    }
    return NULL;
}

struct wl_amount wl_show_epoch_energy(const struct wl_show_details *d, int64_t epoch)
{
    struct wl_amount sum = { .unit = "J" };
    bool any = false;
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        if (!v->chosen || v->epoch != (double)epoch) continue;
        const struct wl_amount part = wl_amount_between(v->energy_j, v->energy_lo_j, v->energy_hi_j, "J",
                                                        wl_provenance_of(v->estimated, v->simulated));
        wl_amount_add(&sum, &part);
        any = true;
    }
    return any ? sum : wl_amount_of(NAN, "J", WL_MEASURED);
}
