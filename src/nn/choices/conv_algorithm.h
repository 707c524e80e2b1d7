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

/* Do operations share a step where a library has an engine for them together? Those that share one in any case are not
 * concerned. */
enum wl_fuse {
    WL_FUSE_MEASURED, /* where `choices` says that it is faster; nowhere without WL_CONV_AUTO */
    WL_FUSE_NEVER,
    WL_FUSE_ALWAYS, /* wherever there is an engine */
};
const char *wl_conv_algorithm_name(enum wl_conv_algorithm a);  /* "direct", "winograd", "auto" */
enum wl_conv_algorithm wl_conv_algorithm_of(const char *name); /* another name: WL_CONV_AUTO */

#endif
