/* Numbers as text for other programs. */
#ifndef WL_BASE_NUMBER_H
#define WL_BASE_NUMBER_H

#include "base/str.h"

enum { WL_NUMBER_MAX = 32 }; /* bytes of the longest one, with its NUL */

/* The shortest decimal that reads back as the same double; returns `buf`. */
const char *wl_number_shortest(double value, char buf[WL_NUMBER_MAX]);

#endif
