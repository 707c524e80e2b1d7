#include "nn/choices/conv_algorithm.h"

const char *wl_conv_algorithm_name(enum wl_conv_algorithm a)
{
    static const char *const names[] = {
        [WL_CONV_DIRECT] = "direct", [WL_CONV_WINOGRAD] = "winograd", [WL_CONV_AUTO] = "auto"
    };
    return names[a];
}

enum wl_conv_algorithm wl_conv_algorithm_of(const char *name)
{
    enum wl_conv_algorithm a = WL_CONV_DIRECT;
    while (a < WL_CONV_AUTO && !wl_str_eq(name, wl_conv_algorithm_name(a))) a++;
    return a;
}
