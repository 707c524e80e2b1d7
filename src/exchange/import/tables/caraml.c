/* Result tables of CARAML, as JUBE prints them. Source: github.com/FZJ-JSC/CARAML. Columns differ between benchmarks,
 * and one file may hold several tables. The throughput is of all devices; Runtime(s) begins before the training. */
#include "exchange/import/formats.h"
#include "exchange/import/tables/csv.h"

#include <math.h>
#include <string.h>

/* What an iteration takes: given, or the samples of a global batch by the throughput. */
static bool read_iteration(const struct wl_table_csv *t, struct wl_table_row *row)
{
    double images, tokens, iteration_s, iterations;
    if (!wl_table_csv_real(t, "Images/second", &images) || !wl_table_csv_real(t, "Tokens/second", &tokens) ||
        !wl_table_csv_real(t, "Time/iteration(s)", &iteration_s) || !wl_table_csv_real(t, "Iterations", &iterations))
        return false;
    const double step_s = iteration_s > 0 ? iteration_s : images > 0 ? row->set.global_batch / images : NAN;
    if (!(step_s > 0)) {
        wl_import_reject(t->im, "no throughput: expected Images/second or Time/iteration(s) above 0");
        return false;
    }
    row->steps = iterations >= 1 ? iterations : 1;
    row->steps_s = step_s * row->steps;
    row->samples = row->set.global_batch * row->steps;
    if (tokens > 0) row->tokens = round(tokens * row->steps_s);
    return true;
}

/* Runtime(s) where the table has it; else the iterations. */
static bool read_time(const struct wl_table_csv *t, struct wl_table_row *row)
{
    double s;
    if (!wl_table_csv_real(t, "Runtime(s)", &s)) return false;
    row->time_s = s >= row->steps_s ? s : row->steps_s;
    if (row->time_s == row->steps_s) row->steps_s = NAN;
    return true;
}

static void read_names(const struct wl_table_csv *t, struct wl_table_row *row, struct wl_arena *a)
{
    static const struct {
        const char *column, *name;
    } further[] = { { "DataParallel", "data_parallel" },
                    { "Dataset", "dataset" },
                    { "IPU/replica", "ipus_per_replica" },
                    { "PipelineParallel", "pipeline" },
                    { "TensorParallel", "tensor" } };
    struct wl_setting_pair pairs[WL_COUNT(further)];
    size_t n = 0;
    const char *model = wl_table_csv_text(t, "Model", a), *size = wl_table_csv_text(t, "ModelSize", a);
    for (size_t i = 0; i < WL_COUNT(further); i++) {
        const char *v = wl_table_csv_text(t, further[i].column, a);
        if (v) pairs[n++] = (struct wl_setting_pair) { further[i].name, v };
    }
    row->set.extra = wl_settings_extra(pairs, n, a);
    row->set.workload = model && size ? wl_strf(a, "%s-%s", model, size) : model;
    row->set.hardware = wl_table_csv_text(t, "System", a);
}

/* jpwr's totals in Wh, of the path in the table: it is there only where the tables lie where the benchmark ran. The
 * path is looked for beside the table and above it, since it begins with the benchmark's folder. */
static const char *energy_file(struct wl_import *im, const char *named, struct wl_arena *a)
{
    enum { ABOVE = 8 };
    const char *dir = wl_path_dir(a, wl_path_absolute(a, im->in->path));
    for (int i = 0; i < ABOVE; i++, dir = wl_path_dir(a, dir)) {
        const char *at = wl_path_join(a, dir, named);
        if (wl_is_file(at)) return at;
    }
    return NULL;
}

static int read_energies(struct wl_import *im, const char *path, struct wl_table_row *row, struct wl_arena *a,
                         struct wl_err *e)
{
    enum { DEVICES = 4096 };
    struct wl_table_energy *v = wl_new_array(a, struct wl_table_energy, DEVICES);
    struct wl_lines in;
    struct wl_slice line, field[2];
    double wh;
    int rc = wl_lines_open(&in, path, a, e);
    while (rc == 0 && (rc = wl_lines_next(&in, &line, e)) > 0) {
        rc = 0;
        if (wl_slice_split(line, ',', field, 2) != 2 || field[0].n == 0 || !wl_slice_real(field[1], &wh) || wh < 0)
            continue;
        if (row->n_energies == DEVICES) break;
        const bool module = memmem(field[0].s, field[0].n, "Module", 6) != NULL;
        v[row->n_energies++] = (struct wl_table_energy) { .uuid = wl_slice_text(field[0], a),
                                                          .model = row->set.hardware,
                                                          .scope = module ? "module" : "gpu",
                                                          .integral = true,
                                                          .part = module,
                                                          .energy_j = wh * 3600,
                                                          .power_w = wh * 3600 / row->time_s };
    }
    if (row->n_energies) row->energies = v;
    if (rc == 0 && row->n_energies == 0) wl_import_note(im, "%s: no line 'DEVICE,Wh': the energy is missing", path);
    return rc;
}

/* Data-parallel workers: replicas of a model, or batches of a device in a global one. Whether Devices are those of a
 * node or of all nodes the tables do not say. */
static bool read_workers(const struct wl_table_csv *t, struct wl_settings *set)
{
    double replicas, devices;
    if (!wl_table_csv_real(t, "DataParallel", &replicas) || !wl_table_csv_positive(t, "Devices", &devices) ||
        !wl_table_csv_real(t, "Nodes", &set->nodes))
        return false;
    const double batches = set->global_batch / set->local_batch;
    set->workers = replicas >= 1                               ? replicas
                   : batches >= 1 && batches == floor(batches) ? batches
                   : set->nodes == 1                           ? devices
                                                               : NAN;
    if (isnan(set->workers))
        wl_import_note(
            t->im, "the number of workers follows from no column where there are several nodes: --workers gives it");
    return true;
}

static int read_row(const struct wl_table_csv *t, struct wl_arena *a, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    const char *job = wl_table_csv_text(t, "JobID", a), *named = wl_table_csv_text(t, "EnergyFile", a);
    if (!wl_table_csv_positive(t, "GlobalBatchSize", &row.set.global_batch) ||
        !wl_table_csv_real(t, "BatchSize/Device", &row.set.local_batch) || !read_workers(t, &row.set) ||
        !read_iteration(t, &row) || !read_time(t, &row))
        return 0;
    row.part = wl_strf(a, "job %s", job ? job : wl_strf(a, "of row %lld", (long long)t->rows));
    read_names(t, &row, a);
    const char *path = named ? energy_file(t->im, named, a) : NULL;
    if (!path)
        wl_import_note(t->im, "EnergyFile is the path of a file, which is not beside the table: there is no energy");
    int rc = path ? read_energies(t->im, path, &row, a, e) : 0;
    return rc < 0 ? rc : wl_table_add(t->im, &row, e);
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct wl_table_csv *t = wl_new(a, struct wl_table_csv);
    int rc = wl_table_csv_open(t, im, ',', "JobID", a, e);
    wl_import_set_tool(im, "CARAML");
    wl_import_note(
        im, "observations are of iterations, by the throughput; of Runtime(s) the start of the program is a part");
    if (rc == 0) rc = wl_table_csv_each(t, read_row, e);
    wl_arena_free(a);
    return rc;
}

static const char *const columns[] = { "JobID", "System", "Version", "Devices", "GlobalBatchSize", NULL };

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    return wl_table_csv_recognise(h, ',', columns, a);
}

const struct wl_import_format wl_import_caraml = {
    .name = "caraml",
    .title = "CARAML's table of results (JUBE)",
    .looks_for = "a header with JobID, System, Version, Devices and GlobalBatchSize",
    .kind = WL_IMPORT_TABLE,
    .columns = columns,
    .recognise = recognise,
    .read = read_file,
};
