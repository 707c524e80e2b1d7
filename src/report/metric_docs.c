/* How each number of the report is computed. The headings of tables and the foot of the page show these rows, and
 * docs/metrics.md must have them (tests/unit/report/test_metrics.c). */
#include "report/metric_docs.h"

static const char law[] = "least squares, docs/adr/070";
static const char marks[] = "mark lines of rank 0";

const struct wl_metric_doc wl_metric_docs[] = {
    { "epoch-time", "epoch time", "s",
      "rank 0's epoch-end minus epoch-begin; of a run: geometric mean over the epochs kept; of a configuration: "
      "geometric mean over runs",
      marks },
    { "epoch-energy", "energy per epoch", "J",
      "energy of the chosen devices between the epoch's marks: counter difference, else trapezoid of power; geometric "
      "means as for epoch time",
      "power sensors" },
    { "mean-power", "mean power", "W", "energy per epoch / epoch time", "power sensors, mark lines" },
    { "sd", "spread between runs", "%",
      "100 (exp(s) - 1), s = standard deviation of ln(epoch time) over the runs of a configuration; needs two runs",
      marks },
    { "speedup", "speedup", "",
      "S(N) = [w(N) / t(N)] / [w(N0) / t(N0)], t the epoch time, w the work of an epoch (1, or its samples where they "
      "grow with the workers), N0 the smallest worker count of the group",
      marks },
    { "efficiency", "efficiency", "", "S(N) / (N / N0): 1 where N times the workers are N times as fast", marks },
    { "energy-ratio", "energy ratio", "",
      "[E(N) / w(N)] / [E(N0) / w(N0)], E the energy per epoch, w its work as for the speedup", "power sensors" },
    { "ratio95", "95 % interval of a ratio", "",
      "exp(d -+ t(0.975, df) se), d the difference of mean logarithms over runs, df after Welch and Satterthwaite; "
      "needs two runs on both sides",
      "docs/adr/070" },
    { "beta", "scaling exponent", "",
      "-b1 in ln t = b0 + b1 ln N; 1 is ideal for a fixed amount of work per epoch, 0 means no speedup", law },
    { "alpha", "epoch time at one worker", "s", "exp(b0): the law at N = 1", law },
    { "ci95", "95 % interval", "",
      "b1 -+ t(0.975, df) se(b1); the wider of the intervals over runs and over configuration means", law },
    { "r2", "R2", "", "1 - SSE / SST of ln t: a high value does not show that the law is a power law", law },
    { "band", "95 % band", "s",
      "exp(b0 + b1 ln N -+ t(0.975, df) se): confidence band of the line, not a prediction band of the next run", law },
    { "ideal", "ideal", "", "t(N0) N0 / N, from the fitted time at the smallest worker count", law },
    { "verdict", "is it a power law", "",
      "change of beta per factor of 10 = -2 c2 ln 10, y = c0 + c1 x + c2 x^2 over the means of worker counts, x = ln "
      "N. "
      "SUPPORTED where abs(change) + t(0.95, m-3) se < 0.05 and the interval of beta is beyond 0.05; REJECTED where "
      "abs(change) > 0.05 and its 95 % interval excludes 0; else UNDECIDED",
      "docs/adr/112" },
    { "smallest-margin", "power law to within", "",
      "abs(change) + t(0.95, m-3) se: the smallest margin at which the verdict would be SUPPORTED", "docs/adr/112" },
    { "forecast", "forecast", "s",
      "median, 2.5 % and 97.5 % of the predictive mixture of the hierarchical model: curve + configuration (+ run)",
      "docs/adr/111" },
    { "choice", "choice of a setting", "",
      "least posterior mean of ln E among the settings whose time is at most 1.1 times that of the reference (the "
      "fastest "
      "without a cap, or with the largest) with probability 0.9, by a joint model of ln t and ln P over all axes",
      "docs/adr/117" },
    { "effect", "effect of a factor", "",
      "exp of the mean difference of ln T (of ln E) between pairs of settings that differ in the factor alone, by the "
      "joint model of ln t and ln P; 95 % interval of its draws",
      "docs/adr/117" },
    { "forecast-narrower", "what would narrow it most", "",
      "the worker count whose measurement leaves the least expected variance at N, and the ratio of the standard "
      "deviations after and before",
      "docs/adr/111" },
    { "posterior-weight", "posterior weight", "",
      "prior weight of a family of curves x its marginal likelihood, normalised", "docs/adr/111" },
    { "local-exponent", "exponent at N", "",
      "median, 2.5 % and 97.5 % of -d ln t / d ln N over the curves of the posterior", "docs/adr/111" },
    { "slowdown", "slowdown at N", "",
      "time at a level over that at the base; intervals of all worker counts of a level hold together",
      "docs/adr/113" },
    { "lack-of-fit", "lack of fit", "",
      "F = [(SSE - SSpe) / (m - 2)] / [SSpe / (n - m)], SSpe within worker counts, m worker counts, n runs", law },
    { "bend", "curvature", "", "t-test of q in ln t = b0 + b1 ln N + q (ln N)^2", law },
    { "break", "breakpoint", "workers",
      "two lines in ln N that meet: the meeting point with the smallest SSE, its 95 % profile interval, p by the "
      "supremum test",
      "docs/adr/071" },
    { "aicc", "AICc and weight", "",
      "n ln(SSE / n) + n + n ln(2 pi) + 2K + 2K(K + 1) / (n - K - 1), K parameters with sigma; weight: exp(-d / 2) "
      "over the sum of it, d the distance from the smallest",
      "docs/adr/071" },
    { "llo", "leave-largest-out error", "%",
      "root mean square error at the larger worker counts when fitted up to half and up to a quarter of the largest",
      "docs/adr/071" },
    { "departure", "departure from the law", "%",
      "100 (t(N) / law(N) - 1), the law fitted up to a smaller worker count; t-test of ln t, Holm over the counts",
      law },
    { "tradeoff", "speed and energy by level", "",
      "exp of the difference of mean logarithms over runs at one worker count: speed = work per time, energy = that of "
      "the same work; 95 % interval after Welch and Satterthwaite",
      "docs/adr/072" },
    { "equal-slopes", "equal exponents", "",
      "F of one slope against one for each level in ln t on ln N; partial eta2: share of what the common slope leaves",
      "docs/adr/072" },
    { "factor-verdict", "exponents by level", "",
      "DIFFERENT where a pair differs (Holm, 5 %), EQUIVALENT where all pairs lie within 0.05 (two one-sided tests), "
      "else UNDECIDED",
      "docs/adr/072" },
    { "plan-time", "planned time", "s",
      "step model: S x t_step + overhead of an epoch at the plan's constants, or at the mode of their posterior given "
      "these runs; intervals from draws of the priors; measured: geometric mean over runs",
      "docs/adr/119" },
    { "plan-power", "planned power", "W",
      "idle power + dynamic power x (share computing + spin share x share waiting), of one worker; measured: geometric "
      "mean over runs of energy / time / workers",
      "docs/adr/119" },
    { "worker-hours", "worker-hours and energy", "h",
      "workers x epoch time, and kWh = energy / 3.6e6, summed over the epochs of a run that have both",
      "power sensors, mark lines" },
    { "site-energy", "energy with PUE", "kWh", "kWh x PUE, the site's energy at the meter over that of its devices",
      "PUE as given" },
    { "carbon", "carbon", "kg CO2e",
      "sum over runs of kWh x PUE x intensity; from a file the intensity of a run is that of its steps, weighted by "
      "the energy drawn in each",
      "intensity as given" },
    { "cost", "cost", "", "kWh x PUE x price per kWh", "price as given" },
    { "energy-rate", "energy per worker-hour", "kWh",
      "kWh / worker-hours of a run; variation: standard deviation over mean of the runs", "power sensors, mark lines" },
    { "energy-line", "line of energy", "kWh",
      "least squares kWh = base + slope x worker-hours over runs; R2 about the mean; interval by t(n - 2)",
      "Huber et al. 2025" },
    { "drivers", "drivers of the energy per worker-hour", "",
      "standardised coefficients of kWh per worker-hour on samples and on updates per worker-hour; VIF = 1 / (1 - r^2) "
      "of the two, above 10 their effects cannot be separated",
      "Huber et al. 2025" },
    { "power", "power", "W",
      "sum over the devices of one scope of the mean reading in each interval of the grid; the interval is the "
      "sampling period or 1/500 of the run",
      "power sensors" },
    { "utilisation", "utilisation", "%",
      "mean over devices of the mean reading in each interval; the band runs from the smallest to the largest device",
      "utilisation sensors" },
    { "utilisation-mean", "mean utilisation", "%",
      "mean of the readings of all devices from the first epoch's begin to the last one's end; over runs with the "
      "interval of t(n - 1), of one run with that of 400 draws of batches of sqrt(n) instants",
      "utilisation sensors" },
    { "utilisation-cv", "variation of utilisation", "%",
      "100 sd / mean: of a device over time, mean over devices; between the devices at one instant, mean over "
      "instants; of all readings (pooled); intervals as of the mean",
      "utilisation sensors" },
    { "utilisation-joint", "joint utilisation", "%", "readings of two quantities of a device at one instant",
      "utilisation sensors" },
    { "quality", "loss and accuracy", "",
      "as the workload reported it for the epoch; mean over repeats, the band runs from the smallest to the largest "
      "run",
      "metric marks" },
    { "quality-end", "main metric at the end", "",
      "the last value of a run's main metric (the one that the workload defined as such, else accuracy before loss, "
      "held-out before training data); mean over runs with the interval of t(n - 1)",
      "metric marks" },
    { "batch-final", "metric at the end", "",
      "the workload's value for the last epoch; mean over the runs with one global batch", "metric marks" },
    { "batch-best", "metric of the best epoch", "",
      "the largest value over the epochs of a run where larger is better, else the smallest; mean over the runs with "
      "one global batch: a maximum over noisy epochs is higher than on a new data set",
      "metric marks" },
    { "batch-ci95", "95 % interval over runs", "",
      "mean -+ t(0.975, n - 1) s / sqrt(n), s the standard deviation over the n runs with one global batch; needs two "
      "runs",
      "metric marks" },
    { "run-time", "wall time", "s", "end minus start of the job, start-up and validation included",
      "CLOCK_MONOTONIC of wattlaw" },
    { "run-epoch-time", "epoch time of a run", "s", "mean over all epochs of the run, the first one included", marks },
    { "run-energy", "energy of the run", "J", "energy of the chosen devices from start to end of the job",
      "power sensors" },
    { "run-energy-range", "95 % interval of the run's energy", "J",
      "error from sampling, edges and gaps; intervals of devices are added", "power sensors" },
    { "run-above-idle", "energy above idle", "J",
      "energy of the run - mean idle power before and after it * time of the run", "power sensors" },
    { "run-power", "mean power of the run", "W", "energy of the run / time that the energy covers", "power sensors" },
    { "run-input", "share of time waiting for input", "%",
      "100 * (time of the phase input, mean over ranks, added up over epochs) / (times of those epochs)",
      "phase marks, mark lines of rank 0" },
    { "run-capped", "clock held down", "%",
      "share of the run in which the power limit, or heat, held the GPU clock below what it could be; mean over GPUs",
      "GPU sensors" },
    { "achieved-clock", "clock achieved", "MHz",
      "SM or memory clock of the GPUs, mean over time and GPUs, next to the requested one", "GPU sensors" },
    { "caps-acted", "caps that acted", "%",
      "100 * caps of one kind that acted / those of the run whose effect was observed, mean over runs: the power or "
      "clock came within 5 % of the cap, or the driver says that the power limit held the clock down; 0: none ever did",
      "GPU and CPU sensors, read-back of caps" },
    { "overhead", "own overhead", "%", "100 * CPU time of wattlaw during the run / wall time: of one core",
      "CLOCK_PROCESS_CPUTIME_ID" },
    { 0 },
};

const struct wl_metric_doc *wl_metric_doc(const char *id)
{
    for (const struct wl_metric_doc *m = wl_metric_docs; m->id; m++) {
        if (wl_str_eq(m->id, id)) return m;
    }
    return NULL;
}
