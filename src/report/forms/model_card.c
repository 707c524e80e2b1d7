/* The metadata co2_eq_emissions of a Hugging Face model card (huggingface.co/docs/hub/model-cards-co2): emissions in
 * grams of CO2, source, training_type, geographical_location, hardware_used. */
#include "report/forms/internal.h"

#include <math.h>
#include <string.h>

static const double J_PER_KWH = 3.6e6;

/* A text in double quotes, as YAML and JSON have it. */
static const char *quoted(const char *text, struct wl_arena *a)
{
    struct wl_json *array = wl_json_root_array(a);
    wl_json_add_str(array, NULL, text);
    const char *s = wl_json_printable(wl_json_text(array, 0, a), a);
    return wl_strndup(a, s + 1, strlen(s) - 2);
}

static void add_text(struct wl_text *to, const struct wl_form *f, const char *name, const char *value,
                     const char *missing)
{
    if (value)
        wl_form_line(to, "  %s: %s", name, quoted(value, f->arena));
    else
        wl_form_line(to, "  # %s: missing: %s", name, missing);
}

/* g CO2e of all runs; NAN: the intensity of one is unknown. */
static double grams(const struct wl_form *f, const struct wl_report_footprint *p)
{
    double sum = 0;
    for (size_t i = 0; i < f->runs.n; i++) {
        const struct wl_run_row *r = &f->runs.v[i];
        sum += r->energy_j / J_PER_KWH * p->pue * p->g_per_kwh(p->data, r->id);
    }
    return sum;
}

static int check(const struct wl_form *f, const struct wl_form_sum *sum, struct wl_err *e)
{
    const struct wl_report_footprint *p = f->g->options.footprint;
    if (!p || !p->carbon)
        return wl_fail(
            e, WL_EINVAL,
            "a model card needs a carbon intensity: --country, --carbon with --carbon-source, or --carbon-csv");
    if (sum->without.n)
        return wl_fail(e, WL_EINVAL,
                       "run %s has no energy, so that the sum of the emissions is unknown; --run takes one run",
                       sum->without.v[0]);
    return 0;
}

int wl_form_model_card(const struct wl_form *f, struct wl_text *to, struct wl_err *e)
{
    const struct wl_form_sum sum = wl_form_sum(f);
    const struct wl_report_footprint *p = f->g->options.footprint;
    int rc = check(f, &sum, e);
    if (rc) return rc;
    const double g = grams(f, p);
    const char *word = wl_form_provenance(sum.energy.from);
    if (isnan(g))
        return wl_fail(e, WL_EINVAL,
                       "the carbon intensity during one of the runs is unknown, so that the sum of the emissions is");
    wl_form_line(to, "---");
    wl_form_line(to, "# %s of %s, %s: the training of the model, if it is what these runs did.", wl_form_runs(f),
                 f->g->source, word);
    if (f->left_out) wl_form_line(to, "# Not counted: %s.", wl_form_left_out(f));
    wl_form_line(to, "co2_eq_emissions:");
    wl_form_line(to, "  emissions: %.6g", g);
    add_text(to, f, "source",
             wl_strf(f->arena, "%s: %.6g kWh of the devices (%s), PUE %g, %s; %s", wl_form_meters(f),
                     sum.energy.value / J_PER_KWH, word, p->pue, p->carbon, wl_form_runs(f)),
             "");
    add_text(to, f, "training_type", wl_field(f->fields, "training_type"),
             "--field training_type=pre-training or fine-tuning");
    add_text(to, f, "geographical_location", wl_field(f->fields, "geographical_location"),
             "--field geographical_location=...");
    add_text(to, f, "hardware_used", wl_form_hardware(f), "");
    wl_form_line(to, "---");
    return 0;
}
