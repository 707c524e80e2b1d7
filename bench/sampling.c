/* bench_sampling NVML_LIBRARY [SECONDS]: CPU time of the sampler at 10 Hz, as a share of one core.
 *
 * Sensors: eight (scripted) GPUs, proc with a job of nine processes, cpu_model; all on the machine's own /proc. Prints
 * the share, the target and their ratio, which must stay below 1. The stand-in answers faster than a real
 * driver: the cost of NVML itself is not included. */
#include "power/power.h"

#include "bench.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GPUS = 8, WORKERS = 8 };
static const double rate_hz = 10, target_pct = 0.2;

/* A job of one process and eight children that sleep, in a process group of its own. */
static pid_t start_job(void)
{
    pid_t job = fork();
    if (job != 0) return job;
    setpgid(0, 0);
    for (int i = 0; i < WORKERS; i++) {
        if (fork() == 0) break;
    }
    for (;;) pause();
}

int main(int argc, char **argv)
{
    if (argc < 2) return fprintf(stderr, "usage: bench_sampling NVML_LIBRARY [SECONDS]\n"), 2;
    double seconds = argc > 2 ? atof(argv[2]) : 20;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_power_opts opts = { .rate_hz = rate_hz, .cpu_tdp_w = NAN, .cpu_idle_w = NAN, .nvml_library = argv[1] };
    opts.sensors = wl_str_split(a, "nvml,proc,cpu_model", ',');
    char script[32];
    snprintf(script, sizeof script, "gpus=%d", GPUS);
    setenv("WATTLAW_FAKE_NVML", script, 1);

    struct wl_sensors *sensors;
    struct wl_sampler *sampler;
    must(wl_sensors_open(&sensors, &opts, a, &e), &e);
    must(wl_sampler_start(&sampler, sensors, rate_hz, a, &e), &e);
    int64_t t0 = wl_now_ns(), end = t0 + (int64_t)(seconds * WL_NS_PER_S);
    pid_t job = start_job();
    wl_sampler_watch(sampler, job);
    static struct wl_sample buffer[1 << 14];
    while (wl_now_ns() < end) {
        wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 2);
        wl_sampler_drain(sampler, buffer, WL_COUNT(buffer));
    }
    wl_sampler_stop(sampler);
    double elapsed_s = (double)(wl_now_ns() - t0) / WL_NS_PER_S;
    kill(-job, SIGKILL);
    waitpid(job, NULL, 0);

    struct wl_sampler_stats s;
    wl_sampler_stats(sampler, &s);
    double share_pct = 100 * (double)s.cpu_ns / WL_NS_PER_S / elapsed_s;
    printf("%zu channels at %g Hz for %.0f s: period %.2f ms achieved, %llu ticks skipped, %llu samples, %zu kB\n",
           sensors->n_channels, rate_hz, elapsed_s, 1e3 * s.achieved_period_s, (unsigned long long)s.skipped,
           (unsigned long long)s.samples, s.memory_bytes / 1000);
    printf("sampler: %.3f %% of a core (%.0f us a tick); target %.1f %%; ratio %.2f\n", share_pct,
           1e-3 * (double)s.cpu_ns / (double)s.ticks, target_pct, share_pct / target_pct);
    wl_arena_free(a);
    return share_pct <= target_pct ? 0 : 1;
}
