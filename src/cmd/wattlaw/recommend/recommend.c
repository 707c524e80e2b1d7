/* wattlaw recommend: which setting of a finished campaign to use. */
#include "cmd/wattlaw/recommend/recommend.h"

#include "cmd/cmd.h"
#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/scaling.h"

#include <math.h>
#include <stddef.h>

#define AT(member) offsetof(struct wl_recommend_options, member)

static const struct wl_opt options[] = {
    { .name = "minimize",
      .type = WL_CHOICE,
      .offset = AT(minimize),
      .def = "energy",
      .choices = "energy|time|carbon|cost|edp|ed2p|zeus",
      .help =
          "quantity to minimize; edp: energy x time, ed2p: energy x time^2, zeus: eta x energy + (1 - eta) x maximum "
          "power x time" },
    { .name = "max-slowdown",
      .type = WL_STR,
      .offset = AT(max_slowdown),
      .unit = "X%",
      .help = "longest time allowed over that of the reference, in percent (default: none)" },
    { .name = "deadline",
      .type = WL_DURATION,
      .offset = AT(deadline_s),
      .min = 1e-6,
      .max = 1e10,
      .help = "longest time allowed for the work, such as 8h (default: none)" },
    { .name = "budget",
      .type = WL_STRS,
      .offset = AT(budget),
      .unit = "AMOUNT",
      .help = "most energy, money or carbon allowed for the work, such as 200kWh, 500EUR or 50kgCO2e (default: none)" },
    { .name = "probability",
      .type = WL_REAL,
      .offset = AT(probability),
      .def = "0.9",
      .min = 0.01,
      .max = 0.999,
      .help = "probability with which each limit must be met" },
    { .name = "epochs",
      .type = WL_REAL,
      .offset = AT(epochs),
      .min = 1e-3,
      .max = 1e9,
      .unit = "N",
      .help = "work as a number of epochs (default: 1)" },
    { .name = "samples",
      .type = WL_REAL,
      .offset = AT(samples),
      .min = 1,
      .max = 1e18,
      .unit = "N",
      .help = "work as a number of samples, instead of --epochs (default: none)" },
    { .name = "target",
      .type = WL_STR,
      .offset = AT(target),
      .unit = "METRIC=VALUE",
      .help = "work until a metric reaches a value, instead of --epochs (default: none)" },
    { .name = "epochs-table",
      .type = WL_STR,
      .offset = AT(epochs_table),
      .unit = "FILE",
      .help = "CSV file with columns global_batch and epochs: epochs to the target, instead of those of the runs; "
              "requires --target (default: none)" },
    { .name = "reference",
      .type = WL_STRS,
      .offset = AT(reference),
      .unit = "COLUMN=VALUE|fastest",
      .help = "setting that slowdowns and savings are over, such as workers=4,power_cap_w=none, or fastest: the "
              "fastest one without a cap (default: the same setting without a cap, or with the largest)" },
    { .name = "where",
      .type = WL_STRS,
      .offset = AT(where),
      .unit = "COLUMN=VALUE|LOW..HIGH",
      .help = "settings that may be chosen, such as workers=4..16 or power_cap_w=none; the others remain evidence "
              "(default: all)" },
    { .name = "node-size",
      .type = WL_REAL,
      .offset = AT(node_size),
      .min = 1,
      .max = 1e6,
      .unit = "N",
      .help = "workers of a node: only multiples may be chosen (default: any)" },
    { .name = "global-batch",
      .type = WL_REAL,
      .offset = AT(global_batch),
      .min = 1,
      .max = 1e9,
      .unit = "N",
      .help =
          "samples per update that are required: only settings with this global batch, divisible by the workers, may "
          "be chosen (default: any)" },
    { .name = "site-power",
      .type = WL_STR,
      .offset = AT(site_power),
      .unit = "POWER",
      .help = "most power of all devices together, such as 40kW, compared with the column peak_power_w, or workers x "
              "power cap in "
              "tables that have no such column (default: none)" },
    { .name = "device-memory",
      .type = WL_REAL,
      .offset = AT(memory_gb),
      .min = 1e-6,
      .max = 1e6,
      .unit = "GB",
      .help = "memory of a device (1 GB: 10^9 bytes) that the work must fit into, compared with the measured memory "
              "of each setting (default: any)" },
    { .name = "price-worker-hour",
      .type = WL_REAL,
      .offset = AT(price_worker_h),
      .min = 0,
      .max = 1e6,
      .unit = "per h",
      .help = "price of a worker for an hour, besides energy (default: none)" },
    { .name = "price-node-hour",
      .type = WL_REAL,
      .offset = AT(price_node_h),
      .min = 0,
      .max = 1e6,
      .unit = "per h",
      .help = "price of a node for an hour, besides energy (default: none)" },
    { .name = "charging-factor",
      .type = WL_REAL,
      .offset = AT(charging_factor),
      .def = "1",
      .min = 0,
      .max = 1e6,
      .unit = "X",
      .help = "factor of the queue on prices of worker-hours and node-hours" },
    { .name = "zeus-eta",
      .type = WL_REAL,
      .offset = AT(eta),
      .def = "0.5",
      .min = 0,
      .max = 1,
      .unit = "X",
      .help = "weight of the energy in the Zeus cost" },
    { .name = "max-power",
      .type = WL_REAL,
      .offset = AT(max_power_w),
      .min = 1e-3,
      .max = 1e6,
      .unit = "W",
      .help =
          "maximum power of a worker, for the Zeus cost (default: largest power cap); with --policy the power limit "
          "of a device without a cap (default: unknown)" },
    { .name = "drop-epochs",
      .type = WL_INT,
      .offset = AT(drop_epochs),
      .def = "1",
      .min = 0,
      .max = 1e9,
      .help = "number of first epochs of each run to exclude as warm-up (one is always kept)" },
    { .name = "policy",
      .type = WL_FLAG,
      .offset = AT(policy),
      .help = "find one power cap or clock for all jobs of a partition, from many measured workloads; requires "
              "--max-slowdown" },
    { .name = "jobs",
      .type = WL_STR,
      .offset = AT(jobs),
      .def = "95%",
      .unit = "X%",
      .help = "mean share of jobs that must stay within --max-slowdown, with --policy" },
    { .name = "cap",
      .type = WL_CHOICE,
      .offset = AT(cap),
      .choices = "power_cap_w|module_cap_w|clock_mhz|mem_clock_mhz",
      .help = "cap or clock to set, with --policy (default: the first of these that was varied)" },
    { .name = "devices",
      .type = WL_REAL,
      .offset = AT(devices),
      .min = 1,
      .max = 1e7,
      .unit = "N",
      .help = "devices of the partition, to which powers refer with --policy (default: 100)" },
    WL_FOOTPRINT_OPT_ROWS(struct wl_recommend_options, footprint),
    { .name = "all", .type = WL_FLAG, .offset = AT(all), .help = "print every setting, however many there are" },
    WL_ANALYSIS_OPT_ROWS(struct wl_recommend_options),
    WL_OPT_END
};

static bool is_fastest(const struct wl_recommend_options *o)
{
    return o->reference.n == 1 && wl_str_eq(o->reference.v[0], "fastest");
}

static int read_work(const struct wl_recommend_options *o, struct wl_recommendation *r, struct wl_choose_work *w,
                     struct wl_arena *a, struct wl_err *e)
{
    const int ways = !isnan(o->epochs) + !isnan(o->samples) + (o->target != NULL);
    if (ways > 1) return wl_fail(e, WL_EUSAGE, "give one of --epochs, --samples and --target");
    if (o->epochs_table && !o->target) return wl_fail(e, WL_EUSAGE, "--epochs-table requires --target");
    if (!isnan(o->epochs)) w->kind = WL_CHOOSE_EPOCHS, w->amount = o->epochs;
    if (!isnan(o->samples)) w->kind = WL_CHOOSE_SAMPLES, w->amount = o->samples;
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
                                                   .memory_bytes = o->memory_gb * 1e9 };
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

static int choose(const struct question *q, struct wl_recommendation *r, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_recommend_options *o = q->o;
    const struct wl_choose_reference_options reference = { q->like, q->n_like, is_fastest(o) };
    int rc = wl_choose_references(&r->campaign, &r->obs, &reference, &r->options, a, e);
    if (rc) return rc;
    while (!wl_str_eq(wl_choose_quantity_name(r->options.minimize), o->minimize)) r->options.minimize++;
    r->options.probability = o->probability;
    r->options.eta = o->eta;
    r->options.max_power_w = isnan(o->max_power_w) ? wl_choose_largest_cap(&r->campaign) : o->max_power_w;
    r->input = wl_choose_campaign_input(&r->campaign);
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
    for (size_t i = 0; i < q->notes.n && rc == 0; i++) wl_strs_add(a, &r->campaign.notes, q->notes.v[i]);
    return rc;
}

static int status_of(const struct wl_recommendation *r)
{
    return r->result.choice == WL_CHOOSE_NONE ? WL_EXIT_FAILED : WL_EXIT_OK;
}

static int answer_one(const struct question *q, struct wl_arena *a, struct wl_err *e)
{
    struct wl_recommendation r;
    const int rc = answer(q, 0, &r, a, e);
    if (rc) return rc;
    if (q->o->json) {
        struct wl_json *root = wl_analysis_json(r.source, a);
        wl_recommend_json(&r, root, a);
        wl_json_print(root);
    } else {
        wl_recommend_print(&r, a);
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
static int answer_each(const struct question *q, struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *root = q->o->json ? wl_analysis_json(q->r.source, a) : NULL;
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
    if (root) wl_json_print(root);
    return status;
}

/* ---- which options are for --policy ---- */

static bool is_listed(const char *const *list, const char *name)
{
    while (*list && !wl_str_eq(*list, name)) list++;
    return *list != NULL;
}

/* Each option that is given has an effect, or is refused. */
static int check_mode(bool policy, const struct wl_strs *given, struct wl_err *e)
{
    static const char *const both[] = { "policy", "max-slowdown", "where", "max-power", "drop-epochs",
                                        "all",    "map",          "json",  NULL },
                             *const policies[] = { "jobs", "cap", "devices", NULL };
    for (size_t i = 0; i < given->n; i++) {
        const char *name = given->v[i];
        if (!policy && is_listed(policies, name)) return wl_fail(e, WL_EUSAGE, "--%s requires --policy", name);
        if (policy && !is_listed(both, name) && !is_listed(policies, name))
            return wl_fail(e, WL_EUSAGE,
                           "--%s is not for --policy, which finds the least energy of one cap for all jobs", name);
    }
    return 0;
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct wl_recommend_options *o = opts;
    struct question q = { 0 };
    int rc = check_mode(o->policy, &rest->given, e);
    if (rc) return rc;
    if (o->policy && (!rest->args.n || rest->command))
        return wl_fail(e, WL_EUSAGE, "expected one or more stores, campaign folders or CSV files");
    if (o->policy) return wl_recommend_policy(o, &rest->args, a, e);
    if (rest->args.n != 1 || rest->command)
        return wl_fail(e, WL_EUSAGE, "expected one store, campaign folder or CSV file");
    rc = read_question(o, rest->args.v[0], &q, a, e);
    if (rc) return rc;
    return q.workloads.n < 2 ? answer_one(&q, a, e) : answer_each(&q, a, e);
}

const struct wl_cmd wl_cmd_recommend = {
    .name = "recommend",
    .usage = "STORE|CSV [options] | --policy STORE|CSV... --max-slowdown X% [options]",
    .help = "choose workers, batch, power cap and clock for a deadline or a budget",
    .more =
        "The choice has the least expected energy (or time, carbon, cost ...) among the measured settings that meet "
        "each\n"
        "limit with the probability asked for. Exit status 1 if no setting does: the limit that binds and the nearest\n"
        "setting are printed. With --policy it is one cap for the jobs of all sources.\n"
        "\n"
        "  wattlaw recommend lab1 --max-slowdown 10%\n"
        "  wattlaw recommend lab1 --minimize time --budget 200kWh --epochs 90\n"
        "  wattlaw recommend --policy lab1 lab2 --max-slowdown 10% --jobs 95%\n"
        "  wattlaw recommend times.csv --minimize cost --price 0.3 --price-worker-hour 2 --deadline 8h",
    .options = options,
    .options_size = sizeof(struct wl_recommend_options),
    .run = run,
};
