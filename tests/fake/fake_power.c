/* Power and energy of a GPU, and what its sensors show. */
#include "fake_nvml.h"

#include <math.h>

/* The time of the sensors' latest update. */
static double updated_s(void)
{
    double t = fake_time_s(), period_s = fake.script.update_ms * 1e-3;
    return period_s > 0 ? floor(t / period_s) * period_s : t;
}

static int64_t ns_at(double t_s)
{
    return fake.start.tv_sec * INT64_C(1000000000) + fake.start.tv_nsec + (int64_t)llround(t_s * 1e9);
}

/* ---- The script's power ---- */

static double base_w(const struct nvmlDevice_st *d)
{
    const struct fake_script *s = &fake.script;
    return (s->shape == FAKE_POWER_CONSTANT ? fake_list_of(&s->power_w, d->index) : s->shape_v[0]) + d->index;
}

static double capped_w(const struct nvmlDevice_st *d)
{
    return d->limit_w > 0 ? fmin(d->limit_w, base_w(d)) : base_w(d);
}

static double power_w(const struct nvmlDevice_st *d, double t)
{
    const double *v = fake.script.shape_v;
    switch (fake.script.shape) {
    case FAKE_POWER_RAMP: return base_w(d) + v[1] * t;
    case FAKE_POWER_SINE: return base_w(d) + v[1] * sin(2 * M_PI * t / v[2]);
    case FAKE_POWER_CONSTANT: break;
    }
    return capped_w(d);
}

/* The exact integral of power_w from 0 to t. */
static double integral_j(const struct nvmlDevice_st *d, double t)
{
    const double *v = fake.script.shape_v;
    switch (fake.script.shape) {
    case FAKE_POWER_RAMP: return base_w(d) * t + 0.5 * v[1] * t * t;
    case FAKE_POWER_SINE: return base_w(d) * t + v[1] * v[2] / (2 * M_PI) * (1 - cos(2 * M_PI * t / v[2]));
    case FAKE_POWER_CONSTANT: break;
    }
    return d->drawn_j + capped_w(d) * (t - d->drawn_to_s);
}

/* ---- Limits ---- */

unsigned fake_power_limit_mw(nvmlDevice_t d)
{
    struct fake_limits l = fake_limits_get(d->index);
    return l.power_mw ? l.power_mw : fake.script.limits_mw[2];
}

unsigned fake_enforced_limit_mw(nvmlDevice_t d)
{
    unsigned mw = fake_power_limit_mw(d), elsewhere_mw = (unsigned)lround(fake.script.out_of_band_w * 1e3);
    return elsewhere_mw && elsewhere_mw < mw ? elsewhere_mw : mw;
}

unsigned fake_module_limit_mw(nvmlDevice_t d)
{
    struct fake_limits l = fake_limits_get(d->index);
    return l.module_mw ? l.module_mw : fake.script.module_limits_mw[2];
}

/* The limit in effect: the GPU's own, or what its module's limit leaves for it. */
static double acting_limit_w(nvmlDevice_t d)
{
    double own_w = fake_enforced_limit_mw(d) * 1e-3, module_w = fake_module_limit_mw(d) * 1e-3;
    return module_w > 0 ? fmin(own_w, fmax(0, module_w - fake.script.module_w)) : own_w;
}

struct model_limits {
    double limit_w, clock_mhz, mem_mhz;
};

static void set_limits_of(struct fake_input *in, const void *to)
{
    const struct model_limits *l = to;
    in->limit_w = l->limit_w;
    in->clock_mhz = l->clock_mhz;
    in->mem_mhz = l->mem_mhz;
}

static void model_follows(nvmlDevice_t d, double limit_w)
{
    const struct fake_input *in = fake_input_at(&d->model, INT64_MAX);
    struct fake_limits set = fake_limits_get(d->index);
    struct model_limits l = { limit_w, set.sm_mhz, set.mem_mhz };
    if (l.limit_w != in->limit_w || l.clock_mhz != in->clock_mhz || l.mem_mhz != in->mem_mhz)
        fake_world_change(fake.world, d->index, fake_now_ns(), set_limits_of, &l);
}

void fake_follow_limit(nvmlDevice_t d)
{
    double limit_w = acting_limit_w(d);
    if (fake.world) {
        model_follows(d, limit_w);
        return;
    }
    double now_s = fake_time_s();
    if (limit_w == d->limit_w) return;
    if (d->limit_w > 0) d->drawn_j += capped_w(d) * (now_s - d->drawn_to_s);
    d->drawn_to_s = d->limit_w > 0 ? now_s : 0;
    d->limit_w = limit_w;
}

/* ---- Sensors ---- */

unsigned fake_power_mw(nvmlDevice_t d)
{
    double t = updated_s();
    double w = fake.world ? fake_power_reading_w(&d->model, ns_at(t)) : power_w(d, t);
    return (unsigned)lround(w * 1e3);
}

unsigned fake_mean_power_mw(nvmlDevice_t d)
{
    double t = updated_s(), from = fmax(0, t - 1);
    if (!fake.world && t <= from) return fake_power_mw(d);
    double w = fake.world ? fake_average_reading_w(&d->model, ns_at(t))
                          : (integral_j(d, t) - integral_j(d, from)) / (t - from);
    return (unsigned)lround(w * 1e3);
}

static double drawn_j(nvmlDevice_t d, double t)
{
    return fake.world ? fake_counter_reading_j(&d->model, ns_at(t)) : integral_j(d, t);
}

double fake_energy_j(nvmlDevice_t d)
{
    const struct fake_script *s = &fake.script;
    const double before_j = 123456.0;
    double t = updated_s();
    if (t >= s->reset_s && isnan(d->reset_j)) d->reset_j = drawn_j(d, s->reset_s);
    double since_j = drawn_j(d, t) + (t < s->reset_s ? before_j : -d->reset_j);
    return fmod(fake_list_of(&s->counter_scale, d->index) * since_j, s->wrap_j);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *mw)
{
    FAKE_ENTER(d, "GetPowerUsage");
    bool averages = fake.world && fake.script.profile->averages;
    *mw = averages ? fake_mean_power_mw(d) : fake_power_mw(d);
    return NVML_SUCCESS;
}
