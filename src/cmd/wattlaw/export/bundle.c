/* What goes into a bundle: the store, its observations as CSV, the experiments, what measured and where, and the
 * report. */
#include "cmd/wattlaw/export/export.h"

#include "exchange/exchange.h"
#include "report/report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct bundling {
    struct wl_store *store;
    struct wl_campaign_rows campaigns;
    struct wl_run_rows runs;
    const char *folder; /* temporary */
    struct wl_bundle_file *v;
    size_t n, cap;
    struct wl_arena *arena;
};

static void add(struct bundling *b, const struct wl_bundle_file *f)
{
    WL_GROW(b->arena, b->v, b->n, b->cap);
    b->v[b->n++] = *f;
}

static int add_store(struct bundling *b, struct wl_err *e)
{
    const char *path = wl_path_join(b->arena, b->folder, "wattlaw.db");
    int rc = wl_store_copy(b->store, path, e);
    add(b, &(struct wl_bundle_file) { .name = "wattlaw.db",
                                      .path = path,
                                      .type = "application/vnd.sqlite3",
                                      .description = "The store: every reading, mark and result of the runs" });
    return rc;
}

static int add_observations(struct bundling *b, struct wl_err *e)
{
    const char *path = wl_path_join(b->arena, b->folder, "observations.csv");
    struct wl_observations obs;
    int rc = wl_store_observations(b->store, 0, &obs, b->arena, e);
    if (rc) return rc;
    FILE *to = fopen(path, "wx");
    if (!to) return wl_fail_errno(e, "%s: cannot write", path);
    wl_obs_write_csv(&obs, to);
    const bool failed = ferror(to) != 0;
    if (fclose(to) || failed) return wl_fail_errno(e, "%s: cannot write", path);
    add(b, &(struct wl_bundle_file) { .name = "observations.csv",
                                      .path = path,
                                      .type = "text/csv",
                                      .description =
                                          "A row per epoch of the runs that are done: settings, time, energy" });
    return 0;
}

/* A campaign's name as that of a file; another one with the same letters gets its number. */
static const char *file_name(struct bundling *b, const char *folder, const char *name, const char *ending)
{
    char *s = wl_strdup(b->arena, name);
    for (char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) || (unsigned char)*p > 127) *p = *p == '-' ? '-' : '_';
    const char *whole = wl_strf(b->arena, "%s/%.100s%s", folder, s, ending);
    for (size_t i = 0, k = 2; i < b->n; i++)
        if (strcmp(b->v[i].name, whole) == 0) {
            whole = wl_strf(b->arena, "%s/%.100s-%zu%s", folder, s, k++, ending);
            i = 0;
        }
    return whole;
}

static void add_experiments(struct bundling *b)
{
    for (size_t i = 0; i < b->campaigns.n; i++) {
        const struct wl_campaign_row *c = &b->campaigns.v[i];
        if (!c->experiment || !*c->experiment) continue;
        add(b, &(struct wl_bundle_file) { .name = file_name(b, "experiments", c->name, ".ini"),
                                          .text = c->experiment,
                                          .n = strlen(c->experiment),
                                          .type = "text/plain",
                                          .description = "Experiment file with all keys and defaults" });
    }
}

static bool is_listed(const struct wl_json *list, const char *key, const char *text)
{
    for (size_t i = 0; i < wl_json_size(list); i++)
        if (wl_str_eq(wl_json_str(wl_json_get(wl_json_at(list, i), key)), text)) return true;
    return false;
}

static int add_devices(struct bundling *b, int64_t run, struct wl_json *list, struct wl_err *e)
{
    struct wl_device_rows devices;
    int rc = wl_store_devices(b->store, run, &devices, b->arena, e);
    for (size_t i = 0; rc == 0 && i < devices.n; i++) {
        const struct wl_device_row *d = &devices.v[i];
        struct wl_json *info;
        if (is_listed(list, "device", wl_strf(b->arena, "%s %s", d->host, d->uuid))) continue;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", wl_strf(b->arena, "%s %s", d->host, d->uuid));
        wl_json_add_str(o, "sensor", d->sensor);
        wl_json_add_str(o, "name", d->name);
        if (d->info && wl_json_parse(d->info, "info", &info, b->arena, NULL) == 0) wl_json_add_value(o, "info", info);
    }
    return rc;
}

/* Versions and devices of all runs, for readers without wattlaw. */
static int add_versions(struct bundling *b, struct wl_err *e)
{
    struct wl_json *root = wl_json_root_object(b->arena), *versions = wl_json_add_array(root, "measured_by"),
                   *devices = wl_json_add_array(root, "devices");
    wl_json_add_str(root, "bundled_by", "wattlaw " WL_VERSION);
    wl_json_add_int(root, "store_version", wl_store_version_found(b->store));
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < b->runs.n; i++) {
        const char *version = b->runs.v[i].version;
        if (version && !is_listed(versions, "version", version))
            wl_json_add_str(wl_json_add_object(versions, NULL), "version", version);
        rc = add_devices(b, b->runs.v[i].id, devices, e);
    }
    const char *text = wl_strf(b->arena, "%s\n", wl_json_printable(wl_json_text(root, 2, b->arena), b->arena));
    add(b, &(struct wl_bundle_file) { .name = "versions.json",
                                      .text = text,
                                      .n = strlen(text),
                                      .type = "application/json",
                                      .description = "Versions of wattlaw, and the devices with their drivers" });
    return rc;
}

static const char *type_of(const char *name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        { ".html", "text/html" }, { ".csv", "text/csv" }, { ".svg", "image/svg+xml" }, { ".md", "text/markdown" }
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < WL_COUNT(types); i++)
        if (strcmp(types[i].ending, dot) == 0) return types[i].type;
    return "application/octet-stream";
}

static int add_report(struct bundling *b, struct wl_err *e)
{
    const struct wl_report_options what = { .drop_epochs = 1, .undated = true };
    const char *dir = wl_path_join(b->arena, b->folder, "report");
    struct wl_strs formats = { 0 };
    struct wl_document *d;
    struct wl_document_files written;
    wl_strs_add(b->arena, &formats, "html");
    wl_strs_add(b->arena, &formats, "csv");
    int rc = wl_report_build(&d, b->store, &what, b->arena, e);
    if (rc == 0) rc = wl_document_write(d, dir, &formats, NULL, &written, b->arena, e);
    for (size_t i = 0; rc == 0 && i < written.paths.n; i++) {
        const char *path = written.paths.v[i];
        add(b, &(struct wl_bundle_file) {
                   .name = wl_strf(b->arena, "report%s", path + strlen(dir)), .path = path, .type = type_of(path) });
    }
    return rc;
}

/* ---- what the crate says of it ---- */

static const char *const known_fields[] = { "name", "description", "license", "author", "datePublished", NULL };

static struct wl_strs authors(const struct wl_strs *fields, struct wl_arena *a)
{
    struct wl_strs out = { 0 };
    for (size_t i = 0; i < fields->n; i++)
        if (wl_str_starts(fields->v[i], "author=")) wl_strs_add(a, &out, fields->v[i] + strlen("author="));
    return out;
}

/* The first start and the last end of the runs that are done; WL_NO_NS: unknown. */
static void period_of(const struct wl_run_rows *runs, int64_t *begin_ns, int64_t *end_ns)
{
    *begin_ns = *end_ns = WL_NO_NS;
    for (size_t i = 0; i < runs->n; i++) {
        const int64_t begin = runs->v[i].start.wall_ns, end = runs->v[i].stop.wall_ns;
        if (runs->v[i].status != WL_RUN_DONE) continue;
        if (begin != WL_NO_NS && (*begin_ns == WL_NO_NS || begin < *begin_ns)) *begin_ns = begin;
        if (end != WL_NO_NS && end > *end_ns) *end_ns = end;
    }
}

static const char *field_or(const struct wl_strs *fields, const char *name, const char *otherwise)
{
    const char *given = wl_field(fields, name);
    return given ? given : otherwise;
}

static int write_bundle(struct bundling *b, const struct wl_strs *fields, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = b->arena;
    const struct wl_strs names = authors(fields, a);
    int64_t begin_ns, end_ns;
    period_of(&b->runs, &begin_ns, &end_ns);
    const char *ended = end_ns == WL_NO_NS ? NULL : wl_clock_iso(a, end_ns);
    const char *campaign = b->campaigns.n == 1 ? b->campaigns.v[0].name : wl_strf(a, "%zu campaigns", b->campaigns.n);
    const struct wl_bundle bundle = {
        .name = field_or(fields, "name", wl_strf(a, "Time and energy of training: %s", campaign)),
        .description =
            field_or(fields, "description",
                     wl_strf(a, "%zu runs of training jobs, measured by wattlaw: readings, time, energy and report",
                             b->runs.n)),
        .license = wl_field(fields, "license"),
        .author = &names,
        .published =
            field_or(fields, "datePublished", wl_strf(a, "%.10s", ended ? ended : wl_clock_iso(a, wl_export_now_ns()))),
        .begun = begin_ns == WL_NO_NS ? NULL : wl_clock_iso(a, begin_ns),
        .ended = ended,
        .version = b->runs.n && b->runs.v[0].version ? b->runs.v[0].version : WL_VERSION,
        .files = b->v,
        .n = b->n,
    };
    return wl_bundle_write(&bundle, to, e);
}

static void remove_folder(void *dir) { wl_tempdir_remove(dir); }

int wl_cmd_export_bundle(struct wl_store *s, const struct wl_strs *fields, FILE *to, struct wl_arena *a,
                         struct wl_err *e)
{
    struct bundling b = { .store = s, .arena = a };
    struct wl_tempdir *dir = wl_new(a, struct wl_tempdir);
    const char *tmp = getenv("TMPDIR");
    int rc = wl_fields_check(fields, known_fields, "the format bundle", e);
    if (rc == 0) rc = wl_tempdir(dir, wl_path_join(a, tmp && *tmp ? tmp : "/tmp", "bundle"), e);
    if (rc) return rc;
    wl_defer(a, remove_folder, dir);
    b.folder = dir->path;
    rc = wl_store_campaigns(s, &b.campaigns, a, e);
    if (rc == 0) rc = wl_store_runs(s, &(struct wl_run_filter) { 0 }, &b.runs, a, e);
    if (rc == 0) rc = add_store(&b, e);
    if (rc == 0) rc = add_observations(&b, e);
    if (rc == 0) add_experiments(&b);
    if (rc == 0) rc = add_versions(&b, e);
    if (rc == 0) rc = add_report(&b, e);
    return rc ? rc : write_bundle(&b, fields, to, e);
}
