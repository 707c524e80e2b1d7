#include "cmd/cmd.h"

extern const struct wl_cmd wl_cmd_audit;
extern const struct wl_cmd wl_cmd_cancel;
extern const struct wl_cmd wl_cmd_compare;
extern const struct wl_cmd wl_cmd_demo;
extern const struct wl_cmd wl_cmd_doctor;
extern const struct wl_cmd wl_cmd_energy;
extern const struct wl_cmd wl_cmd_export;
extern const struct wl_cmd wl_cmd_exporter;
extern const struct wl_cmd wl_cmd_fit;
extern const struct wl_cmd wl_cmd_import;
extern const struct wl_cmd wl_cmd_job;
extern const struct wl_cmd wl_cmd_logs;
extern const struct wl_cmd wl_cmd_measure;
extern const struct wl_cmd wl_cmd_merge;
extern const struct wl_cmd wl_cmd_pause;
extern const struct wl_cmd wl_cmd_plan;
extern const struct wl_cmd wl_cmd_predict;
extern const struct wl_cmd wl_cmd_rebuild;
extern const struct wl_cmd wl_cmd_recommend;
extern const struct wl_cmd wl_cmd_report;
extern const struct wl_cmd wl_cmd_restore;
extern const struct wl_cmd wl_cmd_resume;
extern const struct wl_cmd wl_cmd_retry;
extern const struct wl_cmd wl_cmd_serve;
extern const struct wl_cmd wl_cmd_serve_caps;
extern const struct wl_cmd wl_cmd_setup;
extern const struct wl_cmd wl_cmd_sweep;
extern const struct wl_cmd wl_cmd_show;
extern const struct wl_cmd wl_cmd_status;
extern const struct wl_cmd wl_cmd_top;
extern const struct wl_cmd wl_cmd_tune;
extern const struct wl_cmd wl_cmd_verify;

const struct wl_cmd *const wl_commands[] = {
    &wl_cmd_doctor, &wl_cmd_measure,    &wl_cmd_sweep,   &wl_cmd_tune,
    &wl_cmd_status, &wl_cmd_serve,      &wl_cmd_top,     &wl_cmd_exporter,
    &wl_cmd_show,   &wl_cmd_logs,       &wl_cmd_cancel,  &wl_cmd_pause,
    &wl_cmd_resume, &wl_cmd_retry,      &wl_cmd_fit,     &wl_cmd_compare,
    &wl_cmd_energy, &wl_cmd_predict,    &wl_cmd_plan,    &wl_cmd_recommend,
    &wl_cmd_audit,  &wl_cmd_report,     &wl_cmd_export,  &wl_cmd_import,
    &wl_cmd_verify, &wl_cmd_merge,      &wl_cmd_rebuild, &wl_cmd_restore,
    &wl_cmd_setup,  &wl_cmd_serve_caps, &wl_cmd_job,     &wl_cmd_demo,
    NULL,
};
