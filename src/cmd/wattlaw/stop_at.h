/* Limits of --stop-at: their text, and what became of them. */
#ifndef WL_CMD_WATTLAW_STOP_AT_H
#define WL_CMD_WATTLAW_STOP_AT_H

#include "cmd/wattlaw/footprint.h"
#include "run/run.h"

/* Exit status of `measure` when a limit was reached, as timeout(1) has it. */
enum { WL_EXIT_LIMIT = 124 };

/* Row for a struct that holds a struct wl_strs as member `at`. */
#define WL_STOP_AT_OPT_ROW(holder, at)                                                                            \
    {                                                                                                             \
        .name = "stop-at", .type = WL_STRS, .offset = offsetof(holder, at), .unit = "LIMIT",                      \
        .help = "energy, cost or time at which the command is stopped, such as 2kWh, 50EUR (with --price) or 3h " \
                "(default: "                                                                                      \
                "none)"                                                                                           \
    }

/* How a command is given the price per kWh and its currency, for messages. */
struct wl_stop_at_price {
    const char *price, *currency; /* a currency follows the second */
};
extern const struct wl_stop_at_price wl_stop_at_price_options; /* by options of the command */

/* Reads the texts: Wh, kWh, MWh, J, kJ, MJ, GJ; the currency of the completed footprint's price, with its PUE; s, min,
 * h, d. WL_EUSAGE names the text and what was expected. `given`: how the price is given. */
int wl_stop_at_parse(const struct wl_strs *texts, const struct wl_footprint *f, const struct wl_stop_at_price *given,
                     struct wl_run_limit **out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The limit that was reached; NULL: none was. */
const struct wl_run_limit_state *wl_stop_at_reached(const struct wl_run_limits *l);

/* Prints a line for each; `energy`: that of the run. */
void wl_stop_at_print(const struct wl_run_limits *l, const struct wl_amount *energy, struct wl_arena *a);

/* Adds "stop_at" to the object; energy_j: that of the run, NAN: as it was followed. */
void wl_stop_at_states_json(const struct wl_run_limit_state *v, size_t n, double energy_j, struct wl_json *object);
void wl_stop_at_json(const struct wl_run_limits *l, const struct wl_amount *energy, struct wl_json *object);

#endif
