/* Where analysis commands read from: a store, the folder of a campaign, or a CSV file. */
#ifndef WL_CMD_WATTLAW_ANALYSIS_H
#define WL_CMD_WATTLAW_ANALYSIS_H

#include "carbon/carbon.h"

/* Reads the observation table behind a path. `map` renames columns of a CSV ("canonical=column"); with a store it is
 * WL_EUSAGE. WL_EINVAL where the table is empty. */
int wl_analysis_read(const char *path, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* The same with this metric in place of the main one of a store where it was reported; NULL: nowhere. */
int wl_analysis_read_metric(const char *path, const struct wl_strs *map, const char *metric,
                            struct wl_observations *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The names of all metrics of a store, of which observations have one a row; none of a table. */
int wl_analysis_metrics(const char *path, struct wl_strs *names, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* What options do not give of carbon and cost is taken from a store's campaigns, see wl_cmd_footprint_of_store. */
int wl_analysis_footprint(const char *path, struct wl_footprint *f, struct wl_strs *notes, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* Adds the column carbon_g_per_kwh to the observations of a store: the intensity while each run went on. `notes` gets
 * the runs that the file does not cover. WL_EUSAGE where the path is a table, which tells no times of day. */
int wl_analysis_add_carbon(const char *path, const struct wl_carbon_intensity *grid, struct wl_observations *obs,
                           struct wl_strs *notes, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* What an analysis prints with --json, begun with the members wattlaw (version) and source. */
struct wl_json *wl_analysis_json(const char *path, struct wl_arena *a);

/* Option rows of every analysis command, over a struct `options` that has the fields map and json. */
#define WL_ANALYSIS_OPT_ROWS(options)                                                  \
    { .name = "map",                                                                   \
      .type = WL_LINES,                                                                \
      .offset = offsetof(options, map),                                                \
      .unit = "CANONICAL=COLUMN",                                                      \
      .help = "read a canonical column from a column of another name of a CSV file" }, \
    {                                                                                  \
        .name = "json", .type = WL_FLAG, .offset = offsetof(options, json),            \
        .help = "print the results as JSON (docs/formats.md)"                          \
    }

/* Of those that fit a law to runs: the fields by, response and drop_epochs. */
#define WL_FIT_OPT_ROWS(options)                                                                               \
    { .name = "by",                                                                                            \
      .type = WL_STRS,                                                                                         \
      .offset = offsetof(options, by),                                                                         \
      .help = "columns that separate groups (default: the settings that are held fixed)" },                    \
        { .name = "response",                                                                                  \
          .type = WL_CHOICE,                                                                                   \
          .offset = offsetof(options, response),                                                               \
          .def = "time_s",                                                                                     \
          .choices = "time_s|energy_j",                                                                        \
          .help = "response of the law: time or energy per epoch" },                                           \
    {                                                                                                          \
        .name = "drop-epochs", .type = WL_INT, .offset = offsetof(options, drop_epochs), .def = "1", .min = 0, \
        .max = 1e9, .help = "number of first epochs of each run to exclude as warm-up (one is always kept)"    \
    }

#endif
