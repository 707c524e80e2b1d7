/* Any text as a plan file, as a hardware card and as a workload card: refused with a message, or read. What was read is
 * evaluated: times and energies are positive or missing, and a time is missing only where the plan names a number. */
#include "fuzz.h"

#include "planner/planner.h"

#include <math.h>

enum { SECTIONS = 4, COUNTS = 3, DRAWS = 100, CONSTANTS = 30 };

static bool is_known_or_missing(double v) { return isnan(v) || (v > 0 && isfinite(v)); }

static void check_point(const struct wl_planner_case *c, const struct wl_planner_setting *at, struct wl_arena *a)
{
    const struct wl_planner_point p = wl_planner_evaluate(c, at);
    WL_CHECK(is_known_or_missing(p.epoch_s) && is_known_or_missing(p.energy_j) && is_known_or_missing(p.power_w));
    WL_CHECK(isnan(p.busy) || (p.busy >= 0 && p.busy <= 1 + 1e-9));
    WL_CHECK(p.steps >= 1 && p.nodes >= 1);
    if (!wl_planner_missing(c, at, false, a) && wl_planner_divides(c, at))
        WL_CHECK(!isnan(p.epoch_s) || !p.at.enforceable);
    WL_CHECK(fabs(wl_planner_identity(at, &p, at, &p)) < 1e-9 || isnan(p.energy_j));
}

/* Without a setting, under the first cap and under the first lock. */
static void check_settings(const struct wl_planner_plan *p, const struct wl_planner_case *c, double workers,
                           struct wl_arena *a)
{
    struct wl_planner_setting at = wl_planner_setting_of(workers);
    check_point(c, &at, a);
    if (p->power_caps.n) at.cap_w = p->power_caps.v[0];
    check_point(c, &at, a);
    at.cap_w = NAN;
    if (p->clocks.n) at.clock_mhz = p->clocks.v[0];
    check_point(c, &at, a);
}

static void check_bands(struct wl_planner_plan *p, struct wl_arena *a)
{
    struct wl_planner_forecast f = { .at = wl_planner_setting_of(64) };
    struct wl_planner_posterior q;
    struct wl_err e = { 0 };
    p->draws = DRAWS;
    if (wl_planner_parameters_of(p, 0, true, a).n > CONSTANTS) return;
    if (wl_planner_calibrate(p, 0, NULL, &q, a, &e) < 0) {
        WL_CHECK(*e.msg);
        return;
    }
    wl_planner_forecast(&q, &f, 1, a);
    WL_CHECK(isnan(f.time_s.value) || f.time_s.lo <= f.time_s.hi);
}

static void check_plan(struct wl_planner_plan *p, struct wl_arena *a)
{
    WL_CHECK(p->n_machines && p->n_workloads && p->n_frameworks);
    for (size_t m = 0; m < p->n_machines && m < SECTIONS; m++)
        for (size_t w = 0; w < p->n_workloads && w < SECTIONS; w++) {
            const struct wl_planner_case c = wl_planner_case_of(p, m, w);
            const struct wl_ints counts = p->workloads[w].workers;
            for (size_t i = 0; i < counts.n && i < COUNTS; i++) {
                WL_CHECK(i == 0 || counts.v[i] > counts.v[i - 1]);
                check_settings(p, &c, (double)counts.v[i], a);
            }
            check_settings(p, &c, 1024, a);
            check_settings(p, &c, 1e7, a);
        }
    check_bands(p, a);
}

static void check_cards(const char *text, struct wl_arena *a)
{
    struct wl_err e = { 0 }, f = { 0 };
    struct wl_hardware_card c;
    struct wl_planner_workload w = { .samples = NAN, .local_batch = NAN, .parameters = NAN, .gflop = NAN };
    int rc = wl_hardware_card_parse("card.json", text, &c, a, &e);
    WL_CHECK(rc == 0 ? isnan(c.devices_per_node) || (c.devices_per_node >= 1 && c.devices_per_node <= 1024) : *e.msg);
    rc = wl_planner_workload_card_parse("net.json", text, &w, a, &f);
    WL_CHECK(rc == 0 ? w.local_batch >= 1 && w.parameters >= 1 : *f.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *text = wl_strndup(a, (const char *)data, n);
    struct wl_planner_plan p;
    struct wl_err e = { 0 };
    if (n && data[0] == '{')
        check_cards(text, a);
    else if (wl_planner_parse("/proc/nowhere/plan.ini", text, "/proc/nowhere", &p, a, &e) ==
             0) /* built-in cards alone */
        check_plan(&p, a);
    else
        WL_CHECK(*e.msg);
    wl_arena_free(a);
    return 0;
}
