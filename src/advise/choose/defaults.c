/* What is asked where nothing else is: the one rule of wattlaw recommend and of the report's card. */
#include "advise/choose/choose.h"

enum wl_choose_quantity wl_choose_default_quantity(const struct wl_choose_input *in, const struct wl_choose_options *o)
{
    return wl_choose_unknown(in, o, WL_CHOOSE_ENERGY) ? WL_CHOOSE_TIME : WL_CHOOSE_ENERGY;
}

/* Is time a part of what is minimized? */
static bool weighs_time(const struct wl_choose_options *o)
{
    static const bool has_time[WL_CHOOSE_QUANTITIES] = {
        [WL_CHOOSE_TIME] = true, [WL_CHOOSE_EDP] = true, [WL_CHOOSE_ED2P] = true, [WL_CHOOSE_ZEUS] = true
    };
    const bool by_hour = o->prices.per_worker_h > 0 || o->prices.per_node_h > 0;
    return has_time[o->minimize] || (o->minimize == WL_CHOOSE_COST && by_hour);
}

void wl_choose_add_default_limit(struct wl_choose_options *o)
{
    if (o->n_limits > 0 || weighs_time(o)) return;
    o->limits[o->n_limits++] = (struct wl_choose_limit) { .name = "--max-slowdown 10%",
                                                          .quantity = WL_CHOOSE_TIME,
                                                          .relative = true,
                                                          .most = 1 + WL_CHOOSE_SLOWDOWN,
                                                          .by_default = true };
}
