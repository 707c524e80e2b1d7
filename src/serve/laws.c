#include "serve/laws.h"

#include "law/law.h"
#include "serve/narrowing.h"
#include "serve/site.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_POINTS = 33 };
static const double BEYOND = 2; /* curves reach to so many times the most workers */

struct wl_site_laws {
    pthread_mutex_t lock;
    char *result; /* the member "laws" as text, in memory of malloc; NULL: none yet */
    uint64_t result_of, computing_of;
    int64_t computed_wall_ns;
    bool computing;
    struct wl_narrowing *narrowing; /* of the thread that computes */
};

static void release(void *laws)
{
    struct wl_site_laws *l = laws;
    free(l->result);
    pthread_mutex_destroy(&l->lock);
}

struct wl_site_laws *wl_site_laws_new(struct wl_arena *a)
{
    struct wl_site_laws *l = wl_new(a, struct wl_site_laws);
    pthread_mutex_init(&l->lock, NULL);
    l->narrowing = wl_narrowing_new(a);
    wl_defer(a, release, l);
    return l;
}

/* ---- what the laws are of ---- */

/* Changes with the runs that observations are made of. */
static uint64_t observed(struct wl_site *site)
{
    uint64_t h = 1;
    for (size_t i = 0; i < site->n_stores; i++) {
        struct wl_snapshot *p = wl_served_get(site->stores[i]);
        for (size_t k = 0; k < p->runs.n; k++) {
            const struct wl_run_row *r = &p->runs.v[k];
            if (r->status != WL_RUN_DONE) continue;
            uint64_t energy;
            memcpy(&energy, &r->energy_j, sizeof energy);
            h = (h ^ (uint64_t)r->id ^ energy ^ (r->flag != NULL)) * 0x100000001b3; /* a step of FNV-1a */
        }
        h = h * 31 + i;
        wl_snapshot_release(p);
    }
    return h;
}

/* ---- one law ---- */

static void add_point(struct wl_json *list, double workers, const struct wl_estimate *v, size_t runs)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_number(o, "workers", workers);
    wl_json_add_real(o, "value", v->value);
    wl_json_add_real(o, "lo", v->lo);
    wl_json_add_real(o, "hi", v->hi);
    if (runs) wl_json_add_int(o, "runs", (int64_t)runs);
}

/* The interval of the mean over the runs of a worker count; NAN with fewer than two. */
static struct wl_estimate mean_of(const struct wl_law_group *g, const struct wl_law_config *c)
{
    struct wl_estimate v = { .value = c->response, .lo = NAN, .hi = NAN };
    double n = 0, mean = 0, ss = 0;
    for (size_t k = 0; k < g->n_runs; k++) {
        if (g->runs[k].workers != c->workers) continue;
        const double delta = g->runs[k].y - mean; /* Welford 1962 */
        mean += delta / ++n;
        ss += delta * (g->runs[k].y - mean);
    }
    if (n < 2) return v;
    const double half = wl_t_quantile(0.975, n - 1) * sqrt(ss / (n - 1) / n);
    v.lo = exp(mean - half);
    v.hi = exp(mean + half);
    return v;
}

static void add_points(struct wl_json *list, const struct wl_law_group *g)
{
    for (size_t i = 0; i < g->n_configs; i++) {
        const struct wl_estimate mean = mean_of(g, &g->configs[i]);
        add_point(list, g->configs[i].workers, &mean, g->configs[i].runs);
    }
}

static void add_line(struct wl_json *o, const struct wl_law_group *g, enum wl_law_response response)
{
    if (!g->law) {
        wl_json_add_null(o, "law");
        return;
    }
    struct wl_json *law = wl_json_add_object(o, "law");
    wl_json_add_real(law, "alpha", g->law->alpha);
    wl_json_add_real(law, "beta", g->law->beta);
    wl_json_add_real(law, "beta_lo", g->law->beta_lo);
    wl_json_add_real(law, "beta_hi", g->law->beta_hi);
    wl_json_add_real(law, "r2", g->law->r2);
    wl_json_add_str(law, "formula", response == WL_LAW_ENERGY ? "E = alpha N^-beta" : "t = alpha N^-beta");
    wl_json_add_str(law, "verdict", wl_law_verdict_name(g->verdict));
}

/* A law of one store, and where its band is noted. */
struct subject {
    struct wl_served *served;
    struct wl_snapshot *rows;
    struct wl_narrowing *narrowing;
    const struct wl_law_group *group;
    enum wl_law_response response;
};

static int add_band(struct wl_json *o, const struct subject *of, double workers, const struct wl_estimate *band,
                    struct wl_arena *a, struct wl_err *e)
{
    return wl_narrowing_add(of->narrowing,
                            &(struct wl_narrowing_law) { .name = wl_strf(a, "%zu %s %s", wl_served_number(of->served),
                                                                         wl_law_response_name(of->response),
                                                                         of->group->title),
                                                         .group = of->group,
                                                         .response = of->response,
                                                         .workers = workers,
                                                         .band = *band,
                                                         .rows = of->rows },
                            o, e);
}

static int add_curve(struct wl_json *o, const struct subject *of, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_law_group *g = of->group;
    struct wl_json *list = wl_json_add_array(o, "curve");
    struct wl_law_posterior p;
    int rc = wl_law_posterior(g, of->response, NULL, false, &p, a, e);
    if (rc < 0) return rc;
    wl_json_add_str(o, "refusal", p.refusal);
    if (p.refusal) {
        wl_json_add_null(o, "band");
        return 0;
    }
    const double most = g->configs[g->n_configs - 1].workers, from = log(g->configs[0].workers),
                 to = log(BEYOND * most);
    double at[CURVE_POINTS + 1];
    for (size_t i = 0; i < CURVE_POINTS; i++) at[i] = exp(from + (to - from) * (double)i / (CURVE_POINTS - 1));
    at[CURVE_POINTS] = most;
    const struct wl_law_forecast *f = wl_law_forecasts(&p, at, CURVE_POINTS + 1, a);
    struct wl_estimate v = { 0 };
    for (size_t i = 0; i <= CURVE_POINTS; i++) {
        v = (struct wl_estimate) { .value = f[i].value, .lo = f[i].config_lo, .hi = f[i].config_hi };
        if (i < CURVE_POINTS) add_point(list, at[i], &v, 0);
    }
    return add_band(o, of, most, &v, a, e);
}

static const char *workload_of(const struct wl_law_group *g)
{
    for (size_t i = 0; i < g->n_key; i++)
        if (wl_str_eq(g->key[i].column, "workload")) return g->key[i].value;
    return NULL;
}

static int add_group(struct wl_json *list, const struct subject *of, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_law_group *g = of->group;
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_int(o, "store", (int64_t)wl_served_number(of->served));
    wl_json_add_str(o, "workload", workload_of(g));
    wl_json_add_str(o, "group", g->title);
    wl_json_add_str(o, "name", wl_law_key_words(g->key, g->n_key, a));
    wl_json_add_str(o, "measure", wl_law_response_name(of->response));
    wl_json_add_str(o, "label", of->response == WL_LAW_ENERGY ? "energy of an epoch" : "time of an epoch");
    wl_json_add_str(o, "unit", wl_law_response_unit(of->response));
    wl_json_add_str(o, "scaling", wl_law_scaling_name(g->scaling));
    wl_json_add_int(o, "runs", (int64_t)g->n_runs);
    wl_json_add_bool(o, "estimated", of->response == WL_LAW_ENERGY && g->estimated);
    wl_json_add_bool(o, "simulated", g->simulated);
    add_points(wl_json_add_array(o, "points"), g);
    add_line(o, g, of->response);
    int rc = add_curve(o, of, a, e);
    struct wl_json *notes = wl_json_add_array(o, "notes");
    if (g->no_law_reason) wl_json_add_str(notes, NULL, g->no_law_reason);
    for (size_t i = 0; i < g->notes.n; i++) wl_json_add_str(notes, NULL, g->notes.v[i]);
    return rc;
}

static int add_laws(struct wl_json *list, const struct wl_site *site, const struct wl_observations *obs,
                    struct subject *of, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_law_options how = { .response = of->response, .drop_epochs = 1 };
    struct wl_law_result result;
    int rc = wl_law_fit(obs, &how, &result, a, e);
    for (size_t k = 0; rc == 0 && !site->ending && k < result.n; k++) {
        of->group = &result.groups[k];
        if (of->group->n_runs > 0) rc = add_group(list, of, a, e);
    }
    return rc;
}

static int add_store(struct wl_json *list, const struct wl_site *site, struct wl_served *served, struct wl_arena *a,
                     struct wl_err *e)
{
    static const enum wl_law_response responses[] = { WL_LAW_TIME, WL_LAW_ENERGY };
    struct subject of = { .served = served, .narrowing = site->laws->narrowing };
    struct wl_observations obs;
    struct wl_store *store;
    int rc = wl_store_open(&store, wl_served_path(served), WL_STORE_READ, a, e);
    if (rc == 0) rc = wl_store_observations(store, 0, &obs, a, e);
    if (rc == 0) wl_store_close(store);
    of.rows = wl_served_get(served);
    for (size_t i = 0; rc == 0 && !site->ending && obs.n > 0 && i < WL_COUNT(responses); i++) {
        of.response = responses[i];
        rc = add_laws(list, site, &obs, &of, a, e);
    }
    wl_snapshot_release(of.rows);
    return rc;
}

/* ---- in the background ---- */

static void compute(void *what)
{
    struct wl_site *site = what;
    struct wl_site_laws *l = site->laws;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_json *list = wl_json_root_array(a);
    wl_narrowing_begin(l->narrowing, &site->ending);
    for (size_t i = 0; !site->ending && i < site->n_stores; i++) {
        struct wl_err e;
        if (add_store(list, site, site->stores[i], a, &e) < 0)
            wl_log(WL_WARN, "serve", "no law of %s: %s", wl_served_path(site->stores[i]), e.msg);
    }
    wl_narrowing_end(l->narrowing);
    char *text = strdup(wl_json_text(list, 0, a));
    wl_arena_free(a);
    pthread_mutex_lock(&l->lock);
    if (text) {
        free(l->result);
        l->result = text;
        l->computed_wall_ns = wl_wall_ns();
    }
    l->result_of = l->computing_of;
    l->computing = false;
    pthread_mutex_unlock(&l->lock);
    wl_events_add(site->events, "laws", "{\"state\":\"ready\"}");
}

void wl_site_law_list(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                      struct wl_http_answer *out)
{
    static const char *const names[] = { NULL };
    struct wl_site_laws *l = site->laws;
    struct wl_err e;
    (void)parts;
    if (wl_http_check_params(r, names, &e)) {
        wl_http_answer_failure(out, r->a, &e);
        return;
    }
    const uint64_t now = observed(site);
    struct wl_text body = WL_TEXT(r->a);
    pthread_mutex_lock(&l->lock);
    const bool fresh = l->result && l->result_of == now, begin = !fresh && !l->computing;
    if (begin) {
        l->computing = true;
        l->computing_of = now;
    }
    const char *state = fresh ? "ready" : l->result ? "stale" : "computing";
    wl_text_addf(&body, "{\"state\":\"%s\",\"computed_ms\":", state);
    if (l->result)
        wl_text_addf(&body, "%lld", (long long)(l->computed_wall_ns / (WL_NS_PER_S / 1000)));
    else
        wl_text_add(&body, "null");
    wl_text_addf(&body, ",\"laws\":%s}", l->result ? l->result : "[]");
    pthread_mutex_unlock(&l->lock);
    if (begin && !site->later(site->later_ctx, compute, site)) {
        pthread_mutex_lock(&l->lock);
        l->computing = false;
        pthread_mutex_unlock(&l->lock);
    }
    *out = (struct wl_http_answer) { .status = 200, .type = "application/json", .body = body.s, .n_body = body.n };
}
