#include "power/calibration/waves.h"

#include "base/base.h"

#include <math.h>

/* Periods in units of the update period, and how many of them. Long ones show idle power, load power and lag; a period
 * that is not a multiple of the update period puts edges at all phases of it; one slightly below half of it makes the
 * mean over a window of a quarter vary the most. */
static const struct {
    double updates;
    int periods;
} trains[] = { { 7.3, 4 }, { 1.31, 24 }, { 0.45, 40 } };

/* And one long wave for sensors that show a 1 s mean. */
static const double LONG_S = 3, MIN_TRAIN_S = 1.2, MIN_PERIOD_S = 0.008;

size_t wl_calibration_waves(double update_s, struct wl_wave *out)
{
    size_t n = 0;
    out[n++] = (struct wl_wave) { LONG_S, 1 };
    for (size_t i = 0; i < WL_COUNT(trains); i++) {
        double period_s = fmax(MIN_PERIOD_S, trains[i].updates * update_s);
        int min_periods = (int)ceil(MIN_TRAIN_S / period_s);
        out[n++] = (struct wl_wave) { period_s, min_periods > trains[i].periods ? min_periods : trains[i].periods };
    }
    return n;
}
