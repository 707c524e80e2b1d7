/* CodeCarbon's emissions.csv: kWh of CPUs, GPUs and memory in a run. Source: github.com/mlco2/codecarbon,
 * codecarbon/output_methods. Columns differ between versions. flush() writes the totals of a run so far, so that of the
 * rows of a run_id the longest counts. The energy of memory is always a model of its size. That of CPUs is measured
 * (RAPL, powermetrics) or a share of their TDP; the file does not say which. `timestamp` is local time at the end. */
#include "exchange/import/formats.h"
#include "exchange/import/tables/csv.h"

#include <math.h>
#include <string.h>

#define JOULES_PER_KWH 3.6e6

/* Of a row that stands for its run_id. */
struct kept {
    const char *run_id; /* NULL: has none */
    const char *part, *workload, *hardware;
    int64_t line, start_ns;
    double time_s, gpus;
    struct wl_table_energy energies[3];
    size_t n;
};

struct reader {
    struct wl_table_csv *t;
    struct wl_zone zone;
    struct kept *rows;
    size_t n, cap, superseded;
    struct wl_arena *a;
};

static bool read_energy(struct reader *r, struct kept *k, const char *column, const char *uuid, const char *scope,
                        bool estimated)
{
    double kwh;
    if (!wl_table_csv_has(r->t, column)) return true;
    if (!wl_table_csv_real(r->t, column, &kwh)) return false;
    if (kwh < 0) {
        wl_import_reject(r->t->im, "%s: %g kWh is below 0", column, kwh);
        return false;
    }
    k->energies[k->n++] = (struct wl_table_energy) { .uuid = uuid,
                                                     .scope = scope,
                                                     .integral = true,
                                                     .estimated = estimated,
                                                     .energy_j = kwh * JOULES_PER_KWH,
                                                     .power_w = kwh * JOULES_PER_KWH / k->time_s,
                                                     .why = "the field is empty" };
    return true;
}

static bool read_energies(struct reader *r, struct kept *k)
{
    if (!wl_table_csv_real(r->t, "gpu_count", &k->gpus)) return false;
    if (!read_energy(r, k, "cpu_energy", "cpu", "package", true)) return false;
    if (k->gpus >= 1 && !read_energy(r, k, "gpu_energy", "gpus", "gpu", false)) return false;
    const size_t measured = k->n;
    if (!read_energy(r, k, "ram_energy", "memory", "dram", true)) return false;
    double sum = 0;
    for (size_t i = 0; i < measured; i++) sum += isnan(k->energies[i].energy_j) ? 1 : k->energies[i].energy_j;
    if (sum > 0) return true;
    wl_import_reject(r->t->im,
                     "the energies of CPUs and GPUs are 0: nothing was measured, and that of memory is a model");
    return false;
}

static bool read_row(struct reader *r, struct kept *k)
{
    const struct wl_table_csv *t = r->t;
    const struct wl_slice stamp = wl_table_csv_field(t, "timestamp");
    int64_t end_ns;
    *k = (struct kept) { .line = t->im->in->line, .start_ns = WL_NO_NS };
    if (!wl_table_csv_positive(t, "duration", &k->time_s) || !read_energies(r, k)) return false;
    if (!wl_import_time(t->im, &r->zone, stamp, WL_DATE_YMD, &end_ns)) return false;
    k->start_ns = wl_table_start(end_ns, k->time_s);
    k->run_id = wl_table_csv_text(t, "run_id", r->a);
    k->workload = wl_table_csv_text(t, "project_name", r->a);
    k->hardware = wl_table_csv_text(t, k->gpus >= 1 ? "gpu_model" : "cpu_model", r->a);
    k->part = k->run_id ? wl_strf(r->a, "run %.8s", k->run_id)
                        : wl_strf(r->a, "row %lld, without run_id", (long long)t->rows);
    const char *version = wl_table_csv_text(t, "codecarbon_version", r->a);
    if (version) wl_import_set_tool(t->im, wl_strf(r->a, "CodeCarbon %s", version));
    return true;
}

/* Of the rows of a run the longest, which are totals so far. */
static void keep(struct reader *r, const struct kept *k)
{
    for (size_t i = 0; k->run_id && i < r->n; i++) {
        if (!r->rows[i].run_id || !wl_str_eq(r->rows[i].run_id, k->run_id)) continue;
        r->superseded++;
        if (k->time_s >= r->rows[i].time_s) r->rows[i] = *k;
        return;
    }
    WL_GROW(r->a, r->rows, r->n, r->cap);
    r->rows[r->n++] = *k;
}

static int add(struct wl_import *im, const struct kept *k, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    row.part = k->part;
    row.set.workload = k->workload;
    row.set.hardware = k->hardware;
    row.start_ns = k->start_ns;
    row.time_s = k->time_s;
    row.energies = k->energies;
    row.n_energies = k->n;
    return wl_table_add(im, &row, e);
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader r = { .t = wl_new(a, struct wl_table_csv), .a = a };
    struct kept k;
    int rc = wl_zone_open(&r.zone, im->opts->timezone, a, e);
    if (rc == 0) rc = wl_table_csv_open(r.t, im, ',', "duration", a, e);
    if (rc == 0)
        while ((rc = wl_table_csv_next(r.t, e)) > 0)
            if (read_row(&r, &k)) keep(&r, &k);
    for (size_t i = 0; i < r.n && rc == 0; i++) rc = add(im, &r.rows[i], e);
    if (r.superseded)
        wl_import_pass_over(im, "totals so far of a run (run_id) that a later row continues", r.superseded);
    if (r.n)
        wl_import_note(im, "energy of memory is CodeCarbon's model of its size, and that of CPUs may be a share of "
                           "their TDP, which the "
                           "file does not say: both are estimated");
    wl_arena_free(a);
    return rc;
}

static const char *const columns[] = { "timestamp", "project_name", "run_id", "duration", "energy_consumed", NULL };

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    return wl_table_csv_recognise(h, ',', columns, a);
}

const struct wl_import_format wl_import_codecarbon = {
    .name = "codecarbon",
    .title = "CodeCarbon's emissions.csv",
    .looks_for = "a header with project_name, run_id, duration and energy_consumed",
    .kind = WL_IMPORT_TABLE,
    .columns = columns,
    .recognise = recognise,
    .read = read_file,
};
