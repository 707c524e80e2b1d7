/* How each number of the report is computed: the headings of tables and the foot of the page show these rows, and
 * docs/metrics.md must hold them (tests/unit/report/test_metrics.c). */
#include "report/report.h"

static const char law[] = "least squares, docs/adr/070";
static const char marks[] = "mark lines of rank 0";

const struct wl_metric wl_metrics[] = {
    { "epoch-time", "epoch time", "s", "rank 0's epoch-end minus epoch-begin; of a run: geometric mean over the epochs kept; of a configuration: geometric mean over runs", marks },
    { "epoch-energy", "energy an epoch", "J", "energy of the chosen devices between the epoch's marks: counter difference, else trapezoid of power; geometric means as for epoch time", "power sensors" },
    { "mean-power", "mean power", "W", "energy an epoch / epoch time", "power sensors, mark lines" },
    { "sd", "spread between runs", "%", "100 (exp(s) - 1), s = standard deviation of ln(epoch time) over the runs of a configuration; needs two runs", marks },
    { "speedup", "speed-up", "", "S(N) = t(N0) / t(N), N0 the smallest worker count of the group, t the epoch time", marks },
    { "efficiency", "efficiency", "", "S(N) / (N / N0): 1 where N times the workers are N times as fast", marks },
    { "energy-ratio", "energy ratio", "", "E(N) / E(N0), E the energy an epoch", "power sensors" },
    { "beta", "scaling exponent", "", "-b1 in ln t = b0 + b1 ln N over run means; 1 is ideal for a fixed amount of work an epoch, 0 no gain", law },
    { "alpha", "epoch time at one worker", "s", "exp(b0): the law at N = 1", law },
    { "ci95", "95 % interval", "", "b1 -+ t(0.975, df) se(b1); the wider of the intervals over runs and over configuration means", law },
    { "r2", "R2", "", "1 - SSE / SST of ln t: a high value does not show that the law is a power law", law },
    { "band", "95 % band", "s", "exp(b0 + b1 ln N -+ t(0.975, df) se): where the line itself may run, not where the next run falls", law },
    { "ideal", "ideal", "", "t(N0) N0 / N, from the fitted time at the smallest worker count", law },
    { "power", "power", "W", "sum over the chosen devices of the mean reading in each interval of the grid", "power sensors" },
    { "utilisation", "utilisation", "%", "mean over devices of the mean reading in each interval; the band runs from the smallest to the largest device", "utilisation sensors" },
    { "quality", "loss and accuracy", "", "as the workload reported it for the epoch; mean over repeats, the band runs from the smallest to the largest run", "metric marks" },
    { "run-time", "wall time", "s", "end minus start of the job, start-up and validation included", "CLOCK_MONOTONIC of wattlaw" },
    { "run-energy", "energy of the run", "J", "energy of the chosen devices from start to end of the job", "power sensors" },
    { "run-power", "mean power of the run", "W", "energy of the run / time that the energy covers", "power sensors" },
    { "overhead", "own overhead", "%", "100 * CPU time of the sampler / wall time: of one core", "CLOCK_THREAD_CPUTIME_ID" },
    { 0 },
};

const struct wl_metric *wl_metric(const char *id)
{
    for (const struct wl_metric *m = wl_metrics; m->id; m++) {
        if (wl_streq(m->id, id)) return m;
    }
    return NULL;
}
