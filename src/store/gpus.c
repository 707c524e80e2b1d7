/* What each GPU did in a run and in its epochs. */
#include "store/read.h"
#include "store/rows.h"

#define AT(member) offsetof(struct wl_gpu_row, member)

static const struct wl_column_map map[] = {
    { "g.run", WL_COLUMN_INT, AT(run) },
    { "g.epoch", WL_COLUMN_REAL, AT(epoch) },
    { "d.host", WL_COLUMN_NAME, AT(host) },
    { "d.uuid", WL_COLUMN_NAME, AT(uuid) },
    { "d.info", WL_COLUMN_OBJECT, AT(info) },
    { "d.number", WL_COLUMN_REAL, AT(number) },
    { "j.energy_j", WL_COLUMN_REAL, AT(energy_j) },
    { "g.busy", WL_COLUMN_REAL, AT(busy_pct) },
    { "g.readings", WL_COLUMN_REAL, AT(busy_readings) },
    { "g.clock", WL_COLUMN_REAL, AT(clock_mhz) },
    { "g.by_power", WL_COLUMN_REAL, AT(power_capped_pct) },
    { "g.by_heat", WL_COLUMN_REAL, AT(thermal_capped_pct) },
    { "ifnull(j.estimated, 0)", WL_COLUMN_BOOL, AT(estimated) },
    { "g.simulated", WL_COLUMN_BOOL, AT(simulated) },
    { NULL },
};

int wl_store_gpus(struct wl_store *s, bool epochs, struct wl_gpu_rows *out, struct wl_arena *a, struct wl_err *e)
{
    /* Of a device with several rows of energy, the one whose method was chosen. */
    const struct wl_query q = {
        .map = map,
        .from = "FROM (SELECT c.run AS run, u.epoch AS epoch, c.device AS device, "
                "max(CASE WHEN c.quantity = 'sm_util_pct' THEN u.mean END) AS busy, "
                "max(CASE WHEN c.quantity = 'sm_util_pct' THEN u.readings END) AS readings, "
                "max(CASE WHEN c.quantity = 'sm_clock_mhz' THEN u.mean END) AS clock, "
                "100 * max(CASE WHEN c.quantity = 'power_capped_s' THEN u.mean END) AS by_power, "
                "100 * max(CASE WHEN c.quantity = 'thermal_capped_s' THEN u.mean END) AS by_heat, "
                "max(c.simulated) AS simulated FROM channel c JOIN stat u ON u.channel = c.id WHERE c.quantity IN "
                "('sm_util_pct', 'sm_clock_mhz', 'power_capped_s', 'thermal_capped_s') AND (?1 OR u.epoch IS NULL) "
                "GROUP BY c.run, u.epoch, c.device) g JOIN device d ON d.id = g.device "
                "LEFT JOIN energy j ON j.id = (SELECT x.id FROM energy x WHERE x.run = g.run AND x.device = g.device "
                "AND ifnull(x.epoch, 0) = ifnull(g.epoch, 0) AND x.scope = 'gpu' ORDER BY x.chosen DESC, x.id LIMIT 1) "
                "ORDER BY g.run, ifnull(g.epoch, 0), g.device",
        .values = SQL(sql_int(epochs)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}
