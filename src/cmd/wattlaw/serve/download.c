/* Files to download: tables of a store as CSV. */
#include "cmd/wattlaw/serve/internal.h"
#include "cmd/wattlaw/store.h"
#include "exchange/exchange.h"

#include <inttypes.h>
#include <math.h>

/* ---- cells ---- */

static void add_text(struct wl_text *line, const char *value)
{
    if (line->n) wl_text_add(line, ",");
    if (value) wl_csv_put(line, value);
}

static void add_number(struct wl_text *line, double value)
{
    if (line->n) wl_text_add(line, ",");
    if (!isnan(value)) wl_text_addf(line, "%.15g", value);
}

static void add_time(struct wl_text *line, int64_t wall_ns)
{
    struct wl_arena *a = wl_arena_new(NULL);
    add_text(line, wall_ns == WL_NO_NS ? NULL : wl_clock_iso(a, wall_ns));
    wl_arena_free(a);
}

static void end_line(struct wl_text *line, FILE *to)
{
    fprintf(to, "%s\n", line->s);
    wl_text_clear(line);
}

/* ---- runs.csv ---- */

static void write_run(const struct wl_run_row *r, struct wl_text *line)
{
    const double numbers[] = { r->set.workers,      r->set.nodes,       r->set.local_batch,
                               r->set.global_batch, r->set.power_cap_w, r->set.clock_mhz };
    const double measured[] = { r->time_s,      r->epochs_seen, r->epoch_time_s, r->energy_j,
                                r->energy_lo_j, r->energy_hi_j, r->mean_power_w, r->util_pct };
    struct wl_arena *a = wl_arena_new(NULL);
    wl_text_addf(line, "%" PRId64, r->id);
    add_text(line, wl_run_status_names[r->status]);
    add_text(line, r->set.workload);
    add_text(line, r->set.hardware);
    for (size_t i = 0; i < WL_COUNT(numbers); i++) add_number(line, numbers[i]);
    add_text(line, wl_settings_text(&r->set, a));
    add_number(line, (double)r->repeat);
    add_number(line, (double)r->attempt);
    add_text(line, r->host);
    add_time(line, r->start.wall_ns);
    for (size_t i = 0; i < WL_COUNT(measured); i++) add_number(line, measured[i]);
    add_text(line, r->metric);
    add_number(line, r->metric_value);
    add_number(line, r->estimated);
    add_number(line, r->simulated);
    add_text(line, r->flag);
    add_text(line, r->error);
    wl_arena_free(a);
}

static int write_runs(struct wl_store *s, const struct wl_run_rows *runs, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text line = WL_TEXT(a);
    (void)s;
    (void)e;
    fputs("run,state,workload,hardware,workers,nodes,local_batch,global_batch,power_cap_w,clock_mhz,settings,repeat,"
          "attempt,"
          "host,started,time_s,epochs,epoch_time_s,energy_j,energy_lo_j,energy_hi_j,mean_power_w,util_pct,metric,"
          "metric_value,estimated,simulated,flag,error\n",
          to);
    for (size_t i = 0; i < runs->n; i++) {
        write_run(&runs->v[i], &line);
        end_line(&line, to);
    }
    wl_arena_free(a);
    return 0;
}

/* ---- epochs.csv ---- */

/* The sum over the devices that count; NAN where one is missing, and without any. */
static double energy_of(const struct wl_energy_rows *rows, int64_t epoch)
{
    bool any = false;
    double sum = 0;
    for (size_t i = 0; i < rows->n; i++) {
        if (!rows->v[i].chosen || rows->v[i].epoch != (double)epoch) continue;
        any = true;
        sum += rows->v[i].energy_j;
    }
    return any ? sum : NAN;
}

static double since_start(const struct wl_run_row *r, int64_t t_ns)
{
    const bool known = t_ns != WL_NO_NS && r->start.mono_ns != WL_NO_NS;
    return known ? (double)(t_ns - r->start.mono_ns) / WL_NS_PER_S : NAN;
}

static int write_epochs_of(struct wl_store *s, const struct wl_run_row *r, FILE *to, struct wl_arena *a,
                           struct wl_err *e)
{
    struct wl_epoch_rows epochs;
    struct wl_energy_rows energies;
    struct wl_text line = WL_TEXT(a);
    int rc = wl_store_epochs(s, r->id, &epochs, a, e);
    if (rc == 0) rc = wl_store_energies(s, r->id, &energies, a, e);
    for (size_t i = 0; rc == 0 && i < epochs.n; i++) {
        const struct wl_epoch_row *v = &epochs.v[i];
        const double numbers[] = { since_start(r, v->begin_ns),
                                   since_start(r, v->end_ns),
                                   v->time_s,
                                   energy_of(&energies, v->epoch),
                                   v->samples,
                                   v->updates,
                                   v->tokens };
        wl_text_addf(&line, "%" PRId64 ",%" PRId64, r->id, v->epoch);
        for (size_t k = 0; k < WL_COUNT(numbers); k++) add_number(&line, numbers[k]);
        end_line(&line, to);
    }
    return rc;
}

static int write_epochs(struct wl_store *s, const struct wl_run_rows *runs, FILE *to, struct wl_err *e)
{
    int rc = 0;
    fputs("run,epoch,begin_s,end_s,time_s,energy_j,samples,updates,tokens\n", to);
    for (size_t i = 0; i < runs->n && rc == 0; i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        rc = write_epochs_of(s, &runs->v[i], to, a, e);
        wl_arena_free(a);
    }
    return rc;
}

/* ---- observations.csv, samples.csv ---- */

static int write_observations(struct wl_store *s, const struct wl_run_rows *runs, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_observations obs;
    (void)runs;
    const int rc = wl_store_observations(s, 0, &obs, a, e);
    if (rc == 0) wl_obs_write_csv(&obs, to);
    wl_arena_free(a);
    return rc;
}

static int write_samples(struct wl_store *s, const struct wl_run_rows *runs, FILE *to, struct wl_err *e)
{
    if (runs->n != 1) return wl_fail(e, WL_EINVAL, "samples.csv: expected a run: samples.csv?run=12");
    const int rc = runs->v[0].status == WL_RUN_RUNNING ? wl_store_show_spool(s, runs->v[0].id, e) : 0;
    return rc ? rc : wl_samples_write_csv(s, runs, to, e);
}

static const struct {
    const char *name;
    int (*write)(struct wl_store *s, const struct wl_run_rows *runs, FILE *to, struct wl_err *e);
} files[] = {
    { "runs.csv", write_runs },
    { "epochs.csv", write_epochs },
    { "observations.csv", write_observations },
    { "samples.csv", write_samples },
};

int wl_serve_download(void *ctx, const char *path, const char *name, int64_t run, FILE *to, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_run_rows runs;
    struct wl_store *s;
    size_t i = 0;
    (void)ctx;
    while (i < WL_COUNT(files) && !wl_str_eq(files[i].name, name)) i++;
    if (i == WL_COUNT(files))
        return wl_fail(e, WL_ENOENT, "%s: expected runs.csv, epochs.csv, observations.csv or samples.csv", name);
    int rc = wl_store_open(&s, path, WL_STORE_READ, a, e);
    if (rc == 0) rc = wl_store_runs(s, &(struct wl_run_filter) { .run = run }, &runs, a, e);
    if (rc == 0 && run && !runs.n) rc = wl_fail(e, WL_ENOENT, "no run %" PRId64, run);
    if (rc == 0) rc = files[i].write(s, &runs, to, e);
    if (rc == 0) wl_store_close(s);
    return rc;
}
