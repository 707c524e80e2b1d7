#include "base/log.h"

#include "base/print.h"

#include <stdio.h>

static struct {
    enum wl_log_level level;
    int rank;
} settings = { WL_INFO, -1 };

void wl_log_init(enum wl_log_level level, int rank)
{
    settings.level = level;
    settings.rank = rank;
}

static bool is_on(enum wl_log_level level) { return level <= settings.level; }

void wl_log(enum wl_log_level level, const char *area, const char *fmt, ...)
{
    static const char *const names[] = { "error", "warning", "info", "debug" };
    if (!is_on(level)) return;
    char message[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    if (settings.rank >= 0)
        wl_eprint("%s %s [%d]: %s\n", names[level], area, settings.rank, message);
    else
        wl_eprint("%s %s: %s\n", names[level], area, message);
}
