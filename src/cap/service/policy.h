/* What the cap service may set, and for whom: the configuration that root owns. docs/formats.md describes the file. */
#ifndef WL_CAP_SERVICE_POLICY_H
#define WL_CAP_SERVICE_POLICY_H

#include "cap/setter.h"

#include <sys/types.h>

#define WL_SERVICE_CONFIG "/etc/wattlaw/caps.conf"

/* A section [allow NAME]. The first rule that names a limit of a device decides. */
struct wl_service_rule {
    const char *name;
    struct wl_strs devices;                      /* patterns of fnmatch */
    const char *ranges[WL_CAP_KINDS];            /* "hardware" or "MIN to MAX"; NULL: not of this rule */
    double min[WL_CAP_KINDS], max[WL_CAP_KINDS]; /* NAN: the hardware's */
};

struct wl_service_policy {
    const char *group; /* name or number; whose members may use the service */
    double lease_s;    /* a client that does not say for so long that it runs loses its caps */
    int64_t sessions;  /* of one user at a time */
    struct wl_service_rule *v;
    size_t n;
};

/* WL_EINVAL names file, line and what was expected. The reader accepts only a file that root alone, or this user, can
 * write or replace. */
int wl_service_policy_read(const char *path, struct wl_service_policy *out, struct wl_arena *a, struct wl_err *e);
int wl_service_policy_parse(const char *path, const char *text, struct wl_service_policy *out, struct wl_arena *a,
                            struct wl_err *e);

/* The values to which this limit may be set: those of its rule that the hardware takes. WL_EPERM: none, and why. */
int wl_service_policy_range(const struct wl_service_policy *p, const struct wl_control *k, double *min, double *max,
                            struct wl_err *e);

/* Does a rule name devices that only the driver of GPUs can set? */
bool wl_service_policy_has_gpus(const struct wl_service_policy *p);

#endif
