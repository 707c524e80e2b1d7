#include "cmd/measured.h"

#include <math.h>
#include <unistd.h>

const struct wl_channel *wl_measured_channel(const struct wl_run_result *r, int64_t id)
{
    for (size_t i = 0; i < r->sensors->n_channels; i++)
        if (r->channel_ids[i] == id) return &r->sensors->channels[i];
    return NULL;
}

size_t wl_measured_sums(const struct wl_run_result *r, struct wl_scope_sum *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!wl_measured_whole(row->epoch)) continue;
        size_t k = 0;
        while (k < n && !(wl_streq(out[k].scope, row->scope) && wl_streq(out[k].method, row->method))) k++;
        const enum wl_provenance from = wl_provenance_of(row->estimated, row->simulated);
        const struct wl_amount energy =
            wl_amount_between(row->energy_j, row->energy_lo_j, row->energy_hi_j, "J", from);
        const struct wl_amount mean = wl_amount_of(row->mean_power_w, "W", from),
                               idle = wl_amount_of(row->idle_j, "J", from);
        if (k == n) {
            out[n++] = (struct wl_scope_sum) { .scope = row->scope, .method = row->method };
            out[k].energy.unit = out[k].idle.unit = "J";
            out[k].mean.unit = "W";
        }
        wl_amount_add(&out[k].energy, &energy);
        wl_amount_add(&out[k].mean, &mean);
        wl_amount_add(&out[k].idle, &idle);
        out[k].chosen |= row->chosen;
    }
    return n;
}

struct wl_amount wl_measured_energy(const struct wl_run_result *r, double epoch)
{
    struct wl_amount sum = { .unit = "J" };
    bool any = false;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        const bool same = wl_measured_whole(epoch) ? wl_measured_whole(row->epoch) : row->epoch == epoch;
        if (!row->chosen || !same) continue;
        const struct wl_amount part = wl_amount_between(row->energy_j, row->energy_lo_j, row->energy_hi_j, "J",
                                                        wl_provenance_of(row->estimated, row->simulated));
        wl_amount_add(&sum, &part);
        any = true;
    }
    return any ? sum : wl_amount_of(NAN, "J", WL_MEASURED);
}

double wl_measured_held_pct(const struct wl_run_result *r, enum wl_quantity q)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = wl_measured_channel(r, row->channel);
        if (!c || c->quantity != q || !wl_measured_whole(row->epoch)) continue;
        sum += 100 * row->mean;
        n++;
    }
    return n > 0 ? sum / (double)n : NAN;
}

const struct wl_channel *wl_measured_slowest_power(const struct wl_run_result *r)
{
    const struct wl_channel *slowest = NULL;
    for (size_t i = 0; i < r->sensors->n_channels; i++) {
        const struct wl_channel *c = &r->sensors->channels[i];
        if (c->quantity != WL_POWER || !(c->update_s > 0)) continue;
        if (!slowest || c->update_s > slowest->update_s) slowest = c;
    }
    return slowest;
}

/* Busy time of all CPUs of the machine, s; NAN: not read. */
static double busy_cpu_s(const struct wl_run_result *r, double time_s)
{
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = wl_measured_channel(r, row->channel);
        if (c && wl_measured_whole(row->epoch) && c->quantity == WL_CPU_UTIL && c->scope == WL_SCOPE_NODE)
            return row->mean / 100 * (double)sysconf(_SC_NPROCESSORS_ONLN) * time_s;
    }
    return NAN;
}

struct wl_amount wl_measured_own(const struct wl_run_result *r)
{
    double time_s = (double)(r->end_ns - r->start_ns) / WL_NS_PER_S, cpus_j = NAN;
    enum wl_provenance from = WL_ESTIMATED;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        bool cpus =
            wl_streq(row->scope, wl_scope_name(WL_SCOPE_PACKAGE)) || wl_streq(row->scope, wl_scope_name(WL_SCOPE_DRAM));
        if (!row->chosen || !wl_measured_whole(row->epoch) || !cpus) continue;
        cpus_j = (isnan(cpus_j) ? 0 : cpus_j) + row->energy_j;
        from |= wl_provenance_of(row->estimated, row->simulated);
    }
    double share = r->own_cpu_s / busy_cpu_s(r, time_s);
    return wl_amount_of(time_s >= WL_MEASURED_SHARE_FROM_S && share <= 1 ? share * cpus_j : NAN, "J", from);
}
