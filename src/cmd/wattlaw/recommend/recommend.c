/* wattlaw recommend: which setting of a finished campaign to use. */
#include "cmd/wattlaw/recommend/recommend.h"

#include "cmd/cmd.h"
#include "cmd/wattlaw/analysis.h"

#include <math.h>
#include <stddef.h>

#define AT(member) offsetof(struct wl_recommend_options, member)

static const struct wl_opt options[] = {
    { .name = "minimize",
      .type = WL_CHOICE,
      .offset = AT(minimize),
      .choices = "energy|time|carbon|cost|edp|ed2p|zeus",
      .help =
          "quantity to minimize; edp: energy x time, ed2p: energy x time^2, zeus: eta x energy + (1 - eta) x maximum "
          "power x time (default: energy, or time where no energy was measured)" },
    { .name = "max-slowdown",
      .type = WL_STR,
      .offset = AT(max_slowdown),
      .unit = "X%|none",
      .help = "longest time allowed over that of the reference, in percent (default: 10%, or none where "
              "there is another limit or time is a part of what is minimized)" },
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
    { .name = "tokens",
      .type = WL_REAL,
      .offset = AT(tokens),
      .min = 1,
      .max = 1e18,
      .unit = "N",
      .help = "work as a number of tokens, instead of --epochs (default: none)" },
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
    WL_EXCLUDE_BUSY_OPT_ROW(struct wl_recommend_options),
    WL_ANALYSIS_OPT_ROWS(struct wl_recommend_options),
    WL_OPT_END
};

/* ---- which options have an effect together ---- */

static bool is_listed(const char *const *list, const char *name)
{
    while (*list && !wl_str_eq(*list, name)) list++;
    return *list != NULL;
}

static bool has_price(const struct wl_recommend_options *o)
{
    return !isnan(o->price_worker_h) || !isnan(o->price_node_h);
}

/* Options that say something about another one. */
static int check_pairs(const struct wl_recommend_options *o, const char *name, struct wl_err *e)
{
    const bool zeus = wl_str_eq(o->minimize, "zeus");
    const struct {
        const char *name, *needs;
        bool has;
    } pairs[] = { { "zeus-eta", "--minimize zeus", zeus },
                  { "max-power", "--minimize zeus or --policy", zeus || o->policy },
                  { "charging-factor", "--price-worker-hour or --price-node-hour", has_price(o) } };
    for (size_t i = 0; i < WL_COUNT(pairs); i++)
        if (!pairs[i].has && wl_str_eq(name, pairs[i].name))
            return wl_fail(e, WL_EUSAGE, "--%s requires %s", name, pairs[i].needs);
    return 0;
}

/* Each option that is given has an effect, or is refused. */
static int check_options(const struct wl_recommend_options *o, const struct wl_strs *given, struct wl_err *e)
{
    static const char *const both[] = { "policy", "max-slowdown", "where", "max-power",    "drop-epochs",
                                        "all",    "map",          "json",  "exclude-busy", NULL },
                             *const policies[] = { "jobs", "cap", "devices", NULL };
    const bool policy = o->policy;
    int rc = 0;
    for (size_t i = 0; i < given->n && rc == 0; i++) {
        const char *name = given->v[i];
        if (!policy && is_listed(policies, name)) return wl_fail(e, WL_EUSAGE, "--%s requires --policy", name);
        if (policy && !is_listed(both, name) && !is_listed(policies, name))
            return wl_fail(e, WL_EUSAGE,
                           "--%s is not for --policy, which finds the least energy of one cap for all jobs", name);
        rc = check_pairs(o, name, e);
    }
    return rc;
}

void wl_recommend_defaults(struct wl_recommend_options *out, struct wl_arena *a)
{
    *out = (struct wl_recommend_options) { 0 };
    wl_opts_default(options, out, a);
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct wl_recommend_options *o = opts;
    const int rc = check_options(o, &rest->given, e);
    if (rc) return rc;
    if (o->policy && (!rest->args.n || rest->command))
        return wl_fail(e, WL_EUSAGE, "expected one or more stores, campaign folders or CSV files");
    if (o->policy) return wl_recommend_policy(o, &rest->args, a, e);
    if (rest->args.n != 1 || rest->command)
        return wl_fail(e, WL_EUSAGE, "expected one store, campaign folder or CSV file");
    return wl_recommend_answer(o, rest->args.v[0], a, e);
}

const struct wl_cmd wl_cmd_recommend = {
    .name = "recommend",
    .usage = "STORE|CSV [options] | --policy STORE|CSV... --max-slowdown X% [options]",
    .help = "choose workers, batch, power cap and clock for a deadline or a budget",
    .more =
        "The choice has the least expected energy (or time, carbon, cost ...) among the measured settings that meet "
        "each\n"
        "limit with the probability asked for; without options, the least energy at most 10 % slower than the same "
        "setting\n"
        "without a cap, as on the card of wattlaw report. Exit status 1 if no setting does: the limit that binds and "
        "the nearest\n"
        "setting are printed. With --policy it is one cap for the jobs of all sources.\n"
        "\n"
        "  wattlaw recommend lab1\n"
        "  wattlaw recommend lab1 --max-slowdown 3%\n"
        "  wattlaw recommend lab1 --minimize time --budget 200kWh --epochs 90\n"
        "  wattlaw recommend --policy lab1 lab2 --max-slowdown 10% --jobs 95%\n"
        "  wattlaw recommend times.csv --minimize cost --price 0.3 --price-worker-hour 2 --deadline 8h",
    .options = options,
    .options_size = sizeof(struct wl_recommend_options),
    .run = run,
};
