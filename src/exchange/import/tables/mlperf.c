/* MLPerf Training: result logs of ":::MLLOG {json}" lines, among whatever else a program prints; the description of the
 * system in systems/NAME.json; and the power of each node in node_*.txt. Source: github.com/mlcommons/logging, and the
 * results of MLCommons. A log is of one run, from run_start to run_stop. */
#include "exchange/import/formats.h"
#include "exchange/import/reader.h"

#include <math.h>
#include <string.h>

#define MARKER ":::MLLOG"
enum { LONGEST_JSON = 1 << 20, MOST_READINGS = 1 << 22 };

struct epoch {
    double number; /* as the log has it, from 0 or 1 */
    int64_t begin_ns, end_ns;
};

/* A run that is being read. */
struct mlperf {
    struct wl_import *im;
    struct wl_arena *a;
    const char *benchmark, *platform;
    double global_batch, local_batch, accumulation, train_samples, samples_seen, target;
    int64_t start_ns, stop_ns; /* WL_NO_NS: not seen */
    const char *status;        /* of run_stop */
    struct epoch *epochs;
    size_t n_epochs, epochs_cap;
    struct wl_metric_row *metrics; /* .epoch as the log has it */
    size_t n_metrics, metrics_cap;
    bool trained; /* something happened since run_start */
    size_t runs, lines;
};

/* What of a log is about the run and not about the system. */
static void new_run(struct mlperf *m)
{
    m->samples_seen = NAN;
    m->start_ns = m->stop_ns = WL_NO_NS;
    m->status = NULL;
    m->n_epochs = m->n_metrics = 0;
    m->trained = false;
}

/* ---- the system ---- */

static double number_of(const struct wl_json *v)
{
    double n = wl_json_real(v);
    const char *text = wl_json_str(v);
    if (text && wl_str_to_real(text, &n) < 0) return NAN;
    return n >= 1 && n < 1e7 ? floor(n) : NAN;
}

/* SUBMITTER/results/SYSTEM/BENCHMARK/result_0.txt and SUBMITTER/systems/SYSTEM.json, as submissions are laid out. */
static bool read_system(struct mlperf *m, struct wl_table_row *row)
{
    struct wl_arena *a = m->a;
    char *system = wl_path_dir(a, wl_path_dir(a, wl_path_absolute(a, m->im->in->path))),
         *results = wl_path_dir(a, system), *text;
    const char *file = wl_strf(a, "systems/%s.json", wl_path_base(system));
    const char *places[] = { wl_path_join(a, wl_path_dir(a, results), file), wl_path_join(a, results, file) };
    struct wl_json *root;
    struct wl_err why = { 0 };
    for (size_t i = 0; i < WL_COUNT(places); i++) {
        if (!wl_is_file(places[i]) || wl_file_read(places[i], LONGEST_JSON, &text, NULL, a, &why) < 0) continue;
        if (wl_json_parse(text, places[i], &root, a, &why) < 0) {
            wl_import_note(m->im, "%s: not used: %s", places[i], why.msg);
            continue;
        }
        row->set.nodes = number_of(wl_json_get(root, "number_of_nodes"));
        row->set.workers = row->set.nodes * number_of(wl_json_get(root, "accelerators_per_node"));
        const char *model = wl_json_str(wl_json_get(root, "accelerator_model_name"));
        row->set.hardware = model && *model ? model : wl_json_str(wl_json_get(root, "system_name"));
        return !isnan(row->set.workers);
    }
    return false;
}

/* "8xDGXA100": nodes and hardware; as many accelerators as local batches are in a global one. */
static void guess_system(struct mlperf *m, struct wl_table_row *row)
{
    struct wl_slice rest;
    double nodes;
    const double workers = m->global_batch / (m->local_batch * (isnan(m->accumulation) ? 1 : m->accumulation));
    if (m->platform && wl_slice_real_then(wl_slice_of(m->platform), &nodes, &rest) && rest.n > 1 && rest.s[0] == 'x' &&
        nodes >= 1) {
        row->set.nodes = nodes;
        const char *name = wl_slice_text((struct wl_slice) { rest.s + 1, rest.n - 1 }, m->a);
        row->set.hardware = wl_str_eq(name, "SUBMISSION_PLATFORM_PLACEHOLDER") ? NULL : name; /* nobody has named it */
    }
    if (workers >= 1 && workers == floor(workers)) {
        row->set.workers = workers;
        wl_import_note(
            m->im,
            "no systems/NAME.json beside the results: the number of accelerators is global batch / local batch / "
            "accumulation, and the nodes are of submission_platform");
    } else if (isnan(m->im->opts->set->workers)) {
        wl_import_note(
            m->im,
            "no systems/NAME.json beside the results: the number of accelerators is unknown, --workers gives it");
    }
}

/* ---- power of the nodes ---- */

/* The readings of a node's log in the run. */
static int read_power(struct mlperf *m, const char *path, struct wl_table_series *out, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(m->a);
    struct wl_lines in;
    struct wl_slice line;
    int64_t *t_ns = NULL;
    double *watts = NULL;
    size_t n = 0, t_cap = 0, w_cap = 0;
    int rc = wl_lines_open(&in, path, scratch, e);
    while (rc == 0 && (rc = wl_lines_next(&in, &line, e)) > 0) {
        const char *at = memmem(line.s, line.n, MARKER, strlen(MARKER));
        struct wl_arena *a = wl_arena_new(scratch);
        struct wl_json *root = NULL;
        size_t skip = at ? (size_t)(at - line.s) + strlen(MARKER) : 0;
        if (at && wl_json_parse(wl_strndup(a, line.s + skip, line.n - skip), path, &root, a, NULL) == 0 &&
            wl_str_eq(wl_json_str(wl_json_get(root, "key")), "power_reading")) {
            const double ms = wl_json_real(wl_json_get(root, "time_ms")), w = wl_json_real(wl_json_get(root, "value"));
            const int64_t t = ms > 0 && ms < 9e12 ? (int64_t)ms * 1000000 : 0;
            if (w >= 0 && t && (n == 0 || t > t_ns[n - 1]) && n < MOST_READINGS) {
                size_t k = n;
                WL_GROW(m->a, t_ns, n, t_cap);
                WL_GROW(m->a, watts, k, w_cap);
                t_ns[n] = t;
                watts[n++] = w;
            }
        }
        wl_arena_free(a);
        rc = 0;
    }
    wl_arena_free(scratch);
    const char *base = wl_path_base(path);
    *out = (struct wl_table_series) { .host = wl_strndup(m->a, base, strcspn(base, ".")),
                                      .uuid = "node",
                                      .scope = "node",
                                      .variant = "average",
                                      .t_ns = t_ns,
                                      .power_w = watts,
                                      .n = n };
    return rc;
}

/* The logs of all nodes next to the result, whose readings must be of the run's time: a node's log is of one run. */
static int read_nodes(struct mlperf *m, struct wl_table_row *row, struct wl_err *e)
{
    struct wl_strs names = { 0 };
    const char *dir = wl_path_dir(m->a, m->im->in->path);
    int rc = wl_dir_list(dir, &names, m->a, NULL);
    if (rc < 0) return 0; /* a result without a folder: a pipe */
    struct wl_table_series *series = wl_new_array(m->a, struct wl_table_series, names.n);
    for (size_t i = 0; i < names.n && rc == 0; i++) {
        struct wl_table_series *x = &series[row->n_series];
        size_t n = strlen(names.v[i]);
        if (!wl_str_starts(names.v[i], "node_") || n < 5 || !wl_str_eq(names.v[i] + n - 4, ".txt")) continue;
        rc = read_power(m, wl_path_join(m->a, dir, names.v[i]), x, e);
        if (rc < 0 || x->n < 2 || x->t_ns[x->n - 1] <= m->start_ns || x->t_ns[0] >= m->stop_ns) continue;
        const double period_s = (double)(x->t_ns[x->n - 1] - x->t_ns[0]) / WL_NS_PER_S / (double)(x->n - 1);
        if (!(row->period_s > period_s)) row->period_s = period_s;
        row->n_series++;
    }
    row->series = series;
    if (rc == 0 && row->n_series && !isnan(row->set.nodes) && row->set.nodes != (double)row->n_series) {
        wl_import_note(m->im, "%s: power of %zu of %g nodes: not used, since it is not that of the run",
                       m->im->in->path, row->n_series, row->set.nodes);
        row->n_series = 0;
    }
    return rc;
}

/* ---- a run ---- */

static double epoch_numbered(const struct mlperf *m, double number)
{
    for (size_t i = 0; i < m->n_epochs; i++)
        if (m->epochs[i].number == number && m->epochs[i].end_ns != WL_NO_NS) return (double)(i + 1);
    return NAN;
}

static void add_epochs(const struct mlperf *m, struct wl_table_row *row)
{
    struct wl_epoch_row *v = wl_new_array(m->a, struct wl_epoch_row, m->n_epochs);
    for (size_t i = 0; i < m->n_epochs; i++) {
        const struct epoch *x = &m->epochs[i];
        if (x->end_ns == WL_NO_NS || x->end_ns <= x->begin_ns) continue;
        v[row->n_epochs++] = (struct wl_epoch_row) { .epoch = (int64_t)i + 1,
                                                     .begin_ns = x->begin_ns,
                                                     .end_ns = x->end_ns,
                                                     .time_s = (double)(x->end_ns - x->begin_ns) / WL_NS_PER_S,
                                                     .samples = m->train_samples,
                                                     .updates = NAN,
                                                     .tokens = NAN };
    }
    row->epochs = v;
}

/* Evaluations of epochs; of others the last one, as that of the run. */
static void add_metrics(const struct mlperf *m, struct wl_table_row *row)
{
    struct wl_metric_row *v = wl_new_array(m->a, struct wl_metric_row, m->n_metrics + 1);
    const struct wl_metric_row *last = NULL;
    for (size_t i = 0; i < m->n_metrics; i++) {
        const struct wl_metric_row x = { epoch_numbered(m, m->metrics[i].epoch), m->metrics[i].name,
                                         m->metrics[i].value };
        if (isnan(x.epoch))
            last = &m->metrics[i];
        else
            v[row->n_metrics++] = x;
    }
    if (last) v[row->n_metrics++] = (struct wl_metric_row) { NAN, last->name, last->value };
    if (!isnan(m->target)) v[row->n_metrics++] = (struct wl_metric_row) { NAN, "target", m->target };
    row->metrics = v;
}

static int finish_run(struct mlperf *m, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    m->runs++;
    row.part = m->runs == 1 ? wl_path_base(m->im->in->path)
                            : wl_strf(m->a, "%s, run %zu", wl_path_base(m->im->in->path), m->runs);
    row.set.workload = m->benchmark;
    row.set.global_batch = m->global_batch;
    row.set.local_batch = m->local_batch;
    row.set.accumulation = m->accumulation;
    row.start_ns = m->start_ns;
    row.time_s = (double)(m->stop_ns - m->start_ns) / WL_NS_PER_S;
    if (!read_system(m, &row)) guess_system(m, &row);
    add_epochs(m, &row);
    add_metrics(m, &row);
    if (row.n_epochs == 0) row.samples = m->samples_seen;
    if (!wl_str_eq(m->status, "success"))
        row.failed = wl_strf(m->a, "MLPerf: %s: the quality target was not reached",
                             m->status ? m->status : "run_stop without a status");
    int rc = read_nodes(m, &row, e);
    if (rc == 0 && row.n_series == 0)
        wl_import_note(m->im, "no node_*.txt beside the results: there is no energy, and laws of time alone follow");
    if (rc == 0) rc = wl_table_add(m->im, &row, e);
    new_run(m);
    return rc;
}

/* ---- lines ---- */

static void open_epoch(struct mlperf *m, double number, int64_t t_ns)
{
    if (m->n_epochs && m->epochs[m->n_epochs - 1].end_ns == WL_NO_NS) m->n_epochs--; /* it did not end */
    WL_GROW(m->a, m->epochs, m->n_epochs, m->epochs_cap);
    m->epochs[m->n_epochs++] = (struct epoch) { number, t_ns, WL_NO_NS };
}

static void close_epoch(struct mlperf *m, double number, int64_t t_ns)
{
    struct epoch *x = m->n_epochs ? &m->epochs[m->n_epochs - 1] : NULL;
    if (x && x->end_ns == WL_NO_NS && (x->number == number || isnan(number) || isnan(x->number))) x->end_ns = t_ns;
}

static double number_in(const struct wl_json *metadata, const char *key)
{
    return wl_json_is_object(metadata) ? wl_json_real(wl_json_get(metadata, key)) : NAN;
}

static void add_metric(struct mlperf *m, const char *key, const struct wl_json *value, const struct wl_json *metadata)
{
    const double v = wl_json_real(value), samples = number_in(metadata, "samples_count");
    if (!isnan(samples)) m->samples_seen = samples;
    if (isnan(v)) return;
    WL_GROW(m->a, m->metrics, m->n_metrics, m->metrics_cap);
    m->metrics[m->n_metrics++] = (struct wl_metric_row) { number_in(metadata, "epoch_num"), wl_strdup(m->a, key), v };
}

static bool starts_run(struct mlperf *m, int64_t t_ns)
{
    if (m->start_ns != WL_NO_NS && !m->trained) return true; /* each rank says so */
    if (m->start_ns != WL_NO_NS)
        wl_import_reject(m->im, "run_start, and the run before it has no run_stop: it did not end");
    if (m->start_ns != WL_NO_NS) new_run(m);
    m->start_ns = t_ns;
    return true;
}

static int read_event(struct mlperf *m, const struct wl_json *root, struct wl_err *e)
{
    const struct {
        const char *key;
        double *to;
    } counts[] = { { "global_batch_size", &m->global_batch }, { "d_batch_size", &m->local_batch },
                   { "local_batch_size", &m->local_batch },   { "gradient_accumulation_steps", &m->accumulation },
                   { "train_samples", &m->train_samples },    { "target_accuracy", &m->target },
                   { "quality_target", &m->target } };
    const char *key = wl_json_str(wl_json_get(root, "key"));
    const struct wl_json *value = wl_json_get(root, "value"), *metadata = wl_json_get(root, "metadata");
    const double ms = wl_json_real(wl_json_get(root, "time_ms"));
    if (!key || !(ms > 0 && ms < 9e12)) {
        wl_import_reject(m->im, MARKER " without a key, or without time_ms since 1970");
        return 0;
    }
    const int64_t t_ns = (int64_t)ms * 1000000;
    m->lines++;
    for (size_t i = 0; i < WL_COUNT(counts); i++)
        if (wl_str_eq(key, counts[i].key) && wl_json_real(value) > 0) *counts[i].to = wl_json_real(value);
    if (wl_str_eq(key, "submission_benchmark") && wl_json_str(value))
        m->benchmark = wl_strdup(m->a, wl_json_str(value));
    if (wl_str_eq(key, "submission_platform") && wl_json_str(value)) m->platform = wl_strdup(m->a, wl_json_str(value));
    if (wl_str_eq(key, "run_start")) return !starts_run(m, t_ns);
    if (m->start_ns == WL_NO_NS) return 0;
    m->trained =
        m->trained || wl_str_starts(key, "epoch_") || wl_str_starts(key, "block_") || wl_str_starts(key, "eval_");
    if (wl_str_eq(key, "epoch_start")) open_epoch(m, number_in(metadata, "epoch_num"), t_ns);
    if (wl_str_eq(key, "epoch_stop")) close_epoch(m, number_in(metadata, "epoch_num"), t_ns);
    if (wl_str_eq(key, "eval_accuracy") || wl_str_eq(key, "eval_loss")) add_metric(m, key, value, metadata);
    if (!wl_str_eq(key, "run_stop")) return 0;
    m->stop_ns = t_ns;
    const char *status = wl_json_is_object(metadata) ? wl_json_str(wl_json_get(metadata, "status")) : NULL;
    m->status = status ? wl_strdup(m->a, status) : NULL;
    return finish_run(m, e);
}

static int read_line(struct mlperf *m, struct wl_slice line, struct wl_err *e)
{
    const char *at = memmem(line.s, line.n, MARKER, strlen(MARKER));
    struct wl_err why = { 0 };
    struct wl_json *root;
    int rc = 0;
    if (!at) return 0;
    struct wl_arena *a = wl_arena_new(m->a);
    const size_t skip = (size_t)(at - line.s) + strlen(MARKER);
    if (m->im->in->nul || wl_json_parse(wl_strndup(a, line.s + skip, line.n - skip), "JSON", &root, a, &why) < 0)
        wl_import_reject(m->im, MARKER " is not followed by JSON: %.200s", m->im->in->nul ? "a NUL byte" : why.msg);
    else
        rc = read_event(m, root, e);
    wl_arena_free(a);
    return rc;
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct wl_slice line;
    struct mlperf *m = wl_new(a, struct mlperf);
    *m = (struct mlperf) { .im = im,
                           .a = a,
                           .global_batch = NAN,
                           .local_batch = NAN,
                           .accumulation = NAN,
                           .train_samples = NAN,
                           .target = NAN };
    new_run(m);
    int rc;
    while ((rc = wl_lines_next(im->in, &line, e)) > 0)
        if ((rc = read_line(m, line, e)) < 0) break;
    if (rc == 0 && m->start_ns != WL_NO_NS)
        wl_import_reject(im, "the log ends without run_stop: the run did not end, or the log is cut");
    if (rc == 0 && m->lines && m->runs == 0 && m->start_ns == WL_NO_NS)
        rc = wl_fail(e, WL_EINVAL, "%s: no run_start: not the log of a run", im->in->path);
    wl_arena_free(a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return wl_import_head_has(h, MARKER) && !wl_import_head_has(h, "\"power_measurement_start\"");
}

const struct wl_import_format wl_import_mlperf = {
    .name = "mlperf",
    .title = "MLPerf Training result log",
    .looks_for = "lines with " MARKER,
    .kind = WL_IMPORT_TABLE,
    .recognise = recognise,
    .read = read_file,
};
