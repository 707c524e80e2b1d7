#include "job.h"

#include <math.h>

/* c / W as implied by the published exponents over 2 to 416 workers; times, batches and samples in the range of the
 * networks' usual training on V100s. */
const struct network networks[] = {
    { "dimenet", 1900, .0045, .80, 215, 88, 45, 128, 110000, 2.0, 0.12 },
    { "schnet", 240, .052, .45, 140, 60, 30, 128, 110000, 2.0, 0.15 },
    { "bert", 21000, .0028, .90, 245, 97, 62, 8, 230000, 9.8, 2.4 },
    { "resnet50", 3600, .030, .85, 235, 95, 58, 256, 1281167, 6.9, 1.1 },
    { "vgg16", 5200, .015, .92, 245, 98, 66, 256, 1281167, 6.9, 1.3 },
    { "inception3", 4300, .047, .82, 225, 93, 52, 256, 1281167, 6.9, 1.2 },
    { 0 },
};

static const double idle_w = 40, full_mhz = 1380, least_mhz = 135;

static double board_power(const struct network *net, double busy, double mhz)
{
    return idle_w + busy * (net->full_w - idle_w) * pow(mhz / full_mhz, 2.5);
}

/* The clock that the cap allows a fully loaded board. */
static double clock_under(const struct setting *s)
{
    double room = (s->cap_w - idle_w) / (s->network->full_w - idle_w);
    double allowed = room > 0 ? full_mhz * pow(room, 1 / 2.5) : least_mhz;
    return fmax(fmin(s->clock_mhz, allowed), least_mhz);
}

struct job job_of(const struct setting *s)
{
    const struct network *net = s->network;
    struct job job = { .clock_mhz = clock_under(s) };
    double slower = net->clocked * full_mhz / job.clock_mhz + 1 - net->clocked;
    double compute_s = net->epoch_s * slower / s->workers;
    job.epoch_s = compute_s + net->overhead * net->epoch_s;
    job.busy = compute_s / job.epoch_s;
    job.power_w = board_power(net, job.busy, job.clock_mhz);
    return job;
}

/* ---- noise ---- */

enum stream { CONFIG, RUN, EPOCH, DEVICE, LOSS, READINGS };

struct run_noise run_noise_of(const struct setting *s, uint64_t seed, int64_t repeat)
{
    static const double config_sd = .01, run_sd = .02;
    uint64_t config = seed ^ wl_hash_fnv1a(s->network->name);
    config += (uint64_t)s->workers * 1000003 + (uint64_t)s->cap_w * 10007 + (uint64_t)s->clock_mhz;
    struct run_noise noise = { .key = config * 31 + (uint64_t)repeat };
    noise.of_config = exp(config_sd * wl_random_normal(config, CONFIG, 0));
    noise.of_run = exp(run_sd * wl_random_normal(noise.key, RUN, 0));
    return noise;
}

double epoch_factor(const struct run_noise *noise, int64_t epoch)
{
    static const double epoch_sd = .01;
    return noise->of_config * noise->of_run * exp(epoch_sd * wl_random_normal(noise->key, EPOCH, (uint64_t)epoch));
}

double device_factor(const struct run_noise *noise, int64_t device)
{
    static const double device_sd = .02;
    return exp(device_sd * wl_random_normal(noise->key, DEVICE, (uint64_t)device));
}

void utilisation(const struct job *job, double at_full, const struct run_noise *noise, int64_t device, double *v,
                 size_t n)
{
    static const double rho = .5;
    double sd = at_full * (.04 + .35 * (1 - job->busy)), x = 0;
    for (size_t i = 0; i < n; i++) {
        x = rho * x + sqrt(1 - rho * rho) * wl_random_normal(noise->key, READINGS + (uint64_t)device, i);
        v[i] = fmin(fmax(at_full * job->busy + sd * x, 0), 100);
    }
}

/* Falls with the epochs; larger global batches make fewer updates and fall more slowly. */
double validation_loss(const struct setting *s, const struct run_noise *noise, int64_t epoch)
{
    const struct network *net = s->network;
    double updates = net->samples / (net->local_batch * s->workers) * (double)epoch;
    double left = exp(-pow(updates / 3000, .35));
    return (net->loss1 + (net->loss0 - net->loss1) * left) *
           exp(.005 * wl_random_normal(noise->key, LOSS, (uint64_t)epoch));
}
