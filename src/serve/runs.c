/* The table of runs: filtered, sorted and paged here, so that a page of 50 of 10,000 runs takes no more than one of 50.
 */
#include "serve/site.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 50, LIMIT_MAX = 500 };

/* ---- orders ---- */

enum sort {
    BY_ID,
    BY_STATE,
    BY_WORKLOAD,
    BY_WORKERS,
    BY_GLOBAL_BATCH,
    BY_LOCAL_BATCH,
    BY_POWER_CAP,
    BY_CLOCK,
    BY_STARTED,
    BY_TIME,
    BY_EPOCH_TIME,
    BY_ENERGY,
    BY_POWER,
    BY_UTIL,
    BY_METRIC,
    SORTS
};
static const char *const sort_names[SORTS] = { "id",           "state",       "workload",     "workers",
                                               "global_batch", "local_batch", "power_cap_w",  "clock_mhz",
                                               "started",      "time_s",      "epoch_time_s", "energy_j",
                                               "mean_power_w", "util_pct",    "metric_value" };

/* The number that a run is sorted by; NAN: it has none. Of texts: NAN where there is none, else 0. */
static double number_of(const struct wl_run_row *r, size_t sort)
{
    switch (sort) {
    case BY_STATE: return (double)r->status;
    case BY_WORKLOAD: return r->set.workload ? 0 : NAN;
    case BY_WORKERS: return r->set.workers;
    case BY_GLOBAL_BATCH: return r->set.global_batch;
    case BY_LOCAL_BATCH: return r->set.local_batch;
    case BY_POWER_CAP: return r->set.power_cap_w;
    case BY_CLOCK: return r->set.clock_mhz;
    case BY_STARTED: return r->start.wall_ns == WL_NO_NS ? NAN : (double)r->start.wall_ns;
    case BY_TIME: return r->time_s;
    case BY_EPOCH_TIME: return r->epoch_time_s;
    case BY_ENERGY: return r->energy_j;
    case BY_POWER: return r->mean_power_w;
    case BY_UTIL: return r->util_pct;
    case BY_METRIC: return r->metric_value;
    default: return (double)r->id;
    }
}

struct key {
    double number;
    const char *text; /* by name first; NULL: by number alone */
    size_t store, run;
};

static int compare_keys(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    if (isnan(a->number) != isnan(b->number)) return isnan(a->number) ? 1 : -1;
    if (a->text && b->text && strcmp(a->text, b->text) != 0) return strcmp(a->text, b->text);
    if (a->number < b->number || a->number > b->number) return a->number < b->number ? -1 : 1;
    if (a->store != b->store) return a->store < b->store ? -1 : 1;
    return (a->run > b->run) - (a->run < b->run);
}

static struct key key_of(const struct wl_snapshot *p, size_t store, size_t run, size_t sort)
{
    const struct wl_run_row *r = &p->runs.v[run];
    return (struct key) { number_of(r, sort), sort == BY_WORKLOAD ? r->set.workload : NULL, store, run };
}

/* The order of the runs of one store, made at its first use. */
static const struct wl_snapshot_order *order_of(struct wl_snapshot *p, size_t sort)
{
    pthread_mutex_lock(&p->lock);
    struct wl_snapshot_order *o = p->orders;
    while (o && o->key != sort) o = o->next;
    if (!o) {
        struct wl_arena *scratch = wl_arena_new(NULL);
        struct key *keys = wl_new_array(scratch, struct key, p->runs.n);
        for (size_t i = 0; i < p->runs.n; i++) keys[i] = key_of(p, 0, i, sort);
        if (p->runs.n) qsort(keys, p->runs.n, sizeof *keys, compare_keys);
        o = wl_new(p->a, struct wl_snapshot_order);
        *o = (struct wl_snapshot_order) { .key = sort,
                                          .order = wl_new_array(p->a, size_t, p->runs.n),
                                          .next = p->orders };
        for (size_t i = 0; i < p->runs.n; i++) {
            o->order[i] = keys[i].run;
            o->known += !isnan(keys[i].number);
        }
        p->orders = o;
        wl_arena_free(scratch);
    }
    pthread_mutex_unlock(&p->lock);
    return o;
}

/* ---- the question ---- */

struct question {
    const char *q, *workload, *campaign; /* q in lower case; NULL: any */
    unsigned states;                     /* bits 1u << status; 0: any */
    size_t sort, descending;
    int64_t offset, limit;
    struct wl_served *only; /* NULL: all stores */
};

static int read_states(const struct wl_http_request *r, unsigned *states, struct wl_err *e)
{
    const struct wl_strs names = wl_str_split(r->a, wl_http_param(r, "state") ? wl_http_param(r, "state") : "", ',');
    *states = 0;
    for (size_t i = 0; i < names.n; i++) {
        size_t k = 0;
        while (k <= WL_RUN_INTERRUPTED && strcmp(wl_run_status_names[k], names.v[i]) != 0) k++;
        if (k > WL_RUN_INTERRUPTED)
            return wl_fail(e, WL_EINVAL, "state=%s: expected planned, running, done, failed or interrupted",
                           names.v[i]);
        *states |= 1u << k;
    }
    return 0;
}

static int read_question(const struct wl_http_request *r, struct question *out, struct wl_err *e)
{
    static const char *const names[] = { "store", "q",     "state",  "workload", "campaign",
                                         "sort",  "order", "offset", "limit",    NULL };
    static const char *const orders[] = { "asc", "desc" };
    *out = (struct question) { .workload = wl_http_param(r, "workload"), .campaign = wl_http_param(r, "campaign") };
    const char *q = wl_http_param(r, "q");
    int rc = wl_http_check_params(r, names, e);
    if (rc == 0) rc = read_states(r, &out->states, e);
    if (rc == 0) rc = wl_http_param_choice(r, "sort", sort_names, SORTS, BY_ID, &out->sort, e);
    if (rc == 0) rc = wl_http_param_choice(r, "order", orders, WL_COUNT(orders), 0, &out->descending, e);
    if (rc == 0) rc = wl_http_param_int(r, "offset", 0, 0, INT32_MAX, &out->offset, e);
    if (rc == 0) rc = wl_http_param_int(r, "limit", LIMIT, 1, LIMIT_MAX, &out->limit, e);
    if (rc < 0 || !q || !*q) return rc;
    char *lower = wl_strdup(r->a, q);
    for (char *p = lower; *p; p++) *p = (char)tolower((unsigned char)*p);
    out->q = lower;
    return 0;
}

static bool is_wanted(const struct question *ask, const struct wl_snapshot *p, size_t i)
{
    const struct wl_run_row *r = &p->runs.v[i];
    if (ask->states && !(ask->states >> r->status & 1)) return false;
    if (ask->workload && strcmp(ask->workload, r->set.workload ? r->set.workload : "") != 0) return false;
    if (ask->campaign && !wl_str_eq(ask->campaign, wl_snapshot_campaign(p, r->campaign))) return false;
    return !ask->q || strstr(p->haystacks[i], ask->q) != NULL;
}

/* ---- the answer ---- */

void wl_site_run_json(struct wl_json *o, const struct wl_served *served, const struct wl_snapshot *p, size_t i)
{
    const struct wl_run_row *r = &p->runs.v[i];
    struct wl_arena *a = wl_arena_new(NULL);
    wl_json_add_str(o, "id", wl_strf(a, "%zu-%lld", wl_served_number(served), (long long)r->id));
    wl_json_add_int(o, "store", (int64_t)wl_served_number(served));
    wl_json_add_int(o, "run", r->id);
    wl_json_add_str(o, "campaign", wl_snapshot_campaign(p, r->campaign));
    wl_json_add_str(o, "state", wl_run_status_names[r->status]);
    wl_json_add_str(o, "workload", r->set.workload);
    wl_json_add_number(o, "workers", r->set.workers);
    wl_json_add_number(o, "nodes", r->set.nodes);
    wl_json_add_number(o, "local_batch", r->set.local_batch);
    wl_json_add_number(o, "global_batch", r->set.global_batch);
    wl_json_add_number(o, "power_cap_w", r->set.power_cap_w);
    wl_json_add_number(o, "clock_mhz", r->set.clock_mhz);
    wl_json_add_str(o, "settings", p->settings[i]);
    wl_json_add_str(o, "words", wl_settings_words(&r->set, a));
    wl_arena_free(a);
    wl_json_add_int(o, "repeat", r->repeat);
    wl_json_add_int(o, "attempt", r->attempt);
    wl_json_add_str(o, "host", r->host);
    if (r->start.wall_ns == WL_NO_NS)
        wl_json_add_null(o, "started_ms");
    else
        wl_json_add_int(o, "started_ms", r->start.wall_ns / (WL_NS_PER_S / 1000));
    wl_json_add_real(o, "time_s", r->time_s);
    wl_json_add_number(o, "epochs", r->epochs_seen);
    wl_json_add_real(o, "epoch_time_s", r->epoch_time_s);
    wl_json_add_real(o, "energy_j", r->energy_j);
    wl_json_add_real(o, "energy_lo_j", r->energy_lo_j);
    wl_json_add_real(o, "energy_hi_j", r->energy_hi_j);
    wl_json_add_real(o, "mean_power_w", r->mean_power_w);
    wl_json_add_real(o, "util_pct", r->util_pct);
    wl_json_add_str(o, "metric", r->metric);
    wl_json_add_real(o, "metric_value", r->metric_value);
    wl_json_add_str(o, "metric_unit", r->metric_unit);
    wl_json_add_str(o, "flag", r->flag);
    wl_json_add_str(o, "error", r->error);
    wl_json_add_bool(o, "estimated", r->estimated);
    wl_json_add_bool(o, "simulated", r->simulated);
}

/* The stores that are asked for, each with where its order has come to. */
struct source {
    struct wl_served *served;
    struct wl_snapshot *p;
    const struct wl_snapshot_order *order;
    size_t at; /* in the order: of runs with a value from the end where descending */
};

/* Place `at` of the order: descending, those without a value are still last. */
static size_t run_at(const struct source *s, size_t at, bool descending)
{
    return s->order->order[descending && at < s->order->known ? s->order->known - 1 - at : at];
}

static bool comes_first(const struct source *x, const struct source *y, const struct question *ask)
{
    const struct key a = key_of(x->p, 1, run_at(x, x->at, ask->descending), ask->sort),
                     b = key_of(y->p, 2, run_at(y, y->at, ask->descending), ask->sort);
    const int c = compare_keys(&a, &b);
    return ask->descending && !isnan(a.number) && !isnan(b.number) ? c > 0 : c < 0;
}

/* The source whose next run comes first; NULL: all are at their end. */
static struct source *next_source(struct source *v, size_t n, const struct question *ask)
{
    struct source *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (v[i].at < v[i].p->runs.n && (!best || !comes_first(best, &v[i], ask))) best = &v[i];
    return best;
}

static void add_workloads(struct wl_json *list, const struct source *v, size_t n, struct wl_arena *a)
{
    struct wl_strs seen = { 0 };
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < v[i].p->workloads.n; k++) {
            const char *name = v[i].p->workloads.v[k];
            size_t j = 0;
            while (j < seen.n && strcmp(seen.v[j], name) != 0) j++;
            if (j < seen.n) continue;
            wl_strs_add(a, &seen, name);
            wl_json_add_str(list, NULL, name);
        }
}

static void add_table(struct wl_json *root, struct source *v, size_t n, const struct question *ask, struct wl_arena *a)
{
    struct wl_json *rows = wl_json_add_array(root, "runs");
    size_t total = 0;
    int64_t matched = 0;
    for (struct source *s; (s = next_source(v, n, ask)); s->at++) {
        const size_t run = run_at(s, s->at, ask->descending);
        total++;
        if (!is_wanted(ask, s->p, run)) continue;
        if (matched >= ask->offset && matched < ask->offset + ask->limit)
            wl_site_run_json(wl_json_add_object(rows, NULL), s->served, s->p, run);
        matched++;
    }
    wl_json_add_int(root, "total", (int64_t)total);
    wl_json_add_int(root, "matched", matched);
    wl_json_add_int(root, "offset", ask->offset);
    wl_json_add_int(root, "limit", ask->limit);
    add_workloads(wl_json_add_array(root, "workloads"), v, n, a);
}

void wl_site_runs(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                  struct wl_http_answer *out)
{
    struct source *v = wl_new_array(r->a, struct source, site->n_stores);
    struct wl_json *root = wl_json_root_object(r->a);
    const char *store = wl_http_param(r, "store");
    struct question ask;
    struct wl_err e;
    size_t n = 0;
    (void)parts;
    if (read_question(r, &ask, &e)) {
        wl_http_answer_failure(out, r->a, &e);
        return;
    }
    if (store && !(ask.only = wl_site_store(site, store, r, out))) return;
    for (size_t i = 0; i < site->n_stores; i++) {
        if (ask.only && site->stores[i] != ask.only) continue;
        struct wl_snapshot *p = wl_served_get(site->stores[i]);
        v[n++] = (struct source) { site->stores[i], p, order_of(p, ask.sort), 0 };
    }
    add_table(root, v, n, &ask, r->a);
    wl_http_answer_json(out, root, r->a);
    for (size_t i = 0; i < n; i++) wl_snapshot_release(v[i].p);
}
