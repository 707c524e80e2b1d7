/* What readers get of the parts of a run: epochs, spans, energies, metrics, statistics, devices, channels, marks. */
#include "store/maps.h"
#include "store/read.h"

#define AT(type, member) offsetof(struct type, member)

int wl_store_epochs(struct wl_store *s, int64_t run, struct wl_epoch_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_epoch_map,
        .from = "FROM epoch WHERE run = ?1 ORDER BY epoch",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_spans(struct wl_store *s, int64_t run, struct wl_span_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_span_map,
        .from = "FROM span WHERE run = ?1 ORDER BY kind",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_energies(struct wl_store *s, int64_t run, struct wl_energy_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_energy_map,
        .from = "FROM energy WHERE run = ?1 ORDER BY ifnull(epoch, 0), device, scope, method",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_busy(struct wl_store *s, struct wl_busy_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "run", WL_COLUMN_INT, AT(wl_busy_row, run) },
        { "busy", WL_COLUMN_NAME, AT(wl_busy_row, busy) },
        { NULL },
    };
    const struct wl_query q = { .map = map,
                                .from = "FROM load WHERE busy IS NOT NULL ORDER BY run",
                                .size = sizeof *out->v };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_attributions(struct wl_store *s, int64_t run, struct wl_attribution_rows *out, struct wl_arena *a,
                          struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_attribution_map,
        .from = "FROM attribution WHERE run = ?1 ORDER BY device, scope",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_phases(struct wl_store *s, int64_t run, struct wl_phase_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_phase_map,
        .from = "FROM phase_energy WHERE run = ?1 ORDER BY phase, device, scope",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_metrics(struct wl_store *s, int64_t run, struct wl_metric_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_metric_map,
        .from = "FROM metric WHERE run = ?1 ORDER BY ifnull(epoch, 0), name",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_metrics_by_run(struct wl_store *s, int64_t campaign, struct wl_run_metric_rows *out, struct wl_arena *a,
                            struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "run", WL_COLUMN_INT, AT(wl_run_metric_row, run) },
        { "epoch", WL_COLUMN_COUNT, AT(wl_run_metric_row, metric.epoch) },
        { "name", WL_COLUMN_NAME, AT(wl_run_metric_row, metric.name) },
        { "value", WL_COLUMN_REAL, AT(wl_run_metric_row, metric.value) },
        { NULL },
    };
    const struct wl_query q = {
        .map = map,
        .from = "FROM metric WHERE ?1 = 0 OR run IN (SELECT r.id FROM run r JOIN trial t ON t.id = r.trial WHERE "
                "t.campaign = ?1) ORDER BY run, ifnull(epoch, 0), name",
        .values = SQL(sql_int(campaign)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_metric_defs(struct wl_store *s, int64_t campaign, int64_t run, struct wl_metric_def_rows *out,
                         struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "s.workload", WL_COLUMN_TEXT, AT(wl_metric_def_row, workload) },
        { "d.name", WL_COLUMN_NAME, AT(wl_metric_def_row, name) },
        { "d.place", WL_COLUMN_INT, AT(wl_metric_def_row, place) },
        { "d.label", WL_COLUMN_TEXT, AT(wl_metric_def_row, label) },
        { "d.unit", WL_COLUMN_TEXT, AT(wl_metric_def_row, unit) },
        { "d.larger", WL_COLUMN_COUNT, AT(wl_metric_def_row, larger) },
        { "d.baseline_of", WL_COLUMN_TEXT, AT(wl_metric_def_row, baseline_of) },
        { "d.main", WL_COLUMN_BOOL, AT(wl_metric_def_row, main) },
        { "max(d.run)", WL_COLUMN_INT,
          AT(wl_metric_def_row, run) }, /* picks the row that the others are of (bare columns) */
        { NULL },
    };
    const struct wl_query q = {
        .map = map,
        .from = "FROM metric_def d JOIN setting s ON s.run = d.run WHERE ?1 IN (0, s.campaign) AND "
                "?2 IN (0, d.run) GROUP BY s.workload, d.name ORDER BY s.workload, d.place",
        .values = SQL(sql_int(campaign), sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_metric_names(struct wl_store *s, struct wl_strs *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = { { "name", WL_COLUMN_NAME, 0 }, { NULL } };
    const struct wl_query q = {
        .map = map,
        .from = "FROM metric WHERE epoch IS NOT NULL AND run IN (SELECT run FROM observations) GROUP BY name "
                "ORDER BY name",
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_peaks(struct wl_store *s, struct wl_peak_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = { { "r.id", WL_COLUMN_INT, offsetof(struct wl_peak_row, run) },
                                                { "p.watts", WL_COLUMN_REAL, offsetof(struct wl_peak_row, power_w) },
                                                { "m.bytes", WL_COLUMN_REAL,
                                                  offsetof(struct wl_peak_row, memory_bytes) },
                                                { NULL } };
    /* Of the columns beside min() SQLite takes those of the row that has the least. */
    const struct wl_query q = {
        .map = map,
        .from = "FROM run r LEFT JOIN (SELECT run, min(tier), watts FROM "
                "(SELECT run, tier, sum(peak) AS watts FROM "
                "(SELECT c.run, CASE c.scope WHEN 'gpu' THEN 1 WHEN 'module' THEN 2 ELSE 3 END AS tier, "
                "max(u.max) AS peak FROM channel c JOIN stat u ON u.channel = c.id AND u.epoch IS NULL "
                "WHERE c.quantity = 'power_w' AND c.counter = 0 AND c.estimated = 0 "
                "AND c.scope IN ('gpu', 'module', 'package', 'dram') AND u.max IS NOT NULL "
                "GROUP BY c.run, c.device, c.scope) GROUP BY run, tier) GROUP BY run) p ON p.run = r.id "
                "LEFT JOIN (SELECT c.run, max(u.max) AS bytes FROM channel c "
                "JOIN stat u ON u.channel = c.id AND u.epoch IS NULL WHERE c.quantity = 'mem_used_bytes' "
                "GROUP BY c.run) m ON m.run = r.id ORDER BY r.id",
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_gpu_counts(struct wl_store *s, int64_t campaign, struct wl_gpu_count_rows *out, struct wl_arena *a,
                        struct wl_err *e)
{
    static const struct wl_column_map map[] = { { "j.run", WL_COLUMN_INT, offsetof(struct wl_gpu_count_row, run) },
                                                { "count(DISTINCT j.device)", WL_COLUMN_INT,
                                                  offsetof(struct wl_gpu_count_row, gpus) },
                                                { NULL } };
    const struct wl_query q = {
        .map = map,
        .from = "FROM energy j JOIN run r ON r.id = j.run JOIN trial t ON t.id = r.trial "
                "WHERE j.epoch IS NULL AND j.chosen AND j.scope IN ('gpu', 'module') AND (?1 = 0 OR t.campaign = ?1) "
                "GROUP BY j.run ORDER BY j.run",
        .values = SQL(sql_int(campaign)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_stats(struct wl_store *s, int64_t run, struct wl_stat_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_stat_map,
        .from = "FROM stat WHERE channel IN (SELECT id FROM channel WHERE run = ?1) "
                "ORDER BY channel, ifnull(epoch, 0)",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_variations(struct wl_store *s, int64_t campaign, struct wl_variation_rows *out, struct wl_arena *a,
                        struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_variation_map,
        .from = "FROM variation WHERE ?1 = 0 OR run IN (SELECT r.id FROM run r JOIN trial t ON t.id = r.trial "
                "WHERE t.campaign = ?1) ORDER BY run, quantity",
        .values = SQL(sql_int(campaign)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_devices(struct wl_store *s, int64_t run, struct wl_device_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_device_map,
        .from = "FROM device WHERE id IN (SELECT device FROM channel WHERE run = ?1 "
                "UNION SELECT device FROM energy WHERE run = ?1) ORDER BY id", /* imported rows have no readings */
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_channels(struct wl_store *s, int64_t run, struct wl_channel_rows *out, struct wl_arena *a,
                      struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_channel_map,
        .from = "FROM channel WHERE run = ?1 ORDER BY id",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_read_marks_since(struct wl_store *s, int64_t run, int64_t begin_ns, struct wl_mark_rows *out,
                              struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_mark_map,
        .from = "FROM mark WHERE run = ?1 AND t_ns >= ?2 ORDER BY t_ns, id",
        .values = SQL(sql_int(run), sql_int(begin_ns)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_read_marks(struct wl_store *s, int64_t run, struct wl_mark_rows *out, struct wl_arena *a, struct wl_err *e)
{
    return wl_store_read_marks_since(s, run, -(INT64_C(1) << 62), out, a, e); /* the least that is read (rows.h) */
}

int wl_store_read_log(struct wl_store *s, int64_t run, struct wl_log_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "wall_ns", WL_COLUMN_INT, AT(wl_log_row, wall_ns) },
        { "level", WL_COLUMN_NAME, AT(wl_log_row, level) },
        { "area", WL_COLUMN_NAME, AT(wl_log_row, area) },
        { "message", WL_COLUMN_NAME, AT(wl_log_row, message) },
        { NULL },
    };
    const struct wl_query q = {
        .map = map,
        .from = "FROM log WHERE run IS nullif(?1, 0) ORDER BY id",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}
