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

/* The lines that are left of the screen, but for `later` ones and that of the prompt; SIZE_MAX: everything is printed.
 */
static inline size_t wl_screen_left(bool all, size_t later)
{
    if (!wl_screen_is_short(all)) return SIZE_MAX;
    const size_t used = wl_print_lines(WL_STDOUT) + later + 1, height = (size_t)wl_out_height(WL_STDOUT);
    return used < height ? height - used : 0;
}

/* Prints a table at the width of stdout; with `all` it continues below itself where it is wider. */
static inline void wl_screen_table(struct wl_table *t, bool all)
{
    t->whole = all;
    wl_table_print(t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

/* Lines for a table before `later` ones: a head and some rows, though the screen is full. SIZE_MAX: all. */
static inline size_t wl_screen_table_lines(bool all, size_t later)
{
    enum { LEAST = 9 };
    const size_t left = wl_screen_left(all, later);
    return left < LEAST ? LEAST : left;
}

/* The same with the last or the first rows, as many as the screen has lines for. Returns how many are left out. */
static inline size_t wl_screen_table_end(struct wl_table *t, bool all, size_t later)
{
    const size_t lines = wl_screen_table_lines(all, later);
    if (lines != SIZE_MAX) wl_table_skip_to_fit(t, wl_out_width(WL_STDOUT), lines);
    wl_screen_table(t, all);
    return t->skip;
}
static inline size_t wl_screen_table_begin(struct wl_table *t, bool all, size_t later)
{
    const size_t lines = wl_screen_table_lines(all, later);
    if (lines != SIZE_MAX) wl_table_cut_to_fit(t, wl_out_width(WL_STDOUT), lines);
    wl_screen_table(t, all);
    return t->cut;
}

#endif
