/* Which settings the machine, the site and the user rule out. */
#include "advise/choose/axes.h"
#include "advise/choose/collected.h"

#include <math.h>

/* The largest value of a column over the rows of each setting; NAN where there is none. */
static double *largest_of(const struct wl_choose_collected *s, const char *name)
{
    struct wl_obs_column column;
    double *out = wl_new_array(s->a, double, s->c->n);
    for (size_t i = 0; i < s->c->n; i++) out[i] = NAN;
    const bool measured = wl_obs_find(s->obs, name, &column, NULL) == 0 && column.real;
    for (size_t row = 0; measured && row < s->obs->n; row++) {
        const size_t i = s->of_run[s->obs->run_index[row]];
        if (i < s->c->n) out[i] = fmax(out[i], column.real[row]);
    }
    return out;
}

static void find_peaks(struct wl_choose_collected *s)
{
    struct wl_choose_campaign *c = s->c;
    c->peak_w = largest_of(s, "peak_power_w");
    c->peak_is_cap = wl_new_array(s->a, bool, c->n);
    for (size_t i = 0; i < c->n; i++) {
        c->peak_is_cap[i] = isnan(c->peak_w[i]);
        if (c->peak_is_cap[i])
            c->peak_w[i] = c->no_workers ? NAN : s->obs->power_cap_w[c->row[i]] * c->settings[i].workers;
    }
}

/* Settings that ran fit into the memory of their device; another one may have less. */
static const char *exceeds_memory(const struct wl_choose_collected *s, double peak)
{
    const double most = s->o->memory_bytes;
    if (!(most > 0) || peak <= most) return NULL;
    if (isnan(peak)) return "its memory was not measured, for --device-memory";
    return wl_strf(s->a, "%.4g GB of memory are above --device-memory %.4g GB", peak / 1e9, most / 1e9);
}

static const char *exceeds_site(const struct wl_choose_collected *s, size_t i)
{
    const double most = s->o->site_power_w, peak = s->c->peak_w[i];
    if (isnan(most) || peak <= most) return NULL;
    if (isnan(peak)) return "neither a peak power nor a power cap is known, for --site-power";
    return wl_strf(s->a, "%s %.4g kW is above --site-power %.4g kW",
                   s->c->peak_is_cap[i] ? "power cap x workers" : "peak", peak / 1e3, most / 1e3);
}

static const char *breaks_machine(const struct wl_choose_collected *s, size_t i)
{
    const struct wl_choose_campaign_options *o = s->o;
    const double n = s->c->settings[i].workers, batch = s->obs->global_batch[s->c->row[i]];
    if (s->c->no_workers && !isnan(o->node_size)) return "its worker count is not known, for --node-size";
    if (!isnan(o->node_size) && fmod(n, o->node_size) != 0)
        return wl_strf(s->a, "%g worker%s: not a multiple of --node-size %g", n, n == 1 ? "" : "s", o->node_size);
    if (isnan(o->global_batch)) return NULL;
    if (!isnan(batch) && batch != o->global_batch)
        return wl_strf(s->a, "global batch %g, not --global-batch %g", batch, o->global_batch);
    if (s->c->no_workers && isnan(batch)) return "its global batch is not known, for --global-batch";
    if (fmod(o->global_batch, n) != 0)
        return wl_strf(s->a, "%g workers do not divide --global-batch %g", n, o->global_batch);
    return NULL;
}

/* Of each setting: in how many of its runs a cap of this kind was watched, and in how many it acted. */
static void count_acts(const struct wl_choose_collected *s, const struct wl_obs_column *acted, size_t *watched,
                       size_t *acts)
{
    for (size_t i = 0; i < s->c->n; i++) watched[i] = acts[i] = 0;
    for (size_t row = 0; row < s->obs->n; row++) {
        const size_t i = s->of_run[s->obs->run_index[row]];
        if (i >= s->c->n || isnan(acted->real[row])) continue;
        watched[i]++;
        acts[i] += acted->real[row] > 0;
    }
}

static void find_caps_that_never_acted(struct wl_choose_collected *s)
{
    struct wl_choose_campaign *c = s->c;
    size_t *watched = wl_new_array(s->a, size_t, c->n), *acts = wl_new_array(s->a, size_t, c->n);
    c->never_acted = wl_new_array(s->a, struct wl_strs, c->n);
    for (size_t k = 0; k < c->n_axes; k++) {
        const struct wl_setting *setting = c->axes[k].setting;
        struct wl_obs_column acted;
        if (!setting || !setting->is_cap) continue;
        if (wl_obs_find(s->obs, setting->acted, &acted, NULL) || !acted.real) continue;
        count_acts(s, &acted, watched, acts);
        for (size_t i = 0; i < c->n; i++)
            if (*c->value[i][k] && watched[i] && !acts[i]) wl_strs_add(s->a, &c->never_acted[i], setting->label);
    }
}

int wl_choose_exclude(struct wl_choose_collected *s, struct wl_err *e)
{
    const double *memory = largest_of(s, "peak_memory_bytes");
    find_peaks(s);
    find_caps_that_never_acted(s);
    for (size_t i = 0; i < s->c->n; i++) {
        struct wl_choose_setting *to = &s->c->settings[i];
        for (size_t k = 0; k < s->o->n_where; k++) {
            bool match = true;
            const int rc = wl_choose_matches(s->obs, s->c->row[i], &s->o->where[k], &match, s->a, e);
            if (rc) return wl_err_prefix(e, "--where %s", s->o->where[k].text);
            if (!match && !to->excluded) to->excluded = wl_strf(s->a, "not --where %s", s->o->where[k].text);
        }
        if (!to->excluded) to->excluded = breaks_machine(s, i);
        if (!to->excluded) to->excluded = exceeds_memory(s, memory[i]);
        if (!to->excluded) to->excluded = exceeds_site(s, i);
    }
    return 0;
}
