#ifndef WL_NN_CHOICES_CONV_ALGORITHM_H
#define WL_NN_CHOICES_CONV_ALGORITHM_H

#include "base/base.h"

/* How convolutions are computed. Winograd's algorithm F(4x4,3x3) multiplies 4 times less where kernels are 3x3 with
 * stride 1 (Lavin and Gray 2016, arXiv:1509.09308); it rounds otherwise, about 1e-6 relative in f32. */
enum wl_conv_algorithm {
    WL_CONV_DIRECT,
    WL_CONV_WINOGRAD, /* wherever the library has it */
    WL_CONV_AUTO      /* the faster one by pass and shape: what `choices` says, measured now where it says nothing */
};
const char *wl_conv_algorithm_name(enum wl_conv_algorithm a);  /* "direct", "winograd", "auto" */
enum wl_conv_algorithm wl_conv_algorithm_of(const char *name); /* another name: WL_CONV_AUTO */

#endif
