/* Numbers in printed sentences. */
#ifndef WL_CMD_WATTLAW_FORMAT_H
#define WL_CMD_WATTLAW_FORMAT_H

#include "store/read.h"

/* Decimals that show two digits of the error, three where there is none. */
int wl_format_decimals(double error);

/* "p = 0.031", "p = 2e-09", "p below 1e-300" */
const char *wl_format_p(double p, struct wl_arena *a);

/* A share as a percentage of two digits, or whole from 10 %: "0.42", "12". */
const char *wl_format_percent(double share, struct wl_arena *a);

/* "1 run", "3 runs" */
const char *wl_format_count(size_t n, const char *noun, struct wl_arena *a);

/* "0.61 to 0.88" with `decimals` decimals; NULL if an end is missing. */
const char *wl_format_interval(double lo, double hi, int decimals, struct wl_arena *a);

/* "0.613 to 0.884" in four digits; NULL if an end is missing. */
const char *wl_format_range(double lo, double hi, struct wl_arena *a);

/* The ratio of a counter's energy to the integral of power over the same window: ", ratio 1.02", with a warning if it
 * is off by more than WL_RATIO_LIMIT; "" if either is missing. */
const char *wl_format_counter_ratio(double counter_j, double integral_j, struct wl_arena *a);

/* How long GPU clocks were throttled: "21.0 % of the time by the power limit, 0.0 % by heat". */
const char *wl_format_throttling(double power_pct, double thermal_pct, struct wl_arena *a);

/* "SM 1005 MHz, memory 1215 MHz on average"; mem_mhz NAN: unknown. */
const char *wl_format_clocks(const struct wl_run_row *r, struct wl_arena *a);

/* "to 45 C, waited 12.1 s; the hottest GPU started at 44 C"; "" if no cooldown was requested. */
const char *wl_format_cooldown(const struct wl_cooldown *c, struct wl_arena *a);

/* Slurm's energy accounting: "4.20 kJ of whole nodes in steps 12.0 (acct_gather_energy/ipmi, every 30 s)"; "": none. */
const char *wl_format_slurm_energy(const struct wl_slurm_energy *s, struct wl_arena *a);

/* What others did on the machine: why it counts as busy, else how much of it others used; "" if nothing is known. */
const char *wl_format_load(const struct wl_load_row *l, double time_s, struct wl_arena *a);

/* Which caps of a run acted: "power cap never acted, memory clock acted"; "" if unknown. */
const char *wl_format_caps_acted(const struct wl_run_row *r, struct wl_arena *a);

#endif
