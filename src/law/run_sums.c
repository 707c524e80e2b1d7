#include "law/run_sums.h"

#include <math.h>

static const double *column_of(const struct wl_observations *obs, const char *name)
{
    struct wl_obs_column c;
    struct wl_err none;
    return wl_obs_find(obs, name, &c, &none) == 0 ? c.real : NULL;
}

static void add_part(struct wl_text *t, const struct wl_obs_column *c, size_t row, struct wl_arena *a)
{
    const char *value = wl_obs_text(c, row, a);
    if (!*value) return;
    const bool name = wl_str_eq(c->name, "workload") || wl_str_eq(c->name, "hardware");
    wl_text_addf(t, "%s%s%s%s", t->n ? " " : "", name ? "" : c->name, name ? "" : "=", value);
}

/* The settings of a row, "resnet50 workers=2 local_batch=16". */
static int key_of(const struct wl_observations *obs, const struct wl_strs *by, size_t row, const char **out,
                  struct wl_arena *a, struct wl_err *e)
{
    static const char *const settings[] = { "workload",    "hardware",     "nodes",       "workers",
                                            "local_batch", "global_batch", "power_cap_w", "clock_mhz" };
    struct wl_text t = WL_TEXT(a);
    struct wl_obs_column c;
    for (size_t i = 0; i < by->n; i++) {
        int rc = wl_obs_find(obs, by->v[i], &c, e);
        if (rc) return rc;
        add_part(&t, &c, row, a);
    }
    for (size_t i = 0; !by->n && i < WL_COUNT(settings); i++) {
        WL_CHECK(wl_obs_find(obs, settings[i], &c, NULL) == 0);
        add_part(&t, &c, row, a);
    }
    for (size_t i = 0; !by->n && i < obs->n_extra; i++)
        if (obs->extra[i].setting) add_part(&t, &obs->extra[i], row, a);
    *out = t.n ? t.s : "";
    return 0;
}

/* Does the epoch come after the warm-up? The last one of a run always counts. */
static bool counts(const struct wl_observations *obs, size_t row, const double *last, int64_t drop)
{
    const double epoch = obs->epoch[row], end = last[obs->run_index[row]];
    if (isnan(epoch)) return isnan(end); /* a total beside epochs */
    return epoch > (double)drop || epoch == end;
}

int wl_run_sums_collect(const struct wl_observations *obs, const struct wl_strs *by, int64_t drop_epochs,
                        struct wl_run_sums **out, struct wl_arena *a, struct wl_err *e)
{
    const double *tokens = column_of(obs, "tokens");
    double *last = wl_new_array(a, double, obs->runs);
    struct wl_run_sums *v = *out = wl_new_array(a, struct wl_run_sums, obs->runs);
    for (size_t i = 0; i < obs->runs; i++) last[i] = NAN;
    for (size_t i = 0; i < obs->n; i++) last[obs->run_index[i]] = fmax(last[obs->run_index[i]], obs->epoch[i]);
    for (size_t i = 0; i < obs->n; i++) {
        struct wl_run_sums *r = &v[obs->run_index[i]];
        int rc = r->key ? 0 : key_of(obs, by, i, &r->key, a, e);
        if (rc) return rc;
        if (!counts(obs, i, last, drop_epochs)) continue;
        r->time_s += obs->time_s[i];
        r->energy_j += obs->energy_j[i];
        r->samples += obs->samples[i];
        r->tokens += tokens ? tokens[i] : NAN;
        r->estimated |= obs->estimated[i] != 0;
        r->simulated |= obs->simulated[i] != 0;
        r->rows++;
    }
    return 0;
}
