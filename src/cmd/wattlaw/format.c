#include "cmd/wattlaw/format.h"

#include "power/power.h"

#include <math.h>
#include <string.h>

int wl_format_decimals(double error)
{
    if (!(error > 0)) return 3;
    return (int)fmin(6, fmax(2, 1 - floor(log10(error))));
}

const char *wl_format_p(double p, struct wl_arena *a)
{
    if (p < 1e-300) return "p below 1e-300";
    return p < 1e-4 ? wl_strf(a, "p = %.0e", p) : wl_strf(a, "p = %.2g", p);
}

const char *wl_format_percent(double share, struct wl_arena *a)
{
    return wl_strf(a, share < 0.1 ? "%.2g" : "%.0f", 100 * share);
}

const char *wl_format_count(size_t n, const char *noun, struct wl_arena *a)
{
    return wl_strf(a, "%zu %s%s", n, noun, n == 1 ? "" : "s");
}

const char *wl_format_interval(double lo, double hi, int decimals, struct wl_arena *a)
{
    if (isnan(lo) || isnan(hi)) return NULL;
    return wl_strf(a, "%.*f to %.*f", decimals, lo, decimals, hi);
}

const char *wl_format_range(double lo, double hi, struct wl_arena *a)
{
    if (isnan(lo) || isnan(hi)) return NULL;
    return wl_strf(a, "%s to %s", wl_number_text(lo, a), wl_number_text(hi, a));
}

const char *wl_format_counter_ratio(double counter_j, double integral_j, struct wl_arena *a)
{
    double ratio = wl_energy_ratio(counter_j, integral_j);
    if (isnan(ratio)) return "";
    const char *warning =
        wl_energy_ratio_off(ratio) ? wl_strf(a, ", off by more than %g %%", 100 * WL_RATIO_LIMIT) : "";
    return wl_strf(a, ", ratio %.3f%s", ratio, warning);
}

const char *wl_format_throttling(double power_pct, double thermal_pct, struct wl_arena *a)
{
    const char *power = wl_strf(a, "%.1f %% of the time by the power limit", power_pct);
    return isnan(thermal_pct) ? power : wl_strf(a, "%s, %.1f %% by heat", power, thermal_pct);
}

const char *wl_format_clocks(const struct wl_run_row *r, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (const struct wl_setting *c = NULL; (c = wl_setting_next_clock(c));)
        if (!isnan(r->achieved[c->cap]))
            wl_text_addf(&t, "%s%s %.5g MHz", t.n ? ", " : "", c->domain, r->achieved[c->cap]);
    if (t.n) wl_text_add(&t, " on average");
    return t.s;
}

const char *wl_format_cooldown(const struct wl_cooldown *c, struct wl_arena *a)
{
    if (isnan(c->asked_c)) return "";
    const char *begin = isnan(c->begin_c) ? "" : wl_strf(a, "; the hottest GPU started at %.0f C", c->begin_c);
    const char *why = c->why ? wl_strf(a, "; not reached: %s", c->why) : "";
    return wl_strf(a, "to %.6g C, waited %s%s%s", c->asked_c, wl_human_time(a, c->waited_s), begin, why);
}

const char *wl_format_slurm_energy(const struct wl_slurm_energy *s, struct wl_arena *a)
{
    if (!s->plugin) return s->why ? wl_strf(a, "missing: %s", s->why) : "";
    const char *each = s->period_s > 0 ? wl_strf(a, ", every %s", wl_human_time(a, s->period_s)) : "";
    if (s->why) return wl_strf(a, "missing: %s (%s%s)", s->why, s->plugin, each);
    const struct wl_amount energy = wl_amount_of(s->energy_j, "J", WL_MEASURED);
    return wl_strf(a, "%s of whole nodes in steps %s (%s%s)", wl_amount_text(&energy, a), s->steps, s->plugin, each);
}

const char *wl_format_load(const struct wl_load_row *l, double time_s, struct wl_arena *a)
{
    if (l->busy) return l->busy;
    if (l->why) return wl_strf(a, "not known whether others used it: %s", l->why);
    if (!(l->busy_cpu_s > 0)) return "";
    return wl_strf(a, "not busy: others used %.2g of %.0f CPUs", l->other_cpu_s / time_s, l->cpus);
}

const char *wl_format_caps_acted(const struct wl_run_row *r, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (const struct wl_setting *c = NULL; (c = wl_setting_next_cap(c));) {
        const char *comma = t.n ? ", " : "", *name = wl_setting_limited(c, a);
        double pct = r->acted_pct[c->cap];
        if (isnan(pct)) continue;
        if (pct > 0 && pct < 100)
            wl_text_addf(&t, "%s%s acted on %.0f %% of devices", comma, name, pct);
        else
            wl_text_addf(&t, "%s%s %sacted", comma, name, pct > 0 ? "" : "never ");
    }
    return t.s;
}
