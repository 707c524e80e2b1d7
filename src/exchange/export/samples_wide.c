/* Readings in wide form: a line per instant of a run, a column per series. A reading that failed is NaN, which pandas,
 * R and gnuplot read as missing; an empty field is an instant of other series. */
#include "exchange/export/export.h"

#include <math.h>
#include <string.h>

/* The series of all runs, by name: one column each. */
struct columns {
    struct wl_strs names;
    bool several_hosts;
    struct wl_arena *arena;
};

/* The channels of a run, and where the columns take their readings from. */
struct channels {
    struct wl_channel_rows rows;
    struct wl_device_rows devices;
    size_t *column; /* [rows.n] */
};

static const struct wl_device_row *device_of(const struct channels *c, int64_t id)
{
    for (size_t i = 0; i < c->devices.n; i++)
        if (c->devices.v[i].id == id) return &c->devices.v[i];
    return NULL;
}

static int read_channels(struct wl_store *s, int64_t run, struct channels *out, struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_store_devices(s, run, &out->devices, a, e);
    if (rc == 0) rc = wl_store_channels(s, run, &out->rows, a, e);
    for (size_t i = 0; rc == 0 && i < out->rows.n; i++)
        if (!device_of(out, out->rows.v[i].device))
            return wl_fail(e, WL_EINVAL, "%s: corrupt store: channel %lld has no device", wl_store_path(s),
                           (long long)out->rows.v[i].id);
    return rc;
}

/* "GPU-5f0a gpu power_w instant (simulated)"; the unit is in the quantity's name. */
static char *name_of(const struct columns *all, const struct wl_channel_row *c, const struct wl_device_row *d)
{
    struct wl_text t = WL_TEXT(all->arena);
    const char *mark = wl_provenance_mark(wl_provenance_of(c->estimated, c->simulated));
    if (all->several_hosts) wl_text_addf(&t, "%s ", d->host);
    wl_text_addf(&t, "%s %s %s", d->uuid, c->scope, c->quantity);
    if (*c->variant) wl_text_addf(&t, " %s", c->variant);
    wl_text_add(&t, mark);
    return t.s;
}

static size_t column_of(struct columns *all, const char *name)
{
    for (size_t i = 0; i < all->names.n; i++)
        if (strcmp(all->names.v[i], name) == 0) return i;
    wl_strs_add(all->arena, &all->names, name);
    return all->names.n - 1;
}

static void add_columns(struct columns *all, struct channels *c)
{
    c->column = wl_new_array(all->arena, size_t, c->rows.n);
    for (size_t i = 0; i < c->rows.n; i++)
        c->column[i] = column_of(all, name_of(all, &c->rows.v[i], device_of(c, c->rows.v[i].device)));
}

static bool has_several_hosts(const struct channels *of, size_t runs)
{
    const char *first = NULL;
    for (size_t i = 0; i < runs; i++)
        for (size_t k = 0; k < of[i].devices.n; k++) {
            if (first && strcmp(first, of[i].devices.v[k].host) != 0) return true;
            first = of[i].devices.v[k].host;
        }
    return false;
}

/* ---- the lines of a run ---- */

struct series {
    struct wl_readings r;
    size_t next, column;
};

static int64_t earliest(const struct series *v, size_t n)
{
    int64_t t = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        if (v[i].next < v[i].r.n && v[i].r.t_ns[v[i].next] < t) t = v[i].r.t_ns[v[i].next];
    return t;
}

/* A column at an instant. */
struct field {
    bool is_read; /* or else the series has no reading then */
    double value; /* NAN: it failed */
};

/* Two series may share a column: of channels that a forged store has twice, the last counts. */
static void take(struct series *v, size_t n, int64_t t_ns, struct field *row)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].next < v[i].r.n && v[i].r.t_ns[v[i].next] == t_ns)
            row[v[i].column] = (struct field) { true, v[i].r.value[v[i].next++] };
}

static void put_field(const struct field *x, FILE *to)
{
    char number[WL_NUMBER_MAX];
    fprintf(to, ",%s", !x->is_read ? "" : isnan(x->value) ? "NaN" : wl_number_shortest(x->value, number));
}

static int write_run(struct wl_store *s, const struct wl_run_row *run, const struct channels *c, size_t columns,
                     FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct series *v = wl_new_array(a, struct series, c->rows.n);
    struct field *row = wl_new_array(a, struct field, columns);
    const int64_t start_ns = run->start.mono_ns == WL_NO_NS ? 0 : run->start.mono_ns;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->rows.n; i++) {
        v[i].column = c->column[i];
        rc = wl_store_readings(s, c->rows.v[i].id, INT64_MIN, INT64_MAX, &v[i].r, a, e);
    }
    for (int64_t t_ns; rc == 0 && !ferror(to) && (t_ns = earliest(v, c->rows.n)) != INT64_MAX;) {
        for (size_t i = 0; i < columns; i++) row[i] = (struct field) { .is_read = false };
        take(v, c->rows.n, t_ns, row);
        fprintf(to, "%lld,%.6f", (long long)run->id, (double)(t_ns - start_ns) / 1e9);
        for (size_t i = 0; i < columns; i++) put_field(&row[i], to);
        fputs("\n", to);
    }
    wl_arena_free(a);
    return rc;
}

int wl_samples_write_wide(struct wl_store *s, const struct wl_run_rows *runs, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct channels *of = wl_new_array(a, struct channels, runs->n);
    struct columns all = { .arena = a };
    struct wl_text head = WL_TEXT(a);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < runs->n; i++) rc = read_channels(s, runs->v[i].id, &of[i], a, e);
    all.several_hosts = rc == 0 && has_several_hosts(of, runs->n);
    for (size_t i = 0; rc == 0 && i < runs->n; i++) add_columns(&all, &of[i]);
    for (size_t i = 0; i < all.names.n; i++) {
        wl_text_add(&head, ",");
        wl_csv_put(&head, all.names.v[i]);
    }
    if (rc == 0) fprintf(to, "run,t_s%s\n", head.s);
    for (size_t i = 0; rc == 0 && i < runs->n && !ferror(to); i++)
        rc = write_run(s, &runs->v[i], &of[i], all.names.n, to, e);
    wl_arena_free(a);
    return rc;
}
