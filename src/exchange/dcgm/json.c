/* The JSON of Prometheus' query_range and query. Source: prometheus.io/docs/prometheus/latest/querying/api.
 */
#include "exchange/dcgm/internal.h"

#include <math.h>
#include <string.h>

static const char *label(const struct wl_json *metric, const char *name, const char *other)
{
    const char *text = wl_json_str(wl_json_get(metric, name));
    if (!text || !*text) text = wl_json_str(wl_json_get(metric, other));
    return text && *text ? text : NULL;
}

static struct wl_dcgm_labels labels_of(const struct wl_json *metric)
{
    return (struct wl_dcgm_labels) { .uuid = label(metric, "UUID", "uuid"),
                                     .host = label(metric, "Hostname", "hostname"),
                                     .model = label(metric, "modelName", "modelName"),
                                     .driver = label(metric, "DCGM_FI_DRIVER_VERSION", "driver_version"),
                                     .gpu = label(metric, "gpu", "gpu"),
                                     .instance = label(metric, "GPU_I_ID", "GPU_I_ID") };
}

/* [1700000000.123, "302.2"] */
static int read_pair(struct wl_dcgm_reader *r, const struct wl_json *pair, const struct wl_dcgm_field *field,
                     const struct wl_dcgm_labels *labels, size_t result, size_t index, struct wl_err *e)
{
    double t_s = wl_json_real(wl_json_at(pair, 0));
    const char *value = wl_json_str(wl_json_at(pair, 1));
    if (t_s > 0 && t_s * 1e9 < 0x1p63 && value)
        return wl_dcgm_add(r, field, labels, field->name, value, (int64_t)(t_s * 1e3 + 0.5) * (WL_NS_PER_S / 1000), e);
    wl_dcgm_malformed(r, "result %zu, value %zu: expected [seconds since 1970, \"number\"]", result, index);
    return 0;
}

static int read_result(struct wl_dcgm_reader *r, const struct wl_json *result, size_t number, struct wl_err *e)
{
    const struct wl_json *metric = wl_json_get(result, "metric"), *values = wl_json_get(result, "values");
    const struct wl_json *one = wl_json_get(result, "value");
    const char *name = wl_json_str(wl_json_get(metric, "__name__"));
    const struct wl_dcgm_field *field = name ? wl_dcgm_field_named(name) : NULL;
    struct wl_dcgm_labels labels = labels_of(metric);
    int rc = 0;
    if (!name)
        wl_dcgm_malformed(r, "result %zu has no __name__: query the metric itself, not a function of it", number);
    if (!field) {
        r->out->ignored += name ? wl_json_size(values) : 0;
        return 0;
    }
    if (one) rc = read_pair(r, one, field, &labels, number, 1, e);
    for (size_t i = 0; i < wl_json_size(values) && rc == 0; i++)
        rc = read_pair(r, wl_json_at(values, i), field, &labels, number, i + 1, e);
    return rc;
}

int wl_dcgm_read_json(struct wl_dcgm_reader *r, const char *text, struct wl_err *e)
{
    struct wl_json *root;
    int rc = wl_json_parse(text, r->path, &root, r->scratch, e);
    if (rc < 0) return rc;
    const char *refused = wl_json_str(wl_json_get(root, "error"));
    if (refused) return wl_fail(e, WL_EINVAL, "%s: an error of Prometheus: %s", r->path, refused);
    const struct wl_json *data = wl_json_get(root, "data"), *results = wl_json_get(data ? data : root, "result");
    if (!results) results = root;
    r->line = 1;
    for (size_t i = 0; i < wl_json_size(results) && rc == 0; i++) rc = read_result(r, wl_json_at(results, i), i + 1, e);
    return rc;
}
