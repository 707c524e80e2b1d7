#include "base/observations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The canonical columns in their order. */
#define COLUMNS(TEXT, REAL)  \
    TEXT(workload)           \
    TEXT(hardware)           \
    REAL(nodes, NULL)        \
    REAL(workers, NULL)      \
    REAL(local_batch, NULL)  \
    REAL(global_batch, NULL) \
    REAL(power_cap_w, "W")   \
    REAL(clock_mhz, "MHz")   \
    TEXT(run)                \
    REAL(epoch, NULL)        \
    REAL(time_s, "s")        \
    REAL(energy_j, "J")      \
    REAL(samples, NULL)      \
    REAL(updates, NULL)      \
    TEXT(metric)             \
    REAL(metric_value, NULL) \
    REAL(estimated, NULL)    \
    REAL(simulated, NULL)

enum { RUN_COLUMNS = 9 }; /* workload ... run: the columns that identify a run */

/* Where a column lies in the struct. */
static const struct column {
    const char *name, *unit;
    bool is_text;
    size_t offset;
} columns[] = {
#define TEXT(column)       { #column, NULL, true, offsetof(struct wl_observations, column) },
#define REAL(column, unit) { #column, unit, false, offsetof(struct wl_observations, column) },
    COLUMNS(TEXT, REAL)
#undef TEXT
#undef REAL
};

const char *const wl_obs_names[] = {
#define TEXT(column)       #column,
#define REAL(column, unit) #column,
    COLUMNS(TEXT, REAL) NULL
#undef TEXT
#undef REAL
};

static void *array_of(const struct wl_observations *obs, const struct column *c)
{
    void *array;
    memcpy(&array, (const char *)obs + c->offset, sizeof array);
    return array;
}

static double *missing_reals(struct wl_arena *a, size_t n)
{
    double *v = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) v[i] = NAN;
    return v;
}

void wl_obs_alloc(struct wl_observations *obs, size_t n, struct wl_arena *a)
{
    *obs = (struct wl_observations) { .n = n,
                                      .source = obs->source,
                                      .note = obs->note,
                                      .work = obs->work,
                                      .counted = obs->counted,
                                      .run_index = wl_new_array(a, size_t, n) };
    for (size_t i = 0; i < WL_COUNT(columns); i++) {
        void *array = columns[i].is_text ? (void *)wl_new_array(a, const char *, n) : (void *)missing_reals(a, n);
        memcpy((char *)obs + columns[i].offset, &array, sizeof array);
    }
    for (size_t r = 0; r < n; r++) obs->estimated[r] = obs->simulated[r] = 0;
}

static bool missing_text(const char *s) { return !s || !*s; }

/* The texts as numbers, or NULL if one of them is not a number. */
static double *numbers(const char *const *text, size_t n, struct wl_arena *a)
{
    double *v = missing_reals(a, n);
    for (size_t i = 0; i < n; i++)
        if (!missing_text(text[i]) && (strpbrk(text[i], "xX") || wl_str_to_real(text[i], &v[i]))) return NULL;
    return v;
}

void wl_obs_add_extra(struct wl_observations *obs, const char *name, const char **text, struct wl_arena *a)
{
    struct wl_obs_column c = { .name = wl_strdup(a, name), .real = numbers(text, obs->n, a) };
    if (!c.real) c.text = text;
    for (size_t i = 0; c.text && i < obs->n; i++)
        if (missing_text(text[i])) text[i] = NULL;
    WL_GROW(a, obs->extra, obs->n_extra, obs->extra_cap);
    obs->extra[obs->n_extra++] = c;
}

static struct wl_obs_column as_column(const struct wl_observations *obs, const struct column *c)
{
    struct wl_obs_column out = { .name = c->name, .unit = c->unit };
    if (c->is_text)
        out.text = array_of(obs, c);
    else
        out.real = array_of(obs, c);
    return out;
}

static int no_column(const struct wl_observations *obs, const char *name, struct wl_err *e)
{
    size_t n = WL_COUNT(columns) + obs->n_extra;
    const char **names = malloc(n * sizeof *names);
    if (!names) return wl_fail(e, WL_ENOMEM, "no memory for %zu column names", n);
    for (size_t i = 0; i < n; i++)
        names[i] = i < WL_COUNT(columns) ? columns[i].name : obs->extra[i - WL_COUNT(columns)].name;
    const char *near = wl_str_closest(name, names, n);
    const char *source = obs->source ? obs->source : "the observations";
    int rc = near ? wl_fail(e, WL_ENOENT, "%s: no column \"%s\"; did you mean \"%s\"?", source, name, near)
                  : wl_fail(e, WL_ENOENT, "%s: no column \"%s\"", source, name);
    free(names);
    return rc;
}

int wl_obs_find(const struct wl_observations *obs, const char *name, struct wl_obs_column *out, struct wl_err *e)
{
    for (size_t i = 0; i < WL_COUNT(columns); i++)
        if (strcmp(columns[i].name, name) == 0) {
            *out = as_column(obs, &columns[i]);
            return 0;
        }
    for (size_t i = 0; i < obs->n_extra; i++)
        if (strcmp(obs->extra[i].name, name) == 0) {
            *out = obs->extra[i];
            return 0;
        }
    return no_column(obs, name, e);
}

const char *wl_obs_text(const struct wl_obs_column *column, size_t row, struct wl_arena *a)
{
    if (column->text) return column->text[row] ? column->text[row] : "";
    double v = column->real[row];
    return isnan(v) ? "" : wl_strf(a, "%.15g", v);
}

/* ---- runs ---- */

static bool same_text(const char *x, const char *y) { return strcmp(x ? x : "", y ? y : "") == 0; }

static bool same_real(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

static bool same_field(const struct wl_obs_column *c, size_t x, size_t y)
{
    return c->text ? same_text(c->text[x], c->text[y]) : same_real(c->real[x], c->real[y]);
}

static bool same_run(const struct wl_observations *obs, size_t x, size_t y)
{
    for (size_t i = 0; i < RUN_COLUMNS; i++) {
        struct wl_obs_column c = as_column(obs, &columns[i]);
        if (!same_field(&c, x, y)) return false;
    }
    for (size_t i = 0; i < obs->n_extra; i++)
        if (obs->extra[i].setting && !same_field(&obs->extra[i], x, y)) return false;
    return true;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
    for (const unsigned char *p = bytes; n--; p++) hash = (hash ^ *p) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

static uint64_t mix_field(uint64_t hash, const struct wl_obs_column *c, size_t row)
{
    if (c->text) return mix(hash, c->text[row] ? c->text[row] : "", c->text[row] ? strlen(c->text[row]) + 1 : 1);
    double v = c->real[row] + 0.0; /* -0 and 0 are the same */
    return isnan(v) ? mix(hash, "", 1) : mix(hash, &v, sizeof v);
}

static uint64_t run_hash(const struct wl_observations *obs, size_t row)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < RUN_COLUMNS; i++) {
        struct wl_obs_column c = as_column(obs, &columns[i]);
        hash = mix_field(hash, &c, row);
    }
    for (size_t i = 0; i < obs->n_extra; i++)
        if (obs->extra[i].setting) hash = mix_field(hash, &obs->extra[i], row);
    return hash;
}

/* Without a label a run continues while its epochs increase. */
static bool continues_run(const struct wl_observations *obs, size_t last, size_t row)
{
    if (obs->run[row]) return true;
    return obs->epoch[row] > obs->epoch[last];
}

/* A hash table of the last row of each run, open addressing. */
void wl_obs_index_runs(struct wl_observations *obs, struct wl_arena *a)
{
    size_t size = 16;
    while (size < 2 * obs->n) size *= 2;
    struct wl_arena *scratch = wl_arena_new(a);
    size_t *last = wl_new_array(scratch, size_t, size); /* row + 1 */
    obs->runs = 0;
    for (size_t row = 0; row < obs->n; row++) {
        size_t at = run_hash(obs, row) & (size - 1);
        while (last[at] && !same_run(obs, last[at] - 1, row)) at = (at + 1) & (size - 1);
        bool known = last[at] && continues_run(obs, last[at] - 1, row);
        obs->run_index[row] = known ? obs->run_index[last[at] - 1] : obs->runs++;
        last[at] = row + 1;
    }
    wl_arena_free(scratch);
}

/* ---- parts ---- */

static void take_column(const struct wl_obs_column *from, const size_t *rows, size_t n, const struct wl_obs_column *to)
{
    for (size_t i = 0; i < n; i++) {
        if (from->text)
            to->text[i] = from->text[rows[i]];
        else
            to->real[i] = from->real[rows[i]];
    }
}

static void take_extra(const struct wl_observations *obs, const size_t *rows, struct wl_observations *out,
                       struct wl_arena *a)
{
    out->extra = wl_new_array(a, struct wl_obs_column, obs->n_extra);
    out->n_extra = out->extra_cap = obs->n_extra;
    for (size_t k = 0; k < obs->n_extra; k++) {
        struct wl_obs_column *to = &out->extra[k];
        *to = obs->extra[k];
        if (to->text)
            to->text = wl_new_array(a, const char *, out->n);
        else
            to->real = wl_new_array(a, double, out->n);
        take_column(&obs->extra[k], rows, out->n, to);
    }
}

/* number: [obs->runs] zeros, before and after. */
static void number_runs(const struct wl_observations *obs, const size_t *rows, size_t *number,
                        struct wl_observations *out)
{
    for (size_t i = 0; i < out->n; i++) {
        size_t *here = &number[obs->run_index[rows[i]]];
        if (!*here) *here = ++out->runs;
        out->run_index[i] = *here - 1;
    }
    for (size_t i = 0; i < out->n; i++) number[obs->run_index[rows[i]]] = 0;
}

static void take_rows(const struct wl_observations *obs, const size_t *rows, size_t n, struct wl_observations *out,
                      struct wl_arena *a)
{
    out->source = obs->source;
    out->note = obs->note;
    out->work = obs->work;
    out->counted = obs->counted;
    wl_obs_alloc(out, n, a);
    for (size_t c = 0; c < WL_COUNT(columns); c++) {
        const struct wl_obs_column from = as_column(obs, &columns[c]), to = as_column(out, &columns[c]);
        take_column(&from, rows, n, &to);
    }
    take_extra(obs, rows, out, a);
}

struct wl_observations *wl_obs_split(const struct wl_observations *obs, const size_t *part, size_t parts,
                                     struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_observations *out = wl_new_array(a, struct wl_observations, parts);
    size_t *rows = wl_new_array(scratch, size_t, obs->n), *end = wl_new_array(scratch, size_t, parts + 1),
           *number = wl_new_array(scratch, size_t, obs->runs);
    for (size_t row = 0; row < obs->n; row++)
        if (part[row] < parts) end[part[row] + 1]++;
    for (size_t p = 0; p < parts; p++) end[p + 1] += end[p];
    for (size_t row = 0; row < obs->n; row++) /* moves the first of each part to its end */
        if (part[row] < parts) rows[end[part[row]]++] = row;
    for (size_t p = 0, first = 0; p < parts; first = end[p++]) {
        take_rows(obs, rows + first, end[p] - first, &out[p], a);
        number_runs(obs, rows + first, number, &out[p]);
    }
    wl_arena_free(scratch);
    return out;
}
