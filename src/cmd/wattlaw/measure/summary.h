/* The summary of a measured command, as text and JSON. */
#ifndef WL_CMD_WATTLAW_MEASURE_SUMMARY_H
#define WL_CMD_WATTLAW_MEASURE_SUMMARY_H

#include "campaign/campaign.h"
#include "cmd/wattlaw/footprint.h"
#include "cmd/wattlaw/rules.h"

/* Prints the summary of run `run` of the store at path `store` to stderr, since stdout is the command's. `attribute`:
 * the energy that comes first, job or machine. `limits`: of --stop-at, NULL: none. */
void wl_measure_print(const struct wl_run_result *r, int64_t run, const char *store, const char *attribute,
                      const struct wl_footprint *f, const struct wl_run_limits *limits, struct wl_arena *a);

/* The same as JSON (keys in docs/formats.md). `rules`: the result of --rules, NULL: not checked. */
struct wl_json *wl_measure_json(const struct wl_run_result *r, int64_t run, const char *store, const char *attribute,
                                const struct wl_footprint *f, const struct wl_rule_checks *rules, struct wl_arena *a);

#endif
