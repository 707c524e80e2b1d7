/* Limits that are numbers in files of /sys. */
#ifndef WL_CAP_SYSFS_H
#define WL_CAP_SYSFS_H

#include "cap/setter.h"

/* The state of a control: a file and how many of its counts make one of our units. */
struct wl_sysfs_file {
    const char *path;
    double per_unit;
};

/* The number in a file divided by per_unit; NAN if it cannot be read. */
double wl_sysfs_number(const char *path, double per_unit, struct wl_arena *a);

/* The first line of a file, stripped; NULL if it cannot be read. */
char *wl_sysfs_line(const char *path, struct wl_arena *a);

/* For struct wl_setter_ops of controls whose state is a struct wl_sysfs_file. */
int wl_sysfs_get(const struct wl_control *k, double *set, double *enforced, struct wl_err *e);
int wl_sysfs_set(const struct wl_control *k, double value, struct wl_err *e);
int wl_sysfs_probe(const struct wl_control *k, const char **fix, struct wl_err *e);

#endif
