/* The view `observations` as a struct of arrays. */
#include "store/read.h"

#include "store/connection.h"
#include "store/rows.h"

#include <math.h>
#include <string.h>

/* ---- the columns ---- */

struct column {
    const char *name; /* as exported; of a canonical column NULL: it has the place of its name in wl_obs_names */
    const char *sql;
    bool setting, text;
    bool optional; /* left out where no row has a value */
};
struct columns {
    struct column *v; /* the canonical ones first */
    size_t n, cap, canonical;
};

/* In the order of wl_obs_names. */
static const struct column canonical[] = {
    { .sql = "o.workload", .text = true },
    { .sql = "o.hardware", .text = true },
    { .sql = "o.nodes" },
    { .sql = "o.workers" },
    { .sql = "o.local_batch" },
    { .sql = "o.global_batch" },
    { .sql = "o.power_cap_w" },
    { .sql = "o.clock_mhz" },
    { .sql = "CAST(o.run AS TEXT)", .text = true },
    { .sql = "o.epoch" },
    { .sql = "o.time_s" },
    { .sql = "o.energy_j" },
    { .sql = "o.samples" },
    { .sql = "o.updates" },
    { .sql = "coalesce(m.name, o.metric)", .text = true },
    { .sql = "CASE WHEN m.name IS NULL THEN o.metric_value ELSE m.value END" },
    { .sql = "o.estimated" },
    { .sql = "o.simulated" },
};
static const struct column run_columns[] = {
    { .name = "repeat", .sql = "r.repeat" },
    { .name = "energy_lo_j", .sql = "CASE WHEN p.run IS NULL THEN x.energy_lo_j ELSE p.energy_lo_j END" },
    { .name = "energy_hi_j", .sql = "CASE WHEN p.run IS NULL THEN x.energy_hi_j ELSE p.energy_hi_j END" },
    { .name = "idle_j",
      .sql = "CASE WHEN p.run IS NULL THEN x.idle_j "
             "ELSE x.idle_j * p.time_s * 1e9 / (r.stop_mono_ns - r.start_mono_ns) END" },
    { .name = "begin_temperature_c", .sql = "r.begin_c" },
    { .name = "tokens", .sql = "coalesce(t.tokens, p.tokens)", .optional = true },
    { .name = "source",
      .sql = "(SELECT min(format) FROM source WHERE run = o.run)",
      .setting = true, /* so that a law never mixes what others measured with what we did */
      .text = true,
      .optional = true },
};
/* Of runs on several nodes, or in jobs of a batch system. */
static const char *const placement_columns[] = { "node", "switches", "queue_wait_s" };
static const struct column power_capped = { .name = "power_capped_pct", .sql = "x.power_capped_pct" };
static const struct column metric_columns[] = {
    { .name = "metric_unit", .sql = "d.unit", .text = true },
    { .name = "metric_better", .sql = "CASE d.larger WHEN 1 THEN 'larger' WHEN 0 THEN 'smaller' END", .text = true },
};

static void add_columns(struct columns *list, const struct column *v, size_t n, struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++) {
        WL_GROW(a, list->v, list->n, list->cap);
        list->v[list->n++] = v[i];
    }
}

static bool is_canonical(const char *name)
{
    for (size_t i = 0; wl_obs_names[i]; i++)
        if (strcmp(wl_obs_names[i], name) == 0) return true;
    return false;
}

/* The settings that may separate the groups of a law, with a column in the store. */
static void add_settings_columns(struct columns *list, bool caps, struct wl_arena *a)
{
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        const struct column c = { r->name, wl_strf(a, "s.%s", r->name), .setting = true };
        bool separates = wl_setting_separates(r->name) && r->type != WL_SETTING_CHOICE;
        if (r->is_cap == caps && separates && !is_canonical(r->name)) add_columns(list, &c, 1, a);
    }
}

static void add_cap_columns(struct columns *list, struct wl_arena *a)
{
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_clock(r));)
        add_columns(list, &(struct column) { r->achieved, wl_strf(a, "x.%s", r->achieved) }, 1, a);
    add_columns(list, &power_capped, 1, a);
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_cap(r));)
        add_columns(list, &(struct column) { r->acted, wl_strf(a, "w.%s", r->acted) }, 1, a);
}

static struct columns all_columns(struct wl_arena *a)
{
    struct columns list = { .canonical = WL_COUNT(canonical) };
    add_columns(&list, canonical, WL_COUNT(canonical), a);
    add_settings_columns(&list, false, a);
    add_columns(&list, run_columns, WL_COUNT(run_columns), a);
    add_settings_columns(&list, true, a);
    add_cap_columns(&list, a);
    add_columns(&list, metric_columns, WL_COUNT(metric_columns), a);
    return list;
}

bool wl_store_is_observation_column(const char *name)
{
    static const char *const read_by_laws[] = { "extra", "power_w", "peak_power_w", "peak_memory_bytes",
                                                "carbon_g_per_kwh" };
    struct wl_arena *a = wl_arena_new(NULL);
    const struct columns list = all_columns(a);
    const struct wl_setting *r = wl_setting_find(name);
    bool found = is_canonical(name) || (r && r->type != WL_SETTING_CHOICE);
    for (size_t i = list.canonical; i < list.n; i++) found = found || strcmp(list.v[i].name, name) == 0;
    for (size_t i = 0; i < WL_COUNT(read_by_laws); i++) found = found || strcmp(read_by_laws[i], name) == 0;
    for (size_t i = 0; i < WL_COUNT(placement_columns); i++) found = found || strcmp(placement_columns[i], name) == 0;
    wl_arena_free(a);
    return found;
}

/* ---- the rows ---- */

struct observed {
    int64_t run;
    union cell {
        const char *text;
        double real;
    } at[]; /* [columns] */
};
struct observed_rows {
    char *v; /* structs of `size` */
    size_t n, size;
};

static const struct observed *observed_row(const struct observed_rows *rows, size_t i)
{
    return (const void *)(rows->v + i * rows->size);
}

static const struct wl_column_map *map_of(const struct columns *list, struct wl_arena *a)
{
    struct wl_column_map *map = wl_new_array(a, struct wl_column_map, list->n + 2);
    for (size_t c = 0; c < list->n; c++)
        map[c] = (struct wl_column_map) { list->v[c].sql, list->v[c].text ? WL_COLUMN_TEXT : WL_COLUMN_REAL,
                                          offsetof(struct observed, at) + c * sizeof(union cell) };
    map[list->n] = (struct wl_column_map) { "o.run", WL_COLUMN_INT, offsetof(struct observed, run) };
    return map;
}

static void fill(const struct wl_obs_column *c, size_t at, const struct observed_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        if (c->text)
            c->text[i] = observed_row(rows, i)->at[at].text;
        else
            c->real[i] = observed_row(rows, i)->at[at].real;
}

static bool has_values(const struct column *c, size_t at, const struct observed_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        const union cell *v = &observed_row(rows, i)->at[at];
        if (c->text ? v->text != NULL : !isnan(v->real)) return true;
    }
    return false;
}

static void add_further(struct wl_observations *out, const struct columns *list, const struct observed_rows *rows,
                        struct wl_arena *a)
{
    for (size_t c = list->canonical; c < list->n; c++) {
        if (list->v[c].optional && !has_values(&list->v[c], c, rows)) continue;
        WL_GROW(a, out->extra, out->n_extra, out->extra_cap);
        struct wl_obs_column *column = &out->extra[out->n_extra++];
        *column = (struct wl_obs_column) { .name = list->v[c].name, .setting = list->v[c].setting };
        if (list->v[c].text)
            column->text = wl_new_array(a, const char *, out->n);
        else
            column->real = wl_new_array(a, double, out->n);
        fill(column, c, rows);
    }
}

/* ---- settings without a column of their own: a column for each name in the JSON texts ---- */

struct settings_text {
    int64_t run;
    const char *extra, *actual;
};
struct setting_column {
    const char *name;
    const char **text; /* [n] */
};
struct setting_columns {
    struct setting_column *v;
    size_t n, cap;
};

static const char **column_named(struct setting_columns *list, const char *name, size_t n, struct wl_arena *a)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i].name, name) == 0) return list->v[i].text;
    WL_GROW(a, list->v, list->n, list->cap);
    list->v[list->n] = (struct setting_column) { name, wl_new_array(a, const char *, n) };
    return list->v[list->n++].text;
}

/* Both lists are in the order of runs; `row` is the run's first. rows.c has seen that the text is an object. */
static int add_object(struct setting_columns *list, const struct settings_text *of, const struct observed_rows *rows,
                      size_t row, struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *object;
    int rc = wl_json_parse(wl_settings_merge_extra(of->extra, of->actual, a), "settings", &object, a, e);
    if (rc) return rc;
    for (const char *key = wl_json_key(object, NULL); key; key = wl_json_key(object, key)) {
        const char *text = wl_settings_extra_text(wl_json_get(object, key), a),
                   **column = column_named(list, key, rows->n, a);
        for (size_t r = row; r < rows->n && observed_row(rows, r)->run == of->run; r++) column[r] = text;
    }
    return 0;
}

static int add_settings(struct wl_store *s, struct wl_observations *out, const struct observed_rows *rows,
                        struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "s.run", WL_COLUMN_INT, offsetof(struct settings_text, run) },
        { "s.extra", WL_COLUMN_OBJECT, offsetof(struct settings_text, extra) },
        { "a.extra", WL_COLUMN_OBJECT, offsetof(struct settings_text, actual) },
        { NULL },
    };
    struct settings_text *texts;
    size_t n;
    const struct wl_query q = {
        .map = map,
        .from = "FROM setting s LEFT JOIN actual a ON a.run = s.run WHERE s.extra IS NOT NULL ORDER BY s.run",
        .size = sizeof *texts,
    };
    int rc = wl_rows_select(s, &q, &texts, &n, a, e);
    struct setting_columns list = { 0 };
    for (size_t i = 0, row = 0; i < n && rc == 0; i++) {
        while (row < rows->n && observed_row(rows, row)->run < texts[i].run) row++;
        if (row < rows->n && observed_row(rows, row)->run == texts[i].run)
            rc = add_object(&list, &texts[i], rows, row, a, e);
    }
    for (size_t k = 0; k < list.n && rc == 0; k++) {
        wl_obs_add_extra(out, list.v[k].name, list.v[k].text, a);
        out->extra[out->n_extra - 1].setting = true;
    }
    return rc;
}

/* ---- where runs were ---- */

struct host_row {
    int64_t run;
    const char *host;
};

/* A column of texts, left out where rows do not differ: most campaigns have one machine. */
static void add_where_different(struct wl_observations *out, const char *name, const char **text, struct wl_arena *a)
{
    bool differ = false;
    for (size_t i = 1; i < out->n; i++) differ |= !wl_str_eq(text[i], text[0]);
    if (differ) wl_obs_add_extra(out, name, text, a);
}

/* The hosts of each run: "n1", "n1,n2". */
static int add_nodes(struct wl_store *s, struct wl_observations *out, const struct observed_rows *rows,
                     struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = { { "r.id", WL_COLUMN_INT, offsetof(struct host_row, run) },
                                                { "coalesce(n.host, r.host)", WL_COLUMN_TEXT,
                                                  offsetof(struct host_row, host) },
                                                { NULL } };
    const struct wl_query q = {
        .map = map,
        .from = "FROM run r LEFT JOIN node n ON n.run = r.id ORDER BY r.id, n.first DESC, n.host",
        .size = sizeof(struct host_row),
    };
    struct host_row *v;
    size_t n;
    int rc = wl_rows_select(s, &q, &v, &n, a, e);
    const char **text = wl_new_array(a, const char *, rows->n);
    for (size_t i = 0, row = 0; i < n && rc == 0; i++) {
        while (row < rows->n && observed_row(rows, row)->run < v[i].run) row++;
        for (size_t r = row; r < rows->n && observed_row(rows, r)->run == v[i].run; r++)
            text[r] = r > row ? text[row] : text[r] ? wl_strf(a, "%s,%s", text[r], v[i].host) : v[i].host;
    }
    if (rc == 0) add_where_different(out, placement_columns[0], text, a);
    return rc;
}

static int add_placement(struct wl_store *s, struct wl_observations *out, const struct observed_rows *rows,
                         struct wl_arena *a, struct wl_err *e)
{
    struct wl_placement_rows placed;
    int rc = wl_store_placements(s, 0, &placed, a, e);
    if (rc || !placed.n) return rc;
    const char **switches = wl_new_array(a, const char *, rows->n);
    struct wl_obs_column wait = { .name = placement_columns[2], .unit = "s", .real = wl_new_array(a, double, rows->n) };
    bool known = false;
    for (size_t r = 0, i = 0; r < rows->n; r++) {
        while (i < placed.n && placed.v[i].run < observed_row(rows, r)->run) i++;
        const bool has = i < placed.n && placed.v[i].run == observed_row(rows, r)->run;
        switches[r] = has ? placed.v[i].switches : NULL;
        wait.real[r] = has ? placed.v[i].queue_wait_s : NAN;
        known |= !isnan(wait.real[r]);
    }
    add_where_different(out, placement_columns[1], switches, a);
    if (!known) return 0;
    WL_GROW(a, out->extra, out->n_extra, out->extra_cap);
    out->extra[out->n_extra++] = wait;
    return 0;
}

int wl_store_observations(struct wl_store *s, int64_t campaign, struct wl_observations *out, struct wl_arena *a,
                          struct wl_err *e)
{
    return wl_store_observations_of(s, campaign, NULL, out, a, e);
}

int wl_store_observations_of(struct wl_store *s, int64_t campaign, const char *metric, struct wl_observations *out,
                             struct wl_arena *a, struct wl_err *e)
{
    static const char from[] = "FROM observations o JOIN setting s ON s.run = o.run JOIN run r ON r.id = o.run "
                               "LEFT JOIN total x ON x.run = o.run AND x.epoch = ifnull(o.epoch, 0) "
                               "LEFT JOIN epoch t ON t.run = o.run AND t.epoch = o.epoch "
                               "LEFT JOIN span p ON o.epoch IS NULL AND p.run = o.run AND p.kind = 'steps' "
                               "LEFT JOIN total w ON w.run = o.run AND w.epoch = 0 "
                               "LEFT JOIN metric m ON m.run = o.run AND ifnull(m.epoch, 0) = ifnull(o.epoch, 0) "
                               "AND m.name = ?2 "
                               "LEFT JOIN metric_def d ON d.run = o.run AND d.name = coalesce(m.name, o.metric) "
                               "WHERE ?1 IN (0, s.campaign) ORDER BY o.run, o.epoch";
    const struct columns list = all_columns(a);
    struct observed_rows rows = { .size = sizeof(struct observed) + list.n * sizeof(union cell) };
    const struct wl_query q = {
        .map = map_of(&list, a),
        .from = from,
        .values = SQL(sql_int(campaign), sql_text(metric)),
        .size = rows.size,
    };
    int rc = wl_rows_select(s, &q, &rows.v, &rows.n, a, e);
    if (rc) return rc;
    *out = (struct wl_observations) { .source = s->path };
    wl_obs_alloc(out, rows.n, a);
    for (size_t c = 0; c < list.canonical; c++) {
        struct wl_obs_column column;
        WL_CHECK(wl_obs_find(out, wl_obs_names[c], &column, NULL) == 0);
        fill(&column, c, &rows);
    }
    add_further(out, &list, &rows, a);
    rc = add_nodes(s, out, &rows, a, e);
    if (rc == 0) rc = add_placement(s, out, &rows, a, e);
    if (rc == 0) rc = add_settings(s, out, &rows, a, e);
    if (rc == 0) wl_obs_index_runs(out, a);
    return rc;
}
