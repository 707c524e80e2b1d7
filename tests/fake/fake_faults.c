/* Faults of calls: they fail, take long, or never return. */
#include "fake_nvml.h"

#include <math.h>
#include <string.h>

static void spend(double seconds)
{
    struct timespec left = { .tv_sec = (time_t)seconds, .tv_nsec = (long)(fmod(seconds, 1.0) * 1e9) };
    if (seconds > 0) nanosleep(&left, NULL);
}

static void stall_once(void)
{
    double seconds = fake.script.stall_s;
    if (seconds <= 0 || fake_time_s() < fake.script.stall_at_s) return;
    fake.script.stall_s = 0;
    spend(seconds);
}

static void be_slow_now_and_then(void)
{
    struct fake_script *s = &fake.script;
    double t = fake_time_s();
    if (s->slow_s <= 0 || t < s->slow_next_s) return;
    s->slow_next_s = t + s->slow_each_s;
    spend(s->slow_s);
}

static bool concerns(const struct fake_fault *f, nvmlDevice_t d, const char *call)
{
    return (f->gpu < 0 || (d && f->gpu == d->index)) && (f->call[0] == '*' || strcmp(f->call, call) == 0);
}

/* The caller may be abandoned meanwhile, and NVML initialised again. */
static void hang_until(double t_s)
{
    for (double left = t_s - fake_time_s(); left > 0; left = t_s - fake_time_s()) spend(fmin(1, left));
}

nvmlReturn_t fake_fault(nvmlDevice_t d, const char *call)
{
    const struct fake_script *s = &fake.script;
    for (int i = 0; i < s->n_faults; i++) {
        const struct fake_fault *f = &s->faults[i];
        double t = fake_time_s();
        if (!concerns(f, d, call) || t < f->from_s || t >= f->to_s) continue;
        if (f->code != FAKE_HANGS) return f->code;
        hang_until(f->to_s);
    }
    return NVML_SUCCESS;
}

nvmlReturn_t fake_enter(nvmlDevice_t d, const char *call)
{
    spend(fake.script.latency_us * 1e-6);
    stall_once();
    be_slow_now_and_then();
    fake_follow_limit(d);
    return fake_fault(d, call);
}
