/* One screen for the result of a command: on a terminal its answer first, in about 24 lines; the rest with --all.
 * Programs and files get everything (ADR 139). */
#ifndef WL_CMD_WATTLAW_SCREEN_H
#define WL_CMD_WATTLAW_SCREEN_H

#include "base/base.h"

/* Row for a struct with the field `all`. */
#define WL_ALL_OPT_ROW(options)                                                          \
    {                                                                                    \
        .name = "all", .type = WL_FLAG, .offset = offsetof(options, all),                \
        .help = "print all details and columns on a terminal too, instead of one screen" \
    }

/* Whether stdout gets one screen instead of everything. */
static inline bool wl_screen_is_short(bool all) { return !all && wl_out_width(WL_STDOUT) > 0; }

/* Prints what --all would add: "(--all adds curves, quality of the fit)". */
static inline void wl_screen_print_rest(const char *what) { wl_print("\n(--all adds %s)\n", what); }

/* Prints a table at the width of stdout; with `all` it continues below itself where it is wider. */
static inline void wl_screen_table(struct wl_table *t, bool all)
{
    t->whole = all;
    wl_table_print(t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

#endif
