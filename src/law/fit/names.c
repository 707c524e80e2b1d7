/* Names for output. */
#include "law/fit/fit.h"

const char *wl_law_scaling_name(enum wl_law_scaling s)
{
    static const char *const names[] = { "unknown", "strong", "weak", "mixed" };
    return names[s];
}

const char *wl_law_verdict_name(enum wl_law_verdict v)
{
    static const char *const names[] = { "UNDECIDED", "SUPPORTED", "REJECTED" };
    return names[v];
}

const char *wl_law_rows_name(const struct wl_law_group *g) { return g->work ? g->work->name : "epochs"; }

const char *wl_law_response_name(enum wl_law_response r) { return r == WL_LAW_TIME ? "time_s" : "energy_j"; }
const char *wl_law_response_unit(enum wl_law_response r) { return r == WL_LAW_TIME ? "s" : "J"; }
const char *wl_law_response_symbol(enum wl_law_response r) { return r == WL_LAW_TIME ? "t" : "E"; }
