/* From windows to the probes of a search: each one value held once, relative to the reference next to it. */
#ifndef WL_TUNE_EVIDENCE_H
#define WL_TUNE_EVIDENCE_H

#include "advise/advise.h"

/* A measured window, or a whole run of a program that marks no steps. */
struct wl_tune_window {
    size_t candidate;
    int64_t job;               /* windows of one job share its drift */
    double t_s;                /* time per step (of a run: per epoch, or of all of it) */
    const char *per;           /* "step", "epoch" or "run" */
    double p_w;                /* mean power of one device */
    double sd_p;               /* of ln p_w: what the sensors leave open; 0: not known */
    int64_t run;               /* in the store */
    bool is_whole;             /* a whole run */
    bool estimated, simulated; /* its power */
};
struct wl_tune_windows {
    struct wl_tune_window *v;
    size_t n, cap;
};

/* One value held once: the windows of a candidate in a row, between windows of the reference. */
struct wl_tune_probe {
    size_t candidate, first, n; /* windows first .. first + n - 1 */
    struct wl_advise_cap_window seen;
};
struct wl_tune_probes {
    struct wl_tune_probe *v;
    size_t n;
    struct wl_advise_cap_noise noise; /* of one window */
};

/* Probes in the order of their windows. All windows of the reference count together as the first probe. A drift of the
 * job, linear from the reference's windows before a probe to those after it, is removed (the order A B B A); a probe
 * that is at an end of its job is relative to the reference on its other side. The noise of a window is the scatter of
 * neighbours of one value, with a prior of 1 % that counts as much as four pairs. `reference`: index; nothing is
 * returned before it has a window. */
struct wl_tune_probes wl_tune_evidence(const struct wl_tune_windows *w, size_t reference, struct wl_arena *a);

#endif
