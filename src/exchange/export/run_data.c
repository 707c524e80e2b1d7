#include "exchange/export/run_data.h"

#include <math.h>

int wl_run_data_read(struct wl_store *s, const struct wl_run_row *run, struct wl_run_data *out, struct wl_arena *a,
                     struct wl_err *e)
{
    *out = (struct wl_run_data) { .run = run };
    int rc = wl_store_epochs(s, run->id, &out->epochs, a, e);
    if (rc == 0) rc = wl_store_energies(s, run->id, &out->energies, a, e);
    if (rc == 0) rc = wl_store_devices(s, run->id, &out->devices, a, e);
    if (rc == 0) rc = wl_store_metrics(s, run->id, &out->metrics, a, e);
    if (rc == 0) rc = wl_store_metric_defs(s, 0, run->id, &out->defs, a, e);
    if (rc == 0) rc = wl_store_spans(s, run->id, &out->spans, a, e);
    return rc;
}

int wl_run_data_read_all(struct wl_store *s, const struct wl_run_rows *runs, struct wl_run_data **out,
                         struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    *out = wl_new_array(a, struct wl_run_data, runs->n);
    for (size_t i = 0; rc == 0 && i < runs->n; i++) rc = wl_run_data_read(s, &runs->v[i], &(*out)[i], a, e);
    return rc;
}

const struct wl_device_row *wl_run_data_device(const struct wl_run_data *d, int64_t id)
{
    for (size_t i = 0; i < d->devices.n; i++)
        if (d->devices.v[i].id == id) return &d->devices.v[i];
    return NULL;
}

struct wl_amount wl_run_data_epoch_energy(const struct wl_run_data *d, int64_t epoch)
{
    struct wl_amount sum = wl_amount_between(NAN, NAN, NAN, "J", WL_MEASURED);
    bool any = false;
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        if (!v->chosen || v->epoch != (double)epoch) continue;
        const struct wl_amount part =
            wl_amount_between(v->energy_j, v->energy_lo_j, v->energy_hi_j, "J", wl_run_data_from(d, v));
        if (any)
            wl_amount_add(&sum, &part);
        else
            sum = part;
        any = true;
    }
    return sum;
}

double wl_run_data_epoch_idle(const struct wl_run_data *d, int64_t epoch)
{
    double sum = NAN;
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        if (!v->chosen || v->epoch != (double)epoch) continue;
        if (isnan(v->idle_j)) return NAN;
        sum = isnan(sum) ? v->idle_j : sum + v->idle_j;
    }
    return sum;
}

const struct wl_span_row *wl_run_data_steps(const struct wl_run_data *d)
{
    for (size_t i = 0; i < d->spans.n && d->epochs.n == 0; i++)
        if (wl_str_eq(d->spans.v[i].kind, WL_SPAN_STEPS)) return &d->spans.v[i];
    return NULL;
}

struct wl_amount wl_run_data_energy(const struct wl_run_row *r)
{
    return wl_amount_between(r->energy_j, r->energy_lo_j, r->energy_hi_j, "J", wl_run_provenance(r));
}

enum wl_provenance wl_run_data_from(const struct wl_run_data *d, const struct wl_energy_row *v)
{
    return wl_provenance_of(v->estimated, v->simulated) | (d->run->source ? WL_IMPORTED : WL_MEASURED);
}

const char *wl_run_data_provenance(enum wl_provenance from)
{
    const char *word = wl_provenance_word(from);
    return *word ? word : "measured";
}
