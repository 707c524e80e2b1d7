#include "tune/outcome.h"

#include <math.h>

static const double Z95 = 1.959964; /* half the width of a 95 % interval, in standard deviations */

struct sums {
    double time_s, energy_j, lo_j, hi_j;
    const char *why; /* why an energy is not known; NULL: all are */
    bool any, estimated, simulated;
};

/* Adds the energies that count of an epoch; NAN: of the whole run. */
static void add_energies(struct sums *s, const struct wl_tune_rows *rows, double epoch)
{
    for (size_t i = 0; i < rows->n_energies; i++) {
        const struct wl_energy_row *r = &rows->energies[i];
        bool same = isnan(epoch) ? isnan(r->epoch) : r->epoch == epoch;
        if (!r->chosen || !same) continue;
        s->energy_j += r->energy_j;
        s->lo_j += r->energy_lo_j;
        s->hi_j += r->energy_hi_j;
        if (isnan(r->energy_j) && !s->why) s->why = r->why ? r->why : "too few readings";
        s->any = true;
        s->estimated |= r->estimated;
        s->simulated |= r->simulated;
    }
}

static int finish(const struct sums *s, double work, size_t n_devices, struct wl_tune_window *out, struct wl_err *e)
{
    if (s->time_s > 0) out->t_s = s->time_s / work;
    if (!s->any) return wl_fail(e, WL_EINVAL, "no sensor measures the power of the devices that are capped");
    if (s->why || !(s->energy_j > 0) || !(s->time_s > 0))
        return wl_fail(e, WL_EINVAL, "its energy is not known: %s", s->why ? s->why : "it is not above 0");
    out->estimated = s->estimated;
    out->simulated = s->simulated;
    out->p_w = s->energy_j / s->time_s / (double)n_devices;
    out->sd_p = (s->hi_j - s->lo_j) / (2 * Z95 * s->energy_j);
    return 0;
}

int wl_tune_outcome_of_window(const struct wl_tune_rows *rows, size_t n_devices, struct wl_tune_window *out,
                              struct wl_err *e)
{
    struct sums s = { 0 };
    if (rows->n_epochs != 1 || !(rows->epochs[0].updates > 0))
        return wl_fail(e, WL_EINVAL, "not a window: it has %zu epochs", rows->n_epochs);
    out->per = "step";
    s.time_s = rows->epochs[0].time_s;
    add_energies(&s, rows, (double)rows->epochs[0].epoch);
    return finish(&s, rows->epochs[0].updates, n_devices, out, e);
}

int wl_tune_outcome_of_run(const struct wl_tune_rows *rows, size_t n_devices, struct wl_tune_window *out,
                           struct wl_err *e)
{
    struct sums s = { 0 };
    size_t from = rows->n_epochs > 1;
    for (size_t i = from; i < rows->n_epochs; i++) {
        s.time_s += rows->epochs[i].time_s;
        add_energies(&s, rows, (double)rows->epochs[i].epoch);
    }
    if (rows->n_epochs == 0) {
        s.time_s = rows->time_s;
        add_energies(&s, rows, NAN);
    }
    out->is_whole = true;
    out->per = rows->n_epochs ? "epoch" : "run";
    return finish(&s, rows->n_epochs ? (double)(rows->n_epochs - from) : 1, n_devices, out, e);
}

int wl_tune_outcome_until(const struct wl_tune_rows *rows, int64_t epoch, struct wl_tune_window *out, struct wl_err *e)
{
    struct sums s = { 0 };
    for (size_t i = 0; i < rows->n_epochs && epoch; i++) {
        if (rows->epochs[i].epoch > epoch) continue;
        s.time_s += rows->epochs[i].time_s;
        add_energies(&s, rows, (double)rows->epochs[i].epoch);
    }
    if (rows->n_epochs == 0 || epoch == 0) {
        s.time_s = rows->time_s;
        add_energies(&s, rows, NAN);
    }
    out->is_whole = true;
    return finish(&s, 1, 1, out, e);
}
