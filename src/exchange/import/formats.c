/* The table of formats, by priority. A new one is a file in series/ or tables/ and a row here. */
#include "exchange/import/formats.h"

const struct wl_import_format *const wl_import_formats[] = {
    &wl_import_nvidia_smi,
    &wl_import_dmon,
    &wl_import_dcgm,
    &wl_import_perun,
    &wl_import_jpwr,
    &wl_import_ptd,
    &wl_import_wattameter,
    &wl_import_alumet,
    &wl_import_nvtop,
    &wl_import_samples,
    &wl_import_perun_json,
    &wl_import_zeus,
    &wl_import_zeus_trace,
    &wl_import_mlperf,
    &wl_import_caraml,
    &wl_import_codecarbon,
    &wl_import_slurm,
    &wl_import_ear,
    &wl_import_carbontracker,
    &wl_import_tensorboard,
    &wl_import_lightning,
    &wl_import_observations,
    &wl_import_openmetrics,
    &wl_import_results, /* the last one: generic */
    NULL,
};
