#include "exchange/exchange.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- separator ---- */

/* Counts each candidate in the header, outside quotes. */
static char separator_of(const char *line)
{
    static const char candidates[] = ",;\t";
    size_t count[sizeof candidates] = { 0 }, best = 0;
    bool quoted = false;
    for (; *line; line++) {
        if (*line == '"') quoted = !quoted;
        const char *c = quoted ? NULL : strchr(candidates, *line);
        if (c) count[c - candidates]++;
    }
    for (size_t i = 1; candidates[i]; i++)
        if (count[i] > count[best]) best = i;
    return candidates[best];
}

/* The next line, cut to the size of `line`, without its end: LF, CRLF or CR. False at the end of the file. */
static bool read_line(FILE *f, char *line, size_t size)
{
    size_t n = 0;
    int c;
    while ((c = getc(f)) != EOF && c != '\n' && c != '\r')
        if (n + 1 < size) line[n++] = (char)c;
    line[n] = '\0';
    return n || c != EOF;
}

static char find_separator(const char *path)
{
    if (!wl_is_file(path)) return ',';
    FILE *f = fopen(path, "rb");
    char line[65536] = "";
    while (f && read_line(f, line, sizeof line) && (!line[0] || line[0] == '#')) {
    }
    if (f) fclose(f);
    return separator_of(line);
}

/* ---- which column of the file is which ---- */

/* State of reading a column of the file. */
struct csv_column {
    const char *name; /* canonical, or as in the file */
    bool canonical, is_text, is_flag;
    double *real;
    const char **text;
    size_t cap; /* of the array in use */
};

struct csv_columns {
    const struct wl_csv *csv;
    struct csv_column *v; /* one per column of the file */
    size_t rows;
    struct wl_arena *scratch; /* where their arrays grow */
};

static bool is_canonical(const char *name)
{
    for (size_t i = 0; wl_obs_names[i]; i++)
        if (strcmp(wl_obs_names[i], name) == 0) return true;
    return false;
}

/* The name of a column of the table, or of a setting, that a name is but for case, else the name. */
static const char *canonical_name(const char *name)
{
    for (size_t i = 0; wl_obs_names[i]; i++)
        if (strcasecmp(wl_obs_names[i], name) == 0) return wl_obs_names[i];
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (strcasecmp(r->name, name) == 0) return r->name;
    return name;
}

/* As it is written, else the one column that differs only in case. */
static int column_of_file(const struct wl_csv *csv, const char *name, struct wl_err *e)
{
    int column = wl_csv_column(csv, name), alike = 0;
    if (column >= 0) return column;
    for (size_t i = 0; i < csv->head.n; i++)
        if (strcasecmp(csv->head.v[i], name) == 0) column = (int)i, alike++;
    if (alike == 1) return column;
    const char *near = wl_str_closest(name, (const char *const *)csv->head.v, csv->head.n);
    return near ? wl_fail(e, WL_EINVAL, "%s: no column \"%s\"; did you mean \"%s\"?", csv->path, name, near)
                : wl_fail(e, WL_EINVAL, "%s: no column \"%s\"", csv->path, name);
}

/* A column of the table, or a setting, that the name is a misspelling of; NULL: none. */
static const char *closest_column(const char *name, struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    for (size_t i = 0; wl_obs_names[i]; i++) wl_strs_add(a, &names, wl_obs_names[i]);
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) wl_strs_add(a, &names, r->name);
    return wl_str_closest(name, (const char *const *)names.v, names.n);
}

/* Work per second: instead of a column time_s. */
static const char throughput_name[] = "throughput";

static int apply_map_entry(struct csv_columns *in, const char *entry, struct wl_arena *a, struct wl_err *e)
{
    const char *equals = strchr(entry, '=');
    if (!equals) return wl_fail(e, WL_EINVAL, "--map %s: expected canonical=column", entry);
    const char *name = wl_str_strip(a, wl_strndup(a, entry, (size_t)(equals - entry)));
    if (!is_canonical(name) && !wl_setting_find(name) && !wl_str_eq(name, throughput_name)) {
        const char *near = closest_column(name, a);
        return wl_fail(e, WL_EINVAL, "--map %s: \"%s\" is not a column of the observation table%s%s", entry, name,
                       near ? "; did you mean " : "", near ? near : "");
    }
    int column = column_of_file(in->csv, wl_str_strip(a, equals + 1), e);
    if (column < 0) return column;
    if (in->v[column].name)
        return wl_fail(e, WL_EINVAL, "--map %s: the column is already mapped to %s", entry, in->v[column].name);
    in->v[column].name = name;
    return 0;
}

/* The name of each column: mapped, or its own unless another column was mapped to that. */
static int name_columns(struct csv_columns *in, const struct wl_strs *map, struct wl_arena *a, struct wl_err *e)
{
    for (size_t i = 0; map && i < map->n; i++) {
        int rc = apply_map_entry(in, map->v[i], a, e);
        if (rc) return rc;
    }
    size_t mapped = map ? map->n : 0;
    for (size_t i = 0; i < in->csv->head.n; i++) {
        const char *own = canonical_name(in->csv->head.v[i]);
        bool taken = false;
        for (size_t k = 0; k < mapped; k++)
            taken = taken || (wl_str_starts(map->v[k], own) && map->v[k][strlen(own)] == '=');
        if (!in->v[i].name) in->v[i].name = taken ? wl_strf(a, "%s (file)", own) : own;
    }
    return 0;
}

struct named_column {
    const char *name;
    size_t column;
};

static int by_name(const void *x, const void *y)
{
    const struct named_column *p = x, *q = y;
    const int order = strcmp(p->name, q->name);
    return order ? order : (p->column > q->column) - (p->column < q->column);
}

static int same_name_twice(const struct csv_columns *in, struct wl_arena *a, struct wl_err *e)
{
    const size_t n = in->csv->head.n;
    char *const *head = in->csv->head.v;
    struct named_column *v = wl_new_array(a, struct named_column, n);
    for (size_t i = 0; i < n; i++) v[i] = (struct named_column) { in->v[i].name, i };
    if (n) qsort(v, n, sizeof *v, by_name);
    for (size_t i = 1; i < n; i++) {
        const char *first = head[v[i - 1].column], *second = head[v[i].column];
        if (strcmp(v[i].name, v[i - 1].name) != 0) continue;
        return strcmp(first, second) == 0
                   ? wl_fail(e, WL_EINVAL, "%s: duplicate column \"%s\"", in->csv->path, first)
                   : wl_fail(e, WL_EINVAL, "%s: duplicate column \"%s\": \"%s\" and \"%s\" differ only in case",
                             in->csv->path, v[i].name, first, second);
    }
    return 0;
}

static bool has_column(const struct csv_columns *in, const char *name)
{
    for (size_t i = 0; i < in->csv->head.n; i++)
        if (wl_str_eq(in->v[i].name, name)) return true;
    return false;
}

/* Without worker counts there are no laws. A table need not have them, but a misspelt column is named before its rows
 * are found to have none. */
static void warn_of_misspelt_workers(const struct csv_columns *in)
{
    const char *near = wl_str_closest("workers", (const char *const *)in->csv->head.v, in->csv->head.n);
    if (!has_column(in, "workers") && near && !is_canonical(near))
        wl_log(WL_WARN, "csv", "%s: no column \"workers\"; did you mean \"%s\"? (--map workers=%s)", in->csv->path,
               near, near);
}

/* Is the column the throughput of a table without times? */
static bool is_throughput(const struct csv_columns *in, const struct csv_column *c)
{
    return wl_str_eq(c->name, throughput_name) && !has_column(in, "time_s");
}

static int choose_columns(struct csv_columns *in, const struct wl_strs *map, struct wl_arena *a, struct wl_err *e)
{
    struct wl_observations none = { 0 };
    wl_obs_alloc(&none, 0, a);
    int rc = name_columns(in, map, a, e);
    if (rc == 0) rc = same_name_twice(in, a, e);
    bool response = false;
    for (size_t i = 0; i < in->csv->head.n && rc == 0; i++) {
        struct csv_column *c = &in->v[i];
        struct wl_obs_column column = { .text = NULL };
        c->canonical = is_canonical(c->name);
        if (c->canonical) rc = wl_obs_find(&none, c->name, &column, e);
        c->is_text = !column.real && !is_throughput(in, c);
        c->is_flag = wl_str_eq(c->name, "estimated") || wl_str_eq(c->name, "simulated");
        response = response || wl_str_eq(c->name, "time_s") || wl_str_eq(c->name, "energy_j") || is_throughput(in, c);
    }
    if (rc) return rc;
    if (!response)
        return wl_fail(e, WL_EINVAL,
                       "%s: none of the columns time_s, energy_j, throughput; name one by --map time_s=COLUMN",
                       in->csv->path);
    warn_of_misspelt_workers(in);
    return 0;
}

/* ---- decimal commas ---- */

/* What the numbers of a table that has another separator than the comma look like. */
struct commas {
    size_t points;              /* with a decimal point */
    size_t decimal, three;      /* with a comma, of these with three digits after it, as thousands have */
    int line;                   /* of the first one with a comma */
    const char *column, *value; /* and what it is */
};

/* 1,234 may be a thousand; 0,234 and 1234,5 cannot. */
static bool may_be_thousands(const char *s)
{
    s += strspn(s, " \t+-");
    const size_t before = strcspn(s, ","), after = strspn(s + before + 1, "0123456789");
    return before >= 1 && before <= 3 && s[0] != '0' && after == 3 && !strpbrk(s, "eE");
}

static void count_field(struct commas *c, const struct wl_csv *csv, size_t column, struct wl_arena *a)
{
    const char *field = csv->row[column];
    double number;
    if (strchr(field, '.') && wl_str_to_real(field + strspn(field, " \t"), &number) == 0) c->points++;
    if (!wl_csv_has_decimal_comma(field)) return;
    c->decimal++;
    c->three += may_be_thousands(field);
    if (c->value) return;
    c->line = csv->line;
    c->column = csv->head.v[column];
    c->value = wl_strdup(a, field);
}

/* Decides in a pass over the file whether commas are decimal. A table that has decimal points too, or in which every
 * comma may separate thousands, is refused. */
static int find_decimal_comma(const struct csv_columns *in, char separator, bool *decimal, struct wl_arena *a,
                              struct wl_err *e)
{
    struct wl_csv csv;
    struct commas c = { 0 };
    *decimal = false;
    if (separator == ',' || !wl_is_file(in->csv->path)) return 0;
    int rc = wl_csv_open(&csv, in->csv->path, separator, a, e);
    while (rc >= 0 && (rc = wl_csv_next(&csv, e)) > 0)
        for (size_t i = 0; i < csv.head.n; i++)
            if (!in->v[i].is_text) count_field(&c, &csv, i, a);
    if (rc < 0 || !c.decimal) return rc;
    if (c.points)
        return wl_fail(
            e, WL_EINVAL,
            "%s:%d: column %s: \"%s\" has a comma, other numbers of the table a decimal point: write all with "
            "a point",
            in->csv->path, c.line, c.column, c.value);
    if (c.three == c.decimal)
        return wl_fail(e, WL_EINVAL,
                       "%s:%d: column %s: \"%s\" may be a decimal number or thousands, like every number with a comma "
                       "here: write it with a point or without a comma",
                       in->csv->path, c.line, c.column, c.value);
    *decimal = true;
    return 0;
}

/* ---- rows ---- */

static int read_number(struct csv_columns *in, int column, struct wl_err *e)
{
    struct csv_column *c = &in->v[column];
    double value;
    int rc = wl_csv_real(in->csv, column, &value, e);
    if (rc) return rc;
    if (c->is_flag && isnan(value)) value = 0;
    if (c->is_flag && value != 0 && value != 1)
        return wl_fail(e, WL_EINVAL, "%s:%d: column %s: \"%s\" is not 0 or 1", in->csv->path, in->csv->line, c->name,
                       in->csv->row[column]);
    WL_GROW(in->scratch, c->real, in->rows, c->cap);
    c->real[in->rows] = value;
    return 0;
}

/* Is a field the text of the row before, without blanks at its ends that reading would remove? */
static bool repeats(const char *before, const char *field)
{
    return before && *before > ' ' && strcmp(before, field) == 0 && before[strlen(before) - 1] > ' ';
}

/* Rows that repeat a text share it. */
static void read_text(struct csv_columns *in, int column, struct wl_arena *a)
{
    struct csv_column *c = &in->v[column];
    const char *before = in->rows ? c->text[in->rows - 1] : NULL;
    WL_GROW(in->scratch, c->text, in->rows, c->cap);
    if (repeats(before, in->csv->row[column])) {
        c->text[in->rows] = before;
        return;
    }
    char *text = wl_csv_text(in->csv, column, a);
    if (in->csv->decimal_comma && !c->canonical && text && wl_csv_has_decimal_comma(text)) *strchr(text, ',') = '.';
    c->text[in->rows] = text;
}

static int read_rows(struct csv_columns *in, struct wl_csv *csv, struct wl_arena *a, struct wl_err *e)
{
    int rc;
    for (; (rc = wl_csv_next(csv, e)) > 0; in->rows++)
        for (size_t i = 0; i < csv->head.n; i++) {
            if (in->v[i].is_text)
                read_text(in, (int)i, a);
            else
                rc = read_number(in, (int)i, e);
            if (rc < 0) return rc;
        }
    return rc;
}

/* ---- the table ---- */

static void fill(struct wl_observations *out, const struct csv_column *c)
{
    struct wl_obs_column to;
    WL_CHECK(wl_obs_find(out, c->name, &to, NULL) == 0);
    if (out->n == 0) return;
    if (to.text)
        memcpy(to.text, c->text, out->n * sizeof *to.text);
    else
        memcpy(to.real, c->real, out->n * sizeof *to.real);
}

/* The time of an epoch: its samples, or one unit of work, over the throughput. */
static void fill_times(struct wl_observations *out, const struct csv_column *throughput)
{
    for (size_t i = 0; i < out->n; i++)
        out->time_s[i] = (isnan(out->samples[i]) ? 1 : out->samples[i]) / throughput->real[i];
}

/* The columns that were read, as the table. */
static void take_columns(const struct csv_columns *in, struct wl_observations *out, struct wl_arena *a)
{
    wl_obs_alloc(out, in->rows, a);
    for (size_t i = 0; i < in->csv->head.n; i++) {
        if (in->v[i].canonical) {
            fill(out, &in->v[i]);
            continue;
        }
        if (is_throughput(in, &in->v[i])) continue;
        const char **text = wl_new_array(a, const char *, in->rows);
        if (in->rows) memcpy(text, in->v[i].text, in->rows * sizeof *text);
        wl_obs_add_extra(out, in->v[i].name, text, a);
        out->extra[out->n_extra - 1].setting = wl_setting_separates(in->v[i].name);
    }
    for (size_t i = 0; i < in->csv->head.n; i++)
        if (is_throughput(in, &in->v[i])) fill_times(out, &in->v[i]);
}

int wl_obs_read_csv(const char *path, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                    struct wl_err *e)
{
    struct wl_csv csv;
    const char separator = find_separator(path);
    int rc = wl_csv_open(&csv, path, separator, a, e);
    if (rc) return rc;
    struct csv_columns in = { .csv = &csv, .v = wl_new_array(a, struct csv_column, csv.head.n) };
    rc = choose_columns(&in, map, a, e);
    if (rc == 0) rc = find_decimal_comma(&in, separator, &csv.decimal_comma, a, e);
    if (rc) return rc;
    in.scratch = wl_arena_new(a);
    rc = read_rows(&in, &csv, a, e);
    if (rc == 0) {
        *out = (struct wl_observations) { .source = csv.path };
        if (csv.decimal_comma) out->note = "numbers of the table have decimal commas: 12,5 is read as 12.5";
        take_columns(&in, out, a);
    }
    wl_arena_free(in.scratch);
    if (rc) return rc;
    wl_obs_index_runs(out, a);
    return 0;
}
