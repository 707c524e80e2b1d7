/* The part on computing and energy of the technical documentation of a general-purpose AI model: Regulation (EU)
 * 2024/1689, Annex XI, Section 1, point 2, letters (d) and (e). */
#include "report/forms/internal.h"

#include <math.h>

static const double J_PER_KWH = 3.6e6;

static void add_resources(const struct wl_form *f, const struct wl_form_sum *sum, struct wl_text *to)
{
    const char *operations = wl_field(f->fields, "floating_point_operations");
    wl_form_line(to, "## 2(d) Computational resources and training time\n");
    if (operations)
        wl_form_line(to, "- Floating-point operations: %s (given by the author, not measured)", operations);
    else
        wl_form_line(to, "- Floating-point operations: missing: wattlaw does not count them (--field "
                         "floating_point_operations=...)");
    wl_form_line(to, "- Hardware: %s", wl_form_plain(f, wl_form_hardware(f)));
    if (isfinite(sum->time_s))
        wl_form_line(to, "- Training time: %.6g h, sum over the runs (%s)", sum->time_s / 3600, wl_form_runs(f));
    else
        wl_form_line(to, "- Training time: missing: a run has no end");
    if (isfinite(sum->worker_hours))
        wl_form_line(to, "- Worker-hours: %.6g (%s)", sum->worker_hours, wl_form_runs(f));
    else
        wl_form_line(to, "- Worker-hours: missing: a run did not say how many workers it had");
    wl_form_line(to, "- When: %s\n", wl_form_period(f));
}

/* An amount that is neither estimated nor simulated says so, too: the Annex asks for "known or estimated". */
static const char *amount(const struct wl_amount *q, struct wl_arena *a)
{
    return wl_strf(a, "%s%s", wl_amount_text(q, a), q->from == WL_MEASURED ? ", measured" : "");
}

/* Of the devices, and with the power usage effectiveness of the site where it is known. */
static void add_energy(const struct wl_form *f, const struct wl_form_sum *sum, struct wl_text *to)
{
    const struct wl_report_footprint *p = f->g->options.footprint;
    const struct wl_amount kwh = wl_amount_times(&sum->energy, 1 / J_PER_KWH, "kWh");
    wl_form_line(to, "## 2(e) Energy consumption of the model\n");
    if (isnan(kwh.value)) {
        wl_form_line(to,
                     "- Training: missing: no run has an energy (%s). Where it is not known, point 2(e) allows an "
                     "estimate from the computational resources above",
                     wl_form_runs(f));
        return;
    }
    wl_form_line(to, "- Training, devices: %s (%s)", amount(&kwh, f->arena), wl_form_runs(f));
    for (size_t i = 0; i < sum->without.n; i++)
        wl_form_line(to, "- Missing in this sum: run %s, which has no energy", sum->without.v[i]);
    if (p && p->pue > 1) {
        const struct wl_amount site = wl_amount_times(&kwh, p->pue, "kWh");
        wl_form_line(to, "- Training, with the site's power usage effectiveness of %g: %s", p->pue,
                     amount(&site, f->arena));
    } else {
        wl_form_line(
            to, "- Training, with cooling and conversion: missing: the power usage effectiveness is not given (--pue)");
    }
    wl_form_line(to,
                 wl_form_has_imports(f)
                     ? "- Method: measured by %s; an interval, where there is one, is a 95 %% interval of the sensors' "
                       "errors"
                     : "- Method: readings of the devices' sensors by %s; the interval is a 95 %% interval of the "
                       "sensors' errors",
                 wl_form_meters(f));
    if (f->left_out) wl_form_line(to, "- Not counted: %s, which drew energy, too", wl_form_left_out(f));
    wl_form_line(to, "- Inference: missing: these runs are training");
}

int wl_form_ai_act(const struct wl_form *f, struct wl_text *to, struct wl_err *e)
{
    const struct wl_form_sum sum = wl_form_sum(f);
    (void)e;
    wl_form_line(to, "# Regulation (EU) 2024/1689, Annex XI, Section 1, point 2\n");
    wl_form_line(to, "Model: %s. The other points of the Annex are the provider's to write.\n",
                 wl_form_plain(f, wl_form_workloads(f)));
    add_resources(f, &sum, to);
    add_energy(f, &sum, to);
    return 0;
}
