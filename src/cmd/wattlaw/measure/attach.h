/* wattlaw measure --attach: a process that runs already, instead of a command. */
#ifndef WL_CMD_MEASURE_ATTACH_H
#define WL_CMD_MEASURE_ATTACH_H

#include "base/base.h"

struct wl_measure_attach {
    int64_t pid;     /* 0: none */
    int64_t control; /* descriptor of a socket, see struct wl_job_attach; -1: none */
};

/* Rows for a struct that holds a struct wl_measure_attach as member `at`. */
/* clang-format off */
#define WL_MEASURE_ATTACH_OPT_ROWS(holder, at)                                                                         \
    { .name = "attach", .type = WL_INT, .offset = offsetof(holder, at.pid), .def = "0", .min = 0, .max = INT32_MAX,    \
      .unit = "PID", .help = "running process to measure with its children instead of a command, until the process "  \
                             "ends or Ctrl-C is pressed; 0: none" },                                                   \
    { .name = "control", .type = WL_INT, .offset = offsetof(holder, at.control), .def = "-1", .min = -1,               \
      .max = 1 << 20, .unit = "FD",                                                                                    \
      .help = "descriptor of a socket to the program that uses --attach: wattlaw says \"started\" and where marks go, " \
              "the program \"end\" or \"failed\" and why; -1: none" }
/* clang-format on */

/* *argv: the command line of the process, where there is one. */
int wl_measure_attach_open(const struct wl_measure_attach *at, char ***argv, struct wl_arena *a,
                           struct wl_err *e) WL_MUST_CHECK;

#endif
