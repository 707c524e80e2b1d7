#include "exchange/export/export.h"

#include <math.h>

/* The constant part of all lines of a channel, with commas. */
static char *line_head(const struct wl_channel_row *c, const struct wl_device_row *d, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    const char *const fields[] = { d->host, d->uuid, d->sensor, c->quantity, c->unit, c->scope, c->variant };
    wl_text_addf(&t, "%lld", (long long)c->run);
    for (size_t i = 0; i < WL_COUNT(fields); i++) {
        wl_text_add(&t, ",");
        wl_csv_put(&t, fields[i]);
    }
    wl_text_addf(&t, ",%d,%d", c->estimated, c->simulated);
    return t.s;
}

static const struct wl_device_row *device_of(const struct wl_device_rows *devices, int64_t id)
{
    for (size_t i = 0; i < devices->n; i++)
        if (devices->v[i].id == id) return &devices->v[i];
    return NULL;
}

/* t_s counts from the run's start, which a forged run may lack. */
static int write_channel(struct wl_store *s, const struct wl_run_row *run, const struct wl_channel_row *c,
                         const struct wl_device_row *d, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_readings r;
    int rc = wl_store_readings(s, c->id, INT64_MIN, INT64_MAX, &r, a, e);
    const char *head = rc == 0 ? line_head(c, d, a) : NULL;
    const int64_t start_ns = run->start.mono_ns == WL_NO_NS ? 0 : run->start.mono_ns;
    for (size_t i = 0; rc == 0 && i < r.n && !ferror(to); i++) {
        double t_s = (double)(r.t_ns[i] - start_ns) / 1e9;
        if (isnan(r.value[i]))
            fprintf(to, "%s,%.6f,\n", head, t_s);
        else
            fprintf(to, "%s,%.6f,%.12g\n", head, t_s, r.value[i]);
    }
    wl_arena_free(a);
    return rc;
}

static int write_run(struct wl_store *s, const struct wl_run_row *run, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_device_rows devices;
    struct wl_channel_rows channels;
    int rc = wl_store_devices(s, run->id, &devices, a, e);
    if (rc == 0) rc = wl_store_channels(s, run->id, &channels, a, e);
    for (size_t i = 0; rc == 0 && i < channels.n && !ferror(to); i++) {
        const struct wl_device_row *device = device_of(&devices, channels.v[i].device);
        if (device)
            rc = write_channel(s, run, &channels.v[i], device, to, e);
        else
            rc = wl_fail(e, WL_EINVAL, "%s: corrupt store: channel %lld has no device", wl_store_path(s),
                         (long long)channels.v[i].id);
    }
    wl_arena_free(a);
    return rc;
}

int wl_samples_write_csv(struct wl_store *s, const struct wl_run_rows *runs, FILE *to, struct wl_err *e)
{
    int rc = 0;
    fputs("run,host,device,sensor,quantity,unit,scope,variant,estimated,simulated,t_s,value\n", to);
    for (size_t i = 0; rc == 0 && i < runs->n && !ferror(to); i++) rc = write_run(s, &runs->v[i], to, e);
    return rc;
}
