/* DCGM's readings as devices, channels and samples of a run. The run's clock is the calendar: ns since 1970. */
#include "exchange/dcgm/dcgm.h"
#include "store/facts.h"

#include <math.h>

/* Separate from the devices that wattlaw itself reads, which keep their rows. */
static int store_device(struct wl_store *s, const struct wl_dcgm_device *d, int64_t *id, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_json *info = wl_json_root_object(a);
    int64_t number;
    wl_json_add_str(info, "uuid", d->uuid);
    if (d->driver) wl_json_add_str(info, "driver", d->driver);
    if (d->split) wl_json_add_str(info, "mig", "on");
    bool numbered = d->number && wl_str_to_int(d->number, &number) == 0;
    struct wl_device_row row = { .host = *d->host ? d->host : "unknown",
                                 .uuid = wl_strf(a, "dcgm:%s", d->uuid),
                                 .sensor = "dcgm",
                                 .number = numbered ? (double)number : NAN,
                                 .name = d->model,
                                 .info = wl_json_text(info, 0, a) };
    return wl_store_add_device(s, &row, id, e);
}

static int store_readings(struct wl_store *s, int64_t channel, const struct wl_dcgm_series *x, struct wl_err *e)
{
    enum { ROWS = 1024 };
    struct wl_sample_row rows[ROWS];
    int rc = 0;
    for (size_t i = 0, n; i < x->n && rc == 0; i += n) {
        for (n = 0; n < ROWS && i + n < x->n; n++)
            rows[n] = (struct wl_sample_row) { channel, x->v[i + n].t_ns, x->v[i + n].value };
        rc = wl_store_add_samples(s, rows, n, e);
    }
    return rc;
}

int wl_dcgm_store(struct wl_store *s, int64_t run, const struct wl_dcgm *d, struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < d->n_series && rc == 0; i++) {
        const struct wl_dcgm_series *x = &d->series[i];
        struct wl_channel_row row = { .run = run,
                                      .quantity = x->quantity,
                                      .unit = x->unit,
                                      .scope = "gpu",
                                      .variant = x->variant,
                                      .counter = x->counter,
                                      .update_s = NAN,
                                      .window_s = NAN,
                                      .delay_s = NAN,
                                      .power_limit_w = NAN };
        int64_t channel;
        rc = store_device(s, &d->devices[x->device], &row.device, a, e);
        if (rc == 0) rc = wl_store_add_channel(s, &row, &channel, e);
        if (rc == 0) rc = store_readings(s, channel, x, e);
    }
    return rc;
}
