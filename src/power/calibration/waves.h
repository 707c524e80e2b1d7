/* The square waves of load that reveal a sensor's response. */
#ifndef WL_POWER_CALIBRATION_WAVES_H
#define WL_POWER_CALIBRATION_WAVES_H

#include <stddef.h>

/* A train of square waves, on for half of each period. */
struct wl_wave {
    double period_s;
    int periods;
};

/* The waves for a sensor with that update period; returns how many, at most WL_MAX_WAVES. */
enum { WL_MAX_WAVES = 4 };
size_t wl_calibration_waves(double update_s, struct wl_wave *out);

#endif
