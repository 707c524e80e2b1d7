/* The answers for one source: what is asked for, then the choice for each workload that it has. */
#include "cmd/cmd.h"
#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/busy.h"
#include "cmd/wattlaw/recommend/recommend.h"
#include "cmd/wattlaw/repeats.h"
#include "cmd/wattlaw/scaling.h"
#include "cmd/wattlaw/screen.h"

#include <math.h>

static bool is_fastest(const struct wl_recommend_options *o)
{
    return o->reference.n == 1 && wl_str_eq(o->reference.v[0], "fastest");
}

static int read_work(const struct wl_recommend_options *o, struct wl_recommendation *r, struct wl_choose_work *w,
                     struct wl_arena *a, struct wl_err *e)
{
    const int ways = !isnan(o->epochs) + !isnan(o->samples) + !isnan(o->tokens) + (o->target != NULL);
    if (ways > 1) return wl_fail(e, WL_EUSAGE, "give one of --epochs, --samples, --tokens and --target");
    if (o->epochs_table && !o->target) return wl_fail(e, WL_EUSAGE, "--epochs-table requires --target");
    if (!isnan(o->epochs)) w->kind = WL_CHOOSE_EPOCHS, w->amount = o->epochs;
    if (!isnan(o->samples)) w->kind = WL_CHOOSE_SAMPLES, w->amount = o->samples;
    if (!isnan(o->tokens)) w->kind = WL_CHOOSE_SAMPLES, w->amount = o->tokens, w->noun = "token";
    if (!o->target) return 0;
    w->kind = WL_CHOOSE_TARGET;
    int rc = wl_scaling_target_parse(o->target, &w->metric, &w->value, a, e);
    if (rc == 0 && o->epochs_table) rc = wl_recommend_read_epochs_table(o->epochs_table, &w->table, a, e);
    if (rc == 0) rc = wl_analysis_metrics(r->source, &w->others, a, e);
    return rc;
}

static int read_footprint(struct wl_recommend_options *o, struct wl_recommendation *r, struct wl_strs *notes,
                          struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_analysis_footprint(r->source, &o->footprint, notes, a, e);
    if (rc == 0) rc = wl_cmd_footprint_complete(&o->footprint, a, e);
    if (rc == 0 && o->footprint.intensity)
        return wl_fail(e, WL_EUSAGE, "--carbon-csv: a choice needs one carbon intensity: give --carbon or --country");
    const double factor = o->charging_factor;
    const struct wl_footprint *f = &o->footprint;
    r->options.prices = (struct wl_choose_prices) { .pue = isnan(f->pue) ? 1 : f->pue,
                                                    .g_per_kwh = f->carbon,
                                                    .per_kwh = f->price,
                                                    .per_worker_h = o->price_worker_h * factor,
                                                    .per_node_h = o->price_node_h * factor };
    return rc;
}

/* What all workloads of a source share. */
struct question {
    const struct wl_recommend_options *o;
    struct wl_recommendation r; /* its source, limits and prices */
    struct wl_observations obs;
    struct wl_busy_runs busy;
    struct wl_unlike_repeats unlike;
    struct wl_choose_campaign_options how;
    struct wl_choose_where *where, *like;
    size_t n_like;
    struct wl_choose_workloads workloads;
    struct wl_strs notes;
};

/* The rows of each workload. */
static int read_source(struct question *q, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_recommend_options *o = q->o;
    const char *source = q->r.source;
    int rc = wl_analysis_read_metric(source, &o->map, q->how.work.metric, &q->obs, a, e);
    const bool unasked = rc == 0 && q->how.work.kind == WL_CHOOSE_UNIT && wl_law_has_tokens_alone(&q->obs);
    if (unasked) q->how.work = (struct wl_choose_work) { WL_CHOOSE_SAMPLES, .amount = 1e9, .noun = "token" };
    if (rc == 0 && (unasked || !isnan(o->tokens))) rc = wl_law_tokens_as_samples(&q->obs, e);
    if (rc == 0) rc = wl_busy_runs_find(source, o->exclude_busy, &q->obs, &q->busy, a, e);
    if (rc == 0) rc = wl_unlike_repeats_find(source, &q->obs, &q->unlike, a, e);
    if (rc == 0) rc = wl_analysis_add_peaks(source, &q->obs, a, e);
    if (rc == 0) rc = wl_choose_check_columns(&q->obs, q->like, q->n_like, "reference", e);
    if (rc == 0) rc = wl_choose_workloads(&q->obs, q->where, o->where.n, &q->workloads, a, e);
    if (rc == 0 && !q->workloads.n) return wl_fail(e, WL_EINVAL, "%s: no run matches --where workload", source);
    return rc;
}

static int read_question(struct wl_recommend_options *o, const char *source, struct question *q, struct wl_arena *a,
                         struct wl_err *e)
{
    q->o = o;
    q->how = (struct wl_choose_campaign_options) { .drop_epochs = o->drop_epochs,
                                                   .node_size = o->node_size,
                                                   .global_batch = o->global_batch,
                                                   .site_power_w = NAN,
                                                   .memory_bytes = o->memory_gb * 1e9,
                                                   .is_store = wl_analysis_is_store(source) };
    q->r = (struct wl_recommendation) { .source = source, .asked = o, .is_store = wl_analysis_is_store(source) };
    int rc = read_footprint(o, &q->r, &q->notes, a, e);
    if (rc == 0) rc = wl_recommend_read_limits(o, &q->r.options, a, e);
    if (rc == 0) rc = read_work(o, &q->r, &q->how.work, a, e);
    if (rc == 0) rc = wl_recommend_read_where(&o->where, "where", &q->where, a, e);
    q->n_like = is_fastest(o) ? 0 : o->reference.n;
    if (rc == 0 && q->n_like) rc = wl_recommend_read_where(&o->reference, "reference", &q->like, a, e);
    if (rc == 0 && o->site_power) rc = wl_recommend_read_site_power(o->site_power, &q->how.site_power_w, a, e);
    q->how.where = q->where;
    q->how.n_where = o->where.n;
    return rc ? rc : read_source(q, a, e);
}

/* What is per worker needs their number. */
static int check_workers(const struct wl_recommend_options *o, const struct wl_recommendation *r, struct wl_err *e)
{
    const char *option = !isnan(o->price_worker_h)        ? "--price-worker-hour"
                         : wl_str_eq(o->minimize, "zeus") ? "--minimize zeus"
                                                          : NULL;
    if (!r->campaign.no_workers || !option) return 0;
    return wl_fail(e, WL_EINVAL, "%s: %s needs the number of workers, which no run has", r->source, option);
}

static enum wl_choose_quantity quantity_of(const struct wl_recommend_options *o, const struct wl_recommendation *r)
{
    enum wl_choose_quantity q = WL_CHOOSE_ENERGY;
    if (!o->minimize) return wl_choose_default_quantity(&r->input, &r->options);
    while (!wl_str_eq(wl_choose_quantity_name(q), o->minimize)) q++;
    return q;
}

static int choose(const struct question *q, struct wl_recommendation *r, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_recommend_options *o = q->o;
    const struct wl_choose_reference_options reference = { q->like, q->n_like, is_fastest(o) };
    int rc = check_workers(o, r, e);
    if (rc == 0) rc = wl_choose_references(&r->campaign, &r->obs, &reference, &r->options, a, e);
    if (rc) return rc;
    r->options.probability = o->probability;
    r->options.eta = o->eta;
    r->options.max_power_w = isnan(o->max_power_w) ? wl_choose_largest_cap(&r->campaign) : o->max_power_w;
    r->input = wl_choose_campaign_input(&r->campaign);
    r->options.minimize = quantity_of(o, r);
    if (!wl_recommend_is_unlimited(o->max_slowdown)) wl_choose_add_default_limit(&r->options);
    rc = wl_choose(&r->input, &r->options, &r->result, a, e);
    return rc < 0 ? wl_err_prefix(e, "%s", r->source) : rc;
}

/* The answer for workload k. */
static int answer(const struct question *q, size_t k, struct wl_recommendation *r, struct wl_arena *a, struct wl_err *e)
{
    *r = q->r;
    r->one_of_several = q->workloads.n > 1;
    r->obs = q->workloads.obs[k];
    int rc = wl_choose_campaign(&r->obs, &q->how, &r->campaign, a, e);
    if (rc == 0) rc = choose(q, r, a, e);
    if (rc == 0 && !q->o->minimize && r->options.minimize == WL_CHOOSE_TIME)
        wl_strs_add(a, &r->campaign.notes, "no energy was measured: the fastest setting is chosen");
    for (size_t i = 0; i < q->notes.n && rc == 0; i++) wl_strs_add(a, &r->campaign.notes, q->notes.v[i]);
    return rc;
}

static int status_of(const struct wl_recommendation *r)
{
    return r->result.choice == WL_CHOOSE_NONE ? WL_EXIT_FAILED : WL_EXIT_OK;
}

static void add_caveats(const struct question *q, struct wl_json *root)
{
    wl_busy_runs_json(&q->busy, root);
    wl_unlike_repeats_json(&q->unlike, root);
}

static void print_caveats(const struct question *q, struct wl_arena *a)
{
    const bool shortened = wl_screen_is_short(q->o->all);
    wl_busy_runs_print(&q->busy, shortened, a);
    wl_unlike_repeats_print(&q->unlike, shortened, a);
}

/* `root` NULL: as text. */
static int answer_one(const struct question *q, struct wl_json *root, struct wl_arena *a, struct wl_err *e)
{
    struct wl_recommendation r;
    const int rc = answer(q, 0, &r, a, e);
    if (rc) return rc;
    if (root) {
        wl_recommend_json(&r, root, a);
        add_caveats(q, root);
    } else {
        wl_recommend_print(&r, a);
        print_caveats(q, a);
    }
    return status_of(&r);
}

static void print_error(const char *name, struct wl_json *list, const char *message)
{
    if (!list) {
        wl_print("%s: no answer: %s\n", *name ? name : "runs without a workload", message);
        return;
    }
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "workload", *name ? name : NULL);
    wl_json_add_str(o, "error", message);
}

/* The answers so far. */
struct answers {
    struct wl_json *list; /* NULL: as text */
    size_t printed;
    struct wl_strs errors; /* of the workloads from the first on, before the first answer */
    struct wl_arena *a;
};

static void begin_answer(struct answers *to)
{
    if (to->printed++ && !to->list) wl_print("\n");
}

static void print_errors(const struct question *q, struct answers *to)
{
    for (size_t k = 0; k < to->errors.n; k++) {
        begin_answer(to);
        print_error(q->workloads.name[k], to->list, to->errors.v[k]);
    }
    to->errors.n = 0;
}

/* An error of one workload, which others may not share. */
static void add_error(const struct question *q, size_t k, struct answers *to, const char *message)
{
    if (to->errors.n == k) { /* no answer yet */
        wl_strs_add(to->a, &to->errors, message);
        return;
    }
    begin_answer(to);
    print_error(q->workloads.name[k], to->list, message);
}

static void add_answer(const struct question *q, const struct wl_recommendation *r, struct answers *to,
                       struct wl_arena *a)
{
    print_errors(q, to);
    begin_answer(to);
    if (to->list)
        wl_recommend_json(r, wl_json_add_object(to->list, NULL), a);
    else
        wl_recommend_print(r, a);
}

static bool are_equal(const struct wl_strs *v)
{
    for (size_t i = 1; i < v->n; i++)
        if (!wl_str_eq(v->v[i], v->v[0])) return false;
    return true;
}

/* A setting of one workload says nothing of another: one answer after the other. An error that all share is one. */
static int answer_each(const struct question *q, struct wl_json *root, struct wl_arena *a, struct wl_err *e)
{
    struct answers to = { .list = root ? wl_json_add_array(root, "answers") : NULL, .a = a };
    int status = WL_EXIT_OK, rc = 0;
    for (size_t k = 0; k < q->workloads.n; k++) {
        struct wl_arena *here = wl_arena_new(a);
        struct wl_recommendation r;
        rc = answer(q, k, &r, here, e);
        if (rc && rc != WL_EINVAL && rc != WL_ENOENT) return rc;
        if (rc)
            add_error(q, k, &to, e->msg);
        else
            add_answer(q, &r, &to, here);
        if (rc || status_of(&r)) status = WL_EXIT_FAILED;
        wl_arena_free(here);
    }
    if (to.errors.n && are_equal(&to.errors)) return rc;
    print_errors(q, &to);
    if (root)
        add_caveats(q, root);
    else
        print_caveats(q, a);
    return status;
}

int wl_recommend_answer_json(struct wl_recommend_options *o, const char *source, struct wl_json *root,
                             struct wl_arena *a, struct wl_err *e)
{
    struct question q = { 0 };
    const int rc = read_question(o, source, &q, a, e);
    if (rc) return rc;
    return q.workloads.n < 2 ? answer_one(&q, root, a, e) : answer_each(&q, root, a, e);
}

int wl_recommend_answer(struct wl_recommend_options *o, const char *source, struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *root = o->json ? wl_analysis_json(source, a) : NULL;
    const int rc = wl_recommend_answer_json(o, source, root, a, e);
    if (rc >= 0 && root) wl_json_print(root);
    return rc;
}
