#include "base/number.h"

#include <stdio.h>

const char *wl_number_shortest(double value, char buf[WL_NUMBER_MAX])
{
    for (int digits = 15; digits <= 17; digits++) {
        double back;
        snprintf(buf, WL_NUMBER_MAX, "%.*g", digits, value);
        if (wl_str_to_real(buf, &back) == 0 && back == value) break;
    }
    return buf;
}
