/* The levels of a factor: the rows of each, its law, and what the devices did at it. */
#include "law/factor/levels.h"

#include "law/factor/same_work.h"
#include "law/fit/estimate.h"
#include "law/fit/notes.h"
#include "law/fit/runs.h"
#include "law/fit/speedup.h"
#include "law/labels.h"

#include <math.h>
#include <stdlib.h>

static const struct wl_setting *cap_setting(const char *name)
{
    const struct wl_setting *r = wl_setting_find(name);
    return r && r->is_cap ? r : NULL;
}

bool wl_factor_is_cap(const char *factor) { return cap_setting(factor) != NULL; }

static int by_value(const void *p, const void *q)
{
    return wl_law_partition_compare(((const struct wl_law_partition_cell *)p)->key->value,
                                    ((const struct wl_law_partition_cell *)q)->key->value);
}

/* The texts of the factor at the rows of a group; neighbours of the same number share theirs. */
static const char **texts_of(const struct wl_law_partition_cell *part, const struct wl_obs_column *column,
                             struct wl_arena *a)
{
    const char **texts = wl_new_array(a, const char *, part->n);
    const double *v = column->real;
    for (size_t i = 0; i < part->n; i++) {
        const bool again = v && i && v[part->rows[i]] == v[part->rows[i - 1]];
        texts[i] = again ? texts[i - 1] : wl_obs_text(column, part->rows[i], a);
    }
    return texts;
}

/* Splits the rows of a group by the texts of the factor. */
static struct wl_law_partition_cells split(const struct wl_law_partition_cell *part, const struct wl_obs_column *column,
                                           struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    const char **texts = texts_of(part, column, scratch);
    size_t *ids = wl_new_array(scratch, size_t, part->n);
    struct wl_law_partition_cells out = { .n = wl_law_labels(texts, part->n, ids, scratch) };
    out.v = wl_new_array(a, struct wl_law_partition_cell, out.n);
    size_t *rows = wl_new_array(a, size_t, part->n), *sizes = wl_new_array(scratch, size_t, out.n);
    for (size_t i = 0; i < part->n; i++) sizes[ids[i]]++;
    for (size_t i = 0; i < part->n; i++) {
        struct wl_law_partition_cell *to = &out.v[ids[i]];
        if (!to->rows) {
            to->rows = rows;
            rows += sizes[ids[i]];
            to->key = wl_new(a, struct wl_law_key);
            *to->key = (struct wl_law_key) { column->name, wl_strdup(a, texts[i]) };
            to->n_key = 1;
        }
        to->rows[to->n++] = part->rows[i];
    }
    qsort(out.v, out.n, sizeof *out.v, by_value);
    wl_arena_free(scratch);
    return out;
}

/* NAN where the table has no such column of numbers, or these rows have no value in it. */
static double mean_of(const struct wl_observations *obs, const struct wl_law_partition_cell *part, const char *name)
{
    struct wl_obs_column column;
    struct wl_err none;
    double sum = 0, n = 0;
    if (wl_obs_find(obs, name, &column, &none) < 0 || !column.real) return NAN;
    for (size_t i = 0; i < part->n; i++) {
        double v = column.real[part->rows[i]];
        if (isnan(v)) continue;
        sum += v;
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

static struct wl_factor_achieved achieved_by(const struct wl_observations *obs,
                                             const struct wl_law_partition_cell *part)
{
    const struct wl_setting *cap = cap_setting(part->key->column);
    struct wl_factor_achieved out = { .power_capped_pct = mean_of(obs, part, "power_capped_pct"),
                                      .caps_acted_pct = cap ? mean_of(obs, part, cap->acted) : NAN };
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_cap(r));)
        out.clock[r->cap] = r->achieved ? mean_of(obs, part, r->achieved) : NAN;
    return out;
}

static void read_level(struct wl_factor_level *level, const struct wl_law_partition_cell *part,
                       const struct wl_observations *obs, const struct wl_law_options *options, struct wl_arena *a)
{
    level->value = *part->key->value ? part->key->value : "uncapped";
    level->offset = level->offset_se = NAN;
    level->achieved = achieved_by(obs, part);
    wl_law_collect_runs(&level->law, obs, part, options, a);
}

static void fit_levels(struct wl_factor_group *g, struct wl_arena *a)
{
    for (size_t l = 0; l < g->n_levels; l++) {
        struct wl_factor_level *level = &g->levels[l];
        wl_law_collect_configs(&level->law, a);
        wl_law_estimate_choose(&level->law, a);
        level->reason = level->law.no_law_reason;
        g->compared += !level->reason;
    }
}

/* Where some levels have a law. */
static void note_levels_without_law(struct wl_factor_group *g, const char *factor, struct wl_arena *a)
{
    for (size_t l = 0; g->compared && l < g->n_levels; l++)
        if (g->levels[l].reason)
            wl_strs_addf(a, &g->notes, "%s %s is not compared: %s", factor, g->levels[l].value, g->levels[l].reason);
}

void wl_factor_collect_levels(struct wl_factor_group *g, const struct wl_law_partition_cell *part,
                              const struct wl_observations *obs, const struct wl_obs_column *column,
                              const struct wl_factor_options *options, struct wl_arena *a)
{
    struct wl_law_partition_cells parts = split(part, column, a);
    g->levels = wl_new_array(a, struct wl_factor_level, parts.n);
    for (size_t i = 0; i < parts.n; i++) {
        if (!*parts.v[i].key->value && !wl_factor_is_cap(column->name)) {
            wl_strs_addf(a, &g->notes, "excluded: %s",
                         wl_law_count_text(a, parts.v[i].n,
                                           wl_strf(a, "row without %s|rows without %s", column->name, column->name)));
            continue;
        }
        struct wl_factor_level *level = &g->levels[g->n_levels++];
        read_level(level, &parts.v[i], obs, &options->law, a);
        g->estimated |= level->law.estimated;
        g->simulated |= level->law.simulated;
        if (level->achieved.caps_acted_pct <= 0)
            wl_strs_addf(a, &g->notes, "%s %s never acted: no device came near its limit", column->name, level->value);
    }
    wl_factor_make_work_equal(g, a);
    fit_levels(g, a);
    note_levels_without_law(g, column->name, a);
}
