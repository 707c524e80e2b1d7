/* A table of results that no tool is known for: each row is a run. What its columns are is said by --map, or by names
 * that leave no doubt. A name without a unit ("energy") is a doubt: it may be J or kWh. */
#include "exchange/import/formats.h"
#include "exchange/import/tables/csv.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- what a column may be ---- */

/* A quantity or setting by its name in wattlaw's tables, and the other names, in lower case and without their unit, by
 * which people call it. */
struct target {
    const char *name, *unit; /* NULL: a count, a flag or a text */
    const char *names[8];
};
static const struct target targets[] = {
    { "time_s", "s", { "time", "duration", "elapsed", "elapsed_time", "runtime", "wall_time", "time_per_epoch" } },
    { "energy_j", "J", { "energy", "total_energy", "energy_consumption" } },
    { "power_w", "W", { "power", "mean_power", "average_power", "avg_power" } },
    { "samples", NULL, { "n_samples", "num_samples" } },
    { "tokens", NULL, { "n_tokens", "num_tokens" } },
    { "updates", NULL, { "iterations", "optimizer_steps" } },
    { "host", NULL, { "hostname" } },
    { "estimated", NULL, { NULL } },
    { "simulated", NULL, { NULL } },
    { "workload", NULL, { "model", "network" } },
    { "hardware", NULL, { "gpu_model", "gpu_name" } },
    { "workers", NULL, { "gpus", "n_gpus", "num_gpus", "ngpus", "gpu_count", "world_size", "ranks" } },
    { "nodes", NULL, { "n_nodes", "num_nodes", "nnodes" } },
    { "local_batch", NULL, { "local_batch_size", "per_device_batch_size", "per_gpu_batch_size" } },
    { "global_batch", NULL, { "global_batch_size" } },
    { "accumulation", NULL, { "gradient_accumulation_steps" } },
    { "threads", NULL, { NULL } },
    { "power_cap_w", "W", { "power_cap", "power_limit" } },
    { "module_cap_w", "W", { NULL } },
    { "clock_mhz", "MHz", { NULL } },
    { "mem_clock_mhz", "MHz", { NULL } },
};
enum { TARGETS = WL_COUNT(targets), NAME = 128 };

/* NAN: not a unit of that dimension. Letters in any case where that leaves no doubt, as mJ and MJ would. */
static double scale_of(const char *unit, const char *to)
{
    static const struct {
        const char *unit, *to;
        double scale;
    } units[] = { { "s", "s", 1 },       { "sec", "s", 1 },      { "seconds", "s", 1 }, { "ms", "s", 1e-3 },
                  { "min", "s", 60 },    { "minutes", "s", 60 }, { "h", "s", 3600 },    { "hours", "s", 3600 },
                  { "j", "J", 1 },       { "joules", "J", 1 },   { "kj", "J", 1e3 },    { "wh", "J", 3600 },
                  { "kwh", "J", 3.6e6 }, { "w", "W", 1 },        { "watts", "W", 1 },   { "kw", "W", 1e3 },
                  { "mhz", "MHz", 1 } };
    if (!to || !*unit) return NAN;
    for (size_t i = 0; i < WL_COUNT(units); i++)
        if (strcasecmp(unit, units[i].unit) == 0 && wl_str_eq(to, units[i].to)) return units[i].scale;
    return wl_str_eq(unit, "MJ") && wl_str_eq(to, "J") ? 1e6 : wl_import_unit(wl_slice_of(unit), to);
}

/* "Energy [kWh]", "energy (kWh)" and "energy_kwh" are energy in kWh. */
static void split_name(const char *column, char name[NAME], char unit[NAME])
{
    size_t n = strcspn(column, "[(");
    unit[0] = '\0';
    if (column[n]) {
        snprintf(unit, NAME, "%.*s", (int)strcspn(column + n + 1, "])"), column + n + 1);
    } else {
        const char *last = strrchr(column, '_');
        if (last) snprintf(unit, NAME, "%s", last + 1);
        if (last) n = (size_t)(last - column);
    }
    while (n && strchr(" _", column[n - 1])) n--;
    n = n < NAME - 1 ? n : NAME - 1;
    for (size_t i = 0; i < n; i++) name[i] = column[i] >= 'A' && column[i] <= 'Z' ? (char)(column[i] + 32) : column[i];
    name[n] = '\0';
}

static bool is_named(const struct target *t, const char *name)
{
    for (size_t i = 0; i < WL_COUNT(t->names) && t->names[i]; i++)
        if (strcasecmp(name, t->names[i]) == 0) return true;
    return false;
}

/* How sure a column's name is: what it is in wattlaw's own tables, or another name with its unit; or that its unit is
 * missing. */
enum sure { NOT, UNITLESS, SURE };
static enum sure is_target(const struct target *t, const char *column, double *scale)
{
    char name[NAME], unit[NAME];
    *scale = 1;
    if (strcasecmp(column, t->name) == 0) return SURE;
    if (!t->unit) return is_named(t, column) ? SURE : NOT;
    split_name(column, name, unit);
    *scale = scale_of(unit, t->unit);
    if (!isnan(*scale) && is_named(t, name)) return SURE;
    return is_named(t, column) ? UNITLESS : NOT;
}

/* ---- the columns of a file ---- */

struct reader {
    struct wl_table_csv *t;
    const char *column[TARGETS]; /* NULL: none */
    double scale[TARGETS];
    bool use[WL_TABLE_COLUMNS]; /* of the file */
};

static int target_named(const char *name)
{
    for (int i = 0; i < TARGETS; i++)
        if (wl_str_eq(targets[i].name, name)) return i;
    return -1;
}

static int fail_target(const char *entry, const char *name, struct wl_err *e)
{
    const char *names[TARGETS];
    for (int i = 0; i < TARGETS; i++) names[i] = targets[i].name;
    const char *near = wl_str_closest(name, names, TARGETS);
    return wl_fail(e, WL_EUSAGE, "--map %s: \"%s\" is not a quantity or setting of a run%s%s%s", entry, name,
                   near ? "; did you mean " : ", such as time_s, energy_j or workers", near ? near : "", near ? "?" : "");
}

static int use_column(struct reader *r, int target, const char *column, double scale, struct wl_err *e)
{
    if (r->column[target])
        return wl_fail(e, WL_EINVAL, "%s: both columns \"%s\" and \"%s\" are %s: give --map %s=COLUMN",
                       r->t->im->in->path, r->column[target], column, targets[target].name, targets[target].name);
    r->column[target] = column;
    r->scale[target] = scale;
    for (int i = 0; i < r->t->n; i++) r->use[i] = r->use[i] || wl_str_eq(r->t->column[i], column);
    return 0;
}

static int fail_column(const struct reader *r, const char *entry, const char *column, struct wl_err *e)
{
    const char *near = wl_str_closest(column, r->t->column, (size_t)r->t->n);
    return wl_fail(e, WL_EINVAL, "--map %s: %s has no column \"%s\"%s%s%s", entry, r->t->im->in->path, column,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* "energy_j=used energy:kWh": what follows the last colon is a unit, unless the column is named so. */
static int apply_map(struct reader *r, const char *entry, struct wl_arena *a, struct wl_err *e)
{
    const char *equals = strchr(entry, '=');
    if (!equals) return wl_fail(e, WL_EUSAGE, "--map %s: expected NAME=COLUMN or NAME=COLUMN:UNIT", entry);
    const char *name = wl_str_strip(a, wl_strndup(a, entry, (size_t)(equals - entry)));
    char *column = wl_str_strip(a, equals + 1), *colon = strrchr(column, ':');
    const int target = target_named(name);
    double scale = 1;
    if (target < 0) return fail_target(entry, name, e);
    if (!wl_table_csv_has(r->t, column) && colon) {
        *colon = '\0';
        scale = scale_of(colon + 1, targets[target].unit);
        if (isnan(scale)) return wl_fail(e, WL_EUSAGE, "--map %s: \"%s\" is not a unit of %s", entry, colon + 1, name);
    }
    if (!wl_table_csv_has(r->t, column)) return fail_column(r, entry, column, e);
    return use_column(r, target, column, scale, e);
}

/* Columns that are not mapped, by their names. */
static int find_columns(struct reader *r, struct wl_err *e)
{
    const struct wl_import *im = r->t->im;
    bool mapped[TARGETS];
    int rc = 0;
    for (int k = 0; k < TARGETS; k++) mapped[k] = r->column[k];
    for (int k = 0; k < TARGETS && rc == 0; k++) {
        for (int i = 0; i < r->t->n && rc == 0; i++) {
            double scale;
            enum sure sure = mapped[k] || r->use[i] ? NOT : is_target(&targets[k], r->t->column[i], &scale);
            if (sure == SURE) rc = use_column(r, k, r->t->column[i], scale, e);
            if (sure == UNITLESS)
                rc = wl_fail(e, WL_EINVAL, "%s: the unit of the column \"%s\" is not known: give --map %s=%s:UNIT",
                             im->in->path, r->t->column[i], targets[k].name, r->t->column[i]);
        }
    }
    if (rc == 0 && !r->column[target_named("time_s")])
        rc = wl_fail(e, WL_EINVAL, "%s: no column is the time of a run: give --map time_s=COLUMN:UNIT", im->in->path);
    return rc;
}

/* ---- rows ---- */

/* NAN: no such column, or no value. */
static bool read_real(const struct reader *r, const char *name, double *out)
{
    const int k = target_named(name);
    *out = NAN;
    if (!r->column[k]) return true;
    if (!wl_table_csv_real(r->t, r->column[k], out)) return false;
    *out *= r->scale[k];
    return true;
}

static const char *read_text(const struct reader *r, const char *name, struct wl_arena *a)
{
    const int k = target_named(name);
    return r->column[k] ? wl_table_csv_text(r->t, r->column[k], a) : NULL;
}

static bool read_settings(const struct reader *r, struct wl_settings *set, struct wl_arena *a)
{
    for (const struct wl_setting *s = wl_settings_table; s->name; s++) {
        double v;
        if (target_named(s->name) < 0) continue;
        if (s->type == WL_SETTING_TEXT) {
            wl_setting_set_string(s, set, read_text(r, s->name, a));
        } else {
            if (!read_real(r, s->name, &v)) return false;
            wl_setting_set_real(s, set, v);
        }
    }
    return true;
}

/* Its energy, else power times time. False: the row was rejected. */
static bool read_energy(const struct reader *r, double time_s, struct wl_table_energy *x)
{
    double estimated;
    if (!read_real(r, "energy_j", &x->energy_j) || !read_real(r, "power_w", &x->power_w) ||
        !read_real(r, "estimated", &estimated))
        return false;
    x->integral = isnan(x->energy_j);
    x->estimated = estimated > 0;
    if (isnan(x->energy_j)) x->energy_j = x->power_w * time_s;
    if (isnan(x->power_w)) x->power_w = x->energy_j / time_s;
    if (isnan(x->energy_j)) x->why = "the field is empty";
    return true;
}

/* The run is one epoch, which is what laws read. */
static int add_row(const struct reader *r, struct wl_arena *a, struct wl_err *e)
{
    struct wl_table_row row = wl_table_row_none;
    struct wl_table_energy energies[2] = { { .uuid = "all", .scope = "node" } };
    struct wl_epoch_row epoch = { .epoch = 1, .begin_ns = WL_NO_NS, .end_ns = WL_NO_NS };
    double simulated;
    if (!read_real(r, "time_s", &row.time_s) || !read_energy(r, row.time_s, &energies[0]) ||
        !read_settings(r, &row.set, a) || !read_real(r, "samples", &epoch.samples) ||
        !read_real(r, "updates", &epoch.updates) || !read_real(r, "tokens", &epoch.tokens) ||
        !read_real(r, "simulated", &simulated))
        return 0;
    if (simulated > 0) {
        wl_import_reject(r->t->im, "a simulated row: nothing was measured");
        return 0;
    }
    row.part = wl_strf(a, "row %lld", (long long)r->t->rows);
    row.host = read_text(r, "host", a);
    energies[0].model = row.set.hardware;
    energies[1] = energies[0];
    energies[1].epoch = 1;
    epoch.time_s = row.time_s;
    row.energies = energies;
    row.n_energies = r->column[target_named("energy_j")] || r->column[target_named("power_w")] ? 2 : 0;
    row.epochs = &epoch;
    row.n_epochs = 1;
    return wl_table_add(r->t->im, &row, e);
}

static int read_rows(struct reader *r, struct wl_err *e)
{
    int rc;
    while ((rc = wl_table_csv_next(r->t, e)) > 0) {
        struct wl_arena *scratch = wl_arena_new(r->t->a);
        rc = add_row(r, scratch, e);
        wl_arena_free(scratch);
        if (rc < 0) break;
    }
    for (int i = 0; i < r->t->n && rc == 0; i++)
        if (!r->use[i])
            wl_import_pass_over(r->t->im, wl_strf(r->t->a, "column %s", r->t->column[i]), (size_t)r->t->rows);
    return rc;
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader *r = wl_new(a, struct reader);
    const struct wl_strs *map = im->opts->map;
    struct wl_slice head;
    r->t = wl_new(a, struct wl_table_csv);
    int rc = wl_lines_peek(im->in, WL_IMPORT_HEAD, &head, e);
    if (rc == 0) {
        const struct wl_import_head h = { im->in->path, wl_slice_text(head, a), head.n, im->in->eof };
        const char *line = wl_import_head_line(&h, a);
        rc = wl_table_csv_open(r->t, im, wl_import_separator(line ? line : ""), NULL, a, e);
    }
    for (size_t i = 0; map && i < map->n && rc == 0; i++) rc = apply_map(r, map->v[i], a, e);
    if (rc == 0) rc = find_columns(r, e);
    if (rc == 0 && (r->column[target_named("energy_j")] || r->column[target_named("power_w")]))
        wl_import_note(im, "%s: of what devices its energy is, is not known: taken for that of the node", im->in->path);
    if (rc == 0) rc = read_rows(r, e);
    wl_arena_free(a);
    return rc;
}

/* A time with its unit, and a quantity or a setting that a law can use: other tables are not of runs. */
static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    static const char *const useful[] = { "energy_j", "power_w", "samples", "workers", "local_batch", "global_batch" };
    struct wl_slice v[WL_TABLE_COLUMNS];
    const char *line = wl_import_head_line(h, a);
    bool timed = false, used = false;
    double scale;
    int n = line ? wl_slice_split(wl_slice_of(line), wl_import_separator(line), v, WL_TABLE_COLUMNS) : 0;
    for (int i = 0; i < n && i < WL_TABLE_COLUMNS; i++) {
        const char *name = wl_slice_text(v[i], a);
        timed = timed || is_target(&targets[target_named("time_s")], name, &scale) == SURE;
        for (size_t k = 0; k < WL_COUNT(useful); k++)
            used = used || is_target(&targets[target_named(useful[k])], name, &scale) != NOT;
    }
    return timed && used;
}

const struct wl_import_format wl_import_results = {
    .name = "table",
    .title = "table of results",
    .looks_for = "a header with the time of a run and its unit, as time_s, and energy, power, samples, workers or a "
                 "batch",
    .kind = WL_IMPORT_TABLE,
    .generic = true,
    .recognise = recognise,
    .read = read_file,
};
