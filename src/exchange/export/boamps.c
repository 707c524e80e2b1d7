/* A report of one run by Boavizta's BoAmps (github.com/Boavizta/BoAmps, model/report_schema.json and the four schemas
 * that it names). The format asks for facts that no measurement holds, such as the task's family; they come as fields.
 */
#include "exchange/export/export.h"
#include "exchange/export/run_data.h"

#include "settings/settings.h"

#include <math.h>
#include <string.h>

static const double J_PER_KWH = 3.6e6;

/* ---- fields ---- */

/* Which object of the report a field is a member of. Arrays have one element here. */
enum part { HEADER, PUBLISHER, TASK, ALGORITHM, DATASET, SYSTEM, SOFTWARE, INFRASTRUCTURE, ENVIRONMENT, PARTS };
static const char *const part_names[PARTS] = { "header.",          "header.publisher.", "task.",
                                               "task.algorithms.", "task.dataset.",     "system.",
                                               "software.",        "infrastructure.",   "environment." };

static const struct field {
    enum part part;
    const char *name;
    const char *choices; /* NULL: any text */
    bool number, required;
} fields[] = {
    { TASK, "taskFamily", NULL, false, true },
    { DATASET, "dataType", "tabular|audio|boolean|image|video|object|text|token|word|other", false, true },
    { INFRASTRUCTURE, "infraType", "publicCloud|privateCloud|onPremise|other", false, true },
    { HEADER, "licensing", NULL, false, false },
    { HEADER, "reportId", NULL, false, false },
    { HEADER, "reportStatus", "draft|final|corrective|other", false, false },
    { PUBLISHER, "name", NULL, false, false },
    { PUBLISHER, "division", NULL, false, false },
    { PUBLISHER, "projectName", NULL, false, false },
    { PUBLISHER, "confidentialityLevel", "public|internal|confidential|secret", false, false },
    { TASK, "taskStage", NULL, false, false },
    { TASK, "taskDescription", NULL, false, false },
    { ALGORITHM, "trainingType", NULL, false, false },
    { ALGORITHM, "algorithmType", NULL, false, false },
    { ALGORITHM, "algorithmName", NULL, false, false },
    { ALGORITHM, "foundationModelName", NULL, false, false },
    { ALGORITHM, "parametersNumber", NULL, true, false },
    { ALGORITHM, "framework", NULL, false, false },
    { ALGORITHM, "frameworkVersion", NULL, false, false },
    { ALGORITHM, "optimizer", NULL, false, false },
    { DATASET, "dataSize", NULL, true, false },
    { DATASET, "source", "public|private|other", false, false },
    { DATASET, "sourceUri", NULL, false, false },
    { DATASET, "owner", NULL, false, false },
    { SYSTEM, "distribution", NULL, false, false },
    { SYSTEM, "distributionVersion", NULL, false, false },
    { SOFTWARE, "language", NULL, false, false },
    { SOFTWARE, "version", NULL, false, false },
    { INFRASTRUCTURE, "cloudProvider", NULL, false, false },
    { INFRASTRUCTURE, "cloudInstance", NULL, false, false },
    { ENVIRONMENT, "country", NULL, false, false },
    { ENVIRONMENT, "location", NULL, false, false },
    { ENVIRONMENT, "powerSupplierType", "public|private|internal|other", false, false },
    { ENVIRONMENT, "powerSource", "solar|wind|nuclear|hydroelectric|gas|coal|other", false, false },
    { ENVIRONMENT, "powerSourceCarbonIntensity", NULL, true, false },
};

static char *full_name(const struct field *f, struct wl_arena *a)
{
    return wl_strf(a, "%s%s", part_names[f->part], f->name);
}

static int check_value(const struct field *f, const char *value, struct wl_arena *a, struct wl_err *e)
{
    double number;
    if (f->number && wl_str_to_real(value, &number))
        return wl_fail(e, WL_EUSAGE, "--field %s=%s: expected a number", full_name(f, a), value);
    if (f->choices && !wl_opt_has_choice(f->choices, value))
        return wl_fail(e, WL_EUSAGE, "--field %s=%s: expected one of %s", full_name(f, a), value, f->choices);
    return 0;
}

static int check_fields(const struct wl_strs *given, struct wl_arena *a, struct wl_err *e)
{
    const char **known = wl_new_array(a, const char *, WL_COUNT(fields) + 1);
    struct wl_text missing = WL_TEXT(a);
    for (size_t i = 0; i < WL_COUNT(fields); i++) known[i] = full_name(&fields[i], a);
    int rc = wl_fields_check(given, known, "the format boamps", e);
    for (size_t i = 0; rc == 0 && i < WL_COUNT(fields); i++) {
        const char *value = wl_field(given, known[i]);
        if (value) rc = check_value(&fields[i], value, a, e);
        if (!value && fields[i].required)
            wl_text_addf(&missing, " --field %s=%s", known[i], fields[i].choices ? fields[i].choices : "...");
    }
    if (rc || missing.n == 0) return rc;
    return wl_fail(e, WL_EINVAL, "BoAmps asks for what no measurement holds:%s", missing.s);
}

static bool is_given(const struct wl_strs *given, enum part part, struct wl_arena *a)
{
    for (size_t i = 0; i < WL_COUNT(fields); i++)
        if (fields[i].part == part && wl_field(given, full_name(&fields[i], a))) return true;
    return false;
}

static void add_fields(struct wl_json *o, const struct wl_strs *given, enum part part, struct wl_arena *a)
{
    for (size_t i = 0; i < WL_COUNT(fields); i++) {
        const char *value = fields[i].part == part ? wl_field(given, full_name(&fields[i], a)) : NULL;
        double number;
        if (value && fields[i].number && wl_str_to_real(value, &number) == 0)
            wl_json_add_number(o, fields[i].name, number);
        else if (value)
            wl_json_add_str(o, fields[i].name, value);
    }
}

/* A member that a field may replace. */
static void add_default(struct wl_json *o, const struct wl_strs *given, enum part part, const char *name,
                        const char *value, struct wl_arena *a)
{
    if (value && !wl_field(given, wl_strf(a, "%s%s", part_names[part], name))) wl_json_add_str(o, name, value);
}

/* ---- the parts ---- */

struct report {
    const struct wl_strs *given;
    struct wl_run_data d;
    struct wl_channel_rows channels;
    struct wl_arena *arena;
};

static void add_header(const struct report *r, struct wl_json *root)
{
    struct wl_json *o = wl_json_add_object(root, "header");
    wl_json_add_str(o, "formatVersion", "1.1.0");
    wl_json_add_str(o, "formatVersionSpecificationUri", "https://github.com/Boavizta/BoAmps/tree/main/model");
    wl_json_add_str(o, "reportDatetime", wl_export_date(wl_export_now_ns(), r->arena));
    add_default(o, r->given, HEADER, "reportStatus", "draft", r->arena);
    add_fields(o, r->given, HEADER, r->arena);
    if (!is_given(r->given, PUBLISHER, r->arena)) return;
    o = wl_json_add_object(o, "publisher");
    add_default(o, r->given, PUBLISHER, "confidentialityLevel", "internal", r->arena);
    add_fields(o, r->given, PUBLISHER, r->arena);
}

static void add_dataset(const struct report *r, struct wl_json *task)
{
    struct wl_json *o = wl_json_add_object(wl_json_add_array(task, "dataset"), NULL);
    wl_json_add_str(o, "dataUsage", "input");
    add_fields(o, r->given, DATASET, r->arena);
    if (r->d.epochs.n && !isnan(r->d.epochs.v[0].samples))
        wl_json_add_number(o, "dataQuantity", r->d.epochs.v[0].samples);
}

static void add_task(const struct report *r, struct wl_json *root)
{
    const struct wl_setting *precision = wl_setting_find_choice("precision");
    struct wl_json *o = wl_json_add_object(root, "task");
    add_default(o, r->given, TASK, "taskStage", "training", r->arena);
    add_fields(o, r->given, TASK, r->arena);
    struct wl_json *algorithm = wl_json_add_object(wl_json_add_array(o, "algorithms"), NULL);
    add_default(algorithm, r->given, ALGORITHM, "algorithmName", r->d.run->set.workload, r->arena);
    add_fields(algorithm, r->given, ALGORITHM, r->arena);
    if (r->d.epochs.n) wl_json_add_int(algorithm, "epochsNumber", (int64_t)r->d.epochs.n);
    const char *format = precision ? wl_setting_choice(precision, &r->d.run->set, r->arena) : NULL;
    if (format) wl_json_add_str(algorithm, "quantization", format);
    add_dataset(r, o);
}

/* Adds a word to a list "nvml, rapl". */
static void add_word(struct wl_text *list, const char *word)
{
    if (strstr(list->s, word)) return;
    wl_text_addf(list, "%s%s", list->n ? ", " : "", word);
}

/* How the energies of the run were found: by the sensors of its GPUs and of its CPUs. */
static void add_tracking(const struct report *r, struct wl_json *o)
{
    struct wl_text gpu = WL_TEXT(r->arena), cpu = WL_TEXT(r->arena);
    for (size_t i = 0; i < r->d.energies.n; i++) {
        const struct wl_energy_row *v = &r->d.energies.v[i];
        const struct wl_device_row *device = wl_run_data_device(&r->d, v->device);
        if (!v->chosen || !isnan(v->epoch) || !device) continue;
        const bool of_gpu = wl_str_starts(v->scope, "gpu") || strcmp(v->scope, "module") == 0;
        add_word(of_gpu ? &gpu : &cpu,
                 wl_strf(r->arena, "%s%s", device->sensor, wl_provenance_mark(wl_run_data_from(&r->d, v))));
    }
    if (cpu.n) wl_json_add_str(o, "cpuTrackingMode", cpu.s);
    if (gpu.n) wl_json_add_str(o, "gpuTrackingMode", gpu.s);
}

static void add_utilisation(const struct report *r, struct wl_json *o)
{
    bool of_gpu = false;
    for (size_t i = 0; i < r->channels.n; i++) of_gpu = of_gpu || strcmp(r->channels.v[i].quantity, "sm_util_pct") == 0;
    const double share = r->d.run->util_pct / 100;
    if (share >= 0 && share <= 1)
        wl_json_add_real(o, of_gpu ? "averageUtilizationGpu" : "averageUtilizationCpu", share);
}

static void add_measure(const struct report *r, struct wl_json *root)
{
    const struct wl_run_row *run = r->d.run;
    struct wl_json *o = wl_json_add_object(wl_json_add_array(root, "measures"), NULL);
    wl_json_add_str(o, "measurementMethod",
                    wl_strf(r->arena, "%s%s", run->source ? run->source : "wattlaw",
                            wl_provenance_mark(wl_run_provenance(run))));
    if (run->version && !run->source) wl_json_add_str(o, "version", run->version);
    add_tracking(r, o);
    add_utilisation(r, o);
    wl_json_add_real(o, "powerConsumption", run->energy_j / J_PER_KWH);
    if (!isnan(run->time_s)) wl_json_add_real(o, "measurementDuration", run->time_s);
    if (run->start.wall_ns != WL_NO_NS)
        wl_json_add_str(o, "measurementDateTime", wl_export_date(run->start.wall_ns, r->arena));
}

/* ---- components ---- */

/* What a device is, by the scopes of its channels; NULL: no piece of hardware that can be counted. */
static const char *type_of(const struct report *r, int64_t device)
{
    static const struct {
        const char *scope, *type;
    } types[] = { { "gpu", "gpu" }, { "module", "module" }, { "package", "cpu" }, { "dram", "ram" } };
    for (size_t k = 0; k < WL_COUNT(types); k++)
        for (size_t i = 0; i < r->channels.n; i++)
            if (r->channels.v[i].device == device && strcmp(r->channels.v[i].scope, types[k].scope) == 0)
                return types[k].type;
    return NULL;
}

static bool same_component(const struct report *r, const struct wl_device_row *x, const struct wl_device_row *y)
{
    return wl_str_eq(type_of(r, x->id), type_of(r, y->id)) && wl_str_eq(x->name, y->name);
}

static void add_components(const struct report *r, struct wl_json *infrastructure)
{
    const struct wl_device_rows *all = &r->d.devices;
    struct wl_json *list = wl_json_add_array(infrastructure, "components");
    for (size_t i = 0; i < all->n; i++) {
        bool seen = false;
        int64_t n = 0;
        for (size_t k = 0; k < all->n; k++) {
            if (!same_component(r, &all->v[i], &all->v[k])) continue;
            seen = seen || k < i;
            n++;
        }
        if (seen || !type_of(r, all->v[i].id)) continue;
        struct wl_json *o = wl_json_add_object(list, NULL);
        if (all->v[i].name) wl_json_add_str(o, "componentName", all->v[i].name);
        wl_json_add_str(o, "componentType", type_of(r, all->v[i].id));
        wl_json_add_int(o, "nbComponent", n);
    }
    if (wl_json_size(list)) return;
    struct wl_json *o = wl_json_add_object(list, NULL); /* the format asks for one */
    wl_json_add_str(o, "componentType", "node");
    wl_json_add_number(o, "nbComponent", r->d.run->set.nodes >= 1 ? r->d.run->set.nodes : 1);
}

/* The format's own words for a relative error of at most 10, 25 and 50 %. */
static const char *quality(const struct wl_run_row *run)
{
    const double error = (run->energy_hi_j - run->energy_lo_j) / 2 / run->energy_j;
    if (!(error <= .5)) return NULL;
    return error <= .1 ? "high" : error <= .25 ? "medium" : "low";
}

static void write_report(const struct report *r, FILE *to)
{
    struct wl_json *root = wl_json_root_object(r->arena);
    add_header(r, root);
    add_task(r, root);
    add_measure(r, root);
    struct wl_json *o = wl_json_add_object(root, "system");
    wl_json_add_str(o, "os", "linux");
    add_fields(o, r->given, SYSTEM, r->arena);
    if (wl_field(r->given, "software.language"))
        add_fields(wl_json_add_object(root, "software"), r->given, SOFTWARE, r->arena);
    o = wl_json_add_object(root, "infrastructure");
    add_fields(o, r->given, INFRASTRUCTURE, r->arena);
    add_components(r, o);
    if (wl_field(r->given, "environment.country"))
        add_fields(wl_json_add_object(root, "environment"), r->given, ENVIRONMENT, r->arena);
    if (quality(r->d.run)) wl_json_add_str(root, "quality", quality(r->d.run));
    fprintf(to, "%s\n", wl_json_printable(wl_json_text(root, 2, r->arena), r->arena));
}

/* Members of an object that the format has only with another one of its members. */
static int check_companions(const struct wl_strs *given, struct wl_arena *a, struct wl_err *e)
{
    if (is_given(given, SOFTWARE, a) && !wl_field(given, "software.language"))
        return wl_fail(e, WL_EINVAL, "software.version needs --field software.language=...");
    if (is_given(given, ENVIRONMENT, a) && !wl_field(given, "environment.country"))
        return wl_fail(e, WL_EINVAL, "the fields environment.* need --field environment.country=...");
    return 0;
}

int wl_export_boamps(const struct wl_export *x, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct report r = { .given = x->fields, .arena = a };
    int rc = check_fields(x->fields, a, e);
    if (rc == 0) rc = check_companions(x->fields, a, e);
    if (rc == 0 && x->runs->n != 1)
        rc = wl_fail(e, WL_EUSAGE, "a report of BoAmps is of one run, not of %zu: choose it with --run", x->runs->n);
    if (rc == 0) rc = wl_run_data_read(x->store, &x->runs->v[0], &r.d, a, e);
    if (rc == 0) rc = wl_store_channels(x->store, x->runs->v[0].id, &r.channels, a, e);
    if (rc == 0 && isnan(r.d.run->energy_j))
        rc = wl_fail(e, WL_EINVAL, "run %lld has no energy, which a report of BoAmps is about", (long long)r.d.run->id);
    if (rc == 0) write_report(&r, to);
    wl_arena_free(a);
    return rc;
}
