/* What people may take for measurements and is none. */
#include "exchange/import/formats.h"
#include "exchange/import/hdf5.h"

#include <string.h>

static bool is_compressed(const struct wl_import_head *h, struct wl_arena *a)
{
    static const struct {
        const char *bytes;
        size_t n;
    } magic[] = { { "\x1f\x8b", 2 },
                  { "BZh", 3 },
                  { "\xfd"
                    "7zXZ",
                    5 },
                  { "\x28\xb5\x2f\xfd", 4 },
                  { "PK\x03\x04", 4 } };
    (void)a;
    for (size_t i = 0; i < WL_COUNT(magic); i++)
        if (h->n >= magic[i].n && memcmp(h->text, magic[i].bytes, magic[i].n) == 0) return true;
    return false;
}

static bool is_other_hdf5(const struct wl_import_head *h, struct wl_arena *a)
{
    return wl_import_is_hdf5(h) && !wl_import_perun.recognise(h, a) && !wl_import_jpwr.recognise(h, a);
}

/* With its byte-order mark, or in the Latin letters of a header without it. */
static bool is_utf16(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    if (h->n < 4) return false;
    if (memcmp(h->text, "\xff\xfe", 2) == 0 || memcmp(h->text, "\xfe\xff", 2) == 0) return true;
    return (!h->text[0] && h->text[1] && !h->text[2] && h->text[3]) ||
           (h->text[0] && !h->text[1] && h->text[2] && !h->text[3]);
}

static bool is_counter_list(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    if (!line || !wl_str_starts(line, "DCGM_")) return false;
    const struct wl_strs fields = wl_str_split(a, line, ',');
    return fields.n >= 3 && (wl_str_eq(fields.v[1], "gauge") || wl_str_eq(fields.v[1], "counter"));
}

static bool is_nvml_mock(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return wl_import_head_has(h, "\ndevice_defaults:") ||
           (wl_import_head_has(h, "driver_version:") && wl_import_head_has(h, "nvml_version:"));
}

static bool is_geopm(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return wl_import_head_has(h, "GEOPM Version:") || wl_import_head_has(h, "GEOPM Meta Data:");
}

static bool is_perun_tree(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    return line && line[0] == '/' && strstr(line, " GROUP {");
}

static bool is_perun_report(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    return line && wl_str_eq(line, "PERUN REPORT");
}

static bool is_perun_bench(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return h->text[0] == '[' && wl_import_head_has(h, "\"range\":") && wl_import_head_has(h, " - RUNTIME\"");
}

static bool is_jpwr_totals(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    return line && wl_str_eq(line, ",0") && wl_import_head_has(h, ":0,");
}

static bool is_train_trace(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    return line && strstr(line, ",target_metric,target_epoch");
}

static bool is_mlperf_power(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return wl_import_head_has(h, ":::MLLOG") && wl_import_head_has(h, "\"power_measurement_start\"");
}

static bool is_number_alone(const struct wl_import_head *h, struct wl_arena *a)
{
    double v;
    return h->whole && h->n < 64 && wl_str_to_real(wl_str_strip(a, h->text), &v) == 0;
}

static bool is_blank(const struct wl_import_head *h, struct wl_arena *a)
{
    return h->whole && *wl_str_strip(a, h->text) == '\0' && strlen(h->text) == h->n;
}

const struct wl_import_refusal wl_import_refusals[] = {
    { is_blank, "the file is empty but for blanks" },
    { is_compressed, "a compressed file: unpack it first, as in zcat FILE | wattlaw import /dev/stdin" },
    { is_other_hdf5, "an HDF5 file that neither perun nor jpwr wrote" },
    { is_utf16,
      "text in UTF-16, as PowerShell writes it: convert it first, as in iconv -f UTF-16 -t UTF-8 FILE | wattlaw "
      "import /dev/stdin" },
    { is_counter_list,
      "the list of fields that dcgm-exporter is to read, without measurements: import what it answers" },
    { is_nvml_mock, "the description of a GPU for a simulated NVML, without measurements" },
    { is_geopm, "a report of GEOPM, which has means of regions and not the readings they are from" },
    { is_perun_tree, "the list of what is in an HDF5 file of perun, without measurements: import its CSV" },
    { is_perun_report, "perun's report for people: import the CSV or JSON of perun export" },
    { is_perun_bench,
      "perun's means of all rounds, for github-action-benchmark: import the CSV or JSON of perun export" },
    { is_jpwr_totals, "the totals that jpwr computed, without times: import the power.*.csv next to it" },
    { is_train_trace,
      "a training trace of the Zeus paper, which has epochs to a target and neither times nor energies" },
    { is_mlperf_power,
      "the power of a node in an MLPerf run, which is read together with the result log in its folder" },
    { is_number_alone, "a single number, without a time or a unit" },
    { NULL, NULL },
};
