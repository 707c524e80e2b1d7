/* Times of steps on GPUs too, and of the steps of a plan, for a roofline. */
#ifndef WL_BENCH_STEP_TIMES_H
#define WL_BENCH_STEP_TIMES_H

#include "nn/gpu/gpu.h"
#include "nn/plan/internal.h"

/* An update on a GPU ends some time after wl_plan_update: it belongs to the step that it ends. */
static inline int wait_for_update(struct wl_plan *p, struct wl_err *e)
{
    if (!p->program.backend->row.gpus) return 0;
    const struct wl_gpu *g = wl_gpu_of(&p->program);
    WL_CUDA_CALL(&g->cuda, StreamSynchronize, g->compute);
    return 0;
}

/* The narrowest numbers that a step reads: products of 16 bits are faster. */
static inline int narrowest(const struct wl_plan_step *s)
{
    size_t bytes = sizeof(float);
    for (size_t k = 0; k < s->n_buffers; k++)
        if (!s->buffers[k].written && wl_dtype_bytes(s->buffers[k].dtype) < bytes)
            bytes = wl_dtype_bytes(s->buffers[k].dtype);
    return 8 * (int)bytes;
}

/* A list "steps" of what ran since p->step_time was cleared: name, operation, pass, kernel, time_s, the bytes that it
 * moves (those of rows as large as their room), flop (of products alone) and bits of the numbers that these multiply.
 */
static inline void add_step_times(const struct wl_plan *p, struct wl_json *answer, struct wl_arena *a)
{
    struct wl_json *steps = wl_json_add_array(answer, "steps");
    for (size_t i = 0; i < wl_plan_step_count(p); i++) {
        if (!(p->step_time[i].wall_s > 0)) continue;
        const struct wl_plan_step s = wl_plan_step(p, i, a);
        struct wl_json *to = wl_json_add_object(steps, NULL);
        wl_json_add_str(to, "name", s.name);
        wl_json_add_str(to, "operation", s.operation);
        wl_json_add_str(to, "pass", s.pass);
        wl_json_add_str(to, "kernel", s.implementation);
        wl_json_add_real(to, "time_s", p->step_time[i].wall_s);
        wl_json_add_real(to, "bytes", s.moved_bytes);
        wl_json_add_real(to, "flop", s.flops * (double)wl_plan_info(p).batch);
        wl_json_add_int(to, "bits", narrowest(&s));
    }
}

#endif
