/* Shared by the tests of src/advise: doubles within an absolute tolerance (cmocka compares floats). */
#ifndef WL_TEST_ADVISE_NEAR_H
#define WL_TEST_ADVISE_NEAR_H

#include "../stats/check.h"

#define near(got, truth, tolerance) near_at(__LINE__, #got, (got), (truth), (tolerance))
static inline void near_at(int line, const char *what, double got, double truth, double tolerance)
{
    if (!(fabs(got - truth) <= tolerance)) fail_msg("line %d: %s is %.12g, not %.12g", line, what, got, truth);
}

#endif
