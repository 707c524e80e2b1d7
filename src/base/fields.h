/* Facts that a format asks for and no measurement holds: the user gives them as "NAME=VALUE" (--field). */
#ifndef WL_BASE_FIELDS_H
#define WL_BASE_FIELDS_H

#include "base/str.h"

/* The value of a field, the first one of that name; NULL: not given. */
const char *wl_field(const struct wl_strs *fields, const char *name);

/* WL_EUSAGE: an entry is not "NAME=VALUE", or its name is none of `known`, which ends with NULL. `what` has the fields:
 * "the format trace". */
int wl_fields_check(const struct wl_strs *fields, const char *const *known, const char *what,
                    struct wl_err *e) WL_MUST_CHECK;

#endif
