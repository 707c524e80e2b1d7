/* A partition of rows that is refined column by column. */
#ifndef WL_LAW_SPLIT_H
#define WL_LAW_SPLIT_H

#include "law/partition.h"

struct wl_law_split {
    const struct wl_observations *obs;
    const struct wl_law_grouping *rule;
    struct wl_arena *a, *step; /* what lasts; arrays over rows of one step of the rule */
    size_t *part;              /* [rows] */
    size_t parts;
    struct wl_law_partition_cell *keys; /* [parts] the key of each part so far */
};

/* Frees the arrays of the step before. */
void wl_law_split_next_step(struct wl_law_split *s);

/* The texts of one column, row by row, until the next step. */
const char **wl_law_split_texts(const struct wl_law_split *s, const struct wl_obs_column *column);

/* The pairs (group, text) numbered in the order of their first rows, where group is one of the numbers in `of`. */
size_t wl_law_split_within(const struct wl_law_split *s, const size_t *of, const char *const *texts, size_t *ids);

/* Refines the partition by texts; rows whose name is NULL are not separated. The second form gives all rows one name.
 */
void wl_law_split_refine(struct wl_law_split *s, const char *const *names, const char *const *texts);
void wl_law_split_refine_all(struct wl_law_split *s, const char *name, const char *const *texts);

/* A setting that may follow the worker count: it separates the parts in which one worker count has several of it. */
void wl_law_split_where_several(struct wl_law_split *s, const char *name, const char *const *texts);

/* Two values among those that are known? Runs of an unknown choice (a store of an older version, a CSV with blanks)
 * join those of the one known value. Beside two known values they could belong to either: they are a group of their
 * own. A missing cap is a level, no cap. */
bool wl_law_split_values_vary(const char *const *texts, size_t n);

/* Separates rows of one worker count whose work differs in its kind or its amount (split_work.c). */
void wl_law_split_by_work(struct wl_law_split *s);

#endif
