/* What this node does now: the latest readings of its sensors, energy since the start, power limits, and who uses the
 * devices. For `wattlaw top`, `wattlaw exporter` and the metrics of a server; nothing is stored.
 *
 *     struct wl_live *live;
 *     wl_live_start(&live, &opts, a, e);
 *     const struct wl_live_view *view = wl_live_look(live, scratch);     never waits for a driver
 *     wl_live_metrics(view, WL_METRICS_OPENMETRICS, &text, scratch);
 *     wl_live_stop(live);
 */
#ifndef WL_LIVE_LIVE_H
#define WL_LIVE_LIVE_H

#include "live/metrics.h"
#include "live/node.h"

#endif
