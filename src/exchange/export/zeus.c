/* The log of ZeusMonitor (ml.energy/zeus): start_time,window_name,elapsed_time,gpu0_energy,... in s and J. start_time
 * is of the monotonic clock. */
#include "exchange/export/export.h"
#include "exchange/export/run_data.h"

#include <math.h>
#include <string.h>

/* The GPUs of a run with an energy, in the order of their hosts and numbers, as Zeus numbers those that it sees. */
struct gpus {
    int64_t *device; /* [n] */
    size_t n;
};

static bool is_gpu(const struct wl_energy_row *v) { return strcmp(v->scope, "gpu") == 0; }

static struct gpus gpus_of(const struct wl_run_data *d, struct wl_arena *a)
{
    struct gpus out = { .device = wl_new_array(a, int64_t, d->devices.n) };
    for (size_t i = 0; i < d->devices.n; i++) {
        bool found = false;
        for (size_t k = 0; k < d->energies.n; k++)
            found = found || (is_gpu(&d->energies.v[k]) && d->energies.v[k].device == d->devices.v[i].id);
        if (found) out.device[out.n++] = d->devices.v[i].id;
    }
    return out;
}

/* "_simulated": the only place where a file of Zeus can say that wattlaw did not measure its joules. */
static const char *mark_of(const struct wl_run_data *d)
{
    bool estimated = false, simulated = false;
    for (size_t i = 0; i < d->energies.n; i++) {
        estimated = estimated || (is_gpu(&d->energies.v[i]) && d->energies.v[i].estimated);
        simulated = simulated || (is_gpu(&d->energies.v[i]) && d->energies.v[i].simulated);
    }
    return simulated ? "_simulated" : estimated ? "_estimated" : d->run->source ? "_imported" : "";
}

/* Of the energies that one GPU has of a window, the chosen one. */
static double energy_of(const struct wl_run_data *d, int64_t device, double epoch)
{
    double found = NAN;
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        const bool of_window = isnan(epoch) ? isnan(v->epoch) : v->epoch == epoch;
        if (is_gpu(v) && v->device == device && of_window && (v->chosen || isnan(found))) found = v->energy_j;
    }
    return found;
}

static void put_number(FILE *to, double value)
{
    char number[WL_NUMBER_MAX];
    fputs(isnan(value) ? "" : wl_number_shortest(value, number), to);
}

struct window {
    char *name;
    int64_t begin_ns;
    double time_s, epoch;
};

static void put_window(const struct wl_run_data *d, const struct gpus *gpus, size_t columns, const struct window *w,
                       FILE *to)
{
    const bool timed = w->begin_ns != WL_NO_NS && d->run->start.wall_ns != WL_NO_NS; /* else it counts from 0 */
    put_number(to, timed ? (double)w->begin_ns / 1e9 : NAN);
    fprintf(to, ",%s,", w->name);
    put_number(to, w->time_s);
    for (size_t i = 0; i < columns; i++) {
        fputs(",", to);
        put_number(to, i < gpus->n ? energy_of(d, gpus->device[i], w->epoch) : NAN);
    }
    fputs("\n", to);
}

static void put_run(const struct wl_run_data *d, const struct gpus *gpus, size_t columns, FILE *to, struct wl_arena *a)
{
    const long long run = d->run->id;
    const char *mark = mark_of(d);
    for (size_t i = 0; i < d->epochs.n; i++) {
        const struct wl_epoch_row *v = &d->epochs.v[i];
        const struct window w = { wl_strf(a, "run%lld_epoch%lld%s", run, (long long)v->epoch, mark), v->begin_ns,
                                  v->time_s, (double)v->epoch };
        put_window(d, gpus, columns, &w, to);
    }
    if (d->epochs.n) return;
    const struct window w = { wl_strf(a, "run%lld%s", run, mark), d->run->start.mono_ns, d->run->time_s, NAN };
    put_window(d, gpus, columns, &w, to);
}

static int write_all(const struct wl_run_data *of, size_t n, FILE *to, struct wl_arena *a, struct wl_err *e)
{
    struct gpus *gpus = wl_new_array(a, struct gpus, n);
    size_t columns = 0;
    for (size_t i = 0; i < n; i++) {
        gpus[i] = gpus_of(&of[i], a);
        if (gpus[i].n > columns) columns = gpus[i].n;
    }
    if (columns == 0) return wl_fail(e, WL_EINVAL, "no run has an energy of a GPU, and Zeus logs no others");
    fputs("start_time,window_name,elapsed_time", to);
    for (size_t i = 0; i < columns; i++) fprintf(to, ",gpu%zu_energy", i);
    fputs("\n", to);
    for (size_t i = 0; i < n; i++) put_run(&of[i], &gpus[i], columns, to, a);
    return 0;
}

int wl_export_zeus(const struct wl_export *x, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_run_data *of;
    int rc = wl_fields_check(x->fields, (const char *const[]) { NULL }, "the format zeus", e);
    if (rc == 0) rc = wl_run_data_read_all(x->store, x->runs, &of, a, e);
    if (rc == 0) rc = write_all(of, x->runs->n, to, a, e);
    wl_arena_free(a);
    return rc;
}
