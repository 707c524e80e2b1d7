/* Import and export of observations and samples. docs/formats.md describes each format. */
#ifndef WL_EXCHANGE_EXCHANGE_H
#define WL_EXCHANGE_EXCHANGE_H

#include "exchange/bundle/bundle.h"
#include "exchange/dcgm/dcgm.h"
#include "exchange/export/export.h"
#include "exchange/import/import.h"
#include "store/read.h"

#include <stdio.h>

/* Reads a CSV file with a header into an observation table.
 *
 * `map` renames columns: each entry is "canonical=column in the file". Columns that are neither canonical nor mapped
 * become `extra`. An empty field is missing. The separator is comma, semicolon or tab, whichever
 * is most frequent in the header (comma if the file cannot be read twice). time_s, energy_j or throughput
 * (work per second, instead of time_s: an epoch takes samples / throughput, or 1 / throughput) is required.
 *
 * WL_EINVAL names file, line, column and value: a field that is not a number, a flag other than 0 and 1, a row with
 * another number of fields than the header, a duplicate column, an invalid `map`. Values are not judged: the analysis
 * excludes those it cannot use (such as a negative time), with a note. */
int wl_obs_read_csv(const char *path, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

#endif
