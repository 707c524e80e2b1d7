#include "live/node.h"

#include "base/thread.h"
#include "live/drivers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How often samples are taken from the sampler, which keeps those of 30 s; and processes are listed, the second time
 * soon, since their shares of a CPU are known from then on. */
static const int64_t TAKE_NS = WL_NS_PER_S / 5, LIST_NS = WL_NS_PER_S, SOON_NS = WL_NS_PER_S / 4;

/* Power over a longer hole is not integrated, and a reading is no longer shown as one of now. */
static const double HOLE_S = 10, HOLE_PERIODS = 3;

enum { TAKEN = 4096, LISTED = 128 };

struct wl_live {
    struct wl_arena *a; /* its own; the thread's while that runs */
    struct wl_live_opts opts;
    const char *host;
    struct wl_anchor start;
    int64_t hole_ns;
    struct wl_sensors *sensors;
    struct wl_sampler *sampler;
    struct wl_live_drivers *drivers;
    struct wl_strs users; /* "name:uid", of /etc/passwd: a name service may not answer */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t taking;  /* held by who takes samples: the thread, or somebody who looks */
    struct wl_sample *taken; /* [TAKEN] */
    /* of the thread */
    struct wl_process_list *list; /* NULL: processes are not listed */
    int64_t listed_ns, lists;     /* when last, how often */
    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool stop;
    struct wl_live_reading *readings; /* [sensors->n_channels] */
    struct wl_live_energy *energies;
    struct wl_running_total *totals; /* [n_energies] */
    size_t n_energies;
    const char *energy_scope;
    struct wl_sampler_stats stats;
    struct wl_listed_process *processes; /* the last list, by pid */
    size_t n_processes, cap_processes;
};

/* ---- which energies ---- */

static bool has_counter(const struct wl_sensors *s, const struct wl_channel *of)
{
    for (size_t i = 0; i < s->n_channels; i++) {
        const struct wl_channel *c = &s->channels[i];
        if (c->device == of->device && c->scope == of->scope && c->quantity == WL_ENERGY) return true;
    }
    return false;
}

static bool is_counted(const struct wl_energy_source *sources, size_t n, size_t channel)
{
    for (size_t i = 0; i < n; i++)
        if ((sources[i].counter >= 0 ? sources[i].counter : sources[i].power) == (int)channel) return true;
    return false;
}

static void find_energies(struct wl_live *l)
{
    const struct wl_sensors *s = l->sensors;
    struct wl_energy_source *sources = wl_new_array(l->a, struct wl_energy_source, s->n_channels);
    const size_t n = wl_energy_sources(s->channels, s->n_channels, sources, &l->energy_scope);
    l->energies = wl_new_array(l->a, struct wl_live_energy, s->n_channels);
    l->totals = wl_new_array(l->a, struct wl_running_total, s->n_channels);
    for (size_t i = 0; i < s->n_channels; i++) {
        const struct wl_channel *c = &s->channels[i];
        const bool counter = c->quantity == WL_ENERGY;
        if (!counter && (c->quantity != WL_POWER || has_counter(s, c))) continue;
        l->totals[l->n_energies] = wl_running_total_of(counter, l->hole_ns);
        l->energies[l->n_energies++] = (struct wl_live_energy) {
            .channel = (int)i, .counter = counter, .counted = is_counted(sources, n, i), .since_start_j = NAN
        };
    }
}

/* ---- the thread ---- */

static void take(struct wl_live *l, const struct wl_sample *s)
{
    l->readings[s->channel] = (struct wl_live_reading) { .value = s->value, .t_ns = s->t_ns };
    for (size_t i = 0; i < l->n_energies; i++)
        if (l->energies[i].channel == (int)s->channel)
            wl_running_total_add(&l->totals[i], s->value, s->t_ns, l->start.mono_ns);
}

static void find_whys(struct wl_live *l)
{
    for (size_t c = 0; c < l->sensors->n_channels; c++) {
        struct wl_channel_stats stats;
        if (!isnan(l->readings[c].value)) continue;
        wl_sampler_channel_stats(l->sampler, c, &stats);
        l->readings[c].why = stats.last_why;
    }
}

/* Everything that the sampler has now; that never waits for a driver. */
static void take_all(struct wl_live *l)
{
    size_t n;
    pthread_mutex_lock(&l->taking);
    while ((n = wl_sampler_drain(l->sampler, l->taken, TAKEN)) > 0) {
        pthread_mutex_lock(&l->lock);
        for (size_t i = 0; i < n; i++) take(l, &l->taken[i]);
        pthread_mutex_unlock(&l->lock);
    }
    pthread_mutex_lock(&l->lock);
    find_whys(l);
    wl_sampler_stats(l->sampler, &l->stats);
    pthread_mutex_unlock(&l->lock);
    pthread_mutex_unlock(&l->taking);
}

static void list_processes(struct wl_live *l)
{
    const int64_t now_ns = wl_now_ns();
    if (!l->list || now_ns - l->listed_ns < (l->lists == 1 ? SOON_NS : LIST_NS)) return;
    size_t n;
    const struct wl_listed_process *v = wl_process_list_read(l->list, &n);
    l->listed_ns = now_ns;
    l->lists++;
    pthread_mutex_lock(&l->lock);
    if (n > l->cap_processes) {
        l->cap_processes = 2 * n;
        l->processes = wl_new_array(l->a, struct wl_listed_process, l->cap_processes);
    }
    if (n) memcpy(l->processes, v, n * sizeof *v);
    l->n_processes = n;
    pthread_mutex_unlock(&l->lock);
}

static void *work(void *arg)
{
    struct wl_live *l = arg;
    for (bool stop = false; !stop;) {
        take_all(l);
        list_processes(l);
        pthread_mutex_lock(&l->lock);
        stop = l->stop || wl_thread_cond_wait(&l->change, &l->lock, &l->stop, TAKE_NS);
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

/* ---- start and stop ---- */

static void release(void *arg)
{
    struct wl_live *l = arg;
    wl_live_stop(l);
    pthread_cond_destroy(&l->change);
    pthread_mutex_destroy(&l->lock);
    pthread_mutex_destroy(&l->taking);
    wl_arena_free(l->a);
}

/* "root:x:0:0:..." */
static void read_users(struct wl_live *l)
{
    enum { MOST = 1 << 20 };
    char *text;
    if (wl_file_read("/etc/passwd", MOST, &text, NULL, l->a, NULL) < 0) return;
    const struct wl_strs lines = wl_str_split(l->a, text, '\n');
    for (size_t i = 0; i < lines.n; i++) {
        const struct wl_strs words = wl_str_split(l->a, lines.v[i], ':');
        if (words.n > 2) wl_strs_addf(l->a, &l->users, "%s:%s", words.v[0], words.v[2]);
    }
}

static int start(struct wl_live *l, struct wl_err *e)
{
    int rc = wl_sensors_open(&l->sensors, &l->opts.power, l->a, e);
    if (rc == 0 && l->opts.processes) rc = wl_process_list_open(&l->list, l->opts.power.root, l->a, e);
    if (rc < 0) return rc;
    l->readings = wl_new_array(l->a, struct wl_live_reading, l->sensors->n_channels);
    for (size_t i = 0; i < l->sensors->n_channels; i++) l->readings[i].value = NAN;
    find_energies(l);
    l->start = wl_anchor_now();
    rc = wl_sampler_start(&l->sampler, l->sensors, l->opts.power.rate_hz, l->a, e);
    if (rc < 0) return rc;
    wl_sampler_bind(l->sampler, l->opts.power.sampler_cpu);
    l->drivers = wl_live_drivers_start(&l->opts.power, l->opts.processes);
    take_all(l);
    list_processes(l);
    int failed = wl_thread_start(&l->thread, "wl-live", work, l);
    l->has_thread = failed == 0;
    return failed ? wl_fail(e, WL_ENOMEM, "cannot start a thread that takes samples: %s", strerror(failed)) : 0;
}

int wl_live_start(struct wl_live **out, const struct wl_live_opts *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct wl_live *l = wl_new(own, struct wl_live);
    l->a = own;
    l->opts = *o;
    l->opts.power = wl_power_opts_copy(&o->power, own);
    if (!l->opts.power.root) l->opts.power.root = "";
    l->hole_ns = (int64_t)(fmax(HOLE_S, HOLE_PERIODS / o->power.rate_hz) * WL_NS_PER_S);
    l->host = wl_host_name(own);
    l->taken = wl_new_array(own, struct wl_sample, TAKEN);
    if (o->processes) read_users(l);
    wl_thread_cond_init(&l->lock, &l->change);
    pthread_mutex_init(&l->taking, NULL);
    wl_defer(a, release, l);
    *out = l;
    return start(l, e);
}

void wl_live_stop(struct wl_live *l)
{
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->change);
    pthread_mutex_unlock(&l->lock);
    if (l->has_thread) pthread_join(l->thread, NULL);
    l->has_thread = false;
    wl_live_drivers_stop(l->drivers);
    l->drivers = NULL;
    if (l->sampler) wl_sampler_stop(l->sampler);
}

/* ---- looking ---- */

static int device_of(const struct wl_sensors *s, const char *uuid)
{
    for (size_t i = 0; i < s->n_devices; i++)
        if (wl_str_eq(s->devices[i].uuid, uuid)) return (int)i;
    return -1;
}

static struct wl_live_process *process_of(struct wl_live_process *v, size_t n, int64_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].pid == pid) return &v[i];
    return NULL;
}

static double plus(double sum, double value) { return isnan(sum) ? value : isnan(value) ? sum : sum + value; }

/* A process on a GPU need not be in /proc: it may be of another container. */
static void add_gpu_users(const struct wl_live *l, const struct wl_live_drivers_view *d, struct wl_live_process *v,
                          size_t *n)
{
    for (size_t i = 0; i < d->n_users; i++) {
        const struct wl_gpu_user *u = &d->users[i].user;
        const int device = device_of(l->sensors, d->users[i].gpu);
        struct wl_live_process *p = process_of(v, *n, u->pid);
        if (!p) {
            p = &v[(*n)++];
            *p = (struct wl_live_process) {
                .pid = u->pid, .cpu_pct = NAN, .rss_bytes = NAN, .gpu_pct = NAN, .gpu_memory_bytes = NAN
            };
        }
        if (device >= 0 && p->n_gpus < WL_COUNT(p->gpus)) p->gpus[p->n_gpus++] = device;
        p->gpu_pct = plus(p->gpu_pct, u->util_pct);
        p->gpu_memory_bytes = plus(p->gpu_memory_bytes, u->memory_bytes);
    }
}

static int by_pid(const void *x, const void *y)
{
    const struct wl_listed_process *a = x, *b = y;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static int by_cpu(const void *x, const void *y)
{
    const struct wl_listed_process *a = *(const struct wl_listed_process *const *)x,
                                   *b = *(const struct wl_listed_process *const *)y;
    const double p = isnan(a->cpu_pct) ? -1 : a->cpu_pct, q = isnan(b->cpu_pct) ? -1 : b->cpu_pct;
    if (p > q || p < q) return p > q ? -1 : 1;
    return by_pid(a, b);
}

static void fill_in(const struct wl_live *l, const struct wl_listed_process *from, struct wl_live_process *p,
                    struct wl_arena *a)
{
    p->name = wl_strdup(a, from->name);
    p->cpu_pct = from->cpu_pct;
    p->rss_bytes = from->rss_bytes;
    const char *id = wl_strf(a, ":%lld", (long long)from->user);
    for (size_t i = 0; i < l->users.n && !p->user; i++) {
        const char *colon = strchr(l->users.v[i], ':');
        if (colon && wl_str_eq(colon, id)) p->user = wl_strndup(a, l->users.v[i], (size_t)(colon - l->users.v[i]));
    }
    if (!p->user && from->user >= 0) p->user = id + 1;
}

/* Those on GPUs, then those that use most of the CPUs. The caller holds the lock. */
static void look_at_processes(const struct wl_live *l, const struct wl_live_drivers_view *d, struct wl_live_view *out,
                              struct wl_arena *a)
{
    struct wl_live_process *v = wl_new_array(a, struct wl_live_process, d->n_users + LISTED);
    const struct wl_listed_process **order = wl_new_array(a, const struct wl_listed_process *, l->n_processes);
    size_t n = 0;
    add_gpu_users(l, d, v, &n);
    for (size_t i = 0; i < l->n_processes; i++) {
        struct wl_live_process *p = process_of(v, n, l->processes[i].pid);
        if (p) fill_in(l, &l->processes[i], p, a);
        order[i] = &l->processes[i];
    }
    const size_t on_gpus = n;
    if (l->n_processes) qsort(order, l->n_processes, sizeof *order, by_cpu);
    for (size_t i = 0; i < l->n_processes && n < on_gpus + LISTED; i++) {
        if (process_of(v, on_gpus, order[i]->pid)) continue;
        v[n] = (struct wl_live_process) { .pid = order[i]->pid, .gpu_pct = NAN, .gpu_memory_bytes = NAN };
        fill_in(l, order[i], &v[n++], a);
    }
    out->processes = v;
    out->n_processes = n;
    out->all_processes = l->n_processes;
}

static bool has_sensor(const struct wl_sensors *s, const char *name)
{
    for (size_t i = 0; i < s->n_devices; i++)
        if (wl_str_eq(s->devices[i].sensor, name)) return true;
    return false;
}

static const char *users_why(const struct wl_live *l, const struct wl_live_drivers_view *d)
{
    if (has_sensor(l->sensors, "nvml")) return d->users_why;
    if (has_sensor(l->sensors, "amd") || has_sensor(l->sensors, "level_zero"))
        return "processes on GPUs are known of NVIDIA's driver only";
    return NULL;
}

/* A reading that is older than a hole is not one of now. */
static struct wl_live_reading reading_now(const struct wl_live *l, size_t channel, int64_t now_ns, struct wl_arena *a)
{
    struct wl_live_reading r = l->readings[channel];
    if (r.why) r.why = wl_strdup(a, r.why);
    if (isnan(r.value) || now_ns - r.t_ns <= l->hole_ns) return r;
    r.value = NAN;
    r.why = wl_strf(a, "no reading for %s", wl_human_time(a, (double)(now_ns - r.t_ns) / WL_NS_PER_S));
    return r;
}

static void look_locked(struct wl_live *l, struct wl_live_view *v, struct wl_arena *a)
{
    const int64_t now_ns = wl_now_ns();
    struct wl_live_reading *readings = wl_new_array(a, struct wl_live_reading, l->sensors->n_channels);
    struct wl_live_energy *energies = wl_new_array(a, struct wl_live_energy, l->n_energies);
    for (size_t i = 0; i < l->sensors->n_channels; i++) readings[i] = reading_now(l, i, now_ns, a);
    for (size_t i = 0; i < l->n_energies; i++) {
        energies[i] = l->energies[i];
        const bool none = isnan(l->totals[i].value);
        energies[i].since_start_j = none ? NAN : l->totals[i].energy_j;
        const double now = readings[energies[i].channel].value;
        energies[i].total_j = energies[i].counter ? now : isnan(now) ? NAN : energies[i].since_start_j;
    }
    v->watched_s = (double)(now_ns - l->start.mono_ns) / WL_NS_PER_S;
    v->readings = readings;
    v->energies = energies;
    v->n_energies = l->n_energies;
    v->sampler = l->stats;
}

const struct wl_live_view *wl_live_look(struct wl_live *l, struct wl_arena *a)
{
    struct wl_live_view *v = wl_new(a, struct wl_live_view);
    struct wl_live_drivers_view d;
    take_all(l); /* a counter that lags differently from look to look shows a wrong rate */
    wl_live_drivers_look(l->drivers, &d, a);
    *v = (struct wl_live_view) { .host = l->host,
                                 .wall_ns = wl_wall_ns(),
                                 .start_wall_ns = l->start.wall_ns,
                                 .sensors = l->sensors,
                                 .energy_scope = l->energy_scope,
                                 .caps = d.caps,
                                 .n_caps = d.n_caps,
                                 .caps_why = d.caps_why,
                                 .processes_why = users_why(l, &d),
                                 .cpu_s = (double)wl_clock_process_cpu_ns() / WL_NS_PER_S };
    pthread_mutex_lock(&l->lock);
    look_locked(l, v, a);
    if (l->list) look_at_processes(l, &d, v, a);
    pthread_mutex_unlock(&l->lock);
    return v;
}
