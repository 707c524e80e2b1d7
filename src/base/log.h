/* Log lines on stderr: "level area: message", with "[rank]" if a rank was set.
 *
 * The level and the rank are set once at start by src/cmd; they are the only mutable state of this folder. One
 * line is one write(2), so that lines of several ranks and threads do not tear.
 */
#ifndef WL_BASE_LOG_H
#define WL_BASE_LOG_H

#include "base/err.h"

enum wl_log_level { WL_ERROR, WL_WARN, WL_INFO, WL_DEBUG };

void wl_log_init(enum wl_log_level level, int rank); /* rank < 0: none */
void wl_log(enum wl_log_level level, const char *area, const char *fmt, ...) WL_PRINTF(3, 4);

#endif
