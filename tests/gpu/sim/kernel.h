/* A simulated kernel, as the fake libcuda finds it in the library of kernels: symbol wl_sim_kernel_NAME. */
#ifndef WL_TESTS_GPU_SIM_KERNEL_H
#define WL_TESTS_GPU_SIM_KERNEL_H

#include <stddef.h>

struct wl_sim_kernel {
    const char *name;
    void (*call)(const void *args); /* one thread */
    size_t bytes;                   /* of the arguments */
    unsigned threads;               /* a block, at most */
    char *shared, *shared_end;      /* static shared memory of the kernel's file; NULL: none */
};

struct wl_sim_launch {
    const struct wl_sim_kernel *kernel;
    const void *args;
    unsigned grid[3], threads;
    size_t shared_bytes; /* dynamic */
};

/* Symbol wl_sim_launch. Which fiber goes on next: $WATTLAW_SIM_ORDER is forward (the default), backward or random. A
 * barrier that not all threads reach ends the process with a message. */
typedef void wl_sim_launch_fn(const struct wl_sim_launch *l);

#endif
