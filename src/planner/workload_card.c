#include "planner/workload_card.h"

#include "planner/internal.h"

#include <math.h>

/* A number of the file, or a sum of them, that a key of [workload NAME] would give. */
struct filler {
    const char *path;
    const struct wl_opt *rows; /* of the keys: their ranges hold for the card */
    struct wl_planner_workload *w;
};

static double number(const struct wl_json *o, const char *key) { return wl_json_real(wl_json_get(o, key)); }

/* Sets a key that the plan does not have to v, in its unit; NAN: the card does not say. `from`: where in the file. */
static int fill(const struct filler *f, const char *key, const char *from, double v, struct wl_err *e)
{
    const struct wl_opt *o = wl_opts_find(f->rows, key);
    double *to = (double *)((char *)f->w + o->offset);
    if (!isnan(v) && !(v >= o->min && v <= o->max))
        return wl_fail(e, WL_EINVAL, "%s: %s gives %s = %.10g: expected a number from %.10g to %.10g%s%s%s", f->path,
                       from, key, v, o->min, o->max, o->unit ? " (" : "", o->unit ? o->unit : "", o->unit ? ")" : "");
    if (isnan(*to)) *to = v;
    return 0;
}

/* Bytes that the steps of a training step read and write: of buffers whose size follows the batch, and of the others.
 */
static int traffic(const struct filler *f, const struct wl_json *steps, double *batch_b, double *fixed_b,
                   struct wl_err *e)
{
    const double MAX_B = 1e18;
    for (size_t i = 0; i < wl_json_size(steps); i++) {
        const struct wl_json *step = wl_json_at(steps, i), *buffers = wl_json_get(step, "buffers");
        if (!wl_json_bool(wl_json_get(step, "training"), false)) continue;
        for (size_t k = 0; k < wl_json_size(buffers); k++) {
            const struct wl_json *b = wl_json_at(buffers, k);
            const char *memory = wl_json_str(wl_json_get(b, "memory"));
            const bool follows =
                wl_str_eq(memory, "value") || wl_str_eq(memory, "input") || wl_str_eq(memory, "output");
            const double bytes = number(b, "bytes");
            if (!(bytes >= 0 && bytes <= MAX_B))
                return wl_fail(e, WL_EINVAL,
                               "%s: steps[%zu].buffers[%zu].bytes = %.10g: expected a number from 0 to %g", f->path, i,
                               k, bytes, MAX_B);
            *(follows ? batch_b : fixed_b) += bytes;
        }
    }
    return 0;
}

static int fill_memory(const struct filler *f, const struct wl_json *m, double batch, struct wl_err *e)
{
    const double fixed_b = number(m, "parameter_bytes") + number(m, "gradient_bytes") + number(m, "optimizer_bytes") +
                           number(m, "statistic_bytes");
    int rc = fill(f, "fixed_memory", "memory", fixed_b / 1e9, e);
    return rc ? rc : fill(f, "sample_memory", "memory", (number(m, "total_bytes") - fixed_b) / 1e6 / batch, e);
}

static const char *dtype_of(const char *precision)
{
    static const char *const names[] = { "f32", "tf32", "bf16", "f16" };
    for (size_t i = 0; i < WL_COUNT(names); i++)
        if (wl_str_eq(precision, names[i])) return names[i];
    return NULL;
}

static int fill_all(const struct filler *f, const struct wl_json *root, double batch, struct wl_err *e)
{
    double batch_b = 0, fixed_b = 0;
    const struct wl_json *steps = wl_json_get(root, "steps");
    int rc = fill(f, "local_batch", "options.local_batch", batch, e);
    if (rc == 0) rc = fill(f, "parameters", "parameters", number(root, "parameters"), e);
    if (rc == 0) rc = fill(f, "flops", "train_flops_per_sample", number(root, "train_flops_per_sample") / 1e9, e);
    if (rc == 0) rc = traffic(f, steps, &batch_b, &fixed_b, e);
    if (rc == 0) rc = fill(f, "traffic", "steps", batch_b / 1e6 / batch, e);
    if (rc == 0) rc = fill(f, "step_traffic", "steps", fixed_b / 1e6, e);
    return rc ? rc : fill_memory(f, wl_json_get(root, "memory"), batch, e);
}

int wl_planner_workload_card_read(const char *path, struct wl_planner_workload *w, struct wl_arena *a, struct wl_err *e)
{
    enum { MAX = 64 << 20 };
    char *text;
    int rc = wl_file_read(path, MAX, &text, NULL, a, e);
    return rc ? rc : wl_planner_workload_card_parse(path, text, w, a, e);
}

int wl_planner_workload_card_parse(const char *path, const char *text, struct wl_planner_workload *w,
                                   struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *root;
    const struct filler f = { path, wl_planner_workload_keys, w };
    int rc = wl_json_parse(text, path, &root, a, e);
    if (rc) return rc;
    const double batch = number(wl_json_get(root, "options"), "local_batch"), parameters = number(root, "parameters");
    if (isnan(batch) || isnan(parameters))
        return wl_fail(e, WL_EINVAL,
                       "%s: not a workload card: expected the output of wattlaw-train MODEL --explain --json", path);
    if (!w->dtype) w->dtype = dtype_of(wl_json_str(wl_json_get(root, "precision")));
    return fill_all(&f, root, batch, e);
}
