/* Observation tables and readings in and out of other files. docs/formats.md describes each format. */
#ifndef WL_EXCHANGE_EXCHANGE_H
#define WL_EXCHANGE_EXCHANGE_H

#include "store/store.h"

#include <stdio.h>

/* Reads a CSV file with a header into an observation table.
 *
 * `map` renames columns: each entry is "canonical=column in the file". Columns that are neither canonical nor mapped
 * become `extra`. An empty field is missing. Fields are separated by comma, semicolon or tab, whichever the header
 * has most of (comma where the file cannot be read twice). time_s or energy_j must be there.
 *
 * WL_EINVAL names file, line, column and value: a field that is no number, a flag other than 0 and 1, a row with
 * another number of fields than the header, a column that stands twice, a broken `map`. Values are not judged: what
 * the analysis cannot use (a negative time, say) it leaves out and says so. */
int wl_obs_read_csv(const char *path, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* Writes the canonical columns, then the extra ones; missing is an empty field. Numbers keep every digit they need to
 * be read back as the same number. */
void wl_obs_write_csv(const struct wl_observations *obs, FILE *to);

/* JSON Lines: an object a row, missing fields left out. */
void wl_obs_write_jsonl(const struct wl_observations *obs, FILE *to);

/* Every reading of these runs as long CSV, a line a reading:
 * run,host,device,sensor,quantity,unit,scope,variant,estimated,simulated,t_s,value
 * t_s counts from the start of the run; a reading that failed has an empty value. */
int wl_samples_write_csv(struct wl_store *s, const struct wl_run_rows *runs, FILE *to,
                         struct wl_err *e) WL_MUST_CHECK;

#endif
