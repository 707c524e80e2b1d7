/* Times as tools write them: dates and times of day of a place, to ns since 1970. */
#ifndef WL_EXCHANGE_IMPORT_TIMES_H
#define WL_EXCHANGE_IMPORT_TIMES_H

#include "exchange/import/lines.h"

struct wl_import;

/* A time zone: how far its clocks are ahead of UTC. */
struct wl_zone {
    const char *name;    /* of the time zone database; NULL: a fixed offset */
    int64_t offset_s;    /* of a fixed one */
    int64_t last_s;      /* UTC of the latest time; INT64_MIN: none yet */
    bool twice, assumed; /* there is a note about times that happen twice, and about times that are taken for UTC */
    struct wl_zone_quarter {
        int64_t local; /* number of the quarter of an hour since 1970, of local time */
        int n;         /* how many instants each of its times is: 0 where clocks skip it, 2 where they repeat it */
        int64_t offset_s[2]; /* the larger first: of the earlier instant */
    } latest;
};

/* "Europe/Berlin", "UTC", "+02:00"; NULL: UTC. WL_EUSAGE with "did you mean". */
int wl_zone_open(struct wl_zone *z, const char *name, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Local seconds since 1970 to UTC. 1: one instant; 2: clocks show this time twice: the earlier one is taken unless that
 * is more than ten seconds before the previous time; 0: clocks skip it. */
int wl_zone_utc(struct wl_zone *z, int64_t local_s, int64_t *utc_s);

/* The order of the numbers of a date. */
enum wl_date_order { WL_DATE_YMD, WL_DATE_DMY, WL_DATE_MDY };

/* "2026/11/20 10:00:00.123", "2025-10-07_09:38:40.617145", "11-13-2020 22:38:59.240": local seconds since 1970 and the
 * ns after them. Any of - / . between the numbers of the date, a blank, T or _ after it. *rest: what follows. False:
 * not a time, or a day that no calendar has. */
bool wl_time_parse(struct wl_slice s, enum wl_date_order order, int64_t *local_s, int64_t *ns, struct wl_slice *rest);

/* Such a time with what follows it: nothing (then it is of the zone), Z or an offset. False, and the line is rejected
 * with the reason; times that happen twice get a note. */
bool wl_import_time(struct wl_import *im, struct wl_zone *z, struct wl_slice s, enum wl_date_order order,
                    int64_t *t_ns);

#endif
