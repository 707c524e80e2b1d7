/* What the GPUs of a store did, for their comparison. */
#include "report/report.h"

#include "report/rank_readings.h"

#include "law/law.h"
#include "store/read.h"

#include <math.h>

static const char *serial_of(const struct wl_gpu_row *g, struct wl_arena *a)
{
    struct wl_json *info;
    if (!g->info || wl_json_parse(g->info, g->uuid, &info, a, NULL) < 0) return NULL;
    return wl_json_str(wl_json_get(info, "serial"));
}

/* Not known: it is taken as used. Half of the first reading is of the time before the run. */
static bool is_used(const struct wl_gpu_row *g)
{
    return isnan(g->busy_pct) || g->busy_pct >= fmax(WL_GPU_USED_PCT, 50 / g->busy_readings);
}

/* Runs that compare GPUs with each other. */
static size_t runs_of_several(const struct wl_gpu_rows *rows)
{
    size_t runs = 0;
    for (size_t i = 0, end; i < rows->n; i = end) {
        for (end = i + 1; end < rows->n && rows->v[end].run == rows->v[i].run;) end++;
        runs += end - i > 1;
    }
    return runs;
}

int wl_report_unit_readings(struct wl_store *s, struct wl_units_input *in, struct wl_arena *a, struct wl_err *e)
{
    struct wl_gpu_rows rows;
    int rc = wl_store_gpus(s, false, &rows, a, e);
    if (rc == 0 && runs_of_several(&rows) == 1) rc = wl_store_gpus(s, true, &rows, a, e);
    if (rc) return rc;
    struct wl_units_reading *v = wl_new_array(a, struct wl_units_reading, rows.n);
    for (size_t i = 0; i < rows.n; i++) {
        const struct wl_gpu_row *g = &rows.v[i];
        const bool same = i && rows.v[i - 1].run == g->run;
        v[i] = (struct wl_units_reading) { .run = same ? v[i - 1].run : wl_strf(a, "%lld", (long long)g->run),
                                           .epoch = g->epoch,
                                           .node = g->host,
                                           .uuid = g->uuid,
                                           .serial = isnan(g->epoch) ? serial_of(g, a) : NULL,
                                           .number = g->number,
                                           .rank = NAN,
                                           .compute_s = NAN,
                                           .energy_j = g->energy_j,
                                           .clock_mhz = g->clock_mhz,
                                           .power_capped_pct = g->power_capped_pct,
                                           .thermal_capped_pct = g->thermal_capped_pct,
                                           .unused = !is_used(g),
                                           .estimated = g->estimated,
                                           .simulated = g->simulated };
    }
    in->readings = v;
    in->n = rows.n;
    return wl_report_add_rank_readings(s, in, a, e);
}
