/* The parts of the command. */
#ifndef WL_CMD_WATTLAW_TOP_INTERNAL_H
#define WL_CMD_WATTLAW_TOP_INTERNAL_H

#include "cmd/wattlaw/campaign_status.h"
#include "cmd/wattlaw/top/top.h"

/* ---- campaigns.c ---- */

/* Follows a store, which is read anew when it has changed, for at most a twentieth of the time. */
struct wl_top_store;
struct wl_top_store *wl_top_store_new(const struct wl_opts_args *rest, struct wl_arena *a);

/* What it says now; valid until the next call. */
const struct wl_top_campaigns *wl_top_store_look(struct wl_top_store *s);
struct wl_json *wl_top_store_json(const struct wl_top_store *s, struct wl_arena *a); /* campaigns of status */

/* ---- terminal.c, terminal_absent.c ---- */

struct wl_top_terminal;
enum wl_top_key {
    WL_TOP_NO_KEY,
    WL_TOP_QUIT,
    WL_TOP_HELP,
    WL_TOP_SORT,
    WL_TOP_LONGER,
    WL_TOP_SHORTER,
    WL_TOP_UP,
    WL_TOP_DOWN,
    WL_TOP_PAGE_UP,
    WL_TOP_PAGE_DOWN,
    WL_TOP_HOME,
    WL_TOP_END,
    WL_TOP_RESIZED
};

/* Why nothing can be drawn in this build; NULL: it can. */
const char *wl_top_terminal_unavailable(void);

/* Takes the terminal over; it is as before when the arena is freed, and if this process dies by a signal that can be
 * caught. WL_EUNAVAIL: not a terminal that can be drawn on. */
int wl_top_terminal_open(struct wl_top_terminal **out, bool color, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
void wl_top_terminal_size(const struct wl_top_terminal *t, size_t *width, size_t *height);
void wl_top_terminal_draw(struct wl_top_terminal *t, const struct wl_top_screen *s);
enum wl_top_key wl_top_terminal_key(struct wl_top_terminal *t); /* that is waiting; WL_TOP_NO_KEY: none is */

#endif
