/* The constants of the hierarchical model as an option. */
#ifndef WL_CMD_WATTLAW_PRIOR_H
#define WL_CMD_WATTLAW_PRIOR_H

#include "law/law.h"

/* Of the model of the response, and of those of the time and of the power of a worker in energy by parts. */
struct wl_prior {
    struct wl_hier_prior response, time, power;
};

/* The defaults of the response, changed by NAME=VALUE items, each a constant by its name in docs/reference/analysis.md.
 * WL_EUSAGE names what is unknown or out of range. */
int wl_prior_read(const struct wl_strs *items, enum wl_law_response response, struct wl_prior *prior,
                  struct wl_err *e) WL_MUST_CHECK;

/* All constants, as members of an object; where they differ, those of the response and not of the time. */
void wl_prior_json(const struct wl_prior *prior, struct wl_json *object);

/* Option row over a struct `options` that has the field prior. */
#define WL_PRIOR_OPT_ROW(options)                                                                    \
    {                                                                                                \
        .name = "prior", .type = WL_LINES, .offset = offsetof(options, prior), .unit = "NAME=VALUE", \
        .help = "constant of the hierarchical model's prior, such as tau=0.02 (default: those of "   \
                "docs/reference/analysis.md)"                                                        \
    }

#endif
