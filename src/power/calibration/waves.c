/* Which square waves tell a sensor's habits. */
#include "power/calibration/waves.h"

#include "base/base.h"

#include <math.h>

/* Periods in units of the update period, and how many of them. Long ones show rest, load and lag; a period that is no
 * multiple of the updates puts edges everywhere between two of them; one of little less than half makes the mean over a
 * window of a quarter swing most. */
static const struct {
    double updates;
    int periods;
} trains[] = { { 7.3, 4 }, { 1.31, 24 }, { 0.45, 40 } };

/* Behind them one wave for sensors that show the mean of a second. */
static const double LONG_S = 3, LEAST_TRAIN_S = 1.2, SHORTEST_S = 0.008;

size_t wl_calibration_waves(double update_s, struct wl_wave *out)
{
    size_t n = 0;
    out[n++] = (struct wl_wave) { LONG_S, 1 };
    for (size_t i = 0; i < WL_COUNT(trains); i++) {
        double period_s = fmax(SHORTEST_S, trains[i].updates * update_s);
        int least = (int)ceil(LEAST_TRAIN_S / period_s);
        out[n++] = (struct wl_wave) { period_s, least > trains[i].periods ? least : trains[i].periods };
    }
    return n;
}
