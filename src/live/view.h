/* A node at one instant. */
#ifndef WL_LIVE_VIEW_H
#define WL_LIVE_VIEW_H

#include "cap/cap.h"
#include "power/power.h"

/* The latest reading of a channel. */
struct wl_live_reading {
    double value;    /* NAN: missing */
    int64_t t_ns;    /* 0: there was none */
    const char *why; /* why it is missing; NULL: it is not, or nothing was to be read yet */
};

/* The energy of a device by one counter, or by one series of power where it has no counter of that scope. */
struct wl_live_energy {
    int channel;          /* that it is taken from */
    bool counter;         /* else integrated from power, holes left out */
    bool counted;         /* part of the node's energy (wl_energy_sources) */
    double since_start_j; /* NAN: no good reading yet */
    double total_j;       /* the counter as the driver shows it, else since_start_j; NAN: missing now */
};

/* A process that uses a GPU or much of a CPU. NAN: not known. */
struct wl_live_process {
    int64_t pid;
    const char *name, *user; /* NULL: not known */
    double cpu_pct;          /* of one CPU */
    double rss_bytes;
    int gpus[8];                      /* indices of devices */
    size_t n_gpus;                    /* more than 8: the rest is not listed */
    double gpu_pct, gpu_memory_bytes; /* sums over its GPUs */
};

struct wl_live_view {
    const char *host;
    int64_t wall_ns, start_wall_ns; /* now; when watching began */
    double watched_s;
    const struct wl_sensors *sensors;       /* devices, channels, info; they do not change */
    const struct wl_live_reading *readings; /* [sensors->n_channels] */
    const struct wl_live_energy *energies;  /* [n_energies] */
    size_t n_energies;
    const char *energy_scope; /* of the counted ones: "gpu", "package+dram" ...; NULL: none is */
    const struct wl_cap_present *caps;
    size_t n_caps;
    const char *caps_why;                    /* why none is known; NULL: they are, or are still being looked for */
    const struct wl_live_process *processes; /* those on GPUs, then by CPU time */
    size_t n_processes, all_processes;
    const char *processes_why; /* why the processes on GPUs are not known; NULL: they are, or there is no such GPU */
    struct wl_sampler_stats sampler;
    double cpu_s; /* of this program */
};

/* The reading of a device, NULL: it has no such channel. */
const struct wl_live_reading *wl_live_reading_of(const struct wl_live_view *v, int device, enum wl_quantity q,
                                                 int *channel);

/* The power of the counted devices and their energy since the start, NAN where one of them is missing. */
struct wl_amount wl_live_power(const struct wl_live_view *v);
struct wl_amount wl_live_energy_total(const struct wl_live_view *v);

#endif
