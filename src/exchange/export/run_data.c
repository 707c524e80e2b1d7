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
        const struct wl_amount part = wl_amount_between(v->energy_j, v->energy_lo_j, v->energy_hi_j, "J",
                                                        wl_provenance_of(v->estimated, v->simulated));
        if (any)
            wl_amount_add(&sum, &part);
        else
            sum = part;
        any = true;
    }
    return sum;
}

struct wl_amount wl_run_data_energy(const struct wl_run_row *r)
{
    return wl_amount_between(r->energy_j, r->energy_lo_j, r->energy_hi_j, "J",
                             wl_provenance_of(r->estimated, r->simulated));
}

const char *wl_run_data_provenance(bool estimated, bool simulated)
{
    const char *word = wl_provenance_word(wl_provenance_of(estimated, simulated));
    return *word ? word : "measured";
}
