/* Requests become answers: routes, access, pages of the table of runs, series, what is cached. */
#include "test.h"

#include "law/law.h"
#include "site_fixture.h"

#include <math.h>
#include <stdio.h>

static struct wl_arena *shared; /* of the stores, which all tests read */
static char *folder;
static struct wl_site *open_site;

static int make_stores(void **state)
{
    (void)state;
    shared = wl_arena_new(NULL);
    folder = wl_strf(shared, "%s/wattlaw-serve-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(folder)) return -1;
    open_site = site_fixture(folder, NULL, "/", shared);
    return 0;
}

static int remove_stores(void **state)
{
    (void)state;
    struct wl_strs names;
    if (wl_dir_list(folder, &names, shared, NULL) == 0)
        for (size_t i = 0; i < names.n; i++) remove(wl_path_join(shared, folder, names.v[i]));
    remove(folder);
    wl_arena_free(shared);
    return 0;
}

static struct wl_http_answer get(struct wl_site *site, const char *target, struct wl_arena *a)
{
    struct wl_http_request *r = wl_new(a, struct wl_http_request);
    *r = request_of(target, a);
    return site_answer(site, r);
}

/* The JSON of a path that is there. */
static struct wl_json *json_of(const char *target, struct wl_arena *a)
{
    const struct wl_http_answer v = get(open_site, target, a);
    struct wl_json *root;
    if (v.status != 200) fail_msg("%s: %d: %s", target, v.status, v.body ? v.body : "");
    assert_string_equal(v.type, "application/json");
    assert_ok(wl_json_parse(wl_strndup(a, v.body, v.n_body), target, &root, a, e));
    return root;
}

static void assert_error(struct wl_site *site, const char *target, int status, const char *part, struct wl_arena *a)
{
    const struct wl_http_answer v = get(site, target, a);
    if (v.status != status) fail_msg("%s: %d, not %d: %s", target, v.status, status, v.body ? v.body : "");
    assert_holds(v.body, "{\"error\": ");
    assert_holds(v.body, part);
    assert_null(v.etag);
}

static void paths_lead_to_the_list_and_nowhere_else(void **state)
{
    static const char *const there[] = { "/",
                                         "/assets/serve.js",
                                         "/assets/chart.js",
                                         "/api/v1/session",
                                         "/api/v1/overview",
                                         "/api/v1/runs",
                                         "/api/v1/runs/1-1",
                                         "/api/v1/compare?a=1-1&b=2-1",
                                         "/api/v1/recommendation",
                                         "/api/v1/card",
                                         "/report/2" };
    static const char *const gone[] = { "/x",
                                        "/assets/",
                                        "/assets/serve.html",
                                        "/assets/../serve.js",
                                        "/assets/..%2fserve.js",
                                        "/../../etc/passwd",
                                        "/assets/%2e%2e/%2e%2e/etc/passwd",
                                        "//",
                                        "/api/v1/runs/",
                                        "/api/v1/runs/1-1/",
                                        "/api/v1/runs/1",
                                        "/api/v1/runs/1-",
                                        "/api/v1/runs/0-1",
                                        "/api/v1/runs/3-1",
                                        "/api/v1/runs/1-99999",
                                        "/api/v1/runs/1-1/series/x",
                                        "/report/",
                                        "/report/3",
                                        "/report/x",
                                        "/download/1",
                                        "/download/1/wattlaw.db",
                                        "/download/1/..%2f1.db" };
    for (size_t i = 0; i < WL_COUNT(there); i++) {
        const struct wl_http_answer v = get(open_site, there[i], *state);
        if (v.status != 200) fail_msg("%s: %d: %s", there[i], v.status, v.body);
    }
    for (size_t i = 0; i < WL_COUNT(gone); i++) {
        const struct wl_http_answer v = get(open_site, gone[i], *state);
        if (v.status != 404) fail_msg("%s: %d: %s", gone[i], v.status, v.body);
    }
    assert_error(open_site, "/api/v1/login", 405, "method", *state);
}

static void a_token_guards_what_is_of_stores(void **state)
{
    static const char *const guarded[] = { "/api/v1/overview",
                                           "/api/v1/runs",
                                           "/api/v1/runs/1-1",
                                           "/api/v1/runs/1-1/series?channel=1",
                                           "/api/v1/compare?a=1-1&b=1-2",
                                           "/api/v1/laws",
                                           "/api/v1/recommendation",
                                           "/api/v1/card",
                                           "/api/v1/events",
                                           "/report/1",
                                           "/download/1/runs.csv" };
    struct wl_site *site = site_fixture(folder, "correct-horse-battery", "/", *state);
    for (size_t i = 0; i < WL_COUNT(guarded); i++) assert_error(site, guarded[i], 401, "a token is required", *state);
    assert_int_equal(get(site, "/", *state).status, 200);
    assert_holds(get(site, "/api/v1/session", *state).body, "\"login\": true");
    assert_holds(get(site, "/api/v1/session", *state).body, "\"logout\": false");

    struct wl_http_request r = request_of("/api/v1/login", *state);
    r.method = WL_HTTP_POST;
    r.body = "token=correct-horse-batterz";
    assert_int_equal(site_answer(site, &r).status, 401);
    r.body = "token=correct-horse-battery";
    r.origin = "http://evil.example";
    assert_int_equal(site_answer(site, &r).status, 403);
    r.origin = "http://localhost:8087";
    const struct wl_http_answer in = site_answer(site, &r);
    assert_int_equal(in.status, 204);

    r = request_of("/api/v1/runs", *state);
    r.cookie = wl_strndup(*state, in.cookie, strcspn(in.cookie, ";"));
    assert_int_equal(site_answer(site, &r).status, 200);
    r = request_of("/api/v1/session", *state);
    r.authorization = "Bearer correct-horse-battery";
    const struct wl_http_answer known = site_answer(site, &r);
    assert_holds(known.body, "\"login\": false");
    assert_holds(known.body, "\"logout\": true");
}

static void other_hosts_are_refused_everywhere(void **state)
{
    static const char *const paths[] = { "/", "/assets/serve.js", "/api/v1/session", "/api/v1/runs", "/nothing" };
    for (size_t i = 0; i < WL_COUNT(paths); i++) {
        struct wl_http_request r = request_of(paths[i], *state);
        r.host = "evil.example";
        assert_int_equal(site_answer(open_site, &r).status, 421);
    }
}

static void a_base_path_is_kept(void **state)
{
    struct wl_site *site = site_fixture(folder, NULL, "/w", *state);
    const struct wl_http_answer v = get(site, "/w", *state);
    assert_int_equal(v.status, 308);
    assert_string_equal(v.location, "/w/");
    assert_int_equal(get(site, "/w/api/v1/runs", *state).status, 200);
    assert_error(site, "/api/v1/runs", 404, "below /w/", *state);
}

/* ---- the table of runs ---- */

static double number(const struct wl_json *run, const char *name) { return wl_json_real(wl_json_get(run, name)); }
static const char *text(const struct wl_json *run, const char *name) { return wl_json_str(wl_json_get(run, name)); }

/* All runs in an order, page by page: each page continues the one before. */
static const struct wl_json **pages_of(const char *query, size_t *n, struct wl_arena *a)
{
    const struct wl_json **all = NULL;
    size_t cap = 0;
    *n = 0;
    for (;;) {
        const struct wl_json *root = json_of(wl_strf(a, "/api/v1/runs?%s&limit=7&offset=%zu", query, *n), a);
        const struct wl_json *runs = wl_json_get(root, "runs");
        const size_t matched = (size_t)wl_json_int(wl_json_get(root, "matched"), -1);
        assert_true(wl_json_size(runs) == (matched - *n < 7 ? matched - *n : 7));
        if (!wl_json_size(runs)) return all;
        for (size_t i = 0; i < wl_json_size(runs); i++) {
            WL_GROW(a, all, *n, cap);
            all[(*n)++] = wl_json_at(runs, i);
        }
    }
}

static void pages_hold_every_run_once_in_order(void **state)
{
    static const char *const sorts[] = { "id", "workers", "energy_j", "power_cap_w", "metric_value" };
    const size_t total = (size_t)wl_json_int(wl_json_get(json_of("/api/v1/runs", *state), "total"), 0);
    assert_true(total > 50);
    for (size_t i = 0; i < WL_COUNT(sorts); i++)
        for (int down = 0; down < 2; down++) {
            size_t n;
            const struct wl_json **v =
                pages_of(wl_strf(*state, "sort=%s&order=%s", sorts[i], down ? "desc" : "asc"), &n, *state);
            assert_int_equal(n, total);
            const char *by = i ? sorts[i] : "run";
            for (size_t k = 0; k < n; k++) {
                for (size_t j = 0; j < k; j++) assert_string_not_equal(text(v[j], "id"), text(v[k], "id"));
                if (k == 0) continue;
                const double before = number(v[k - 1], by), after = number(v[k], by);
                assert_false(isnan(before) && !isnan(after)); /* those without a value are last */
                if (!isnan(before) && !isnan(after)) assert_true(down ? before >= after : before <= after);
            }
        }
}

static void filters_keep_what_matches(void **state)
{
    size_t n, all;
    (void)pages_of("store=1", &all, *state);
    const struct wl_json **v = pages_of("store=1&state=failed", &n, *state);
    assert_int_equal(n, 1);
    assert_string_equal(text(v[0], "state"), "failed");
    v = pages_of("store=1&state=failed,done&q=RESNET50%20local_batch%3D16", &n, *state);
    assert_int_equal(n, 0);
    v = pages_of("q=local_batch%3D16", &n, *state);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) assert_holds(text(v[i], "settings"), "local_batch=16");
    v = pages_of("workload=resnet50&store=2", &n, *state);
    for (size_t i = 0; i < n; i++) assert_string_equal(text(v[i], "workload"), "resnet50");
    (void)pages_of("campaign=nothing", &n, *state);
    assert_int_equal(n, 0);
    const struct wl_json *beyond = json_of("/api/v1/runs?offset=100000", *state);
    assert_int_equal(wl_json_size(wl_json_get(beyond, "runs")), 0);
    assert_error(open_site, "/api/v1/runs?state=lost", 400, "state=lost: expected planned, running", *state);
    assert_error(open_site, "/api/v1/runs?sort=name", 400, "expected one of id, state", *state);
    assert_error(open_site, "/api/v1/runs?limit=0", 400, "from 1 to 500", *state);
    assert_error(open_site, "/api/v1/runs?store=3", 404, "no such store", *state);
}

/* ---- series ---- */

static void series_are_reduced_readings(void **state)
{
    const char *target = "/api/v1/runs/1-1/series?channel=1,2&points=20";
    const struct wl_json *list = wl_json_get(json_of(target, *state), "series");
    assert_int_equal(wl_json_size(list), 2);
    struct wl_store *s;
    struct wl_readings r;
    double max = -INFINITY, seen = -INFINITY;
    assert_ok(wl_store_open(&s, wl_served_path(open_site->stores[0]), WL_STORE_READ, *state, e));
    assert_ok(wl_store_readings(s, 1, INT64_MIN, INT64_MAX, &r, *state, e));
    for (size_t i = 0; i < r.n; i++) max = fmax(max, r.value[i]);
    const struct wl_json *one = wl_json_at(list, 0), *maxima = wl_json_get(one, "max");
    assert_true(number(one, "readings") > 20 && wl_json_bool(wl_json_get(one, "reduced"), false));
    assert_true(wl_json_size(maxima) >= 20 && wl_json_size(maxima) == wl_json_size(wl_json_get(one, "t_s")));
    for (size_t i = 0; i < wl_json_size(maxima); i++) seen = fmax(seen, wl_json_real(wl_json_at(maxima, i)));
    assert_true(seen == max);

    const struct wl_json *part = json_of("/api/v1/runs/1-1/series?channel=1&from=1&to=2&points=2000", *state);
    assert_true(number(part, "from_s") == 1 && number(part, "to_s") == 2);
    const struct wl_json *t_s = wl_json_get(wl_json_at(wl_json_get(part, "series"), 0), "t_s");
    for (size_t i = 0; i < wl_json_size(t_s); i++)
        assert_true(wl_json_real(wl_json_at(t_s, i)) >= 1 && wl_json_real(wl_json_at(t_s, i)) <= 2);

    static const char *const bad[] = { "",
                                       "?channel=",
                                       "?channel=x",
                                       "?channel=1&points=1",
                                       "?channel=1&points=2001",
                                       "?channel=1&from=x",
                                       "?channel=1&from=2&to=1",
                                       "?channel=1&from=1e300" };
    for (size_t i = 0; i < WL_COUNT(bad); i++)
        assert_error(open_site, wl_strf(*state, "/api/v1/runs/1-1/series%s", bad[i]), 400, "expected", *state);
    assert_error(open_site, "/api/v1/runs/1-1/series?channel=9999", 404, "no such channel", *state);
}

/* ---- two runs ---- */

static const struct wl_json *named(const struct wl_json *list, const char *name)
{
    for (size_t i = 0; i < wl_json_size(list); i++)
        if (wl_str_eq(text(wl_json_at(list, i), "name"), name)) return wl_json_at(list, i);
    fail_msg("no %s", name);
    return NULL;
}

/* Mean and variance of that mean of ln time_s over the runs that a search finds. */
static size_t ln_times(const char *q, double *mean, double *variance, struct wl_arena *a)
{
    size_t n;
    const struct wl_json **v = pages_of(wl_strf(a, "store=1&state=done&q=%s", q), &n, a);
    *mean = *variance = 0;
    for (size_t i = 0; i < n; i++) *mean += log(number(v[i], "time_s")) / (double)n;
    for (size_t i = 0; i < n; i++) *variance += pow(log(number(v[i], "time_s")) - *mean, 2) / (double)(n * (n - 1));
    return n;
}

static void repeats_have_welchs_interval(void **state)
{
    const char *const target = "/api/v1/compare?a=1-1&b=1-7"; /* local batches 8 and 16, three repeats of each */
    const struct wl_json *root = json_of(target, *state), *repeats = wl_json_get(root, "repeats");
    const struct wl_json *time = named(wl_json_get(repeats, "measures"), "time_s");
    double below, above, u, v;
    const size_t n = ln_times("workers%3D1+local_batch%3D8", &below, &u, *state);
    assert_int_equal(n, 3);
    assert_int_equal(ln_times("workers%3D1+local_batch%3D16", &above, &v, *state), 3);
    const double df = (u + v) * (u + v) / (u * u / 2 + v * v / 2), half = wl_t_quantile(0.975, df) * sqrt(u + v);
    assert_float_equal(number(time, "ratio"), exp(above - below), 1e-9);
    assert_float_equal(number(time, "ratio_lo"), exp(above - below - half), 1e-9);
    assert_float_equal(number(time, "ratio_hi"), exp(above - below + half), 1e-9);
    assert_int_equal(number(time, "runs_a"), 3);
    assert_holds(text(time, "change"), "% less"); /* a larger batch takes less time */
    assert_true(wl_json_bool(wl_json_get(repeats, "estimated"), false));

    const struct wl_json *again = wl_json_get(json_of("/api/v1/compare?a=1-1&b=1-2", *state), "repeats");
    assert_true(wl_json_bool(wl_json_get(again, "same_settings"), false));
    assert_int_equal(wl_json_size(wl_json_get(again, "measures")), 0);
}

static const char *change_of_power(const char *run, struct wl_arena *a)
{
    const struct wl_json *root = json_of(wl_strf(a, "/api/v1/compare?a=1-1&b=%s", run), a);
    return text(named(wl_json_get(wl_json_get(root, "repeats"), "measures"), "mean_power_w"), "change");
}

/* Powers that do not scatter: twice the workers draw 10/7 of it, and the local batch does not change it. */
static void ends_that_read_alike_are_one_number(void **state)
{
    assert_string_equal(change_of_power("1-4", *state), "43 % more");
    assert_string_equal(change_of_power("1-7", *state), "a difference of less than 0.1 %");
}

/* Each ratio without an interval says why. */
static void a_ratio_without_an_interval_says_why(void **state)
{
    static const struct {
        const char *target, *value, *why;
    } cases[] = {
        { "/api/v1/compare?a=1-1&b=1-7", "time_s", "energies and powers only" },
        { "/api/v1/compare?a=1-1&b=1-7", "energy_j", "run 1-1 has no interval of its energy" },
        { "/api/v1/compare?a=1-1&b=1-1", "energy_j", "the same run" },
    };
    size_t n;
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        const struct wl_json *one = named(wl_json_get(json_of(cases[i].target, *state), "values"), cases[i].value);
        assert_holds(text(one, "no_interval"), cases[i].why);
        assert_true(isnan(number(one, "ratio_lo")) && isnan(number(one, "ratio_hi")));
    }
    const struct wl_json *const *failed = pages_of("store=1&state=failed", &n, *state);
    assert_int_equal(n, 1);
    const struct wl_json *root = json_of(wl_strf(*state, "/api/v1/compare?a=1-1&b=%s", text(failed[0], "id")), *state);
    const struct wl_json *time = named(wl_json_get(wl_json_get(root, "repeats"), "measures"), "time_s");
    assert_holds(text(time, "no_interval"), "there is none");
    assert_null(text(time, "change"));
}

/* ---- laws and caches ---- */

/* The band of a law with the runs that ended first, which in this store are those with the smallest numbers. */
static double width_of_first(const struct wl_law_group *g, size_t n, double workers, struct wl_arena *a)
{
    bool *take = wl_new_array(a, bool, g->n_runs);
    struct wl_law_posterior p;
    for (size_t i = 0; i < g->n_runs; i++) {
        size_t before = 0;
        for (size_t k = 0; k < g->n_runs; k++) before += atoi(g->runs[k].label) < atoi(g->runs[i].label);
        take[i] = before < n;
    }
    assert_ok(wl_law_posterior_of_runs(g, take, WL_LAW_TIME, &p, a, e));
    const struct wl_law_forecast f = wl_law_forecast_at(&p, workers, a);
    return 50 * (f.config_hi - f.config_lo) / f.value;
}

/* The widths of the past are those of the runs that were done then. */
static void assert_narrowing(const struct wl_json *law, const char *path, struct wl_arena *a)
{
    const struct wl_json *band = wl_json_get(law, "band"), *history = wl_json_get(band, "history");
    const size_t n = wl_json_size(history);
    struct wl_store *s;
    struct wl_observations obs;
    struct wl_law_result result;
    assert_ok(wl_store_open(&s, path, WL_STORE_READ, a, e));
    assert_ok(wl_store_observations(s, 0, &obs, a, e));
    assert_ok(wl_law_fit(&obs, &(struct wl_law_options) { .drop_epochs = 1 }, &result, a, e));
    const struct wl_law_group *g = &result.groups[0];
    assert_string_equal(text(law, "group"), g->title);
    assert_true(n >= 3 && number(band, "workers") == 2);
    assert_int_equal(number(wl_json_at(history, n - 1), "runs"), g->n_runs);
    assert_true(number(wl_json_at(history, 0), "runs") < (double)g->n_runs);
    for (size_t i = 0; i < n; i++) {
        const struct wl_json *one = wl_json_at(history, i);
        const double width = width_of_first(g, (size_t)number(one, "runs"), 2, a);
        assert_float_equal(number(one, "width_pct"), width, 1e-9 * width);
    }
}

static void laws_are_computed_once_asked_for(void **state)
{
    struct wl_site *site = site_fixture(folder, NULL, "/", *state);
    struct wl_event_stream s = wl_events_begin(site->events, NULL, NULL);
    site->n_stores = 1; /* the small one */
    assert_holds(get(site, "/api/v1/laws", *state).body, "{\"state\":\"computing\",\"computed_ms\":null,\"laws\":[]}");
    assert_true(wl_events_pending(site->events, &s)); /* `laws`: later() is at once here */
    assert_error(site, "/api/v1/laws?x=1", 400, "unknown parameter x", *state);
    struct wl_json *root;
    const struct wl_http_answer v = get(site, "/api/v1/laws", *state);
    assert_ok(wl_json_parse(wl_strndup(*state, v.body, v.n_body), "laws", &root, *state, e));
    assert_string_equal(text(root, "state"), "ready");
    const struct wl_json *laws = wl_json_get(root, "laws"), *first = wl_json_at(laws, 0);
    assert_true(wl_json_size(laws) > 2);
    assert_string_equal(text(first, "measure"), "time_s");
    assert_string_equal(text(first, "group"), "resnet50, local_batch 8");
    assert_string_equal(text(first, "name"), "resnet50, local batch 8");
    assert_true(wl_json_size(wl_json_get(first, "points")) >= 2 && wl_json_size(wl_json_get(first, "curve")) > 10);
    const struct wl_json *at = wl_json_at(wl_json_get(first, "curve"), 5);
    assert_true(number(at, "lo") < number(at, "value") && number(at, "value") < number(at, "hi"));
    assert_true(number(wl_json_get(first, "law"), "beta") > 0.5);
    assert_narrowing(first, wl_served_path(site->stores[0]), *state);
}

static void what_has_not_changed_is_not_sent_again(void **state)
{
    struct wl_http_request r = request_of("/api/v1/runs?limit=3", *state);
    const struct wl_http_answer first = site_answer(open_site, &r);
    assert_non_null(first.etag);
    assert_int_equal(wl_site_begin(open_site, &r, &(struct wl_http_answer) { 0 }),
                     WL_SITE_ANSWERED); /* from the cache */
    r.if_none_match = wl_strf(*state, "\"other\", %s", first.etag);
    const struct wl_http_answer again = site_answer(open_site, &r);
    assert_int_equal(again.status, 304);
    assert_int_equal(again.n_body, 0);
    struct wl_http_request page = request_of("/assets/serve.css", *state);
    page.if_none_match = get(open_site, "/assets/serve.css", *state).etag;
    assert_int_equal(site_answer(open_site, &page).status, 304);
}

static void a_store_that_cannot_be_read_says_why(void **state)
{
    char *own = wl_strf(*state, "%s/own-XXXXXX", folder);
    assert_non_null(mkdtemp(own));
    struct wl_site *site = site_fixture(own, NULL, "/", *state);
    assert_int_equal(remove(wl_path_join(*state, own, "1.db")), 0);
    remove(wl_path_join(*state, own, "1.db-lock"));
    assert_holds(get(site, "/api/v1/overview", *state).body, "1.db: ");
    assert_error(site, "/api/v1/runs/1-1", 500, "1.db: ", *state);
    const struct wl_http_answer runs = get(site, "/api/v1/runs?store=1", *state);
    assert_holds(runs.body, "\"total\": 0");
    assert_int_equal(get(site, "/api/v1/runs/2-1", *state).status, 200);
    assert_false(wl_is_file(wl_path_join(*state, own, "1.db"))); /* nothing is made */
    struct wl_strs names;
    assert_ok(wl_dir_list(own, &names, *state, e));
    for (size_t i = 0; i < names.n; i++) remove(wl_path_join(*state, own, names.v[i]));
    remove(own);
}

static void downloads_are_files(void **state)
{
    const struct wl_http_answer v = get(open_site, "/download/1/runs.csv?run=5", *state);
    char line[20] = "";
    assert_int_equal(v.status, 200);
    assert_non_null(v.file);
    rewind(v.file);
    assert_true(fread(line, 1, sizeof line - 1, v.file) == 6);
    assert_string_equal(line, "run\n5\n");
    assert_string_equal(v.filename, "1-runs.csv");
    fclose(v.file);
}

static int post(struct wl_site *site, struct wl_http_request r, const char *body, const char **text)
{
    struct wl_http_request *p = wl_new(r.a, struct wl_http_request);
    *p = r;
    p->method = WL_HTTP_POST;
    p->body = body;
    p->n_body = strlen(body);
    const struct wl_http_answer v = site_answer(site, p);
    *text = v.body ? v.body : "";
    return v.status;
}

/* Each way in which a request may lack the right to change something, from one that has it. */
static void only_who_may_changes_something(void **state)
{
    static const char pause[] = "{\"action\": \"pause\", \"store\": 1}";
    struct wl_arena *a = *state;
    struct wl_site *site = site_fixture(folder, "correct-horse-battery", "/", a);
    struct wl_http_request page = request_of("/api/v1/control", a);
    const char *text;
    page.content_type = "application/json; charset=utf-8";
    page.client = "192.0.2.7";
    page.cookie = wl_strf(a, "%s=%s", site->access.cookie, site->access.session);
    page.origin = "http://localhost:8087";
    page.csrf = site->access.csrf;
    page.fetch_site = "same-origin";
    struct wl_http_request r = page;
    const struct {
        const char **header, *value;
        int status;
    } lacking[] = {
        { &r.cookie, NULL, 401 },
        { &r.cookie, "wattlaw-8087=0000", 401 },
        { &r.authorization, "Bearer correct-horse-batterx", 200 }, /* the cookie is enough */
        { &r.origin, NULL, 403 },
        { &r.origin, "null", 403 },
        { &r.origin, "https://evil.example", 403 },
        { &r.csrf, NULL, 403 },
        { &r.csrf, "", 403 },
        { &r.csrf, site->access.session, 403 },
        { &r.fetch_site, "same-site", 403 },
        { &r.fetch_site, "cross-site", 403 },
        { &r.fetch_site, "none", 403 },
        { &r.content_type, NULL, 400 },
        { &r.content_type, "text/plain", 400 },
        { &r.content_type, "application/jsonx", 400 },
        { &r.host, "evil.example", 421 },
    };
    for (size_t i = 0; i < WL_COUNT(lacking); i++) {
        r = page;
        *lacking[i].header = lacking[i].value;
        const int status = post(site, r, lacking[i].status == 200 ? "{\"action\": \"x\"}" : pause, &text);
        if (status != (lacking[i].status == 200 ? 400 : lacking[i].status)) fail_msg("%zu: %d: %s", i, status, text);
    }
    r = page;
    r.method = WL_HTTP_GET;
    assert_int_equal(site_answer(site, &r).status, 405);
    r = request_of("/api/v1/control", a);
    r.content_type = "application/json";
    r.authorization = "Bearer correct-horse-battery";
    static const char *const unlike[] = { "\"store\": 1.5", "\"store\": \"1\"", "\"store\": -1", "\"run\": [\"1-1\"]",
                                          "\"run\": 1" };
    for (size_t i = 0; i < WL_COUNT(unlike); i++) {
        assert_int_equal(post(site, r, wl_strf(a, "{\"action\": \"cancel\", %s}", unlike[i]), &text), 400);
        assert_holds(text, "expected");
    }
    assert_int_equal(post(site, r, "{\"action\": \"pause\", \"store\": 3}", &text), 404);
    assert_int_equal(post(site, r, "{\"action\": \"cancel\", \"run\": \"1-1\"}", &text), 409);
    assert_holds(text, "ended already");
    assert_int_equal(post(site, r, pause, &text), 200);
    assert_holds(text, "is paused");
    assert_int_equal(post(site, page, "{\"action\": \"resume\"}", &text), 200);
    int too_often = 0;
    for (int i = 0; i < 25; i++) too_often += post(site, page, "{}", &text) == 429;
    if (too_often == 0) fail_msg("as often as somebody likes");
    /* a server that only shows */
    assert_int_equal(post(open_site, page, pause, &text), 403);
    assert_holds(text, "--allow-control");
}

static bool is_noted(void *ctx, void (*call)(void *what), void *what)
{
    (void)call;
    (void)what;
    return *(bool *)ctx = true;
}

/* Its own thread has what computes: recommendations, reports, downloads, and laws, of which a request only asks. */
static void what_takes_seconds_is_slow(void **state)
{
    static const struct {
        const char *target;
        enum wl_site_work work;
    } cases[] = {
        { "/api/v1/recommendation?store=1&n=1", WL_SITE_SLOW },
        { "/api/v1/card?store=1", WL_SITE_SLOW },
        { "/report/1", WL_SITE_SLOW },
        { "/download/1/runs.csv", WL_SITE_SLOW },
        { "/api/v1/laws", WL_SITE_QUICK },
        { "/api/v1/runs?sort=id&limit=3", WL_SITE_QUICK },
        { "/api/v1/runs/1-2", WL_SITE_QUICK },
        { "/api/v1/compare?a=1-2&b=1-3", WL_SITE_QUICK },
        { "/api/v1/overview", WL_SITE_QUICK },
        { "/api/v1/runs/1-2/series?channel=1", WL_SITE_QUICK },
    };
    struct wl_site *site = site_fixture(folder, NULL, "/", *state);
    bool asked = false;
    site->later = is_noted;
    site->later_ctx = &asked;
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_http_request r = request_of(cases[i].target, *state);
        struct wl_http_answer out;
        const enum wl_site_work work = wl_site_begin(site, &r, &out);
        if (work != cases[i].work) fail_msg("%s: %d", cases[i].target, (int)work);
    }
    assert_holds(get(site, "/api/v1/laws", *state).body, "\"computing\"");
    assert_true(asked);
}

/* Of hundreds of requests that wait, each of which takes seconds, none holds the end up. */
static void a_server_that_stops_begins_nothing(void **state)
{
    open_site->ending = true;
    assert_error(open_site, "/download/1/runs.csv?run=5", 503, "stops", *state);
    open_site->ending = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(paths_lead_to_the_list_and_nowhere_else),
        WITH_ARENA(a_token_guards_what_is_of_stores),
        WITH_ARENA(other_hosts_are_refused_everywhere),
        WITH_ARENA(a_base_path_is_kept),
        WITH_ARENA(pages_hold_every_run_once_in_order),
        WITH_ARENA(filters_keep_what_matches),
        WITH_ARENA(series_are_reduced_readings),
        WITH_ARENA(repeats_have_welchs_interval),
        WITH_ARENA(ends_that_read_alike_are_one_number),
        WITH_ARENA(a_ratio_without_an_interval_says_why),
        WITH_ARENA(laws_are_computed_once_asked_for),
        WITH_ARENA(what_has_not_changed_is_not_sent_again),
        WITH_ARENA(a_store_that_cannot_be_read_says_why),
        WITH_ARENA(downloads_are_files),
        WITH_ARENA(only_who_may_changes_something),
        WITH_ARENA(what_takes_seconds_is_slow),
        WITH_ARENA(a_server_that_stops_begins_nothing),
    };
    return cmocka_run_group_tests(tests, make_stores, remove_stores);
}
