/* CPU energy counters of Intel and AMD ("running average power limit"): what rapl.c and its three ways in share. */
#ifndef WL_POWER_RAPL_SENSOR_H
#define WL_POWER_RAPL_SENSOR_H

#include "power/internal.h"

/* One domain's counter. */
struct wl_rapl_domain {
    enum wl_scope scope; /* package, dram or psys */
    const char *name;    /* "package-0", "dram-0", "psys" */
    int fd;
    bool perf;       /* a perf event: read() gives 8 bytes; else a text file */
    double unit_j;   /* joules a count */
    uint64_t range;  /* the count starts over behind this value; 0: it does not */
    uint64_t count;  /* at the latest good reading, */
    int64_t at_ns;   /* and when that was; 0: none yet */
    double energy_j; /* since the first reading */
};

struct wl_rapl {
    struct wl_rapl_domain *v;
    size_t n, cap;
    bool one_per_package; /* dies of a package show its one counter again (AMD): only the first is taken */
};

/* Each adds what they find and can read to *r. Return 0 when every domain found was added; else the code of the first
 * that was not, with a message and the command that would help in *fix (some may still have been added). */
int wl_rapl_powercap(struct wl_rapl *r, const char *root, struct wl_arena *a, const char **fix, struct wl_err *e);
int wl_rapl_perf(struct wl_rapl *r, const char *root, struct wl_arena *a, const char **fix, struct wl_err *e);
int wl_rapl_hwmon(struct wl_rapl *r, const char *root, struct wl_arena *a, const char **fix, struct wl_err *e);

/* Adds a domain unless one of that name is there, or what wl_rapl_has takes for the same. */
void wl_rapl_add(struct wl_rapl *r, const struct wl_rapl_domain *d, struct wl_arena *a);
/* Is a domain of that name there? With one_per_package a die counts as its package. */
bool wl_rapl_has(const struct wl_rapl *r, const char *name);

/* Takes a new count into account; false where the counter may have gone round more than once since the latest
 * reading: the energy then starts over from 0, which shows as a reset. */
bool wl_rapl_advance(struct wl_rapl_domain *d, uint64_t count, int64_t now_ns);

#endif
