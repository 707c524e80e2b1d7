#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    enum wl_level level;
    int rank;
} settings = { WL_INFO, -1 };

void wl_log_init(enum wl_level level, int rank)
{
    settings.level = level;
    settings.rank = rank;
}

static bool is_on(enum wl_level level)
{
    return level <= settings.level;
}

void wl_log(enum wl_level level, const char *area, const char *fmt, ...)
{
    static const char *const names[] = { "error", "warning", "info", "debug" };
    if (!is_on(level)) return;
    char line[2048];
    int n = settings.rank >= 0 ? snprintf(line, sizeof line, "%s %s [%d]: ", names[level], area, settings.rank)
                               : snprintf(line, sizeof line, "%s %s: ", names[level], area);
    if (n < 0 || n >= (int)sizeof line - 1) return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    va_end(ap);
    size_t len = strlen(line);
    line[len++] = '\n';
    ssize_t put = write(STDERR_FILENO, line, len);
    (void)put; /* nowhere left to complain */
}
