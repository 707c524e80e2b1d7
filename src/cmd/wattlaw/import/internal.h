/* Parts of `wattlaw import`. */
#ifndef WL_CMD_WATTLAW_IMPORT_INTERNAL_H
#define WL_CMD_WATTLAW_IMPORT_INTERNAL_H

#include "cmd/cmd.h"
#include "exchange/exchange.h"

struct wl_import_options {
    const char *store, *as, *name, *timezone, *dates, *host, *from, *to, *start, *json_file;
    bool json, dry_run, each;
    double period_s;
    int64_t run;
    struct wl_strs columns, gpus, map, uuids;
    /* 0: unknown */
#define SETTING_COUNT(member, ...) int64_t member;
#include "settings/settings.def"
};

/* State of the command. */
struct wl_import_command {
    const struct wl_import_options *o;
    struct wl_strs files;
    struct wl_settings set;
    struct wl_import_opts options;
    struct wl_import im;
    struct wl_store *store;
    struct wl_run_row *rows; /* [im.n_runs]; NULL: dry run */
    struct wl_progress bar;
    double bytes, done; /* of the files that were named, where they are files */
    struct wl_arena *a;
};

static inline double wl_import_duration_s(const struct wl_import_run *run)
{
    return (double)(run->to_ns - run->from_ns) / WL_NS_PER_S;
}

/* What was imported, as text; what was left out goes to the log. */
void wl_import_print(const struct wl_import_command *im);

/* The same as JSON: printed with --json, written with --json-file. */
int wl_import_json(const struct wl_import_command *im, struct wl_err *e) WL_MUST_CHECK;

#endif
