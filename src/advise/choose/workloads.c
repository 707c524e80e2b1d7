/* The workloads of a source, each with its rows. */
#include "advise/choose/axes.h"

int wl_choose_check_columns(const struct wl_observations *obs, const struct wl_choose_where *where, size_t n_where,
                            const char *option, struct wl_err *e)
{
    for (size_t k = 0; k < n_where; k++) {
        struct wl_obs_column column;
        if (wl_obs_find(obs, where[k].column, &column, e)) return wl_err_prefix(e, "--%s %s", option, where[k].text);
    }
    return 0;
}

static int matches_all(const struct wl_observations *obs, size_t row, const struct wl_choose_where *where,
                       size_t n_where, bool *out, struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    *out = true;
    for (size_t k = 0; k < n_where && *out && rc == 0; k++)
        if (wl_str_eq(where[k].column, "workload")) rc = wl_choose_matches(obs, row, &where[k], out, a, e);
    return rc;
}

static void add_workload(struct wl_choose_workloads *out, size_t *cap, const char *name, struct wl_arena *a)
{
    WL_GROW(a, out->name, out->n, *cap);
    out->name[out->n++] = name;
}

int wl_choose_workloads(const struct wl_observations *obs, const struct wl_choose_where *where, size_t n_where,
                        struct wl_choose_workloads *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    const char **texts = wl_new_array(scratch, const char *, obs->n);
    size_t *part = wl_new_array(scratch, size_t, obs->n), seen = 0, cap = 0;
    *out = (struct wl_choose_workloads) { 0 };
    int rc = wl_choose_check_columns(obs, where, n_where, "where", e);
    for (size_t row = 0; row < obs->n; row++) texts[row] = obs->workload[row] ? obs->workload[row] : "";
    size_t *of_name = wl_new_array(scratch, size_t, wl_law_labels(texts, obs->n, part, scratch));
    for (size_t row = 0; row < obs->n && rc == 0; row++) {
        if (part[row] == seen) { /* the first row of a name */
            bool wanted;
            rc = matches_all(obs, row, where, n_where, &wanted, scratch, e);
            of_name[seen++] = wanted ? out->n : (size_t)-1;
            if (wanted) add_workload(out, &cap, texts[row], a);
        }
        part[row] = of_name[part[row]];
    }
    if (rc == 0) out->obs = wl_obs_split(obs, part, out->n, a);
    wl_arena_free(scratch);
    return rc;
}
