#ifndef WL_NN_GRAPH_COUNTS_H
#define WL_NN_GRAPH_COUNTS_H

#include "base/base.h"

/* What a run counted. Runs add to it; the caller zeroes it. */
struct wl_counts {
    double loss_sum; /* of all losses, over the samples: mean loss = loss_sum/samples */
    int64_t samples; /* without padding */
    int64_t top1;    /* samples whose label has the largest logit */
    int64_t top5;    /* ... is among the five largest */
    bool overflow;   /* the sums of gradients that the last run completed are not finite; looked for in f16 alone */
};

#endif
