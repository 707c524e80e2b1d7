/* wattlaw measure: any command under the sampler. */
#include "campaign/campaign.h"
#include "cmd/cmd.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_FOUND = 127, NOT_EXECUTABLE = 126 };

struct options {
    const char *store, *name, *json;
    bool quiet, cap_dry_run;
    double grace_s;
    struct wl_cap_request cap;
    struct wl_cap_opts cap_opts;
    struct wl_power_opts power;
    struct wl_mark_regex_opts regex;
};

static const struct wl_opt rows[] = {
    { .name = "store",
      .type = WL_STR,
      .offset = offsetof(struct options, store),
      .def = WL_STORE_FILE,
      .help = "where the run is stored: a file, or the folder of a campaign" },
    { .name = "name",
      .type = WL_STR,
      .offset = offsetof(struct options, name),
      .help = "workload in tables; the command's name if not given" },
    WL_POWER_OPT_ROWS(struct options, power),
    WL_MARK_REGEX_OPT_ROWS(struct options, regex),
    { .name = "power-cap-w",
      .type = WL_REAL,
      .offset = offsetof(struct options, cap.value[WL_CAP_POWER]),
      .min = 1,
      .max = 1e5,
      .unit = "W",
      .help = "power limit of each device while the command runs" },
    { .name = "clock-mhz",
      .type = WL_REAL,
      .offset = offsetof(struct options, cap.value[WL_CAP_CLOCK]),
      .min = 1,
      .max = 1e5,
      .unit = "MHz",
      .help = "clock at which each GPU is locked, or the highest one of the CPUs" },
    { .name = "mem-clock-mhz",
      .type = WL_REAL,
      .offset = offsetof(struct options, cap.value[WL_CAP_MEM_CLOCK]),
      .min = 1,
      .max = 1e5,
      .unit = "MHz",
      .help = "clock at which the memory of each GPU is locked" },
    WL_CAP_OPT_ROWS(struct options, cap_opts, "cap-"),
    { .name = "cap-dry-run",
      .type = WL_FLAG,
      .offset = offsetof(struct options, cap_dry_run),
      .help = "say what would be set on which device; set and run nothing" },
    { .name = "json",
      .type = WL_STR,
      .offset = offsetof(struct options, json),
      .help = "file for the summary as JSON; - is stderr" },
    { .name = "quiet", .type = WL_FLAG, .offset = offsetof(struct options, quiet), .help = "no summary" },
    { .name = "grace",
      .type = WL_DURATION,
      .offset = offsetof(struct options, grace_s),
      .def = "5s",
      .min = 0,
      .max = 3600,
      .unit = "s",
      .help = "if wattlaw is killed: time between SIGTERM and SIGKILL for the command" },
    WL_OPT_END,
};

/* ---- the summary ---- */

static bool whole_run(double epoch) { return isnan(epoch); }

static const struct wl_channel *channel_of(const struct wl_run_result *r, int64_t id)
{
    for (size_t i = 0; i < r->sensors->n_channels; i++)
        if (r->channel_ids[i] == id) return &r->sensors->channels[i];
    return NULL;
}

/* One line a scope and method: devices of a scope do not overlap. */
struct scope_sum {
    const char *scope, *method;
    double energy_j, mean_w;
    bool estimated, simulated, chosen;
};

static size_t sum_scopes(const struct wl_run_result *r, struct scope_sum *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!whole_run(row->epoch)) continue;
        size_t k = 0;
        while (k < n && !(wl_streq(out[k].scope, row->scope) && wl_streq(out[k].method, row->method))) k++;
        if (k == n) out[n++] = (struct scope_sum) { .scope = row->scope, .method = row->method };
        out[k].energy_j += row->energy_j;
        out[k].mean_w += row->mean_power_w;
        out[k].estimated |= row->estimated;
        out[k].simulated |= row->simulated;
        out[k].chosen |= row->chosen;
    }
    return n;
}

static const char *mark_of(bool is_estimated, bool is_simulated)
{
    if (is_simulated) return " (simulated)";
    return is_estimated ? " (estimated)" : "";
}

/* The entry of a scope to print: the one that counts, else the one that is known. */
static const struct scope_sum *best_of(const struct scope_sum *sums, size_t n, const char *scope)
{
    const struct scope_sum *best = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!wl_streq(sums[i].scope, scope)) continue;
        if (!best || (sums[i].chosen && !best->chosen) || (isnan(best->energy_j) && !best->chosen)) best = &sums[i];
    }
    return best;
}

/* A second method is a check of the first one where something was measured; of a model both are one thing. */
static void print_check(const struct scope_sum *sums, size_t n, const struct scope_sum *best, struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++)
        if (wl_streq(sums[i].scope, best->scope) && &sums[i] != best && !best->estimated && !isnan(sums[i].energy_j))
            fprintf(stderr, "; %s by %s", wl_human(a, sums[i].energy_j, "J"), sums[i].method);
}

/* One line a scope. */
static void print_energies(const struct wl_run_result *r, struct wl_arena *a)
{
    struct scope_sum *sums = wl_new_array(a, struct scope_sum, r->derived.n_energies);
    size_t n = sum_scopes(r, sums);
    if (n == 0) fputs("  energy       not measured: wattlaw doctor says why\n", stderr);
    for (size_t i = 0; i < n; i++) {
        const struct scope_sum *best = best_of(sums, n, sums[i].scope);
        bool said = false;
        for (size_t k = 0; k < i; k++) said = said || wl_streq(sums[k].scope, best->scope);
        if (said || (isnan(best->energy_j) && !best->chosen)) continue;
        if (isnan(best->energy_j)) {
            fprintf(stderr, "  energy       unknown, %s: the run was too short to integrate\n", best->scope);
            continue;
        }
        fprintf(stderr, "  energy       %s, mean %s, %s", wl_human(a, best->energy_j, "J"),
                wl_human(a, best->mean_w, "W"), best->scope);
        if (!best->estimated) fprintf(stderr, " by %s", best->method);
        fputs(mark_of(best->estimated, best->simulated), stderr);
        print_check(sums, n, best, a);
        fputc('\n', stderr);
    }
}

static void print_utilisation(const struct wl_run_result *r, struct wl_arena *a)
{
    static const struct {
        enum wl_quantity quantity;
        const char *what;
    } shown[] = { { WL_CPU_UTIL, "CPU busy" }, { WL_SM_UTIL, "GPU busy" }, { WL_RSS, "memory" } };
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = channel_of(r, row->channel);
        if (!c || !whole_run(row->epoch) || isnan(row->mean)) continue;
        for (size_t k = 0; k < WL_COUNT(shown); k++) {
            if (c->quantity != shown[k].quantity) continue;
            if (c->quantity == WL_RSS)
                fprintf(stderr, "  %-12s at most %s\n", shown[k].what, wl_human_bytes(a, row->max));
            else if (c->scope == WL_SCOPE_NODE)
                fprintf(stderr, "  %-12s %.1f %% of the machine\n", shown[k].what, row->mean);
            else
                fprintf(stderr, "  %-12s %.1f %% (%s)\n", shown[k].what, row->mean,
                        r->sensors->devices[c->device].name);
        }
    }
}

/* The energy of an epoch over the chosen devices; NAN where it is not known. */
static double epoch_energy(const struct wl_run_result *r, int64_t epoch)
{
    double sum = 0;
    bool any = false;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!row->chosen || row->epoch != (double)epoch) continue;
        sum += row->energy_j;
        any = true;
    }
    return any ? sum : NAN;
}

static void print_epochs(const struct wl_run_result *r, struct wl_arena *a)
{
    enum { SHOWN = 20 };
    size_t n = r->derived.n_epochs, from = n > SHOWN ? n - SHOWN : 0;
    for (size_t i = from; i < n; i++) {
        const struct wl_epoch_row *row = &r->derived.epochs[i];
        double energy_j = epoch_energy(r, row->epoch);
        fprintf(stderr, "  epoch %-6lld %s", (long long)row->epoch, wl_human_time(a, row->time_s));
        if (!isnan(energy_j)) fprintf(stderr, ", %s", wl_human(a, energy_j, "J"));
        if (row->samples > 0 && row->time_s > 0) fprintf(stderr, ", %.1f samples/s", row->samples / row->time_s);
        fputs("\n", stderr);
    }
    if (r->broken_marks) fprintf(stderr, "  marks        %lld broken lines left out\n", (long long)r->broken_marks);
}

static void print_caps(const struct wl_run_result *r, struct wl_arena *a)
{
    for (size_t i = 0; i < r->n_caps; i++) {
        fprintf(stderr, "  cap          %s\n", wl_cap_describe(&r->caps[i], a));
        if (r->achieved && r->achieved[i]) fprintf(stderr, "  achieved     %s\n", r->achieved[i]);
    }
}

/* Of shorter runs most of the cost is opening sensors and the store, which is no share of anything. */
static const double SHARE_FROM_S = 1;

static void print_summary(const struct wl_run_result *r, int64_t run, const char *store, struct wl_arena *a)
{
    double time_s = (double)(r->end_ns - r->start_ns) / WL_NS_PER_S;
    fprintf(stderr, "wattlaw measure\n  time         %s%s%s\n", wl_human_time(a, time_s), r->error ? ", " : "",
            r->error ? r->error : "");
    print_energies(r, a);
    print_utilisation(r, a);
    print_caps(r, a);
    if (r->flag) fprintf(stderr, "  flagged      %s\n", r->flag);
    print_epochs(r, a);
    const struct wl_sampler_stats *s = &r->sampling;
    fprintf(stderr, "  measuring    %s CPU time", wl_human_time(a, r->own_cpu_s));
    if (time_s >= SHARE_FROM_S) fprintf(stderr, " (%.2g %% of a core)", 100 * r->own_cpu_s / time_s);
    fprintf(stderr, ", %llu samples", (unsigned long long)s->samples);
    if (s->achieved_period_s > 0) fprintf(stderr, " every %s", wl_human_time(a, s->achieved_period_s));
    if (s->skipped + s->lost + s->errors)
        fprintf(stderr, "; %llu skipped, %llu lost, %llu failed", (unsigned long long)s->skipped,
                (unsigned long long)s->lost, (unsigned long long)s->errors);
    fprintf(stderr, "\n  stored       run %lld in %s\n", (long long)run, store);
}

static void json_energies(const struct wl_run_result *r, struct wl_json *root, struct wl_arena *a)
{
    struct scope_sum *sums = wl_new_array(a, struct scope_sum, r->derived.n_energies);
    size_t n = sum_scopes(r, sums);
    struct wl_json *list = wl_json_add_array(root, "energies");
    for (size_t i = 0; i < n; i++) {
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "scope", sums[i].scope);
        wl_json_add_str(o, "method", sums[i].method);
        wl_json_add_real(o, "energy_j", sums[i].energy_j);
        wl_json_add_real(o, "mean_power_w", sums[i].mean_w);
        wl_json_add_bool(o, "estimated", sums[i].estimated);
        wl_json_add_bool(o, "simulated", sums[i].simulated);
        wl_json_add_bool(o, "chosen", sums[i].chosen);
    }
}

static void json_stats(const struct wl_run_result *r, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "means");
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = channel_of(r, row->channel);
        if (!c || !whole_run(row->epoch)) continue;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", r->sensors->devices[c->device].uuid);
        wl_json_add_str(o, "quantity", wl_quantity_name(c->quantity));
        wl_json_add_str(o, "scope", wl_scope_name(c->scope));
        wl_json_add_real(o, "mean", row->mean);
        wl_json_add_real(o, "min", row->min);
        wl_json_add_real(o, "max", row->max);
    }
}

static void json_caps(const struct wl_run_result *r, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "caps");
    for (size_t i = 0; i < r->n_caps; i++) {
        const struct wl_cap_setting *s = &r->caps[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", s->device);
        wl_json_add_str(o, "kind", wl_cap_kind_name(s->kind));
        wl_json_add_str(o, "setter", s->setter);
        wl_json_add_real(o, "requested", s->requested);
        wl_json_add_real(o, "found", s->found);
        wl_json_add_real(o, "enforced", s->enforced);
        wl_json_add_real(o, "at_end", s->at_end);
        wl_json_add_real(o, "min", s->min);
        wl_json_add_real(o, "max", s->max);
        wl_json_add_real(o, "default", s->standard);
        wl_json_add_bool(o, "simulated", s->simulated);
    }
    wl_json_add_str(root, "flag", r->flag);
}

static int write_json(const char *path, const struct wl_run_result *r, int64_t run, const char *store,
                      struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "store", store);
    wl_json_add_int(root, "run", run);
    wl_json_add_str(root, "status", wl_run_status_names[r->status]);
    wl_json_add_int(root, "exit_status", r->exit.status);
    wl_json_add_real(root, "time_s", (double)(r->end_ns - r->start_ns) / WL_NS_PER_S);
    json_energies(r, root, a);
    json_stats(r, root);
    json_caps(r, root);
    struct wl_json *epochs = wl_json_add_array(root, "epochs");
    for (size_t i = 0; i < r->derived.n_epochs; i++) {
        const struct wl_epoch_row *row = &r->derived.epochs[i];
        struct wl_json *o = wl_json_add_object(epochs, NULL);
        wl_json_add_int(o, "epoch", row->epoch);
        wl_json_add_real(o, "time_s", row->time_s);
        wl_json_add_real(o, "energy_j", epoch_energy(r, row->epoch));
        wl_json_add_real(o, "samples", row->samples);
    }
    wl_json_add_real(root, "sampling_period_s", r->sampling.achieved_period_s);
    wl_json_add_real(root, "own_cpu_s", r->own_cpu_s);
    const char *text = wl_json_text(root, 2, a);
    if (!wl_streq(path, "-")) return wl_file_write(path, wl_strf(a, "%s\n", text), strlen(text) + 1, e);
    fprintf(stderr, "%s\n", text);
    return 0;
}

/* ---- the run ---- */

/* A run of the campaign "measure"; its trial is the workload's name. */
static int plan_run(struct wl_store *s, const char *workload, const struct wl_cap_request *cap, int64_t *run,
                    struct wl_err *e)
{
    int64_t campaign, trial;
    struct wl_settings set = wl_settings_none;
    set.workload = workload;
    set.power_cap_w = cap->value[WL_CAP_POWER];
    set.clock_mhz = cap->value[WL_CAP_CLOCK];
    int rc = wl_store_begin(s, e);
    if (rc < 0) return rc;
    rc = wl_store_campaign(s, "measure", "", WL_VERSION, &campaign, e);
    if (rc == 0) rc = wl_store_trial(s, campaign, &set, NULL, &trial, e);
    if (rc == 0) rc = wl_store_plan(s, &(struct wl_plan) { .trial = trial }, run, e);
    if (rc == 0) rc = wl_store_commit(s, e);
    if (rc < 0) wl_store_rollback(s);
    return rc;
}

/* The command's own status, as a shell says it. */
static int status_of(const struct wl_run_result *r)
{
    if (r->not_started) return r->not_started == WL_ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
    return r->exit.status;
}

static int open_store(const struct options *o, struct wl_store **s, struct wl_arena *a, struct wl_err *e)
{
    const char *path = wl_is_dir(o->store) ? wl_path_join(a, o->store, WL_STORE_FILE) : o->store;
    int rc = wl_store_open(s, path, WL_STORE_CREATE, a, e);
    return rc < 0 ? wl_prefix(e, "the run cannot be stored (--store FILE takes another place)") : 0;
}

/* The run's folder beside the store, absolute, so that the command may change its own. */
static int place(struct wl_store *s, int64_t run, struct wl_run_how *how, struct wl_arena *a, struct wl_err *e)
{
    char *folder = realpath(wl_path_dir(a, wl_store_path(s)), NULL);
    if (!folder) return wl_fail_errno(e, "%s", wl_store_path(s));
    how->stored_dir = wl_strf(a, "runs/%lld", (long long)run);
    how->dir = wl_path_join(a, folder, how->stored_dir);
    free(folder);
    return 0;
}

static int cap_dry_run(const struct options *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_caps *caps;
    size_t n;
    if (!wl_cap_asked(&o->cap)) return wl_fail(e, WL_EUSAGE, "--cap-dry-run: no cap is asked for");
    int rc = wl_caps_plan(&caps, &o->cap, &o->cap_opts, &o->power, a, e);
    if (rc < 0) return rc;
    const struct wl_cap_setting *v = wl_caps_settings(caps, &n);
    for (size_t i = 0; i < n; i++) puts(wl_cap_describe(&v[i], a));
    printf("journal: in %s\n", wl_cap_state_dir(&o->cap_opts, a));
    return WL_EXIT_OK;
}

static int run(void *options, const struct wl_rest *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    char **command = rest->command;
    if (o->cap_dry_run) return cap_dry_run(o, a, e);
    if (!command || !command[0]) return wl_fail(e, WL_EUSAGE, "a command is missing behind --");
    struct wl_store *s;
    struct wl_signals *signals;
    int64_t run_id;
    struct wl_run_how how = { .argv = command,
                              .pass_through = true,
                              .grace_s = o->grace_s,
                              .power = &o->power,
                              .regex = &o->regex,
                              .cap = &o->cap,
                              .cap_opts = &o->cap_opts };
    int rc = wl_signals_open(&signals, true, a, e);
    how.signals = signals;
    if (rc == 0) rc = open_store(o, &s, a, e);
    if (rc == 0) rc = plan_run(s, o->name ? o->name : wl_path_base(command[0]), &o->cap, &run_id, e);
    if (rc == 0) rc = place(s, run_id, &how, a, e);
    if (rc < 0) return rc;
    struct wl_run_result r;
    rc = wl_run_measured(s, run_id, &how, &r, a, e);
    bool ended = r.end_ns != 0;
    if (rc < 0 && !ended) return rc;
    if (rc < 0) /* the command came to its end, the store did not: the command's status is what matters */
        fprintf(stderr, "error: %s: the run is not stored\n", e->msg);
    else if (r.not_started)
        fprintf(stderr, "error: %s\n", r.error);
    else if (!o->quiet)
        print_summary(&r, run_id, wl_store_path(s), a);
    if (rc == 0 && o->json && write_json(o->json, &r, run_id, wl_store_path(s), a, e) < 0)
        fprintf(stderr, "error: %s\n", e->msg);
    return status_of(&r);
}

const struct wl_cmd wl_cmd_measure = {
    .name = "measure",
    .usage = "[options] -- COMMAND...",
    .help = "run any command under the sampler: time, energy, utilisation, epochs",
    .more = "The status is the command's own (128 + n: ended by signal n; 127: no such command). Input, output and\n"
            "signals are those of the command; the summary stands on stderr.\n\n"
            "  wattlaw measure -- python3 train.py --epochs 3\n"
            "  wattlaw measure --epoch-regex '^Epoch ([0-9]+) done' -- ./train.sh",
    .options = rows,
    .options_size = sizeof(struct options),
    .command_follows = true,
    .run = run,
};
