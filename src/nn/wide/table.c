#include "nn/wide/levels.h"

#define TEXT_OF(level) #level
#define NAME_OF(level) TEXT_OF(level)

const struct wl_wide WL_WIDE_NAME(wl_wide) = {
    .name = NAME_OF(WL_WIDE_LEVEL),
    .adam = WL_WIDE_NAME(wl_adam),
};
