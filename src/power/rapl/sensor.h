/* RAPL ("running average power limit"): CPU energy counters of Intel and AMD. */
#ifndef WL_POWER_RAPL_SENSOR_H
#define WL_POWER_RAPL_SENSOR_H

#include "power/procfs.h"
#include "power/sensor.h"

/* One domain's counter. */
struct wl_rapl_domain {
    enum wl_scope scope; /* package, dram or psys */
    const char *name;    /* "package-0", "dram-0", "psys" */
    int fd;
    bool perf;       /* a perf event: read() gives 8 bytes; else a text file */
    double unit_j;   /* joules per count */
    uint64_t range;  /* the count wraps after this value; 0: never */
    uint64_t count;  /* at the latest good reading */
    int64_t at_ns;   /* time of that reading; 0: none yet */
    double energy_j; /* since the first reading */
};

struct wl_rapl {
    struct wl_rapl_domain *v;
    size_t n, cap;
    bool one_per_package; /* all dies of a package show the same counter (AMD): only the first is read */
};

/* Sources. Each adds the domains that it can read to *r. Returns 0 if every domain was added; else the code of the
 * first that was not, with a message and the command that helps in *fix (others may have been added). */
int wl_rapl_powercap(struct wl_rapl *r, const char *root, struct wl_arena *a, const char **fix, struct wl_err *e);
int wl_rapl_perf(struct wl_rapl *r, const char *root, struct wl_arena *a, const char **fix, struct wl_err *e);
int wl_rapl_hwmon(struct wl_rapl *r, const char *root, struct wl_arena *a, const char **fix, struct wl_err *e);

/* Adds a domain unless wl_rapl_has finds it. */
void wl_rapl_add(struct wl_rapl *r, const struct wl_rapl_domain *d, struct wl_arena *a);

/* Is there a domain with that name? With one_per_package a die counts as its package. */
bool wl_rapl_has(const struct wl_rapl *r, const char *name);

/* Adds a new count; false if the counter may have wrapped more than once since the latest reading: the energy then
 * restarts from 0, which appears as a reset. */
bool wl_rapl_advance(struct wl_rapl_domain *d, uint64_t count, int64_t now_ns);

#endif
