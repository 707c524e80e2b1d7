#include "planner/workload_card.h"

#include <math.h>

static double number(const struct wl_json *o, const char *key) { return wl_json_real(wl_json_get(o, key)); }

static void fill(double *to, double v)
{
    if (isnan(*to)) *to = v;
}

/* Bytes that the steps of a training step read and write: of buffers whose size follows the batch, and of the others.
 */
static void traffic(const struct wl_json *steps, double *batch_b, double *fixed_b)
{
    for (size_t i = 0; i < wl_json_size(steps); i++) {
        const struct wl_json *step = wl_json_at(steps, i), *buffers = wl_json_get(step, "buffers");
        if (!wl_json_bool(wl_json_get(step, "training"), false)) continue;
        for (size_t k = 0; k < wl_json_size(buffers); k++) {
            const struct wl_json *b = wl_json_at(buffers, k);
            const char *memory = wl_json_str(wl_json_get(b, "memory"));
            const bool follows =
                wl_str_eq(memory, "value") || wl_str_eq(memory, "input") || wl_str_eq(memory, "output");
            *(follows ? batch_b : fixed_b) += number(b, "bytes");
        }
    }
}

static void fill_memory(const struct wl_json *m, double batch, struct wl_planner_workload *w)
{
    const double fixed_b = number(m, "parameter_bytes") + number(m, "gradient_bytes") + number(m, "optimizer_bytes") +
                           number(m, "statistic_bytes");
    fill(&w->fixed_memory_gb, fixed_b / 1e9);
    fill(&w->sample_memory_mb, (number(m, "total_bytes") - fixed_b) / 1e6 / batch);
}

static const char *dtype_of(const char *precision)
{
    return wl_str_eq(precision, "bf16") ? "bf16" : wl_str_eq(precision, "f32") ? "f32" : NULL;
}

int wl_planner_workload_card_read(const char *path, struct wl_planner_workload *w, struct wl_arena *a, struct wl_err *e)
{
    enum { MAX = 64 << 20 };
    char *text;
    struct wl_json *root;
    int rc = wl_file_read(path, MAX, &text, NULL, a, e);
    if (rc == 0) rc = wl_json_parse(text, path, &root, a, e);
    if (rc) return rc;
    const double batch = number(wl_json_get(root, "options"), "local_batch"), parameters = number(root, "parameters");
    if (!(batch > 0) || !(parameters > 0))
        return wl_fail(e, WL_EINVAL,
                       "%s: not a workload card: expected the output of wattlaw-train MODEL --explain --json", path);
    double batch_b = 0, fixed_b = 0;
    traffic(wl_json_get(root, "steps"), &batch_b, &fixed_b);
    fill(&w->parameters, parameters);
    fill(&w->local_batch, batch);
    fill(&w->gflop, number(root, "train_flops_per_sample") / 1e9);
    fill(&w->traffic_mb, batch_b / 1e6 / batch);
    fill(&w->step_mb, fixed_b / 1e6);
    if (!w->dtype) w->dtype = dtype_of(wl_json_str(wl_json_get(root, "precision")));
    fill_memory(wl_json_get(root, "memory"), batch, w);
    return 0;
}
