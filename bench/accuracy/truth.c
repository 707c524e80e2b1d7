#include "accuracy.h"

const char *truth_name(enum truth_family f)
{
    static const char *const names[] = { "power law", "Amdahl", "logarithmic overhead", "linear overhead" };
    return names[f];
}

static double overhead(const struct truth *t, double workers)
{
    return t->c + (t->family == TRUTH_LOG ? t->g * log2(workers) : t->family == TRUTH_LINEAR ? t->g * workers : 0);
}

double truth_ln_time(const struct truth *t, double workers)
{
    return t->family == TRUTH_POWER ? -t->beta * log(workers) : log(1 / workers + overhead(t, workers));
}

static double ln_power(const struct truth *t, double workers)
{
    if (t->family == TRUTH_POWER) return -0.05 * log(workers);
    const double computes = 1 / (1 + workers * overhead(t, workers));
    return log(t->idle + (1 - t->idle) * computes);
}

double truth_ln_energy(const struct truth *t, double workers)
{
    return truth_ln_time(t, workers) + ln_power(t, workers);
}
