#include "store/maps.h"

#include "store/records.h"

#define AT(type, member) offsetof(struct type, member)

const struct wl_column_map wl_epoch_map[] = {
    { "epoch", WL_COLUMN_INT, AT(wl_epoch_row, epoch) },
    { "begin_ns", WL_COLUMN_TIME, AT(wl_epoch_row, begin_ns) },
    { "end_ns", WL_COLUMN_TIME, AT(wl_epoch_row, end_ns) },
    { "time_s", WL_COLUMN_REAL, AT(wl_epoch_row, time_s) },
    { "samples", WL_COLUMN_COUNT, AT(wl_epoch_row, samples) },
    { "updates", WL_COLUMN_COUNT, AT(wl_epoch_row, updates) },
    { "tokens", WL_COLUMN_COUNT, AT(wl_epoch_row, tokens) },
    { NULL },
};

const struct wl_column_map wl_span_map[] = {
    { "kind", WL_COLUMN_NAME, AT(wl_span_row, kind) },
    { "begin_ns", WL_COLUMN_TIME, AT(wl_span_row, begin_ns) },
    { "end_ns", WL_COLUMN_TIME, AT(wl_span_row, end_ns) },
    { "time_s", WL_COLUMN_REAL, AT(wl_span_row, time_s) },
    { "steps", WL_COLUMN_COUNT, AT(wl_span_row, steps) },
    { "samples", WL_COLUMN_COUNT, AT(wl_span_row, samples) },
    { "tokens", WL_COLUMN_COUNT, AT(wl_span_row, tokens) },
    { "energy_j", WL_COLUMN_REAL, AT(wl_span_row, energy_j) },
    { "energy_lo_j", WL_COLUMN_REAL, AT(wl_span_row, energy_lo_j) },
    { "energy_hi_j", WL_COLUMN_REAL, AT(wl_span_row, energy_hi_j) },
    { "estimated", WL_COLUMN_BOOL, AT(wl_span_row, estimated) },
    { "simulated", WL_COLUMN_BOOL, AT(wl_span_row, simulated) },
    { "why", WL_COLUMN_TEXT, AT(wl_span_row, why) },
    { NULL },
};

const struct wl_column_map wl_energy_map[] = {
    { "epoch", WL_COLUMN_COUNT, AT(wl_energy_row, epoch) },
    { "device", WL_COLUMN_INT, AT(wl_energy_row, device) },
    { "scope", WL_COLUMN_NAME, AT(wl_energy_row, scope) },
    { "method", WL_COLUMN_NAME, AT(wl_energy_row, method) },
    { "energy_j", WL_COLUMN_REAL, AT(wl_energy_row, energy_j) },
    { "mean_power_w", WL_COLUMN_REAL, AT(wl_energy_row, mean_power_w) },
    { "coverage", WL_COLUMN_REAL, AT(wl_energy_row, coverage) },
    { "estimated", WL_COLUMN_BOOL, AT(wl_energy_row, estimated) },
    { "simulated", WL_COLUMN_BOOL, AT(wl_energy_row, simulated) },
    { "chosen", WL_COLUMN_BOOL, AT(wl_energy_row, chosen) },
    { "energy_lo_j", WL_COLUMN_REAL, AT(wl_energy_row, energy_lo_j) },
    { "energy_hi_j", WL_COLUMN_REAL, AT(wl_energy_row, energy_hi_j) },
    { "idle_before_w", WL_COLUMN_REAL, AT(wl_energy_row, idle_before_w) },
    { "idle_after_w", WL_COLUMN_REAL, AT(wl_energy_row, idle_after_w) },
    { "idle_j", WL_COLUMN_REAL, AT(wl_energy_row, idle_j) },
    { "why", WL_COLUMN_TEXT, AT(wl_energy_row, why) },
    { NULL },
};

const struct wl_column_map wl_attribution_map[] = {
    { "device", WL_COLUMN_INT, AT(wl_attribution_row, device) },
    { "scope", WL_COLUMN_NAME, AT(wl_attribution_row, scope) },
    { "method", WL_COLUMN_NAME, AT(wl_attribution_row, method) },
    { "use_share", WL_COLUMN_REAL, AT(wl_attribution_row, use_share) },
    { "reserved", WL_COLUMN_REAL, AT(wl_attribution_row, reserved) },
    { "energy_j", WL_COLUMN_REAL, AT(wl_attribution_row, energy_j) },
    { "energy_lo_j", WL_COLUMN_REAL, AT(wl_attribution_row, energy_lo_j) },
    { "energy_hi_j", WL_COLUMN_REAL, AT(wl_attribution_row, energy_hi_j) },
    { "above_j", WL_COLUMN_REAL, AT(wl_attribution_row, above_j) },
    { "above_lo_j", WL_COLUMN_REAL, AT(wl_attribution_row, above_lo_j) },
    { "above_hi_j", WL_COLUMN_REAL, AT(wl_attribution_row, above_hi_j) },
    { "idle_j", WL_COLUMN_REAL, AT(wl_attribution_row, idle_j) },
    { "simulated", WL_COLUMN_BOOL, AT(wl_attribution_row, simulated) },
    { "why", WL_COLUMN_TEXT, AT(wl_attribution_row, why) },
    { NULL },
};

const struct wl_column_map wl_load_map[] = {
    { "busy_cpu_s", WL_COLUMN_REAL, AT(wl_load_row, busy_cpu_s) },
    { "job_cpu_s", WL_COLUMN_REAL, AT(wl_load_row, job_cpu_s) },
    { "other_cpu_s", WL_COLUMN_REAL, AT(wl_load_row, other_cpu_s) },
    { "cpus", WL_COLUMN_REAL, AT(wl_load_row, cpus) },
    { "job_cpus", WL_COLUMN_REAL, AT(wl_load_row, job_cpus) },
    { "runnable", WL_COLUMN_REAL, AT(wl_load_row, runnable) },
    { "idle_other_cpus", WL_COLUMN_REAL, AT(wl_load_row, idle_other_cpus) },
    { "gpu_processes", WL_COLUMN_REAL, AT(wl_load_row, gpu_processes) },
    { "busy", WL_COLUMN_TEXT, AT(wl_load_row, busy) },
    { "why", WL_COLUMN_TEXT, AT(wl_load_row, why) },
    { NULL },
};

const struct wl_column_map wl_phase_map[] = {
    { "phase", WL_COLUMN_NAME, AT(wl_phase_row, phase) },
    { "device", WL_COLUMN_INT, AT(wl_phase_row, device) },
    { "scope", WL_COLUMN_NAME, AT(wl_phase_row, scope) },
    { "method", WL_COLUMN_NAME, AT(wl_phase_row, method) },
    { "spans", WL_COLUMN_INT, AT(wl_phase_row, spans) },
    { "time_s", WL_COLUMN_REAL, AT(wl_phase_row, time_s) },
    { "energy_j", WL_COLUMN_REAL, AT(wl_phase_row, energy_j) },
    { "energy_lo_j", WL_COLUMN_REAL, AT(wl_phase_row, energy_lo_j) },
    { "energy_hi_j", WL_COLUMN_REAL, AT(wl_phase_row, energy_hi_j) },
    { "estimated", WL_COLUMN_BOOL, AT(wl_phase_row, estimated) },
    { "simulated", WL_COLUMN_BOOL, AT(wl_phase_row, simulated) },
    { "why", WL_COLUMN_TEXT, AT(wl_phase_row, why) },
    { NULL },
};

const struct wl_column_map wl_metric_map[] = {
    { "epoch", WL_COLUMN_COUNT, AT(wl_metric_row, epoch) },
    { "name", WL_COLUMN_NAME, AT(wl_metric_row, name) },
    { "value", WL_COLUMN_REAL, AT(wl_metric_row, value) },
    { NULL },
};

const struct wl_column_map wl_metric_def_map[] = {
    { "name", WL_COLUMN_NAME, AT(wl_metric_def_row, name) },
    { "place", WL_COLUMN_INT, AT(wl_metric_def_row, place) },
    { "label", WL_COLUMN_TEXT, AT(wl_metric_def_row, label) },
    { "unit", WL_COLUMN_TEXT, AT(wl_metric_def_row, unit) },
    { "larger", WL_COLUMN_COUNT, AT(wl_metric_def_row, larger) },
    { "baseline_of", WL_COLUMN_TEXT, AT(wl_metric_def_row, baseline_of) },
    { "main", WL_COLUMN_BOOL, AT(wl_metric_def_row, main) },
    { NULL },
};

const struct wl_column_map wl_stat_map[] = {
    { "channel", WL_COLUMN_INT, AT(wl_stat_row, channel) },
    { "epoch", WL_COLUMN_COUNT, AT(wl_stat_row, epoch) },
    { "readings", WL_COLUMN_INT, AT(wl_stat_row, readings) },
    { "mean", WL_COLUMN_REAL, AT(wl_stat_row, mean) },
    { "sd", WL_COLUMN_REAL, AT(wl_stat_row, sd) },
    { "min", WL_COLUMN_REAL, AT(wl_stat_row, min) },
    { "max", WL_COLUMN_REAL, AT(wl_stat_row, max) },
    { "period_s", WL_COLUMN_REAL, AT(wl_stat_row, period_s) },
    { NULL },
};

const struct wl_column_map wl_variation_map[] = {
    { "run", WL_COLUMN_INT, AT(wl_variation_row, run) },
    { "quantity", WL_COLUMN_NAME, AT(wl_variation_row, quantity) },
    { "devices", WL_COLUMN_INT, AT(wl_variation_row, devices) },
    { "instants", WL_COLUMN_INT, AT(wl_variation_row, instants) },
    { "mean", WL_COLUMN_REAL, AT(wl_variation_row, mean) },
    { "mean_lo", WL_COLUMN_REAL, AT(wl_variation_row, mean_lo) },
    { "mean_hi", WL_COLUMN_REAL, AT(wl_variation_row, mean_hi) },
    { "cv_time", WL_COLUMN_REAL, AT(wl_variation_row, cv_time) },
    { "cv_time_lo", WL_COLUMN_REAL, AT(wl_variation_row, cv_time_lo) },
    { "cv_time_hi", WL_COLUMN_REAL, AT(wl_variation_row, cv_time_hi) },
    { "cv_devices", WL_COLUMN_REAL, AT(wl_variation_row, cv_devices) },
    { "cv_devices_lo", WL_COLUMN_REAL, AT(wl_variation_row, cv_devices_lo) },
    { "cv_devices_hi", WL_COLUMN_REAL, AT(wl_variation_row, cv_devices_hi) },
    { "cv_pooled", WL_COLUMN_REAL, AT(wl_variation_row, cv_pooled) },
    { "cv_pooled_lo", WL_COLUMN_REAL, AT(wl_variation_row, cv_pooled_lo) },
    { "cv_pooled_hi", WL_COLUMN_REAL, AT(wl_variation_row, cv_pooled_hi) },
    { "simulated", WL_COLUMN_BOOL, AT(wl_variation_row, simulated) },
    { NULL },
};

const struct wl_column_map wl_device_map[] = {
    { "id", WL_COLUMN_INT, AT(wl_device_row, id) },           { "host", WL_COLUMN_NAME, AT(wl_device_row, host) },
    { "uuid", WL_COLUMN_NAME, AT(wl_device_row, uuid) },      { "sensor", WL_COLUMN_NAME, AT(wl_device_row, sensor) },
    { "number", WL_COLUMN_COUNT, AT(wl_device_row, number) }, { "name", WL_COLUMN_TEXT, AT(wl_device_row, name) },
    { "info", WL_COLUMN_OBJECT, AT(wl_device_row, info) },    { NULL },
};

const struct wl_column_map wl_channel_map[] = {
    { "id", WL_COLUMN_INT, AT(wl_channel_row, id) },
    { "run", WL_COLUMN_INT, AT(wl_channel_row, run) },
    { "device", WL_COLUMN_INT, AT(wl_channel_row, device) },
    { "quantity", WL_COLUMN_NAME, AT(wl_channel_row, quantity) },
    { "unit", WL_COLUMN_NAME, AT(wl_channel_row, unit) },
    { "scope", WL_COLUMN_NAME, AT(wl_channel_row, scope) },
    { "variant", WL_COLUMN_NAME, AT(wl_channel_row, variant) },
    { "counter", WL_COLUMN_BOOL, AT(wl_channel_row, counter) },
    { "estimated", WL_COLUMN_BOOL, AT(wl_channel_row, estimated) },
    { "simulated", WL_COLUMN_BOOL, AT(wl_channel_row, simulated) },
    { "update_s", WL_COLUMN_REAL, AT(wl_channel_row, update_s) },
    { "window_s", WL_COLUMN_REAL, AT(wl_channel_row, window_s) },
    { "delay_s", WL_COLUMN_REAL, AT(wl_channel_row, delay_s) },
    { "most_w", WL_COLUMN_REAL, AT(wl_channel_row, power_limit_w) },
    { "calibrated", WL_COLUMN_TEXT, AT(wl_channel_row, calibrated) },
    { NULL },
};

const struct wl_column_map wl_mark_map[] = {
    { "t_ns", WL_COLUMN_INT, AT(wl_mark_row, t_ns) },
    { "rank", WL_COLUMN_INT, AT(wl_mark_row, rank) },
    { "word", WL_COLUMN_NAME, AT(wl_mark_row, word) },
    { "fields", WL_COLUMN_NAME, AT(wl_mark_row, fields) },
    { NULL },
};
