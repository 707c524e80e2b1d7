#ifndef WL_NN_PROGRAM_STEP_TIME_H
#define WL_NN_PROGRAM_STEP_TIME_H

/* What steps took; cpu_s: processor time of all threads of this process, 0 on a GPU. */
struct wl_step_time {
    double wall_s, cpu_s;
};

#endif
