/* Curves of a two-phase device: time and power against a power cap or a clock.
 *
 * In a share a of the time at full clock the device is busy and draws pc (its power at full clock, without a cap); in
 * the rest it draws po. Static power s; at clock ratio f the busy phase draws s + (pc - s) f^k. Powers are in units of
 * the device's power limit (scale), caps c likewise.
 *   cap:   v = clip((c - s) / (pc - s), .001, 1), f = v^(1/k), speed = f; below the lowest clock fm the device skips
 *          cycles: speed = fm v / fm^k
 *   clock: speed = f = clock / top clock, or the clock that the power limit allows if that is less; v = f^k; the rest
 *          draws s + (po - s) v where po > s
 *   ln t = ln(a / speed + 1 - a),  P = [(a / speed)(s + (pc - s) v) + (1 - a) min(po, c)] / t */
#ifndef WL_ADVISE_CAP_CURVE_H
#define WL_ADVISE_CAP_CURVE_H

#include "advise/cap/cap.h"

struct wl_advise_cap_particle {
    double busy_power, busy_share, rest_power; /* pc, a, po */
    double static_power, exponent, min_clock;  /* s, k, fm */
};

/* All particles; those that differ in a and po alone follow each other, WL_ADVISE_CAP_ALIKE of them. */
enum { WL_ADVISE_CAP_ALIKE = 21 };
void wl_advise_cap_grid(struct wl_advise_cap_particle out[WL_ADVISE_CAP_PARTICLES]);

/* What the device does at cap / scale or clock / top: the same for particles that differ in a and po alone. */
struct wl_advise_cap_speed {
    double speed, dynamic; /* dynamic: v */
};
struct wl_advise_cap_speed wl_advise_cap_speed_at(const struct wl_advise_cap_particle *z, enum wl_advise_cap_kind kind,
                                                  double ratio);

/* ln t, relative to the full clock without a cap, and ln P (units of the scale). */
struct wl_advise_cap_point {
    double ln_t, ln_p;
};
struct wl_advise_cap_point wl_advise_cap_point_at(const struct wl_advise_cap_particle *z, enum wl_advise_cap_kind kind,
                                                  double ratio, struct wl_advise_cap_speed at);

#endif
