/* A build without ncurses. */
#include "cmd/wattlaw/top/internal.h"

static const char why[] = "this wattlaw was built without ncurses: --once and --json print the same";

const char *wl_top_terminal_unavailable(void) { return why; }

int wl_top_terminal_open(struct wl_top_terminal **out, bool color, struct wl_arena *a, struct wl_err *e)
{
    (void)out, (void)color, (void)a;
    return wl_fail(e, WL_EUNAVAIL, "%s", why);
}

void wl_top_terminal_size(const struct wl_top_terminal *t, size_t *width, size_t *height)
{
    (void)t, (void)width, (void)height;
}
void wl_top_terminal_draw(struct wl_top_terminal *t, const struct wl_top_screen *s) { (void)t, (void)s; }
enum wl_top_key wl_top_terminal_key(struct wl_top_terminal *t)
{
    (void)t;
    return WL_TOP_QUIT;
}
