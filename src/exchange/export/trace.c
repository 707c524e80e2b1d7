/* Runs in the Trace Event Format (the document of that name by Google, "JSON Object Format"), which Perfetto
 * (perfetto.dev/docs/getting-started/other-formats) and chrome://tracing open.
 *
 *   ph M  names of processes and threads     a run is a process; the run itself, its epochs and each phase are threads
 *   ph X  a slice: ts and dur                run, epoch, phase
 *   ph C  a counter: args has its value      each channel that is not a counter of energy or time itself
 *
 * ts is in µs, from the earliest start of the runs. Events are printed one by one: memory does not grow with them. */
#include "exchange/export/export.h"
#include "exchange/export/run_data.h"

#include "mark/mark.h"
#include "settings/settings.h"

#include <math.h>
#include <string.h>

struct trace {
    FILE *to;
    int64_t zero_wall_ns; /* ts 0 */
    bool any;             /* an event was printed */
};

/* One run in it: its monotonic clock is tied to the calendar by its start. */
struct process {
    struct trace *t;
    const struct wl_run_row *run;
    struct wl_arena *arena;
};

enum { THREAD_RUN = 1, THREAD_EPOCHS = 2, THREAD_PHASES = 3 }; /* phases: from this one on, one each */

static double us_of(const struct process *p, int64_t t_ns)
{
    return (double)(p->run->start.wall_ns - p->t->zero_wall_ns + (t_ns - p->run->start.mono_ns)) / 1e3;
}

/* A text as JSON has it, with its quotes. */
static const char *quoted(const char *text, struct wl_arena *a)
{
    struct wl_json *array = wl_json_root_array(a);
    wl_json_add_str(array, NULL, text);
    const char *s = wl_json_printable(wl_json_text(array, 0, a), a); /* ["text"] */
    return wl_strndup(a, s + 1, strlen(s) - 2);
}

/* Begins an event, which the caller ends with "}". `name` is quoted. */
static void event(const struct process *p, const char *ph, const char *name, int tid)
{
    fprintf(p->t->to, "%s{\"ph\": \"%s\", \"pid\": %lld, \"tid\": %d, \"name\": %s", p->t->any ? ",\n" : "\n", ph,
            (long long)p->run->id, tid, name);
    p->t->any = true;
}

static void metadata(const struct process *p, const char *what, int tid, const char *name)
{
    struct wl_json *args = wl_json_root_object(p->arena);
    wl_json_add_str(args, "name", name);
    event(p, "M", quoted(what, p->arena), tid);
    fprintf(p->t->to, ", \"args\": %s}", wl_json_printable(wl_json_text(args, 0, p->arena), p->arena));
}

/* Between two times of the run. A forged store may have them in the wrong order. */
static void slice(const struct process *p, const char *name, const char *category, int tid, int64_t begin_ns,
                  int64_t end_ns, const struct wl_json *args)
{
    if (begin_ns == WL_NO_NS || end_ns == WL_NO_NS || end_ns < begin_ns) return;
    event(p, "X", quoted(name, p->arena), tid);
    fprintf(p->t->to, ", \"cat\": \"%s\", \"ts\": %.3f, \"dur\": %.3f", category, us_of(p, begin_ns),
            (double)(end_ns - begin_ns) / 1e3);
    if (args) fprintf(p->t->to, ", \"args\": %s", wl_json_printable(wl_json_text(args, 0, p->arena), p->arena));
    fputs("}", p->t->to);
}

static void add_energy(struct wl_json *args, const struct wl_amount *energy)
{
    if (isnan(energy->value)) return;
    wl_json_add_real(args, "energy_j", energy->value);
    wl_json_add_str(args, "provenance", wl_run_data_provenance(energy->from));
}

static void put_run(const struct process *p)
{
    const struct wl_amount energy = wl_run_data_energy(p->run);
    struct wl_json *args = wl_json_root_object(p->arena);
    wl_json_add_str(args, "status", wl_run_status_names[p->run->status]);
    wl_json_add_str(args, "settings", wl_settings_text(&p->run->set, p->arena));
    add_energy(args, &energy);
    metadata(p, "process_name", 0,
             wl_strf(p->arena, "run %lld: %s", (long long)p->run->id, wl_settings_text(&p->run->set, p->arena)));
    metadata(p, "thread_name", THREAD_RUN, "run");
    slice(p, wl_strf(p->arena, "run %lld", (long long)p->run->id), "run", THREAD_RUN, p->run->start.mono_ns,
          p->run->stop.mono_ns, args);
}

static void put_epochs(const struct process *p, const struct wl_run_data *d)
{
    if (d->epochs.n) metadata(p, "thread_name", THREAD_EPOCHS, "epochs");
    for (size_t i = 0; i < d->epochs.n; i++) {
        const struct wl_epoch_row *v = &d->epochs.v[i];
        const struct wl_amount energy = wl_run_data_epoch_energy(d, v->epoch);
        struct wl_json *args = wl_json_root_object(p->arena);
        if (!isnan(v->samples)) wl_json_add_number(args, "samples", v->samples);
        add_energy(args, &energy);
        slice(p, wl_strf(p->arena, "epoch %lld", (long long)v->epoch), "epoch", THREAD_EPOCHS, v->begin_ns, v->end_ns,
              args);
    }
}

/* ---- phases ---- */

/* A thread for each phase of each rank: spans of one phase of one rank do not overlap, those of two may. */
struct phases {
    struct {
        const char *name;
        int64_t rank, begin_ns; /* WL_NO_NS: not in it */
    } * v;
    size_t n, cap;
};

static size_t phase_of(const struct process *p, struct phases *all, const char *name, int64_t rank)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i].rank == rank && strcmp(all->v[i].name, name) == 0) return i;
    WL_GROW(p->arena, all->v, all->n, all->cap);
    all->v[all->n].name = wl_strdup(p->arena, name);
    all->v[all->n].rank = rank;
    all->v[all->n].begin_ns = WL_NO_NS;
    metadata(p, "thread_name", THREAD_PHASES + (int)all->n,
             rank ? wl_strf(p->arena, "%s (rank %lld)", name, (long long)rank) : name);
    return all->n++;
}

static void put_mark(const struct process *p, struct phases *all, const struct wl_mark_row *row)
{
    struct wl_mark m;
    const char *line =
        wl_strf(p->arena, "%lld %lld %s %s", (long long)row->t_ns, (long long)row->rank, row->word, row->fields);
    if (wl_mark_parse(&m, line, strlen(line), "mark", NULL)) return;
    if (m.word != WL_MARK_PHASE_BEGIN && m.word != WL_MARK_PHASE_END) return;
    const char *name = wl_mark_str(&m, "name");
    const size_t i = phase_of(p, all, name, row->rank);
    if (m.word == WL_MARK_PHASE_END)
        slice(p, name, "phase", THREAD_PHASES + (int)i, all->v[i].begin_ns, row->t_ns, NULL);
    all->v[i].begin_ns = m.word == WL_MARK_PHASE_BEGIN ? row->t_ns : WL_NO_NS;
}

static int put_phases(const struct process *p, struct wl_store *s, struct wl_err *e)
{
    struct wl_mark_rows marks;
    struct phases all = { 0 };
    int rc = wl_store_read_marks(s, p->run->id, &marks, p->arena, e);
    for (size_t i = 0; rc == 0 && i < marks.n; i++)
        if (wl_str_starts(marks.v[i].word, "phase-")) put_mark(p, &all, &marks.v[i]);
    return rc;
}

/* ---- counters ---- */

/* "power_w of GPU-5f0a, instant (simulated)" */
static char *counter_name(const struct process *p, const struct wl_channel_row *c, const struct wl_device_row *d)
{
    return wl_strf(p->arena, "%s of %s %s%s%s%s", c->quantity, d ? d->uuid : "?", c->scope, *c->variant ? ", " : "",
                   c->variant,
                   wl_provenance_mark(wl_provenance_of(c->estimated, c->simulated) |
                                      (p->run->source ? WL_IMPORTED : WL_MEASURED)));
}

static int put_counter(const struct process *p, struct wl_store *s, const struct wl_channel_row *c,
                       const struct wl_device_row *d, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_readings r;
    char number[WL_NUMBER_MAX];
    const char *name = quoted(counter_name(p, c, d), a), *unit = quoted(c->unit, a);
    int rc = wl_store_readings(s, c->id, INT64_MIN, INT64_MAX, &r, a, e);
    for (size_t i = 0; rc == 0 && i < r.n && !ferror(p->t->to); i++) {
        if (!isfinite(r.value[i])) continue;
        event(p, "C", name, 0);
        fprintf(p->t->to, ", \"ts\": %.3f, \"args\": {%s: %s}}", us_of(p, r.t_ns[i]), unit,
                wl_number_shortest(r.value[i], number));
    }
    wl_arena_free(a);
    return rc;
}

static int put_counters(const struct process *p, struct wl_store *s, const struct wl_run_data *d, struct wl_err *e)
{
    struct wl_channel_rows channels;
    int rc = wl_store_channels(s, p->run->id, &channels, p->arena, e);
    for (size_t i = 0; rc == 0 && i < channels.n; i++)
        if (!channels.v[i].counter)
            rc = put_counter(p, s, &channels.v[i], wl_run_data_device(d, channels.v[i].device), e);
    return rc;
}

/* ---- the whole ---- */

static int put_process(struct trace *t, struct wl_store *s, const struct wl_run_row *run, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct process p = { t, run, a };
    struct wl_run_data d;
    int rc = wl_run_data_read(s, run, &d, a, e);
    if (rc == 0) {
        put_run(&p);
        put_epochs(&p, &d);
        rc = put_phases(&p, s, e);
    }
    if (rc == 0) rc = put_counters(&p, s, &d, e);
    wl_arena_free(a);
    return rc;
}

static bool has_clock(const struct wl_run_row *r)
{
    return r->start.wall_ns != WL_NO_NS && r->start.mono_ns != WL_NO_NS && wl_anchor_is_plausible(&r->start);
}

int wl_export_trace(const struct wl_export *x, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct trace t = { .to = to, .zero_wall_ns = INT64_MAX };
    int rc = wl_fields_check(x->fields, (const char *const[]) { NULL }, "the format trace", e);
    for (size_t i = 0; rc == 0 && i < x->runs->n; i++) {
        const struct wl_run_row *r = &x->runs->v[i];
        if (!has_clock(r))
            rc = wl_fail(e, WL_EINVAL, "run %lld has no time of its start: it has no place on a time line",
                         (long long)r->id);
        else if (r->start.wall_ns < t.zero_wall_ns)
            t.zero_wall_ns = r->start.wall_ns;
    }
    if (rc == 0)
        fprintf(to,
                "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"start\": \"%s\", \"program\": "
                "\"wattlaw\"},\n\"traceEvents\": [",
                wl_clock_iso(a, t.zero_wall_ns));
    for (size_t i = 0; rc == 0 && i < x->runs->n && !ferror(to); i++) rc = put_process(&t, x->store, &x->runs->v[i], e);
    if (rc == 0) fputs("\n]}\n", to);
    wl_arena_free(a);
    return rc;
}
