/* The values that are tried: what the devices of the job accept, from their present limit downwards. */
#ifndef WL_TUNE_CANDIDATES_H
#define WL_TUNE_CANDIDATES_H

#include "cap/cap.h"

struct wl_tune_candidates {
    enum wl_cap_kind kind;
    double *value; /* [n] ascending, W or MHz */
    size_t n;
    size_t reference;     /* n - 1: the present limit, or the largest clock */
    const char **refused; /* [n] why a value could not be set; NULL: it could, or was not tried */
    double scale_w;       /* power limit of a device without a cap */
    size_t n_devices;     /* that a cap of this kind is set on */
    const char *devices;  /* "2 x NVIDIA A100 ..." */
    const char *model;    /* of all devices, as runs have their hardware; NULL: not known, or they differ */
    const char *note;     /* what the user should know; NULL: nothing */
    bool simulated;
};

/* `given` values, or some from the devices' range (power) or from half of the largest clock on. The reference is the
 * lowest of the devices' limits that are in effect, so that no limit is ever raised. Nothing is set. WL_EPERM,
 * WL_EUNAVAIL: it cannot be set here (why, and what would change that), or clocks seem to be locked by somebody else.
 * WL_EINVAL: a value is out of range, or above the reference; fewer than two values. */
int wl_tune_candidates_find(enum wl_cap_kind kind, const struct wl_reals *given, const struct wl_cap_opts *opts,
                            const struct wl_power_opts *power, struct wl_tune_candidates *out, struct wl_arena *a,
                            struct wl_err *e) WL_MUST_CHECK;

/* The values between two ends: at most `most`, in equal steps of the logarithm, as whole W or MHz, ascending. */
struct wl_reals wl_tune_candidates_between(double least, double greatest, size_t most, struct wl_arena *a);

#endif
