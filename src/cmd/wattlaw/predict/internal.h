/* What wattlaw predict found, as text and as JSON. */
#ifndef WL_CMD_WATTLAW_PREDICT_INTERNAL_H
#define WL_CMD_WATTLAW_PREDICT_INTERNAL_H

#include "cmd/wattlaw/points.h"
#include "law/law.h"

/* One group: its posterior and the forecasts at all points. */
struct wl_cmd_predicted {
    const struct wl_law_group *group;
    enum wl_law_response response;
    const char *figure; /* path; NULL: none */
    struct wl_law_posterior posterior;
    struct wl_law_forecast *at;
    struct wl_energy_parts parts;              /* of an energy: what explains it */
    struct wl_energy_parts_forecast *by_parts; /* [n]; NULL: no explanation */
    size_t n;
};

/* On stdout; `first`: no blank line before it; all: on a terminal too. */
void wl_cmd_predicted_print(const struct wl_cmd_predicted *p, bool first, bool all, struct wl_arena *a);

/* An object in `groups`; docs/formats.md describes the keys. points: what was asked for, also where it is refused. */
void wl_cmd_predicted_json(struct wl_json *groups, const struct wl_cmd_predicted *p, const struct wl_points *points);

#endif
