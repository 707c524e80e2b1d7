/* How each number of the report is computed: the headings of tables and the foot of the page show these rows, and
 * docs/metrics.md must hold them (tests/unit/report/test_metrics.c). */
#include "report/report.h"

static const char law[] = "least squares, docs/adr/070";
static const char marks[] = "mark lines of rank 0";

const struct wl_metric wl_metrics[] = {
    { "epoch-time", "epoch time", "s",
      "rank 0's epoch-end minus epoch-begin; of a run: geometric mean over the epochs kept; of a configuration: "
      "geometric mean over runs",
      marks },
    { "epoch-energy", "energy an epoch", "J",
      "energy of the chosen devices between the epoch's marks: counter difference, else trapezoid of power; geometric "
      "means as for epoch time",
      "power sensors" },
    { "mean-power", "mean power", "W", "energy an epoch / epoch time", "power sensors, mark lines" },
    { "sd", "spread between runs", "%",
      "100 (exp(s) - 1), s = standard deviation of ln(epoch time) over the runs of a configuration; needs two runs",
      marks },
    { "speedup", "speed-up", "",
      "S(N) = [w(N) / t(N)] / [w(N0) / t(N0)], t the epoch time, w the work of an epoch (1, or its samples where they "
      "grow with the workers), N0 the smallest worker count of the group",
      marks },
    { "efficiency", "efficiency", "", "S(N) / (N / N0): 1 where N times the workers are N times as fast", marks },
    { "energy-ratio", "energy ratio", "",
      "[E(N) / w(N)] / [E(N0) / w(N0)], E the energy an epoch, w its work as for the speed-up", "power sensors" },
    { "ratio95", "95 % interval of a ratio", "",
      "exp(d -+ t(0.975, df) se), d the difference of mean logarithms over runs, df after Welch and Satterthwaite; "
      "needs "
      "two runs on both sides",
      "docs/adr/070" },
    { "beta", "scaling exponent", "",
      "-b1 in ln t = b0 + b1 ln N; 1 is ideal for a fixed amount of work an epoch, 0 is no gain", law },
    { "alpha", "epoch time at one worker", "s", "exp(b0): the law at N = 1", law },
    { "ci95", "95 % interval", "",
      "b1 -+ t(0.975, df) se(b1); the wider of the intervals over runs and over configuration means", law },
    { "r2", "R2", "", "1 - SSE / SST of ln t: a high value does not show that the law is a power law", law },
    { "band", "95 % band", "s",
      "exp(b0 + b1 ln N -+ t(0.975, df) se): where the line itself may run, not where the next run falls", law },
    { "ideal", "ideal", "", "t(N0) N0 / N, from the fitted time at the smallest worker count", law },
    { "power", "power", "W",
      "sum over the devices of one scope of the mean reading in each interval of the grid; the interval is the "
      "sampling period or 1/500 of the run",
      "power sensors" },
    { "utilisation", "utilisation", "%",
      "mean over devices of the mean reading in each interval; the band runs from the smallest to the largest device",
      "utilisation sensors" },
    { "quality", "loss and accuracy", "",
      "as the workload reported it for the epoch; mean over repeats, the band runs from the smallest to the largest "
      "run",
      "metric marks" },
    { "run-time", "wall time", "s", "end minus start of the job, start-up and validation included",
      "CLOCK_MONOTONIC of wattlaw" },
    { "run-epoch-time", "epoch time of a run", "s", "mean over all epochs of the run, the first one included", marks },
    { "run-energy", "energy of the run", "J", "energy of the chosen devices from start to end of the job",
      "power sensors" },
    { "run-power", "mean power of the run", "W", "energy of the run / time that the energy covers", "power sensors" },
    { "overhead", "own overhead", "%", "100 * CPU time of wattlaw during the run / wall time: of one core",
      "CLOCK_PROCESS_CPUTIME_ID" },
    { 0 },
};

const struct wl_metric *wl_metric(const char *id)
{
    for (const struct wl_metric *m = wl_metrics; m->id; m++) {
        if (wl_streq(m->id, id)) return m;
    }
    return NULL;
}
