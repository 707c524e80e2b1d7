/* What github-action-benchmark compares from commit to commit (github.com/benchmark-action/github-action-benchmark,
 * tool customSmallerIsBetter): an array of objects with name, unit, value, and optionally range and extra. A name is
 * the same as long as the settings are. */
#include "exchange/export/export.h"
#include "exchange/export/run_data.h"

#include "settings/settings.h"

#include <math.h>
#include <string.h>

/* The runs of one configuration. */
struct config {
    const char *name;
    const struct wl_run_row **runs;
    size_t n;
};

struct configs {
    struct config *v;
    size_t n, cap;
};

static struct configs configs_of(const struct wl_run_rows *runs, struct wl_arena *a)
{
    struct configs out = { 0 };
    for (size_t i = 0; i < runs->n; i++) {
        const char *name = wl_settings_text(&runs->v[i].set, a);
        size_t k = 0;
        while (k < out.n && strcmp(out.v[k].name, name) != 0) k++;
        if (k == out.n) {
            WL_GROW(a, out.v, out.n, out.cap);
            out.v[out.n++] =
                (struct config) { .name = name, .runs = wl_new_array(a, const struct wl_run_row *, runs->n) };
        }
        out.v[k].runs[out.v[k].n++] = &runs->v[i];
    }
    return out;
}

static double time_s(const struct wl_run_row *r) { return r->time_s; }
static double epoch_time_s(const struct wl_run_row *r) { return r->epoch_time_s; }
static double energy_j(const struct wl_run_row *r) { return r->energy_j; }

static const struct {
    const char *name, *unit;
    double (*value)(const struct wl_run_row *r);
    bool energy;
} measures[] = {
    { "time of a run", "s", time_s, false },
    { "time of an epoch", "s", epoch_time_s, false },
    { "energy of a run", "J", energy_j, true },
};

/* Mean and standard deviation over the runs that have a value. */
struct spread {
    double mean, sd;
    size_t n;
    enum wl_provenance from;
    struct wl_text runs;
};

static struct spread spread_of(const struct config *c, size_t measure, struct wl_arena *a)
{
    struct spread out = { .runs = WL_TEXT(a) };
    double squares = 0;
    for (size_t i = 0; i < c->n; i++) {
        const double v = measures[measure].value(c->runs[i]);
        if (!isfinite(v)) continue;
        const double off = v - out.mean;
        out.mean += off / (double)++out.n; /* Welford's recurrence */
        squares += off * (v - out.mean);
        if (measures[measure].energy) out.from |= wl_run_provenance(c->runs[i]);
        wl_text_addf(&out.runs, "%s%lld", out.runs.n ? ", " : "", (long long)c->runs[i]->id);
    }
    out.sd = out.n > 1 ? sqrt(squares / (double)(out.n - 1)) : NAN;
    return out;
}

static void add(struct wl_json *root, const struct config *c, size_t measure, struct wl_arena *a)
{
    const struct spread v = spread_of(c, measure, a);
    if (v.n == 0) return;
    struct wl_json *o = wl_json_add_object(root, NULL);
    wl_json_add_str(o, "name",
                    wl_strf(a, "%s: %s%s", *c->name ? c->name : "all runs", measures[measure].name,
                            wl_provenance_mark(v.from)));
    wl_json_add_str(o, "unit", measures[measure].unit);
    wl_json_add_real(o, "value", v.mean);
    if (!isnan(v.sd)) wl_json_add_str(o, "range", wl_strf(a, "± %.4g", v.sd));
    wl_json_add_str(o, "extra", wl_strf(a, "mean of %zu run%s: %s", v.n, v.n == 1 ? "" : "s", v.runs.s));
}

int wl_export_benchmark(const struct wl_export *x, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct configs configs = configs_of(x->runs, a);
    struct wl_json *root = wl_json_root_array(a);
    int rc = wl_fields_check(x->fields, (const char *const[]) { NULL }, "the format github-action-benchmark", e);
    for (size_t i = 0; i < configs.n; i++)
        for (size_t k = 0; k < WL_COUNT(measures); k++) add(root, &configs.v[i], k, a);
    if (rc == 0) fprintf(to, "%s\n", wl_json_printable(wl_json_text(root, 2, a), a));
    wl_arena_free(a);
    return rc;
}
