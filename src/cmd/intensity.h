/* Carbon intensity of the electricity over time, from a CSV file, and what it was while a run went on. */
#ifndef WL_CMD_INTENSITY_H
#define WL_CMD_INTENSITY_H

#include "store/store.h"

/* Steps: value i holds from t_ns[i] until the next row, at most 1.5 times the usual (median) spacing of the rows. */
struct wl_intensity {
    const char *path, *column; /* of the intensity */
    bool marginal;             /* else an average */
    int64_t *t_ns;             /* wall clock, ns since 1970 */
    double *g_per_kwh;         /* NAN: the field is empty */
    size_t n;
    int64_t usual_ns;
};

/* Reads a file with a column of times and one of intensities, known by their names (docs/formats.md): exports of
 * Electricity Maps and WattTime, or plain ones. WL_EINVAL names file:line. */
int wl_intensity_read(const char *path, struct wl_intensity *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* g CO2e a kWh over the run, its steps weighted by the energy drawn in each; NAN where a part of the run lies outside
 * the file, *why tells which. */
int wl_intensity_of_run(const struct wl_intensity *grid, struct wl_store *s, int64_t run, double *g_per_kwh,
                        const char **why, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
