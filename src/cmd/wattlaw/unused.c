#include "cmd/wattlaw/unused.h"

#include "store/read.h"

/* A GPU that waits for less than this is in use: loading data and exchanging gradients take as much. One that is idle
 * for nearly all of the time has no part in the work, and is not needed. */
static const double IDLE_PCT = 25;

const char *wl_unused_gpus(const struct wl_gpu_use *v, size_t n, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    size_t unused = 0;
    for (size_t i = 0; i < n; i++) {
        const double idle_pct = 100 - v[i].busy_pct; /* NAN: not known */
        if (!(idle_pct > IDLE_PCT)) continue;
        unused += v[i].busy_pct < WL_GPU_USED_PCT;
        wl_text_addf(&t, "%s%s%sGPU %.0f idle %.0f %%", t.n ? ", " : "", v[i].host ? v[i].host : "",
                     v[i].host ? ": " : "", v[i].number, idle_pct);
    }
    if (!t.n) return NULL;
    wl_text_add(&t, " of the time");
    if (unused == n)
        wl_text_add(&t, ": the job used no GPU");
    else if (unused > 0)
        wl_text_addf(&t, ": ask for %zu GPU%s", n - unused, n - unused == 1 ? "" : "s");
    return t.s;
}
