/* Any bytes as one of the small files that are read back between runs: intensities and prices of electricity,
 * calibrations of sensors, choices of algorithms. Each reader takes it or refuses it with a message; what was taken
 * reads back alike.
 */
#include "fuzz.h"

#include "carbon/carbon.h"
#include "nn/choices/internal.h"
#include "power/power.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_steps(const struct wl_grid_steps *s, struct wl_arena *a)
{
    int64_t until;
    double *mean = wl_new_array(a, double, s->n);
    WL_CHECK(s->n >= 2 && s->usual_ns > 0);
    wl_grid_steps_means(s, (double)s->usual_ns / WL_NS_PER_S, mean, a);
    for (size_t i = 0; i < s->n; i++) {
        WL_CHECK(i == 0 || s->t_ns[i] > s->t_ns[i - 1]);
        const double here = wl_grid_steps_at(s, s->t_ns[i], &until);
        WL_CHECK(here == s->v[i] || (isnan(here) && isnan(s->v[i])));
        WL_CHECK(isnan(mean[i]) || fabs(mean[i]) < 1e6);
    }
    WL_CHECK(isnan(wl_grid_steps_at(s, s->t_ns[0] - 1, &until)));
}

static void intensity(const char *path, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    struct wl_carbon_intensity g;
    if (wl_carbon_intensity_read(path, &g, a, &e) < 0) {
        WL_CHECK(*e.msg);
        return;
    }
    check_steps(&g.steps, a);
}

static void prices(const char *path, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    struct wl_grid_steps s;
    const char *currency = NULL;
    if (wl_grid_price_read(path, &s, &currency, a, &e) < 0)
        WL_CHECK(*e.msg);
    else
        check_steps(&s, a);
}

static void calibrations(const char *path, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    struct wl_calibrations all;
    if (wl_calibrations_read(path, &all, a, &e) < 0) {
        WL_CHECK(*e.msg);
        return;
    }
    for (size_t i = 0; i < all.n; i++) {
        double seen = wl_calibration_duty_cycle(&all.v[i]);
        WL_CHECK(seen > 0 && seen <= 1);
    }
}

static void choices(const char *path, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    struct wl_choices *c = wl_choices_new(a), *again = wl_choices_new(a);
    if (wl_choices_load(c, path, &e) < 0) {
        WL_CHECK(*e.msg && c->n == 0);
        return;
    }
    const char *text = wl_choices_text(c, a);
    WL_CHECK(wl_choices_parse(again, text, "again", &e) == 0 && again->n == c->n);
    WL_CHECK(wl_str_eq(wl_choices_text(again, a), text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int fd = memfd_create("kept", 0);
    WL_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    const char *path = wl_strf(a, "/proc/self/fd/%d", fd);
    intensity(path, a);
    prices(path, a);
    calibrations(path, a);
    choices(path, a);
    close(fd);
    wl_arena_free(a);
    return 0;
}
