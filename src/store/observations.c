/* The view `observations` as a struct of arrays. */
#include "store/read.h"

#include "store/connection.h"
#include "store/rows.h"

#include <math.h>
#include <string.h>

enum { CANONICAL = 18, FURTHER = 18 };

struct observed {
    union {
        const char *text;
        double real;
    } at[CANONICAL + FURTHER];
    int64_t run;
};
#define TEXT(i, name)                                          \
    {                                                          \
        name, WL_COLUMN_TEXT, offsetof(struct observed, at[i]) \
    }
#define REAL(i, name)                                          \
    {                                                          \
        name, WL_COLUMN_REAL, offsetof(struct observed, at[i]) \
    }

static const struct wl_column_map observed_map[] = {
    /* in the order of wl_obs_names */
    TEXT(0, "o.workload"),
    TEXT(1, "o.hardware"),
    REAL(2, "o.nodes"),
    REAL(3, "o.workers"),
    REAL(4, "o.local_batch"),
    REAL(5, "o.global_batch"),
    REAL(6, "o.power_cap_w"),
    REAL(7, "o.clock_mhz"),
    TEXT(8, "CAST(o.run AS TEXT)"),
    REAL(9, "o.epoch"),
    REAL(10, "o.time_s"),
    REAL(11, "o.energy_j"),
    REAL(12, "o.samples"),
    REAL(13, "o.updates"),
    TEXT(14, "coalesce(m.name, o.metric)"),
    REAL(15, "CASE WHEN m.name IS NULL THEN o.metric_value ELSE m.value END"),
    REAL(16, "o.estimated"),
    REAL(17, "o.simulated"),
    /* further columns, in the order of `further` */
    REAL(18, "s.accumulation"),
    REAL(19, "s.threads"),
    REAL(20, "r.repeat"),
    REAL(21, "x.energy_lo_j"),
    REAL(22, "x.energy_hi_j"),
    REAL(23, "x.idle_j"),
    REAL(24, "r.begin_c"),
    REAL(25, "s.module_cap_w"),
    REAL(26, "s.mem_clock_mhz"),
    REAL(27, "x.achieved_clock_mhz"),
    REAL(28, "x.achieved_mem_clock_mhz"),
    REAL(29, "x.power_capped_pct"),
    REAL(30, "w.power_cap_acted_pct"),
    REAL(31, "w.module_cap_acted_pct"),
    REAL(32, "w.clock_acted_pct"),
    REAL(33, "w.mem_clock_acted_pct"),
    TEXT(34, "d.unit"),
    TEXT(35, "CASE d.larger WHEN 1 THEN 'larger' WHEN 0 THEN 'smaller' END"),
    { "o.run", WL_COLUMN_INT, offsetof(struct observed, run) },
    { NULL },
};
static const struct {
    const char *name;
    bool setting, text;
} further[FURTHER] = {
    { .name = "accumulation", .setting = true },
    { .name = "threads", .setting = true },
    { .name = "repeat" },
    { .name = "energy_lo_j" },
    { .name = "energy_hi_j" },
    { .name = "idle_j" },
    { .name = "begin_temperature_c" },
    { .name = "module_cap_w", .setting = true },
    { .name = "mem_clock_mhz", .setting = true },
    { .name = "achieved_clock_mhz" },
    { .name = "achieved_mem_clock_mhz" },
    { .name = "power_capped_pct" },
    { .name = "power_cap_acted_pct" },
    { .name = "module_cap_acted_pct" },
    { .name = "clock_acted_pct" },
    { .name = "mem_clock_acted_pct" },
    { .name = "metric_unit", .text = true },
    { .name = "metric_better", .text = true },
};

static void fill(const struct wl_obs_column *c, size_t at, const struct observed *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c->text)
            c->text[i] = v[i].at[at].text;
        else
            c->real[i] = v[i].at[at].real;
}

static void add_further(struct wl_observations *out, const struct observed *v, struct wl_arena *a)
{
    for (size_t c = 0; c < FURTHER; c++) {
        WL_GROW(a, out->extra, out->n_extra, out->extra_cap);
        struct wl_obs_column *column = &out->extra[out->n_extra++];
        *column = (struct wl_obs_column) { .name = further[c].name, .setting = further[c].setting };
        if (further[c].text)
            column->text = wl_new_array(a, const char *, out->n);
        else
            column->real = wl_new_array(a, double, out->n);
        fill(column, CANONICAL + c, v, out->n);
    }
}

/* ---- settings without a column of their own: a column for each name in the JSON texts ---- */

struct settings_text {
    int64_t run;
    const char *extra;
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

/* As SQLite's json_each casts it to text: true is 1, null is missing. */
static const char *setting_text(const struct wl_json *value, struct wl_arena *a)
{
    if (wl_json_str(value)) return wl_strdup(a, wl_json_str(value));
    const char *text = wl_json_text(value, 0, a);
    double number = wl_json_real(value);
    if (!isnan(number)) return wl_strf(a, "%.15g", number);
    return strcmp(text, "null") == 0 ? NULL : strcmp(text, "true") == 0 ? "1" : strcmp(text, "false") == 0 ? "0" : text;
}

/* Both lists are in the order of runs; `row` is the run's first. rows.c has seen that the text is an object. */
static int add_object(struct setting_columns *list, const struct settings_text *of, const struct observed *v,
                      size_t row, size_t n, struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *object;
    int rc = wl_json_parse(of->extra, "settings", &object, a, e);
    if (rc) return rc;
    for (const char *key = wl_json_key(object, NULL); key; key = wl_json_key(object, key)) {
        const char *text = setting_text(wl_json_get(object, key), a), **column = column_named(list, key, n, a);
        for (size_t r = row; r < n && v[r].run == of->run; r++) column[r] = text;
    }
    return 0;
}

static int add_settings(struct wl_store *s, struct wl_observations *out, const struct observed *v, struct wl_arena *a,
                        struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "s.run", WL_COLUMN_INT, offsetof(struct settings_text, run) },
        { "s.extra", WL_COLUMN_OBJECT, offsetof(struct settings_text, extra) },
        { NULL },
    };
    struct settings_text *texts;
    size_t n;
    const struct wl_query q = {
        .map = map,
        .from = "FROM setting s WHERE s.extra IS NOT NULL ORDER BY s.run",
        .size = sizeof *texts,
    };
    int rc = wl_rows_select(s, &q, &texts, &n, a, e);
    struct setting_columns list = { 0 };
    for (size_t i = 0, row = 0; i < n && rc == 0; i++) {
        while (row < out->n && v[row].run < texts[i].run) row++;
        if (row < out->n && v[row].run == texts[i].run) rc = add_object(&list, &texts[i], v, row, out->n, a, e);
    }
    for (size_t k = 0; k < list.n && rc == 0; k++) {
        wl_obs_add_extra(out, list.v[k].name, list.v[k].text, a);
        out->extra[out->n_extra - 1].setting = true;
    }
    return rc;
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
                               "LEFT JOIN total w ON w.run = o.run AND w.epoch = 0 "
                               "LEFT JOIN metric m ON m.run = o.run AND ifnull(m.epoch, 0) = ifnull(o.epoch, 0) "
                               "AND m.name = ?2 "
                               "LEFT JOIN metric_def d ON d.run = o.run AND d.name = coalesce(m.name, o.metric) "
                               "WHERE ?1 IN (0, s.campaign) ORDER BY o.run, o.epoch";
    struct observed *v;
    size_t n;
    const struct wl_query q = {
        .map = observed_map,
        .from = from,
        .values = SQL(sql_int(campaign), sql_text(metric)),
        .size = sizeof *v,
    };
    int rc = wl_rows_select(s, &q, &v, &n, a, e);
    if (rc) return rc;
    *out = (struct wl_observations) { .source = s->path };
    wl_obs_alloc(out, n, a);
    for (size_t c = 0; c < CANONICAL; c++) {
        struct wl_obs_column column;
        WL_CHECK(wl_obs_find(out, wl_obs_names[c], &column, NULL) == 0);
        fill(&column, c, v, n);
    }
    add_further(out, v, a);
    rc = add_settings(s, out, v, a, e);
    if (rc == 0) wl_obs_index_runs(out, a);
    return rc;
}
