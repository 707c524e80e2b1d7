#include "accuracy.h"

size_t design_runs(const struct design *d, size_t count) { return d->unequal_runs ? 1 + count % d->runs : d->runs; }

size_t design_epochs(const struct design *d, size_t count, size_t run)
{
    static const size_t unequal[] = { 2, 60, 5, 20 };
    if (d->epoch_sd == 0) return 1;
    return d->unequal_epochs ? unequal[(2 * count + run) % WL_COUNT(unequal)] : EPOCHS;
}

struct campaign campaign_new(size_t room)
{
    struct campaign c = { .obs = { .source = "simulated" }, .arena = wl_arena_new(NULL) };
    wl_obs_alloc(&c.obs, room, c.arena);
    c.obs.n = 0;
    return c;
}

size_t campaign_add(struct campaign *c, double workers, size_t run, double time_s)
{
    const size_t row = c->obs.n++;
    c->obs.workload[row] = "simulated";
    c->obs.workers[row] = workers;
    c->obs.run[row] = wl_strf(c->arena, "%zu", run);
    c->obs.time_s[row] = time_s;
    c->obs.samples[row] = 1;
    return row;
}

void campaign_end(struct campaign *c) { wl_obs_index_runs(&c->obs, c->arena); }
