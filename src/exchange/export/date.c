/* The time of an export. */
#include "exchange/export/export.h"

#include <stdlib.h>

int64_t wl_export_now_ns(void)
{
    const char *given = getenv("SOURCE_DATE_EPOCH");
    int64_t seconds;
    if (given && wl_str_to_int(given, &seconds) == 0 && seconds >= 0 && seconds < (INT64_MAX / WL_NS_PER_S))
        return seconds * WL_NS_PER_S;
    return wl_wall_ns();
}

char *wl_export_date(int64_t wall_ns, struct wl_arena *a)
{
    const char *iso = wl_clock_iso(a, wall_ns);
    return wl_strf(a, "%.10s %.8s", iso, iso + 11);
}
