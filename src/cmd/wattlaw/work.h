/* What a run did by its marks of steps and checkpoints, and the jobs it belongs to, as text and JSON. */
#ifndef WL_CMD_WATTLAW_WORK_H
#define WL_CMD_WATTLAW_WORK_H

#include "store/read.h"

/* The span of this kind (WL_SPAN_STEPS ...); NULL: there is none. */
const struct wl_span_row *wl_work_span(const struct wl_span_row *v, size_t n, const char *kind);

struct wl_amount wl_work_energy(const struct wl_span_row *s);

/* "570 steps in 3.2 h, 1.2e+09 tokens at 104167 tokens/s, 2.1 kWh; ..." */
const char *wl_work_steps_text(const struct wl_span_row *s, struct wl_arena *a);

/* "12 steps in 3 min since the last checkpoint, 120 kJ" */
const char *wl_work_unsaved_text(const struct wl_span_row *s, struct wl_arena *a);

/* "4711, account physics, partition gpu, cluster lab"; "": the run was not part of a Slurm job. */
const char *wl_work_slurm_job_text(const struct wl_slurm_job *j, struct wl_arena *a);

/* Adds "spans": a list. */
void wl_work_spans_json(const struct wl_span_row *v, size_t n, struct wl_json *object);

/* Adds "slurm_job", if there is one. */
void wl_work_slurm_job_json(const struct wl_slurm_job *j, struct wl_json *object);

#endif
