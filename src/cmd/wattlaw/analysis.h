/* Input of the analysis commands: a store, the folder of a campaign, or a CSV file. */
#ifndef WL_CMD_WATTLAW_ANALYSIS_H
#define WL_CMD_WATTLAW_ANALYSIS_H

#include "carbon/carbon.h"
#include "law/law.h"

/* Is it a store or the folder of a campaign, and not a CSV file? */
bool wl_analysis_is_store(const char *path);

/* Reads the observation table at `path`. `map` renames columns of a CSV file ("canonical=column"); with a store it is
 * WL_EUSAGE. An empty table is WL_EINVAL. */
int wl_analysis_read(const char *path, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* As wl_analysis_read, with `metric` instead of a store's main metric in runs that report it; NULL: the main one. */
int wl_analysis_read_metric(const char *path, const struct wl_strs *map, const char *metric,
                            struct wl_observations *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The names of all metrics of a store (a row of observations has one of them); empty for a CSV file. */
int wl_analysis_metrics(const char *path, struct wl_strs *names, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Fills in carbon and cost settings that no option gives from a store's campaigns, see wl_cmd_footprint_of_store. */
int wl_analysis_footprint(const char *path, struct wl_footprint *f, struct wl_strs *notes, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* Adds the column carbon_g_per_kwh to the observations of a store: the mean intensity during each run. `notes` gets the
 * runs that the file does not cover. WL_EUSAGE for a CSV file, which has no times of day. */
int wl_analysis_add_carbon(const char *path, const struct wl_carbon_intensity *grid, struct wl_observations *obs,
                           struct wl_strs *notes, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Adds the columns peak_power_w and peak_memory_bytes to the observations of a store (wl_store_peaks). A CSV file has
 * its own. */
int wl_analysis_add_peaks(const char *path, struct wl_observations *obs, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* The root object of --json output, with the members wattlaw (version) and source. */
struct wl_json *wl_analysis_json(const char *path, struct wl_arena *a);

/* The words of the command of a run of a store, by its label in the observations; n 0: not known, or it names files or
 * a launcher of that run alone. */
struct wl_strs wl_analysis_command(const char *path, const char *run, struct wl_arena *a);

/* Option rows of every analysis command, over a struct `options` that has the fields map and json. */
#define WL_ANALYSIS_OPT_ROWS(options)                                                                  \
    { .name = "map",                                                                                   \
      .type = WL_LINES,                                                                                \
      .offset = offsetof(options, map),                                                                \
      .unit = "CANONICAL=COLUMN",                                                                      \
      .help = "read a canonical column from a column of another name of a CSV file (default: none)" }, \
    {                                                                                                  \
        .name = "json", .type = WL_FLAG, .offset = offsetof(options, json),                            \
        .help = "print the results as JSON (docs/formats.md)"                                          \
    }

/* Row for a struct with the field `exclude_busy`. */
#define WL_EXCLUDE_BUSY_OPT_ROW(options)                                                    \
    {                                                                                       \
        .name = "exclude-busy", .type = WL_FLAG, .offset = offsetof(options, exclude_busy), \
        .help = "exclude runs that were measured on a busy machine"                         \
    }

/* Option row of the work of a law (wl_law_per_work), and the rows of the commands that fit a law to runs: the fields
 * work, by, response, drop_epochs and exclude_busy. */
#define WL_WORK_OPT_ROW(options)                                                                      \
    {                                                                                                 \
        .name = "work", .type = WL_CHOICE, .offset = offsetof(options, work), .def = "epochs",        \
        .choices = WL_LAW_WORK_CHOICES,                                                               \
        .help = "work that times and energies are of: an epoch (or run without epochs), 1000 steps, " \
                "10^6 samples or 10^9 tokens"                                                         \
    }

#define WL_FIT_OPT_ROWS(options)                                                                     \
    WL_WORK_OPT_ROW(options),                                                                        \
        { .name = "by",                                                                              \
          .type = WL_STRS,                                                                           \
          .offset = offsetof(options, by),                                                           \
          .help = "columns that separate groups (default: the settings that are held fixed)" },      \
        { .name = "response",                                                                        \
          .type = WL_CHOICE,                                                                         \
          .offset = offsetof(options, response),                                                     \
          .def = "time_s",                                                                           \
          .choices = "time_s|energy_j",                                                              \
          .help = "response of the law: time or energy per epoch" },                                 \
        { .name = "drop-epochs",                                                                     \
          .type = WL_INT,                                                                            \
          .offset = offsetof(options, drop_epochs),                                                  \
          .def = "1",                                                                                \
          .min = 0,                                                                                  \
          .max = 1e9,                                                                                \
          .help = "number of first epochs of each run to exclude as warm-up (one is always kept)" }, \
        WL_EXCLUDE_BUSY_OPT_ROW(options)

#endif
