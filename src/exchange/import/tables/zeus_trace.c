/* The power traces of the Zeus paper (You et al., NSDI 2023): the time of an epoch and the mean power of the one GPU at
 * each batch size and power limit. Source: github.com/ml-energy/zeus, trace/README.md. */
#include "exchange/import/formats.h"
#include "exchange/import/tables/csv.h"

#include <math.h>
#include <string.h>

/* "summary_power_v100.csv": the GPU. */
static const char *hardware_of(struct wl_import *im, struct wl_arena *a)
{
    static const char prefix[] = "summary_power_";
    const char *base = wl_path_base(im->in->path), *dot = strrchr(base, '.');
    if (!wl_str_starts(base, prefix) || !dot || dot <= base + strlen(prefix)) return NULL;
    wl_import_note(im, "the hardware is from the names of the files, summary_power_HARDWARE.csv");
    return wl_strndup(a, base + strlen(prefix), (size_t)(dot - base) - strlen(prefix));
}

static int read_row(const struct wl_table_csv *t, struct wl_arena *a, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    struct wl_table_energy energies[2] = { { .uuid = "gpu0", .scope = "gpu", .integral = true } };
    struct wl_epoch_row epoch = {
        .epoch = 1, .begin_ns = WL_NO_NS, .end_ns = WL_NO_NS, .samples = NAN, .updates = NAN, .tokens = NAN
    };
    const char *network = wl_table_csv_text(t, "network", a), *data = wl_table_csv_text(t, "dataset", a);
    const char *optimizer = wl_table_csv_text(t, "optimizer", a);
    if (!wl_table_csv_positive(t, "time_per_epoch", &row.time_s)) return 0;
    if (!wl_table_csv_positive(t, "average_power", &energies[0].power_w)) return 0;
    if (!wl_table_csv_positive(t, "power_limit", &row.set.power_cap_w)) return 0;
    if (!wl_table_csv_positive(t, "batch_size", &row.set.global_batch)) return 0;
    row.part = wl_strf(a, "row %lld", (long long)t->rows);
    row.set.workload = network && data ? wl_strf(a, "%s-%s", network, data) : network;
    row.set.hardware = hardware_of(t->im, a);
    row.set.workers = 1;
    row.set.local_batch = row.set.global_batch;
    if (optimizer) row.set.extra = wl_settings_extra((struct wl_setting_pair[]) { { "optimizer", optimizer } }, 1, a);
    energies[0].model = row.set.hardware;
    energies[0].energy_j = energies[0].power_w * row.time_s;
    energies[1] = energies[0];
    energies[1].epoch = 1;
    epoch.time_s = row.time_s;
    row.energies = energies;
    row.n_energies = 2;
    row.epochs = &epoch;
    row.n_epochs = 1;
    return wl_table_add(t->im, &row, e);
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct wl_table_csv *t = wl_new(a, struct wl_table_csv);
    int rc = wl_table_csv_open(t, im, ',', "time_per_epoch", a, e);
    wl_import_set_tool(im, "Zeus");
    wl_import_note(
        im, "power is of one GPU, energy is power times time; each setting was measured once, so that nothing is known "
            "of the spread");
    if (rc == 0) rc = wl_table_csv_each(t, read_row, e);
    wl_arena_free(a);
    return rc;
}

static const char *const columns[] = { "batch_size", "power_limit", "time_per_epoch", "average_power", NULL };

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    return wl_table_csv_recognise(h, ',', columns, a);
}

const struct wl_import_format wl_import_zeus_trace = {
    .name = "zeus-trace",
    .title = "power trace of the Zeus paper",
    .looks_for = "a header with power_limit, time_per_epoch and average_power",
    .kind = WL_IMPORT_TABLE,
    .columns = columns,
    .recognise = recognise,
    .read = read_file,
};
