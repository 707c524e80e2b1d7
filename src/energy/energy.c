#include "energy/energy.h"

#include <math.h>

int64_t wl_max_gap_ns(double period_s)
{
    const int64_t least = WL_NS_PER_S / 4;
    int64_t three = (int64_t)(3 * period_s * WL_NS_PER_S);
    return three > least ? three : least;
}

double wl_energy_ratio(double counter_j, double integral_j)
{
    return isfinite(counter_j) && isfinite(integral_j) && integral_j != 0 ? counter_j / integral_j : NAN;
}

bool wl_energy_ratio_off(double ratio) { return isfinite(ratio) && fabs(ratio - 1) > WL_RATIO_LIMIT; }

/* ---- Which method counts ---- */

/* Is x better? A known energy first, then the narrower interval; of two unknown ones, the better coverage. */
static bool is_better(const struct wl_energy *x, const struct wl_energy *than)
{
    if (!than) return true;
    bool known = !isnan(x->energy_j), other = !isnan(than->energy_j);
    if (known != other) return known;
    return known ? x->hi_j - x->lo_j < than->hi_j - than->lo_j : x->coverage > than->coverage;
}

/* A counter includes what readings of power missed: an energy outside its bounds is wrong, however narrow its own
 * interval is (few readings that happen to be alike give a narrow one). */
static bool contradicts(const struct wl_energy *x, const struct wl_energy *counter)
{
    if (!counter || isnan(counter->energy_j)) return false;
    return x->energy_j < counter->lo_j || x->energy_j > counter->hi_j;
}

enum wl_energy_method wl_energy_choose(const struct wl_energy *counter, const struct wl_energy *integral,
                                       const struct wl_energy *combined)
{
    const struct wl_energy *of[] = { counter, integral, combined }, *best = NULL;
    enum wl_energy_method method = WL_ENERGY_BY_COUNTER;
    if (counter && !isnan(counter->energy_j) && counter->coverage == 1) return WL_ENERGY_BY_COUNTER;
    for (enum wl_energy_method m = WL_ENERGY_BY_COUNTER; m <= WL_ENERGY_COMBINED; m++) {
        if (!of[m] || contradicts(of[m], counter) || !is_better(of[m], best)) continue;
        best = of[m];
        method = m;
    }
    return method;
}

const char *wl_energy_method_name(enum wl_energy_method m)
{
    static const char *const names[] = { "counter", "integral", "combined" };
    return names[m];
}
