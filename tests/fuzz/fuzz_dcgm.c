/* Any bytes as a file of DCGM's readings: read or refused with a message; what was read is in order and no sentinel. */
#include "fuzz.h"

#include "exchange/exchange.h"

#include <math.h>

static void check(const struct wl_dcgm *d)
{
    for (size_t i = 0; i < d->n_series; i++) {
        const struct wl_dcgm_series *s = &d->series[i];
        WL_CHECK(s->device < d->n_devices && s->n > 0);
        for (size_t k = 0; k < s->n; k++) {
            WL_CHECK(k == 0 || s->v[k - 1].t_ns < s->v[k].t_ns);
            WL_CHECK(isnan(s->v[k].value) || (s->v[k].value >= 0 && s->v[k].value < 0x1p53));
        }
    }
    WL_CHECK(d->n_malformed >= d->malformed.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_dcgm_opts opts = { NULL, NULL, WL_NO_NS, WL_NO_NS, 1700000000 * WL_NS_PER_S, WL_NS_PER_S };
    struct wl_dcgm d = { 0 };
    struct wl_err e = { 0 };
    FILE *f = n ? fmemopen((void *)data, n, "r") : fopen("/dev/null", "r");
    WL_CHECK(f);
    if (n % 2) opts.start_ns = opts.period_ns = WL_NO_NS;
    int rc = wl_dcgm_read(f, "bytes", &opts, &d, a, &e);
    if (rc == 0) rc = wl_dcgm_finish(&d, &opts, a, &e);
    WL_CHECK(rc == 0 || (rc < 0 && e.code == rc && e.msg[0]));
    if (rc == 0) check(&d);
    fclose(f);
    wl_arena_free(a);
    return 0;
}
