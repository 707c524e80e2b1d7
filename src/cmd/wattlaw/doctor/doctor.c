/* wattlaw doctor: what can be measured and capped on this machine, and the exact command that would fix what cannot. */
#include "cmd/wattlaw/doctor/doctor.h"
#include "cmd/cmd.h"
#include "cmd/wattlaw/screen.h"

#include <math.h>
#include <unistd.h>

struct doctor_options {
    struct wl_power_opts power;
    struct wl_cap_opts cap;
    struct wl_doctor_calibration calibration;
    double seconds;
    bool json, all;
};

static const struct wl_opt doctor_rows[] = {
    WL_POWER_OPT_ROWS(struct doctor_options, power),
    WL_CAP_OPT_ROWS(struct doctor_options, cap, "cap-"),
    { .name = "for",
      .type = WL_DURATION,
      .offset = offsetof(struct doctor_options, seconds),
      .def = "1s",
      .min = 0,
      .max = 3600,
      .help = "duration of the sampling of all sensors" },
    { .name = "calibrate",
      .type = WL_FLAG,
      .offset = offsetof(struct doctor_options, calibration.asked),
      .help = "calibrate the power sensors of all NVIDIA GPUs, or of DEVICE, with square waves of load, and save the "
              "result" },
    { .name = "force",
      .type = WL_FLAG,
      .offset = offsetof(struct doctor_options, calibration.force),
      .help = "run --calibrate although other processes use the GPU" },
    { .name = "cuda-library",
      .type = WL_STR,
      .offset = offsetof(struct doctor_options, calibration.cuda_library),
      .unit = "FILE",
      .help = "path of libcuda.so.1 (default: found by the loader)" },
    WL_ALL_OPT_ROW(struct doctor_options),
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct doctor_options, json),
      .help = "print the results as JSON" },
    WL_OPT_END,
};

static void keep_latest(struct wl_doctor_findings *f, struct wl_sampler *s)
{
    struct wl_sample buffer[1024];
    size_t n;
    while ((n = wl_sampler_drain(s, buffer, WL_COUNT(buffer))) > 0) {
        for (size_t i = 0; i < n; i++) {
            if (isfinite(buffer[i].value)) f->latest[buffer[i].channel] = buffer[i].value;
        }
    }
}

static int sample(struct wl_doctor_findings *f, struct wl_sensors *sensors, const struct doctor_options *o,
                  struct wl_arena *a, struct wl_err *e)
{
    struct wl_sampler *s;
    size_t n = sensors->n_channels;
    f->latest = wl_new_array(a, double, n);
    f->channels = wl_new_array(a, struct wl_channel_stats, n);
    for (size_t i = 0; i < n; i++) f->latest[i] = NAN;
    int64_t start = wl_now_ns(), end = start + (int64_t)(o->seconds * WL_NS_PER_S);
    int code = wl_sampler_start(&s, sensors, o->power.rate_hz, a, e);
    if (code < 0) return code;
    wl_sampler_bind(s, o->power.sampler_cpu);
    wl_sampler_watch(s, getpid());
    for (int64_t now = start; now < end && code == 0; now = wl_now_ns()) {
        int64_t next = now + WL_NS_PER_S;
        code = wl_sleep_until(next < end ? next : end);
        keep_latest(f, s);
    }
    wl_sampler_stop(s);
    keep_latest(f, s);
    f->sampled_s = (double)(wl_now_ns() - start) / WL_NS_PER_S;
    wl_sampler_stats(s, &f->sampler);
    wl_sensors_notes(sensors, &f->notes, a);
    for (size_t i = 0; i < n; i++) wl_sampler_channel_stats(s, i, &f->channels[i]);
    return code < 0 ? wl_fail(e, code, "stopped") : 0;
}

static int find(struct wl_doctor_findings *f, const struct doctor_options *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_sensors *sensors;
    int code = wl_sampler_cpu_check(&o->power, a, e);
    if (code == 0) code = wl_sensors_open(&sensors, &o->power, a, e);
    if (code == 0) code = sample(f, sensors, o, a, e);
    if (code < 0) return code;
    struct wl_energy_source *sources = wl_new_array(a, struct wl_energy_source, sensors->n_channels);
    wl_energy_sources(sensors->channels, sensors->n_channels, sources, &f->basis);
    f->sensors = sensors;
    wl_doctor_caps_find(&f->caps, &o->cap, &o->power, a);
    wl_doctor_machine_read(&f->machine, a);
    f->n_programs = wl_doctor_programs_find(&f->programs, a);
    wl_doctor_training_find(&f->training, o->calibration.cuda_library, a);
    return 0;
}

double wl_doctor_highest_rate_hz(const struct wl_sensor_info *info)
{
    return fmin(1000, 0.5 / fmax(info->read_s, 1e-9));
}

double wl_doctor_cpu_share_pct(const struct wl_doctor_findings *f)
{
    return f->sampled_s > 0 ? 100 * (double)f->sampler.cpu_ns / WL_NS_PER_S / f->sampled_s : NAN;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct doctor_options *o = options;
    size_t most = o->calibration.asked ? 1 : 0;
    if (rest->args.n > most)
        return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'%s", rest->args.v[most],
                       most ? "" : " without --calibrate");
    if (o->calibration.asked)
        return wl_doctor_calibrate(&o->calibration, &o->power, rest->args.n ? rest->args.v[0] : NULL, o->json, a, e);
    struct wl_doctor_findings f = { 0 };
    int code = find(&f, o, a, e);
    if (code < 0) return code;
    if (o->json)
        wl_doctor_print_json(&f, a);
    else if (wl_screen_is_short(o->all))
        wl_doctor_print_short(&f, a);
    else
        wl_doctor_print(&f, o->all, a);
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_doctor = {
    .name = "doctor",
    .usage = "[options] [--calibrate [DEVICE]]",
    .help = "show what can be measured and capped on this machine, and the exact command that enables the rest",
    .more = "Every sensor is tried, sampled for --for and listed with its quantities and sampling rate or, where it "
            "cannot be\n"
            "read, the reason and the fix. A sensor that is named with --sensors and cannot be read is an error.\n"
            "\n"
            "  wattlaw doctor --sensors rapl && echo CPU energy can be measured\n"
            "  wattlaw doctor --calibrate 0     calibrate the power sensors of GPU 0 (takes about 15 s)",
    .options = doctor_rows,
    .options_size = sizeof(struct doctor_options),
    .run = run,
};
