/* The job's part of a machine's energy, as text and JSON. */
#ifndef WL_CMD_WATTLAW_ATTRIBUTION_H
#define WL_CMD_WATTLAW_ATTRIBUTION_H

#include "base/base.h"
#include "store/store.h"

/* Row for a struct that holds a const char * as member `at`. */
/* clang-format off */
#define WL_ATTRIBUTE_OPT_ROW(holder, at)                                                                               \
    { .name = "attribute", .type = WL_CHOICE, .offset = offsetof(holder, at), .choices = "job|machine",                \
      .def = "machine",                                                                                                \
      .help = "energy to report first: the job's part or that of the whole machine; both are stored" }
/* clang-format on */

/* Sums over the devices that count. */
struct wl_job_energy {
    struct wl_amount energy, above, idle; /* value NAN: not known */
    struct wl_amount least, most;         /* bounds of energy; NAN: nothing is known */
    struct wl_job_share {
        double lo, hi;     /* NAN: not known of any device */
    } use_share, reserved; /* least and most of a device */
    const char *method;    /* of all devices: "cpu-time, sole-user" */
    const char *why;       /* why energy is not known; of a device without bounds, if there is one */
};

struct wl_job_energy wl_job_energy_of(const struct wl_attribution_row *rows, size_t n, struct wl_arena *a);

/* One line each for the sum, what is above idle, and idle; empty: there are no rows. */
struct wl_strs wl_job_energy_lines(const struct wl_job_energy *job, struct wl_arena *a);

/* "job": the sums, and "devices" with the uuid of each row's device. */
void wl_job_energy_json(const struct wl_attribution_row *rows, size_t n,
                        const char *(*uuid)(const void *ctx, int64_t device), const void *ctx, struct wl_json *object,
                        struct wl_arena *a);

#endif
