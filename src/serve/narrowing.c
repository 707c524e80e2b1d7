#include "serve/narrowing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 64, EARLIER = 8 }; /* kept of each law; parts of the runs whose widths are computed afterwards */

/* Processor time of a pass for widths of the past: what does not fit is left to the next one. */
static const int64_t PAST_NS = 5 * WL_NS_PER_S;

struct point {
    size_t runs;
    double width_pct;
};

struct history {
    char *name;
    double workers; /* where the widths are */
    size_t n;
    struct point v[POINTS]; /* ascending by runs */
    bool has_past, past_is_cut, used;
    struct history *next;
};

struct wl_narrowing {
    struct history *first;
    int64_t past_until_ns;     /* of this thread's processor time */
    const atomic_bool *ending; /* nothing more of the past is computed */
};

static void drop(struct history **at)
{
    struct history *h = *at;
    *at = h->next;
    free(h->name);
    free(h);
}

static void release(void *all)
{
    struct wl_narrowing *n = all;
    while (n->first) drop(&n->first);
}

struct wl_narrowing *wl_narrowing_new(struct wl_arena *a)
{
    struct wl_narrowing *all = wl_new(a, struct wl_narrowing);
    wl_defer(a, release, all);
    return all;
}

void wl_narrowing_begin(struct wl_narrowing *all, const atomic_bool *ending)
{
    all->ending = ending;
    all->past_until_ns = wl_clock_thread_cpu_ns() + PAST_NS;
    for (struct history *h = all->first; h; h = h->next) h->used = false;
}

void wl_narrowing_end(struct wl_narrowing *all)
{
    for (struct history **at = &all->first; *at;) {
        if ((*at)->used)
            at = &(*at)->next;
        else
            drop(at);
    }
}

/* NULL: memory is short. */
static struct history *find(struct wl_narrowing *all, const char *name)
{
    struct history *h = all->first;
    while (h && strcmp(h->name, name) != 0) h = h->next;
    if (h) return h;
    h = calloc(1, sizeof *h);
    char *copy = strdup(name);
    if (!h || !copy) {
        free(h);
        free(copy);
        return NULL;
    }
    *h = (struct history) { .name = copy, .next = all->first };
    return all->first = h;
}

/* Half of what lies between the ends, in percent of the middle. */
static double width_of(const struct wl_estimate *v) { return 50 * (v->hi - v->lo) / v->value; }

/* Of a full history every second point goes, but the first. */
static void add_point(struct history *h, size_t runs, double width_pct)
{
    if (h->n == POINTS) {
        for (size_t i = 0; i < POINTS / 2; i++) h->v[i] = h->v[2 * i];
        h->n = POINTS / 2;
    }
    h->v[h->n++] = (struct point) { runs, width_pct };
}

/* ---- the past ---- */

struct ended {
    int64_t at_ns;
    size_t run; /* index in the group */
};

/* Of a run that the rows do not have yet: after all others. */
static int64_t end_of(const struct wl_snapshot *rows, const char *label)
{
    int64_t id;
    const struct wl_run_row *r = label && wl_str_to_int(label, &id) == 0 ? wl_snapshot_run(rows, id) : NULL;
    if (!r || r->start.wall_ns == WL_NO_NS || r->start.mono_ns == WL_NO_NS || r->stop.mono_ns == WL_NO_NS)
        return INT64_MAX;
    return r->start.wall_ns + (r->stop.mono_ns - r->start.mono_ns);
}

static int by_end(const void *x, const void *y)
{
    const struct ended *a = x, *b = y;
    if (a->at_ns != b->at_ns) return a->at_ns < b->at_ns ? -1 : 1;
    return (a->run > b->run) - (a->run < b->run);
}

/* With the n runs that ended first; NAN: they give no law. */
static int width_with(const struct wl_narrowing_law *law, const struct ended *ended, size_t n, double *width_pct,
                      struct wl_arena *a, struct wl_err *e)
{
    struct wl_law_posterior p;
    bool *take = wl_new_array(a, bool, law->group->n_runs);
    for (size_t i = 0; i < law->group->n_runs; i++) take[i] = false;
    for (size_t i = 0; i < n; i++) take[ended[i].run] = true;
    *width_pct = NAN;
    const int rc = wl_law_posterior_of_runs(law->group, take, law->response, &p, a, e);
    if (rc < 0 || p.refusal) return rc;
    const struct wl_law_forecast f = wl_law_forecast_at(&p, law->workers, a);
    *width_pct = width_of(&(struct wl_estimate) { f.value, f.config_lo, f.config_hi });
    return 0;
}

static bool is_time_left(const struct wl_narrowing *all)
{
    return !*all->ending && wl_clock_thread_cpu_ns() < all->past_until_ns;
}

/* What there is no time for is not tried again before the worker count changes. */
static int add_past(const struct wl_narrowing *all, struct history *h, const struct wl_narrowing_law *law,
                    struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const size_t n = law->group->n_runs;
    struct ended *ended = wl_new_array(a, struct ended, n);
    int rc = 0;
    for (size_t i = 0; i < n; i++) ended[i] = (struct ended) { end_of(law->rows, law->group->runs[i].label), i };
    qsort(ended, n, sizeof *ended, by_end);
    size_t k = 1;
    for (size_t last = 0; rc == 0 && k < EARLIER && is_time_left(all); k++) {
        const size_t runs = n * k / EARLIER;
        struct wl_arena *scratch = wl_arena_new(a);
        double width_pct = NAN;
        if (runs > last) rc = width_with(law, ended, runs, &width_pct, scratch, e);
        if (rc == 0 && isfinite(width_pct)) add_point(h, runs, width_pct);
        last = runs;
        wl_arena_free(scratch);
    }
    h->has_past = rc == 0;
    h->past_is_cut = k < EARLIER;
    wl_arena_free(a);
    return rc;
}

/* ---- now ---- */

static void add_json(const struct history *h, double width_pct, struct wl_json *to)
{
    struct wl_json *band = wl_json_add_object(to, "band");
    wl_json_add_number(band, "workers", h->workers);
    wl_json_add_real(band, "width_pct", width_pct);
    wl_json_add_bool(band, "history_cut", !h->has_past || h->past_is_cut);
    struct wl_json *list = wl_json_add_array(band, "history");
    for (size_t i = 0; i < h->n; i++) {
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_int(o, "runs", (int64_t)h->v[i].runs);
        wl_json_add_real(o, "width_pct", h->v[i].width_pct);
    }
}

int wl_narrowing_add(struct wl_narrowing *all, const struct wl_narrowing_law *law, struct wl_json *to, struct wl_err *e)
{
    const size_t runs = law->group->n_runs;
    const double width_pct = width_of(&law->band);
    struct history *h = find(all, law->name);
    int rc = 0;
    if (!h) return wl_fail(e, WL_ENOMEM, "memory is short");
    h->used = true;
    if (h->workers != law->workers || (h->n > 0 && h->v[h->n - 1].runs > runs)) { /* other widths, or other runs */
        h->n = 0;
        h->has_past = h->past_is_cut = false;
    }
    h->workers = law->workers;
    if (!h->has_past && is_time_left(all)) {
        h->n = 0;
        rc = add_past(all, h, law, e);
    }
    if (h->n > 0 && h->v[h->n - 1].runs == runs) h->n--; /* their energies were derived anew */
    if (rc == 0 && isfinite(width_pct)) add_point(h, runs, width_pct);
    if (rc == 0) add_json(h, width_pct, to);
    return rc;
}
