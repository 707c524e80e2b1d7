/* The channels that a run's energy is taken from. */
#ifndef WL_POWER_ENERGY_SOURCES_H
#define WL_POWER_ENERGY_SOURCES_H

#include "power/quantity.h"

/* Relative error of a modelled energy (node/cpu_model.c), either way: the full power of an unknown CPU is 2 to 8 W per
 * core, of which 5 W are assumed. The interval of an estimate includes it (docs/metrics.md). */
#define WL_MODEL_ERROR 0.6

/* One device whose energy counts, and its channels (-1: none). The counter is preferred; the power series is the
 * fallback and the check. */
struct wl_energy_source {
    int device;
    int counter, power;
};

/* The preferred set of non-overlapping energy sources: GPU boards if there are any (else modules), else CPU packages
 * with their DRAM, else the whole node, else estimated packages. Writes at most n sources (n = number of channels
 * is always enough) and returns how many; *scope_label gets "gpu", "module", "package+dram", "package", "node" or
 * "package (estimated)"; NULL with 0 sources. */
size_t wl_energy_sources(const struct wl_channel *channels, size_t n, struct wl_energy_source *out,
                         const char **scope_label);

#endif
