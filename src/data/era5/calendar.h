/* CF time units and dates. */
#ifndef WL_DATA_ERA5_CALENDAR_H
#define WL_DATA_ERA5_CALENDAR_H

#include "base/base.h"

/* Parses "hours since 1900-01-01 00:00:00" of a proleptic Gregorian calendar: a value v is v * *unit_s + *from_s
 * seconds since 1970. False: not such a text. */
bool wl_calendar_parse_units(const char *text, double *unit_s, int64_t *from_s);

/* "2020-01-31 18:00" */
char *wl_calendar_format(int64_t time_s, struct wl_arena *a);

#endif
