/* NVML's field values: many quantities in one call, each with a code of its own. Ids and units: api.h. */
#include "power/nvml/sensor.h"

#include <math.h>

/* In order of preference: of the rows for one quantity and scope, the first that the GPU supports is used. The variant
 * of a power reading is chosen once and kept. */
static const struct row {
    unsigned id, scope_id;
    enum wl_quantity quantity;
    enum wl_scope scope;
    enum wl_power_variant variant;
    double scale; /* to our unit */
} rows[] = {
    { NVML_FI_DEV_POWER_INSTANT, NVML_POWER_SCOPE_GPU, WL_POWER, WL_SCOPE_GPU, WL_VARIANT_INSTANT, 1e-3 },
    { NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, NVML_POWER_SCOPE_GPU, WL_ENERGY, WL_SCOPE_GPU, WL_VARIANT_NONE, 1e-3 },
    { NVML_FI_DEV_POWER_AVERAGE, NVML_POWER_SCOPE_GPU, WL_POWER_AVERAGE, WL_SCOPE_GPU, WL_VARIANT_AVERAGE, 1e-3 },
    { NVML_FI_DEV_POWER_INSTANT, NVML_POWER_SCOPE_MODULE, WL_POWER, WL_SCOPE_MODULE, WL_VARIANT_INSTANT, 1e-3 },
    { NVML_FI_DEV_ENERGY, NVML_POWER_SCOPE_MODULE, WL_ENERGY, WL_SCOPE_MODULE, WL_VARIANT_NONE, 1e-3 },
    { NVML_FI_DEV_POWER_INSTANT, NVML_POWER_SCOPE_MEMORY, WL_POWER, WL_SCOPE_GPU_MEMORY, WL_VARIANT_INSTANT, 1e-3 },
    { NVML_FI_DEV_ENERGY, NVML_POWER_SCOPE_MEMORY, WL_ENERGY, WL_SCOPE_GPU_MEMORY, WL_VARIANT_NONE, 1e-3 },
    { NVML_FI_DEV_MEMORY_TEMP, 0, WL_MEM_TEMPERATURE, WL_SCOPE_GPU, WL_VARIANT_NONE, 1 },
    { NVML_FI_DEV_PERF_POLICY_POWER, 0, WL_POWER_CAPPED, WL_SCOPE_GPU, WL_VARIANT_NONE, 1e-9 },
    { NVML_FI_DEV_PERF_POLICY_THERMAL, 0, WL_THERMAL_CAPPED, WL_SCOPE_GPU, WL_VARIANT_NONE, 1e-9 },
    { NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, 0, WL_THERMAL_CAPPED, WL_SCOPE_GPU, WL_VARIANT_NONE, 1e-9 },
    { NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, 0, WL_HW_THERMAL_CAPPED, WL_SCOPE_GPU, WL_VARIANT_NONE, 1e-9 },
    { NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, 0, WL_POWER_BRAKED, WL_SCOPE_GPU, WL_VARIANT_NONE,
      1e-9 },
    { NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT, 0, WL_BOARD_LIMITED, WL_SCOPE_GPU, WL_VARIANT_NONE, 1e-9 },
    { NVML_FI_DEV_PERF_POLICY_RELIABILITY, 0, WL_RELIABILITY_LIMITED, WL_SCOPE_GPU, WL_VARIANT_NONE, 1e-9 },
    { NVML_FI_DEV_PERF_POLICY_SYNC_BOOST, 0, WL_SYNC_BOOSTED, WL_SCOPE_GPU, WL_VARIANT_NONE, 1e-9 },
    { NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, NVML_ALL_LINKS, WL_NVLINK_TX, WL_SCOPE_GPU, WL_VARIANT_NONE, 1024 },
    { NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, NVML_ALL_LINKS, WL_NVLINK_RX, WL_SCOPE_GPU, WL_VARIANT_NONE, 1024 },
    { NVML_FI_DEV_PCIE_COUNT_TX_BYTES, 0, WL_PCIE_TX, WL_SCOPE_GPU, WL_VARIANT_NONE, 1 },
    { NVML_FI_DEV_PCIE_COUNT_RX_BYTES, 0, WL_PCIE_RX, WL_SCOPE_GPU, WL_VARIANT_NONE, 1 },
};
enum { ROWS = WL_COUNT(rows) };
_Static_assert(WL_COUNT(rows) <= WL_NVML_FIELDS, "more rows than a GPU has room for");

static double number_of(const nvmlFieldValue_t *f)
{
    switch (f->valueType) {
    case NVML_VALUE_TYPE_DOUBLE: return f->value.dVal;
    case NVML_VALUE_TYPE_UNSIGNED_INT: return f->value.uiVal;
    case NVML_VALUE_TYPE_UNSIGNED_LONG: return (double)f->value.ulVal;
    case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: return (double)f->value.ullVal;
    case NVML_VALUE_TYPE_SIGNED_LONG_LONG: return (double)f->value.sllVal;
    case NVML_VALUE_TYPE_SIGNED_INT: return f->value.siVal;
    case NVML_VALUE_TYPE_UNSIGNED_SHORT: return f->value.usVal;
    default: return NAN;
    }
}

static nvmlFieldValue_t request(int row)
{
    return (nvmlFieldValue_t) { .fieldId = rows[row].id, .scopeId = rows[row].scope_id };
}

/* ---- Probing ---- */

/* A GPU's value for each row; NAN: not supported. */
struct answers {
    double v[ROWS];
};

static void probe_all(const struct wl_nvml *lib, nvmlDevice_t h, struct answers *a)
{
    nvmlFieldValue_t asked[ROWS];
    for (int i = 0; i < ROWS; i++) asked[i] = request(i);
    nvmlReturn_t rc = lib->DeviceGetFieldValues(h, ROWS, asked);
    for (int i = 0; i < ROWS; i++) {
        if (rc == NVML_SUCCESS && asked[i].nvmlReturn == NVML_SUCCESS) a->v[i] = number_of(&asked[i]);
    }
}

static bool is_power_or_energy(const struct row *r) { return r->quantity == WL_POWER || r->quantity == WL_ENERGY; }

/* A driver that does not support scopes answers for the GPU: an equal value is not a scope of its own. Counters differ
 * once both have run for a while. */
static bool is_own_scope(const struct answers *a, enum wl_scope scope)
{
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].scope != scope || !is_power_or_energy(&rows[i]) || isnan(a->v[i])) continue;
        for (int k = 0; k < ROWS; k++) {
            bool gpu = rows[k].scope == WL_SCOPE_GPU && rows[k].quantity == rows[i].quantity;
            if (gpu && fabs(a->v[k] - a->v[i]) > 0.01 * a->v[k]) return true;
        }
    }
    return false;
}

static bool wraps(enum wl_quantity q) { return q == WL_PCIE_TX || q == WL_PCIE_RX; }

static void add_rows(struct wl_sensor *s, struct wl_nvml_device *u, const struct answers *a,
                     enum wl_poll_interval interval)
{
    struct wl_nvml_fields *f = &u->fields;
    for (int i = 0; i < ROWS; i++) {
        if (wl_quantity_poll_interval(rows[i].quantity) != interval || isnan(a->v[i])) continue;
        if (rows[i].scope != WL_SCOPE_GPU && !is_own_scope(a, rows[i].scope)) continue;
        int channel = wl_nvml_add_channel(s, u, rows[i].quantity, rows[i].scope, rows[i].variant);
        if (channel < 0) continue;
        f->v[f->n++] = (struct wl_nvml_field) { .row = i, .channel = channel, .wraps = wraps(rows[i].quantity) };
    }
    f->n_due[interval] = f->n;
}

/* A driver that is called too soon may answer "not supported" once: all rows are probed twice. */
void wl_nvml_fields_probe(struct wl_sensor *s)
{
    enum { ROUNDS = 2 };
    const int64_t pause_ns = WL_NS_PER_S / 100;
    struct wl_nvml_sensor *n = s->state;
    if (!n->lib.DeviceGetFieldValues) return;
    struct answers *answers = wl_new_array(s->arena, struct answers, n->n);
    for (size_t k = 0; k < n->n; k++) {
        for (int i = 0; i < ROWS; i++) answers[k].v[i] = NAN;
    }
    for (int round = 0; round < ROUNDS; round++) {
        if (round > 0) (void)!wl_sleep_until(wl_now_ns() + pause_ns);
        for (size_t k = 0; k < n->n; k++) probe_all(&n->lib, n->gpus[k].handle, &answers[k]);
    }
    for (size_t k = 0; k < n->n; k++) {
        for (enum wl_poll_interval p = 0; p < WL_POLL_INTERVALS; p++) add_rows(s, &n->gpus[k], &answers[k], p);
    }
}

/* ---- Reading ---- */

/* The count since the first reading, of a counter that wraps at the end of its type. */
static double unwrap(struct wl_nvml_field *f, const nvmlFieldValue_t *v)
{
    bool narrow = v->valueType == NVML_VALUE_TYPE_UNSIGNED_INT;
    uint64_t count = narrow ? v->value.uiVal : v->value.ullVal;
    uint64_t step = narrow ? (uint32_t)(count - f->count) : count - f->count;
    if (f->counted) f->sum += (double)step;
    f->count = count;
    f->counted = true;
    return f->sum;
}

/* One call of nvmlDeviceGetFieldValues. */
struct fields_call {
    nvmlReturn_t rc;
    int64_t t0, t1;
    bool all; /* see struct wl_due */
};

static void take(const struct wl_sensor *s, struct wl_nvml_field *f, const nvmlFieldValue_t *v,
                 const struct fields_call *call, struct wl_reading *out)
{
    const struct row *row = &rows[f->row];
    nvmlReturn_t rc = call->rc == NVML_SUCCESS ? v->nvmlReturn : call->rc;
    double value = rc != NVML_SUCCESS ? NAN : f->wraps ? unwrap(f, v) : number_of(v);
    wl_nvml_reading_set(out, rc, value * row->scale, call->t0);
    out->t_ns = call->t0 + (call->t1 - call->t0) / 2;
    bool power = row->quantity == WL_POWER || row->quantity == WL_POWER_AVERAGE;
    if (power && wl_is_repeat(&f->repeats, out, s->channels[f->channel].update_s) && !call->all)
        *out = (struct wl_reading) { .value = NAN };
}

void wl_nvml_fields_read(const struct wl_sensor *s, struct wl_nvml_device *u, struct wl_due due, struct wl_reading *out)
{
    const struct wl_nvml_sensor *n = s->state;
    struct wl_nvml_fields *f = &u->fields;
    nvmlFieldValue_t asked[ROWS];
    int count = f->n_due[due.interval];
    if (count == 0) return;
    for (int i = 0; i < count; i++) asked[i] = request(f->v[i].row);
    struct fields_call call = { .t0 = wl_now_ns(), .all = due.all };
    call.rc = n->lib.DeviceGetFieldValues(u->handle, count, asked);
    call.t1 = wl_now_ns();
    for (int i = 0; i < count; i++) take(s, &f->v[i], &asked[i], &call, &out[f->v[i].channel]);
}

/* Rows that are read by themselves. */
enum { POWER_ROW, ENERGY_ROW, AVERAGE_ROW };

static void read_two(const struct wl_nvml *lib, nvmlDevice_t h, int first, int second, double *one, double *two)
{
    nvmlFieldValue_t asked[2] = { request(first), request(second) };
    nvmlReturn_t rc = lib->DeviceGetFieldValues(h, 2, asked);
    bool is_one = rc == NVML_SUCCESS && asked[0].nvmlReturn == NVML_SUCCESS;
    bool is_two = rc == NVML_SUCCESS && asked[1].nvmlReturn == NVML_SUCCESS;
    *one = is_one ? number_of(&asked[0]) * rows[first].scale : NAN;
    *two = is_two ? number_of(&asked[1]) * rows[second].scale : NAN;
}

void wl_nvml_fields_power_energy(const struct wl_nvml *lib, nvmlDevice_t h, double *watts, double *joules)
{
    read_two(lib, h, POWER_ROW, ENERGY_ROW, watts, joules);
}

void wl_nvml_fields_powers(const struct wl_nvml *lib, nvmlDevice_t h, double *instant_w, double *average_w)
{
    read_two(lib, h, POWER_ROW, AVERAGE_ROW, instant_w, average_w);
}

nvmlReturn_t wl_nvml_fields_limit(const struct wl_nvml *lib, nvmlDevice_t h, unsigned scope,
                                  struct wl_gpu_power_limit *out)
{
    const struct {
        unsigned id;
        double *to;
    } wanted[] = {
        { NVML_FI_DEV_POWER_REQUESTED_LIMIT, &out->limit_w }, { NVML_FI_DEV_POWER_CURRENT_LIMIT, &out->enforced_w },
        { NVML_FI_DEV_POWER_DEFAULT_LIMIT, &out->default_w }, { NVML_FI_DEV_POWER_MIN_LIMIT, &out->min_w },
        { NVML_FI_DEV_POWER_MAX_LIMIT, &out->max_w },
    };
    nvmlFieldValue_t asked[WL_COUNT(wanted)];
    for (size_t i = 0; i < WL_COUNT(wanted); i++)
        asked[i] = (nvmlFieldValue_t) { .fieldId = wanted[i].id, .scopeId = scope };
    nvmlReturn_t rc = lib->DeviceGetFieldValues(h, WL_COUNT(wanted), asked);
    for (size_t i = 0; i < WL_COUNT(wanted); i++)
        *wanted[i].to = rc == NVML_SUCCESS && asked[i].nvmlReturn == NVML_SUCCESS ? number_of(&asked[i]) * 1e-3 : NAN;
    return rc == NVML_SUCCESS ? asked[0].nvmlReturn : rc;
}
