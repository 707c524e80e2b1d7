/* Pure mathematics of the analysis. No I/O, no global state.
 *
 * Matrices are column-major. Probabilities are plain doubles; where a tail can be tiny there is a function for it
 * (_sf), so that nobody subtracts from 1. Accuracy of the distributions: 1e-12 relative, tails included, against
 * 50-digit values (tests/golden/distributions.csv). Arguments outside a domain, and NAN, give NAN.
 */
#ifndef WL_STATS_STATS_H
#define WL_STATS_STATS_H

#include "stats/bootstrap.h"
#include "stats/cholesky.h"
#include "stats/diagnostics.h"
#include "stats/distributions.h"
#include "stats/grouped.h"
#include "stats/moments.h"
#include "stats/multiple_testing.h"
#include "stats/nls.h"
#include "stats/ols.h"
#include "stats/quadrature.h"
#include "stats/robust.h"
#include "stats/sandwich.h"
#include "stats/segmented.h"
#include "stats/sort.h"
#include "stats/special.h"
#include "stats/time_series.h"
#include "stats/unit_effects.h"
#include "stats/usl.h"
#include "stats/variation.h"

#endif
