/* Observation tables in and out of other files. docs/formats.md describes each format. */
#ifndef WL_EXCHANGE_EXCHANGE_H
#define WL_EXCHANGE_EXCHANGE_H

#include "base/base.h"

#include <stdio.h>

/* Reads a CSV file with a header into an observation table.
 *
 * `map` renames columns: each entry is "canonical=column in the file". Columns that are neither canonical nor mapped
 * become `extra`: numbers when every field that is not empty is one, else text. An empty field is missing. Columns
 * are separated by comma, semicolon or tab, whichever the header has most of. time_s must be there; negative times,
 * numbers that are none and flags other than 0 and 1 are errors that name file, line, column and value. */
int wl_obs_read_csv(const char *path, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* Writes the canonical columns, then the extra ones; missing is an empty field. Numbers round-trip. */
void wl_obs_write_csv(const struct wl_observations *obs, FILE *to);

/* JSON Lines: an object a row, missing fields left out. */
void wl_obs_write_jsonl(const struct wl_observations *obs, FILE *to);

#endif
