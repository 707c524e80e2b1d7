#include "advise/policy/copies.h"

#include "law/law.h"

#include <math.h>

/* A run of one of the tables. */
struct owner {
    size_t table, row;
};

/* The settings and all measurements of each run as a text; "": it has no energy. */
static void describe(const struct wl_observations *obs, const char **out, struct wl_arena *a)
{
    struct wl_text *t = wl_new_array(a, struct wl_text, obs->runs);
    bool *has_energy = wl_new_array(a, bool, obs->runs);
    for (size_t run = 0; run < obs->runs; run++) t[run] = WL_TEXT(a);
    for (size_t row = 0; row < obs->n; row++) {
        const size_t run = obs->run_index[row];
        if (!t[run].n)
            wl_text_addf(&t[run], "%s %.17g %.17g %.17g", obs->workload[row] ? obs->workload[row] : "",
                         obs->workers[row], obs->power_cap_w[row], obs->clock_mhz[row]);
        wl_text_addf(&t[run], "\n%.17g %.17g %.17g", obs->epoch[row], obs->time_s[row], obs->energy_j[row]);
        has_energy[run] |= !isnan(obs->energy_j[row]);
    }
    for (size_t run = 0; run < obs->runs; run++) out[run] = has_energy[run] ? t[run].s : "";
}

static bool may_be_of(const struct wl_observations *obs, size_t row, const char *hardware)
{
    const char *here = obs->hardware[row];
    return !here || !hardware || wl_str_eq(here, hardware);
}

/* Runs of table k whose text another table before it has. ids and texts are those of its runs. */
static bool *find_copies(const struct wl_observations *obs, size_t k, const char **texts, const size_t *ids,
                         struct owner *first, struct wl_arena *a)
{
    bool *is_copy = wl_new_array(a, bool, obs[k].runs), *seen = wl_new_array(a, bool, obs[k].runs);
    for (size_t row = 0; row < obs[k].n; row++) {
        const size_t run = obs[k].run_index[row];
        struct owner *of = &first[ids[run]];
        if (seen[run] || !*texts[run]) continue;
        seen[run] = true;
        if (of->table == k + 1) continue; /* within a table wl_choose_collect looks */
        if (!of->table)
            *of = (struct owner) { k + 1, row };
        else
            is_copy[run] = may_be_of(&obs[k], row, obs[of->table - 1].hardware[of->row]);
    }
    return is_copy;
}

/* The rows that are left are part 0. */
static size_t remove_runs(struct wl_observations *obs, const bool *is_copy, struct wl_arena *scratch,
                          struct wl_arena *a)
{
    size_t *part = wl_new_array(scratch, size_t, obs->n), removed = 0;
    for (size_t run = 0; run < obs->runs; run++) removed += is_copy[run];
    for (size_t row = 0; row < obs->n; row++) part[row] = is_copy[obs->run_index[row]];
    if (removed) *obs = *wl_obs_split(obs, part, 1, a);
    return removed;
}

void wl_policy_remove_copies(struct wl_observations *obs, size_t n, size_t *removed, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    size_t runs = 0, at = 0;
    for (size_t k = 0; k < n; k++) runs += obs[k].runs;
    const char **texts = wl_new_array(scratch, const char *, runs);
    size_t *ids = wl_new_array(scratch, size_t, runs);
    struct owner *first = wl_new_array(scratch, struct owner, runs);
    for (size_t k = 0; k < n; at += obs[k++].runs) describe(&obs[k], texts + at, scratch);
    wl_law_labels(texts, runs, ids, scratch);
    bool **is_copy = wl_new_array(scratch, bool *, n);
    for (size_t k = 0, begin = 0; k < n; begin += obs[k++].runs)
        is_copy[k] = find_copies(obs, k, texts + begin, ids + begin, first, scratch);
    for (size_t k = 0; k < n; k++) removed[k] = remove_runs(&obs[k], is_copy[k], scratch, a);
    wl_arena_free(scratch);
}
