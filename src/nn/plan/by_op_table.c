/* What by_op.c has found, as a table and as JSON. */
#include "nn/plan/by_op.h"

#include "nn/plan/plan.h"

#include <math.h>

enum { DIGITS = 3 };

/* What a row reaches of what bounds it, as flop/s or bytes/s; flop are those that its algorithm makes. */
static double rate(const struct wl_by_op_rows *r, const struct wl_by_op_row *row)
{
    return (row->bound_by_flops ? row->computed_flops : row->bytes) / wl_by_op_seconds(r, &row->time);
}

static double ratio(const struct wl_by_op_rows *r, const struct wl_by_op_row *row)
{
    return wl_by_op_seconds(r, &row->time) / row->bound_s;
}

static double share(const struct wl_by_op_rows *r, const struct wl_by_op_row *row)
{
    return wl_by_op_seconds(r, &row->time) / wl_by_op_seconds(r, &r->step);
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

static double positive(double v) { return v > 0 ? v : NAN; }

static void add_rate(struct wl_table *t, const struct wl_by_op_rows *r, const struct wl_by_op_row *row)
{
    const double reached = rate(r, row) * 1e-9;
    if (isnan(row->bound_s) || !(reached > 0) || isinf(reached))
        wl_table_cell(t, NULL);
    else
        wl_table_cellf(t, "%.0f %s", reached, row->bound_by_flops ? "Gf/s" : "GB/s");
}

static void add_row(struct wl_table *t, const struct wl_by_op_rows *r, const struct wl_by_op_row *row)
{
    const bool known = !isnan(row->bound_s);
    wl_table_cell(t, row->class);
    wl_table_cell(t, row->name);
    wl_table_cellf(t, "%d", row->steps);
    wl_table_aligned(t, row->time.wall_s * 1e3);
    wl_table_aligned(t, positive(row->time.cpu_s) * 1e3);
    wl_table_aligned(t, share(r, row) * 100);
    wl_table_aligned(t, positive(row->flops) * 1e-9);
    wl_table_aligned(t, row->bytes * 1e-9);
    add_rate(t, r, row);
    wl_table_aligned(t, row->bound_s * 1e3);
    wl_table_cell(t, known ? row->bound_by_flops ? "flop" : "memory" : NULL);
    wl_table_real(t, known ? ratio(r, row) : NAN, DIGITS);
    wl_table_row(t);
}

static void add_columns(struct wl_table *t)
{
    wl_table_column(t, "operation", false);
    wl_table_column(t, "name", false);
    wl_table_column(t, "steps", true);
    static const char *const numbers[] = { "ms", "CPU ms", "% of step", "Gflop", "GB" };
    for (size_t i = 0; i < WL_COUNT(numbers); i++) wl_table_real_column(t, numbers[i], DIGITS);
    wl_table_column(t, "reached", true);
    wl_table_real_column(t, "at least ms", DIGITS);
    wl_table_column(t, "bound by", false);
    wl_table_column(t, "time/bound", true);
    static const char *const spare[] = { "GB", "Gflop", "steps", "CPU ms" };
    wl_table_spare(t, spare, WL_COUNT(spare));
    wl_table_keep(t, "time/bound");
}

struct wl_table wl_by_op_table(const struct wl_by_op_rows *r, size_t limit, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    add_columns(&t);
    for (size_t i = 0; i < r->n && (!limit || i < limit); i++) add_row(&t, r, &r->v[i]);
    add_row(&t, r, &r->total);
    return t;
}

const char *wl_by_op_ceilings(const struct wl_plan *p, struct wl_arena *a)
{
    const struct wl_device_peaks peaks = wl_plan_info(p).peaks;
    const struct {
        const char *name;
        double per_s;
    } rates[] = { { "f32", peaks.flop_per_s_f32 },
                  { "tf32", peaks.flop_per_s_tf32 },
                  { "16 bits", peaks.flop_per_s_16bit },
                  { "int16", peaks.flop_per_s_int16 } };
    struct wl_text t = WL_TEXT(a);
    if (!peaks.device) return t.s;
    wl_text_addf(&t, "ceilings of %s, %s", peaks.device, peaks.measured ? "measured" : "estimated");
    if (peaks.measured) wl_text_addf(&t, " on %d thread%s", peaks.threads, peaks.threads == 1 ? "" : "s");
    wl_text_add(&t, ":");
    for (size_t i = 0; i < WL_COUNT(rates); i++)
        if (!isnan(rates[i].per_s)) wl_text_addf(&t, " %s %.0f Gflop/s,", rates[i].name, rates[i].per_s * 1e-9);
    if (peaks.measured)
        wl_text_addf(&t, " memory %.3g (read), %.3g (copied), %.3g GB/s (two read, one written)",
                     peaks.bytes_per_s_read * 1e-9, peaks.bytes_per_s_copy * 1e-9, peaks.bytes_per_s_add * 1e-9);
    else
        wl_text_addf(&t, " memory %.0f GB/s", peaks.bytes_per_s_read * 1e-9);
    return t.s;
}

const char *wl_by_op_step(const struct wl_by_op_rows *r, struct wl_arena *a)
{
    return wl_strf(a, "a step takes %.4g ms, %.4g ms of processor time; shares, rates and time/bound are of %s time",
                   r->step.wall_s * 1e3, r->step.cpu_s * 1e3, r->by_processor_time ? "processor" : "wall-clock");
}

/* ---- for programs ------------------------------------------------------------------------------------------------ */

static void row_json(struct wl_json *o, const struct wl_by_op_rows *r, const struct wl_by_op_row *row)
{
    wl_json_add_str(o, "class", row->class);
    wl_json_add_str(o, "name", row->name);
    wl_json_add_str(o, "kernel", row->kernel);
    wl_json_add_int(o, "steps", row->steps);
    wl_json_add_real(o, "wall_s", row->time.wall_s);
    wl_json_add_real(o, "cpu_s", row->time.cpu_s);
    wl_json_add_real(o, "share", share(r, row));
    wl_json_add_real(o, "flop", row->flops);
    wl_json_add_real(o, "computed_flop", row->computed_flops);
    wl_json_add_real(o, "bytes", row->bytes);
    wl_json_add_real(o, "bound_s", row->bound_s);
    wl_json_add_str(o, "bound_by", isnan(row->bound_s) ? NULL : row->bound_by_flops ? "flop" : "memory");
    wl_json_add_real(o, "time_per_bound", ratio(r, row));
}

void wl_by_op_json(const struct wl_plan *p, const struct wl_by_op_rows *r, struct wl_json *o)
{
    const struct wl_device_peaks peaks = wl_plan_info(p).peaks;
    struct wl_json *c = wl_json_add_object(o, "ceilings");
    wl_json_add_str(c, "device", peaks.device);
    wl_json_add_bool(c, "measured", peaks.measured);
    wl_json_add_int(c, "threads", peaks.threads);
    wl_json_add_real(c, "flop_per_s_f32", peaks.flop_per_s_f32);
    wl_json_add_real(c, "flop_per_s_tf32", peaks.flop_per_s_tf32);
    wl_json_add_real(c, "flop_per_s_16bit", peaks.flop_per_s_16bit);
    wl_json_add_real(c, "flop_per_s_int16", peaks.flop_per_s_int16);
    wl_json_add_real(c, "bytes_per_s_read", peaks.bytes_per_s_read);
    wl_json_add_real(c, "bytes_per_s_copy", peaks.bytes_per_s_copy);
    wl_json_add_real(c, "bytes_per_s_add", peaks.bytes_per_s_add);
    wl_json_add_real(o, "step_wall_s", r->step.wall_s);
    wl_json_add_real(o, "step_cpu_s", r->step.cpu_s);
    wl_json_add_str(o, "clock", r->by_processor_time ? "processor" : "wall");
    row_json(wl_json_add_object(o, "sum"), r, &r->total);
    struct wl_json *rows = wl_json_add_array(o, "operations");
    for (size_t i = 0; i < r->n; i++) row_json(wl_json_add_object(rows, NULL), r, &r->v[i]);
}
