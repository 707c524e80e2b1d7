/* Rows of tables of results as runs of a store. The run's clock is the calendar, ns since 1970, or counts from its
 * start. */
#include "exchange/import/import.h"
#include "run/run.h"

#include <math.h>
#include <string.h>

const struct wl_table_row wl_table_row_none = {
    .set = {
#define SETTING_OBSERVED(member, ...) .member = NULL,
#define SETTING_TEXT(member, ...)     .member = NULL,
#define SETTING_COUNT(member, ...)    .member = NAN,
#define SETTING_CAP(member, ...)      .member = NAN,
#include "settings/settings.def"
        .extra = NULL,
    },
    .start_ns = WL_NO_NS,
    .time_s = NAN,
    .period_s = NAN,
    .steps = NAN,
    .samples = NAN,
    .tokens = NAN,
    .steps_s = NAN,
};

#define LONGEST_S  1e9         /* of a row: 31 years */
#define LAST_NS    (1LL << 62) /* of a store: the year 2116 */
#define MOST_COUNT 1e15
#define MOST_J     1e18

/* ---- what the row is ---- */

static bool option_beyond_rows(const struct wl_import_opts *o, const char **name)
{
    *name = o->gpus && o->gpus->n         ? "gpus"
            : o->uuids && o->uuids->n     ? "uuids"
            : o->columns && o->columns->n ? "columns"
            : o->period_ns != WL_NO_NS    ? "period"
            : o->each                     ? "each"
                                          : NULL;
    return *name;
}

/* What the user said fills in what the row does not say. */
static struct wl_settings settings_of(struct wl_import *im, const struct wl_table_row *row)
{
    const struct wl_import_opts *o = im->opts;
    struct wl_settings set = row->set;
    if (o->named || !set.workload) set.workload = o->named ? o->set->workload : wl_path_base(im->in->path);
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        if (r->type == WL_SETTING_TEXT || r->type == WL_SETTING_CHOICE) continue;
        const double said = wl_setting_real(r, o->set), own = wl_setting_real(r, &set);
        if (isnan(said)) continue;
        if (isnan(own)) wl_setting_set_real(r, &set, said);
        if (!isnan(own) && own != said)
            wl_import_note(im, "%s: the file itself says %s, which counts, and not the option", im->in->path, r->name);
    }
    return set;
}

static void add_real(struct wl_text *t, const char *name, double v)
{
    if (!isnan(v)) wl_text_addf(t, " %s=%.17g", name, v);
}

/* All that a row says, as a text: the same row of the same or of another file is imported once. */
static const char *content_of(const struct wl_import *im, const struct wl_table_row *row, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_addf(&t, "%s %s host=%s start=%lld", im->format->name, row->part, row->host ? row->host : "",
                 (long long)row->start_ns);
    wl_text_addf(&t, " %s hardware=%s extra=%s", wl_settings_key(&row->set, a),
                 row->set.hardware ? row->set.hardware : "", row->set.extra ? row->set.extra : "");
    add_real(&t, "time", row->time_s);
    add_real(&t, "steps", row->steps);
    add_real(&t, "samples", row->samples);
    add_real(&t, "tokens", row->tokens);
    add_real(&t, "steps_s", row->steps_s);
    for (size_t i = 0; i < row->n_energies; i++) {
        const struct wl_table_energy *x = &row->energies[i];
        wl_text_addf(&t, " energy %lld %s %s", (long long)x->epoch, x->host ? x->host : "", x->uuid);
        add_real(&t, "j", x->energy_j);
    }
    for (size_t i = 0; i < row->n_series; i++) {
        const struct wl_table_series *x = &row->series[i];
        wl_text_addf(&t, " series %s %s %zu", x->host ? x->host : "", x->uuid, x->n);
        if (x->n) add_real(&t, "last", x->power_w[x->n - 1]);
    }
    for (size_t i = 0; i < row->n_epochs; i++)
        add_real(&t, wl_strf(a, "epoch%lld", (long long)row->epochs[i].epoch), row->epochs[i].time_s);
    for (size_t i = 0; i < row->n_metrics; i++) add_real(&t, row->metrics[i].name, row->metrics[i].value);
    return t.s;
}

/* ---- storing ---- */

static const struct wl_table_bounds no_bounds = { NAN, NAN, NAN };

static const char *host_of(const struct wl_import *im, const struct wl_table_row *row, const char *of_device)
{
    return of_device ? of_device : row->host ? row->host : im->opts->host ? im->opts->host : "unknown";
}

static int add_energy(struct wl_import *im, const struct wl_table_row *row, const struct wl_table_energy *x,
                      struct wl_energy_row *out, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_device_row device = { .host = host_of(im, row, x->host),
                                    .uuid = wl_strf(a, "%s:%s", im->format->name, x->uuid),
                                    .sensor = im->format->name,
                                    .number = NAN,
                                    .name = x->model };
    const struct wl_table_bounds b = x->bounds ? *x->bounds : no_bounds;
    *out = (struct wl_energy_row) { .epoch = x->epoch ? (double)x->epoch : NAN,
                                    .scope = x->scope,
                                    .method = x->integral ? "integral" : "counter",
                                    .energy_j = x->energy_j,
                                    .mean_power_w = x->power_w,
                                    .coverage = NAN,
                                    .energy_lo_j = b.lo_j,
                                    .energy_hi_j = b.hi_j,
                                    .idle_before_w = NAN,
                                    .idle_after_w = NAN,
                                    .idle_j = b.idle_j,
                                    .estimated = x->estimated,
                                    .chosen = !x->part,
                                    .why = isnan(x->energy_j) ? x->why : NULL };
    int rc = wl_store_add_device(im->store, &device, &out->device, e);
    wl_arena_free(a);
    return rc;
}

/* Epochs and metrics as marks, from which they are derived. */
static int add_marks(struct wl_import *im, const struct wl_table_row *row, int64_t run, struct wl_arena *a,
                     struct wl_err *e)
{
    struct wl_mark_row *marks = wl_new_array(a, struct wl_mark_row, 2 * row->n_epochs + row->n_metrics);
    const int64_t stop_ns = row->start_ns + llround(row->time_s * WL_NS_PER_S);
    size_t n = 0;
    for (size_t i = 0; i < row->n_epochs; i++) {
        const struct wl_epoch_row *x = &row->epochs[i];
        const char *epoch = wl_strf(a, "epoch=%lld", (long long)x->epoch);
        marks[n++] = (struct wl_mark_row) { x->begin_ns, 0, "epoch-begin", epoch };
        if (!isnan(x->samples)) epoch = wl_strf(a, "%s samples=%.0f", epoch, x->samples);
        marks[n++] = (struct wl_mark_row) { x->end_ns, 0, "epoch-end", epoch };
    }
    for (size_t i = 0; i < row->n_metrics; i++) {
        const struct wl_metric_row *x = &row->metrics[i];
        const char *epoch = isnan(x->epoch) ? "" : wl_strf(a, " epoch=%.0f", x->epoch);
        marks[n++] = (struct wl_mark_row) { stop_ns, 0, "metric",
                                            wl_strf(a, "name=%s value=%.17g%s", x->name, x->value, epoch) };
    }
    return wl_store_add_marks(im->store, run, marks, n, e);
}

static int add_series(struct wl_import *im, const struct wl_table_row *row, const struct wl_table_series *x,
                      int64_t run, struct wl_arena *a, struct wl_err *e)
{
    struct wl_device_row device = { .host = host_of(im, row, x->host),
                                    .uuid = wl_strf(a, "%s:%s", im->format->name, x->uuid),
                                    .sensor = im->format->name,
                                    .number = NAN };
    struct wl_channel_row channel = { .run = run,
                                      .quantity = "power_w",
                                      .unit = "W",
                                      .scope = x->scope,
                                      .variant = x->variant,
                                      .update_s = NAN,
                                      .window_s = NAN,
                                      .delay_s = NAN,
                                      .power_limit_w = NAN };
    struct wl_sample_row *samples = wl_new_array(a, struct wl_sample_row, x->n);
    int64_t id = 0;
    int rc = wl_store_add_device(im->store, &device, &channel.device, e);
    if (rc == 0) rc = wl_store_add_channel(im->store, &channel, &id, e);
    for (size_t i = 0; i < x->n; i++) samples[i] = (struct wl_sample_row) { id, x->t_ns[i], x->power_w[i] };
    return rc < 0 ? rc : wl_store_add_samples(im->store, samples, x->n, e);
}

/* The derived rows of a row with readings. */
static int derive(struct wl_import *im, const struct wl_table_row *row, struct wl_import_run *run,
                  struct wl_derived *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_derive_opts opts = { run->from_ns, run->to_ns, row->period_s, NAN, NAN, NAN, NULL };
    int rc = add_marks(im, row, run->run, a, e);
    for (size_t i = 0; i < row->n_series && rc == 0; i++) rc = add_series(im, row, &row->series[i], run->run, a, e);
    if (rc == 0) rc = wl_derive(im->store, run->run, &opts, out, NULL, a, e);
    for (size_t i = 0; rc == 0 && i < out->n_energies; i++)
        if (out->energies[i].chosen && isnan(out->energies[i].epoch) && isnan(out->energies[i].energy_j))
            run->why_no_energy = wl_strdup(im->a, out->energies[i].why ? out->energies[i].why : "unknown");
    return rc;
}

/* The sum of the whole row; its energy_j is NAN where one of a device is. */
struct sum {
    double energy_j, lo_j, hi_j;
    bool estimated;
    const char *why; /* why energy_j is NAN */
};

static void add_to_sum(struct sum *sum, const struct wl_table_energy *x)
{
    const struct wl_table_bounds b = x->bounds ? *x->bounds : no_bounds;
    sum->energy_j += x->energy_j;
    sum->lo_j += b.lo_j;
    sum->hi_j += b.hi_j;
    sum->estimated = sum->estimated || x->estimated;
    if (isnan(x->energy_j)) sum->why = x->why ? x->why : "unknown";
}

static struct sum energy_of(const struct wl_table_row *row)
{
    struct sum sum = { .why = NULL };
    size_t n = 0;
    for (size_t i = 0; i < row->n_energies; i++) {
        const struct wl_table_energy *x = &row->energies[i];
        if (x->part || x->epoch) continue;
        n++;
        add_to_sum(&sum, x);
    }
    return n ? sum : (struct sum) { NAN, NAN, NAN, false, "the file has no energy" };
}

/* Of the part of a row that laws read. */
static struct sum energy_of_steps(const struct wl_table_row *row)
{
    struct sum sum = { .why = NULL };
    if (row->steps_energy) {
        add_to_sum(&sum, row->steps_energy);
        return sum;
    }
    sum = energy_of(row);
    if (isnan(row->steps_s)) return sum;
    return (struct sum) { sum.energy_j * row->steps_s / row->time_s, NAN, NAN, true, sum.why };
}

static int64_t ns_of(double s) { return llround(s * WL_NS_PER_S); }

/* The part of a row that laws read, where it is not all of it or has counts. */
static bool span_of(const struct wl_table_row *row, int64_t begin_ns, struct wl_span_row *out)
{
    if (row->n_epochs || (isnan(row->steps_s) && isnan(row->steps) && isnan(row->samples) && isnan(row->tokens)))
        return false;
    const double time_s = isnan(row->steps_s) ? row->time_s : row->steps_s;
    const struct sum sum = energy_of_steps(row);
    *out = (struct wl_span_row) { .kind = WL_SPAN_STEPS,
                                  .begin_ns = begin_ns,
                                  .end_ns = begin_ns + ns_of(time_s),
                                  .time_s = time_s,
                                  .steps = row->steps,
                                  .samples = row->samples,
                                  .tokens = row->tokens,
                                  .energy_j = sum.energy_j,
                                  .energy_lo_j = sum.lo_j,
                                  .energy_hi_j = sum.hi_j,
                                  .estimated = sum.estimated,
                                  .why = sum.why };
    return true;
}

static int store_source(struct wl_import *im, const struct wl_table_row *row, int64_t run, const char *content,
                        struct wl_err *e)
{
    struct wl_source_row source = { .run = run,
                                    .format = im->format->name,
                                    .tool = im->report.tool,
                                    .path = im->sources[im->n_sources - 1].path,
                                    .part = row->part,
                                    .bytes = (int64_t)strlen(content),
                                    .crc = wl_crc32c(0, content, strlen(content)),
                                    .version = WL_VERSION };
    return wl_store_add_source(im->store, &source, e);
}

static const char *first_host(const struct wl_table_row *row)
{
    return row->n_energies ? row->energies[0].host : row->n_series ? row->series[0].host : NULL;
}

static int store_row(struct wl_import *im, const struct wl_table_row *row, const struct wl_settings *set,
                     struct wl_import_run *run, struct wl_arena *a, struct wl_err *e)
{
    struct wl_energy_row *energies = wl_new_array(a, struct wl_energy_row, row->n_energies);
    struct wl_span_row span;
    struct wl_load_row load = wl_load_none;
    load.why = "the file does not say";
    struct wl_derived derived = { .actual = wl_settings_none,
                                  .epochs = row->epochs,
                                  .n_epochs = row->n_epochs,
                                  .energies = energies,
                                  .n_energies = row->n_energies,
                                  .metrics = row->metrics,
                                  .n_metrics = row->n_metrics,
                                  .metric_defs = row->metric_defs,
                                  .n_metric_defs = row->n_metric_defs,
                                  .load = &load };
    struct wl_run_begin begin = { .host = host_of(im, row, first_host(row)),
                                  .boot_id = "import",
                                  .command = wl_import_command(im),
                                  .version = WL_VERSION,
                                  .at = { run->from_ns, run->undated ? WL_NO_NS : run->from_ns } };
    struct wl_run_end end = wl_run_end_none;
    end.at = (struct wl_anchor) { run->to_ns, run->undated ? WL_NO_NS : run->to_ns };
    end.status = row->failed ? WL_RUN_FAILED : WL_RUN_DONE;
    end.error = row->failed;
    if (span_of(row, run->from_ns, &span)) {
        derived.spans = &span;
        derived.n_spans = 1;
    }
    if (row->n_series) end.sampling_asked_s = end.sampling_period_s = row->period_s;
    int rc = wl_run_plan(im->store, "import", set, &run->run, e);
    if (rc == 0 && row->n_series) rc = derive(im, row, run, &derived, a, e);
    for (size_t i = 0; i < row->n_energies && rc == 0; i++)
        rc = add_energy(im, row, &row->energies[i], &energies[i], e);
    if (rc == 0) rc = wl_store_run_begin(im->store, run->run, &begin, e);
    return rc < 0 ? rc : wl_store_run_end(im->store, run->run, &end, &derived, e);
}

/* 1: the store has this row. */
static int is_known(struct wl_import *im, const char *content, struct wl_err *e)
{
    int64_t run;
    const uint32_t crc = wl_crc32c(0, content, strlen(content));
    int rc = im->store ? wl_store_find_source(im->store, (int64_t)strlen(content), crc, &run, e) : 0;
    if (rc != 1) return rc;
    im->known_run = run;
    im->n_known_rows++;
    return 1;
}

static size_t devices_of(const struct wl_table_row *row)
{
    size_t n = row->n_series;
    for (size_t i = 0; i < row->n_energies; i++) n += !row->energies[i].epoch && !row->energies[i].part;
    return n;
}

static struct wl_settings keep_settings(const struct wl_settings *set, struct wl_arena *a)
{
    struct wl_settings kept = *set;
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        const char *text = r->type == WL_SETTING_TEXT ? wl_setting_string(r, set) : NULL;
        if (text) wl_setting_set_string(r, &kept, wl_strdup(a, text));
    }
    kept.extra = set->extra ? wl_strdup(a, set->extra) : NULL;
    return kept;
}

static struct wl_import_run describe(struct wl_import *im, const struct wl_table_row *row,
                                     const struct wl_settings *set)
{
    const struct sum sum = energy_of(row);
    struct wl_import_run run = {
        .label = wl_strdup(im->a, row->part),
        .format = im->format,
        .is_row = true,
        .hosts = wl_strdup(im->a, host_of(im, row, first_host(row))),
        .undated = row->start_ns == WL_NO_NS,
        .from_ns = row->start_ns == WL_NO_NS ? 0 : row->start_ns,
        .period_s = NAN,
        .devices = devices_of(row),
        .energy_j = sum.energy_j,
        .estimated = sum.estimated,
        .set = keep_settings(set, im->a),
    };
    if (isnan(sum.energy_j) && !row->n_series) run.why_no_energy = wl_strdup(im->a, sum.why);
    run.to_ns = run.from_ns + ns_of(row->time_s);
    return run;
}

static bool is_outside(struct wl_import *im, const struct wl_table_row *row)
{
    const struct wl_import_opts *o = im->opts;
    const bool outside =
        (o->from_ns != WL_NO_NS && row->start_ns < o->from_ns) || (o->to_ns != WL_NO_NS && row->start_ns > o->to_ns);
    if (outside) wl_import_pass_over(im, "rows that did not start between --from and --to", 1);
    im->n_known_rows += outside;
    return outside;
}

/* A count that may be missing. */
static bool is_count(double n) { return isnan(n) || (n >= 0 && n <= MOST_COUNT); }

/* Is a number that is known, at most the other one, but for the last digits of sums? */
static bool exceeds(double a, double b) { return a > b + 1e-9 * fabs(b); }

/* Why an energy cannot be what a run has drawn; NULL: it can. */
static const char *impossible_energy(const struct wl_table_energy *x, struct wl_arena *a)
{
    const struct wl_table_bounds b = x->bounds ? *x->bounds : no_bounds;
    if (!isnan(x->energy_j) && !(x->energy_j >= 0 && x->energy_j <= MOST_J))
        return wl_strf(a, "an energy of %s of %g J", x->uuid, x->energy_j);
    if (exceeds(b.lo_j, x->energy_j) || exceeds(x->energy_j, b.hi_j) || exceeds(b.lo_j, b.hi_j) || b.lo_j < 0 ||
        b.hi_j > MOST_J)
        return wl_strf(a, "an energy of %s of %g J between %g and %g J", x->uuid, x->energy_j, b.lo_j, b.hi_j);
    if (b.idle_j < 0 || b.idle_j > MOST_J) return wl_strf(a, "an idle energy of %s of %g J", x->uuid, b.idle_j);
    return NULL;
}

static bool is_time(double s) { return s > 0 && s <= LONGEST_S; }

static bool is_instant(int64_t t_ns)
{
    return t_ns == WL_NO_NS || (t_ns >= 0 && t_ns < LAST_NS - (int64_t)LONGEST_S * WL_NS_PER_S);
}

int64_t wl_table_start(int64_t end_ns, double time_s)
{
    return end_ns == WL_NO_NS || !is_time(time_s) ? WL_NO_NS : end_ns - ns_of(time_s);
}

/* What no run can have, as of a damaged file; NULL: it is all right. */
static const char *impossible(const struct wl_table_row *row, struct wl_arena *a)
{
    if (!is_time(row->time_s)) return wl_strf(a, "a time of %g s", row->time_s);
    if (!is_instant(row->start_ns)) return "a start before 1970 or after the year 2084";
    if (!isnan(row->steps_s) && !(row->steps_s > 0 && row->steps_s <= row->time_s + 1e-9)) /* a run has whole ns */
        return wl_strf(a, "steps that take %g s of %g s", row->steps_s, row->time_s);
    if (!is_count(row->steps) || !is_count(row->samples) || !is_count(row->tokens))
        return "a number of steps, samples or tokens beyond 10^15";
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        if (r->type == WL_SETTING_TEXT || r->type == WL_SETTING_CHOICE) continue;
        const double v = wl_setting_real(r, &row->set);
        const bool whole = r->type == WL_SETTING_REAL || v == floor(v);
        if (!isnan(v) && !(v > 0 && v <= 1e9 && whole)) return wl_strf(a, "%s: %g", r->name, v);
    }
    const char *why = row->steps_energy ? impossible_energy(row->steps_energy, a) : NULL;
    for (size_t i = 0; i < row->n_energies && !why; i++) why = impossible_energy(&row->energies[i], a);
    if (why) return why;
    for (size_t i = 0; i < row->n_epochs; i++)
        if (!is_time(row->epochs[i].time_s) || !is_count(row->epochs[i].samples))
            return wl_strf(a, "epoch %lld", (long long)row->epochs[i].epoch);
    return NULL;
}

int wl_table_add(struct wl_import *im, const struct wl_table_row *row, struct wl_err *e)
{
    const char *option;
    if (option_beyond_rows(im->opts, &option))
        return wl_fail(e, WL_EUSAGE, "%s: --%s is for readings over time, and %s is a table of results", im->in->path,
                       option, im->format->name);
    if (row->start_ns != WL_NO_NS && is_outside(im, row)) return 0;
    struct wl_arena *a = wl_arena_new(im->a);
    const char *why = impossible(row, a);
    if (why) {
        wl_import_reject(im, "%s: %s is not that of a run", row->part, why);
        wl_arena_free(a);
        return 0;
    }
    const char *content = content_of(im, row, a);
    int rc = wl_import_open_store(im, e);
    if (rc == 0) rc = is_known(im, content, e);
    if (rc == 0) {
        const struct wl_settings set = settings_of(im, row);
        struct wl_import_run run = describe(im, row, &set);
        if (im->store) rc = store_row(im, row, &set, &run, a, e);
        if (rc == 0 && im->store) rc = store_source(im, row, run.run, content, e);
        if (rc == 0) {
            wl_import_add_run(im, &run);
            im->report.taken++;
        }
    }
    wl_arena_free(a);
    return rc < 0 ? rc : 0;
}
