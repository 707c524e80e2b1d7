/* The sink of readings over time: constant memory, however many there are. */
#ifndef WL_EXCHANGE_IMPORT_SERIES_H
#define WL_EXCHANGE_IMPORT_SERIES_H

#include "exchange/import/lines.h"

struct wl_import;

/* A device as the file names it. Texts may be NULL: unknown. */
struct wl_import_device {
    const char *uuid;   /* "GPU-5f0a...", "gpu0" where files only number them (then --uuids has it); never NULL */
    const char *host;   /* NULL: --host, or "unknown" */
    const char *number; /* in the tool's order */
    const char *model, *driver;
    bool split; /* into MIG instances, of all of which its power and energy are */
};

/* A quantity of a device, in the names and units of src/power. */
struct wl_import_quantity {
    const char *quantity, *unit; /* "power_w", "W" */
    const char *scope;           /* "gpu", "package", "dram", "node" ... */
    const char *variant;         /* of power: "driver", "instant", "average", "mean"; else "" */
    bool counter, estimated;
    bool wraps; /* a RAPL counter: it starts at 0 again after 2^32 units, which is made good */
};

struct wl_import_channel {
    size_t device;
    struct wl_import_quantity of;
    size_t readings, missing; /* missing: those without a value, among them */
    int64_t first_ns, last_ns;
    double mean; /* of the values, each counted once; of a counter the difference of last and first */
};

enum {
    WL_SERIES_UNWANTED = -1
}; /* a device that --gpus leaves out: wl_series_add counts its readings and drops them */

/* The index of a device or channel, made when missing. Texts are copied. */
int wl_series_device(struct wl_import *im, const struct wl_import_device *device);
int wl_series_channel(struct wl_import *im, int device, const struct wl_import_quantity *of);

/* A reading. t_ns: since 1970. A value that is NAN is stored as missing; wl_series_missing says why. Negative energies
 * and powers, shares above 100 % and numbers beyond 1e15 are missing too, as sentinels. */
int wl_series_add(struct wl_import *im, int channel, int64_t t_ns, double value, struct wl_err *e) WL_MUST_CHECK;
/* why: static; NULL: a note has said it. */
int wl_series_missing(struct wl_import *im, int channel, int64_t t_ns, const char *why, struct wl_err *e) WL_MUST_CHECK;

/* The readings that follow are of another run, of this label: "round 1". The first call names the first run. */
int wl_series_next_run(struct wl_import *im, const char *label, struct wl_err *e) WL_MUST_CHECK;

/* The times that follow count from 0: the file has no dates. They count from --start where that is given. */
int64_t wl_series_undated(struct wl_import *im);

#endif
