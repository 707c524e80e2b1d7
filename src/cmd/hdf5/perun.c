/* perun's HDF5: /APP/nodes/RUN/nodes/ROUND/nodes/HOST/nodes/GROUP/nodes/SENSOR/raw_data, with timesteps and values that
 * have their unit and magnitude as attributes. Source: github.com/Helmholtz-AI-Energy/perun, perun/io/hdf5.py. */
#include "cmd/hdf5/tools.h"

enum { APP, RUN, ROUND, HOST, GROUP, SENSOR, LEVELS };

struct tree {
    struct wl_hdf5_file *f;
    FILE *to;
    const char *path[LEVELS];
    size_t runs;    /* of the file: rounds are numbered in each */
    size_t sensors; /* with readings */
};

/* ---- a sensor ---- */

/* The fields of all its lines that come before the numbers, and those after. */
static int set_texts(const struct tree *t, hid_t sensor, hid_t values, struct wl_text *before, struct wl_text *after,
                     struct wl_arena *a, struct wl_err *e)
{
    static const char *const about[] = { "uuid", "name", "driver_version" };
    double magnitude = 1;
    char number[WL_NUMBER_MAX];
    const char *round = t->runs > 1 ? wl_strf(a, "%s %s", t->path[RUN], t->path[ROUND]) : t->path[ROUND];
    const char *const fields[] = { round, t->path[HOST], t->path[GROUP], t->path[SENSOR],
                                   wl_hdf5_attribute_text(values, "unit", a) };
    for (size_t i = 0; i < WL_COUNT(fields); i++) {
        wl_hdf5_put(before, fields[i], a);
        wl_text_add(before, ",");
    }
    int rc = wl_hdf5_attribute_number(values, "mag", &magnitude, e);
    if (rc == 0 && H5Aexists(values, "unit") <= 0) rc = wl_fail(e, WL_EINVAL, "values without a unit");
    wl_text_addf(before, "%s,", wl_number_shortest(magnitude, number));
    for (size_t i = 0; i < WL_COUNT(about); i++) {
        wl_text_add(after, ",");
        wl_hdf5_put(after, wl_hdf5_attribute_text(sensor, about[i], a), a);
    }
    return rc;
}

static int put_lines(const struct tree *t, const struct wl_hdf5_numbers *steps, const struct wl_hdf5_numbers *values,
                     const char *before, const char *after, struct wl_err *e)
{
    static double step_s[WL_HDF5_BLOCK], value[WL_HDF5_BLOCK];
    char x[WL_NUMBER_MAX], y[WL_NUMBER_MAX];
    int rc = 0;
    for (hsize_t first = 0; first < steps->rows && rc == 0; first += WL_HDF5_BLOCK) {
        const hsize_t left = steps->rows - first, n = left < WL_HDF5_BLOCK ? left : WL_HDF5_BLOCK;
        rc = wl_hdf5_numbers_read(steps, first, n, step_s, e);
        if (rc == 0) rc = wl_hdf5_numbers_read(values, first, n, value, e);
        for (hsize_t i = 0; i < n && rc == 0; i++)
            fprintf(t->to, "%llu,%s%s,%s%s\n", (unsigned long long)(first + i), before,
                    wl_number_shortest(step_s[i], x), wl_number_shortest(value[i], y), after);
    }
    return rc;
}

static int write_readings(struct tree *t, hid_t sensor, hid_t raw, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_hdf5_numbers steps, values = { .set = -1 };
    struct wl_text before = WL_TEXT(a), after = WL_TEXT(a);
    int rc = wl_hdf5_numbers_open(t->f, raw, "timesteps", &steps, e);
    if (rc == 0) rc = wl_hdf5_numbers_open(t->f, raw, "values", &values, e);
    if (rc == 0 && (steps.columns != 1 || values.columns != 1 || steps.rows != values.rows))
        rc = wl_fail(e, WL_EINVAL, "%llu values at %llu times", (unsigned long long)values.rows,
                     (unsigned long long)steps.rows);
    if (rc == 0) rc = set_texts(t, sensor, values.set, &before, &after, a, e);
    if (rc == 0) rc = put_lines(t, &steps, &values, before.s, after.s, e);
    wl_hdf5_numbers_close(&steps);
    wl_hdf5_numbers_close(&values);
    wl_arena_free(a);
    t->sensors += rc == 0;
    return rc;
}

static int write_sensor(struct tree *t, hid_t sensor, struct wl_err *e)
{
    struct wl_err own = { 0 };
    hid_t raw;
    int rc = wl_hdf5_group(sensor, "raw_data", &raw, &own);
    if (rc == 0) return 0; /* perun had none of it */
    if (rc > 0) {
        rc = write_readings(t, sensor, raw, &own);
        H5Gclose(raw);
    }
    if (rc < 0) return wl_fail(e, rc, "round %s, %s, %s: %s", t->path[ROUND], t->path[HOST], t->path[SENSOR], own.msg);
    return 0;
}

/* ---- the tree ---- */

typedef int visit(struct tree *t, hid_t node, int level, struct wl_err *e);

/* Calls `each` for the members of a group that are groups. */
static int for_each(struct tree *t, hid_t group, int level, visit *each, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_strs names = { 0 };
    int rc = wl_hdf5_names(group, &names, a, e);
    for (size_t i = 0; i < names.n && rc == 0; i++) {
        hid_t node;
        rc = wl_hdf5_group(group, names.v[i], &node, e);
        if (rc <= 0) continue;
        t->path[level] = names.v[i];
        rc = each(t, node, level, e);
        H5Gclose(node);
    }
    wl_arena_free(a);
    return rc;
}

static int below(struct tree *t, hid_t node, int level, visit *each, struct wl_err *e)
{
    hid_t nodes;
    int rc = wl_hdf5_group(node, "nodes", &nodes, e);
    if (rc <= 0) return rc;
    rc = for_each(t, nodes, level + 1, each, e);
    H5Gclose(nodes);
    return rc;
}

static int count_runs(struct tree *t, hid_t node, int level, struct wl_err *e)
{
    if (level < RUN) return below(t, node, level, count_runs, e);
    t->runs++;
    return 0;
}

static int write_node(struct tree *t, hid_t node, int level, struct wl_err *e)
{
    return level < SENSOR ? below(t, node, level, write_node, e) : write_sensor(t, node, e);
}

int wl_hdf5_write_perun(struct wl_hdf5_file *f, FILE *to, struct wl_err *e)
{
    struct tree t = { .f = f, .to = to };
    fputs(",run id,hostname,device_group,sensor,unit,magnitude,timestep,value,uuid,name,driver_version\n", to);
    int rc = for_each(&t, f->id, APP, count_runs, e);
    if (rc == 0) rc = for_each(&t, f->id, APP, write_node, e);
    if (rc == 0 && t.sensors == 0) rc = wl_fail(e, WL_EINVAL, "an HDF5 file of perun without readings of a sensor");
    return rc;
}
